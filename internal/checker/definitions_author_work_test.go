package checker_test

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker/naive"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// The part of the author that writes what clients do with the resource, what nodes
// tell of keys, and faults.

func (a *author) cell() string {
	if a.h.Header.Workload == "two-cells" {
		return pick(a.r, []string{"a", "b"})
	}
	return ""
}

// work begins an operation on the resource.
func (a *author) work(c *actor, p *promise) {
	v := history.Value{Section: p.section, Key: a.cell()}
	p.wrote = a.h.Header.Workload != "two-cells"
	switch {
	case a.h.Header.Workload == "stock" && a.chance(30):
		v.Number = history.Some(int64(1 + a.r.IntN(2)))
		a.invoke(c, history.CAS, v)
	case a.h.Header.Workload == "jobs":
		v.Number = history.Some(int64(1 + a.r.IntN(3)))
		a.invoke(c, history.Write, v)
	case a.chance(50):
		p.wrote = false
		a.invoke(c, history.Read, v)
	default:
		v.Number = history.Some(a.next(c, v.Key))
		a.invoke(c, history.Write, v)
	}
}

// next is what a client writes: what follows what it saw last.
func (a *author) next(c *actor, key string) int64 {
	saw := a.cells[key]
	for _, e := range a.h.Events {
		if e.Process == c.name && e.F == history.Read && e.Type == history.OK && e.Value.Key == key {
			saw = e.Value.Number.V()
		}
	}
	switch a.h.Header.Workload {
	case "stock":
		return saw - 1
	case "append":
		return int64(len(a.h.Events))
	case "register":
		return int64(a.r.IntN(4))
	}
	return saw + 1
}

// worked lets an operation take effect, and completes it. What never completes is given up.
func (a *author) worked(c *actor) {
	for _, f := range []history.F{history.Read, history.Write, history.CAS} {
		v := c.doing[f]
		if v == nil || a.chance(40) {
			continue
		}
		delete(c.doing, f)
		p := &promise{}
		if len(c.held) > 0 {
			p = c.held[len(c.held)-1]
		}
		accept := true
		switch valid := !p.until.IsSet() || a.now <= p.until.V(); {
		case !valid:
			accept = !a.fenced || a.goesWrong(lateAccepted)
		case a.goesWrong(validRefused):
			accept = false
		}
		a.completed(c, f, *v, p, accept)
		return
	}
}

func (a *author) completed(c *actor, f history.F, v history.Value, p *promise, accept bool) {
	told := history.Value{Client: c.name, Section: v.Section,
		Key: v.Key, Token: p.token, Outcome: &history.Outcome{Op: f, Accepted: history.SomeBool(accept)}}
	if a.chance(90) {
		told.OwnOutcome().At = history.Some(a.now - unit*int64(a.r.IntN(3)))
		told.OwnOutcome().AtError = pick(a.r, []int64{0, 0, unit, 2 * unit})
	}
	if a.fenced {
		told.OwnOutcome().Highest = history.Some(a.tokens)
	}
	outcome := history.OK
	switch {
	case !accept:
		outcome = history.Fail
	case f == history.Read:
		v.Number, v.OwnExtra().List = history.Some(a.cells[v.Key]), slices.Clone(a.list)
		if a.goesWrong(wrongValue) {
			v.Number = history.Some(v.Number.V() + pick(a.r, []int64{-1, 1}))
			v.OwnExtra().List = v.List()[:a.r.IntN(max(1, len(v.List())))]
		}
	case f == history.CAS:
		v.OwnExtra().Expected = history.Some(a.cells[v.Key])
		v.Number = history.Some(v.Expected().V() - v.Number.V())
		if a.goesWrong(wrongValue) {
			v.OwnExtra().Expected = history.Some(v.Expected().V() + 1)
		}
		if v.Number.V() < 0 {
			outcome, told.OwnOutcome().Accepted = history.Fail, history.SomeBool(false)
			break
		}
		a.cells[v.Key] = v.Number.V()
	default:
		a.cells[v.Key] = v.Number.V()
		a.list = append(a.list, v.Number.V())
	}
	if a.chance(95) {
		told.Number = v.Number
		a.add(history.ResourceProcess, history.Info, history.Effect, told)
		if a.chance(30) {
			a.now += unit
		}
	}
	if a.chance(8) {
		outcome = history.Info
	}
	if a.chance(96) {
		v.Token = p.token
		a.add(c.name, outcome, f, v)
	}
}

