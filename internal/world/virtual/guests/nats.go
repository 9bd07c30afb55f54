//go:build linux && amd64

package guests

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strconv"

	"github.com/redlock-sim/redlock-sim/internal/supervisor"
)

// natsPort is where a nats-server listens for clients.
const natsPort = 4222

// nats is a nats-server with JetStream, whose streams are files; all else is its default.
var nats = storeKind{port: natsPort, command: natsCommand, version: natsVersion}

func natsCommand(from string, host *supervisor.Host, dir string) (path string, args []string) {
	return from, []string{"--name", "sim", "--addr", host.String(), "--port", strconv.Itoa(natsPort),
		"--jetstream", "--store_dir", filepath.Join(dir, "data")}
}

// natsVersion implements storeKind: a server tells what it is before it is asked.
func natsVersion(ask func([]byte) ([]byte, error)) string {
	var info struct {
		Version   string `json:"version"`
		JetStream bool   `json:"jetstream"`
	}
	answer, err := ask([]byte("PING\r\n"))
	told, is := bytes.CutPrefix(answer, []byte("INFO "))
	told, _, _ = bytes.Cut(told, []byte("\r\n"))
	if err != nil || !is || json.Unmarshal(told, &info) != nil || !info.JetStream {
		return ""
	}
	return "NATS " + info.Version
}
