package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// What a lock relied on that told of a grant which rests on too few keys.
const (
	deletedKeeps   cause = "that a key which its own client deletes again keeps others out"
	fewAreEnough   cause = "that fewer nodes than a quorum are enough for a grant"
	oldKeyStands   cause = "that a key which a client set for an earlier grant stands for the next one, too"
	failedIsDone   cause = "that a command which failed has set the key all the same"
	grantedUnasked cause = "that a client has the lock which the nodes refused, or which did not ask them"
)

// backing is what the history tells of the keys on which grants rest.
type backing struct {
	v    *view
	keys *nodeKeys
	// own are the events of each client that change a key of the lock, left those of them that set one and say when their
	// commands left the client, by that time.
	own, left map[string][]int
	// whose says of these events whether the key is the client's.
	whose map[int]certainty
	// unclear are the events after which nobody knew a key.
	unclear map[nodeKey][]int
	// unseen are the stretches in which something of each node may not have been seen; nil until a grant is not backed.
	unseen map[string]spans
	// shared: several clients set a key, so that others are auxiliary. enough is how many nodes must have a grant.
	shared bool
	enough int
}

// judgeBacked: before a client is told that it has the lock, its own commands have set its keys on enough nodes.
func judgeBacked(_ context.Context, v *view, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(v.ops), Of: "grants"}, Method: "replay of the nodes' keys"}
	switch {
	case v.severalLocks():
		return unknown("the history is about several locks", f.Effort)
	case !v.sees(history.KeySet):
		return unknown("the lock keeps no key on the nodes", f.Effort)
	}
	b := v.newBacking()
	for i := range v.grants {
		g := &v.grants[i]
		if g.outer >= 0 {
			continue
		}
		nodes, back := b.nodes(g)
		switch {
		case back >= b.enough:
			f.Effort.Chances++
		case back+b.maybe(g, nodes) < b.enough:
			f.Effort.Chances++
			return v.unbacked(f, b, g, nodes, back)
		}
	}
	return f.tried("of no grant it is known what it rests on", "%d %s, %swith its keys on enough nodes",
		f.Effort.Chances, f.Effort.What(), each(f.Effort.Chances))
}

func (v *view) newBacking() *backing {
	b := &backing{v: v, keys: v.nodeKeys(), own: make(map[string][]int), left: make(map[string][]int),
		whose: make(map[int]certainty), unclear: make(map[nodeKey][]int), enough: v.quorum()}
	b.shared = slices.Contains(b.keys.auxiliary, false)
	for i := range v.h.Events {
		e := v.event(i)
		before := b.keys.key(e)
		var deleted keyOnNode
		if before != nil {
			deleted = *before
		}
		b.keys.see(i)
		if e.F == history.Acquire && slices.ContainsFunc(e.Value.Nodes(), b.isAddress) && e.Type == history.OK && v.opAt[i] >= 0 {
			b.enough = 1
		}
		if before != nil && e.F == history.KeyUnclear {
			k := nodeKey{e.Process, e.Value.Key}
			b.unclear[k] = append(b.unclear[k], i)
		}
		if before == nil || e.Value.Client == "" || e.F != history.KeySet && e.F != history.KeyExtended && e.F != history.KeyDeleted {
			continue
		}
		b.own[e.Value.Client] = append(b.own[e.Value.Client], i)
		if e.Value.At().IsSet() && e.F != history.KeyDeleted {
			b.left[e.Value.Client] = append(b.left[e.Value.Client], i)
		}
		switch k := v.kept[i]; {
		case e.F == history.KeySet && !v.leaves(i):
			b.whose[i] = yes
		case e.F == history.KeySet && !k.sure:
			b.whose[i] = unsure
		case e.F == history.KeyExtended:
			b.whose[i] = before.ofClient(e.Value.Client)
		case e.F == history.KeyDeleted:
			b.whose[i] = deleted.ofClient(e.Value.Client)
		}
	}
	for _, list := range b.left {
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(v.left(a), v.left(b)) })
	}
	return b
}

// isAddress reports that a node that a grant tells of is none of the header's: an address behind which the primary is.
func (b *backing) isAddress(node string) bool {
	_, listed := b.keys.nodes[node]
	return !listed
}

// ofClient says whether a key is a client's.
func (k *keyOnNode) ofClient(client string) certainty {
	switch {
	case k.unsure:
		return unsure
	case k.client == client:
		return yes
	}
	return no
}

