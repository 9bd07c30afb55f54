package trial_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// chance leaves it to the seed whether the client is paused inside its section.
const chance = `name: chance
nodes: {count: 1}
lock: {algorithm: set-nx-px, ttl: 1s, node_timeout: 500ms}
workload: {clients: 2, sections: 1, think: 800ms}
faults:
  - every: uniform(100ms..1500ms)
    pause: {client: c1, for: 2s}
variants:
  known: {}
  fenced: {fencing: {tokens: single-counter}}
expect:
  known: {exclusive-lease: holds, no-late-effect: violated, linearizable-resource: violated}
  fenced: {exclusive-lease: holds, no-late-effect: holds, linearizable-resource: holds}
`

// tryUntil runs chance with one seed after the other until its first variant came
// out as wanted.
func tryUntil(t *testing.T, text string, want func(*report.Variant) bool) *trial.Trial {
	t.Helper()
	for seed := range uint64(100) {
		o := options(t)
		o.Seed, o.Tries = seed, 3
		if got := run(t, text, o); want(&got.Result.Variants[0]) {
			return got
		}
	}
	t.Fatal("no seed of 100 comes out so")
	return nil
}

func property(t *testing.T, v *report.Variant, name checker.Property) report.PropertyResult {
	t.Helper()
	for _, p := range v.Properties {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("%s was not judged", name)
	return report.PropertyResult{}
}

// inOneTry is when a verdict of several tries was seen.
func inOneTry(in, times, made int) report.Tried {
	return report.Tried{In: in, Times: times, Made: made, Allowed: 3}
}

func TestViolationThatShowsInAnotherTry(t *testing.T) {
	got := tryUntil(t, chance, func(v *report.Variant) bool { return v.Shown == 2 })
	known, fenced := &got.Result.Variants[0], &got.Result.Variants[1]
	if !known.Met || len(known.Tries) != 2 || known.Tries[0].Seed != got.Result.Seed || known.Tries[1].Seed == got.Result.Seed {
		t.Errorf("met %v, tries %+v", known.Met, known.Tries)
	}
	if p := property(t, known, checker.NoLateEffect); p.Verdict != checker.Violated ||
		p.Tried == nil || *p.Tried != inOneTry(2, 1, 2) || len(p.Events) == 0 {
		t.Errorf("no-late-effect is %v, tried %+v, events %v", p.Verdict, p.Tried, p.Events)
	}
	if p := property(t, known, checker.ExclusiveLease); p.Verdict != checker.Holds || p.Tried == nil || *p.Tried != inOneTry(2, 2, 2) {
		t.Errorf("exclusive-lease is %v, tried %+v", p.Verdict, p.Tried)
	}
	if len(fenced.Tries) != 0 {
		t.Errorf("a variant that had all it wanted was tried again: %+v", fenced.Tries)
	}
	if h := known.History; h.Header.Seed != known.Tries[1].Seed {
		t.Errorf("the history is of seed %d", h.Header.Seed)
	}
	again, err := trial.Rejudge(context.Background(), got.Dir)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := json.Marshal(got.Result.Variants)
	two, _ := json.Marshal(again.Result.Variants)
	if string(one) != string(two) {
		t.Errorf("judged again: %s\nwant %s", two, one)
	}
}

// A violation of what must hold ends the variant at once, with tries left.
func TestWhatMustHoldIsNotTriedAgain(t *testing.T) {
	text := strings.Replace(chance, "{exclusive-lease: holds, no-late-effect: violated, linearizable-resource: violated}",
		"{exclusive-lease: violated, no-late-effect: holds, linearizable-resource: anything}", 1)
	late := func(v *report.Variant) bool {
		return v.Property(checker.NoLateEffect).Verdict == checker.Violated && v.Shown == 2
	}
	got := tryUntil(t, text, late)
	v := &got.Result.Variants[0]
	if v.Met || v.Undecided || len(v.Tries) != 2 {
		t.Errorf("met %v, undecided %v, %d tries", v.Met, v.Undecided, len(v.Tries))
	}
	if p := property(t, v, checker.ExclusiveLease); p.Met || *p.Tried != inOneTry(2, 2, 2) {
		t.Errorf("exclusive-lease: met %v, tried %+v", p.Met, p.Tried)
	}
}

// Ctrl-C between two tries ends the variant, with the verdicts of the first.
func TestInterruptedBetweenTries(t *testing.T) {
	o := options(t)
	o.Tries = 3
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o.Progress = func(variant, phase string) {
		if variant == "known" && strings.HasPrefix(phase, "try 2 of 3, ") {
			cancel()
		}
	}
	never := strings.Replace(chance, "uniform(100ms..1500ms)", "uniform(1400ms..1500ms)", 1)
	got, err := trial.Run(ctx, parse(t, never), o)
	if err != nil {
		t.Fatal(err)
	}
	v := &got.Result.Variants[0]
	if !got.Result.Interrupted || !v.Interrupted || v.Met ||
		v.Error != "" || len(v.Tries) != 2 || v.Tries[0].Interrupted || !v.Tries[1].Interrupted {
		t.Errorf("interrupted %v, met %v, error %q, tries %+v", v.Interrupted, v.Met, v.Error, v.Tries)
	}
	for i, one := range v.Tries {
		if _, err := os.Stat(filepath.Join(got.Dir, one.Folder, "history.jsonl")); err != nil {
			t.Errorf("try %d: %v", i+1, err)
		}
	}
	if _, err := trial.Rejudge(context.Background(), got.Dir); err != nil {
		t.Error(err)
	}
}

// The virtual world tries once by itself.
func TestVirtualTriesOnce(t *testing.T) {
	got := run(t, strings.Replace(chance, "uniform(100ms..1500ms)", "uniform(1400ms..1500ms)", 1), options(t)).Result
	if v := got.Variants[0]; got.Met || len(v.Tries) != 0 || trial.DefaultTries(request.Live) != 3 {
		t.Errorf("met %v, tries %+v", got.Met, v.Tries)
	}
}
