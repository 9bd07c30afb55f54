package checker

import (
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// nodeKeys replays what is known of the lock's keys on the nodes.
type nodeKeys struct {
	v     *view
	nodes map[string]int
	keys  map[string]int
	// of is what is known of each key on each node.
	of [][]keyOnNode
	// auxiliary says of a key that one client alone ever sets it, while several set another;
	// shared are the events in which each client made a key its own that is not auxiliary.
	auxiliary []bool
	shared    map[string][]int
	// down says that a node is down, returns with what each of its ends began again.
	down    []bool
	returns map[int]string
	// faults are the places in view.faults of those that begin in an event.
	faults map[int]int
}

// keyOnNode is what is known of one key on one node. The zero value: it is absent.
type keyOnNode struct {
	// unsure: nobody knows.
	unsure bool
	// It is client's, who set it in the event set; its value is owner.
	client, owner string
	set           int
}

func (v *view) nodeKeys() *nodeKeys {
	k := &nodeKeys{v: v, nodes: make(map[string]int), keys: make(map[string]int), returns: make(map[int]string), faults: make(map[int]int)}
	for i := range v.faults {
		k.faults[v.faults[i].begin] = i
	}
	for _, n := range v.h.Header.Nodes {
		if _, twice := k.nodes[n]; !twice {
			k.nodes[n] = len(k.nodes)
		}
	}
	went := make(map[string]int)
	for i := range v.h.Events {
		switch e := v.event(i); e.F {
		case history.KeySet, history.KeyExtended, history.KeyDeleted, history.KeyExpired, history.KeyUnclear:
			if _, known := k.keys[e.Value.Key]; !known && ofLock(v.h, e) {
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
	k.of, k.down = make([][]keyOnNode, len(k.nodes)), make([]bool, len(k.nodes))
	for n := range k.of {
		k.of[n] = make([]keyOnNode, len(k.keys))
	}
	return k
}

// findAuxiliary finds the keys that keep nobody out.
func (k *nodeKeys) findAuxiliary() {
	if len(k.keys) < 2 {
		return
	}
	setter, several := make(map[string]string), make(map[string]bool)
	for i := range k.v.h.Events {
		if e := k.v.event(i); e.F == history.KeySet && e.Value.Client != "" {
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
	for i := range k.v.h.Events {
		if e := k.v.event(i); e.F == history.KeySet && several[e.Value.Key] && ofLock(k.v.h, e) && !k.v.leaves(i) {
			k.shared[e.Value.Client] = append(k.shared[e.Value.Client], i)
		}
	}
}

// counts reports that a key counts for a grant.
func (k *nodeKeys) counts(key int, g *grant) bool {
	if k.auxiliary == nil || !k.auxiliary[key] {
		return true
	}
	list := k.shared[g.client]
	n := sort.SearchInts(list, g.call+1)
	return n == len(list) || list[n] >= g.lastEvent(len(k.v.h.Events))
}

// nodeNames are the names of the nodes, sorted.
func (k *nodeKeys) nodeNames() []string { return slices.Sorted(maps.Keys(k.nodes)) }

// key is what is known of the key on a node that an event is about, nil where it is about none of the lock.
func (k *nodeKeys) key(e *history.Event) *keyOnNode {
	n, ours := k.nodes[e.Process]
	key, ofLock := k.keys[e.Value.Key]
	if !ours || !ofLock {
		return nil
	}
	return &k.of[n][key]
}

// fault is the one that begins in an event.
func (k *nodeKeys) fault(event int) *fault { return &k.v.faults[k.faults[event]] }

// see takes in an event, and reports whether it may have changed what is known.
func (k *nodeKeys) see(i int) bool {
	e := k.v.event(i)
	if e.F == history.FaultBegin {
		f := k.fault(i)
		for name, n := range k.nodes {
			if !k.down[n] && f.mayForget(name) {
				k.all(n, keyOnNode{unsure: true})
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
			k.all(n, keyOnNode{unsure: k.returns[i] != keepsNothing})
		}
		return true
	case history.NodeUp:
		k.down[n] = false
		return false
	case history.NodePromoted, history.NodeDemoted:
		k.all(n, keyOnNode{unsure: true})
		return true
	case history.KeySet, history.KeyExtended, history.KeyDeleted, history.KeyExpired, history.KeyUnclear:
	default:
		return false
	}
	now := k.key(e)
	if now == nil {
		return false
	}
	switch e.F {
	case history.KeySet:
		client, set := k.v.keyOf(i)
		*now = keyOnNode{unsure: client == "", client: client, owner: e.Value.Owner, set: set}
	case history.KeyExtended:
		if now.client == "" || now.owner != e.Value.Owner {
			*now = keyOnNode{unsure: true}
		}
	case history.KeyDeleted, history.KeyExpired:
		*now = keyOnNode{}
	case history.KeyUnclear:
		*now = keyOnNode{unsure: true}
	}
	return true
}

// keepsNothing is what a node-up tells of a node that found nothing on its disk.
const keepsNothing = "nothing"

func (k *nodeKeys) all(node int, now keyOnNode) {
	for i := range k.of[node] {
		k.of[node][i] = now
	}
}

// have counts the nodes that surely have a key of a grant, and those that may have one.
func (k *nodeKeys) have(g *grant) (surely, maybe int) {
	for _, keys := range k.of {
		sure, may := false, false
		for i := range keys {
			if !k.counts(i, g) {
				continue
			}
			its := keys[i].client == g.client && keys[i].set > g.call
			sure, may = sure || its, may || its || keys[i].unsure
		}
		if sure {
			surely++
		}
		if may {
			maybe++
		}
	}
	return surely, maybe
}

// back counts the nodes that would have a key of a grant if its client set some keys again.
func (k *nodeKeys) back(g *grant, again map[nodeKey]bool) (nodes int) {
	for name, n := range k.nodes {
		for key, i := range k.keys {
			now := k.of[n][i]
			free := !now.unsure && now.client == "" && again[nodeKey{name, key}]
			if k.counts(i, g) && (free || now.client == g.client && now.set > g.call) {
				nodes++
				break
			}
		}
	}
	return nodes
}

// presence is what is known of a grant's lock on the nodes, event after event.
type presence struct {
	// there: since the answer, a quorum of nodes has surely had the lock.
	there bool
	// gone is the event since which its lock is gone, -1 while it may be there.
	gone int
}

// absent is the presence before the answer.
var absent = presence{gone: -1}

// see takes in what is known after an event: that a quorum surely has the lock, or may have it.
func (p *presence) see(surely, maybe bool, event int) {
	switch {
	case surely:
		p.there, p.gone = true, -1
	case maybe:
		p.gone = -1
	case p.there && p.gone < 0:
		p.gone = event
	}
}

// quorum is how many nodes have to hold the lock.
func (v *view) quorum() int {
	if v.h.Header.Quorum > 0 {
		return v.h.Header.Quorum
	}
	return len(v.h.Header.Nodes)/2 + 1
}

// severalLocks reports that clients asked for more than one lock: whose keys are which is
// not known then.
func (v *view) severalLocks() bool {
	first := slices.IndexFunc(v.ops, func(o history.Op) bool { return o.F == history.Acquire })
	for i := range v.ops {
		if v.ops[i].F == history.Acquire && v.key(i).lock != v.key(first).lock {
			return true
		}
	}
	return false
}

// stopped is for how long in a stretch of the run a client stood still.
func (v *view) stopped(client string, from, to time.Duration) (sum time.Duration) {
	last := from
	for i := range v.faults { // in the order of their begins
		f := &v.faults[i]
		if !f.strikesClient(history.Stops, client) {
			continue
		}
		begin, end := max(v.at(f.begin), last), min(v.at(f.end), to)
		if begin < end {
			sum += end - begin
			last = end
		}
	}
	return sum
}
