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

// naiveClocks decides properties as docs/reference/properties.md ("Lock logs") has it, and asks of each way in which the clocks of two
// clients can be apart what would be so then.
type naiveClocks struct {
	list, granted []told
	bound         int64
}

// always reports that something is so whatever is added to the stamps of the second of two.
func (n *naiveClocks) always(a, b *told, so func(way int64) bool) bool {
	bound := n.bound
	if a.host == b.host {
		bound = 0
	}
	for way := -bound; way <= bound; way++ {
		if !so(way) {
			return false
		}
	}
	return true
}

// pairs reports that something is so of two holds, for sure and by their stamps.
func (n *naiveClocks) pairs(so func(a, b *told, way int64) bool) (sure, stamped bool) {
	for i := range n.granted {
		for k := range n.granted {
			if a, b := &n.granted[i], &n.granted[k]; i != k {
				sure = sure || n.always(a, b, func(way int64) bool { return so(a, b, way) })
				stamped = stamped || so(a, b, 0)
			}
		}
	}
	return sure, stamped
}

func verdictOf(violated, doubt, chance bool) checker.Verdict {
	switch {
	case violated:
		return checker.Violated
	case doubt || !chance:
		return checker.Unknown
	}
	return checker.Holds
}

// exclusive decides whether holds with such ends exclude each other.
func (n *naiveClocks) exclusive(end func(*told) int64, isHold func(*told) bool) checker.Verdict {
	overlap := func(fromA, toA, fromB, toB int64) bool { return fromA < toB && fromB < toA }
	chance := false
	for i := range n.list {
		for k := range n.granted {
			x, h := &n.list[i], &n.granted[k]
			other := h.process != x.process || h.hold != x.hold
			chance = chance || other && isHold(h) && x.asked < x.granted && h.granted < end(h) &&
				n.always(x, h, func(way int64) bool { return overlap(x.asked, x.granted, h.granted+way, end(h)+way) })
		}
	}
	sure, stamped := n.pairs(func(a, b *told, way int64) bool {
		return isHold(a) && isHold(b) && overlap(a.granted, end(a), b.granted+way, end(b)+way)
	})
	return verdictOf(sure, stamped, chance)
}

func (n *naiveClocks) verdicts() map[checker.Property]checker.Verdict {
	later := func(a, b *told, way int64) bool { return a.granted < b.asked+way }
	sure, stamped := n.pairs(func(a, b *told, way int64) bool { return later(a, b, way) && b.token <= a.token })
	chance, _ := n.pairs(later)
	wrote, late, perhaps := false, false, false
	for _, h := range n.granted {
		if end := h.granted + h.ttl; h.writeTo > 0 {
			wrote, late, perhaps = true, late || h.writeFrom > end, perhaps || h.writeTo > end
		}
	}
	leaseEnd := func(h *told) int64 { return min(h.release, h.asked+h.ttl) }
	return map[checker.Property]checker.Verdict{
		checker.ExclusiveBelief: n.exclusive(func(h *told) int64 { return h.release }, func(*told) bool { return true }),
		checker.ExclusiveLease:  n.exclusive(leaseEnd, func(h *told) bool { return h.granted < h.asked+h.ttl }),
		checker.OrderedTokens:   verdictOf(sure, stamped, chance),
		checker.NoLateEffect:    verdictOf(late, perhaps, wrote),
	}
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
		n := naiveClocks{list: list, bound: bound, granted: slices.DeleteFunc(slices.Clone(list), func(h told) bool { return !h.ok })}
		want := n.verdicts()
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
