package virtual

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// TestAnElementGoesToWhoWaitedFirst: also where that client has died, until the node has heard of it.
func TestAnElementGoesToWhoWaitedFirst(t *testing.T) {
	for name, c := range map[string]struct {
		kill string
		want []string
	}{
		"all live":       {"", []string{"c1 got x", "c2 got y"}},
		"the first died": {"c1", []string{"c2 got x"}},
	} {
		w := small(t, func(s *world.Spec) { s.Clients = []string{"c1", "c2", "c3"} })
		var got []string
		for i, who := range []string{"c1", "c2"} {
			w.Go(func() {
				w.Sleep(time.Duration(i) * 10 * time.Millisecond)
				e := newEnv(w.thread(who), nil)
				if r, _ := do(e, command.BLPop("l", time.Second)); r.OK() && r.List()[0] == "l" {
					got = append(got, who+" got "+r.List()[1])
				}
			})
		}
		w.Go(func() {
			w.Sleep(50 * time.Millisecond)
			if c.kill != "" {
				_ = w.Kill(c.kill)
				w.Sleep(10 * time.Millisecond)
			}
			do(newEnv(w.thread("c3"), nil), command.RPush("l", "x", "y"))
		})
		w.Wait()
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWaitingForAnElementEnds(t *testing.T) {
	w := small(t, nil)
	inClient(w, "c1", func(e *env) {
		if r, took := do(e, command.BLPop("l", 50*time.Millisecond)); !r.Nil || took < 50*time.Millisecond || took > 160*time.Millisecond {
			t.Errorf("%+v after %v", r, took)
		}
		do(e, command.RPush("l", "x"))
		if r, took := do(e, command.BLPop("l", 0)); !r.OK() || took > time.Millisecond {
			t.Errorf("%+v after %v", r, took)
		}
		if r, _ := do(e, command.LRange("l")); len(r.List()) > 0 {
			t.Errorf("left: %q", r.List())
		}
	})
}

// TestTheRunWaitsForWhatIsPushed: an element is pushed to who waits for it, and nil is not.
func TestTheRunWaitsForWhatIsPushed(t *testing.T) {
	w := small(t, func(s *world.Spec) {
		s.Messages = world.Patterns{{Client: "c1", Kind: world.Pushed, Command: world.AnyCommand}}
	})
	var told []string
	w.hooks.Message = func(m world.Message) {
		told = append(told, fmt.Sprint(strings.Join(m.Words, " "), m.Kind.FromNode()))
		w.Sleep(300 * time.Millisecond)
	}
	inClient(w, "c1", func(e *env) {
		do(e, command.BLPop("l", 50*time.Millisecond))
		do(e, command.RPush("l", "x"))
		r, took := do(e, command.BLPop("l", time.Second))
		if !r.OK() || took < 300*time.Millisecond || !slices.Equal(told, []string{"blpop l 1true"}) {
			t.Errorf("%+v after %v: %q", r, took, told)
		}
	})
}
