package server

import (
	"bufio"
	"context"
	"fmt"
	"github.com/redlock-sim/redlock-sim/internal/world/live/proxy"
	"net"
	"testing"
)

// BenchmarkRoundTrip compares a PING over a proxied link with a direct one.
func BenchmarkRoundTrip(b *testing.B) {
	binary, err := FindRedis()
	if err != nil {
		b.Skip(err)
	}
	n := &Node{Name: "A", Host: processHost{binary: binary}, dir: b.TempDir()}
	if err := n.Start(context.Background()); err != nil {
		b.Fatal(err)
	}
	defer n.Stop()
	p := proxy.New()
	defer p.Close()
	proxied, err := p.Open("c1", "A", n.Address(), nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, address := range map[string]string{"direct": n.Address(), "proxied": proxied} {
		b.Run(name, func(b *testing.B) {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			lines := bufio.NewReader(conn)
			for b.Loop() {
				if _, err := fmt.Fprint(conn, "PING\r\n"); err != nil {
					b.Fatal(err)
				}
				if _, err := lines.ReadString('\n'); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
