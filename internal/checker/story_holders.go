package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// twoHoldersFinding makes the finding that two clients were inside at once.
func (j *judge) twoHoldersFinding(f Finding, a, b facts.Holding, holdings []facts.Holding) Finding {
	if j.brief {
		return violatedBriefly(f)
	}
	first, second := &j.Grants[a.Grant], &j.Grants[b.Grant]
	overlap := Interval{From: b.From, To: min(a.To, b.To, j.End)}
	many, times := countOverlaps(j.holdingsOfLock(holdings, first.Lock))
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%d holders at once for %s", many, length(overlap.To-overlap.From))
	if times > 1 {
		f.Why = fmt.Sprintf("%s and %s held at once for %s; %d such overlaps, up to %d holders",
			first.Client, second.Client, length(overlap.To-overlap.From), times, many)
	}
	if j.History.Clocks != nil { // nobody knows of how many it is sure
		f.Why = fmt.Sprintf("%s and %s held at once for %s%s", first.Client, second.Client, length(overlap.To-overlap.From),
			j.byClocks(first.Client, second.Client))
	}
	why := j.whyTwoHolders(first, second, j.beginEvent(b))
	// Neither holding alone is impossible, so the two are a smallest set.
	f.Counterexample = &Counterexample{
		Operations: []CounterOp{j.holdingOp(a, second, b.From), j.holdingOp(b, first, b.From)},
		From:       len(holdings),
		Impossible: second.Return,
		Overlap:    &overlap,
		Assumption: string(why.cause),
	}
	slices.SortStableFunc(f.Counterexample.Operations, func(x, y CounterOp) int { return cmp.Compare(x.Events[0], y.Events[0]) })
	f.Events = sortedEvents(first.Call, first.Return, first.End, second.Call, second.Return, second.End)
	f.Counterexample.setStory(j.holdersStory(a, b, overlap, why))
	return f
}

func (j *judge) holdingsOfLock(holdings []facts.Holding, lock string) []facts.Holding {
	return slices.DeleteFunc(slices.Clone(holdings), func(h facts.Holding) bool { return j.Grants[h.Grant].Lock != lock })
}

// countOverlaps counts how many holdings stood side by side at most, and how often one
// began inside another.
func countOverlaps(holdings []facts.Holding) (most, times int) {
	var open []time.Duration // the ends of the holdings that are open
	for _, h := range holdings {
		open = slices.DeleteFunc(open, func(end time.Duration) bool { return end <= h.From })
		if len(open) > 0 {
			times++
		}
		open = append(open, h.To)
		most = max(most, len(open))
	}
	return max(most, 2), max(times, 1)
}

// holdingOp is a holding as an operation of a counterexample.
func (j *judge) holdingOp(h facts.Holding, other *facts.Grant, overlap time.Duration) CounterOp {
	g := &j.Grants[h.Grant]
	op := CounterOp{Client: g.Client, Op: j.holds(), Events: sortedEvents(g.Call, g.Return, g.End),
		From: h.From, To: h.To, Believed: j.promiseWords(g)}
	if h.To == facts.Forever {
		op.To = -1
	}
	if last := g.LastPromise(); last.EndedBefore(overlap) {
		op.True = fmt.Sprintf("the validity had ended %s before %s got the lock", length(overlap-last.End), other.Client)
	} else {
		op.True = fmt.Sprintf("%s held it too", other.Client)
	}
	return op
}

// beginEvent is the event in which a holding began: a grant, or a renewal that came when the promise was over.
func (j *judge) beginEvent(h facts.Holding) int {
	g := &j.Grants[h.Grant]
	if i := slices.IndexFunc(g.Renewals, func(e facts.Renewal) bool { return h.From > j.At(g.Return) && j.At(e.Return) == h.From }); i >= 0 {
		return g.Renewals[i].Return
	}
	return g.Return
}

func (j *judge) holdersStory(a, b facts.Holding, overlap Interval, why reason) *story {
	first, second := &j.Grants[a.Grant], &j.Grants[b.Grant]
	s := j.newStory()
	began, text, from := j.beginEvent(b), j.grantWords(second), j.At(first.Call)
	s.tell(filler, second.Call, "%s asked for the lock", second.Client)
	if began != second.Return {
		s.tell(setting, second.Return, "%s", text)
		text, from = second.Client+" renewed its lock", min(from, j.At(second.Call))
	}
	s.tellReason(why, began)
	s.tellGrant(first, j.At(began))
	s.tellReentries(first, began)
	s.tellFaults(from, j.At(began), append(j.clientsOf(why.events), first.Client, second.Client)...)
	s.tell(turning, began, "%s, while %s still held it", text, first.Client)
	s.tellWrites(overlap.From, overlap.To, first.Client, second.Client)
	both := fmt.Sprintf(": both had held the lock for %s", length(overlap.To-overlap.From))
	ended, g := a, first
	if b.To < a.To {
		ended, g = b, second
	}
	if ended.End < 0 && ended.To != facts.Forever {
		s.tellAt(turning, ended.To, g.Return, "the validity of %s ended%s", g.Client, both)
	} else {
		s.tellEnd(g, both)
	}
	return s
}

