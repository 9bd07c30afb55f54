package explore

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// TestSearchGoesOn: a search that was stopped and continued from its file comes
// to what an uninterrupted one comes to.
func TestSearchGoesOn(t *testing.T) {
	s := Search{Scenario: parse(t, head), Variant: scenario.DefaultVariant, Properties: claims, Seeds: 600, Workers: 2}
	whole := search(t, s)

	stopped := errors.New("stopped")
	var file bytes.Buffer
	s.Save = func(state *State, _ bool) error {
		if state.Runs < 200 || file.Len() > 0 {
			return nil
		}
		if err := state.Write(&file); err != nil {
			t.Fatal(err)
		}
		return stopped
	}
	if _, err := s.Run(context.Background()); !errors.Is(err, stopped) {
		t.Fatalf("the search ended with %v", err)
	}
	state, err := ReadState(&file)
	if err != nil {
		t.Fatal(err)
	}
	s.From, s.Save = state, nil
	if on := search(t, s); !reflect.DeepEqual(on, whole) {
		t.Errorf("continued: %+v\nin one go: %+v", on, whole)
	}
}

func TestReadStateRefusesOthers(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "{}", `{"format":"redlock-sim-search","version":2}`,
		`{"format":"redlock-sim-search","version":4,"corpus":[{"lineage":[]}]}`, `{"format":"redlock-sim-search","version":4,"found":[{}]}`} {
		if _, err := ReadState(strings.NewReader(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

// TestDistinctIsBounded: beyond its size it estimates.
func TestDistinctIsBounded(t *testing.T) {
	var d distinct
	const n = 1_000_000
	for i := range uint64(n) {
		d.add(mix(i, fnvOffset))
		d.add(mix(i/2, fnvOffset))
	}
	if got := d.count(); got < n*97/100 || got > n*103/100 || len(d.kept) > sampleSize || d.exact() {
		t.Errorf("%d counted of %d, %d kept", got, n, len(d.kept))
	}
	var few distinct
	for i := range uint64(1000) {
		few.add(mix(i, fnvOffset))
	}
	if few.count() != 1000 || !few.exact() {
		t.Errorf("%d counted of 1000", few.count())
	}
}

// TestRunsRepeat: with every kind of fault, a run in a world that was used before
// is the same as in a fresh one.
func TestRunsRepeat(t *testing.T) {
	s := Search{Scenario: parse(t, head), Variant: scenario.DefaultVariant, Properties: claims}
	used := &finder{Search: s, state: newState(0)}
	if err := used.startWorkers(context.Background()); err != nil {
		t.Fatal(err)
	}
	defer used.stopWorkers()
	for run := range uint64(1000) {
		fresh := &finder{Search: s, state: newState(0)}
		if err := fresh.startWorkers(context.Background()); err != nil {
			t.Fatal(err)
		}
		var a, b result
		if err := errors.Join(used.workers[0].run(run, &a), fresh.workers[0].run(run, &b)); err != nil {
			t.Fatal(err)
		}
		if x, y := used.workers[0].bench.events, fresh.workers[0].bench.events; !reflect.DeepEqual(x, y) {
			t.Errorf("run %d: %d events in a used world, %d in a fresh one, or others", run, len(x), len(y))
		}
		fresh.stopWorkers()
	}
}
