package facts

import (
	"maps"
	"slices"
	"sort"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// NodeKey is a key on one node.
type NodeKey struct{ Node, Key string }

// KeyOf is the key on a node that an event of a key is about.
func KeyOf(e *history.Event) NodeKey { return NodeKey{e.Process, e.Value.Key} }

// KeyReplay replays what is known of the lock's keys on the nodes, one event after the other.
type KeyReplay struct {
	facts *Facts
	// nodes are the places of the nodes in names, states and down.
	nodes map[string]int
	names []string
	keys  map[string]int
	// states is what is known of each key on each node.
	states [][]KeyState
	// auxiliary says of a key that one client alone ever sets it, while several set another;
	// shared are the events in which each client made a key its own that is not auxiliary.
	auxiliary []bool
	shared    map[string][]int
	// down says that a node is down, returns with what each of its ends began again.
	down    []bool
	returns map[int]string
	// faultAt is the place in Facts.Faults of the one that begins in an event.
	faultAt map[int]int
}

// KeyState is what is known of one key on one node. The zero value: it is absent.
type KeyState struct {
	// Unsure: nobody knows.
	Unsure bool
	// It is Client's, who set it in the event Set; its value is owner.
	Client, owner string
	Set           int
}

// isOf says whether a key is a client's.
func (k *KeyState) isOf(client string) Certainty {
	if k.Unsure {
		return Unsure
	}
	if k.Client == client {
		return Yes
	}
	return No
}

// ReplayKeys begins a replay, before the first event.
func (f *Facts) ReplayKeys() *KeyReplay {
	k := &KeyReplay{facts: f, nodes: make(map[string]int), keys: make(map[string]int),
		returns: make(map[int]string), faultAt: make(map[int]int)}
	for i := range f.Faults {
		k.faultAt[f.Faults[i].Begin] = i
	}
	for _, n := range f.History.Header.Nodes {
		if _, twice := k.nodes[n]; !twice {
			k.nodes[n], k.names = len(k.nodes), append(k.names, n)
		}
	}
	went := make(map[string]int)
	for i := range f.History.Events {
		switch e := f.Event(i); e.F {
		case history.KeySet, history.KeyExtended, history.KeyDeleted, history.KeyExpired, history.KeyUnclear:
			if _, known := k.keys[e.Value.Key]; !known && f.ConcernsLock(e) {
				k.keys[e.Value.Key] = len(k.keys)
			}
		case history.NodeDown:
			if _, already := went[e.Process]; !already {
				went[e.Process] = i
			}
		case history.NodeUp:
			if down, was := went[e.Process]; was {
				k.returns[down] = e.Value.Detail()
				delete(went, e.Process)
			}
		}
	}
	k.findAuxiliary()
	k.states, k.down = make([][]KeyState, len(k.nodes)), make([]bool, len(k.nodes))
	for n := range k.states {
		k.states[n] = make([]KeyState, len(k.keys))
	}
	return k
}

// findAuxiliary finds the keys that keep nobody out.
func (k *KeyReplay) findAuxiliary() {
	if len(k.keys) < 2 {
		return
	}
	setter, several := make(map[string]string), make(map[string]bool)
	for i := range k.facts.History.Events {
		if e := k.facts.Event(i); e.F == history.KeySet && e.Value.Client != "" {
			if first, some := setter[e.Value.Key]; some && first != e.Value.Client {
				several[e.Value.Key] = true
			}
			setter[e.Value.Key] = e.Value.Client
		}
	}
	k.auxiliary, k.shared = make([]bool, len(k.keys)), make(map[string][]int)
	for name, n := range k.keys {
		k.auxiliary[n] = !several[name]
	}
	for i := range k.facts.History.Events {
		if e := k.facts.Event(i); e.F == history.KeySet && several[e.Value.Key] && k.facts.ConcernsLock(e) && !k.facts.LeavesOwner(i) {
			k.shared[e.Value.Client] = append(k.shared[e.Value.Client], i)
		}
	}
}

// countsFor reports that a key counts for a grant.
func (k *KeyReplay) countsFor(key int, g *Grant) bool {
	if k.auxiliary == nil || !k.auxiliary[key] {
		return true
	}
	list := k.shared[g.Client]
	n := sort.SearchInts(list, g.Call+1)
	return n == len(list) || list[n] >= g.EndOr(len(k.facts.History.Events))
}

// NodeNames are the names of the nodes, sorted.
func (k *KeyReplay) NodeNames() []string { return slices.Sorted(maps.Keys(k.nodes)) }

// State is what is known of the key on a node that an event is about, nil where it is about none of the lock.
func (k *KeyReplay) State(e *history.Event) *KeyState {
	n, ours := k.nodes[e.Process]
	key, ofLock := k.keys[e.Value.Key]
	if !ours || !ofLock {
		return nil
	}
	return &k.states[n][key]
}

// FaultAt is the fault that begins in an event.
func (k *KeyReplay) FaultAt(event int) *Fault { return &k.facts.Faults[k.faultAt[event]] }

// Apply takes in an event, and reports whether it may have changed what is known.
func (k *KeyReplay) Apply(i int) bool {
	e := k.facts.Event(i)
	if e.F == history.FaultBegin {
		fault := k.FaultAt(i)
		for name, n := range k.nodes {
			if !k.down[n] && fault.MayForget(name) {
				k.setAll(n, KeyState{Unsure: true})
			}
		}
		return true
	}
	n, ours := k.nodes[e.Process]
	if !ours {
		return false
	}
	switch e.F {
	case history.NodeDown:
		if !k.down[n] {
			k.down[n] = true
			k.setAll(n, KeyState{Unsure: k.returns[i] != keepsNothing})
		}
		return true
	case history.NodeUp:
		k.down[n] = false
		return false
	case history.NodePromoted, history.NodeDemoted:
		k.setAll(n, KeyState{Unsure: true})
		return true
	}
	return k.applyToKey(e, i)
}

// applyToKey is Apply for an event of a key.
func (k *KeyReplay) applyToKey(e *history.Event, i int) bool {
	now := k.State(e)
	if now == nil {
		return false
	}
	switch e.F {
	case history.KeySet:
		client, set := k.facts.OwnerAfter(i)
		*now = KeyState{Unsure: client == "", Client: client, owner: e.Value.Owner, Set: set}
	case history.KeyExtended:
		if now.Client == "" || now.owner != e.Value.Owner {
			*now = KeyState{Unsure: true}
		}
	case history.KeyDeleted, history.KeyExpired:
		*now = KeyState{}
	case history.KeyUnclear:
		*now = KeyState{Unsure: true}
	default:
		return false
	}
	return true
}

// keepsNothing is what a node-up tells of a node that found nothing on its disk.
const keepsNothing = "nothing"

func (k *KeyReplay) setAll(node int, now KeyState) {
	for i := range k.states[node] {
		k.states[node][i] = now
	}
}

// NodesWithKeyOf counts the nodes that surely have a key of a grant, and those that may have one.
func (k *KeyReplay) NodesWithKeyOf(g *Grant) (surely, maybe int) {
	have, mayHave := k.facts.CountNodes(), k.facts.CountNodes()
	for n, keys := range k.states {
		sure, may := false, false
		for i := range keys {
			if !k.countsFor(i, g) {
				continue
			}
			its := keys[i].Client == g.Client && keys[i].Set > g.Call
			sure, may = sure || its, may || its || keys[i].Unsure
		}
		if sure {
			have.Add(k.names[n])
		}
		if may {
			mayHave.Add(k.names[n])
		}
	}
	return have.N, mayHave.N
}

// KeepThose leaves in some nodes those that surely have a key of a grant.
func (k *KeyReplay) KeepThose(g *Grant, nodes map[string]bool) {
	for name := range nodes {
		has := false
		for i, key := range k.states[k.nodes[name]] {
			has = has || key.Client == g.Client && key.Set > g.Call && k.countsFor(i, g)
		}
		if !has {
			delete(nodes, name)
		}
	}
}

// NodesIfSetAgain counts the nodes that would have a key of a grant if its client set some keys again.
func (k *KeyReplay) NodesIfSetAgain(g *Grant, again map[NodeKey]bool) int {
	nodes := k.facts.CountNodes()
	for name, n := range k.nodes {
		for key, i := range k.keys {
			now := k.states[n][i]
			free := !now.Unsure && now.Client == "" && again[NodeKey{name, key}]
			if k.countsFor(i, g) && (free || now.Client == g.Client && now.Set > g.Call) {
				nodes.Add(name)
				break
			}
		}
	}
	return nodes.N
}

// Presence is what is known of a grant's lock on the nodes, event after event.
type Presence struct {
	// WasThere: since the answer, a quorum of nodes has surely had the lock.
	WasThere bool
	// GoneSince is the event since which its lock is gone, -1 while it may be there.
	GoneSince int
}

// NotYetThere is the presence before the answer.
var NotYetThere = Presence{GoneSince: -1}

// Update takes in what is known after an event: that a quorum surely has the lock, or may have it.
func (p *Presence) Update(surely, maybe bool, event int) {
	switch {
	case surely:
		p.WasThere, p.GoneSince = true, -1
	case maybe:
		p.GoneSince = -1
	case p.WasThere && p.GoneSince < 0:
		p.GoneSince = event
	}
}
