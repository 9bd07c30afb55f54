package explore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// made is a run of which everything is drawn.
func made(r *rand.Rand, first, run uint64) result {
	seed := first + run
	out := result{run: run, seed: seed, lineage: Lineage{seed},
		behaviour: mix(r.Uint64N(500), fnvOffset), judged: "exclusive-lease + owner-release"}
	if r.IntN(3) == 0 {
		out.lineage = Lineage{r.Uint64(), seed}
	}
	switch r.IntN(10) {
	case 0:
		out.failed = fmt.Errorf("run %d cannot be carried out", seed)
	case 1:
		out.unfinished, out.judged = true, ""
	case 2:
		out.class, out.slow = "deadlock-free", "a timer fired late"
	case 3, 4, 5:
		out.class, out.property, out.again = []string{"exclusive-lease", "exclusive-lease + owner-release", "owner-release"}[r.IntN(3)],
			"exclusive-lease", r.IntN(10)
	}
	for _, why := range []string{"nothing put it to the test", "the run did not finish"} {
		if r.IntN(4) == 0 {
			out.reasons = append(out.reasons, Reason{"owner-release", r.IntN(2) == 0, why, 1})
		}
	}
	out.waypoints = r.UintN(1 << len(Waypoints()))
	return out
}

// partOf is what comes of runs.
func partOf(first uint64, results []result) Part {
	s := newState(first)
	for i := range results {
		r := results[i]
		r.run = r.lineage[len(r.lineage)-1] - first
		s.count(&r)
	}
	return s.Part
}

// reread is a part as its file says it is.
func reread(t *testing.T, p Part) (out Part) {
	t.Helper()
	text, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err = errors.Join(err, out.Check()); err != nil {
		t.Fatal(err)
	}
	return out
}

// merged merges parts in some order and in some groups.
func merged(t *testing.T, r *rand.Rand, parts []Part) Part {
	t.Helper()
	r.Shuffle(len(parts), func(i, k int) { parts[i], parts[k] = parts[k], parts[i] })
	for len(parts) > 1 {
		n := 2 + r.IntN(len(parts)-1)
		sum, err := Merge(parts[:n]...)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts[n:], reread(t, sum))
	}
	sum, err := Merge(parts...)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestPartsMerge: whatever came of runs, and however they were dealt to parts, the parts together
// are what one search would have counted.
func TestPartsMerge(t *testing.T) {
	for i := range suite.Amount(t, 300, 50) {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		first := []uint64{0, 17, math.MaxUint64 - 1000}[r.IntN(3)]
		var all []result
		for run := range uint64(1 + r.IntN(400)) {
			all = append(all, made(r, first, run))
		}
		whole := partOf(first, all)
		var parts []Part
		for rest := all; len(rest) > 0; {
			n := 1 + r.IntN(len(rest))
			parts = append(parts, partOf(rest[0].lineage[len(rest[0].lineage)-1], rest[:n]))
			rest = rest[n:]
		}
		if got, err := Merge(append(parts, Part{}, parts[0])...); err != nil || !reflect.DeepEqual(got, whole) {
			t.Fatalf("seed %d: %v: with one of them twice %+v\nwhole %+v", i, err, got, whole)
		}
		if got := merged(t, r, parts); !reflect.DeepEqual(got, whole) {
			t.Fatalf("seed %d: merged %+v\nwhole %+v", i, got, whole)
		}
	}
}

// TestPartsWithHoles: of a search that was interrupted, some runs between others are missing.
func TestPartsWithHoles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var all, even, odd []result
	for run := range uint64(100) {
		one := made(r, 5, run)
		if all = append(all, one); run%2 == 0 {
			even = append(even, one)
		} else {
			odd = append(odd, one)
		}
	}
	whole := partOf(5, all)
	if got := merged(t, r, []Part{partOf(5, even), partOf(5, odd)}); !reflect.DeepEqual(got, whole) {
		t.Errorf("merged %+v\nwhole %+v", got, whole)
	}
	if want := []Seeds{{5, 100}}; !slices.Equal(whole.Seeds, want) {
		t.Errorf("seeds %v", whole.Seeds)
	}
}

// TestSearchesMerge: searches without guidance of some of the seeds each find what one finds of all, and
// say so in the same words.
func TestSearchesMerge(t *testing.T) {
	s := Search{Scenario: parse(t, head), Variant: scenario.DefaultVariant,
		Properties: claims, First: 40, Seeds: 500, Workers: 2, Drawing: Drawing{Unguided: true}}
	whole, err := s.RunPart(context.Background())
	if err != nil || len(whole.Found) == 0 {
		t.Fatalf("%v, %d found", err, len(whole.Found))
	}
	var parts []Part
	for _, at := range []Seeds{{40, 123}, {163, 1}, {164, 376}} {
		s.First, s.Seeds = at.First, at.Count
		p, err := s.RunPart(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, reread(t, p))
	}
	got := merged(t, rand.New(rand.NewPCG(1, 3)), parts)
	if !reflect.DeepEqual(got, whole) || !reflect.DeepEqual(got.Report(), whole.Report()) {
		t.Errorf("merged %+v\nwhole %+v", got, whole)
	}
}

