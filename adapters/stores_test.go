package adapters_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// stores are the programs whose lock is not in Redis.
var stores = []string{"etcd", "advisory"}

// servers are what sim starts for them.
var servers = map[string]string{"etcd": "etcd", "advisory": "postgres"}

// virtualTime is what sim doctor says where programs run in virtual time.
const virtualTime = "ok        virtual time with real programs"

// Locks that are not kept in Redis conform, and run in a scenario with faults on their links.
// sim starts their servers.
func TestStores(t *testing.T) {
	sim, err := filepath.Abs("../bin/sim")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(sim); err != nil {
		t.Fatalf("make build: %v", err)
	}
	for _, name := range stores {
		t.Run(name, func(t *testing.T) {
			_, missing := exec.LookPath(servers[name])
			if debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + servers[name]); missing != nil && len(debian) == 0 {
				t.Skip("this machine lacks: " + servers[name])
			}
			run := func(args ...string) string {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				out, err := exec.CommandContext(ctx, sim, args...).CombinedOutput()
				if err != nil {
					t.Errorf("sim %s: %v\n%s", strings.Join(args, " "), err, out)
				}
				return string(out)
			}
			program := filepath.Join(bin, name)
			if out := run("conform", program); !strings.Contains(out, "\nconforms: ") {
				t.Errorf("conform says\n%s", out)
			}
			out := run("run", "dead-holder", "lost-release", "watchdog", "one-node-restart", "one-node-clock-jump",
				"--lock", program, "--seed", "1", "--out", t.TempDir())
			if !strings.Contains(out, "0 unexpected, 0 undecided") {
				t.Errorf("run says\n%s", out)
			}
			// In virtual time faults strike etcd itself, too.
			if doctor, _ := exec.Command(sim, "doctor").CombinedOutput(); name == "etcd" && strings.Contains(string(doctor), virtualTime) &&
				strings.Contains(out, "strikes the server") {
				t.Errorf("run says\n%s", out)
			}
		})
	}
}
