package explore

import (
	"context"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// search is a search for the target. It ends with the first violation.
func (t *target) search(tb testing.TB, first uint64, unguided bool, patience uint64) Search {
	tb.Helper()
	sc, err := scenario.Parse("target.yaml", []byte(t.scenario()))
	if err != nil {
		tb.Fatalf("%s: %v", t.name, err)
	}
	return Search{Scenario: sc, Variant: scenario.DefaultVariant, Drawing: Drawing{Kinds: t.kinds, Unguided: unguided},
		Properties: []checker.Property{t.property},
		First:      first, Seeds: patience, StopAt: 1, Workers: 2}
}

// firstFound is how many runs a search needs to the first violation of a target
// that is the target's fault; false where it needs more than its patience.
func (t *target) firstFound(tb testing.TB, first uint64, unguided bool, patience uint64) (uint64, bool) {
	tb.Helper()
	s := t.search(tb, first, unguided, patience)
	s.counts = func(f Found) bool { return t.causes(tb, s, f) }
	r, err := s.Run(context.Background())
	if err != nil {
		tb.Fatalf("%s: %v", t.name, err)
	}
	if len(r.Found) == 0 {
		return patience, false
	}
	return r.Found[0].Run + 1, true
}

var switches = regexp.MustCompile(`, switches: \{[^}]*\}`)

// causes reports whether what was found is the mistake's doing: the lock without
// it survives the same schedule.
func (t *target) causes(tb testing.TB, s Search, f Found) bool {
	tb.Helper()
	if t.mistake == (lock.Mistakes{}) {
		return true
	}
	s.Scenario = parse(tb, switches.ReplaceAllString(t.scenario(), ""))
	setup, err := s.found(f)
	if err != nil {
		tb.Fatal(err)
	}
	b := newBench(context.Background(), "repaired", nil)
	defer b.close()
	v, err := b.run(setup, f.Seed, s.Properties)
	if err != nil {
		tb.Fatal(err)
	}
	return !v.violated(f.Property)
}

// TestSearchFinds: each mistake of the locks, and what each kind of fault does to a
// lock without a defence, is found by each of 20 searches, within as many runs as
// a processor makes in about a second.
func TestSearchFinds(t *testing.T) {
	findsAll(t, slices.Concat(switchTargets, faultTargets), uint64(suite.Amount(t, 20, 3)), 8000)
}

// TestSearchFindsByMessages: so is each mistake that messages can bring about, with
// nothing but messages that are held back or lost.
func TestSearchFindsByMessages(t *testing.T) {
	findsAll(t, messageTargets, uint64(suite.Amount(t, 2, 1)), 20_000)
}

func findsAll(t *testing.T, targets []target, searches, patience uint64) {
	for _, target := range targets {
		t.Run(target.name, func(t *testing.T) {
			var most uint64
			for i := range searches {
				n, found := target.firstFound(t, i<<32, false, patience)
				if !found {
					t.Errorf("search %d found nothing in %d runs", i, patience)
				}
				most = max(most, n)
			}
			t.Logf("at most %d runs", most)
		})
	}
}

// TestEveryMistakeIsATarget: whoever adds a mistake, or a kind of fault, says how
// a search finds it.
func TestEveryMistakeIsATarget(t *testing.T) {
	mistakes := reflect.TypeFor[lock.Mistakes]()
	for i := range mistakes.NumField() {
		if mistakes.Field(i).Name == "StaysAtNode" {
			continue // there is no model of a Redis Cluster
		}
		if !slices.ContainsFunc(switchTargets, func(t target) bool { return reflect.ValueOf(t.mistake).Field(i).Bool() }) {
			t.Errorf("no target for the mistake %s", mistakes.Field(i).Name)
		}
		if noMessage[mistakes.Field(i).Name] == "" &&
			!slices.ContainsFunc(messageTargets, func(t target) bool { return reflect.ValueOf(t.mistake).Field(i).Bool() }) {
			t.Errorf("no message brings the mistake %s about, and nobody says why", mistakes.Field(i).Name)
		}
	}
	for _, kind := range Kinds() {
		if kind == "slow-close" {
			continue // it delays bad news and does no harm of its own
		}
		if kind == "move-slot" {
			continue // there is no model of a Redis Cluster
		}
		if !slices.ContainsFunc(slices.Concat(faultTargets, messageTargets), func(t target) bool { return slices.Contains(t.kinds, kind) }) {
			t.Errorf("no target for the fault %s", kind)
		}
	}
}

// TestNoFalseAlarm: a correct lock keeps its lease under every fault that it is
// made for. `make sound` tries a million runs.
func TestNoFalseAlarm(t *testing.T) {
	sc, err := scenario.Load("testdata/sound.yaml")
	if err != nil {
		t.Fatal(err)
	}
	runs := uint64(suite.Amount(t, 20_000, 4_000))
	r := search(t, Search{Scenario: sc, Seeds: runs, Workers: 2, Properties: []checker.Property{checker.ExclusiveLease},
		Drawing: Drawing{Kinds: strings.Split("pause,latency,hold,cut,reset,bandwidth,limit-data,slow-close,stall", ",")}})
	if r.Runs != runs || r.Violations() > 0 {
		t.Errorf("%d runs: %+v", r.Runs, r.Classes)
	}
}

// BenchmarkGuidance compares drawing alone with half drawing, half changing: the
// mean runs, and the mean time, to the first violation of each target, over 20
// searches.
func BenchmarkGuidance(b *testing.B) {
	const searches, patience = 20, 20_000
	for _, t := range slices.Concat(switchTargets, faultTargets) {
		for _, way := range []struct {
			name     string
			unguided bool
		}{{"drawn", true}, {"guided", false}} {
			b.Run(t.name+"/"+way.name, func(b *testing.B) {
				for b.Loop() {
					var total, most, missed uint64
					began := time.Now()
					for i := range uint64(searches) {
						n, found := t.firstFound(b, i<<32, way.unguided, patience)
						total, most = total+n, max(most, n)
						if !found {
							missed++
						}
					}
					b.ReportMetric(float64(time.Since(began).Milliseconds())/searches, "ms/found")
					b.ReportMetric(float64(total)/searches, "runs/found")
					b.ReportMetric(float64(most), "most-runs")
					b.ReportMetric(float64(missed), "missed")
				}
			})
		}
	}
}
