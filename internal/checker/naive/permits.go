package naive

import "slices"

// withinPermits: "No more clients than the lock has permits are inside the validity that their own grant promised them. Violated if, of one
// more holds than there are permits, each two clash. With `modes` two holds of readers do not clash, and there is one permit: violated if
// two holds clash. Unknown if the header has neither `permits` nor `modes`."
func (t *terms) withinPermits() answer {
	n := t.header.Permits
	if t.header.Modes {
		n = 1
	}
	if n <= 0 {
		return cannotTell
	}
	var pieces []hold
	for _, g := range t.grants {
		for _, p := range t.leases(g) {
			p.to = min(p.to, g.end)
			pieces = append(pieces, p)
		}
	}
	holds := oneHold(pieces)
	violated := some(holds, nil, n+1, func(a, b hold) bool { return clash(a, b) && (!a.of.reads() || !b.of.reads()) })
	// "Chances: attempts that share more than one instant with as many holds of different other clients as there are permits, and in which
	// these share more than one instant with one another; with `modes`, attempts that share more than one instant with a hold of a different
	// client, where not both are readers'. For a chance a hold of a client that is killed goes on to the end of its promise"
	holds = append(holds, t.deadHolds()...)
	chances := false
	for _, p := range t.ops {
		to := t.triedTo(p)
		var inside []hold
		for _, h := range holds {
			if h.from, h.to = max(h.from, p.call), min(h.to, to); t.competes(p, h) && h.from < h.to &&
				(!p.reads() || !h.of.reads()) {
				inside = append(inside, h)
			}
		}
		chances = chances || len(inside) > 0 && some(inside, nil, n, share)
	}
	return found(violated, chances)
}

// reads: "A grant whose `acquire` says `shared` is a reader's, any other a writer's. A re-entry is what its outer grant is."
func (p *op) reads() bool {
	for p.outer != nil {
		p = p.outer.op
	}
	return p.asked.Shared()
}

// share: two holds of different clients and one lock share more than one instant.
func share(a, b hold) bool {
	return a.of.client != b.of.client && a.of.lock == b.of.lock && max(a.from, b.from) < min(a.to, b.to)
}

// clash: "if they share more than one instant, or if one of them is a single instant that lies strictly inside the other."
func clash(a, b hold) bool {
	inside := func(a, b hold) bool { return a.from == a.to && b.from < a.from && a.to < b.to }
	return share(a, b) || a.of.client != b.of.client && a.of.lock == b.of.lock && (inside(a, b) || inside(b, a))
}

// some reports that there are n more holds of which each two, and each and those chosen, are so.
func some(holds, chosen []hold, n int, so func(a, b hold) bool) bool {
	if n == 0 {
		return true
	}
	for i, h := range holds {
		fits := !slices.ContainsFunc(chosen, func(c hold) bool { return !so(h, c) })
		if fits && some(holds[i+1:], append(slices.Clone(chosen), h), n-1, so) {
			return true
		}
	}
	return false
}

// freeFrom: "Such a lock is free while fewer grants than it has permits have not been given back." It is the first instant at which
// that is so of these, which were given back then.
func (t *terms) freeFrom(back []int64) int64 {
	at := slices.Sorted(slices.Values(back))
	for _, x := range append([]int64{-forever}, at...) {
		taken := 0
		for _, b := range back {
			if b > x {
				taken++
			}
		}
		if taken < max(t.header.Permits, 1) {
			return x
		}
	}
	return forever
}

// aboutOneHolder: "within-permits takes the place of exclusive-belief and exclusive-lease. linearizable-resource, at-most-once,
// holder-served and ordered-tokens have no meaning. What is said of keys is said of one with one owner: ... All of these are `unknown`."
var aboutOneHolder = []string{"exclusive-belief", "exclusive-lease", "linearizable-resource", "at-most-once", "holder-served",
	"ordered-tokens", "backed-grant", "owner-release", "no-orphan-lock", "nothing-stays", "no-resurrection", "told-when-lost",
	"told-at-release",
	"no-false-alarm", "stays-held", "asks-its-ttl", "true-validity"}
