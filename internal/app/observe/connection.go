package observe

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Sends are all commands that a look sends to a server, SendsSentinel those to a Sentinel; none of them writes. docs/guide/observe.md
// has the
// same lists.
var (
	Sends = []string{"AUTH", "SELECT", "CLIENT SETNAME", "CLIENT LIST", "INFO", "TYPE", "GETRANGE", "HLEN", "HGETALL", "LLEN",
		"LRANGE", "ZCARD", "ZRANGE", "PTTL", "CLUSTER SLOTS"}
	// SendsMonitor and SendsEvents are what only a look with MONITOR, and only one without it, sends besides.
	SendsMonitor  = []string{"MONITOR"}
	SendsEvents   = []string{"HELLO", "CONFIG GET", "PSUBSCRIBE"}
	SendsSentinel = []string{"AUTH", "CLIENT SETNAME", "SENTINEL GET-MASTER-ADDR-BY-NAME", "SENTINEL REPLICAS"}
)

// Server is where to look.
type Server struct {
	// Address is its host and port.
	Address            string
	Username, Password string
	DB                 int
	// TLS: it is spoken to with TLS. CA is a file with the certificates to trust; empty: those of the machine.
	TLS bool
	CA  string
	// sentinel: it is a Sentinel.
	sentinel bool
	// besides is what a look of its kind sends besides Sends.
	besides []string
}

// connection is one to a server. It sends nothing that the list of what is sent there has not.
type connection struct {
	net.Conn
	sends []string
	// got is what was read and not parsed.
	got []byte
	// pushed is told of what the server sends of itself.
	pushed func(*resp.Value)
}

// refusal is an answer of a server that is an error.
type refusal string

func (r refusal) Error() string { return string(r) }

// answersWithin bounds how long a server may take to answer.
const answersWithin = 5 * time.Second

// dial opens a connection with a name.
func (s *Server) dial(ctx context.Context, name string) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("failed to reach %s: %w", s.Address, err)
	}
	c := &connection{Conn: conn, sends: slices.Concat(Sends, s.besides)}
	if s.sentinel {
		c.sends = SendsSentinel
	}
	var first [][]string
	switch {
	case s.Username != "":
		first = append(first, []string{"AUTH", s.Username, s.Password})
	case s.Password != "":
		first = append(first, []string{"AUTH", s.Password})
	}
	first = append(first, []string{"CLIENT", "SETNAME", name})
	if s.DB > 0 {
		first = append(first, []string{"SELECT", fmt.Sprint(s.DB)})
	}
	for _, words := range first {
		if _, err := c.ask(words); err != nil {
			return nil, errors.Join(fmt.Errorf("%s refuses %s: %w", s.Address, words[0], err), conn.Close())
		}
	}
	return c, nil
}

func (s *Server) connect(ctx context.Context) (net.Conn, error) {
	if !s.TLS {
		return (&net.Dialer{}).DialContext(ctx, "tcp", s.Address)
	}
	host, _, err := net.SplitHostPort(s.Address)
	if err != nil {
		return nil, err
	}
	config, err := (&client.TLS{ServerName: host, CA: s.CA}).Config()
	if err != nil {
		return nil, err
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", s.Address)
}

// ask sends commands, and reads their answers. The first that is an error is the error.
func (c *connection) ask(commands ...[]string) (answers []resp.Value, err error) {
	if err := c.send(commands...); err != nil {
		return nil, err
	}
	for range commands {
		v, err := c.answer()
		if err != nil {
			return nil, err
		}
		answers = append(answers, v)
	}
	for _, v := range answers {
		if v.Kind == resp.Error {
			return answers, refusal(v.Text)
		}
	}
	return answers, c.SetDeadline(time.Time{})
}

// send sends commands that are answered within a time.
func (c *connection) send(commands ...[]string) error {
	var sent []byte
	for _, words := range commands {
		if !slices.Contains(c.sends, words[0]) && !slices.Contains(c.sends, strings.Join(words[:min(2, len(words))], " ")) {
			return fmt.Errorf("%s is no command of a look", words[0])
		}
		sent = resp.AppendCommand(sent, words...)
	}
	if err := c.SetDeadline(time.Now().Add(answersWithin)); err != nil {
		return err
	}
	_, err := c.Write(sent)
	return err
}

// mostAnswered bounds an answer.
const mostAnswered = 64 << 20

func (c *connection) answer() (resp.Value, error) {
	for {
		v, n, err := resp.Parse(c.got)
		if err == nil {
			if c.got = c.got[n:]; v.Kind == resp.Push && c.pushed != nil {
				c.pushed(&v)
				continue
			}
			return v, nil
		}
		if !errors.Is(err, resp.ErrShort) {
			return v, err
		}
		if len(c.got) > mostAnswered {
			return v, errors.New("an answer that is too long")
		}
		b := make([]byte, 1<<14)
		n, err = c.Read(b)
		if c.got = append(c.got, b[:n]...); err != nil && n == 0 {
			return v, err
		}
	}
}

// monitor begins MONITOR, and returns its lines.
func (c *connection) monitor() (*bufio.Reader, error) {
	if _, err := c.ask([]string{"MONITOR"}); err != nil {
		return nil, err
	}
	return bufio.NewReaderSize(io.MultiReader(bytes.NewReader(c.got), c.Conn), 1<<16), nil
}

// addressOf finds the address of the newest connection with a name in the answer to CLIENT LIST: one that was closed may be there still.
func addressOf(list, name string) (newest string) {
	for line := range strings.Lines(list) {
		addr, is := "", false
		for field := range strings.FieldsSeq(line) {
			if v, ok := strings.CutPrefix(field, "addr="); ok {
				addr = v
			}
			is = is || field == "name="+name
		}
		if is {
			newest = addr
		}
	}
	return newest
}
