package evidence

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// legalLogs are the etcd logs that are linearizable according to porcupine's own
// tests; the other of the 102 are not. Log 95 is empty.
var legalLogs = map[int]bool{2: true, 5: true, 7: true, 18: true, 25: true, 31: true, 38: true, 45: true, 48: true,
	49: true, 51: true, 53: true, 56: true, 67: true, 75: true, 76: true, 80: true, 87: true, 92: true, 98: true,
	100: true, 101: true, 102: true}

// porcupineData is the folder of porcupine's test data in the module cache.
func porcupineData(t testing.TB) string {
	t.Helper()
	out, err := suite.Output(t, exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/anishathalye/porcupine"))
	if err != nil {
		t.Fatalf("porcupine's module cannot be found: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "test_data")
}

func want(legal bool) checker.Verdict {
	if legal {
		return checker.Holds
	}
	return checker.Violated
}

func TestEtcdLogs(t *testing.T) {
	dir := porcupineData(t)
	checked := 0
	for n := range 103 {
		path := filepath.Join(dir, "jepsen", fmt.Sprintf("etcd_%03d.log", n))
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			continue
		}
		r, err := CheckFile(context.Background(), path, Options{Model: "cas-register"})
		if err != nil {
			t.Errorf("log %d: %v", n, err)
			continue
		}
		checked++
		if r.Format != PorcupineEtcd || r.Verdict != want(legalLogs[n]) {
			t.Errorf("log %d (%s): %v, %s", n, r.Format, r.Verdict, r.Why)
		}
		if r.Verdict == checker.Violated && (r.FirstBad == nil || len(r.Counterexample) == 0 || !r.Minimal) {
			t.Errorf("log %d: %+v", n, r)
		}
	}
	if checked != 102 {
		t.Errorf("%d logs checked, want 102", checked)
	}
}

func TestKVLogs(t *testing.T) {
	dir := porcupineData(t)
	for _, name := range []string{"c01", "c10", "c50"} {
		for _, end := range []string{"ok", "bad"} {
			r, err := CheckFile(context.Background(), filepath.Join(dir, "kv", name+"-"+end+".txt"), Options{Model: "kv"})
			if err != nil {
				t.Fatal(err)
			}
			if r.Format != PorcupineKV || r.Verdict != want(end == "ok") {
				t.Errorf("%s-%s (%s): %v, %s", name, end, r.Format, r.Verdict, r.Why)
			}
			t.Logf("%s-%s: %s, %d operations, counterexample of %d", name, end, r.Why, r.Operations, len(r.Counterexample))
		}
	}
}
