package virtual

import (
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// A further run begins at the time 0, and no clock of the world goes back: a key ends when it would have ended.
func TestAFurtherRunGoesOnWithWhatThereIs(t *testing.T) {
	w := small(t, nil)
	if err := w.Start(world.Hooks{}); err != nil {
		t.Fatal(err)
	}
	set := command.SetNX("k", "v", time.Second)
	var monotonic, wall time.Duration
	inClient(w, "c1", func(e *env) {
		if r, _ := do(e, set); !r.OK() {
			t.Errorf("set: %v", r)
		}
		e.Sleep(600 * time.Millisecond)
		monotonic, wall = e.Now(), e.Wall()
	})
	woken := time.Duration(0)
	w.s.after(300*time.Millisecond, func() { woken = w.Now() })
	if err := w.Again(nil); err != nil || w.Now() != 0 {
		t.Fatalf("the further run begins at %v: %v", w.Now(), err)
	}
	inClient(w, "c1", func(e *env) {
		if e.Now() != monotonic || e.Wall() != wall {
			t.Errorf("the clocks of c1 show %v and %v, and showed %v and %v", e.Now(), e.Wall(), monotonic, wall)
		}
		if r, _ := do(e, set); r.Outcome != command.Done || !r.Nil {
			t.Errorf("the key is gone: %v", r)
		}
		e.Sleep(500 * time.Millisecond)
		if r, _ := do(e, set); !r.OK() {
			t.Errorf("the key is there for more than its second: %v", r)
		}
	})
	if woken != 300*time.Millisecond {
		t.Errorf("what was to happen in 300 ms happened at %v", woken)
	}
}

func TestAFurtherRunWaitsForItsOwnMessages(t *testing.T) {
	w := small(t, nil)
	seen := 0
	if err := w.Start(world.Hooks{Message: func(world.Message) { seen++ }}); err != nil {
		t.Fatal(err)
	}
	get := func() {
		inClient(w, "c1", func(e *env) { do(e, command.SetNX("k", "v", time.Second)) })
	}
	get()
	if err := w.Again(world.Patterns{{Client: "c1", Node: "A", Command: "SET"}}); err != nil {
		t.Fatal(err)
	}
	get()
	if err := w.Again(nil); err != nil {
		t.Fatal(err)
	}
	get()
	if seen != 1 {
		t.Errorf("%d messages were told", seen)
	}
}
