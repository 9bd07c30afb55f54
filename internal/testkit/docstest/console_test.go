package docstest_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

func TestShows(t *testing.T) {
	t.Parallel()
	const output = `gc-pause   seed 42   ttl 1s
  x exclusive-belief        2 holders at once for 305 ms       violated
  + exclusive-lease         no two promises overlapped         holds
report   reports/gc-pause/20261122-004849-42/report.html
log      /tmp/sim-conform-1/c1.log
DONE 1 scenario in 1.7 s
`
	for _, c := range []struct {
		page string
		want bool
	}{
		{output, true},
		{strings.NewReplacer("305 ms", "1.02 s", "2 holders",
			"12 holders", "   ", "  ", "004849-42", "114849-7", "/tmp/sim-conform-1", "/var/tmp/x").Replace(output), true},
		{"gc-pause seed 1 ttl 250ms\n...\nDONE 2 scenario in 3 s\n", true},
		{"...\nDONE 1 scenario in 3 s\n...\n", true},
		{"gc-pause seed 1 ttl 250ms\n...\n", true},
		{"DONE 1 scenario in 3 s\n", false},
		{"gc-pause seed 1 ttl 250ms\nDONE 1 scenario in 3 s\n", false},
		{"...\nDONE 1 scenario\n", false},
		{strings.Replace(output, "holds", "violated", 1), false},
		{strings.Replace(output, "overlapped", "met", 1), false},
		{"", false},
	} {
		if got := docstest.Shows(c.page, output); got != c.want {
			t.Errorf("%v, want %v:\n%s", got, c.want, c.page)
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	got := docstest.Commands(docstest.Block{Language: "console",
		Text: "$ sim run a \\\n    --seed 1   # exit code 1: two holders\nx\n  y\n$ sim list\n"})
	want := []docstest.Command{{Line: "sim run a \\\n    --seed 1", Exit: 1, Output: "x\n  y\n"}, {Line: "sim list"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A script ends well if, and only if, each of its lines ends as the page says.
func TestScript(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"true\n":                      true,
		"true\nfalse\ntrue\n":         false,
		"true\nfalse # exit code 1\n": true,
		"sh -c 'exit 3' \\\n  x  # exit code 3: a reason\n": true,
		"sh -c 'exit 3' # exit code 1\n":                    false,
		"true # exit code 1\n":                              false,
		"for i in 1 2\ndo\n  true\ndone\n":                  true,
	} {
		err := suite.Run(t, exec.Command("sh", "-e", "-c", docstest.Script(docstest.Block{Language: "sh", Text: text})))
		if (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