// tellReentries tells how a client entered the lock of a grant again before an event.
func (s *story) tellReentries(g *facts.Grant, before int) {
	for _, i := range s.j.GrantsTo(g.Client, g.Lock) {
		again := &s.j.Grants[i]
		switch {
		case again.Outer < 0 || again.Return <= g.Return || again.Return >= before:
		case again.OpenAt(before):
			s.tell(setting, again.Return, "%s", s.j.grantWords(again))
		case s.j.Event(again.Call).Value.Inner() && g.OpenAt(again.Return):
			s.tell(setting, again.Return, "%s got the lock once more, inside its section", again.Client)
			s.tell(setting, again.End, "%s asked to release that one", again.Client)
		}
	}
}

// tellReason tells what took the first holder's keys away, or whatever else let the second in.
func (s *story) tellReason(why reason, began int) {
	j, first, second := s.j, why.first, why.second
	s.decidedBy(why.events...)
	s.tellKeyFates(why.keyFates, first, began)
	switch why.cause {
	case renewedInTime:
		s.tellLastRenewal(why, began)
	case staysLost:
		s.tellLateRenewal(first)
	case onePrimary, replicated, replicatedCount:
		s.tellPromotions(why.keyFates, began)
	case backedByKey:
		s.suffixes[first.Return] = ", though no key of its own stood"
	case majoritiesMet:
		s.suffixes[why.events[0]] = "; the grants have no node in common"
	case leavesKey:
		s.suffixes[second.Return] += ", and no node was seen to have a key of either"
	}
	for _, i := range why.events {
		if j.Event(i).F == history.NodePromoted {
			s.tell(turning, i, "node %s became the primary", j.Event(i).Process)
		}
	}
}

// tellKeyFates tells what became of the first holder's keys, once of nodes on which the same did.
func (s *story) tellKeyFates(fates []keyFate, first *facts.Grant, began int) {
	told := make(map[string]bool)
	for _, n := range fates {
		var alike []string
		for _, m := range fates {
			if m.cause == n.cause && (m.end < 0) == (n.end < 0) && (n.end < 0 || s.j.sameChange(m.end, n.end)) {
				alike = append(alike, m.node)
			}
		}
		slices.Sort(alike)
		if where := onNodes(alike); !told[string(n.cause)+where] {
			told[string(n.cause)+where] = true
			s.tellKeyFate(n, where, first, began)
		}
	}
}

// tellLastRenewal tells of the last renewal on which the first holder relied, and that too few nodes took it in.
func (s *story) tellLastRenewal(why reason, began int) {
	first := why.first
	for _, x := range slices.Backward(first.Renewals) {
		if slices.Contains(why.events, x.Return) && (x.Return < min(began, why.second.Return) || x.Return == why.events[0]) {
			s.tell(decisive, x.Return, "%s renewed its lock, valid until %s, which %d of %s took in", first.Client, words.Instant(x.Until),
				s.j.countNodesRenewed(x, first.Client), s.j.countNodes(s.j.NodesTotal()))
			return
		}
	}
}

// tellPromotions tells of the last promotion before an event, of each cluster in which a key did not keep the second holder out, unless a
// fault that made it so tells of it.
func (s *story) tellPromotions(fates []keyFate, before int) {
	told := make(map[string]bool)
	for i := before; i >= 0; i-- {
		e := s.j.Event(i)
		cluster := s.j.ClusterOf(e.Process)
		if e.F != history.NodePromoted || told[cluster] ||
			cluster != "" && !slices.ContainsFunc(fates, func(n keyFate) bool { return s.j.ClusterOf(n.node) == cluster }) {
			continue
		}
		told[cluster] = true
		if len(s.j.FaultsOn(e.Process, -1, before, history.Promotes)) == 0 {
			s.tell(turning, i, "node %s became the primary", e.Process)
		}
	}
}

