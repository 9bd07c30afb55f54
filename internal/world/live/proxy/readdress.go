package proxy

import (
	"context"
	"errors"
	"net"
	"regexp"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

// Readdress makes connections to a server that tells addresses, and lets those at the other end of the link read
// their own links' addresses in the place of the ones that it knows. All are of IPv4, "host:port".
func Readdress(dial Dial, instead func(known string) (own string, found bool)) Dial {
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		return &readdressed{Conn: conn, instead: instead}, nil
	}
}

// readdressed is a connection that hands out whole answers, with other addresses.
type readdressed struct {
	net.Conn
	instead func(string) (string, bool)
	// in is what has not been read as an answer, out what has not been handed out. spoilt: what comes is no answer.
	in, out []byte
	spoilt  bool
	// changed: the answer that is being read has other addresses now.
	changed bool
}

func (c *readdressed) Read(p []byte) (int, error) {
	for len(c.out) == 0 {
		chunk := make([]byte, 4096)
		n, err := c.Conn.Read(chunk)
		c.in = append(c.in, chunk[:n]...)
		c.readAnswers()
		if err != nil && len(c.out) == 0 {
			return 0, err
		}
	}
	n := copy(p, c.out)
	c.out = c.out[n:]
	return n, nil
}

// readAnswers moves whole answers from in to out.
func (c *readdressed) readAnswers() {
	for len(c.in) > 0 {
		v, n, err := resp.Parse(c.in)
		if errors.Is(err, resp.ErrShort) && !c.spoilt {
			return
		}
		if err != nil || c.spoilt {
			c.spoilt, c.out, c.in = true, append(c.out, c.in...), nil
			return
		}
		var host *resp.Value
		answer := c.in[:n]
		if c.rewrite(&v, &host); c.changed { // what is not changed is passed on as it came
			answer = resp.Append(nil, v)
		}
		c.out, c.in, c.changed = append(c.out, answer...), c.in[n:], false
	}
}

// addresses is how Redis and Sentinel write addresses within a text, and host a host alone.
var (
	addresses = regexp.MustCompile(`\b(ip=|master_host:|)(\d+\.\d+\.\d+\.\d+)([: ]|,port=|\r\nmaster_port:)(\d+)\b`)
	host      = regexp.MustCompile(`^\d+\.\d+\.\d+\.\d+$`)
)

// rewrite puts own addresses into an answer. last is the text of a host alone that came last: its port follows it,
// or the name of the field and then its port.
func (c *readdressed) rewrite(v *resp.Value, last **resp.Value) {
	c.rewriteShard(v.List)
	for i := range v.List {
		c.rewrite(&v.List[i], last)
	}
	if len(v.List) > 0 || v.Text == "port" || v.Text == "master-port" {
		return
	}
	if host.MatchString(v.Text) {
		*last = v
		return
	}
	if *last != nil {
		if h, p, found := c.ownAddress((*last).Text, v.Text); found {
			(*last).Text, v.Text = h, p
		}
		*last = nil
		return
	}
	v.Text = addresses.ReplaceAllStringFunc(v.Text, func(text string) string {
		parts := addresses.FindStringSubmatch(text)
		if h, p, found := c.ownAddress(parts[2], parts[4]); found {
			return parts[1] + h + parts[3] + p
		}
		return text
	})
}

// rewriteShard puts an own address into what CLUSTER SHARDS says of a node: fields, of which the port comes first.
func (c *readdressed) rewriteShard(fields []resp.Value) {
	var told [3]*resp.Value
	for i := 0; i+1 < len(fields); i += 2 {
		if at := slices.Index([]string{"port", "ip", "endpoint"}, fields[i].Text); at >= 0 {
			told[at] = &fields[i+1]
		}
	}
	port, ip, endpoint := told[0], told[1], told[2]
	if port == nil || ip == nil || endpoint == nil {
		return
	}
	known := ip.Text
	if h, p, found := c.ownAddress(known, port.Text); found {
		if ip.Text, port.Text = h, p; endpoint.Text == known {
			endpoint.Text = h
		}
	}
}

// ownAddress is what the client is to read in the place of an address.
func (c *readdressed) ownAddress(host, port string) (ownHost, ownPort string, found bool) {
	own, found := c.instead(net.JoinHostPort(host, port))
	if !found {
		return "", "", false
	}
	ownHost, ownPort, err := net.SplitHostPort(own)
	c.changed = c.changed || err == nil
	return ownHost, ownPort, err == nil
}
