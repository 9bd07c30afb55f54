package linear

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestClashIsTheFirstContradiction: Clash finds two zones that contradict each other
// just where there are any, and those that show first.
func TestClashIsTheFirstContradiction(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	tally := map[bool]int{}
	// when two zones contradict each other, and it shows at this time.
	shows := func(a, b Zone) (at int64, contradict bool) {
		if a.From >= b.To || b.From >= a.To {
			return 0, false
		}
		switch {
		case a.From < a.To && b.From < b.To:
			return max(a.From, b.From), true
		case a.From < a.To:
			return b.From, true
		}
		return a.From, true
	}
	for round := range 20_000 {
		n := 1 + r.IntN(6)
		span := int64(12)
		if round%500 == 0 {
			n, span = 400, 400_000 // in no order: sorted by whatever is best
		}
		zones := make([]Zone, n)
		for i := range zones {
			from := r.Int64N(span)
			zones[i] = Zone{From: from, To: max(0, from+r.Int64N(12)-6), ID: int32(i)}
		}
		byID := slices.Clone(zones)
		first, found := int64(0), false
		for i := range zones {
			for j := range i {
				if at, ok := shows(zones[i], zones[j]); ok && (!found || at < first) {
					first, found = at, true
				}
			}
		}
		a, b, got := Clash(zones)
		if got != found {
			t.Fatalf("found %v, want %v in %+v", got, found, byID)
		}
		tally[found]++
		if !found {
			continue
		}
		x, y := byID[a], byID[b]
		if at, ok := shows(x, y); !ok || at != first || x.low() > y.low() || x.From >= x.To {
			t.Fatalf("%+v and %+v: contradict %v at %d; the first contradiction is at %d in %+v", x, y, ok, at, first, byID)
		}
	}
	if tally[true] < 2000 || tally[false] < 2000 {
		t.Errorf("one-sided: %v", tally)
	}
}

// TestClashOfZonesThatBeginTogether: the one with the lower ID is the first, however they
// are listed.
func TestClashOfZonesThatBeginTogether(t *testing.T) {
	a, b := Zone{From: 1, To: 9, ID: 3}, Zone{From: 1, To: 5, ID: 8}
	for _, zones := range [][]Zone{{a, b}, {b, a}} {
		if first, second, found := Clash(slices.Clone(zones)); first != 3 || second != 8 || !found {
			t.Errorf("%d and %d, %v, of %v", first, second, found, zones)
		}
	}
}

// TestSorting: lists nearly in order, and in none, come out in order; what is equal
// stays as it was.
func TestSorting(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, span := range []int{3, 50, 100_000} {
		for range 200 {
			keys := make([]int64, 1+r.IntN(300))
			list := make([]int32, len(keys))
			for i := range keys {
				keys[i], list[i] = int64(i+r.IntN(span)), int32(i)
			}
			want := slices.Clone(list)
			slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(keys[a], keys[b]) })
			if sortByKey(list, func(i int32) int64 { return keys[i] }); !slices.Equal(list, want) {
				t.Fatalf("%v of %v", list, keys)
			}
		}
	}
}

// TestWhichWay: a direct algorithm where there is one for the history, the frontier
// search where that is narrow, porcupine where it is wide and few outcomes are
// unknown; and no answer without time or leave.
func TestWhichWay(t *testing.T) {
	increments := History{Ops: []Op{{Kind: CAS, A: 0, B: 1, Call: 1, Return: 2}, {Kind: Read, A: 1, Call: 3, Return: 4}}}
	unique := History{Ops: []Op{{Kind: Write, A: 5, Call: 1, Return: 2}, {Kind: Read, A: 5, Call: 3, Return: 4}}}
	mixed := History{Ops: []Op{{Kind: Write, A: 0, Call: 1, Return: 2}, {Kind: Add, A: 1, Call: 3, Return: 4}}}
	var wide, unknown History
	for i := range int64(66) {
		wide.Ops = append(wide.Ops, Op{Kind: Acquire, Call: 10, Return: 20 + i})
		unknown.Ops = append(unknown.Ops, Op{Kind: Add, A: i, Call: 1, Return: Never})
	}
	unknown.Ops = append(unknown.Ops, Op{Kind: Write, A: 1, Call: 2, Return: 3}, Op{Kind: Write, A: 1, Call: 2, Return: 3})
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	mutex := Problem{History: wide, Model: PlainMutex()}
	for _, c := range []struct {
		name    string
		ctx     context.Context
		problem Problem
		b       Bounds
		want    Outcome
		method  string
	}{
		{"increments", nil, CounterProblem(increments), Bounds{}, Legal, "direct (register)"},
		{"unique values", nil, CounterProblem(unique), Bounds{}, Legal, "direct (register)"},
		{"a mixture", nil, CounterProblem(mixed), Bounds{}, Legal, "frontier search (register)"},
		{"no direct algorithm", nil, Problem{History: increments, Model: Cell(0)}, Bounds{}, Legal, "frontier search (register)"},
		{"too wide", nil, mutex, Bounds{}, Illegal, "porcupine (mutex)"},
		{"too wide, in time", nil, mutex, Bounds{Timeout: time.Minute}, Illegal, "porcupine (mutex)"},
		{"too wide, no time", nil, mutex, Bounds{Timeout: 1}, Undecided, "frontier search (mutex)"},
		{"too wide, cancelled", cancelled, mutex, Bounds{}, Undecided, "frontier search (mutex)"},
		{"too many unknown", nil, CounterProblem(unknown), Bounds{Timeout: time.Minute}, Undecided, "frontier search (register)"},
	} {
		if c.ctx == nil {
			c.ctx = context.Background()
		}
		if r, method := c.problem.Check(c.ctx, c.b); r.Outcome != c.want || method != c.method {
			t.Errorf("%s: %v by %s; want %v by %s", c.name, r.Outcome, method, c.want, c.method)
		}
	}
	// Glance spends little; Search asks porcupine first, and has its own bounds.
	if r, method := mutex.Glance(context.Background(), Bounds{}); r.Outcome != Undecided || method != "frontier search (mutex)" {
		t.Errorf("a glance: %v by %s", r.Outcome, method)
	}
	if r, method := mutex.Search(context.Background(), Bounds{Timeout: time.Minute}); r.Outcome != Illegal || method != "porcupine (mutex)" {
		t.Errorf("a search: %v by %s", r.Outcome, method)
	}
	few := Bounds{Timeout: time.Minute, Memory: 1 << 10}
	if r, method := mutex.Search(context.Background(), few); r.Outcome != Undecided || method != "frontier search (mutex)" {
		t.Errorf("a search without memory: %v by %s", r.Outcome, method)
	}
	// Without a bound on the time, the frontier search decides what is too much for porcupine.
	adds := History{Ops: append(slices.Repeat([]Op{{Kind: Add, A: 1, Call: 1, Return: Never}}, maxOptional+1),
		Op{Kind: Read, A: 3, Call: 2, Return: 3})}
	counter := CounterProblem(adds)
	if r, method := counter.Search(context.Background(), Bounds{}); r.Outcome != Legal || method != "frontier search (register)" {
		t.Errorf("a search among many unknown: %v (%s) by %s", r.Outcome, r.Why, method)
	}
}
