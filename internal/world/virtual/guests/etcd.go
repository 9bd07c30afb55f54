//go:build linux && amd64

package guests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/redlock-sim/redlock-sim/internal/supervisor"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// etcdPort is where etcd listens for clients, etcdPeers for others of its cluster, of which there are none.
const etcdPort, etcdPeers = 2379, 2380

// etcdServer is an etcd, the store of a lock program.
type etcdServer struct{ lockStore }

var _ kind = (*etcdServer)(nil)

// port implements kind.
func (s *etcdServer) port() int { return etcdPort }

// command implements kind. The pace is that of the live world.
func (s *etcdServer) command() (path string, args []string) {
	return s.g.o.Stores[client.Etcd], etcdArguments(s.host, s.dir)
}

func etcdArguments(host *supervisor.Host, dir string) []string {
	clients, peers := fmt.Sprintf("http://%s:%d", host, etcdPort), fmt.Sprintf("http://%s:%d", host, etcdPeers)
	return []string{"--name", "sim", "--data-dir", filepath.Join(dir, "data"), "--log-level", "warn",
		"--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "sim=" + peers,
		"--heartbeat-interval", "20", "--election-timeout", "200"}
}

// document asks for one over HTTP by ask, which sends a server something and returns what it answers at once.
func document(ask func([]byte) ([]byte, error), path string, into any) error {
	answer, err := ask([]byte("GET " + path + " HTTP/1.1\r\nHost: etcd\r\n\r\n"))
	if err != nil {
		return err
	}
	r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
	if err != nil {
		return fmt.Errorf("etcd did not answer to %s: %w", path, err)
	}
	defer func() { _ = r.Body.Close() }()
	return json.NewDecoder(r.Body).Decode(into)
}

// usable implements kind: it has elected itself.
func (s *etcdServer) usable() bool { return hasLeader(s.ask) }

func hasLeader(ask func([]byte) ([]byte, error)) bool {
	var answer struct {
		Health string `json:"health"`
	}
	return document(ask, "/health", &answer) == nil && answer.Health == "true"
}

// started implements kind.
func (s *etcdServer) started() error {
	var answer struct {
		Server string `json:"etcdserver"`
	}
	err := document(s.ask, "/version", &answer)
	s.is = "etcd " + answer.Server
	return err
}
