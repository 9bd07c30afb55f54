package virtual

import (
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// TestMemoryOfNodes: a full node refuses what takes memory, and nothing else; an eviction takes what has a TTL, and FLUSHALL takes all.
func TestMemoryOfNodes(t *testing.T) {
	w := small(t, nil)
	inClient(w, "c1", func(e *env) {
		ask := func(c command.Command) command.Reply {
			r, _ := do(e, c.Within(20*time.Millisecond))
			return r
		}
		want := func(what string, ok bool) {
			t.Helper()
			if !ok {
				t.Error(what)
			}
		}
		ask(command.Set("lock", "mine", time.Second))
		ask(command.Incr("counter"))
		empty, err := w.Fill("A")
		want("it can be full", err == nil)
		r := ask(command.Set("other", "x", 0))
		want("SET is refused", r.Outcome == command.Refused && r.Err() == "OOM command not allowed when used memory > 'maxmemory'.")
		want("so is INCR", ask(command.Incr("counter")).Outcome == command.Refused)
		want("and a transaction with it", ask(command.Exec(command.Set("other", "x", 0))).Outcome == command.Refused)
		want("PEXPIRE is not", ask(command.PExpire("lock", time.Minute)).OK())
		want("it is empty again", empty() == nil && ask(command.Set("other", "x", 0)).OK())
		want("it evicts", w.Evict("A") == nil && held(w, "A") == "" && ask(command.Get("counter")).Str() == "1" && ask(command.Get("other")).OK())
		want("it is flushed", w.Wipe("A") == nil && ask(command.Get("counter")).Nil)
		if empty, err = w.Fill("A"); err != nil {
			t.Error(err)
		}
		want("who is dead loses nothing", w.Kill("A") == nil && !w.Reaches("A") && w.Evict("A") != nil)
		want("who is started again is not full", w.Restart("A", world.KeepNothing) == nil && w.Reaches("A"))
		w.Sleep(time.Millisecond)
		want("and stays so", ask(command.Set("other", "x", 0)).OK() && empty() == nil && ask(command.Set("other", "x", 0)).OK())
	})
}
