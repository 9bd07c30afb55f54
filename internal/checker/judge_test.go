package checker

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/linear"
)

func judgeOne(t *testing.T, h *history.History, p Property, o Options) Finding {
	t.Helper()
	f := Judge(context.Background(), h, []Property{p}, o)[0]
	checkShape(t, h, f)
	return f
}

// checkShape demands what is true of every finding.
func checkShape(t *testing.T, h *history.History, f Finding) {
	t.Helper()
	if f.Why == "" || strings.Contains(f.Why, "\n") {
		t.Errorf("%s: why is %q: want one line", f.Property, f.Why)
	}
	if (f.Verdict == Violated) != (f.Counterexample != nil) {
		t.Fatalf("%s: verdict %v with counterexample %v", f.Property, f.Verdict, f.Counterexample)
	}
	if f.Verdict == Holds && f.Effort.Chances == 0 {
		t.Errorf("%s: holds without a chance to fail", f.Property)
	}
	last := -1
	for _, e := range f.Events {
		if e <= last || e >= len(h.Events) {
			t.Errorf("%s: events %v are not sorted indices", f.Property, f.Events)
		}
		last = e
	}
	c := f.Counterexample
	if c == nil {
		return
	}
	if c.Assumption == "" || len(c.Operations) == 0 || c.Impossible >= len(h.Events) {
		t.Errorf("%s: counterexample %+v", f.Property, c)
	}
	if n := len(c.Story); n < 1 || n > maxSentences {
		t.Errorf("%s: a story of %d sentences: %v", f.Property, n, c.Story)
	}
	for i, s := range c.Story {
		if s.Event < 0 || s.Event >= len(h.Events) || s.Text == "" {
			t.Errorf("%s: sentence %+v", f.Property, s)
		}
		if i > 0 && s.At < c.Story[i-1].At {
			t.Errorf("%s: the story goes back in time: %v", f.Property, c.Story)
		}
	}
}

func TestGCPause(t *testing.T) {
	want := map[bool]map[Property]struct {
		verdict Verdict
		why     string
	}{
		false: {
			ExclusiveBelief:      {Violated, "2 holders at once for 1.01 s"},
			ExclusiveLease:       {Holds, "no two promises overlapped (3 grants, 1 contended)"},
			NoLateEffect:         {Violated, "a write of c1 took effect 1.01 s after its validity had ended"},
			LinearizableResource: {Violated, "c1 and c2 both read 0; one update lost"},
			OrderedTokens:        {Unknown, "no grant came after another"},
		},
		true: {
			ExclusiveBelief:      {Violated, "2 holders at once for 1.01 s"},
			ExclusiveLease:       {Holds, "no two promises overlapped (3 grants, 1 contended)"},
			NoLateEffect:         {Holds, "write with token 1 refused after token 2"},
			LinearizableResource: {Holds, "write with token 1 refused after token 2"},
			OrderedTokens:        {Holds, "2 later grants, each with a larger token"},
		},
	}
	for fenced, properties := range want {
		for p, w := range properties {
			h := &gcPause(fenced).h
			f := judgeOne(t, h, p, Options{Faults: 1})
			if f.Verdict != w.verdict || f.Why != w.why {
				t.Errorf("fenced %v, %s: %v, %q; want %v, %q", fenced, p, f.Verdict, f.Why, w.verdict, w.why)
			}
		}
	}
}

func TestGCPauseStory(t *testing.T) {
	f := judgeOne(t, &gcPause(false).h, LinearizableResource, Options{})
	var got []string
	for _, s := range f.Counterexample.Story {
		got = append(got, words.Instant(s.At)+" "+s.Text)
	}
	want := []string{
		"0.000 s c1 asked for the lock",
		"0.004 s c1 got the lock on 5 of 5 nodes, valid until 0.994 s",
		"0.008 s c1 was paused for 2.00 s at before-write",
		"0.994 s the validity of c1 ended; c1 did not notice",
		"1.005 s c2 got the lock on 5 of 5 nodes, valid until 1.995 s",
		"1.011 s c2 wrote 1 from 0",
		"2.010 s c1 wrote 1, also from 0, 1.02 s after its validity had ended: one update is lost",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("story:\n%s\nwant:\n%s", g, w)
	}
	if a := f.Counterexample.Assumption; a != "that a holder acts before its lease runs out" {
		t.Errorf("assumption: %q", a)
	}
	if e := f.Counterexample.Impossible; e != 19 {
		t.Errorf("impossible at event %d, want 19", e)
	}
}

