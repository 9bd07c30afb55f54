package facts

import (
	"cmp"
	"slices"
	"sort"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Backing is what the history tells of the keys on which grants rest.
type Backing struct {
	facts *Facts
	Keys  *KeyReplay
	// changes are the events of each client that change a key of the lock, sets those of them that set one and say when their
	// commands left the client, by that time.
	changes, sets map[string][]int
	// whose says of these events whether the key is the client's.
	whose map[int]Certainty
	// unclear are the events after which nobody knew a key.
	unclear map[NodeKey][]int
	// unseen are the stretches in which something of each node may not have been seen; nil until a grant is not backed.
	unseen map[string]spans
	// shared: several clients set a key, so that others are auxiliary. Enough is how many nodes must have a grant.
	shared bool
	Enough int
}

// NewBacking replays the keys of a history, and keeps who changed which.
func (f *Facts) NewBacking() *Backing {
	b := &Backing{facts: f, Keys: f.ReplayKeys(), changes: make(map[string][]int), sets: make(map[string][]int),
		whose: make(map[int]Certainty), unclear: make(map[NodeKey][]int), Enough: f.Quorum()}
	b.shared = slices.Contains(b.Keys.auxiliary, false)
	for i := range f.History.Events {
		e := f.Event(i)
		var before KeyState
		key := b.Keys.State(e)
		if key != nil {
			before = *key
		}
		b.Keys.Apply(i)
		if e.F == history.Acquire && slices.ContainsFunc(e.Value.Nodes(), b.isAddress) && e.Type == history.OK && f.OpAt[i] >= 0 {
			b.Enough = 1
		}
		if key != nil {
			b.noteChange(i, before, *key)
		}
	}
	for _, list := range b.sets {
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(f.LeftAt(a), f.LeftAt(b)) })
	}
	return b
}

// noteChange takes note of an event of a key, and of whose the key was if its client changed it.
func (b *Backing) noteChange(event int, before, after KeyState) {
	e := b.facts.Event(event)
	if e.F == history.KeyUnclear {
		b.unclear[KeyOf(e)] = append(b.unclear[KeyOf(e)], event)
	}
	client := e.Value.Client
	if client == "" || e.F != history.KeySet && e.F != history.KeyExtended && e.F != history.KeyDeleted {
		return
	}
	b.changes[client] = append(b.changes[client], event)
	if e.Value.At().IsSet() && e.F != history.KeyDeleted {
		b.sets[client] = append(b.sets[client], event)
	}
	switch e.F {
	case history.KeySet:
		if !b.facts.LeavesOwner(event) {
			b.whose[event] = Yes
		} else if !b.facts.foreignSets[event].sure {
			b.whose[event] = Unsure
		}
	case history.KeyExtended:
		b.whose[event] = after.isOf(client)
	case history.KeyDeleted:
		b.whose[event] = before.isOf(client)
	}
}

// isAddress reports that a node that a grant tells of is none of the header's: an address behind which the primary is.
func (b *Backing) isAddress(node string) bool {
	_, listed := b.Keys.nodes[node]
	return !listed && !slices.ContainsFunc(b.facts.History.Header.Clusters, func(c history.ClusterNodes) bool { return c.Name == node })
}

// KeyChanges are the events of an attempt that was granted, in their order, and those in which its client deleted keys while it
// believed: they can have been seen late.
func (b *Backing) KeyChanges(g *Grant) (list []int) {
	f, own, left := b.facts, b.changes[g.Client], b.sets[g.Client]
	for n := sort.SearchInts(own, g.Call+1); n < len(own) && own[n] < g.EndOr(len(f.History.Events)); n++ {
		if own[n] < g.Return || f.Event(own[n]).F == history.KeyDeleted {
			list = append(list, own[n])
		}
	}
	n := sort.Search(len(left), func(i int) bool { return f.LeftAt(left[i]) >= f.At(g.Call) })
	for ; n < len(left) && f.LeftAt(left[n]) <= f.At(g.Return); n++ {
		if left[n] > g.Return {
			list = append(list, left[n])
		}
	}
	slices.Sort(list)
	return list
}

