package explore

import (
	"math/bits"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// Waypoints are states by which many ways lead to a violation, in words.
func Waypoints() []string {
	return []string{answerLost: "a node set a key for a client that did not learn it",
		endsWhileHeld: "a key expired while its client held the lock",
		lateRelease:   "a client was granted the lock while the release of another was on its way",
		twoPrimaries:  "a node that was no primary any more had a key set"}
}

// Numbers of waypoints.
const (
	answerLost = iota
	endsWhileHeld
	lateRelease
	twoPrimaries
)

// waypointTracker follows a run from waypoint to waypoint.
type waypointTracker struct {
	// set are the nodes on which each client has set a key since it asked for the lock, a bit for each;
	// releasing are the clients whose release is not answered.
	set       []uint64
	releasing uint64
	// old are the nodes that have been a primary and are none any more.
	old, primary uint64
	// grants is how often the lock was granted.
	grants uint64
	// quorum is how many nodes must grant the lock; 0: the history does not say.
	quorum int
}

func newWaypointTracker(clients, quorum int) *waypointTracker {
	return &waypointTracker{set: make([]uint64, clients), quorum: quorum}
}

// noteWaypoints takes note of the waypoints that the run comes by with an event, and of the state of the lock at which
// each fault strikes: single messages, above all. What happens near a waypoint is told more finely, so that schedules
// that lead there are kept, and changed further.
func (s *observer) noteWaypoints(e *history.Event) {
	w := s.tracker
	switch e.F {
	case history.FaultBegin:
		kind := uint64(fnvOffset)
		for _, b := range []byte(e.Value.Fault()) {
			kind = mix(kind, uint64(b))
		}
		s.features = append(s.features, mix(mix(3, s.lock(e.Time)), kind))
	case history.NodePromoted:
		w.old, w.primary = w.old|w.primary|1<<1, bit(s.nodes, e.Process) // the first node is the first primary
		w.old &^= w.primary
	case history.KeySet:
		if by := slices.Index(s.clients, e.Value.Client); by >= 0 {
			w.set[by] |= bit(s.nodes, e.Process)
		}
		if w.old&bit(s.nodes, e.Process) != 0 {
			s.addWaypoint(twoPrimaries, e)
		}
	case history.KeyExpired:
		if i := slices.Index(s.nodes, e.Process); i >= 0 && s.holder[i] > 0 && s.believing>>(s.holder[i]-1)&1 != 0 {
			s.addWaypoint(endsWhileHeld, e)
		}
	case history.Acquire:
		if c := slices.Index(s.clients, e.Process); c >= 0 {
			s.noteAcquire(e, c)
		}
	case history.Release:
		if c := slices.Index(s.clients, e.Process); c >= 0 {
			s.noteRelease(e, c)
		}
	}
}

// noteAcquire follows what a client asks for, and gets.
func (s *observer) noteAcquire(e *history.Event, c int) {
	w := s.tracker
	switch {
	case e.Type == history.Invoke:
		w.set[c] = 0
	case e.Type == history.OK:
		w.grants++
		if told := e.Value.Nodes(); len(told) > 0 && w.set[c]&^bitsOf(s.nodes, told) != 0 {
			s.addWaypoint(answerLost, e)
		}
		if w.releasing&^(1<<c) != 0 {
			s.addWaypoint(lateRelease, e)
		}
	case e.Type == history.Fail && bits.OnesCount64(w.set[c]) < w.quorum: // it gave up with too few nodes
	case w.set[c] != 0:
		s.addWaypoint(answerLost, e)
	}
}

// noteRelease follows whose release is not answered.
func (s *observer) noteRelease(e *history.Event, c int) {
	if e.Type == history.Invoke {
		s.tracker.releasing |= 1 << c
	} else if e.Type != history.Info { // unknown: it may still be on its way
		s.tracker.releasing &^= 1 << c
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
	at := mix(mix(uint64(4+n), s.lock(e.Time)), s.tracker.grants)
	s.features = append(s.features, at, mix(at, s.faults))
}
