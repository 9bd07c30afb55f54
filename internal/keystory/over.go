package keystory

import (
	"cmp"
	"maps"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Over is what is kept of locks that are followed no longer.
type Over struct {
	// Locks is how often one gave way to another: a lock that comes again, and gives way again, counts again.
	Locks  int
	Totals Totals
}

// lookAgain is after how many lines it is looked for room again, where there was none.
const lookAgain = 1000

// makeRoom lets the locks that were over for longest give way, half of those that may: nobody holds them, that is known, and nothing was
// found. false: there is none.
func (s *Story) makeRoom() bool {
	if s.Lines < s.fullUntil {
		return false
	}
	var list []*Lock
	for _, k := range s.order {
		if k.act == nil && k.fromLines {
			k.overdue(command.At(s.Last.At.Milliseconds()))
		}
		if k.isOver() {
			list = append(list, k)
		}
	}
	if len(list) == 0 {
		s.fullUntil = s.Lines + lookAgain
		return false
	}
	slices.SortStableFunc(list, func(a, b *Lock) int { return cmp.Compare(a.latest().At, b.latest().At) })
	gone := make(map[*Lock]bool)
	for _, k := range list[:(len(list)+1)/2] {
		gone[k] = true
		delete(s.locks, id{k.DB, k.Key})
		if !k.NoLock() {
			s.Over.Locks++
			s.Over.Totals.Add(&k.Totals)
		}
		if s.o.Dropped != nil {
			s.o.Dropped(k)
		}
	}
	s.order = slices.DeleteFunc(s.order, func(k *Lock) bool { return gone[k] })
	maps.DeleteFunc(s.values, func(_ string, h *Hold) bool { return gone[h.lock] })
	maps.DeleteFunc(s.sources, func(_ string, h *Hold) bool { return gone[h.lock] })
	maps.DeleteFunc(s.others, func(_ string, k *Lock) bool { return gone[k] })
	return true
}

// isOver reports that it is known that nobody holds the lock, and that nothing was found.
func (k *Lock) isOver() bool {
	return k.hold == nil && k.act == nil && k.log.Replay.Holds == command.Absent && len(k.Counts) == 0
}

// latest is when something befell it.
func (k *Lock) latest() Time {
	if n := len(k.Moments); n > 0 {
		return k.Moments[n-1].At
	}
	return Time{}
}

// Add adds what befell another lock.
func (t *Totals) Add(o *Totals) {
	t.Holds += o.Holds
	t.Found += o.Found
	t.Released += o.Released
	t.RanOut += o.RanOut
	t.Removed += o.Removed
	t.Ended += o.Ended
	t.Unknown += o.Unknown
	t.Renewals += o.Renewals
	if o.LeastLeft > 0 && (t.LeastLeft == 0 || o.LeastLeft < t.LeastLeft) {
		t.LeastLeft, t.TTL = o.LeastLeft, o.TTL
	}
	t.Refused += o.Refused
	t.MostAsked = max(t.MostAsked, o.MostAsked)
	t.LongestWait = max(t.LongestWait, o.LongestWait)
	t.Waits += o.Waits
	t.Waited += o.Waited
	t.Held += o.Held
	t.LongestHeld = max(t.LongestHeld, o.LongestHeld)
}
