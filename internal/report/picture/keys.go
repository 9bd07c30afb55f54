package picture

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

func isKeyEvent(f history.F) bool {
	switch f {
	case history.KeySet, history.KeyExtended, history.KeyDeleted, history.KeyExpired, history.KeyUnclear:
		return true
	}
	return false
}

func isNodeEvent(f history.F) bool {
	switch f {
	case history.NodeDown, history.NodeUp, history.NodePromoted, history.NodeDemoted:
		return true
	}
	return false
}

// keyLanes reads what the nodes kept, and whether anything was observed.
func keyLanes(h *history.History, nodes []string, owners map[string]string, end time.Duration) ([]NodeLane, bool) {
	own := lockKeys(h)
	clocks := clockFaults(h)
	lanes := make([]NodeLane, len(nodes))
	readers := map[string]*keyReader{}
	for i, name := range nodes {
		lanes[i].Name = name
		readers[name] = &keyReader{lane: &lanes[i], owners: owners, clocks: clocks[name]}
	}
	sets := map[string]int{}
	for i := range h.Events {
		if e := &h.Events[i]; e.F == history.KeySet {
			sets[e.Process]++
		}
	}
	for i := range lanes {
		lanes[i].Keys = slices.Grow(lanes[i].Keys, sets[lanes[i].Name])
	}
	seen := false
	for i := range h.Events {
		e := &h.Events[i]
		r := readers[e.Process]
		if r == nil {
			continue
		}
		if isKeyEvent(e.F) && own(e.Value.Key) {
			r.read(i, e)
			seen = true
		} else if isNodeEvent(e.F) {
			r.life(e)
		}
	}
	for _, r := range readers {
		r.finish(end)
	}
	return lanes, seen
}

// lockKeys tells the lock's own keys from others (a token counter lives on the
// same nodes). Where the header names no key, or none of its name was ever
// seen, all count.
func lockKeys(h *history.History) func(string) bool {
	name := h.Header.LockKey
	found := false
	for i := range h.Events {
		found = found || isKeyEvent(h.Events[i].F) && h.Events[i].Value.Key == name
	}
	return func(key string) bool { return name == "" || !found || key == "" || key == name }
}

// clockFaults says from when on a node's clock cannot be trusted.
func clockFaults(h *history.History) map[string]time.Duration {
	from := map[string]time.Duration{}
	for i := range h.Events {
		e := &h.Events[i]
		if e.F != history.FaultBegin || e.Value.Impact() == nil {
			continue
		}
		for _, s := range e.Value.Impact().Effects {
			for _, n := range s.Nodes {
				if _, ok := from[n]; !ok && s.Does == history.BendsClock {
					from[n] = e.Time
				}
			}
		}
	}
	return from
}

// keyReader follows one node's key.
type keyReader struct {
	lane   *NodeLane
	owners map[string]string
	// clocks is when the node's clock was first tampered with; 0 for never.
	clocks time.Duration

	open bool
	now  KeyHold
	// ends is when the key runs out by itself; 0 for never.
	ends time.Duration
	// unclear: nobody knows the key.
	unclear bool
	// down says that the node is dead. lost is the key that it took along and
	// may have brought back: only a later word about it tells.
	down bool
	lost *KeyHold
}

// life follows the node through death and return.
func (r *keyReader) life(e *history.Event) {
	switch e.F {
	case history.NodePromoted:
		r.lane.Promoted = append(r.lane.Promoted, e.Time)
	case history.NodeDown:
		r.clear(e.Time)
		if r.open {
			gone := r.now
			r.close(min(e.Time, r.natural(e.Time)), false)
			r.lost = &gone
		}
		r.down = true
		r.lane.Down = append(r.lane.Down, Span{e.Time, e.Time})
	case history.NodeUp:
		if n := len(r.lane.Down); r.down && n > 0 {
			r.lane.Down[n-1].To = e.Time
		}
		r.down = false
		if r.lost != nil {
			r.lost.From = e.Time
		}
		if e.Value.Detail() == "nothing" {
			r.lost = nil
		}
	}
}

