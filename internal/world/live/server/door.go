package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/resp"
)

// Door is where a server lets connections in, and what it asks of them.
type Door struct {
	Address string
	// tls is nil where the server speaks plainly.
	tls *tls.Config
	// username and password, where it wants them.
	username, password string
}

// dial opens a connection and shows what the server asks for.
func (d Door) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	var conn net.Conn
	var err error
	if d.tls != nil {
		conn, err = (&tls.Dialer{Config: d.tls}).DialContext(ctx, "tcp", d.Address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", d.Address)
	}
	if err != nil {
		return nil, err
	}
	if d.password == "" {
		return conn, nil
	}
	words := []string{"AUTH", d.password}
	if d.username != "" {
		words = []string{"AUTH", d.username, d.password}
	}
	if err := order(conn, words...); err != nil {
		return nil, errors.Join(fmt.Errorf("failed to authenticate: %w", err), conn.Close())
	}
	return conn, nil
}

const dialWithin = 5 * time.Second

// answers reports whether a Redis server answers there, be it with an error.
func (d Door) answers() error {
	conn, err := d.dial(context.Background())
	if err != nil {
		return err
	}
	_, err = say(conn, time.Second, "PING")
	return errors.Join(err, conn.Close())
}

// Monitor opens a MONITOR stream.
func (d Door) Monitor() (net.Conn, error) {
	conn, err := d.dial(context.Background())
	if err != nil {
		return nil, fmt.Errorf("failed to observe %s: %w", d.Address, err)
	}
	if err := order(conn, "MONITOR"); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("failed to observe %s with MONITOR: %w", d.Address, err)
	}
	return conn, nil
}

// order sends a command that the server must carry out.
func order(conn net.Conn, words ...string) error {
	answer, err := say(conn, dialWithin, words...)
	if err == nil && answer.Kind == resp.Error {
		err = errors.New(answer.Text)
	}
	return err
}

// say sends a command and reads the answer, byte by byte: what follows belongs to the
// caller.
func say(conn net.Conn, within time.Duration, words ...string) (answer resp.Value, err error) {
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return answer, err
	}
	if _, err := conn.Write(resp.AppendCommand(nil, words...)); err != nil {
		return answer, err
	}
	var got []byte
	for err = resp.ErrShort; errors.Is(err, resp.ErrShort); answer, _, err = resp.Parse(got) {
		got = append(got, 0)
		if _, err := conn.Read(got[len(got)-1:]); err != nil {
			return answer, err
		}
	}
	return answer, errors.Join(err, conn.SetDeadline(time.Time{}))
}
