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
)

// etcdPort is where etcd listens for clients, etcdPeers for others of its cluster, of which there are none.
const etcdPort, etcdPeers = 2379, 2380

// etcd is started with the pace of the live world.
var etcd = storeKind{port: etcdPort, command: etcdCommand, version: etcdVersion}

func etcdCommand(from string, host *supervisor.Host, dir string) (path string, args []string) {
	clients, peers := fmt.Sprintf("http://%s:%d", host, etcdPort), fmt.Sprintf("http://%s:%d", host, etcdPeers)
	return from, []string{"--name", "sim", "--data-dir", filepath.Join(dir, "data"), "--log-level", "warn",
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

// etcdVersion implements storeKind: it serves once it has elected itself.
func etcdVersion(ask func([]byte) ([]byte, error)) string {
	var state struct {
		Health string `json:"health"`
	}
	var version struct {
		Server string `json:"etcdserver"`
	}
	if document(ask, "/health", &state) != nil || state.Health != "true" || document(ask, "/version", &version) != nil {
		return ""
	}
	return "etcd " + version.Server
}
