package proxy_test

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/world/live/proxy"
)

// What a sentinel says of others leads to links, in whatever pieces it comes; the rest stays as it is.
func TestReaddress(t *testing.T) {
	own := map[string]string{"127.0.0.1:7001": "127.0.0.1:17001", "127.0.0.1:7002": "127.0.0.1:7", "172.18.0.1:7001": "127.0.0.1:8"}
	for what, c := range map[string]struct{ said, read string }{
		"the primary":     {"*2\r\n$9\r\n127.0.0.1\r\n$4\r\n7001\r\n", "*2\r\n$9\r\n127.0.0.1\r\n$5\r\n17001\r\n"},
		"another machine": {"*2\r\n$8\r\n10.0.0.1\r\n$4\r\n7001\r\n", "*2\r\n$8\r\n10.0.0.1\r\n$4\r\n7001\r\n"},
		"a replica": {"*4\r\n$2\r\nip\r\n$9\r\n" +
			"127.0.0.1\r\n$4\r\nport\r\n$4\r\n7002\r\n", "*4\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n$4\r\nport\r\n$1\r\n7\r\n"},
		"a switch": {"*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$37\r\nprimary 127.0.0.1 7001 127.0.0.1 7002\r\n",
			"*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$35\r\nprimary 127.0.0.1 17001 127.0.0.1 7\r\n"},
		"a network's gateway": {"*2\r\n$10\r\n172.18.0.1\r\n$4\r\n7001\r\n", "*2\r\n$9\r\n127.0.0.1\r\n$1\r\n8\r\n"},
		"a replica's primary": {"*4\r\n$11\r\nmaster-host\r\n$10\r\n172.18.0.1\r\n$11\r\n" +
			"master-port\r\n$4\r\n7001\r\n", "*4\r\n$11\r\nmaster-host\r\n$9\r\n127.0.0.1\r\n$11\r\nmaster-port\r\n$1\r\n8\r\n"},
		"INFO": {"$54\r\nrole:slave\r\nmaster_host:172.18.0.1\r\n" +
			"master_port:7001\r\n\r\n", "$50\r\nrole:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:8\r\n\r\n"},
		"an epoch":          {":7001\r\n", ":7001\r\n"},
		"what is no answer": {"hello 127.0.0.1 7001\r\n", "hello 127.0.0.1 7001\r\n"},
	} {
		for _, size := range []int{1, 7, 1000} {
			here, there := net.Pipe()
			dial := proxy.Readdress(func(context.Context) (net.Conn, error) {
				return there, nil
			}, func(known string) (string, bool) { p, ok := own[known]; return p, ok })
			conn, err := dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for rest := []byte(c.said); len(rest) > 0; {
					n := min(size, len(rest))
					_, _ = here.Write(rest[:n])
					rest = rest[n:]
				}
				_ = here.Close()
			}()
			read, err := io.ReadAll(conn)
			if err != nil || string(read) != c.read {
				t.Errorf("%s in pieces of %d: %q %v, want %q", what, size, read, err, c.read)
			}
		}
	}
}
