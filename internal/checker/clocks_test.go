package checker_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history/locklog"
)

// told is one hold as a random log tells of it, in µs by its host's clock.
type told struct {
	host, process, hold                 int
	asked, granted, ttl, release, token int64
	// writeFrom and writeTo are those of a write; 0: there is none.
	writeFrom, writeTo int64
	ok                 bool
}

// randomHolds are holds of one lock; now and then the lock is a bad one. In each process one thing happens after the other.
func randomHolds(r *rand.Rand) (list []told) {
	for process := range 2 + r.IntN(3) {
		at := int64(r.IntN(500))
		for hold := range r.IntN(4) {
			h := told{host: process % 2, process: process, hold: hold, ok: r.IntN(5) > 0, token: int64(r.IntN(4))}
			h.asked = at + int64(r.IntN(200))
			h.granted = h.asked + int64(r.IntN(60))
			h.ttl = int64(1 + r.IntN(300))
			h.release = h.granted + int64(r.IntN(400))
			if r.IntN(2) == 0 && h.release > h.granted+1 {
				h.writeTo = h.granted + 1 + r.Int64N(h.release-h.granted-1)
				h.writeFrom = h.granted + r.Int64N(h.writeTo-h.granted+1)
			}
			at = h.release + int64(r.IntN(100))
			list = append(list, h)
		}
	}
	return list
}

// logOf are the lines that tell of holds.
func logOf(t *testing.T, list []told) string {
	t.Helper()
	lines := make(map[int][]locklog.Line)
	add := func(h *told, at int64, e locklog.Event) *locklog.Line {
		lines[h.process] = append(lines[h.process], locklog.Line{LockLog: 1, Host: fmt.Sprint("h", h.host), Process: fmt.Sprint("p", h.process),
			Wall: 1e15 + at, Mono: at, Event: e, Hold: int64(h.hold), Lock: "x"})
		return &lines[h.process][len(lines[h.process])-1]
	}
	for i := range list {
		h := &list[i]
		add(h, h.asked, locklog.Asked)
		if !h.ok {
			add(h, h.granted, locklog.NotGranted)
			continue
		}
		l := add(h, h.granted, locklog.Granted)
		l.TTL, l.Token = &h.ttl, &h.token
		if h.writeTo > 0 {
			took := h.writeTo - h.writeFrom
			add(h, h.writeTo, locklog.WriteDone).Took = &took
		}
		add(h, h.release, locklog.Releasing)
		add(h, h.release, locklog.ReleasedInVain)
	}
	var b strings.Builder
	for _, list := range lines {
		for i, l := range list {
			l.Line = int64(i)
			text, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(append(text, '\n'))
		}
	}
	return b.String()
}

// naive decides each property as docs/reference/properties.md ("Lock logs") has it, and asks of each way in which the clocks of two
// clients can be apart what would be so then.
func naive(list []told, bound int64) map[checker.Property]checker.Verdict {
	var granted []told
	for _, h := range list {
		if h.ok {
			granted = append(granted, h)
		}
	}
	// ways are what can be added to the stamps of the second.
	ways := func(a, b *told) []int64 {
		if a.process == b.process || a.host == b.host {
			return []int64{0}
		}
		var list []int64
		for w := -bound; w <= bound; w++ {
			list = append(list, w)
		}
		return list
	}
	always := func(a, b *told, so func(w int64) bool) bool {
		return !slices.ContainsFunc(ways(a, b), func(w int64) bool { return !so(w) })
	}
	pairs := func(so func(a, b *told, w int64) bool) (sure, stamped bool) {
		for i := range granted {
			for k := range granted {
				if a, b := &granted[i], &granted[k]; i != k {
					sure = sure || always(a, b, func(w int64) bool { return so(a, b, w) })
					stamped = stamped || so(a, b, 0)
				}
			}
		}
		return sure, stamped
	}
	verdict := func(violated, doubt bool, chances int) checker.Verdict {
		switch {
		case violated:
			return checker.Violated
		case doubt || chances == 0:
			return checker.Unknown
		}
		return checker.Holds
	}
	overlap := func(fromA, toA, fromB, toB int64) bool { return fromA < toB && fromB < toA }
	out := make(map[checker.Property]checker.Verdict)
	for p, end := range map[checker.Property]func(*told) int64{
		checker.ExclusiveBelief: func(h *told) int64 { return h.release },
		checker.ExclusiveLease:  func(h *told) int64 { return min(h.release, h.asked+h.ttl) },
	} {
		isHold := func(h *told) bool { return p == checker.ExclusiveBelief || h.granted < h.asked+h.ttl }
		chances := 0
		for i := range list {
			if x := &list[i]; slices.ContainsFunc(granted, func(h told) bool {
				return (h.process != x.process || h.hold != x.hold) && isHold(&h) && x.asked < x.granted && h.granted < end(&h) &&
					always(x, &h, func(w int64) bool { return overlap(x.asked, x.granted, h.granted+w, end(&h)+w) })
			}) {
				chances++
			}
		}
		sure, stamped := pairs(func(a, b *told, w int64) bool {
			return isHold(a) && isHold(b) && overlap(a.granted, end(a), b.granted+w, end(b)+w)
		})
		out[p] = verdict(sure, stamped, chances)
	}
	later := func(a, b *told, w int64) bool { return a.granted < b.asked+w }
	sure, stamped := pairs(func(a, b *told, w int64) bool { return later(a, b, w) && b.token <= a.token })
	chances, _ := pairs(later)
	out[checker.OrderedTokens] = verdict(sure, stamped, map[bool]int{true: 1}[chances])
	writes, late := 0, false
	for _, h := range granted {
		if h.writeTo > 0 {
			writes++
			late = late || h.writeFrom > h.granted+h.ttl
		}
	}
	out[checker.NoLateEffect] = verdict(late, false, writes)
	return out
}

// TestLockLogsByDefinition: the judges and the naive judge say the same of random lock logs.
func TestLockLogsByDefinition(t *testing.T) {
	seen := make(map[string]int)
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 7))
		list, bound := randomHolds(r), int64(r.IntN(3)*r.IntN(120))
		if len(list) == 0 {
			continue
		}
		text := logOf(t, list)
		var log locklog.Log
		if err := log.Read("log", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		h, err := log.History(time.Duration(bound) * time.Microsecond)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		want := naive(list, bound)
		for _, f := range checker.Judge(t.Context(), h, checker.SafetyProperties(checker.SubjectOf(h)), checker.Options{}) {
			v, some := want[f.Property]
			if !some {
				continue
			}
			if f.Verdict != v {
				t.Fatalf("seed %d, bound %d µs: %s %s (%s), by definition %s\n%s", seed, bound, f.Property, f.Verdict, f.Why, v, text)
			}
			seen[fmt.Sprint(f.Property, " ", v)]++
		}
	}
	for _, p := range []checker.Property{checker.ExclusiveBelief, checker.ExclusiveLease, checker.OrderedTokens, checker.NoLateEffect} {
		for _, v := range []checker.Verdict{checker.Holds, checker.Violated, checker.Unknown} {
			if seen[fmt.Sprint(p, " ", v)] == 0 {
				t.Errorf("no log of which %s is %s: %v", p, v, seen)
			}
		}
	}
}
