package naive

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// backedGrant: "Whoever is told that he has the lock has it on enough nodes: before he was told, his own commands had
// set its keys there, and had not taken them back."
func (t *terms) backedGrant() answer {
	// "Unknown if clients were never seen to set a key of the lock (it is kept elsewhere), if they asked for more than one lock".
	keys := t.lockKeys()
	seen := slices.ContainsFunc(t.events, func(e history.Event) bool {
		return e.F == history.KeySet && e.Value.Client != "" && t.ofLock(int(e.Index))
	})
	if !seen || !t.oneLock() {
		return cannotTell
	}
	violated, chances := false, false
	for _, g := range t.grants {
		if g.outer != nil {
			continue // "A re-entry is not judged: it rests on the keys of its outer grant, which is."
		}
		var back, may []string
		for _, node := range t.headerNodes() {
			l := t.backs(g, node, keys)
			if l == surely {
				back = append(back, node)
			}
			if l != not || t.unseen(g, node) {
				may = append(may, node)
			}
		}
		violated = violated || t.count(may) < t.enough()
		chances = chances || t.count(back) >= t.enough()
	}
	return found(violated, chances)
}

// enough: "Enough are the quorum ("Gone"), and one if a grant of the history tells of a node that the header lists neither as a node nor
// as a cluster".
func (t *terms) enough() int {
	for _, g := range t.grants {
		for _, node := range g.said.Nodes() {
			cluster := slices.ContainsFunc(t.header.Clusters, func(c history.ClusterNodes) bool { return c.Name == node })
			if !slices.Contains(t.header.Nodes, node) && !cluster {
				return 1
			}
		}
	}
	return t.quorum()
}

func (t *terms) headerNodes() (nodes []string) {
	for _, n := range t.header.Nodes {
		if !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// backs: "A node backs a grant if such a key on it is set", one that counts for the grant.
func (t *terms) backs(g *grant, node string, keys []string) likely {
	best := not
	for _, key := range keys {
		if t.auxiliary(key, keys) && t.setsShared(g, keys) {
			continue
		}
		is := t.left(g, node, key)
		// "or the set one is auxiliary, and several clients set another key"
		shared := slices.ContainsFunc(keys, func(k string) bool { return !t.auxiliary(k, keys) })
		if is == surely && t.auxiliary(key, keys) && shared {
			is = perhaps
		}
		best = max(best, is)
	}
	return best
}

// left is what the client of a grant left of a key on a node.
func (t *terms) left(g *grant, node, key string) likely {
	is := not
	for i := g.invoked + 1; i < len(t.events); i++ {
		e := &t.events[i]
		if e.F == history.KeyUnclear && e.Process == node && e.Value.Key == key && i < g.answered {
			is = min(is, perhaps) // "it is not known whether a key that was set still is"
		}
		changes := e.F == history.KeySet || e.F == history.KeyExtended || e.F == history.KeyDeleted
		if !changes || e.Process != node || e.Value.Key != key || e.Value.Client != g.client || !t.inAttempt(g, i) {
			continue
		}
		whose := t.clientsOwn(g.client, i)
		switch {
		case whose == not:
			// "An event on a key that is another client's changes nothing."
		case e.F == history.KeyDeleted && i > g.answered:
			// "If it stands after it, it is not known whether the key is set".
			is = min(is, perhaps)
		case whose == perhaps:
			// "If it is not known whose the key is, it is not known either whether the key is set": unless it was as the event leaves it.
			if e.F == history.KeyDeleted && is != not || e.F != history.KeyDeleted && is != surely {
				is = perhaps
			}
		case e.F == history.KeyDeleted:
			is = not
		default:
			is = surely
		}
	}
	return is
}

// clientsOwn: "After a `key-set` by which the key became the client's own ("Whose a key is"), and after a `key-extended` of a key
// that is the client's then ("Gone"), the key is set. After a `key-deleted` of a key that was the client's, it is not."
func (t *terms) clientsOwn(client string, i int) likely {
	e := &t.events[i]
	if e.F == history.KeySet {
		switch w := t.whoseOf(i); {
		case w.set == i:
			return surely
		case w.known():
			return not
		}
		return perhaps
	}
	at := i
	if e.F == history.KeyDeleted {
		at = i - 1
	}
	switch k := t.knownOnce(e.Process, e.Value.Key, at); {
	case k.unknown:
		return perhaps
	case k.client == client:
		return surely
	}
	return not
}

// inAttempt: "that stand after the invocation of the `acquire`, and that stand before its answer, or whose `at` is not before the
// invocation, and not after the answer (of a `key-set` or `key-extended`), or that stand before the end of the belief (of a
// `key-deleted`)."
func (t *terms) inAttempt(g *grant, i int) bool {
	if t.events[i].F == history.KeyDeleted {
		return i > g.invoked && i < g.ended
	}
	at := t.events[i].Value.At()
	return i > g.invoked && (i < g.answered || at.IsSet() && g.call <= at.V() && at.V() <= g.ret)
}

// unseen reports that something of a node may not have been seen that backs a grant.
func (t *terms) unseen(g *grant, node string) bool {
	next := len(t.events)
	for _, p := range t.ops {
		if p.f == history.Acquire && p.client == g.client && p.invoked > g.invoked {
			next = min(next, p.invoked)
		}
	}
	for i := range t.events {
		during := i > g.invoked && i < next
		if t.missed(g, node, i, next) || during && t.mayForget(i, node) || t.setsLate(g, node, i, next) {
			return true
		}
	}
	return false
}

// missed: "a key of the lock on it was unclear (`key-unclear`), a `key-set` or `key-extended` came without a client".
func (t *terms) missed(g *grant, node string, i, next int) bool {
	e := &t.events[i]
	if e.Process != node || !t.ofLock(i) || i >= next {
		return false
	}
	if e.F == history.KeyUnclear {
		return t.clearAgain(i) > g.invoked
	}
	return (e.F == history.KeySet || e.F == history.KeyExtended) && e.Value.Client == "" && i > g.invoked
}

// setsLate: "a `key-set` or `key-extended` of the client without `at` stands after the answer, and stands before the client's next
// `acquire` or shows the owner value of the grant (not empty)", or "a `key-set` of another client between the invocation and the
// client's next `acquire` shows the owner value of the grant (not empty)".
func (t *terms) setsLate(g *grant, node string, i, next int) bool {
	e := &t.events[i]
	if e.Process != node || !t.ofLock(i) || e.F != history.KeySet && e.F != history.KeyExtended {
		return false
	}
	named := e.Value.Owner != "" && e.Value.Owner == g.owner
	if e.Value.Client == g.client {
		return !e.Value.At().IsSet() && i > g.answered && (i < next || named)
	}
	return e.F == history.KeySet && named && i > g.invoked && i < next
}
