package explore

import (
	"math/bits"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// trace is what a run went through, told abstractly.
type trace struct {
	// behaviour is a hash of the whole: two runs that differ in times and numbers
	// alone behave alike.
	behaviour uint64
	// features are hashes of its parts: each step from one abstract state of the
	// lock to the next, and how narrowly the lock's promises were kept.
	features []uint64
	// waypoints are those that the run came by, a bit for each.
	waypoints uint
	// began are the numbers of the faults that took effect, as often as they did.
	began []int
}

// observer follows a run from event to event.
type observer struct {
	clients, nodes []string
	// believing are the clients that believe to hold the lock, a bit for each;
	// writing is a hash of the writes so far, faults of the faults so far.
	believing, writing, down, faults uint64
	// holder says whose key each node has: the client's number from 1, or 0.
	holder []int
	// until is when each client's latest promise ends.
	until []time.Duration
	// ended is when the latest promise of each client ended for good.
	ended []time.Duration
	// tracker looks for waypoints. steers: those that are to steer the search are features.
	tracker *waypointTracker
	steers  bool
	trace
}

// observe tells a run. Where waypoints steer the search, they are among its features.
func observe(h *history.History, reuse []uint64, steers bool) trace {
	n := len(h.Header.Clients)
	s := observer{clients: h.Header.Clients, nodes: h.Header.Nodes, holder: make([]int, len(h.Header.Nodes)),
		until: make([]time.Duration, n), ended: make([]time.Duration, n), tracker: newWaypointTracker(&h.Header), steers: steers}
	s.features = reuse[:0]
	hash, lastWhole, lastLock := uint64(fnvOffset), uint64(0), uint64(0)
	for i := range h.Events {
		s.noteWaypoints(&h.Events[i])
		if !s.see(&h.Events[i]) {
			continue
		}
		lock := s.lock(h.Events[i].Time)
		whole := mix(mix(mix(mix(lock, s.believing), s.writing), s.down), s.faults)
		if whole != lastWhole {
			hash = mix(hash, whole)
			lastWhole = whole
		}
		if lock != lastLock {
			s.features = append(s.features, lock, mix(lastLock, lock))
			lastLock = lock
		}
	}
	s.behaviour = hash
	return s.trace
}

// see takes note of an event; false: it does not concern the state.
func (s *observer) see(e *history.Event) bool {
	switch e.F {
	case history.Acquire:
		if e.Type == history.OK {
			s.granted(e)
			return true
		}
		return false
	case history.Release, history.Forget:
		if c := slices.Index(s.clients, e.Process); c >= 0 && e.Type == history.Invoke {
			s.believing &^= 1 << c
			s.ended[c] = min(s.until[c], e.Time)
		}
	case history.Effect:
		s.effect(e)
	case history.KeySet:
		if i := slices.Index(s.nodes, e.Process); i >= 0 {
			s.holder[i] = slices.Index(s.clients, e.Value.Client) + 1
		}
	case history.KeyDeleted, history.KeyExpired:
		if i := slices.Index(s.nodes, e.Process); i >= 0 {
			s.holder[i] = 0
		}
	case history.NodeDown:
		s.down |= bit(s.nodes, e.Process)
	case history.NodeUp:
		s.down &^= bit(s.nodes, e.Process)
	case history.FaultBegin:
		s.began = append(s.began, e.Value.ID())
		s.faults = mix(s.faults, uint64(len(e.Value.Fault()))<<8|uint64(e.Value.ID()))
	default:
		return false
	}
	return true
}

// granted takes note of a grant, and of how soon after the end of another
// client's promise it came.
func (s *observer) granted(e *history.Event) {
	c := slices.Index(s.clients, e.Process)
	if c < 0 {
		return
	}
	for other := range s.clients {
		if other != c && s.ended[other] > 0 {
			s.features = append(s.features, mix(1, nearness(e.Time-s.ended[other])))
		}
	}
	s.believing |= 1 << c
	s.until[c] = time.Duration(e.Value.ValidUntil().V())
	s.ended[c] = s.until[c]
}

// effect takes note of a write that arrived, and of how long its client's promise
// still lasted.
func (s *observer) effect(e *history.Event) {
	if e.Value.Op() != history.Write {
		return
	}
	s.writing = mix(s.writing, bit(s.clients, e.Value.Client))
	if e.Value.Accepted().V {
		s.writing = mix(s.writing, 1)
	}
	if c := slices.Index(s.clients, e.Value.Client); c >= 0 && s.until[c] > 0 {
		s.features = append(s.features, mix(2, nearness(s.until[c]-time.Duration(e.Value.At().V()))))
	}
}

// nearness is the power of two of a time, so that halving what is left is
// something new; negative times are one.
func nearness(d time.Duration) uint64 {
	if d <= 0 {
		return 0
	}
	return uint64(bits.Len64(uint64(d / time.Microsecond)))
}

func bit(list []string, name string) uint64 { return 1 << (slices.Index(list, name) + 1) }

// lock is a hash of the lock's abstract state: how many clients are where in
// their belief, whether its promise is over, and whether they hold no key, some,
// or those of a majority. Which client it is does not matter.
func (s *observer) lock(now time.Duration) uint64 {
	var clients uint64
	for c := range s.clients {
		count := 0
		for _, holder := range s.holder {
			if holder == c+1 {
				count++
			}
		}
		one := 0
		if count > len(s.holder)/2 {
			one = 2
		} else if count > 0 {
			one = 1
		}
		if s.believing>>c&1 != 0 {
			one += 3
			if s.until[c] > 0 && s.until[c] < now {
				one += 3
			}
		}
		clients += 1 << (6 * one) // how many there are of each
	}
	return mix(fnvOffset, clients)
}

const fnvOffset = 14695981039346656037

// mix adds a word to a hash so that all bits depend on all.
func mix(hash, word uint64) uint64 {
	hash = (hash ^ word) * 0x9e3779b97f4a7c15
	return hash ^ hash>>29
}
