package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// believer is a grant whose belief is open.
type believer struct {
	g *facts.Grant
	facts.Presence
	// told: the client was told of the loss before the lock was gone.
	told bool
	// spared: only a loss that it was told of, or the end of its promise, kept it from not being told for too long.
	spared bool
	// knows is when the end of the promise that the client was told comes, forever for never.
	knows time.Duration
}

// judgeTold: a holder whose lock is gone from the nodes is told so within one TTL.
func judgeTold(_ context.Context, j *judge, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "lost grants"}, Method: "replay of the nodes' keys"}
	ttl := time.Duration(j.History.Header.TTL)
	switch {
	case j.SeveralLocks():
		return unknown("the history is about several locks", f.Effort)
	case ttl <= 0:
		return unknown("the history does not say the lock's TTL", f.Effort)
	}
	keys, quorum := j.ReplayKeys(), j.Quorum()
	bent := j.ClientsWithBentClocks()
	early := make(map[string][]int) // what each client was told of losses in its latest attempt
	var open []*believer
	var late *believer
	for i := range j.History.Events {
		e := j.Event(i)
		// Before the event has its say: was a loss not told for too long?
		known := keys.Apply(i)
		rest := open[:0]
		for _, b := range open {
			ends := b.g.End == i
			told := !b.told && e.F == history.Lost && e.Process == b.g.Client && j.LossConcerns(b.g, i)
			if b.GoneSince >= 0 && !b.told && late == nil && j.untold(b, min(e.Time, b.knows)) > ttl {
				late = b
			}
			if b.GoneSince >= 0 && !b.spared && (told || j.untold(b, e.Time) > ttl) {
				b.spared = true
				f.Effort.Chances++
			}
			b.told = b.told || told
			if !ends && (!told || b.GoneSince < 0) {
				rest = append(rest, b)
			}
		}
		if open = rest; late != nil {
			return j.notTold(f, late, e.Time, ttl)
		}
		if b := j.newBeliever(i, early, bent); b != nil {
			open = append(open, b)
			known = true
		}
		for _, b := range open {
			if !known {
				break
			}
			surely, maybe := keys.CountNodes(b.g)
			b.Update(surely >= quorum, maybe >= quorum, i)
		}
	}
	return f.tried("no holder's keys were seen to go", "%d %s, %sknown to the holder in time",
		f.Effort.Chances, f.Effort.What(), each(f.Effort.Chances))
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
			return &believer{g: g, Presence: facts.NotYetThere, told: told, knows: j.knowsEnd(g)}
		}
	}
	if e.F == history.Lost {
		early[e.Process] = append(early[e.Process], i)
	}
	return nil
}

// untold is for how long, up to an instant, a client had not been told that its lock was
// gone. The time in which it stood still does not count.
func (j *judge) untold(b *believer, to time.Duration) time.Duration {
	from := j.At(b.GoneSince)
	if to <= from {
		return 0
	}
	return to - from - j.StoppedFor(b.g.Client, from, to)
}

// knowsEnd is when the end comes of the validity that the client was told: it knows then that
// it has the lock no more. A lock program that tells none, and does not renew, told the TTL
// that it asked for.
func (j *judge) knowsEnd(g *facts.Grant) time.Duration {
	p := g.Until
	if j.Event(g.Return).Value.ValidUntil().IsSet() {
		for _, x := range g.Renewals {
			if p.EndedBefore(j.At(x.Return)) {
				break
			}
			p.End = max(p.End, x.Until)
		}
	} else if len(g.Renewals) > 0 || j.History.Header.Renews {
		return facts.Forever
	}
	return p.EarlierOf(facts.Forever)
}

func (j *judge) notTold(f Finding, b *believer, to, ttl time.Duration) Finding {
	g := b.g
	f.Verdict = Violated
	f.Why = fmt.Sprintf("the lock of %s was gone, and %s was not told for %s (the TTL is %s)",
		g.Client, g.Client, length(j.untold(b, min(to, b.knows))), length(ttl))
	to = min(to, b.knows)
	c := &Counterexample{From: f.Effort.Chances, Impossible: -1,
		Assumption: "that a lock which renews finds out that it is lost, and tells its holder"}
	c.Operations = []CounterOp{{Client: g.Client, Op: "holds the lock",
		Events: sortedEvents(g.Call, g.Return, b.GoneSince, g.End), From: j.At(g.Return), To: to,
		Believed: promiseWords(g), True: "its lock was gone at " + words.Instant(j.At(b.GoneSince))}}
	s := j.newStory()
	s.rests(j.whyGone(g, b.GoneSince)...)
	s.grant(g, j.At(b.GoneSince))
	s.faults(j.At(g.Return), to, g.Client)
	s.tell(turning, b.GoneSince, "the lock of %s was gone: %s", g.Client, j.wentWords(b.GoneSince))
	s.end(g, "")
	c.tells(s)
	return f.shown(c)
}

// whyGone are the faults because of which the lock of a grant was gone after an event: those that made the node forget, or
// that kept the client from renewing. Without any it is the event.
func (j *judge) whyGone(g *facts.Grant, gone int) (begins []int) {
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
