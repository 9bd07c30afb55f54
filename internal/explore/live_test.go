package explore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// live is a search as in real time, in the virtual world, where it is quick.
func live(t *testing.T, text string, p checker.Property, kinds ...string) Search {
	t.Helper()
	return Search{Scenario: parse(t, text), Variant: scenario.DefaultVariant, Drawing: Drawing{Kinds: kinds},
		Properties: []checker.Property{p},
		Workers:    2, Live: &Live{}, Real: &Real{Commands: []string{"SET", "EVALSHA"}}}
}

const plainDelete = "name: x\nlock: {algorithm: redlock, ttl: 500ms, switches: {release: delete}}\nnodes: {count: 3}\n" + clientsOfTargets

func TestRealSearchProvesAndShrinks(t *testing.T) {
	s := live(t, plainDelete, checker.ExclusiveLease)
	s.Seeds, s.StopAt = 20_000, 1
	var saved *State
	s.Save = func(st *State, _ bool) error { saved = st; return nil }
	r, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(r.Found, func(f Found) bool { return f.Proved() }) {
		t.Fatalf("nothing was proved in %d runs: %+v", r.Runs, r.Found)
	}
	kept, err := s.ShrinkLive(context.Background(), r.Found)
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) != 1 || !kept[0].Live || kept[0].Failed != nil || kept[0].Robust < Showings {
		t.Fatalf("%+v", kept)
	}
	if got := len(kept[0].Setup.Faults.List); got > 3 || got > kept[0].From {
		t.Errorf("%d of %d faults are left", got, kept[0].From)
	}
	if !slices.Equal(saved.Commands, s.Real.Commands) {
		t.Errorf("the state has the commands %v, want %v: without them its schedules cannot be drawn again", saved.Commands, s.Real.Commands)
	}
	interrupted, stop := context.WithCancel(context.Background())
	stop()
	if left, err := s.ShrinkLive(interrupted, r.Found); err != nil ||
		len(left) != 1 || left[0].Failed == nil || len(left[0].Setup.Faults.List) != left[0].From {
		t.Errorf("interrupted: %+v, %v: want what was found, as it was found", left, err)
	}
	// The schedule was run as it was written: the lock without the mistake survives it.
	for _, mistake := range []bool{true, false} {
		setup := kept[0].Setup
		setup.Lock.Mistakes = lock.Mistakes{PlainDelete: mistake}
		certain, err := InVirtual(context.Background(), &setup, kept[0].Found)
		if err != nil || (certain != nil) != mistake {
			t.Errorf("with the mistake: %v: %+v, %v", mistake, certain, err)
		}
	}
}

// ending is a place that ends the search with a given run.
type ending struct {
	Virtual
	count, last int
	end         func()
}

func (e *ending) Run(ctx context.Context, c runner.Config) (runner.Outcome, error) {
	if e.count++; e.count == e.last {
		e.end()
	}
	if ctx.Err() != nil {
		return runner.Outcome{Interrupted: true}, nil
	}
	return e.Virtual.Run(ctx, c)
}

