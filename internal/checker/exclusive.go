package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/linear"
)

// hold is a stretch of run time during which a client surely was inside a
// grant: it had been told of it, and it had not yet ended.
type hold struct {
	from, to time.Duration
	// asked is when it was asked for, over when the answer to its end had come:
	// the hold began after the one and was over at the other.
	asked, over time.Duration
	// grant is where it began, as an index into view.grants; ends is the event
	// that ended it, -1 where it was the end of a promise or of the history.
	grant, ends int
}

// judgeBelief: no two clients believe at once that they hold the lock.
func judgeBelief(ctx context.Context, v *view, o Options) Finding {
	return v.judgeExclusive(ctx, o, v.beliefs(), nil, "beliefs")
}

// judgeLease: no two clients are inside the validity that their own lock
// promised them at once.
func judgeLease(ctx context.Context, v *view, o Options) Finding {
	return v.judgeExclusive(ctx, o, v.leases(), v.leasesOfTheDead(), "promises")
}

// beliefs lasts from an acquire's answer to the release's request, or to a loss that the
// lock told. Inside
// re-entered grants of one client there is one belief.
func (v *view) beliefs() []hold {
	list := make([]hold, 0, len(v.grants))
	for i := range v.grants {
		g := &v.grants[i]
		h := hold{from: v.at(g.ret), to: v.believedUntil(g), asked: v.at(g.call), over: v.overAt(g), grant: i, ends: g.ends}
		if g.loss >= 0 {
			h.to = min(h.to, max(v.lostFrom(g), h.from))
		}
		list = append(list, h)
	}
	return v.merged(list)
}

// overAt is when the end of a grant had been answered.
func (v *view) overAt(g *grant) time.Duration {
	if g.how == released {
		return v.at(v.ops[g.release].Return)
	}
	return v.at(g.ends)
}

// leases are the beliefs cut off where the promise ended. A renewal that came
// in time lengthens the stretch; one that came late begins another.
func (v *view) leases() []hold {
	list := make([]hold, 0, len(v.grants))
	for i := range v.grants {
		g := &v.grants[i]
		add := func(asked, from time.Duration, until promise) {
			h := hold{from: from, to: v.believedUntil(g), asked: asked, over: v.overAt(g), grant: i, ends: g.ends}
			if until.over(h.to) {
				h.to, h.over, h.ends = until.end, until.end, -1
			}
			// A promise that was over when it was given is no hold. A grant that was
			// released in the instant of its answer is one: it was believed, if briefly.
			if !until.given || from < until.end {
				list = append(list, h)
			}
		}
		asked, from, until := v.at(g.call), v.at(g.ret), g.until
		for _, x := range g.extends {
			if !until.given || x.ret > g.lastEvent(x.ret) {
				break
			}
			if told := v.at(x.ret); until.over(told) {
				add(asked, from, until)
				asked, from, until.end = x.asked, told, x.until
			}
			until.end = max(until.end, x.until)
		}
		add(asked, from, until)
	}
	return v.merged(list)
}

// merged sorts holds by lock and beginning and joins those of one client that
// overlap, or that touch where one is of a re-entry and the other of the grant that it
// re-entered.
func (v *view) merged(list []hold) []hold {
	slices.SortFunc(list, func(a, b hold) int {
		return cmp.Or(cmp.Compare(v.grants[a.grant].lock, v.grants[b.grant].lock), cmp.Compare(a.from, b.from), cmp.Compare(a.grant, b.grant))
	})
	joined := list[:0]
	last := make(map[holder]latest)
	for _, h := range list {
		g := &v.grants[h.grant]
		k := holder{g.client, g.lock}
		l := last[k]
		touches := func(i int) bool { return v.grants[i].outer == h.grant || g.outer == i }
		if len(l.grants) == 0 || h.from > joined[l.at].to || h.from == joined[l.at].to && !slices.ContainsFunc(l.grants, touches) {
			last[k] = latest{len(joined), append(l.grants[:0], h.grant)}
			joined = append(joined, h)
			continue
		}
		before := &joined[l.at]
		if h.to > before.to {
			before.to, before.over, before.ends = h.to, h.over, h.ends
			l.grants = l.grants[:0]
		}
		if h.to == before.to {
			l.grants = append(l.grants, h.grant)
		}
		last[k] = l
	}
	return joined
}