// TestDoubt: what holds is taken back where the run was too short or too tame;
// what is violated stays.
func TestDoubt(t *testing.T) {
	s := gcPause(false)
	if f := judgeOne(t, &s.h, ExclusiveLease, Options{Faults: 3}); f.Verdict != Unknown || f.Why != "2 of 3 planned faults never took effect" {
		t.Errorf("with 3 planned faults: %v, %q", f.Verdict, f.Why)
	}
	if f := judgeOne(t, &s.h, ExclusiveLease, Options{Faults: 2}); f.Verdict != Unknown || f.Why != "1 of 2 planned faults never took effect" {
		t.Errorf("with 2 planned faults: %v, %q", f.Verdict, f.Why)
	}
	if f := judgeOne(t, &s.h, ExclusiveLease, Options{Faults: 1, Until: []int{1}}); f.Verdict != Holds {
		t.Errorf("with a fault that ended in time: %v, %q", f.Verdict, f.Why)
	}
	late := gcPause(false)
	healing := slices.IndexFunc(late.h.Events, func(e history.Event) bool { return e.F == history.FaultEnd })
	late.h.Events[healing].F, late.h.Events[healing].Value = history.Phase, history.Value{Rare: &history.Rare{Detail: history.PhaseHealing}}
	const lasted = "fault 1 lasted until everything healed: what was to end it never happened"
	if f := judgeOne(t, &late.h, ExclusiveLease, Options{Faults: 1, Until: []int{1}}); f.Verdict != Unknown || f.Why != lasted {
		t.Errorf("with a fault that lasted: %v, %q", f.Verdict, f.Why)
	}
	if f := judgeOne(t, &late.h, ExclusiveLease, Options{Faults: 1}); f.Verdict != Holds {
		t.Errorf("with a fault that may last: %v, %q", f.Verdict, f.Why)
	}
	s.h.Events = s.h.Events[:len(s.h.Events)-1]
	if f := judgeOne(t, &s.h, ExclusiveLease, Options{Faults: 1}); f.Verdict != Unknown || f.Why != "the run did not finish" {
		t.Errorf("unfinished: %v, %q", f.Verdict, f.Why)
	}
	if f := judgeOne(t, &s.h, ExclusiveBelief, Options{Faults: 3}); f.Verdict != Violated {
		t.Errorf("a violation in an unfinished run: %v, %q", f.Verdict, f.Why)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, f := range Judge(ctx, &gcPause(false).h, Properties(), Options{}) {
		if f.Verdict != Unknown || f.Why != "the check was cancelled" {
			t.Errorf("cancelled: %s is %v, %q", f.Property, f.Verdict, f.Why)
		}
	}
	if f := Judge(context.Background(), &s.h, []Property{"no-such"}, Options{})[0]; f.Verdict != Unknown {
		t.Errorf("no such property: %v", f.Verdict)
	}
	empty := &history.History{Header: s.h.Header}
	for _, f := range Judge(context.Background(), empty, Properties(), Options{}) {
		if f.Verdict != Unknown {
			t.Errorf("%s of an empty history: %v, %q", f.Property, f.Verdict, f.Why)
		}
	}
}

// TestConfirmed: histories of up to 500 operations, at most 8 of them of unknown outcome,
// are decided twice.
func TestConfirmed(t *testing.T) {
	holds := func(n int) *script {
		s := newScript()
		for i := range int64(n) {
			s.acquire(4*i, 4*i+1, []string{"c1", "c2"}[i%2], -1, -1)
			if i == 0 {
				s.add(1, "c3", history.Invoke, history.Acquire, history.Value{}) // which could have been granted
			}
			s.release(4*i+2, 4*i+3, []string{"c1", "c2"}[i%2])
		}
		return s
	}
	sections := func(n, unknown int) *script {
		s := newScript()
		s.h.Header.Workload = "register"
		s.add(0, "c3", history.Invoke, history.Read, history.Value{Section: 1})
		for i := range n - 1 {
			typ := history.OK
			if i < unknown {
				typ = history.Info
			}
			s.write(int64(2*i), []string{"c1", "c2"}[i%2], i+1, 1, typ, -1)
		}
		s.read(int64(2*n), "c1", n, 1) // while c3 waits for an answer
		s.write(int64(2*n+2), "c1", n, 1, history.OK, -1)
		s.add(int64(2*n+4), "c3", history.Fail, history.Read, history.Value{Section: 1})
		return s
	}
	for _, c := range []struct {
		name     string
		property Property
		s        *script
		want     bool
		// order: its own order confirms it instead.
		order bool
	}{
		{"250 holds", ExclusiveBelief, holds(250), true, false}, // an acquire and a release each
		{"251 holds", ExclusiveBelief, holds(251), false, true},
		{"500 writes", LinearizableResource, sections(500, 0), true, false},
		{"501 writes", LinearizableResource, sections(501, 0), false, false}, // the frontier search decides them, and keeps no order
		{"8 unknown writes", LinearizableResource, sections(20, 8), true, false},
		{"9 unknown writes", LinearizableResource, sections(20, 9), false, false},
	} {
		c.s.phase(10_000, history.PhaseDone)
		for _, fast := range []bool{false, true} {
			f := judgeOne(t, &c.s.h, c.property, Options{Fast: fast})
			want := c.want && !fast
			got := strings.Contains(f.Method, "confirmed by porcupine")
			byOrder := strings.HasSuffix(f.Method, ", confirmed by its order")
			if f.Verdict != Holds || got != want || byOrder != (c.order && !fast) {
				t.Errorf("%s, fast %v: %v by %q; want it confirmed: %v", c.name, fast, f.Verdict, f.Method, want)
			}
		}
	}
}

func TestDefaults(t *testing.T) {
	want := Options{Timeout: 30 * time.Second, Memory: 1 << 30, GrantWithin: 5 * time.Second}
	if got := (Options{}).withDefaults(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	want = Options{Timeout: 1, Memory: 2, GrantWithin: 3}
	if got := want.withDefaults(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestVerdictText(t *testing.T) {
	for v, want := range map[Verdict]string{Holds: "holds", Violated: "violated", Unknown: "unknown"} {
		b, err := v.MarshalText()
		if err != nil || string(b) != want || v.String() != want {
			t.Errorf("%q, %v, %q; want %q", b, err, v, want)
		}
		var back Verdict
		if err := back.UnmarshalText(b); err != nil || back != v {
			t.Errorf("%q is read as %v, %v", b, back, err)
		}
	}
	for v, want := range map[Verdict]string{0: "verdict(0)", 4: "verdict(4)"} {
		if b, err := v.MarshalText(); err == nil {
			t.Errorf("%v is written as %q", v, b)
		}
		if got := v.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, no := range []string{"", "hold", "Holds"} {
		var v Verdict
		if err := v.UnmarshalText([]byte(no)); err == nil {
			t.Errorf("%q is read as %v", no, v)
		}
	}
}

// TestDemanded: what a scenario that says nothing of its expectations expects to hold.
func TestDemanded(t *testing.T) {
	if got := Demanded(Subject{Workload: "transactions"}); len(got) != 0 {
		t.Errorf("transactions: %v, want nothing: they need no lock", got)
	}
	want := []Property{ExclusiveLease, BackedGrant, NoLateEffect, LinearizableResource}
	if got := Demanded(Subject{Workload: "increment"}); !slices.Equal(got, want) {
		t.Errorf("increment: %v, want %v", got, want)
	}
	want = []Property{WithinPermits, NoLateEffect}
	if got := Demanded(Subject{Workload: "increment", Shares: true}); !slices.Equal(got, want) {
		t.Errorf("increment under a semaphore: %v, want %v", got, want)
	}
}

// Where a direct algorithm and porcupine disagree, nothing is said.
func TestDisagreementIsUnknown(t *testing.T) {
	s := newScript()
	s.acquire(0, 1, "c1", -1, -1)
	s.acquire(5, 8, "c2", -1, -1)
	// The second hold ends before it was asked for: the sweep takes that for one that began elsewhere.
	holds := []facts.Holding{{From: 0, To: 10, Over: 10, End: -1}, {From: 8, To: -5, Asked: 5, Over: 20, Grant: 1, End: -1}}
	f := newJudge(&s.h).judgeExclusive(context.Background(), Options{}.withDefaults(), holds, nil, "beliefs")
	if f.Verdict != Unknown || !strings.Contains(f.Why, "porcupine disagree") {
		t.Errorf("of holders: %v (%s)", f.Verdict, f.Why)
	}
	two := []linear.Op{{Kind: linear.Acquire, Process: 1, Return: 1}, {Kind: linear.Acquire, Process: 2, Call: 2, Return: 3}}
	legal := func(linear.History) linear.Result { return linear.Result{Outcome: linear.Legal} }
	d := decider{ctx: context.Background(), options: Options{}.withDefaults(),
		problem: linear.Problem{Model: linear.OwnerMutex(), Direct: legal}}
	if r := d.decide(two, true); r.Outcome != linear.Undecided || !strings.Contains(r.Why, "two methods disagree") {
		t.Errorf("of the resource: %v (%s)", r.Outcome, r.Why)
	}
	// Above what porcupine confirms, an order that explains nothing is found out, too.
	d.problem.Order = func(h linear.History) ([]int, bool) { return make([]int, len(h.Ops)), true }
	many := slices.Repeat(two, ConfirmUpTo)
	if r := d.decide(many, true); r.Outcome != linear.Undecided ||
		!strings.Contains(r.Why, "explains nothing: place 1 of the order, operation 0") {
		t.Errorf("of a wrong order: %v (%s)", r.Outcome, r.Why)
	}
}
