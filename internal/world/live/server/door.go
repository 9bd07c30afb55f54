package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
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
	answer, err := say(conn, dialWithin, words...)
	if err == nil && answer != "+OK" {
		err = errors.New(answer)
	}
	if err != nil {
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
	answer, err := say(conn, dialWithin, "MONITOR")
	if err == nil && answer != "+OK" {
		err = errors.New(answer)
	}
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("failed to observe %s with MONITOR: %w", d.Address, err)
	}
	return conn, nil
}

// say sends a command and reads one line of answer, byte by byte: what follows
// belongs to the caller.
func say(conn net.Conn, within time.Duration, words ...string) (string, error) {
	if err := conn.SetDeadline(time.Now().Add(within)); err != nil {
		return "", err
	}
	text := "*" + strconv.Itoa(len(words)) + "\r\n"
	for _, w := range words {
		text += "$" + strconv.Itoa(len(w)) + "\r\n" + w + "\r\n"
	}
	if _, err := conn.Write([]byte(text)); err != nil {
		return "", err
	}
	line, err := bufio.NewReaderSize(oneByte{conn}, 16).ReadString('\n')
	if err != nil {
		return "", err
	}
	return line[:max(len(line)-2, 0)], conn.SetDeadline(time.Time{})
}

// oneByte reads no further than asked.
type oneByte struct{ net.Conn }

func (c oneByte) Read(b []byte) (int, error) { return c.Conn.Read(b[:1]) }
