package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// to dials an address.
func to(address string) Dial {
	return func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp", address) }
}

// says dials a party that says its name and then what it hears.
func says(name string) Dial {
	return func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			_, _ = fmt.Fprintln(far, name)
			_, _ = io.Copy(far, far)
			_ = far.Close()
		}()
		return near, nil
	}
}

// line is the next that a connection says; empty: it has ended.
func line(t *testing.T, c net.Conn) string {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(suite.Patience))
	text, err := bufio.NewReaderSize(c, 16).ReadString('\n')
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("nothing was said, and the connection is open")
	}
	return strings.TrimSpace(text)
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(suite.Patience))
	return c
}

// A party that takes its time holds up nobody else.
func TestASlowPartyHoldsUpNobodyElse(t *testing.T) {
	p := New()
	defer p.Close()
	begun := make(chan bool, 10)
	var second atomic.Bool
	at, err := p.Open("c1", "A", func(ctx context.Context) (net.Conn, error) {
		if begun <- true; second.Swap(true) {
			return says("A")(ctx)
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	waits := dial(t, at)
	suite.Receive(t, "the first connection", begun)
	if got := line(t, dial(t, at)); got != "A" {
		t.Errorf("behind a slow connection: %q", got)
	}
	p.Lead("A", says("B"))
	if got := line(t, waits); got != "" {
		t.Errorf("the slow connection: %q", got)
	}
}

func TestALinkLeadsElsewhere(t *testing.T) {
	p := New()
	at, err := p.Open("c1", "A", says("A"), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, at)
	if got := line(t, c); got != "A" {
		t.Fatalf("the party said %q", got)
	}
	p.Lead("A", says("B"))
	if got := line(t, c); got != "" {
		t.Errorf("the old connection said %q", got)
	}
	c = dial(t, at)
	if got := line(t, c); got != "B" {
		t.Errorf("the new party said %q", got)
	}
	p.Close()
	if got := line(t, c); got != "" {
		t.Errorf("the closed link said %q", got)
	}
	if c, err := net.Dial("tcp", at); err == nil {
		_ = c.Close()
		t.Error("a closed link listens")
	}
}

// BenchmarkConnect measures what it costs to open a connection over a link and to hear a line.
func BenchmarkConnect(b *testing.B) {
	address, _ := echo(b)
	p := New()
	b.Cleanup(p.Close)
	at, err := p.Open("c1", "A", to(address), nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, address := range map[string]string{"direct": address, "proxied": at} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c, err := net.Dial("tcp", address)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = c.Write([]byte(asSent("ECHO x")))
				_, _ = c.Read(make([]byte, 10))
				_ = c.Close()
			}
		})
	}
}
