package runner_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/worldtest"
)

// run is one run of a scenario in a world that only keeps account.
type run struct {
	runner.Outcome
	err     error
	took    time.Duration
	calls   []string
	written string
}

// carryOut runs a scenario in a bubble of its own time. prepare, where it is not
// nil, sets the clients' behaviour.
func carryOut(t *testing.T, text string, prepare func(*worldtest.World)) run {
	return carryOutStaggered(t, text, prepare, 0)
}

// carryOutStaggered does so with clients that begin a little apart.
func carryOutStaggered(t *testing.T, text string, prepare func(*worldtest.World), stagger time.Duration) (r run) {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte("name: test\nlock: {algorithm: redlock}\nnodes: {count: 3}\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := worldtest.New("c1", "c2", "c3")
		for _, c := range []string{"c1", "c2", "c3"} {
			w.Clients[c] = standing
		}
		if prepare != nil {
			prepare(w)
		}
		v := s.Variants[0]
		v.Expect = append(v.Expect, scenario.ExpectedVerdict{Property: checker.DeadlockFree, Verdict: checker.Holds})
		var file bytes.Buffer
		began := time.Now()
		r.Outcome, r.err = runner.Run(runner.Config{
			Scenario: s.Name, Variant: v, Seed: 1, Started: began, History: &file, Stagger: stagger,
			Open: func(world.Spec) (world.World, error) { return w, nil },
		})
		r.took, r.calls, r.written = time.Since(began), w.Calls(), file.String()
	})
	return r
}

// standing is a client that comes to the point before every operation, and takes
// 10 ms for it.
func standing(w *worldtest.World, name string, r client.Request) client.Answer {
	if !w.PassPoint(name, "before-"+string(r.F)) {
		return client.Answer{Type: history.Info}
	}
	w.Sleep(10 * time.Millisecond)
	return worldtest.Agreeable(w, name, r)
}

// told lists the operations and phases of the history: "0s c1 invoke acquire".
func (r run) told() []string {
	var list []string
	for _, e := range r.History.Events {
		if e.IsOp() {
			list = append(list, fmt.Sprintf("%v %s %v %s", e.Time, e.Process, e.Type, e.F))
		} else if e.F == history.Phase {
			list = append(list, fmt.Sprintf("%v %s", e.Time, e.Value.Detail()))
		}
	}
	return list
}

func (r run) at(t *testing.T, what string) string {
	t.Helper()
	for _, line := range r.told() {
		if when, rest, _ := strings.Cut(line, " "); rest == what {
			return when
		}
	}
	t.Errorf("%q is missing in %q", what, r.told())
	return ""
}

func TestOneClientsSectionIsRecordedInOrder(t *testing.T) {
	r := carryOut(t, "workload: {clients: 1, sections: 1, think: 1s}", nil)
	want := []string{
		"0s safety", "0s c1 invoke acquire", "10ms c1 ok acquire", "10ms c1 invoke read", "20ms c1 ok read",
		"1.02s c1 invoke write", "1.03s c1 ok write", "1.03s c1 invoke release", "1.04s c1 ok release",
		"1.04s healing", "1.04s c1 invoke acquire", "1.05s c1 ok acquire", "1.05s c1 invoke release", "1.06s c1 ok release", "1.06s done",
	}
	if got := r.told(); !slices.Equal(got, want) || r.err != nil {
		t.Errorf("error %v, got\n%q, want\n%q", r.err, got, want)
	}
	if r.Interrupted || r.TimedOut {
		t.Errorf("interrupted %v, timed out %v", r.Interrupted, r.TimedOut)
	}
	if lines := strings.Count(r.written, "\n"); lines != len(r.History.Events)+1 {
		t.Errorf("%d lines were written for a header and %d events", lines, len(r.History.Events))
	}
	if !slices.Equal(r.calls, []string{"start", "flush", "close"}) {
		t.Errorf("the world was asked for %q", r.calls)
	}
}

func TestClientsBeginInTurnOrTogether(t *testing.T) {
	for start, want := range map[string][]string{"in-turn": {"0s", "10.1ms", "20.2ms"}, "together": {"0s", "0s", "0s"}} {
		r := carryOut(t, "workload: {clients: 3, start: "+start+"}", nil)
		for i, at := range want {
			if got := r.at(t, fmt.Sprintf("c%d invoke acquire", i+1)); got != at {
				t.Errorf("%s: c%d began at %s, want %s", start, i+1, got, at)
			}
		}
	}
}