// latest says where a client's latest hold is, and which grants it ends with.
type latest struct {
	at     int
	grants []int
}

// leasesOfTheDead last from the kill of a holder to the end of its promise. The lock cannot know that the holder is dead, and keeps
// others out as ever.
func (v *view) leasesOfTheDead() (list []hold) {
	for i := range v.grants {
		g := &v.grants[i]
		if last := g.lastPromise(); g.how == killed && last.given && last.end > v.at(g.ends) {
			list = append(list, hold{from: v.at(g.ends), to: last.end, grant: i})
		}
	}
	slices.SortFunc(list, func(a, b hold) int {
		return cmp.Or(cmp.Compare(v.grants[a.grant].lock, v.grants[b.grant].lock), cmp.Compare(a.from, b.from), cmp.Compare(a.grant, b.grant))
	})
	return list
}

// judgeExclusive decides whether holds exclude each other. Others are stretches in which an attempt is put to the test, too.
func (v *view) judgeExclusive(ctx context.Context, o Options, holds, others []hold, what string) Finding {
	effort := Effort{Operations: len(v.ops), Chances: v.contended(holds) + v.contended(others), Of: "contended"}
	f := Finding{Effort: effort, Method: "interval sweep"}
	var first, second *hold
	for part := range slices.Values(v.byLock(holds)) {
		a, b, ok := clash(part)
		if ok && (second == nil || part[b].from < second.from) {
			first, second = &part[a], &part[b]
		}
	}
	if !o.Fast && len(holds)*2 <= ConfirmUpTo {
		r := v.confirm(ctx, o, holds)
		switch {
		case r.Outcome == linear.Undecided:
		case (r.Outcome == linear.Illegal) != (second != nil):
			return unknown(fmt.Sprintf("the interval sweep and porcupine disagree: porcupine says %v", r.Outcome), effort)
		default:
			f.Method = "interval sweep, confirmed by porcupine (owner-aware mutex)"
		}
	}
	if second != nil {
		return v.twoHolders(f, *first, *second, holds)
	}
	if effort.Chances == 0 {
		f.Verdict, f.Why = Unknown, fmt.Sprintf("the lock was never contended: %s", plural(len(v.grants), "grant"))
		return f
	}
	f.Verdict = Holds
	if v.brief {
		return f
	}
	f.Why = fmt.Sprintf("no two %s overlapped (%s, %d %s)", what, plural(len(v.grants), "grant"), effort.Chances, effort.What())
	return f
}

// byLock cuts sorted holds where the lock changes.
func (v *view) byLock(holds []hold) [][]hold {
	var parts [][]hold
	for from := 0; from < len(holds); {
		to := from
		for to < len(holds) && v.grants[holds[to].grant].lock == v.grants[holds[from].grant].lock {
			to++
		}
		parts = append(parts, holds[from:to])
		from = to
	}
	return parts
}

func clash(holds []hold) (first, second int, found bool) {
	zones := make([]linear.Zone, len(holds))
	for i, h := range holds {
		zones[i] = linear.Zone{From: int64(h.from), To: int64(h.to), ID: int32(i)}
	}
	a, b, found := linear.Clash(zones)
	return int(a), int(b), found
}

// confirm asks porcupine the same question: each hold as an acquire that was
// asked for and answered, and a release asked for at its end.
func (v *view) confirm(ctx context.Context, o Options, holds []hold) linear.Result {
	clients := make(map[string]int32)
	r := linear.Result{Outcome: linear.Legal}
	for _, part := range v.byLock(holds) {
		ops := make([]linear.Op, 0, 2*len(part))
		for _, h := range part {
			g := &v.grants[h.grant]
			if _, ok := clients[g.client]; !ok {
				clients[g.client] = int32(len(clients))
			}
			p := clients[g.client]
			ops = append(ops, linear.Op{Kind: linear.Acquire, Process: p, Call: int64(h.asked), Return: int64(h.from)})
			if h.to != forever {
				ops = append(ops, linear.Op{Kind: linear.Release, Process: p, Call: int64(h.to), Return: int64(h.over)})
			}
		}
		r = linear.Reference(ctx, linear.OwnerMutex(), linear.History{Ops: ops}, linear.Bounds{Timeout: o.Timeout, Memory: o.Memory})
		if r.Outcome != linear.Legal {
			return r
		}
	}
	return r
}