// NodesBehind says of the nodes on which the client of a grant changed a key in its attempt whether they back the grant, and counts those
// that do.
func (b *Backing) NodesBehind(g *Grant) (nodes map[string]Certainty, back int) {
	set, by := b.keysBehind(g)
	nodes = make(map[string]Certainty)
	counted := b.facts.CountNodes()
	for k, is := range set {
		key := b.Keys.keys[k.Key]
		if !b.Keys.countsFor(key, g) {
			continue
		}
		auxiliary := b.Keys.auxiliary != nil && b.Keys.auxiliary[key]
		if is == Yes && (auxiliary && b.shared || b.unclearBetween(k, by[k], g.Return)) {
			is = Unsure
		}
		if is == Yes && nodes[k.Node] != Yes {
			counted.Add(k.Node)
		}
		nodes[k.Node] = max(nodes[k.Node], is)
	}
	return nodes, counted.N
}

// keysBehind says of the keys that the client of a grant changed in its attempt whether they are its own, and by which event.
func (b *Backing) keysBehind(g *Grant) (set map[NodeKey]Certainty, by map[NodeKey]int) {
	set, by = make(map[NodeKey]Certainty), make(map[NodeKey]int)
	for _, i := range b.KeyChanges(g) {
		e := b.facts.Event(i)
		k := KeyOf(e)
		deleted := e.F == history.KeyDeleted
		switch is := set[k]; {
		case b.whose[i] != No && deleted && i > g.Return:
			set[k] = min(is, Unsure)
		case b.whose[i] == Yes && deleted:
			set[k] = No
		case b.whose[i] == Yes:
			set[k], by[k] = Yes, i
		case b.whose[i] == Unsure && (deleted && is != No || !deleted && is != Yes):
			set[k] = Unsure
		}
	}
	return set, by
}

// ChangedOwn says whether the key that a client changed in an event was its own.
func (b *Backing) ChangedOwn(event int) Certainty { return b.whose[event] }

// unclearBetween reports that between two events nobody knew a key any more.
func (b *Backing) unclearBetween(k NodeKey, from, to int) bool {
	list := b.unclear[k]
	n := sort.SearchInts(list, from+1)
	return n < len(list) && list[n] < to
}

// CountMaybeBehind counts the nodes that may back a grant, beside those that do.
func (b *Backing) CountMaybeBehind(g *Grant, nodes map[string]Certainty) int {
	if b.unseen == nil {
		b.unseen = b.facts.unseenSpans()
	}
	next := b.nextAcquire(g)
	may := b.facts.CountNodes()
	for node, is := range nodes {
		if is == Yes {
			may.Add(node)
		}
	}
	back := may.N
	for node := range b.Keys.nodes {
		if is := nodes[node]; is == Unsure || is == No && b.mayBeBehind(g, node, next) {
			may.Add(node)
		}
	}
	return may.N - back
}

// nextAcquire is the event in which the client of a grant next asks for the lock.
func (b *Backing) nextAcquire(g *Grant) int {
	list := b.facts.Attempts[g.Client]
	if n := sort.SearchInts(list, g.op+1); n < len(list) {
		return b.facts.Ops[list[n]].Call
	}
	return len(b.facts.History.Events)
}

// mayBeBehind reports that something of a node may not have been seen, or was seen late.
func (b *Backing) mayBeBehind(g *Grant, node string, next int) bool {
	if b.unseen[node].overlaps(int64(g.Call)+1, int64(next)-1) {
		return true
	}
	for client, list := range b.changes {
		for _, i := range list[sort.SearchInts(list, g.Call+1):] {
			e := b.facts.Event(i)
			named := g.Owner != "" && e.Value.Owner == g.Owner
			if i >= next && (client != g.Client || g.Owner == "") {
				break
			}
			if e.Process != node || e.F == history.KeyDeleted {
				continue
			}
			byOther := client != g.Client && e.F == history.KeySet && i < next && named
			late := client == g.Client && i > g.Return && !e.Value.At().IsSet() && (i < next || named)
			if byOther || late {
				return true
			}
		}
	}
	return false
}
