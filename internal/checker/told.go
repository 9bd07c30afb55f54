package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// believer is a grant whose belief is open.
type believer struct {
	g *grant
	presence
	// told: the client was told of the loss before the lock was gone.
	told bool
	// spared: only a loss that it was told of, or the end of its promise, kept it from not being told for too long.
	spared bool
	// knows is when the end of the promise that the client was told comes, forever for never.
	knows time.Duration
}

// judgeTold: a holder whose lock is gone from the nodes is told so within one TTL.
func judgeTold(_ context.Context, v *view, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(v.ops), Of: "lost grants"}, Method: "replay of the nodes' keys"}
	ttl := time.Duration(v.h.Header.TTL)
	switch {
	case v.severalLocks():
		return unknown("the history is about several locks", f.Effort)
	case ttl <= 0:
		return unknown("the history does not say the lock's TTL", f.Effort)
	}
	keys, quorum := v.nodeKeys(), v.quorum()
	bent := v.clientsWithBentClocks()
	early := make(map[string][]int) // what each client was told of losses in its latest attempt
	var open []*believer
	var late *believer
	for i := range v.h.Events {
		e := v.event(i)
		// Before the event has its say: was a loss not told for too long?
		known := keys.see(i)
		rest := open[:0]
		for _, b := range open {
			ends := b.g.ends == i
			told := !b.told && e.F == history.Lost && e.Process == b.g.client && v.about(b.g, i)
			if b.gone >= 0 && !b.told && late == nil && v.untold(b, min(e.Time, b.knows)) > ttl {
				late = b
			}
			if b.gone >= 0 && !b.spared && (told || v.untold(b, e.Time) > ttl) {
				b.spared = true
				f.Effort.Chances++
			}
			b.told = b.told || told
			if !ends && (!told || b.gone < 0) {
				rest = append(rest, b)
			}
		}
		if open = rest; late != nil {
			return v.notTold(f, late, e.Time, ttl)
		}
		if b := v.newBeliever(i, early, bent); b != nil {
			open = append(open, b)
			known = true
		}
		for _, b := range open {
			if !known {
				break
			}
			surely, maybe := keys.have(b.g)
			b.see(surely >= quorum, maybe >= quorum, i)
		}
	}
	return f.tried("no holder's keys were seen to go", "%d %s, %sknown to the holder in time",
		f.Effort.Chances, f.Effort.What(), each(f.Effort.Chances))
}

// newBeliever is the belief that an event begins, nil for none. In early it notes what clients
// were told of losses in their latest attempts.
func (v *view) newBeliever(i int, early map[string][]int, bent map[string]bool) *believer {
	e := v.event(i)
	if op := v.opAt[i]; e.F == history.Acquire && op >= 0 {
		if e.Type == history.Invoke {
			delete(early, e.Process)
		} else if g := v.grantOf(int(op)); e.Type == history.OK && g.outer < 0 && !bent[e.Process] {
			told := slices.ContainsFunc(early[e.Process], func(loss int) bool { return v.about(g, loss) })
			return &believer{g: g, presence: absent, told: told, knows: v.knowsEnd(g)}
		}
	}
	if e.F == history.Lost {
		early[e.Process] = append(early[e.Process], i)
	}
	return nil
}

// untold is for how long, up to an instant, a client had not been told that its lock was
// gone. The time in which it stood still does not count.
func (v *view) untold(b *believer, to time.Duration) time.Duration {
	from := v.at(b.gone)
	if to <= from {
		return 0
	}
	return to - from - v.stopped(b.g.client, from, to)
}

// knowsEnd is when the end comes of the validity that the client was told: it knows then that
// it has the lock no more. A lock program that tells none, and does not renew, told the TTL
// that it asked for.
func (v *view) knowsEnd(g *grant) time.Duration {
	p := g.until
	if v.event(g.ret).Value.ValidUntil().IsSet() {
		for _, x := range g.extends {
			if p.over(v.at(x.ret)) {
				break
			}
			p.end = max(p.end, x.until)
		}
	} else if len(g.extends) > 0 || v.h.Header.Renews {
		return forever
	}
	return p.cut(forever)
}

// clientsWithBentClocks are those of which nobody knows how long a TTL is.
func (v *view) clientsWithBentClocks() map[string]bool {
	bent := make(map[string]bool)
	for i := range v.faults {
		for _, s := range v.faults[i].strikes {
			for _, c := range s.Clients {
				bent[c] = bent[c] || s.Does == history.BendsClock
			}
		}
	}
	return bent
}

func (v *view) notTold(f Finding, b *believer, to, ttl time.Duration) Finding {
	g := b.g
	f.Verdict = Violated
	f.Why = fmt.Sprintf("the lock of %s was gone, and %s was not told for %s (the TTL is %s)",
		g.client, g.client, length(v.untold(b, min(to, b.knows))), length(ttl))
	to = min(to, b.knows)
	c := &Counterexample{From: f.Effort.Chances, Impossible: -1,
		Assumption: "that a lock which renews finds out that it is lost, and tells its holder"}
	c.Operations = []CounterOp{{Client: g.client, Op: "holds the lock",
		Events: sortedEvents(g.call, g.ret, b.gone, g.ends), From: v.at(g.ret), To: to,
		Believed: promiseWords(g), True: "its lock was gone at " + words.Instant(v.at(b.gone))}}
	s := v.newStory()
	s.rests(v.whyGone(g, b.gone)...)
	s.grant(g, v.at(b.gone))
	s.faults(v.at(g.ret), to, g.client)
	s.tell(turning, b.gone, "the lock of %s was gone: %s", g.client, v.wentWords(b.gone))
	s.end(g, "")
	c.tells(s)
	return f.shown(c)
}

// whyGone are the faults because of which the lock of a grant was gone after an event: those that made the node forget, or
// that kept the client from renewing. Without any it is the event.
func (v *view) whyGone(g *grant, gone int) (begins []int) {
	e := v.event(gone)
	if e.F == history.NodeDown || e.F == history.KeyDeleted && e.Value.Client == "" {
		begins = v.struckBy(e.Process, g.ret, len(v.h.Events), history.Kills, history.Forgets)
	}
	for i := range v.faults {
		f := &v.faults[i]
		keeps := func(s history.Strike) bool {
			link := func(l history.Link) bool { return l.From == g.client || l.To == g.client }
			return slices.ContainsFunc(s.Links, link) || s.Does == history.Stops && slices.Contains(s.Clients, g.client)
		}
		if e.F == history.KeyExpired && f.begin < gone && (f.end < 0 || f.end > g.ret) && slices.ContainsFunc(f.strikes, keeps) {
			begins = append(begins, f.begin)
		}
	}
	if len(begins) == 0 {
		return []int{gone}
	}
	return begins
}
