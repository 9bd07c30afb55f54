package explore

import (
	"math/bits"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// waypoint is a state by which ways lead to a violation.
type waypoint struct {
	words string
	// needs is what must be so for a run to come by it.
	needs need
}

// need is what a setup can have, a bit for each.
type need uint8

const (
	// severalClients, severalNodes: two or more, of which clients ask each; replicas: a node can become the primary.
	severalClients need = 1 << iota
	severalNodes
	replicas
	// keys: the nodes know who has the lock, who is one client at a time.
	keys
	// prolongs: the lock renews itself, or its clients extend it; extends: the latter alone, or the lock says when it renews.
	prolongs
	extends
	// robs: faults are drawn by which nodes lose keys. A correct lock never deletes the key of a client that holds it.
	robs
)

var waypoints = [...]waypoint{
	answerLost:      {"a node set a key for a client that did not learn it", keys},
	endsWhileHeld:   {"a key expired while its client held the lock", keys},
	lateRelease:     {"a client was granted the lock while the release of another was on its way", severalClients},
	twoPrimaries:    {"a node that was no primary any more had a key set", keys | replicas},
	contended:       {"two clients asked for the lock at once", severalClients},
	gaveUp:          {"a client asked for the lock and did not get it", 0},
	overtook:        {"a client was granted the lock while another that asked for it was paused or dead", severalClients},
	stoppedHolding:  {"a client was paused or killed while it held the lock", 0},
	renewedReleased: {"a node renewed a key after its client had begun to release the lock", keys | prolongs},
	expiredRenewing: {"a key expired while its client extended the lock", keys | extends},
	learnedLoss:     {"a client learned that it had lost the lock", prolongs},
	keyTaken:        {"a node lost a key while its client held the lock, and the key had not expired", keys | robs},
	restartedHeld:   {"a node came back from a restart while a client held the lock", keys},
	promotedHeld:    {"a node became the primary while a client held the lock", replicas},
	grantedByPart:   {"a client was granted the lock by a part of the nodes alone", keys | severalNodes},
	split:           {"the nodes had keys of two clients at once", keys | severalNodes | severalClients},
	releaseLeft:     {"a client had released the lock and a node still had its key", keys},
}

// Waypoints are all of these states, in words.
func Waypoints() (list []string) {
	for _, w := range waypoints {
		list = append(list, w.words)
	}
	return list
}

// Waypoints are those states that runs of the search can come by.
func (s *Search) Waypoints() (list []string) {
	setup, err := s.setup()
	if err != nil {
		return Waypoints() // then nothing was searched
	}
	has := s.has(setup)
	for _, w := range waypoints {
		if has&w.needs == w.needs {
			list = append(list, w.words)
		}
	}
	return list
}

// has is what the setup has of what waypoints need.
func (s *Search) has(setup *scenario.Setup) (has need) {
	ready := s.Ready
	switch {
	case ready == nil && setup.Lock.Program == nil:
		ours := scenario.Describe(setup.Lock, "")
		ready = &ours
	case ready == nil: // nobody has asked the program: the shards of a search are put together
		ready = &program.Ready{}
		if slices.Contains(s.Properties, checker.StaysHeld) {
			ready.Can = []program.Ability{program.Renews}
		}
	}
	drawn := s.KindsDrawn()
	byHand := setup.Workload.Extend > 0 || ready.Has(program.Extends) && len(s.uses(setup)) > 0
	for bit, so := range map[need]bool{
		severalClients: setup.Workload.Clients > 1,
		severalNodes:   len(setup.Cast().Endpoints) > 1 && !setup.Nodes.Replicated(),
		replicas:       setup.Nodes.Replicated(),
		keys: !ready.Elsewhere() && !setup.Shares() && ready.Class != program.Session &&
			(setup.Lock.Program != nil || ready.Class != program.Other),
		prolongs: byHand || ready.Has(program.Renews),
		robs:     slices.Contains(drawn, "evict") || slices.Contains(drawn, "flush"),
		extends:  byHand || ready.Has(program.Renews) && setup.Lock.Program == nil,
	} {
		if so {
			has |= bit
		}
	}
	return has
}

// Numbers of waypoints.
const (
	answerLost = iota
	endsWhileHeld
	lateRelease
	twoPrimaries
	contended
	gaveUp
	overtook
	stoppedHolding
	renewedReleased
	expiredRenewing
	learnedLoss
	keyTaken
	restartedHeld
	promotedHeld
	grantedByPart
	split
	releaseLeft
)

// steering are the waypoints that schedules are kept for, where waypoints steer the search.
const steering = 1<<answerLost | 1<<endsWhileHeld | 1<<lateRelease | 1<<twoPrimaries

// waypointTracker follows a run from waypoint to waypoint.
type waypointTracker struct {
	// set are the nodes on which each client has set a key since it asked for the lock, a bit for each. Of clients there is a bit for each
	// that asks for the lock; whose release is not answered; that has begun to release it, since it asked; that extends it; that stands still.
	set                                             []uint64
	asking, releasing, released, extending, stopped uint64
	// old are the nodes that have been a primary and are none any more.
	old, primary uint64
	// grants is how often the lock was granted.
	grants uint64
	// quorum is how many nodes must grant the lock; 0: the history does not say.
	quorum int
	// owner is the value of each client's key, while it has one. keyOf says whose key each node has, as observer.holder does, also after
	// a restart.
	owner []string
	keyOf []int
	// stops are the faults for which clients stand still.
	stops []stop
}

// stop is a fault for which clients stand still.
type stop struct {
	fault   int
	clients uint64
}

func newWaypointTracker(h *history.Header) *waypointTracker {
	return &waypointTracker{set: make([]uint64, len(h.Clients)), quorum: h.Quorum,
		owner: make([]string, len(h.Clients)), keyOf: make([]int, len(h.Nodes))}
}

// noteWaypoints takes note of the waypoints that the run comes by with an event, and of the state of the lock at which
// each fault strikes: single messages, above all. What happens near a waypoint is told more finely, so that schedules
// that lead there are kept, and changed further.
func (s *observer) noteWaypoints(e *history.Event) {
	switch e.F {
	case history.FaultBegin, history.FaultEnd:
		s.noteFault(e)
	case history.NodePromoted, history.NodeDemoted, history.NodeUp, history.NodeDown:
		s.noteNode(e)
	case history.KeySet, history.KeyExtended, history.KeyDeleted, history.KeyExpired, history.KeyUnclear:
		if i := slices.Index(s.nodes, e.Process); i >= 0 {
			s.noteKey(e, i)
		}
	case history.Acquire, history.Release, history.Extend, history.Lost:
		if c := slices.Index(s.clients, e.Process); c >= 0 {
			s.noteClient(e, c)
		}
	}
}

// noteFault follows which clients stand still.
func (s *observer) noteFault(e *history.Event) {
	w := s.tracker
	if e.F == history.FaultEnd {
		w.stops = slices.DeleteFunc(w.stops, func(by stop) bool { return by.fault == e.Value.ID() })
		w.stopped = 0
		for _, by := range w.stops {
			w.stopped |= by.clients
		}
		return
	}
	if s.steers {
		kind := uint64(fnvOffset)
		for _, b := range []byte(e.Value.Fault()) {
			kind = mix(kind, uint64(b))
		}
		s.features = append(s.features, mix(mix(3, s.lock(e.Time)), kind))
	}
	if e.Value.Impact() == nil {
		return
	}
	for _, effect := range e.Value.Impact().Effects {
		if (effect.Does != history.Stops && effect.Does != history.Kills) || len(effect.Clients) == 0 {
			continue
		}
		clients := bitsOf(s.clients, effect.Clients) >> 1
		w.stops, w.stopped = append(w.stops, stop{e.Value.ID(), clients}), w.stopped|clients
		if s.believing&clients != 0 {
			s.addWaypoint(stoppedHolding, e)
		}
	}
}

// noteNode follows which node is the primary, and which were restarted.
func (s *observer) noteNode(e *history.Event) {
	w := s.tracker
	switch e.F {
	case history.NodePromoted:
		w.old, w.primary = w.old|w.primary|1<<1, bit(s.nodes, e.Process) // the first node is the first primary
		w.old &^= w.primary
		if s.believing != 0 {
			s.addWaypoint(promotedHeld, e)
		}
	case history.NodeDown, history.NodeDemoted:
		if i := slices.Index(s.nodes, e.Process); i >= 0 {
			w.keyOf[i] = 0 // what it still has is found when it comes back
		}
	case history.NodeUp:
		if s.believing != 0 {
			s.addWaypoint(restartedHeld, e)
		}
	}
}

// noteKey follows what becomes of the key of a node.
func (s *observer) noteKey(e *history.Event, node int) {
	w := s.tracker
	by := slices.Index(s.clients, e.Value.Client)
	held := w.keyOf[node] > 0 && s.believing>>(w.keyOf[node]-1)&1 != 0
	switch e.F {
	case history.KeySet:
		s.noteSet(e, node, by)
	case history.KeyExtended:
		if of := w.keyOf[node] - 1; of >= 0 && of == by && w.released>>of&1 != 0 {
			s.addWaypoint(renewedReleased, e)
		}
	case history.KeyDeleted:
		if held && w.keyOf[node] != by+1 {
			s.addWaypoint(keyTaken, e)
		}
		w.keyOf[node] = 0
	case history.KeyExpired:
		if s.holder[node] > 0 && s.believing>>(s.holder[node]-1)&1 != 0 {
			s.addWaypoint(endsWhileHeld, e)
		}
		if of := w.keyOf[node] - 1; of >= 0 && w.extending>>of&1 != 0 {
			s.addWaypoint(expiredRenewing, e)
		}
		w.keyOf[node] = 0
	case history.KeyUnclear:
		w.keyOf[node] = 0
	}
}

// noteSet follows who sets keys. Nobody sets one that was found after a restart: its owner says whose it is.
func (s *observer) noteSet(e *history.Event, node, by int) {
	w := s.tracker
	if by >= 0 {
		w.set[by] |= 1 << (node + 1)
		w.owner[by] = e.Value.Owner
	} else if e.Value.Owner != "" {
		by = slices.Index(w.owner, e.Value.Owner)
	}
	w.keyOf[node] = by + 1
	if w.old&(1<<(node+1)) != 0 {
		s.addWaypoint(twoPrimaries, e)
	}
	if by >= 0 && slices.ContainsFunc(w.keyOf, func(of int) bool { return of > 0 && of != by+1 }) {
		s.addWaypoint(split, e)
	}
}

// noteClient follows what a client does with the lock.
func (s *observer) noteClient(e *history.Event, c int) {
	w := s.tracker
	switch {
	case e.F == history.Acquire:
		s.noteAcquire(e, c)
	case e.F == history.Lost, e.F == history.Extend && e.Type == history.Fail:
		w.extending &^= 1 << c
		s.addWaypoint(learnedLoss, e)
	case e.F == history.Extend && e.Type == history.Invoke:
		w.extending |= 1 << c
	case e.F == history.Extend:
		w.extending &^= 1 << c
	case e.Type == history.Invoke:
		w.releasing, w.released = w.releasing|1<<c, w.released|1<<c
	default:
		if e.Type != history.Info { // unknown: it may still be on its way
			w.releasing &^= 1 << c
		}
		if slices.Contains(w.keyOf, c+1) {
			s.addWaypoint(releaseLeft, e)
		}
	}
}

// noteAcquire follows what a client asks for, and gets.
func (s *observer) noteAcquire(e *history.Event, c int) {
	w := s.tracker
	if e.Type == history.Invoke {
		w.set[c], w.asking, w.released = 0, w.asking|1<<c, w.released&^(1<<c)
		if w.asking&^(1<<c) != 0 {
			s.addWaypoint(contended, e)
		}
		return
	}
	w.asking &^= 1 << c
	if e.Type == history.OK {
		s.noteGrant(e, c)
		return
	}
	if e.Type == history.Fail {
		s.addWaypoint(gaveUp, e)
		if bits.OnesCount64(w.set[c]) < w.quorum { // it gave up with too few nodes
			return
		}
	}
	if w.set[c] != 0 {
		s.addWaypoint(answerLost, e)
	}
}

// noteGrant follows who is granted the lock while another wants it, and by which nodes.
func (s *observer) noteGrant(e *history.Event, c int) {
	w := s.tracker
	w.grants++
	if told := bitsOf(s.nodes, e.Value.Nodes()) &^ 1; told != 0 && w.set[c]&^told != 0 { // the name of a primary is none of a node
		s.addWaypoint(answerLost, e)
	}
	if w.releasing&^(1<<c) != 0 {
		s.addWaypoint(lateRelease, e)
	}
	if w.asking&w.stopped != 0 {
		s.addWaypoint(overtook, e)
	}
	if bits.OnesCount64(w.set[c]) < len(s.nodes) {
		s.addWaypoint(grantedByPart, e)
	}
}

// bitsOf has a bit for each of the names, as bit has it.
func bitsOf(list, names []string) (all uint64) {
	for _, name := range names {
		all |= bit(list, name)
	}
	return all
}

// addWaypoint takes note of a waypoint.
func (s *observer) addWaypoint(n int, e *history.Event) {
	s.waypoints |= 1 << n
	if !s.steers || steering>>n&1 == 0 {
		return
	}
	at := mix(mix(uint64(4+n), s.lock(e.Time)), s.tracker.grants)
	s.features = append(s.features, at, mix(at, s.faults))
}
