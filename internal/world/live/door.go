package live

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

// door is where a server lets connections in, and what it asks of them.
type door struct {
	address string
	// tls is nil where the server speaks plainly.
	tls *tls.Config
	// username and password, where it wants them.
	username, password string
}

// dial opens a connection and shows what the server asks for.
func (d door) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	var conn net.Conn
	var err error
	if d.tls != nil {
		conn, err = (&tls.Dialer{Config: d.tls}).DialContext(ctx, "tcp", d.address)
	} else {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", d.address)
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
func (d door) answers() error {
	conn, err := d.dial(context.Background())
	if err != nil {
		return err
	}
	_, err = say(conn, time.Second, "PING")
	return errors.Join(err, conn.Close())
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