// TestOtherPartsDoNotMerge: a seed counts once, or not at all.
func TestOtherPartsDoNotMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	var all []result
	for run := range uint64(40) {
		all = append(all, made(r, 0, run))
	}
	a, b := partOf(0, all[:20]), partOf(0, all[10:])
	if _, err := Merge(a, b); !errors.Is(err, ErrOverlap) || !strings.Contains(err.Error(), "10 to 39") {
		t.Errorf("overlapping parts: %v", err)
	}
	other := a.copy()
	other.Unfinished++
	if _, err := Merge(a, other); !errors.Is(err, ErrOverlap) {
		t.Errorf("the same seeds with another outcome: %v", err)
	}
}

// TestSamplesMerge: the sample of many behaviours does not depend on who saw which, nor when.
func TestSamplesMerge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	var whole distinct
	parts := make([]distinct, 5)
	for i := range uint64(5 * sampleSize) {
		h := mix(i, fnvOffset)
		whole.add(h)
		for range 1 + r.IntN(2) {
			parts[min(r.IntN(8), len(parts)-1)].add(h)
		}
	}
	if whole.exact() || parts[0].level >= parts[len(parts)-1].level {
		t.Fatalf("levels %d, and of parts %d, %d: nothing is put to the test", whole.level, parts[0].level, parts[len(parts)-1].level)
	}
	r.Shuffle(len(parts), func(i, k int) { parts[i], parts[k] = parts[k], parts[i] })
	var left, right distinct
	for i := range parts {
		to := &left
		if i > 2 {
			to = &right
		}
		to.merge(&parts[i])
	}
	if right.merge(&left); !reflect.DeepEqual(right, whole) {
		t.Errorf("merged: level %d, %d kept; whole: level %d, %d kept", right.level, len(right.kept), whole.level, len(whole.kept))
	}
}

// TestDamagedParts: what a file says is believed only where it can be true.
func TestDamagedParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	var all []result
	for run := range uint64(100) {
		all = append(all, made(r, 0, run))
	}
	good := partOf(0, all)
	if err := good.Check(); err != nil || len(good.Found) < 2 || len(good.Classes) < 2 {
		t.Fatalf("%v: %+v", err, good)
	}
	for name, damage := range map[string]func(*Part){
		"no end":       func(p *Part) { p.Seeds = []Seeds{{math.MaxUint64, 2}} },
		"no seeds":     func(p *Part) { p.Seeds = []Seeds{{0, 0}, {0, 100}} },
		"order":        func(p *Part) { p.Seeds = []Seeds{{50, 50}, {0, 50}} },
		"touching":     func(p *Part) { p.Seeds = []Seeds{{0, 50}, {50, 50}} },
		"many":         func(p *Part) { p.Seeds = []Seeds{{0, math.MaxUint64}, {math.MaxUint64, 1}} },
		"runs":         func(p *Part) { p.Runs++ },
		"drawn":        func(p *Part) { p.Drawn = p.Runs + 1 },
		"class":        func(p *Part) { p.Classes[0].Runs = 101 },
		"class's name": func(p *Part) { p.Classes[0].Name = p.Classes[1].Name },
		"lineage":      func(p *Part) { p.Found[0].Lineage = nil },
		"origin":       func(p *Part) { p.Found[0].Run++ },
		"no class":     func(p *Part) { p.Found[0].Class = "another" },
		"found often":  func(p *Part) { p.Found = slices.Repeat(p.Found[:1], keptPerClass+1) },
	} {
		p := good.copy()
		if damage(&p); p.Check() == nil {
			t.Errorf("%s: %+v was believed", name, p)
		}
	}
	for _, text := range []string{`{"level":64}`, `{"level":1,"hashes":[1]}`,
		`{"level":-1}`, `[]`, `{"hashes":[` + strings.Repeat("1,", sampleSize) + `1]}`} {
		var d distinct
		if json.Unmarshal([]byte(text), &d) == nil {
			t.Errorf("%.40s was believed", text)
		}
	}
}

// The runs that could not be judged are added up, and the last reason is kept.
func TestMergeKeepsTheLastDoubt(t *testing.T) {
	a := Part{First: 7, Seeds: []Seeds{{7, 2}}, Runs: 2, Unjudged: 1, Doubt: "a", DoubtAt: 1}
	b := Part{First: 9, Seeds: []Seeds{{9, 2}}, Runs: 2, Unjudged: 2, Doubt: "b", DoubtAt: 0}
	for _, parts := range [][]Part{{a, b}, {b, a}} {
		sum, err := Merge(parts...)
		if err != nil || sum.Check() != nil || sum.Unjudged != 3 || sum.Doubt != "b" || sum.DoubtAt != 2 {
			t.Errorf("%+v, %v", sum, err)
		}
	}
}
