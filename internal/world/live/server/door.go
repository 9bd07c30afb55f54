package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

// Door is where a server lets connections in, and what it asks of them.
type Door struct {
	Address string
	// tls is nil where the server speaks plainly.
	tls *tls.Config
	// username and password, where it wants them.
	username, password string
	// ours: the password is ours, and nobody else is to be asked for it. process: the server
	// is a process of ours.
	ours, process bool
}

// dial opens a connection and shows what the server asks for.
func (d Door) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	conn, err := d.connect(ctx)
	if err != nil || d.password == "" {
		return conn, err
	}
	words := []string{"AUTH", d.password}
	if d.username != "" {
		words = []string{"AUTH", d.username, d.password}
	}
	if err := mustDo(conn, words...); err != nil {
		return nil, errors.Join(fmt.Errorf("failed to authenticate: %w", err), conn.Close())
	}
	return conn, nil
}

// connect opens a connection to the server. While a process of ours is dead, somebody else
// may listen in its place.
func (d Door) connect(ctx context.Context) (net.Conn, error) {
	if d.tls != nil {
		return (&tls.Dialer{Config: d.tls}).DialContext(ctx, "tcp", d.Address)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.Address)
	if err != nil || !d.process {
		return conn, err
	}
	nobody := netip.AddrPortFrom(netip.IPv4Unspecified(), 0)
	uid, err := machine.SocketUser(conn.RemoteAddr().(*net.TCPAddr).AddrPort(), nobody)
	if err == nil && int(uid) != os.Geteuid() {
		err = fmt.Errorf("user %d listens there", uid)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server at %s is not ours: %w", d.Address, err), conn.Close())
	}
	return conn, nil
}

// Link opens a connection for somebody who does not know the password where it is ours. It
// does not wait for the server: that may stand still, and must find then what it is sent now.
func (d Door) Link(ctx context.Context) (net.Conn, error) {
	if !d.ours {
		return Door{Address: d.Address}.connect(ctx)
	}
	return d.linkWith(ctx, []string{"AUTH", d.password})
}

// LinkOperator opens such a connection that is known as the operator's.
func (d Door) LinkOperator(ctx context.Context) (net.Conn, error) {
	return d.linkWith(ctx, []string{"AUTH", d.password}, []string{"CLIENT", "SETNAME", Operator})
}

// linkWith opens a connection over which commands have gone first.
func (d Door) linkWith(ctx context.Context, commands ...[]string) (net.Conn, error) {
	conn, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	var sent []byte
	for _, words := range commands {
		sent = resp.AppendCommand(sent, words...)
	}
	if _, err := conn.Write(sent); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &authenticated{Conn: conn, more: len(commands) - 1}, nil
}

// authenticated is a connection that has been authenticated. The answer to that is not passed
// on, nor are those to the commands that came with it, unless one is a refusal.
type authenticated struct {
	net.Conn
	// more are these commands.
	more int
	from io.Reader // nil: the answer has not been read
}

func (c *authenticated) Read(p []byte) (int, error) {
	if c.from == nil {
		all := strings.Repeat(granted, 1+c.more)
		answer := make([]byte, len(all))
		n, _ := io.ReadFull(c.Conn, answer) // an error comes again
		if c.from = c.Conn; string(answer) != all {
			c.from = io.MultiReader(bytes.NewReader(answer[:n]), c.Conn)
		}
	}
	return c.from.Read(p)
}

const granted = "+OK\r\n"

const dialWithin = 5 * time.Second

// answers reports whether a Redis server answers there, be it with an error.
func (d Door) answers() error {
	conn, err := d.dial(context.Background())
	if err != nil {
		return err
	}
	_, err = roundTrip(conn, time.Second, "PING")
	return errors.Join(err, conn.Close())
}

// Monitor opens a MONITOR stream.
func (d Door) Monitor() (net.Conn, error) {
	conn, err := d.dial(context.Background())
	if err != nil {
		return nil, fmt.Errorf("failed to observe %s: %w", d.Address, err)
	}
	if err := mustDo(conn, "MONITOR"); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("failed to observe %s with MONITOR: %w", d.Address, err)
	}
	return conn, nil
}

// mustDo sends a command that the server must carry out.
func mustDo(conn net.Conn, words ...string) error {
	answer, err := roundTrip(conn, dialWithin, words...)
	if err == nil && answer.Kind == resp.Error {
		err = errors.New(answer.Text)
	}
	return err
}

// roundTrip sends a command and reads the answer, byte by byte: what follows belongs to the
// caller.
func roundTrip(conn net.Conn, within time.Duration, words ...string) (answer resp.Value, err error) {
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
