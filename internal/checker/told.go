package checker

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// believer is a grant whose belief is open.
type believer struct {
	grant *facts.Grant
	facts.Presence
	// toldOfLoss: the client was told of the loss before the lock was gone.
	toldOfLoss bool
	// chanceCounted: only a loss that it was told of, or the end of its promise, kept it from not being told for too long.
	chanceCounted bool
	// promiseEnds is when the end of the promise that the client was told comes, facts.Forever for never.
	promiseEnds time.Duration
}

// judgeToldWhenLost: a holder whose lock is gone from the nodes is told so within one TTL.
func judgeToldWhenLost(ctx context.Context, j *judge, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "lost grants"}, Method: "replay of the nodes' keys"}
	ttl := j.TTL("")
	if j.History.Clocks != nil {
		return j.judgeToldInLog(ctx, f)
	}
	if j.SeveralLocks() {
		return unknown("the history is about several locks", f.Effort)
	}
	if ttl <= 0 {
		return unknown(j.whyNoTTL(), f.Effort)
	}
	keys, quorum := j.ReplayKeys(), j.Quorum()
	bent := j.ClientsWithBentClocks()
	early := make(map[string][]int) // what each client was told of losses in its latest attempt
	var open []*believer
	for i := range j.History.Events {
		changed := keys.Apply(i)
		var late *believer
		open = slices.DeleteFunc(open, func(b *believer) bool {
			// Before the event has its say: was a loss not told for too long?
			if late == nil && j.toldTooLate(b, i) {
				late = b
			}
			if j.isChanceToTell(b, i) {
				b.chanceCounted = true
				f.Effort.Chances++
			}
			return j.endsWatch(b, i)
		})
		if late != nil {
			return j.notToldFinding(f, late, j.At(i))
		}
		if b := j.newBeliever(i, early, bent); b != nil {
			open = append(open, b)
			changed = true
		}
		if !changed {
			continue
		}
		for _, b := range open {
			surely, maybe := keys.NodesWithKeyOf(b.grant)
			b.Update(surely >= quorum, maybe >= quorum, i)
		}
	}
	return f.noViolation("no holder's keys were seen to go", "%d %s, %sknown to the holder in time",
		f.Effort.Chances, f.Effort.What(), eachIfSeveral(f.Effort.Chances))
}

// toldTooLate reports that the lock of a client was gone for more than the TTL when an event came, and nothing had told the client.
func (j *judge) toldTooLate(b *believer, event int) bool {
	return b.GoneSince >= 0 && !b.toldOfLoss && j.timeUntold(b, min(j.At(event), b.promiseEnds)) > j.TTL(b.grant.Client)
}

// isChanceToTell reports that the client of a lock that is gone is told so in an event, or should have been, for the first time.
func (j *judge) isChanceToTell(b *believer, event int) bool {
	return b.GoneSince >= 0 && !b.chanceCounted && (j.isToldOfLoss(b, event) || j.timeUntold(b, j.At(event)) > j.TTL(b.grant.Client))
}

// isToldOfLoss reports that a client is told in an event, for the first time, that it has lost the lock.
func (j *judge) isToldOfLoss(b *believer, event int) bool {
	e := j.Event(event)
	return !b.toldOfLoss && e.F == history.Lost && e.Process == b.grant.Client && j.LossConcerns(b.grant, event)
}

// endsWatch takes note of what a client is told in an event. It reports whether nothing is to be watched any more: the belief
// ended, or the client was told of the loss that had been seen.
func (j *judge) endsWatch(b *believer, event int) bool {
	told := j.isToldOfLoss(b, event)
	b.toldOfLoss = b.toldOfLoss || told
	return b.grant.End == event || told && b.GoneSince >= 0
}

// newBeliever is the belief that an event begins, nil for none. In early it notes what clients
// were told of losses in their latest attempts.
func (j *judge) newBeliever(i int, early map[string][]int, bent map[string]bool) *believer {
	e := j.Event(i)
	if op := j.OpAt[i]; e.F == history.Acquire && op >= 0 {
		if e.Type == history.Invoke {
			delete(early, e.Process)
		} else if g := j.GrantOf(int(op)); e.Type == history.OK && g.Outer < 0 && !bent[e.Process] {
			told := slices.ContainsFunc(early[e.Process], func(loss int) bool { return j.LossConcerns(g, loss) })
			return &believer{grant: g, Presence: facts.NotYetThere, toldOfLoss: told, promiseEnds: j.promiseEndTold(g)}
		}
	}
	if e.F == history.Lost {
		early[e.Process] = append(early[e.Process], i)
	}
	return nil
}

// timeUntold is for how long, up to an instant, a client had not been told that its lock was
// gone. The time in which it stood still does not count.
func (j *judge) timeUntold(b *believer, to time.Duration) time.Duration {
	from := j.At(b.GoneSince)
	if to <= from {
		return 0
	}
	return to - from - j.StoppedFor(b.grant.Client, from, to)
}

