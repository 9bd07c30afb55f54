package virtual

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// telling is a small world that tells the commands.
func telling(t *testing.T) (w *World, told *[]string) {
	w, told = small(t, func(s *world.Spec) { s.Commands = true }), &[]string{}
	err := w.Start(world.Hooks{Command: func(client string, c world.Command) {
		text := fmt.Sprint(client, " ", c.Name, " ", c.Node)
		if c.Opens {
			text += " opens"
		}
		if !c.Answered.IsSet() {
			text += " unanswered"
		} else if c.Answered.V() <= c.Left || c.Answered.V() > int64(w.Now()) {
			text += fmt.Sprintf(" from %d to %d", c.Left, c.Answered.V())
		}
		*told = append(*told, text)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return w, told
}

func TestCommandsAreTold(t *testing.T) {
	release := lock.Scripts()[0]
	for name, c := range map[string]struct {
		act  func(w *World, e *env)
		want []string
	}{
		"answered": {func(_ *World, e *env) { do(e, command.Get("lock")) }, []string{"c1 GET A"}},
		"a new connection": {func(w *World, e *env) {
			w.link(world.Link{From: "c1", To: "A"}).idle = nil
			do(e, command.Get("lock"))
		}, []string{"c1 HELLO A opens", "c1 GET A"}},
		"a script unknown": {func(w *World, e *env) {
			w.model("A").known = nil
			do(e, command.Command{Op: command.EVAL, Script: release, Keys: []string{"lock"}, Args: []string{"x", "1000"}})
		}, []string{"c1 EVALSHA A", "c1 EVAL A"}},
		"a transaction": {func(_ *World, e *env) {
			do(e, command.Command{Op: command.EXEC, Body: []command.Command{command.Get("lock")}})
		}, []string{"c1 MULTI A", "c1 GET A", "c1 EXEC A"}},
		"too late": {func(w *World, e *env) {
			_ = w.Pause("A")
			do(e, command.Get("lock").Within(time.Millisecond))
		}, []string{"c1 GET A unanswered"}},
		"the connection broke": {func(w *World, e *env) {
			_ = w.Kill("A")
			do(e, command.Get("lock"))
		}, []string{"c1 HELLO A opens unanswered"}},
		"to the resource": {func(_ *World, e *env) { e.store.Do(command.Get("resource")) }, nil},
	} {
		w, told := telling(t)
		inClient(w, "c1", func(e *env) { c.act(w, e) })
		if !slices.Equal(*told, c.want) {
			t.Errorf("%s: %q, want %q", name, *told, c.want)
		}
	}
}

func TestCommandsOfTheKilledAndOfTheEndAreTold(t *testing.T) {
	for name, end := range map[string]func(w *World){
		"killed":  func(w *World) { _ = w.Kill("c1") },
		"the end": func(w *World) { _, _ = w.Flush(), w.Flush() },
	} {
		w, told := telling(t)
		_ = w.Pause("A")
		w.Go(func() { w.Client("c1").Do(client.Request{F: history.Acquire, Section: 1}) })
		w.Go(func() {
			w.Sleep(time.Millisecond)
			end(w)
			w.Stop()
		})
		w.Wait()
		if want := []string{"c1 SET A unanswered"}; !slices.Equal(*told, want) {
			t.Errorf("%s: %q, want %q", name, *told, want)
		}
	}
}