// Whenever a search ends, there is the history of what was found and is not proved, that of its own run. What was not repeated for that
// reason is repeated before it is made smaller; if there is no time for that, either, it is told.
func TestHistoriesOfWhatIsNotProvedAreKept(t *testing.T) {
	cut := 0
	for last := 1; last <= 60 && cut < 3; last++ {
		s := live(t, plainDelete, checker.ExclusiveLease)
		s.Workers = 1
		ctx, cancel := context.WithCancel(context.Background())
		s.Place = func() Place { return &ending{last: last, end: cancel} }
		seen := make(map[uint64]*history.History)
		s.Live.Seen = func(f Found, h *history.History) error { seen[f.Run] = h; return nil }
		r, err := s.Run(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(r.Found, func(f Found) bool { return f.CutShort }) {
			continue
		}
		cut++
		interrupted, err := s.ShrinkLive(ctx, slices.Clone(r.Found))
		if err != nil || len(interrupted) != 1 || !strings.Contains(interrupted[0].Failed.Error(), "interrupted before it was repeated") {
			t.Fatalf("ended with run %d: %+v, %v", last, interrupted, err)
		}
		f := interrupted[0].Found
		h := seen[f.Run]
		if h == nil || h.Header.Seed != f.Seed ||
			checker.Judge(context.Background(), h, []checker.Property{f.Property}, checker.Options{})[0].Verdict != checker.Violated {
			t.Errorf("ended with run %d: no history of %+v that shows it", last, f)
		}
		s.Place = nil
		again, err := s.ShrinkLive(context.Background(), slices.Clone(r.Found))
		if err != nil || len(again) != 1 || again[0].CutShort || !again[0].Proved() || again[0].Failed != nil {
			t.Errorf("ended with run %d: %+v, %v: want it repeated and made smaller", last, again, err)
		}
	}
	if cut == 0 {
		t.Error("no search ended before a violation was repeated")
	}
}

// hurried is a place where some runs break a bound of time, as on a machine that is too slow: here the lock has a mistake then.
type hurried struct {
	Virtual
	count atomic.Int64
	slow  func(int64) bool
}

func (h *hurried) Run(ctx context.Context, c runner.Config) (runner.Outcome, error) {
	c.Variant.Setup.Lock.Mistakes.NoCleanup = h.slow(h.count.Add(1))
	return h.Virtual.Run(ctx, c)
}

// What breaks a bound of time once, and never again, may be the machine's fault: it is neither found nor judged.
func TestSlowRunsAreNotJudged(t *testing.T) {
	for _, test := range []struct {
		name string
		slow func(int64) bool
		want bool
	}{
		{"now and then", func(n int64) bool { return n%20 == 0 }, false},
		{"always", func(int64) bool { return true }, true},
	} {
		s := live(t, "name: x\ngrant_within: 400ms\nlock: {algorithm: redlock, ttl: 500ms}\n"+clientsOfTargets,
			checker.DeadlockFree, "pause", "cut", "hold")
		s.Seeds, s.Workers = 1_000, 1
		s.Place = func() Place { return &hurried{slow: test.slow} }
		r, err := s.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d slow, %d judged of %d, %+v", test.name, r.Slow, r.Judged[0].Runs, r.Runs, r.Classes)
		if found := len(r.Classes) > 0; found != test.want || found == (r.Slow > 0) || r.Judged[0].Runs+r.Slow > r.Runs {
			t.Errorf("%s: found %v, %d slow", test.name, r.Classes, r.Slow)
		}
	}
}

// late is a place that knows that the machine was too slow for all runs.
type late struct{ hurried }

func (l *late) Run(ctx context.Context, c runner.Config) (runner.Outcome, error) {
	out, err := l.hurried.Run(ctx, c)
	out.TooSlow = "a timer fired late"
	return out, err
}

// Where the machine was too slow, a bound of time that is broken in every run is not found, and a key of another that is deleted is.
func TestSlowMachine(t *testing.T) {
	mistaken := func(int64) bool { return true }
	for name, c := range map[string]struct {
		text     string
		property checker.Property
		found    bool
	}{
		"a bound of time": {"name: x\ngrant_within: 400ms\n" +
			"lock: {algorithm: redlock, ttl: 500ms}\n" + clientsOfTargets, checker.DeadlockFree, false},
		"a key of another": {plainDelete, checker.OwnerRelease, true},
	} {
		s := live(t, c.text, c.property, "pause", "cut", "hold")
		s.Seeds, s.Workers = 300, 1
		s.Place = func() Place { return &late{hurried{slow: mistaken}} }
		r, err := s.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if found := len(r.Classes) > 0; found != c.found || !found && (r.Slow == 0 || r.Slowness != "a timer fired late") {
			t.Errorf("%s: found %v; for %d of %d runs it was too slow (%s)", name, r.Classes, r.Slow, r.Runs, r.Slowness)
		}
	}
}

// sick is a place where some runs cannot be made.
type sick struct {
	Virtual
	count *atomic.Int64
	fails func(int64) bool
	slow  string
}

func (s *sick) Run(ctx context.Context, c runner.Config) (runner.Outcome, error) {
	if n := s.count.Add(1); s.fails(n) {
		return runner.Outcome{TooSlow: s.slow}, errors.New("no more ports")
	}
	return s.Virtual.Run(ctx, c)
}

func TestRunsThatFailTellNothing(t *testing.T) {
	s := live(t, plainDelete, checker.OrderedTokens)
	s.Seeds = 200
	var count atomic.Int64
	fails := func(n int64) bool { return n%3 == 0 }
	s.Place = func() Place { return &sick{count: &count, fails: func(n int64) bool { return fails(n) }} }
	r, err := s.Run(context.Background())
	if err != nil || r.Failed < 60 || r.Failed > 70 || r.Runs != 200 || r.Failure != "no more ports" {
		t.Errorf("%d of %d runs failed (%s): %v", r.Failed, r.Runs, r.Failure, err)
	}
	fails = func(int64) bool { return true }
	if _, err = s.Run(context.Background()); err == nil ||
		!strings.Contains(err.Error(), "20 runs failed one after the other, the last: no more ports") {
		t.Error(err)
	}
	// The lock is not to blame where the machine is too slow for each run.
	s.Place = func() Place {
		return &sick{count: &count, fails: func(n int64) bool { return fails(n) }, slow: "no answer within 20s"}
	}
	r, err = s.Run(context.Background())
	if err != nil || r.Failed > 0 || r.Slow < mostFailures || r.Slow != r.Runs || r.Runs == 200 || !r.GaveUp {
		t.Errorf("the machine was too slow for %d of %d runs: %v", r.Slow, r.Runs, err)
	}
	if _, err = s.Commands(context.Background()); !errors.As(err, new(*SlowError)) {
		t.Error(err)
	}
}

func TestWaypoints(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		kinds []string
	}{
		Waypoints()[answerLost]:    {plainDelete, []string{"lose-answer"}},
		Waypoints()[endsWhileHeld]: {plainDelete, []string{"pause"}},
		Waypoints()[lateRelease]:   {plainDelete, []string{"hold-message", "latency"}},
	} {
		s := live(t, c.text, checker.OrderedTokens, c.kinds...)
		s.Seeds = 2000
		r, err := s.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(r.Waypoints, func(w Class) bool { return w.Name == name })
		if at < 0 || r.Waypoints[at].Runs == r.Runs {
			t.Errorf("%s: %+v of %d runs", name, r.Waypoints, r.Runs)
		}
		quiet := s
		quiet.Kinds, quiet.Seeds, quiet.Unguided = []string{"slow-close"}, 50, true
		// Of clients that give up, or ask again, the others are passed without a fault, too.
		isPassed := func(w Class) bool { return w.Name == name && name == Waypoints()[endsWhileHeld] }
		if r, err = quiet.Run(context.Background()); err != nil || slices.ContainsFunc(r.Waypoints, isPassed) {
			t.Errorf("%s without a reason: %+v, %v", name, r.Waypoints, err)
		}
	}
}

func TestPropertiesOfAClass(t *testing.T) {
	want := []checker.Property{checker.ExclusiveLease, checker.OwnerRelease}
	for _, name := range []string{"exclusive-lease + owner-release", "exclusive-lease + owner-release" + wordAlone} {
		if got := (&Class{Name: name}).Properties(); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