// unseenSpans are, for each node, the stretches of events in which something of the lock's keys may not have been seen.
func (v *view) unseenSpans() map[string]spans {
	list := make(map[string]spans)
	v.eachUnclear(func(node string, s span) { list[node] = append(list[node], s) })
	add := func(node string, event int) {
		list[node] = append(list[node], span{from: int64(event), to: int64(event)})
	}
	fault := 0
	for i := range v.h.Events {
		e := v.event(i)
		switch e.F {
		case history.NodeDown, history.NodeUp, history.NodePromoted, history.NodeDemoted:
			add(e.Process, i)
		case history.FaultBegin:
			for _, n := range v.h.Header.Nodes {
				if v.faults[fault].mayForget(n) {
					add(n, i)
				}
			}
			fault++
		case history.KeySet, history.KeyExtended:
			if e.Value.Client == "" && ofLock(v.h, e) {
				add(e.Process, i)
			}
		}
	}
	for _, s := range list {
		s.ready()
	}
	return list
}

// events are those of an attempt that was granted, in their order, and those in which its client deleted keys while it believed: they
// can have been seen late.
func (b *backing) events(g *grant) (list []int) {
	v, own, left := b.v, b.own[g.client], b.left[g.client]
	for n := sort.SearchInts(own, g.call+1); n < len(own) && own[n] < g.lastEvent(len(v.h.Events)); n++ {
		if own[n] < g.ret || v.event(own[n]).F == history.KeyDeleted {
			list = append(list, own[n])
		}
	}
	n := sort.Search(len(left), func(i int) bool { return v.left(left[i]) >= v.at(g.call) })
	for ; n < len(left) && v.left(left[n]) <= v.at(g.ret); n++ {
		if left[n] > g.ret {
			list = append(list, left[n])
		}
	}
	slices.Sort(list)
	return list
}

// nodes says of the nodes on which the client of a grant changed a key in its attempt whether they back the grant, and counts those
// that do.
func (b *backing) nodes(g *grant) (nodes map[string]certainty, back int) {
	set, by := make(map[nodeKey]certainty), make(map[nodeKey]int)
	for _, i := range b.events(g) {
		e := b.v.event(i)
		k := nodeKey{e.Process, e.Value.Key}
		deleted := e.F == history.KeyDeleted
		switch is := set[k]; {
		case b.whose[i] != no && deleted && i > g.ret:
			set[k] = min(is, unsure)
		case b.whose[i] == yes && deleted:
			set[k] = no
		case b.whose[i] == yes:
			set[k], by[k] = yes, i
		case b.whose[i] == unsure && (deleted && is != no || !deleted && is != yes):
			set[k] = unsure
		}
	}
	nodes = make(map[string]certainty)
	for k, is := range set {
		key := b.keys.keys[k.key]
		switch auxiliary := b.keys.auxiliary != nil && b.keys.auxiliary[key]; {
		case !b.keys.counts(key, g):
			continue
		case is == yes && (auxiliary && b.shared || b.unclearBetween(k, by[k], g.ret)):
			is = unsure
		}
		if is == yes && nodes[k.node] != yes {
			back++
		}
		nodes[k.node] = max(nodes[k.node], is)
	}
	return nodes, back
}

// changedOwn says whether the key that a client changed in an event was its own.
func (b *backing) changedOwn(event int) certainty { return b.whose[event] }

// unclearBetween reports that between two events nobody knew a key any more.
func (b *backing) unclearBetween(k nodeKey, from, to int) bool {
	list := b.unclear[k]
	n := sort.SearchInts(list, from+1)
	return n < len(list) && list[n] < to
}

// maybe counts the nodes that may back a grant.
func (b *backing) maybe(g *grant, nodes map[string]certainty) (n int) {
	if b.unseen == nil {
		b.unseen = b.v.unseenSpans()
	}
	next := b.nextAcquire(g)
	for node := range b.keys.nodes {
		if is := nodes[node]; is == unsure || is == no && b.mayBack(g, node, next) {
			n++
		}
	}
	return n
}

// nextAcquire is the event in which the client of a grant next asks for the lock.
func (b *backing) nextAcquire(g *grant) int {
	list := b.v.acquires[g.client]
	if n := sort.SearchInts(list, g.op+1); n < len(list) {
		return b.v.ops[list[n]].Call
	}
	return len(b.v.h.Events)
}