// natural is when the key ends by itself, or never, where that is not known.
func (r *keyReader) natural(never time.Duration) time.Duration {
	if r.ends > 0 && r.trusted() {
		return r.ends
	}
	return never
}

// recall settles what became of a key that its node took along when it died:
// if the node speaks of it again, it had come back with it.
func (r *keyReader) recall(e *history.Event) {
	if r.lost == nil {
		return
	}
	if e.F != history.KeySet && e.F != history.KeyUnclear && (e.Value.Owner == "" || e.Value.Owner == r.lost.Owner) {
		r.open, r.now = true, *r.lost
	}
	r.lost = nil
}

func (r *keyReader) read(index int, e *history.Event) {
	r.recall(e)
	// The key may have run out before this event without anybody saying so.
	if r.open && r.natural(e.Time) < e.Time {
		r.close(r.ends, true)
	}
	r.clear(e.Time)
	switch e.F {
	case history.KeyUnclear:
		r.close(e.Time, false)
		r.unclear = true
		r.lane.Unclear = append(r.lane.Unclear, Span{e.Time, e.Time})
	case history.KeySet:
		if r.open && e.Value.Owner == r.now.Owner {
			r.ends = endOf(e)
			return
		}
		r.close(e.Time, false)
		r.open, r.ends = true, endOf(e)
		r.now = KeyHold{Span: Span{From: e.Time}, Owner: e.Value.Owner, Client: r.owners[e.Value.Owner], Event: index}
	case history.KeyExtended:
		if r.open {
			r.ends = endOf(e)
		}
	case history.KeyDeleted, history.KeyExpired:
		if r.open && (e.Value.Owner == "" || e.Value.Owner == r.now.Owner) {
			r.close(e.Time, e.F == history.KeyExpired)
		}
	}
}

// clear ends a stretch in which nobody knew the key.
func (r *keyReader) clear(at time.Duration) {
	if r.unclear {
		r.lane.Unclear[len(r.lane.Unclear)-1].To = at
	}
	r.unclear = false
}

// trusted: the key's own end can be computed, because the node's clock ran
// like the run's while the key lived.
func (r *keyReader) trusted() bool { return r.clocks == 0 || r.ends <= r.clocks }

func endOf(e *history.Event) time.Duration {
	if !e.Value.TTL().IsSet() {
		return 0
	}
	return e.Time + time.Duration(e.Value.TTL().V())
}

func (r *keyReader) close(at time.Duration, expired bool) {
	if !r.open {
		return
	}
	r.now.To, r.now.Expired, r.open = max(at, r.now.From), expired, false
	r.lane.Keys = append(r.lane.Keys, r.now)
}

func (r *keyReader) finish(end time.Duration) {
	r.clear(end)
	if n := len(r.lane.Down); r.down && n > 0 {
		r.lane.Down[n-1].To = end
	}
	if natural := r.natural(end); r.open && natural < end {
		r.close(natural, true)
		return
	}
	r.close(end, false)
}

// turnsOf numbers the owners in the order in which they got their first key.
func turnsOf(lanes []NodeLane) map[string]int {
	type begin struct {
		owner string
		at    time.Duration
	}
	var begins []begin
	turns := map[string]int{} // at first the places in begins
	for i := range lanes {
		for _, k := range lanes[i].Keys {
			at, ok := turns[k.Owner]
			if !ok {
				at = len(begins)
				turns[k.Owner], begins = at, append(begins, begin{k.Owner, k.From})
			}
			begins[at].at = min(begins[at].at, k.From)
		}
	}
	slices.SortFunc(begins, func(a, b begin) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.owner, b.owner)) })
	for i, b := range begins {
		turns[b.owner] = i
	}
	return turns
}

// replicated: grants name the primary, which is no node's name, or there are several clusters.
func replicated(h *history.History, nodes []string) bool {
	if len(h.Header.Clusters) > 0 {
		return true
	}
	if slices.Contains(nodes, history.PrimaryProcess) {
		return false
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.F == history.NodePromoted || e.F == history.Acquire && slices.Contains(e.Value.Nodes(), history.PrimaryProcess) {
			return true
		}
	}
	return false
}

