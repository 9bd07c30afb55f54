package server

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/proxy"
)

// BenchmarkRoundTrip compares a PING over a proxied link with a direct one.
func BenchmarkRoundTrip(b *testing.B) {
	binary, err := FindRedis("")
	if err != nil {
		suite.Lacks(b, "redis-server")
	}
	n := &Node{Name: "A", Host: processHost{binary: binary}, dir: b.TempDir(), log: filepath.Join(b.TempDir(), "A.log")}
	if err := n.Start(context.Background()); err != nil {
		b.Fatal(err)
	}
	defer n.Stop()
	p := proxy.New()
	defer p.Close()
	proxied, err := p.Open("c1", "A", n.Endpoint("A").Dial, nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, dial := range map[string]func(context.Context) (net.Conn, error){
		"direct": n.Endpoint("A").Dial, "proxied": Door{Address: proxied}.Link,
	} {
		b.Run(name, func(b *testing.B) {
			conn, err := dial(b.Context())
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
