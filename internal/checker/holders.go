package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// twoHolders makes the finding that two clients were inside at once.
func (v *view) twoHolders(f Finding, a, b hold, holds []hold) Finding {
	if v.brief {
		return violatedBriefly(f)
	}
	first, second := &v.grants[a.grant], &v.grants[b.grant]
	overlap := Interval{From: b.from, To: min(a.to, b.to, v.end)}
	many, times := crowd(v.sameLock(holds, first.lock))
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%d holders at once for %s", many, length(overlap.To-overlap.From))
	if times > 1 {
		f.Why = fmt.Sprintf("%s and %s held at once for %s; %d such overlaps, up to %d holders",
			first.client, second.client, length(overlap.To-overlap.From), times, many)
	}
	why := v.whyTwoHolders(first, second, v.beganAt(b))
	// Neither hold alone is impossible, so the two are a smallest set.
	f.Counterexample = &Counterexample{
		Operations: []CounterOp{v.holdOp(a, second, b.from), v.holdOp(b, first, b.from)},
		From:       len(holds),
		Impossible: second.ret,
		Overlap:    &overlap,
		Assumption: string(why.cause),
	}
	slices.SortStableFunc(f.Counterexample.Operations, func(x, y CounterOp) int { return cmp.Compare(x.Events[0], y.Events[0]) })
	f.Events = sortedEvents(first.call, first.ret, first.ends, second.call, second.ret, second.ends)
	f.Counterexample.tells(v.holdersStory(a, b, overlap, why))
	return f
}

func (v *view) sameLock(holds []hold, lock string) []hold {
	return slices.DeleteFunc(slices.Clone(holds), func(h hold) bool { return v.grants[h.grant].lock != lock })
}

// crowd counts how many holds stood side by side at most, and how often one
// began inside another.
func crowd(holds []hold) (most, times int) {
	var open []time.Duration // the ends of the holds that are open
	for _, h := range holds {
		open = slices.DeleteFunc(open, func(end time.Duration) bool { return end <= h.from })
		if len(open) > 0 {
			times++
		}
		open = append(open, h.to)
		most = max(most, len(open))
	}
	return max(most, 2), max(times, 1)
}

// holdOp is a hold as an operation of a counterexample.
func (v *view) holdOp(h hold, other *grant, overlap time.Duration) CounterOp {
	g := &v.grants[h.grant]
	op := CounterOp{Client: g.client, Op: "holds the lock", Events: sortedEvents(g.call, g.ret, g.ends),
		From: h.from, To: h.to, Believed: promiseWords(g)}
	if h.to == forever {
		op.To = -1
	}
	if last := g.lastPromise(); last.over(overlap) {
		op.True = fmt.Sprintf("the validity had ended %s before %s got the lock", length(overlap-last.end), other.client)
	} else {
		op.True = fmt.Sprintf("%s held it too", other.client)
	}
	return op
}

// beganAt is the event in which a hold began: a grant, or a renewal that came when the promise was over.
func (v *view) beganAt(h hold) int {
	g := &v.grants[h.grant]
	if i := slices.IndexFunc(g.extends, func(e extension) bool { return h.from > v.at(g.ret) && v.at(e.ret) == h.from }); i >= 0 {
		return g.extends[i].ret
	}
	return g.ret
}

func (v *view) holdersStory(a, b hold, overlap Interval, why culprit) *story {
	first, second := &v.grants[a.grant], &v.grants[b.grant]
	s := v.newStory()
	began, words, from := v.beganAt(b), v.grantWords(second), v.at(first.call)
	s.tell(filler, second.call, "%s asked for the lock", second.client)
	if began != second.ret {
		s.tell(setting, second.ret, "%s", words)
		words, from = second.client+" renewed its lock", min(from, v.at(second.call))
	}
	s.culprit(why, began)
	s.grant(first, v.at(began))
	s.reentries(first, began)
	s.faults(from, v.at(began), append(v.authors(why.events), first.client, second.client)...)
	s.tell(turning, began, "%s, while %s still held it", words, first.client)
	s.writes(overlap.From, overlap.To, first.client, second.client)
	both := fmt.Sprintf(": both had held the lock for %s", length(overlap.To-overlap.From))
	ended, g := a, first
	if b.to < a.to {
		ended, g = b, second
	}
	if ended.ends < 0 && ended.to != forever {
		s.tellAt(turning, ended.to, g.ret, "the validity of %s ended%s", g.client, both)
	} else {
		s.end(g, both)
	}
	return s
}

// reentries tells how a client entered the lock of a grant again before an event.
func (s *story) reentries(g *grant, before int) {
	for _, i := range s.v.grantsTo(g.client, g.lock) {
		if again := &s.v.grants[i]; again.outer >= 0 && again.ret > g.ret && again.ret < before && again.openAt(before) {
			s.tell(setting, again.ret, "%s", s.v.grantWords(again))
		}
	}
}