// led leaves of each node's keys what it had while it was the primary, or took what that sent it.
func led(lanes []NodeLane) []NodeLane {
	out := make([]NodeLane, len(lanes))
	for i := range lanes {
		out[i].Cluster = lanes[i].Cluster
		for _, turn := range slices.Concat(lanes[i].Primary, lanes[i].Takes) {
			for _, k := range lanes[i].Keys {
				if k.From, k.To = max(k.From, turn.From), min(k.To, turn.To); k.From < k.To {
					out[i].Keys = append(out[i].Keys, k)
				}
			}
		}
	}
	return out
}

// merged are the keys of each cluster: what any of its nodes has.
func merged(lanes []NodeLane) (clusters []NodeLane) {
	for i := range lanes {
		at := slices.IndexFunc(clusters, func(c NodeLane) bool { return c.Cluster == lanes[i].Cluster })
		if at < 0 {
			at = len(clusters)
			clusters = append(clusters, NodeLane{Name: lanes[i].Cluster, Cluster: lanes[i].Cluster})
		}
		clusters[at].Keys = append(clusters[at].Keys, lanes[i].Keys...)
	}
	for i := range clusters {
		keys := clusters[i].Keys
		slices.SortFunc(keys, func(a, b KeyHold) int { return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.From, b.From)) })
		once := keys[:0]
		for _, k := range keys {
			if n := len(once); n > 0 && once[n-1].Owner == k.Owner && k.From <= once[n-1].To {
				once[n-1].To = max(once[n-1].To, k.To)
			} else {
				once = append(once, k)
			}
		}
		clusters[i].Keys = once
	}
	return clusters
}

// majority is a stretch in which an owner had at least a majority.
type majority struct {
	Span
	least, most int
}

// edge is a gain or a loss of a node.
type edge struct {
	at   time.Duration
	step int
}

// majorities sweeps over the nodes' keys, owner by owner.
func majorities(lanes []NodeLane, need int) map[string][]majority {
	edges := map[string][]edge{}
	for _, lane := range lanes {
		for _, k := range lane.Keys {
			if k.To > k.From {
				list, some := edges[k.Owner]
				if !some {
					list = make([]edge, 0, 2*len(lanes)) // mostly a key on each
				}
				edges[k.Owner] = append(list, edge{k.From, 1}, edge{k.To, -1})
			}
		}
	}
	found := map[string][]majority{}
	for owner, list := range edges {
		if spans := sweep(list, need); len(spans) > 0 {
			found[owner] = spans
		}
	}
	return found
}

// sweep walks over the gains and losses of one owner.
func sweep(list []edge, need int) []majority {
	// At one instant gains come before losses: intervals are closed.
	slices.SortFunc(list, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.step, a.step)) })
	var found []majority
	have, since := 0, time.Duration(0)
	lasted := map[int]time.Duration{}
	for i, e := range list {
		if i > 0 && have >= need {
			lasted[have] += e.at - list[i-1].at
		}
		before := have
		have += e.step
		if before < need && have >= need {
			since = e.at
			clear(lasted)
		} else if before >= need && have < need && e.at > since {
			m := majority{Span: Span{since, e.at}}
			m.least, m.most = lasting(lasted, m.Length())
			found = append(found, m)
		}
	}
	return found
}

// lasting bounds the number of nodes, leaving out levels that were passed in
// less than a twentieth of the time: keys come and go one after another.
func lasting(lasted map[int]time.Duration, length time.Duration) (least, most int) {
	for level, d := range lasted {
		if d*20 < length {
			continue
		}
		if least == 0 || level < least {
			least = level
		}
		most = max(most, level)
	}
	return least, most
}

func quorumLane(truth map[string][]majority, owners map[string]string) []QuorumHold {
	list := make([]QuorumHold, 0, len(truth))
	for owner, spans := range truth {
		for _, m := range spans {
			list = append(list, QuorumHold{Span: m.Span, Owner: owner, Client: owners[owner], Least: m.least, Most: m.most})
		}
	}
	slices.SortFunc(list, func(a, b QuorumHold) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Owner, b.Owner)) })
	return list
}
