package adapters_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// stores are the programs whose lock is not in Redis.
var stores = []string{"etcd", "advisory", "curator", "kazoo", "nats-kv"}

// servers are what sim starts for them.
var servers = map[string]string{"etcd": "etcd", "advisory": "postgres", "curator": "zookeeper", "kazoo": "zookeeper", "nats-kv": "nats"}

// lookForServer skips the test where sim lacks a server.
func lookForServer(t *testing.T, name string) {
	t.Helper()
	_, missing := exec.LookPath(name)
	if name == "zookeeper" || name == "nats" { // which run in virtual time alone
		_, missing = os.Stat("../.cache/libraries/" + name + "/complete")
		if doctor, _ := exec.Command(sim(t), "doctor").CombinedOutput(); !strings.Contains(string(doctor), virtualTime) {
			missing = errors.New(virtualTime)
		}
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if missing != nil && len(debian) == 0 {
		t.Skip("this machine lacks: " + name)
	}
}

// virtualTime is what sim doctor says where programs run in virtual time.
const virtualTime = "ok        virtual time with real programs"

// Locks that are not kept in Redis conform, and run in scenarios with faults on their links and servers. sim starts their servers.
// (A holder that is paused past its lease is docs/findings/etcd-paused-holder.md.)
func TestStores(t *testing.T) {
	for _, name := range stores {
		t.Run(name, func(t *testing.T) {
			program := lookFor(t, name)
			lookForServer(t, servers[name])
			conforms(t, name)
			out := runSim(t, 0, "run", "dead-holder", "lost-release", "one-node-restart", "one-node-clock-jump",
				"--lock", program, "--seed", "1", "--out", t.TempDir())
			if !strings.Contains(out, "0 unexpected, 0 undecided") {
				t.Errorf("run says\n%s", out)
			}
			// In virtual time faults strike the server itself, too; PostgreSQL runs in real time.
			if doctor, _ := exec.Command(sim(t), "doctor").CombinedOutput(); name != "advisory" && strings.Contains(string(doctor), virtualTime) &&
				strings.Contains(out, "strikes the server") {
				t.Errorf("run says\n%s", out)
			}
		})
	}
}

// faults are the checks that libraries fail: node-redis waits for ever for a dead node, redlock-py raises an exception if one of its
// nodes is dead, and redlock 5 counts the validity of a lock from the first try. Of the others their maintainers hear first.
var faults = map[string]string{
	"node-redis": "dead-node", "node-redis-warlock": "dead-node", "redlock-py-tuned": "dead-node",
	"redlock-5": "killed-holder", "redlock-5-tuned": "killed-holder",
	"redisson-watchdog": "cancel", "redisson-fair": "cancel", "redisson-redlock": "cancel", "sherlock": "no-ttl",
}

// TestConform: sim conform finds nothing else wrong with any program. It runs in virtual time, where a lease of seconds passes at once.
func TestConform(t *testing.T) {
	for name := range commands {
		if slices.Contains(stores, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conforms(t, name)
		})
	}
}

// TestLive: so it is in real time.
func TestLive(t *testing.T) {
	runSim(t, 0, "conform", "--world", "live", lookFor(t, "redsync"))
}

// conforms checks a program with sim conform: it fails no check but the one of faults, and the README says what it can.
func conforms(t *testing.T, name string) {
	t.Helper()
	fault, has := faults[name]
	code, want := 0, []string(nil)
	if has {
		code, want = 1, []string{fault}
	}
	out := runSim(t, code, "conform", "--json", lookFor(t, name))
	var result struct {
		Program struct{ Can []string }
		Checks  []struct{ Name, Outcome string }
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v: conform says\n%s", err, out)
	}
	var failed []string
	for _, c := range result.Checks {
		if c.Outcome == "failed" {
			failed = append(failed, c.Name)
		}
	}
	if !slices.Equal(failed, want) || len(result.Checks) == 0 {
		t.Errorf("it fails %q, want %q. conform says\n%s", failed, want, out)
	}
	tells := slices.DeleteFunc(result.Program.Can, func(can string) bool { return can == "setup-again" || can == "one-object" })
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| ` + name + ` \| .* \| ([a-z, -]*?) ?\| .*$`).FindSubmatch(readme)
	if row == nil || strings.Join(tells, ", ") != string(row[1]) {
		t.Errorf("README.md says that it tells %q; it tells %q", row, tells)
	}
}

// sim is the program that make build has made.
func sim(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../bin/sim")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("make build: %v", err)
	}
	return path
}

// runSim runs a command of sim that ends with an exit code, and returns what it prints on standard output.
func runSim(t *testing.T, code int, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, sim(t), args...)
	var notes bytes.Buffer
	c.Stderr = &notes
	out, err := c.Output()
	if c.ProcessState == nil || c.ProcessState.ExitCode() != code {
		t.Errorf("sim %s: %v\n%s\n%s", strings.Join(args, " "), err, out, notes.Bytes())
	}
	return string(out)
}