// Clients that are told to begin together can be made to do so a little apart.
func TestClientsBeginStaggered(t *testing.T) {
	begins := func(start string) (list []string) {
		r := carryOutStaggered(t, "workload: {clients: 3, start: "+start+"}", nil, 5*time.Millisecond)
		for i := range 3 {
			list = append(list, r.at(t, fmt.Sprintf("c%d invoke acquire", i+1)))
		}
		return list
	}
	apart := begins("together")
	for i, at := range apart {
		if d, err := time.ParseDuration(at); err != nil || d >= 5*time.Millisecond || slices.Index(apart, at) != i {
			t.Errorf("they began at %v", apart)
		}
	}
	if again := begins("together"); !slices.Equal(apart, again) {
		t.Errorf("the same seed: %v and %v", apart, again)
	}
	if in := begins("in-turn"); in[0] != "0s" || in[1] != "10.1ms" {
		t.Errorf("in turn: %v", in)
	}
}

func TestNextClientBeginsWhenTheOneBeforeEndsWithoutAGrant(t *testing.T) {
	r := carryOut(t, "workload: {clients: 2, sections: 2}", func(w *worldtest.World) {
		w.Clients["c1"] = func(w *worldtest.World, _ string, _ client.Request) client.Answer {
			w.Sleep(time.Second)
			return client.Answer{Type: history.Fail, Error: "no quorum"}
		}
	})
	if got := r.at(t, "c2 invoke acquire"); got != "2.0001s" {
		t.Errorf("c2 began at %s, want after both attempts of c1", got)
	}
}

// Faults are not lifted before a client has begun whose turn has come.
func TestNothingHealsBetweenTurns(t *testing.T) {
	const text = "workload: {clients: 2, sections: 1}\nfaults:\n  - at: 0s\n    pause: {node: A}\n"
	for name, first := range map[string]history.Type{"after a grant": history.OK, "after a failure": history.Fail} {
		r := carryOut(t, text, func(w *worldtest.World) {
			w.Clients["c1"] = func(*worldtest.World, string, client.Request) client.Answer {
				return client.Answer{Type: first} // its whole section takes no time
			}
		})
		if got := r.at(t, "healing"); got != "40.1ms" {
			t.Errorf("%s: healing began at %s; c2 began at %s", name, got, r.at(t, "c2 invoke acquire"))
		}
	}
}

// A client that is killed for good before it gave the next its turn has ended, and stands
// under no fault: the next begins, and nothing is healed before it has ended, too.
func TestTheDeadPassTheirTurnOn(t *testing.T) {
	r := carryOut(t, `
workload: {clients: 2, sections: 1}
faults:
  - on: {client: c1, point: before-acquire}
    kill: {client: c1}
`, nil)
	if got := r.at(t, "healing"); got != "40.1ms" {
		t.Errorf("healing began at %s", got)
	}
}

func TestClientsUnderEndlessFaultsAreHealed(t *testing.T) {
	for name, c := range map[string]struct{ text, healed string }{
		"the last one running": {`
workload: {clients: 2, sections: 1}
faults:
  - on: {client: c2, point: before-release}
    pause: {client: c2}
`, "40.1ms"},
		"the only one": {`
workload: {clients: 1, sections: 1}
faults:
  - on: {client: c1, point: before-write}
    pause: {client: c1}
`, "20ms"},
		"one on which the next waits": {`
workload: {clients: 2, sections: 1}
faults:
  - on: {client: c1, point: before-acquire}
    pause: {client: c1}
`, "0s"},
		"one of two that begin together, from the start": {`
workload: {clients: 2, sections: 1, start: together}
faults:
  - at: 0s
    pause: {client: c1}
`, "40ms"},
		"none whose fault is over as it begins": {`
workload: {clients: 2, sections: 1, start: together}
faults:
  - at: 0s
    pause: {client: c2}
    until: {client: c1, point: released}
  - on: {client: c2, point: before-write}
    pause: {client: c2}
    until: {client: c1, point: released}
`, "80ms"},
		"one that waits for a client that has ended": {`
workload: {clients: 2, sections: 1, start: together}
faults:
  - on: {client: c2, point: before-read}
    kill: {client: c2}
  - at: 0s
    pause: {client: c1}
    until: {client: c2, point: before-write}
`, "10ms"},
		"by the clock": {`
workload: {clients: 1, sections: 1, think: 2s}
faults:
  - at: 25ms
    pause: {client: c1}
`, "25ms"},
	} {
		r := carryOut(t, c.text, nil)
		if r.TimedOut || r.err != nil || r.took > 5*time.Second {
			t.Errorf("%s: timed out %v after %v, error %v", name, r.TimedOut, r.took, r.err)
		}
		if got := r.at(t, "healing"); got != c.healed {
			t.Errorf("%s: healing began at %s, want %s", name, got, c.healed)
		}
		r.at(t, "c1 ok release")
	}
}

