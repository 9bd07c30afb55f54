package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app"
)

// TestElsewhere: on a system other than Linux everything works that needs no live world.
// What needs it is refused before anything is started or written.
func TestElsewhere(t *testing.T) {
	const refused, hint = "sim: the live world needs Linux, and this is windows\n", "hint: sim run --world virtual works here"
	sim := func(t *testing.T, args ...string) (code int, stdout, stderr string) {
		var out, err bytes.Buffer
		code = run(&cli{system: "windows", args: args, variable: func(string) string { return "" }, stdin: strings.NewReader(""),
			stdout: &out, stderr: &err, now: time.Now, terminal: func(int) bool { return false }})
		return code, out.String(), err.String()
	}
	for _, line := range []string{
		"run gc-pause", "run gc-pause --nodes docker", "run gc-pause --lock ./my-lock", "run gc-pause --as-programs",
		"replay gc-pause --seed 1 --world live", "conform ./my-lock", "lock redlock", "client", "doctor --clean",
	} {
		t.Run(line, func(t *testing.T) {
			t.Chdir(t.TempDir())
			code, _, stderr := sim(t, strings.Fields(line)...)
			if code != app.ExitEnvironment || !strings.HasPrefix(stderr, refused+hint) {
				t.Errorf("exit %d, and it says\n%s", code, stderr)
			}
			if left, _ := os.ReadDir("."); len(left) > 0 {
				t.Errorf("it has written %v", left)
			}
		})
	}
	t.Run("with a lock in sim.yaml", func(t *testing.T) {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("sim.yaml", []byte("lock: ./my-lock\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"run gc-pause", "conform"} {
			if code, _, stderr := sim(t, strings.Fields(line)...); code != app.ExitEnvironment || !strings.HasPrefix(stderr, refused+hint) {
				t.Errorf("sim %s: exit %d, and it says\n%s", line, code, stderr)
			}
		}
	})
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"run gc-pause --world virtual":               "DONE 1 scenario, 2 variants, 0 unexpected",
		"search gc-pause --seeds 5 --variant fenced": "5 runs",
		"lock":        "redlock ",
		"list faults": "a clock jumps",
	} {
		code, stdout, stderr := sim(t, strings.Fields(line)...)
		if code != app.ExitMet || !strings.Contains(stdout, want) || strings.Contains(stdout, "not here") {
			t.Errorf("sim %s: exit %d\n%s%s", line, code, stdout, stderr)
		}
	}
	if code, stdout, _ := sim(t, "doctor"); code != app.ExitEnvironment ||
		!strings.Contains(stdout, "ok       virtual world") || !strings.Contains(stdout, "MISSING  live world") ||
		!strings.Contains(stdout, "MISSING  virtual time with real programs  on Linux on amd64 alone") {
		t.Errorf("sim doctor: exit %d\n%s", code, stdout)
	}
}
