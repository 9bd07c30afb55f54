package conform

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
)

// Each row of a report card in which a check counts is a guarantee, and what shows how the program speaks counts in none.
func TestChecksCountInRows(t *testing.T) {
	for _, c := range checks {
		switch {
		case c.mutes != "" && c.ofLock:
			t.Errorf("%s is about the protocol and about the lock", c.name)
		case c.ofLock && !slices.Contains(scenario.Guarantees(), scenario.Guarantee(c.guarantee)):
			t.Errorf("%s counts in %q, which is no guarantee", c.name, c.guarantee)
		case !c.ofLock && c.guarantee != "":
			t.Errorf("%s counts in %q, and is not about the lock", c.name, c.guarantee)
		case c.first && c.mutes != Everything:
			t.Errorf("%s: nothing can be checked without it, and yet judged", c.name)
		}
	}
}

// The page of the protocol has all checks, in their order.
func TestTableOfChecks(t *testing.T) {
	want := "| check | the program |\n|---|---|\n"
	for _, c := range checks {
		want += "| `" + c.name + "` | " + c.title + " |\n"
	}
	if !strings.Contains(docstest.Read(t, "docs/reference/lock-protocol.md"), want) {
		t.Errorf("docs/reference/lock-protocol.md lacks the table\n%s", want)
	}
}

func TestEndOf(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  int64
	}{
		{[]string{"SET", "lock", "v", "PXAT", "1700"}, 1700},
		{[]string{"set", "lock", "v", "nx", "pxat", "1700"}, 1700},
		{[]string{"PEXPIREAT", "lock", "1700"}, 1700},
		{[]string{"SET", "lock", "PXAT"}, 0},
		{[]string{"SET", "lock", "v", "PXAT"}, 0},
		{[]string{"SET", "lock", "v"}, 0},
		{[]string{"DEL", "lock"}, 0},
		{[]string{"PEXPIREAT", "lock", "soon"}, 0},
		{nil, 0},
	} {
		e, ok := endOf(c.words)
		if ok != (c.want != 0) || ok && (!e.at.Equal(time.UnixMilli(c.want)) || e.name != "lock") {
			t.Errorf("%q: %+v, %v", c.words, e, ok)
		}
	}
}