// culprit tells what took the first holder's keys away, or whatever else let the second in.
func (s *story) culprit(why culprit, began int) {
	v, first, second := s.v, why.first, why.second
	s.rests(why.events...)
	told := make(map[string]bool)
	for _, n := range why.fates {
		var alike []string
		for _, m := range why.fates {
			if m.cause == n.cause && (m.end < 0) == (n.end < 0) && (n.end < 0 || v.same(m.end, n.end)) {
				alike = append(alike, m.node)
			}
		}
		slices.Sort(alike)
		if where := onNodes(alike); !told[string(n.cause)+where] {
			told[string(n.cause)+where] = true
			s.lost(n, where, first, began)
		}
	}
	switch why.cause {
	case renewedInTime:
		for _, x := range slices.Backward(first.extends) {
			if slices.Contains(why.events, x.ret) && (x.ret < min(began, second.ret) || x.ret == why.events[0]) {
				s.tell(decisive, x.ret, "%s renewed its lock, valid until %s, which %d of %s took in", first.client, words.Instant(x.until),
					v.took(x, first.client), plural(len(v.h.Header.Nodes), "node"))
				break
			}
		}
	case staysLost:
		s.revived(first)
	case onePrimary, replicated, replicatedCount:
		s.promoted(began)
	case backedByKey:
		s.also[first.ret] = ", though no key of its own stood"
	case majoritiesMet:
		s.also[why.events[0]] = "; the grants have no node in common"
	case leavesKey:
		s.also[second.ret] += ", and no node was seen to have a key of either"
	}
	for _, i := range why.events {
		if v.event(i).F == history.NodePromoted {
			s.tell(turning, i, "node %s became the primary", v.event(i).Process)
		}
	}
}

// promoted tells of the last promotion before an event, unless a fault that made it so tells of it.
func (s *story) promoted(before int) {
	for i := before; i >= 0; i-- {
		if e := s.v.event(i); e.F == history.NodePromoted {
			if len(s.v.struckBy(e.Process, -1, before, history.Promotes)) == 0 {
				s.tell(turning, i, "node %s became the primary", e.Process)
			}
			return
		}
	}
}

// lost tells what became of the first holder's key on a node and on those where the same became of it.
func (s *story) lost(n fate, where string, first *grant, began int) {
	v, by := s.v, cmp.Or(max(n.end, 0), n.taken)
	who := v.event(by).Value.Client
	at := min(v.at(by), v.at(began)) // it can be seen late
	ago := ""
	if n.set >= 0 && by >= 0 {
		ago = fmt.Sprintf("%s after it had set it%s", length(v.at(by)-v.at(n.set)), v.setForWords(n.set))
	}
	switch n.cause {
	case ownDelete:
		s.tellAt(decisive, at, by, "%s deleted the key of %s %s%s", who, first.client, where, v.meanwhileWords(who, by))
	case keepsOwn:
		s.tellAt(decisive, at, by, "%s deleted its own key %s, %s%s", who, where, ago, v.meanwhileWords(who, by))
	case lateDelete:
		held := v.cameLate(&n, first)
		s.tell(turning, held, "%s", v.faultWords(&v.faults[slices.IndexFunc(v.faults, func(f fault) bool { return f.begin == held })]))
		s.tellAt(decisive, at, by, "%s deleted its own key %s, %s: a command of an earlier try, which had been held up", who, where, ago)
	case renewsOwn:
		s.tellAt(decisive, at, by, "%s renewed its lock, and so overwrote the key of %s %s", who, first.client, where)
		for i := by + 1; i < n.taken; i++ {
			e := v.event(i)
			if by := e.Value.Client; e.F == history.KeyDeleted && e.Process == n.node && by != "" {
				s.tellAt(turning, min(v.at(i), v.at(began)), i, "%s deleted the key on node %s%s", by, n.node, v.meanwhileWords(by, i))
				break
			}
		}
	case setOnce:
		s.tellAt(decisive, at, by, "%s set the key %s, over that of %s", who, where, first.client)
	case remembers:
		switch e := v.event(by); {
		case len(v.struckBy(n.node, n.set, n.taken, history.Kills, history.Forgets)) > 0:
		case e.F == history.NodeDown:
			s.tellAt(decisive, at, by, "node %s went down", n.node)
		default:
			s.tellAt(decisive, at, by, "node %s dropped the key of %s, which no client had deleted and which had not run out", n.node, first.client)
		}
	case asksTTL:
		asked := n.events[0]
		s.tell(decisive, asked, "%s asked for the key %s%s, less than the TTL that it was given", first.client, where, v.setForWords(asked))
	case samePace, tellsTrue, countsEarly, renewedInTime:
		switch {
		case v.event(by).F == history.KeySet && by != n.set && n.set >= 0 && v.at(by) < n.due:
			s.tellAt(turning, at, by, "%s set the key %s, over that of %s", who, where, first.client)
		case n.end >= 0:
			s.tellAt(setting, at, by, "the key of %s %s ran out, %s", first.client, where, ago)
		}
	}
}

// authors are the clients that brought about some events of keys.
func (v *view) authors(events []int) (clients []string) {
	for _, i := range events {
		if client := v.event(i).Value.Client; client != "" {
			clients = append(clients, client)
		}
	}
	return clients
}

// same reports that two events of keys are alike: what happened, and who did it.
func (v *view) same(a, b int) bool {
	x, y := v.event(a), v.event(b)
	return x.F == y.F && x.Value.Client == y.Value.Client
}

// took is how many nodes took in a renewal.
func (v *view) took(x extension, client string) int {
	nodes := make(map[string]bool)
	for i := x.ret; i >= 0 && v.at(i) >= x.asked; i-- {
		if e := v.event(i); (e.F == history.KeySet || e.F == history.KeyExtended) && e.Value.Client == client {
			nodes[e.Process] = true
		}
	}
	return len(nodes)
}

// revived tells of the first renewal of a grant that came when its promise was over.
func (s *story) revived(g *grant) {
	until := g.until
	for _, x := range g.extends {
		if until.over(s.v.at(x.ret)) {
			s.tell(turning, x.ret, "%s renewed its lock, valid until %s, %s after its validity had ended", g.client, words.Instant(x.until),
				length(s.v.at(x.ret)-until.end))
			return
		}
		until.end = max(until.end, x.until)
	}
}
