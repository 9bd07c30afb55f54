package checker

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// contendedAttempts counts the attempts at a lock during which another client had it, for more than one
// instant: had they been granted then, there would have been two holders. The holdings are sorted by lock and beginning.
func (j *judge) contendedAttempts(holdings []facts.Holding) (attempts int) {
	latest := make([]time.Duration, len(holdings)) // the latest end of each holding and those of its lock before it
	locks := make(map[string][2]int)               // from which holding to which each lock's are
	for i := range holdings {
		lock := j.Grants[holdings[i].Grant].Lock
		at, some := locks[lock]
		if latest[i] = holdings[i].To; some {
			latest[i] = max(latest[i], latest[i-1])
		} else {
			at[0] = i
		}
		locks[lock] = [2]int{at[0], i + 1}
	}
	for client, acquires := range j.Attempts {
		for n, op := range acquires {
			at := locks[j.HolderOf(op).Lock]
			asked, until := j.At(j.Ops[op].Call), j.triedUntil(acquires, n)
			first := at[0]
			last := first + sort.Search(at[1]-first, func(i int) bool { return holdings[first+i].From >= until }) - 1
			for i := last; i >= first && latest[i] > asked; i-- {
				if h := &holdings[i]; j.Grants[h.Grant].Client != client && max(asked, h.From) < min(until, h.To) &&
					j.surelyOverlap(client, j.Grants[h.Grant].Client, asked, until, h.From, h.To) {
					attempts++
					break
				}
			}
		}
	}
	return attempts
}

// triedUntil is when the i-th of a client's attempts ended: with its answer, or else with the client's next attempt, or its end.
func (j *judge) triedUntil(acquires []int, i int) time.Duration {
	until := j.AskedUntil(acquires, i)
	if o := &j.Ops[acquires[i]]; o.Return < 0 {
		until = min(until, j.At(j.KilledBetween(o.Process, o.Call, -1)))
	}
	return until
}

// visit is the time of a section, from when its client asked for the lock to its last answer.
type visit struct {
	client   int32
	from, to time.Duration
	// judged: it was completed, and says what it found.
	judged bool
}

func (j *judge) visitOf(s *facts.Section, client int32) visit {
	x, first := visit{client: client, from: facts.Forever, to: math.MinInt64}, len(j.History.Events)
	for _, list := range [...][]int{s.Reads, s.Writes} {
		for _, op := range list {
			o := &j.Ops[op]
			first, x.to = min(first, o.Call), max(x.to, j.At(o.Call))
			if o.Type != history.Info {
				x.to = max(x.to, j.At(o.Return))
			} else if o.F != history.Read {
				x.to = facts.Forever // it may take effect at any time
			}
		}
	}
	x.from = j.At(first)
	for _, lock := range j.LocksOf(s.Client) {
		g := j.LatestGrant(s.Client, lock, first)
		if g == nil || g.End >= 0 && g.End < first {
			continue
		}
		for g.Outer >= 0 {
			g = &j.Grants[g.Outer]
		}
		x.from = min(x.from, j.At(g.Call))
	}
	return x
}

// countMeetings counts the judged visits that share more than one instant with one of another client.
func countMeetings(list []visit) (n int) {
	list = slices.DeleteFunc(list, func(x visit) bool { return x.from >= x.to })
	slices.SortFunc(list, func(a, b visit) int { return cmp.Compare(a.from, b.from) })
	next := make([]int, len(list)) // where the next visit of another client is
	for i := len(list) - 1; i >= 0; i-- {
		if next[i] = i + 1; i+1 < len(list) && list[i+1].client == list[i].client {
			next[i] = next[i+1]
		}
	}
	// last is the visit so far that ends last, other that of the other clients.
	last, other := visit{client: -1}, visit{client: -1}
	for i, x := range list {
		before := last
		if last.client == x.client {
			before = other
		}
		if x.judged && (before.client >= 0 && before.to > x.from || next[i] < len(list) && list[next[i]].from < x.to) {
			n++
		}
		switch {
		case x.client == last.client:
			last.to = max(last.to, x.to)
		case last.client < 0 || x.to > last.to:
			last, other = x, last
		case other.client < 0 || x.to > other.to:
			other = x
		}
	}
	return n
}