// tellKeyFate tells what became of the first holder's key on a node and on those where the same became of it.
func (s *story) tellKeyFate(n keyFate, where string, first *facts.Grant, began int) {
	j, by := s.j, cmp.Or(max(n.end, 0), n.taken)
	who := j.Event(by).Value.Client
	at := min(j.At(by), j.At(began)) // it can be seen late
	ago := ""
	if n.set >= 0 && by >= 0 {
		ago = fmt.Sprintf("%s after it had set it%s", length(j.At(by)-j.At(n.set)), j.setForWords(n.set))
		if n.renewed >= 0 {
			ago = fmt.Sprintf("%s after it had last renewed it%s", length(j.At(by)-j.At(n.renewed)), j.setForWords(n.renewed))
		}
	}
	switch n.cause {
	case ownDelete:
		s.tellAt(decisive, at, by, "%s deleted the key of %s %s%s%s", who, first.Client, where, j.meanwhileWords(who, by),
			j.sameValueWords(who, by, n.set))
	case keepsOwn:
		s.tellAt(decisive, at, by, "%s deleted its own key %s, %s%s", who, where, ago, j.meanwhileWords(who, by))
	case lateDelete:
		held := j.faultThatHeldUpDelete(&n, first)
		fault := slices.IndexFunc(j.Faults, func(f facts.Fault) bool { return f.Begin == held })
		s.tell(turning, held, "%s", j.faultWords(&j.Faults[fault]))
		s.tellAt(decisive, at, by, "%s deleted its own key %s, %s: a command of an earlier try, which had been held up", who, where, ago)
	case renewsOwn:
		s.tellAt(decisive, at, by, "%s renewed its lock, and so overwrote the key of %s %s", who, first.Client, where)
		s.tellNextDelete(n.node, by, n.taken, began)
	case setOnce:
		s.tellAt(decisive, at, by, "%s set the key %s, over that of %s", who, where, first.Client)
	case oneKey:
		s.tellAt(decisive, at, by, "%s set its key %s, which is another one than that of %s", who, where, first.Client)
	case remembers:
		if len(j.FaultsOn(n.node, n.set, n.taken, history.Kills, history.Forgets)) > 0 {
			return // the fault tells of it
		}
		if j.Event(by).F == history.NodeDown {
			s.tellAt(decisive, at, by, "node %s went down", n.node)
		} else {
			s.tellAt(decisive, at, by, "node %s dropped the key of %s, which no client had deleted and which had not run out", n.node, first.Client)
		}
	case asksTTL:
		asked := n.events[0]
		s.tell(decisive, asked, "%s asked for the key %s%s, less than the TTL that it was given", first.Client, where, j.setForWords(asked))
	case samePace, tellsTrue, countsEarly, renewedInTime:
		if j.Event(by).F == history.KeySet && by != n.set && n.set >= 0 && j.At(by) < n.due {
			s.tellAt(turning, at, by, "%s set the key %s, over that of %s", who, where, first.Client)
		} else if n.end >= 0 {
			s.tellAt(setting, at, by, "the key of %s %s ran out, %s", first.Client, where, ago)
		}
	}
}

// tellNextDelete tells of the first deletion of a client's key on a node between two events.
func (s *story) tellNextDelete(node string, from, to, began int) {
	for i := from + 1; i < to; i++ {
		e := s.j.Event(i)
		if by := e.Value.Client; e.F == history.KeyDeleted && e.Process == node && by != "" {
			at := min(s.j.At(i), s.j.At(began))
			s.tellAt(turning, at, i, "%s deleted the key on node %s%s", by, node, s.j.meanwhileWords(by, i))
			return
		}
	}
}

// clientsOf are the clients that brought about some events of keys.
func (j *judge) clientsOf(events []int) (clients []string) {
	for _, i := range events {
		if client := j.Event(i).Value.Client; client != "" {
			clients = append(clients, client)
		}
	}
	return clients
}

// sameChange reports that two events of keys are alike: what happened, and who did it.
func (j *judge) sameChange(a, b int) bool {
	x, y := j.Event(a), j.Event(b)
	return x.F == y.F && x.Value.Client == y.Value.Client
}

// countNodesRenewed is how many nodes took in a renewal.
func (j *judge) countNodesRenewed(x facts.Renewal, client string) int {
	nodes := make(map[string]bool)
	for i := x.Return; i >= 0 && j.At(i) >= x.Asked; i-- {
		if e := j.Event(i); (e.F == history.KeySet || e.F == history.KeyExtended) && e.Value.Client == client {
			nodes[e.Process] = true
		}
	}
	return len(nodes)
}

// tellLateRenewal tells of the first renewal of a grant that came when its promise was over.
func (s *story) tellLateRenewal(g *facts.Grant) {
	until := g.Until
	for _, x := range g.Renewals {
		if until.EndedBefore(s.j.At(x.Return)) {
			s.tell(turning, x.Return, "%s renewed its lock, valid until %s, %s after its validity had ended", g.Client, words.Instant(x.Until),
				length(s.j.At(x.Return)-until.End))
			return
		}
		until.End = max(until.End, x.Until)
	}
}
