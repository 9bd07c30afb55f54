package trial

import (
	"bytes"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
)

// TestRepeating: a program repeats once two runs were the same, and never again when two were not; nobody remembers for another program.
func TestRepeating(t *testing.T) {
	mine, other := &lock.Program{Command: []string{"mine"}}, &lock.Program{Command: []string{"other"}}
	r := &Repeating{}
	if r.Repeats(mine) || r.Repeats(nil) {
		t.Error("it repeats, and nothing was run")
	}
	r.Passed(mine)
	if !r.Repeats(mine) || r.Repeats(other) || r.Repeats(nil) {
		t.Error("it does not repeat, or another one does")
	}
	r.Differed(mine)
	r.Passed(mine)
	if r.Repeats(mine) {
		t.Error("two runs differed, and it repeats")
	}
	var nobody *Repeating
	nobody.Passed(mine)
	if nobody.Repeats(mine) {
		t.Error("nobody remembers, and it repeats")
	}
}

// written is a history as a file has it.
func written(t *testing.T, h *history.History) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := history.Encode(&text, h); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// TestLikeness: values may be others, each in the place of one; nothing else may, and times may be near.
func TestLikeness(t *testing.T) {
	of := func(at time.Duration, owners ...string) *history.History {
		h := &history.History{}
		for _, owner := range owners {
			h.Events = append(h.Events, history.Event{Type: history.OK, F: history.Acquire, Time: at, Value: history.Value{Owner: owner}})
		}
		return h
	}
	for name, c := range map[string]struct {
		a, b       *history.History
		same, near bool
	}{
		"the same":              {of(1, "x", "y", "", "x"), of(1, "x", "y", "", "x"), true, true},
		"other values":          {of(1, "x", "y", "", "x"), of(1, "y", "z", "", "y"), true, true},
		"one in two places":     {of(1, "x", "y"), of(1, "x", "x"), false, false},
		"a value, and none":     {of(1, "x"), of(1, ""), false, false},
		"another time":          {of(time.Second, "x"), of(time.Second+closely, "x"), false, true},
		"quite another time":    {of(time.Second, "x"), of(time.Second+closely+1, "x"), false, false},
		"one is longer":         {of(1, "x"), of(1, "x", "y"), false, false},
		"the numbers are names": {of(1, "1", "0"), of(1, "0", "0"), false, false},
	} {
		if same, near := likeness(written(t, c.a), written(t, c.b)); same != c.same || near != c.near {
			t.Errorf("%s: the same: %v, near: %v", name, same, near)
		}
	}
	a, b := of(1, "x"), of(1, "x")
	b.Header.Seed = 2
	if same, near := likeness(written(t, a), written(t, b)); same || near || a.Events[0].Value.Owner != "x" {
		t.Error("another seed is the same, or a history was changed")
	}
}