func TestFaultsThatEndByThemselvesAreAwaited(t *testing.T) {
	r := carryOut(t, `
workload: {clients: 1, sections: 1}
faults:
  - on: {client: c1, point: before-write}
    pause: {client: c1, for: 3s}
`, nil)
	if got := r.at(t, "c1 ok write"); got != "3.03s" {
		t.Errorf("c1 wrote at %s", got)
	}
	if got := r.at(t, "healing"); got != "3.04s" {
		t.Errorf("healing began at %s", got)
	}
}

func TestHangingClientEndsAtTheTimeLimit(t *testing.T) {
	r := carryOut(t, "time_limit: 7s\nworkload: {clients: 2, sections: 1}", func(w *worldtest.World) {
		w.Clients["c2"] = func(w *worldtest.World, _ string, _ client.Request) client.Answer {
			w.Sleep(time.Hour)
			return client.Answer{Type: history.OK}
		}
	})
	if !r.TimedOut || r.Interrupted || r.took != 7*time.Second || r.err != nil {
		t.Errorf("timed out %v, interrupted %v after %v, error %v", r.TimedOut, r.Interrupted, r.took, r.err)
	}
	r.at(t, "c2 info acquire")
	if slices.ContainsFunc(r.told(), func(s string) bool { return strings.HasSuffix(s, " done") }) {
		t.Error("a run that hit its limit is not done")
	}
}

func TestStoppedRunIsInterrupted(t *testing.T) {
	r := carryOut(t, "workload: {clients: 2, sections: 50, rest: 100ms}", func(w *worldtest.World) {
		time.AfterFunc(time.Second, w.Stop)
	})
	if !r.Interrupted || r.TimedOut || r.took != time.Second || r.err != nil {
		t.Errorf("interrupted %v, timed out %v after %v, error %v", r.Interrupted, r.TimedOut, r.took, r.err)
	}
	if last := r.History.Events[len(r.History.Events)-1]; last.Time > time.Second {
		t.Errorf("recorded at %v", last.Time)
	}
	if !slices.Contains(r.calls, "close") {
		t.Error("the world was not closed")
	}
}

func TestDeadClientStopsAndRestartedOneGoesOn(t *testing.T) {
	r := carryOut(t, `
workload: {clients: 2, sections: 3, start: together}
faults:
  - on: {client: c1, point: before-write}
    kill: {client: c1}
  - on: {client: c2, point: before-write}
    kill: {client: c2, for: 1s}
`, nil)
	count := map[string]int{}
	for _, line := range r.told() {
		_, what, _ := strings.Cut(line, " ")
		count[what]++
	}
	if count["c1 invoke acquire"] != 1 || count["c1 info write"] != 1 {
		t.Errorf("the dead c1 went on: %v", count)
	}
	if count["c2 invoke acquire"] != 4 { // three sections and the probe
		t.Errorf("c2 came back and did not go on: %v", count)
	}
}

func TestErrorsOfTheWorldAreHandedOn(t *testing.T) {
	for _, call := range []string{"start", "flush", "close"} {
		r := carryOut(t, "workload: {clients: 1}", func(w *worldtest.World) { w.Refuse[call] = errors.New("broken " + call) })
		if r.err == nil || !strings.Contains(r.err.Error(), "broken "+call) {
			t.Errorf("%s: error %v", call, r.err)
		}
		if !slices.Contains(r.calls, "close") {
			t.Errorf("%s: the world was not closed", call)
		}
	}
}
