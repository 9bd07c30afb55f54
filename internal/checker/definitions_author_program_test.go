package checker_test

import (
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// The part of the author that writes what the commands of lock programs ask for, and what
// programs lose. Events come late, twice, of others, and with parts missing.

// asks lets the commands of a client ask some nodes for its keys, a quorum of them mostly.
func (a *author) asks(c *actor, p *promise, f history.F) {
	nodes := slices.Clone(a.h.Header.Nodes)
	a.r.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	n := min(len(nodes), a.h.Header.Quorum+a.r.IntN(2))
	if a.chance(1) {
		n = a.r.IntN(n + 1)
	}
	for _, node := range nodes[:n] {
		a.command(c, p, f, node, "lock")
		if a.chance(15) {
			a.command(c, p, f, node, pick(a.r, []string{"lock-2", "lock-" + c.name}))
		}
	}
}

func (a *author) command(c *actor, p *promise, f history.F, node, key string) {
	at := max(p.asked, a.now-unit*int64(a.r.IntN(3)))
	lasts := unit * int64(3+a.r.IntN(10))
	if ttl := a.h.Header.LockOf(c.name).TTL; lasts < ttl && a.chance(84) { // few locks ask for less than their TTL
		lasts = ttl + unit*int64(a.r.IntN(3))
	}
	until := at + lasts
	if before := p.nodes[node]; until < before && before < forever && !a.chance(2) { // few locks ask for less than before
		until = before + unit*int64(a.r.IntN(3))
	}
	v := history.Value{Key: key, Owner: p.owner, Client: c.name, Outcome: &history.Outcome{At: history.Some(at)},
		Grant: &history.Grant{ValidUntil: history.Some(until), TTL: history.Some(until - at)}}
	if a.chance(4) {
		a.oddity(&v, p)
	}
	if v.ValidUntil().IsSet() && v.At().IsSet() && v.Client == c.name {
		if p.nodes == nil {
			p.nodes = map[string]int64{}
		}
		p.nodes[node] = v.ValidUntil().V()
	}
	a.tell(node, f, v, 8)
	p.until = a.quorumUntil(p)
}

// oddity changes something in a key event.
func (a *author) oddity(v *history.Value, p *promise) {
	switch a.r.IntN(6) {
	case 0:
		v.OwnOutcome().At = history.Int{}
	case 1:
		v.OwnGrant().ValidUntil = history.Int{}
	case 2:
		v.Client = pick(a.r, []string{"", pick(a.r, a.actors).name})
	case 3:
		v.OwnOutcome().At = history.Some(p.asked - unit*int64(a.r.IntN(3)))
	case 4:
		v.OwnOutcome().At = history.Some(a.now + unit*int64(a.r.IntN(3)))
	case 5:
		v.OwnGrant().ValidUntil = history.Some(v.At().V() + unit*int64(a.r.IntN(3)))
	}
}

// tell writes a key event, or with some chance keeps it for later.
func (a *author) tell(node string, f history.F, v history.Value, late int) {
	if a.chance(late) {
		a.late = append(a.late, history.Event{Process: node, F: f, Value: v})
		return
	}
	a.add(node, history.Info, f, v)
	if a.chance(20) {
		a.now += unit
	}
}

// comesLate writes one of the events that were kept.
func (a *author) comesLate() {
	if len(a.late) > 0 {
		i := a.r.IntN(len(a.late))
		e := a.late[i]
		a.late = slices.Delete(a.late, i, i+1)
		a.add(e.Process, history.Info, e.F, e.Value)
	}
}

// quorumUntil is until when the author thinks that a quorum was asked.
func (a *author) quorumUntil(p *promise) history.Int {
	var untils []int64
	for _, until := range p.nodes {
		untils = append(untils, until)
	}
	slices.Sort(untils)
	if n := len(untils) - a.h.Header.Quorum; n >= 0 {
		return history.Some(untils[n])
	}
	return history.Int{}
}

// takesBack lets a client delete some of its keys.
func (a *author) takesBack(c *actor, owner string) {
	for _, node := range a.h.Header.Nodes {
		if a.chance(50) {
			v := history.Value{Key: pick(a.r, []string{"lock", "lock", "lock-2"}),
				Owner: owner, Client: c.name, Outcome: &history.Outcome{At: history.Some(a.now)}}
			if a.chance(20) {
				v.OwnOutcome().At = pick(a.r, []history.Int{{}, history.Some(a.now - 2*unit)})
			}
			a.tell(node, history.KeyDeleted, v, 30)
		}
	}
}

// loses tells a client of a loss.
func (a *author) loses(c *actor) {
	v := history.Value{Outcome: &history.Outcome{At: history.Some(a.now - unit*int64(a.r.IntN(3))),
		AtError: unit * pick(a.r, []int64{0, 0, 1, 2, 4})}}
	p := c.asking
	if len(c.held) > 0 {
		p = c.held[len(c.held)-1]
	}
	if p != nil {
		v.Owner = p.owner
		v.OwnExtra().Lock = p.lock
		if p.nodes != nil {
			p.until = history.Some(min(p.until.V(), v.At().V()-v.AtError()))
		}
	}
	if a.chance(20) {
		v.Owner = pick(a.r, []string{"", a.owner(c)})
	}
	switch {
	case a.chance(4):
		v.OwnOutcome().At = history.Int{}
	case a.chance(30):
		v.OwnOutcome().At = history.Some(a.now - unit*int64(a.r.IntN(12)-1))
	}
	a.add(c.name, history.Info, history.Lost, v)
}

// vanishes lets the keys of a client go from most nodes, or come back.
func (a *author) vanishes(c *actor) {
	if len(c.held) == 0 {
		return
	}
	p := c.held[len(c.held)-1]
	if a.goesWrong(revived) && a.chance(75) {
		a.revives(c, p)
		return
	}
	expired, deleted := history.KeyExpired, history.KeyDeleted
	how := pick(a.r, []history.F{expired, expired, expired, deleted, deleted, history.KeySet, history.NodeDown})
	for _, node := range a.h.Header.Nodes {
		v := history.Value{Key: "lock", Owner: p.owner}
		switch {
		case a.chance(8):
			continue
		case how == history.KeySet:
			v.Owner, v.Client = pick(a.r, []string{"other", p.owner}), pick(a.r, a.actors).name
		case how == deleted && a.chance(40):
			v.Client = c.name
		case how == history.NodeDown:
			a.add(node, history.Info, history.NodeDown, history.Value{})
			v = history.Value{Rare: &history.Rare{Detail: pick(a.r, []string{"nothing", "nothing", "nothing", "data"})}}
			a.add(node, history.Info, history.NodeUp, v)
			continue
		}
		a.add(node, history.Info, how, v)
	}
}

// occupies sets the keys of a client that is to be granted the lock, on most nodes.
func (a *author) occupies(c *actor, p *promise) {
	for _, node := range a.h.Header.Nodes {
		v := history.Value{Key: "lock", Owner: p.owner, Client: c.name, Grant: &history.Grant{TTL: history.Some(6 * unit)}}
		if !a.chance(8) {
			a.add(node, history.Info, history.KeySet, v)
		}
		if a.h.Header.LockKey == "" && a.chance(30) {
			v.Key = "lock-" + c.name
			a.add(node, history.Info, history.KeySet, v)
		}
	}
}

// rests lets a client be granted the lock by fewer keys than it takes, or by keys that are not quite its own.
func (a *author) rests(c *actor, p *promise) {
	for _, node := range a.h.Header.Nodes {
		v := history.Value{Key: "lock", Owner: p.owner, Client: c.name, Grant: &history.Grant{TTL: history.Some(6 * unit)}}
		if a.plot.program && a.chance(95) {
			v.OwnOutcome().At = history.Some(a.now - unit*int64(a.r.IntN(2)))
		}
		switch f, other := history.KeySet, pick(a.r, a.actors).name; a.r.IntN(12) {
		case 0, 1:
			a.tell(node, f, v, 20)
		case 2, 3:
			a.tell(node, f, v, 5)
			v.Grant = nil
			a.tell(node, history.KeyDeleted, v, 20)
		case 4:
			a.tell(node, history.KeyExtended, v, 5)
		case 5:
			v.Client, v.Owner = other, pick(a.r, []string{p.owner, other})
			a.add(node, history.Info, f, v)
		case 6:
			v.Key = pick(a.r, []string{"lock-2", "lock-" + c.name})
			a.tell(node, f, v, 5)
		case 7:
			if a.chance(10) {
				a.add(node, history.Info, history.KeyUnclear, history.Value{Key: "lock", Client: c.name})
			}
		}
	}
}

// renews lets a client renew its keys, and may tell it of a loss.
func (a *author) renews(c *actor, p *promise) {
	for _, node := range a.h.Header.Nodes {
		v := history.Value{Key: "lock", Owner: p.owner, Client: c.name, Grant: &history.Grant{TTL: history.Some(a.h.Header.LockOf(c.name).TTL)}}
		if a.plot.program {
			v.OwnOutcome().At = history.Some(a.now - unit*int64(a.r.IntN(2)))
		}
		if !a.chance(5) {
			a.tell(node, history.KeyExtended, v, 4)
		}
	}
	if a.goesWrong(falseAlarm) {
		a.loses(c)
	}
}

// revives lets a client set its keys again.
func (a *author) revives(c *actor, p *promise) {
	under := a.chance(80) && c.doing[history.Extend] == nil
	if under {
		a.invoke(c, history.Extend, history.Value{Extra: &history.Extra{Lock: p.lock}})
	}
	for _, node := range a.h.Header.Nodes {
		v := history.Value{Key: "lock", Owner: p.owner, Client: c.name, Grant: &history.Grant{TTL: history.Some(6 * unit)}}
		if a.plot.program && a.chance(95) {
			v.OwnOutcome().At = history.Some(a.now - unit*int64(a.r.IntN(2)))
		}
		if !a.chance(5) {
			a.tell(node, history.KeySet, v, 4)
		}
	}
}

// asProgram is what a history would be if its lock were a program: its grants tell no
// end, and its keys tell what was asked for.
func asProgram(h *history.History) *history.History {
	p := *h
	p.Header.Quorum, p.Header.Renews = len(h.Header.Nodes)/2+1, true
	p.Events = slices.Clone(h.Events)
	for i := range p.Events {
		e := &p.Events[i]
		switch v := &e.Value; e.F {
		case history.Acquire, history.Extend:
			v.OwnGrant().ValidUntil = history.Int{}
		case history.KeySet, history.KeyExtended, history.KeyDeleted:
			v.OwnOutcome().At = history.Some(int64(e.Time - time.Millisecond/4))
			if v.TTL().IsSet() && v.TTL().V() > 0 {
				v.OwnGrant().ValidUntil = history.Some(v.At().V() + v.TTL().V())
			}
		}
	}
	return &p
}