// mayBack reports that something of a node may not have been seen, or was seen late.
func (b *backing) mayBack(g *grant, node string, next int) bool {
	if b.unseen[node].meet(int64(g.call)+1, int64(next)-1) {
		return true
	}
	for client, list := range b.own {
		for n := sort.SearchInts(list, g.call+1); n < len(list); n++ {
			i := list[n]
			e := b.v.event(i)
			named := g.owner != "" && e.Value.Owner == g.owner
			switch {
			case i >= next && (client != g.client || g.owner == ""):
				n = len(list)
			case e.Process != node || e.F == history.KeyDeleted:
			case client != g.client && e.F == history.KeySet && i < next && named,
				client == g.client && i > g.ret && !e.Value.At().IsSet() && (i < next || named):
				return true
			}
		}
	}
	return false
}

// unbacked is the finding that a client was told of a grant that rests on too few nodes.
func (v *view) unbacked(f Finding, b *backing, g *grant, nodes map[string]certainty, back int) Finding {
	if v.brief {
		return violatedBriefly(f)
	}
	f.Verdict = Violated
	where := fmt.Sprintf("keys of this grant were on %d of the %s that it takes", back, plural(b.enough, "node"))
	f.Why = fmt.Sprintf("%s was told that it had the lock, and %s", g.client, where)
	s := v.newStory()
	s.grant(g, v.at(g.ret))
	s.tell(setting, g.call, "%s asked for the lock", g.client)
	s.faults(v.at(g.call), v.at(g.ret), g.client)
	changed := b.events(g)
	old, own := false, false
	var none []string
	for _, node := range b.keys.nodeNames() {
		if nodes[node] == yes {
			continue
		}
		deleted, stood := v.tellNode(s, b, g, node, changed)
		own, old = own || deleted, old || stood == g.client
		if !deleted {
			none = append(none, node)
		}
	}
	if len(none) > 0 {
		s.tell(turning, g.ret, "%s had set no key %s since it asked", g.client, onNodes(none))
	}
	why := grantedUnasked
	switch {
	case own:
		why = deletedKeeps
	case back > 0:
		why = fewAreEnough
	case old:
		why = oldKeyStands
	case v.struckWhileAsking(g):
		why = failedIsDone
	}
	s.end(g, "")
	s.rests(g.ret)
	c := &Counterexample{From: f.Effort.Chances, Impossible: g.ret, Assumption: string(why),
		Operations: []CounterOp{{Client: g.client, Op: "is granted the lock", Events: sortedEvents(append(changed, g.call, g.ret)...),
			From: v.at(g.call), To: v.at(g.ret), Believed: promiseWords(g), True: where}}}
	c.tells(s)
	return f.shown(c)
}

// tellNode tells what became of a grant's keys on a node that does not back it. It reports whether its client deleted
// them itself, and whose key stood there instead; empty: nobody's, or it is not known.
func (v *view) tellNode(s *story, b *backing, g *grant, node string, changed []int) (deleted bool, stood string) {
	for _, i := range changed {
		e := v.event(i)
		if e.Process != node || b.changedOwn(i) != yes {
			continue
		}
		did := "set"
		switch e.F {
		case history.KeyDeleted:
			did, deleted = "deleted", deleted || i < g.ret
		case history.KeyExtended:
			did = "renewed"
		}
		s.tell(turning, i, "%s %s its key on node %s", g.client, did, node)
	}
	if set := v.keyBefore(node, g.ret); set >= 0 && !deleted {
		owner, by := v.keyOf(set)
		s.tell(setting, by, "%s set the key on node %s", cmp.Or(owner, "somebody"), node)
		return false, owner
	}
	return deleted, ""
}

// struckWhileAsking reports that a fault struck what the client of a grant sent to the nodes, or a node, while it asked for the lock.
func (v *view) struckWhileAsking(g *grant) bool {
	for i := range v.faults {
		f := &v.faults[i]
		if f.begin > g.ret || f.end >= 0 && f.end < g.call {
			continue
		}
		strikes := func(s history.Strike) bool {
			its := slices.ContainsFunc(s.Links, func(l history.Link) bool { return l.From == g.client })
			return its || len(s.Nodes) > 0 && s.Does != history.BendsClock
		}
		if slices.ContainsFunc(f.strikes, strikes) {
			return true
		}
	}
	return false
}

// keyBefore is the last key-set of a key of the lock that stood on a node when an event came, as far as was seen; -1: there was none.
func (v *view) keyBefore(node string, event int) int {
	gone := make(map[string]bool)
	for i := event - 1; i >= 0; i-- {
		e := v.event(i)
		switch {
		case e.Process != node:
		case e.F == history.NodeDown:
			return -1
		case e.F == history.KeyDeleted, e.F == history.KeyExpired, e.F == history.KeyUnclear:
			gone[e.Value.Key] = true
		case e.F == history.KeySet && ofLock(v.h, e) && !gone[e.Value.Key]:
			return i
		}
	}
	return -1
}