// tellKey lets a node tell of a key, whatever it is about.
func (a *author) tellKey(c *actor) {
	if a.chance(1) {
		a.add(pick(a.r, a.h.Header.Nodes), history.Info, history.KeyUnclear, history.Value{Key: pick(a.r, []string{"lock", "other"}),
			Client: c.name, Rare: &history.Rare{Stranger: a.r.IntN(8) == 0, Detail: "SETBIT"}})
	}
	switch a.r.IntN(4) {
	case 0:
		a.setKey(c, a.owner(c))
	case 1:
		a.deleteKey(c, a.owner(c))
	case 2:
		node := pick(a.r, a.h.Header.Nodes)
		if k := a.keys[node]; k != nil && k.until <= a.now {
			a.add(node, history.Info, history.KeyExpired, history.Value{Key: "lock", Owner: k.owner})
			delete(a.keys, node)
		}
	case 3:
		node := pick(a.r, a.h.Header.Nodes)
		if k := a.keys[node]; k != nil && (k.client == c.name || a.goesWrong(wrongKey)) {
			k.until = a.now + a.h.Header.LockOf(c.name).TTL
			a.add(node, history.Info, history.KeyExtended,
				history.Value{Key: "lock", Owner: k.owner, Client: c.name, Grant: &history.Grant{TTL: history.Some(a.h.Header.LockOf(c.name).TTL)}})
		}
	}
}

func (a *author) setKey(c *actor, owner string) {
	node := pick(a.r, a.h.Header.Nodes)
	if k := a.keys[node]; k != nil && k.until > a.now && !a.goesWrong(wrongKey) {
		if a.chance(50) {
			a.writeInto(c, node, k)
		}
		return
	}
	v := history.Value{Key: "lock", Owner: owner, Client: c.name, Grant: &history.Grant{TTL: history.Some(a.h.Header.LockOf(c.name).TTL)}}
	switch {
	case a.goesWrong(halfDone):
		v.OwnGrant().TTL = history.Int{}
	case a.chance(20):
		v.OwnGrant().TTL = history.Some(v.TTL().V() + 3*unit)
	case a.chance(4):
		v.Client = ""
	}
	a.keys[node] = &nodeKey{owner, owner, c.name, a.now + v.TTL().V()}
	a.add(node, history.Info, history.KeySet, v)
}

// writeInto lets a client that waits write into a key that is there: it counts itself, or writes back what it found.
func (a *author) writeInto(c *actor, node string, k *nodeKey) {
	k.owner = pick(a.r, []string{k.owner, k.owner, k.claim, "2", "3", c.name})
	a.add(node, history.Info, history.KeySet, history.Value{Key: "lock", Owner: k.owner, Client: c.name,
		Grant: &history.Grant{TTL: history.Some(max(0, k.until-a.now))}})
}

func (a *author) deleteKey(c *actor, owner string) {
	node := pick(a.r, a.h.Header.Nodes)
	k := a.keys[node]
	if k == nil || k.owner != owner && k.claim != owner && !a.goesWrong(wrongKey) {
		return
	}
	v := history.Value{Key: "lock", Owner: k.owner, Client: c.name}
	if a.chance(4) {
		v.Client = ""
	}
	a.add(node, history.Info, history.KeyDeleted, v)
	delete(a.keys, node)
}