// promiseEndTold is when the end comes of the validity that the client was told: it knows then that
// it has the lock no more. A lock program that tells none, and does not renew by itself, told the TTL
// that it asked for, and once more with each extension.
func (j *judge) promiseEndTold(g *facts.Grant) time.Duration {
	p := g.Until
	if j.Event(g.Return).Value.ValidUntil().IsSet() {
		for _, x := range g.Renewals {
			if p.EndedBefore(j.At(x.Return)) {
				break
			}
			p.End = max(p.End, x.Until)
		}
		return p.EarlierOf(facts.Forever)
	}
	extensions := j.extensionsOf(g)
	if j.renewsItself(g, extensions) {
		return facts.Forever
	}
	for _, op := range extensions {
		o := &j.Ops[op]
		if o.Type != history.OK {
			continue
		}
		if p.EndedBefore(j.At(o.Return)) {
			break
		}
		p.End = max(p.End, j.At(o.Call)+j.GivenTTL(g.Client))
	}
	return p.EarlierOf(facts.Forever)
}

// extensionsOf are the operations by which the client of a grant extended it.
func (j *judge) extensionsOf(g *facts.Grant) (list []int) {
	end := g.EndOr(len(j.History.Events))
	op := sort.Search(len(j.Ops), func(op int) bool { return j.Ops[op].Call > g.Return })
	for ; op < len(j.Ops) && j.Ops[op].Call <= end; op++ {
		if j.Ops[op].F == history.Extend && j.HolderOf(op) == (facts.Holder{Client: g.Client, Lock: g.Lock}) && j.IsRenewedBy(g, op) {
			list = append(list, op)
		}
	}
	return list
}

// renewsItself reports that a lock renews without being asked: by its word, or because a renewal was invoked in none of the extensions.
func (j *judge) renewsItself(g *facts.Grant, extensions []int) bool {
	return j.History.Header.LockOf(g.Client).Renews || slices.ContainsFunc(g.Renewals, func(x facts.Renewal) bool {
		return !slices.ContainsFunc(extensions, func(op int) bool {
			o := &j.Ops[op]
			return j.At(o.Call) <= x.Asked && (o.Return < 0 || x.Asked <= j.At(o.Return))
		})
	})
}

func (j *judge) notToldFinding(f Finding, b *believer, to time.Duration) Finding {
	g := b.grant
	f.Verdict = Violated
	f.Why = fmt.Sprintf("the lock of %s was gone, and %s was not told for %s (the TTL is %s)",
		g.Client, g.Client, length(j.timeUntold(b, min(to, b.promiseEnds))), length(j.TTL(g.Client)))
	to = min(to, b.promiseEnds)
	c := &Counterexample{From: f.Effort.Chances, Impossible: -1,
		Assumption: "that a lock which renews finds out that it is lost, and tells its holder"}
	c.Operations = []CounterOp{{Client: g.Client, Op: "holds the lock",
		Events: sortedEvents(g.Call, g.Return, b.GoneSince, g.End), From: j.At(g.Return), To: to,
		Believed: j.promiseWords(g), True: "its lock was gone at " + words.Instant(j.At(b.GoneSince))}}
	s := j.newStory()
	s.decidedBy(j.faultsBehindLoss(g, b.GoneSince)...)
	s.tellGrant(g, j.At(b.GoneSince))
	s.tellFaults(j.At(g.Return), to, g.Client)
	s.tell(turning, b.GoneSince, "the lock of %s was gone: %s", g.Client, j.goneWords(b.GoneSince))
	s.tellEnd(g, "")
	c.setStory(s)
	return f.withCounterexample(c)
}

// faultsBehindLoss are the faults because of which the lock of a grant was gone after an event: those that made the node forget, or
// that kept the client from renewing. Without any it is the event.
func (j *judge) faultsBehindLoss(g *facts.Grant, gone int) (begins []int) {
	e := j.Event(gone)
	if e.F == history.NodeDown || e.F == history.KeyDeleted && e.Value.Client == "" {
		begins = j.FaultsOn(e.Process, g.Return, len(j.History.Events), history.Kills, history.Forgets)
	}
	for i := range j.Faults {
		f := &j.Faults[i]
		keeps := func(s history.Strike) bool {
			link := func(l history.Link) bool { return l.From == g.Client || l.To == g.Client }
			return slices.ContainsFunc(s.Links, link) || s.Does == history.Stops && slices.Contains(s.Clients, g.Client)
		}
		if e.F == history.KeyExpired && f.Begin < gone && (f.End < 0 || f.End > g.Return) && slices.ContainsFunc(f.Strikes, keeps) {
			begins = append(begins, f.Begin)
		}
	}
	if len(begins) == 0 {
		return []int{gone}
	}
	return begins
}
