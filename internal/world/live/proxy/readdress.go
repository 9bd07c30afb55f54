package proxy

import (
	"context"
	"errors"
	"net"
	"regexp"

	"github.com/redlock-sim/redlock-sim/internal/resp"
)

// Readdress makes connections to a server that tells addresses, and lets those at the other end of the link read
// their own links' ports in the place of the ones that it knows. Everything is on loopback, so ports are all
// there is to an address.
func Readdress(dial Dial, port func(known string) (own string, found bool)) Dial {
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		return &readdressed{Conn: conn, port: port}, nil
	}
}

// readdressed is a connection that hands out whole answers, with other ports.
type readdressed struct {
	net.Conn
	port func(string) (string, bool)
	// in is what has not been read as an answer, out what has not been handed out. spoilt: what comes is no answer.
	in, out []byte
	spoilt  bool
}

func (c *readdressed) Read(p []byte) (int, error) {
	for len(c.out) == 0 {
		chunk := make([]byte, 4096)
		n, err := c.Conn.Read(chunk)
		c.in = append(c.in, chunk[:n]...)
		c.take()
		if err != nil && len(c.out) == 0 {
			return 0, err
		}
	}
	n := copy(p, c.out)
	c.out = c.out[n:]
	return n, nil
}

// take moves whole answers from in to out.
func (c *readdressed) take() {
	for len(c.in) > 0 {
		v, n, err := resp.Parse(c.in)
		if errors.Is(err, resp.ErrShort) && !c.spoilt {
			return
		}
		if err != nil || c.spoilt {
			c.spoilt, c.out, c.in = true, append(c.out, c.in...), nil
			return
		}
		before := ""
		c.rewrite(&v, &before)
		c.out, c.in = resp.Append(c.out, v), c.in[n:]
	}
}

// addresses is how Redis and Sentinel write addresses within a text.
var addresses = regexp.MustCompile(`(127\.0\.0\.1[: ]|ip=127\.0\.0\.1,port=|master_host:127\.0\.0\.1\r\nmaster_port:)(\d+)\b`)

// rewrite puts own ports into an answer. before is the text that came last: a port alone follows its
// address, or its name.
func (c *readdressed) rewrite(v *resp.Value, before *string) {
	for i := range v.List {
		c.rewrite(&v.List[i], before)
	}
	if len(v.List) > 0 {
		return
	}
	switch own, found := c.port(v.Text); {
	case found && (*before == "127.0.0.1" || *before == "port"):
		v.Text = own
	default:
		*before = v.Text
		v.Text = addresses.ReplaceAllStringFunc(v.Text, func(text string) string {
			parts := addresses.FindStringSubmatch(text)
			if own, found := c.port(parts[2]); found {
				return parts[1] + own
			}
			return text
		})
		return
	}
	*before = v.Text
}