// fault lets a fault begin, or one end.
func (a *author) fault() {
	if len(a.faults) > 0 && a.chance(40) {
		i := a.r.IntN(len(a.faults))
		v := a.faults[i]
		a.faults = slices.Delete(a.faults, i, i+1)
		a.add(history.NemesisProcess, history.Info, history.FaultEnd,
			history.Value{Rare: &history.Rare{Fault: v.Fault, ID: v.ID, Target: v.Target}})
		if v.Fault == "kills" && slices.Contains(a.h.Header.Nodes, v.Target) {
			a.add(v.Target, history.Info, history.NodeUp, history.Value{Rare: &history.Rare{Detail: "nothing"}})
		}
		return
	}
	does := pick(a.r, naive.Effects)
	node, c := pick(a.r, a.h.Header.Nodes), pick(a.r, a.actors)
	if a.plot.node != "" {
		node = a.plot.node
	}
	if a.plot.silent && a.chance(90) {
		a.silence(node, c)
		return
	}
	s := history.Strike{Does: does}
	v := &history.Rare{Fault: string(does), ID: 1 + a.r.IntN(4), Target: node}
	switch x := a.r.IntN(10); {
	case a.h.Header.Workload == "transactions" && x < 6:
		s = history.Strike{Does: history.Kills, Resource: true}
		v.Target = history.ResourceProcess
	case x < 6:
		s.Nodes = []string{node}
	case a.plot.node != "":
		s.Links, v.Target = []history.Link{{From: c.name, To: node}}, c.name+" to "+node
	case x < 7:
		s.Clients, v.Target = []string{c.name}, c.name
	case x < 8:
		s.Resource, v.Target = true, history.ResourceProcess
	case x < 9:
		s.Links, v.Target = []history.Link{{From: c.name, To: node}}, c.name+" to "+node
	default:
		s.Links, v.Target = []history.Link{{From: c.name, To: pick(a.r, []string{node, history.ResourceProcess})},
			{From: node, To: pick(a.r, a.h.Header.Nodes)}}, "some links"
	}
	if does == history.Stops && a.chance(30) {
		s = history.Strike{Does: history.Kills, Clients: []string{c.name}}
		v.Fault, v.Target = "kills", c.name
	}
	if v.Impact = (&history.Impact{Effects: []history.Strike{s}}); a.chance(4) {
		v.Impact = nil
	}
	a.faults = append(a.faults, v)
	a.add(history.NemesisProcess, history.Info, history.FaultBegin, history.Value{Rare: v})
	if s.Does == history.Kills {
		for _, name := range s.Clients {
			a.kill(name)
		}
		for _, node := range s.Nodes {
			a.add(node, history.Info, history.NodeDown, history.Value{})
			delete(a.keys, node)
		}
		if s.Resource && a.chance(95) {
			a.add(history.ResourceProcess, history.Info, history.NodeDown, history.Value{})
		}
	}
	if s.Does == history.Forgets {
		for _, node := range s.Nodes {
			delete(a.keys, node)
		}
	}
}

// silence lets what a client has open to a node go silent.
func (a *author) silence(node string, c *actor) {
	v := &history.Rare{Fault: string(history.Silences), ID: 1 + a.r.IntN(4), Target: c.name + " to " + node,
		Impact: &history.Impact{Effects: []history.Strike{{Does: history.Silences, Links: []history.Link{{From: c.name, To: node}}}}}}
	a.faults = append(a.faults, v)
	a.add(history.NemesisProcess, history.Info, history.FaultBegin, history.Value{Rare: v})
}

// kill lets a client forget all. It may be started again.
func (a *author) kill(name string) {
	for _, c := range a.actors {
		if c.name == name {
			c.held, c.asking, c.doing = nil, nil, map[history.F]*history.Value{}
		}
	}
}

// transact lets a client append to two lists, or look at them.
func (a *author) transact(c *actor) {
	if v := c.doing[history.Snapshot]; v != nil {
		delete(c.doing, history.Snapshot)
		a.add(c.name, history.OK, history.Snapshot, a.look(v.Section))
		return
	}
	v := c.doing[history.Transact]
	if v == nil {
		a.section[c.name]++
		v := history.Value{Section: a.section[c.name]}
		if a.chance(50) {
			a.invoke(c, history.Snapshot, v)
			return
		}
		v.Number = history.Some(int64(10*a.section[c.name] + int(c.name[1]-'0')))
		a.invoke(c, history.Transact, v)
		return
	}
	delete(c.doing, history.Transact)
	outcome := pick(a.r, []history.Type{history.OK, history.OK, history.OK, history.Info, history.Fail})
	if outcome != history.Fail || a.goesWrong(wrongValue) {
		a.list = append(a.list, v.Number.V())
		if a.goesWrong(lateAccepted) {
			a.add(c.name, history.Info, history.Point, history.Value{Extra: &history.Extra{Point: "between"}})
			o := pick(a.r, a.actors)
			a.add(o.name, history.Invoke, history.Snapshot, history.Value{Section: 90})
			a.add(o.name, history.OK, history.Snapshot, a.look(90))
		}
		if !a.goesWrong(halfDone) {
			a.other = append(a.other, v.Number.V())
		}
	}
	if n := len(a.list); n > 1 && a.goesWrong(lockGivenTwice) {
		a.list[n-1], a.list[n-2] = a.list[n-2], a.list[n-1]
	}
	if a.chance(95) {
		a.add(c.name, outcome, history.Transact, *v)
	}
	if n := len(a.list); n > 0 && a.goesWrong(wrongKey) { // a power cut
		a.list, a.other = a.list[:n-1], a.other[:min(len(a.other), n-1)]
	}
}

func (a *author) look(section int) history.Value {
	return history.Value{Section: section, Extra: &history.Extra{List: slices.Clone(a.list), Other: slices.Clone(a.other)}}
}
