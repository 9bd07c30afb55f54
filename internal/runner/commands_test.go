package runner_test

import (
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/worldtest"
)

// sending has c1 send so many commands for its first acquire.
func sending(n int) func(*worldtest.World) {
	return func(w *worldtest.World) {
		w.Clients["c1"] = func(w *worldtest.World, name string, r client.Request) client.Answer {
			for range n {
				w.Sends(name, world.Command{Name: "SET", Node: "A", Answered: history.Some(0)})
			}
			n = 0
			return worldtest.Agreeable(w, name, r)
		}
	}
}

func recorded(h *history.History) (commands int, unread []string) {
	for i := range h.Events {
		switch e := &h.Events[i]; e.F {
		case history.Sent:
			commands++
		case history.Unread:
			unread = append(unread, e.Process+" "+e.Error.String())
		}
	}
	return commands, unread
}

func TestCommandsAreRecordedWhereTheScenarioWantsIt(t *testing.T) {
	for text, want := range map[string]int{"": 0, "record_commands: true\n": 7} {
		r := carryOut(t, text+"workload: {clients: 1}\n", sending(7))
		if n, unread := recorded(r.History); n != want || len(unread) > 0 || r.History.Header.Commands != (want > 0) {
			t.Errorf("%q: %d commands, unread %q", text, n, unread)
		}
	}
}

func TestCommandsAreBounded(t *testing.T) {
	r := carryOut(t, "record_commands: true\nworkload: {clients: 1}\n", sending(runner.MaxCommands+3))
	n, unread := recorded(r.History)
	if n != runner.MaxCommands || len(unread) != 1 || unread[0] != "run more than 100000 commands were sent" {
		t.Errorf("%d commands, unread %q", n, unread)
	}
	cost := checker.CostOf(r.History)
	if cost.Commands != nil || cost.RoundTrips != nil || !strings.Contains(cost.Why(checker.CommandsFigure), "more than 100000") {
		t.Errorf("%+v", cost)
	}
}
