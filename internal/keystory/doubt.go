package keystory

import (
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// mostCandidates bounds how many may hold a lock while nobody knows.
const mostCandidates = 64

// overdue ends what had run out before a command came, and narrows down who may hold the lock.
func (k *Lock) overdue(now command.Span) {
	is := k.log.Replay.Key
	if is.Holds == command.Unclear {
		k.narrow(now)
		return
	}
	if ranOut(is, now) && !is.OfField {
		k.log.Replay.Key = command.Key{}
		k.ended(RanOut, endOf(is), "")
	}
}

func ranOut(is command.Key, now command.Span) bool {
	return is.Holds != command.Absent && is.Expires != (command.Span{}) && is.Expires.To < now.From
}

// endOf is when a key runs out.
func endOf(k command.Key) Time { return Time{At: time.Duration(k.Expires.To) * time.Millisecond} }

// narrow drops candidates whose time was over. If all that is left is one, it is known who holds the lock.
func (k *Lock) narrow(now command.Span) {
	var left []candidate
	for _, c := range k.candidates {
		if ranOut(c.key, now) {
			c.key, c.hold = command.Key{}, nil
		}
		if !slices.ContainsFunc(left, func(o candidate) bool { return o.key.Equal(c.key) }) {
			left = append(left, c)
		}
	}
	if k.candidates = left; k.complete && len(left) == 1 {
		k.resolve(left[0], Time{At: time.Duration(now.To) * time.Millisecond}, "")
	}
}

// doubt takes in a command of which nobody knows what it did.
func (k *Lock) doubt(a *act, before command.Key, change command.Change, done command.Executed) {
	a.unclear = true
	r := &k.log.Replay
	is := r.Key
	r.Key = command.Key{Holds: command.Unclear}
	if before.Holds != command.Unclear {
		k.Totals.Unknown++
		k.log.Unclear = true
		k.candidates, k.complete, k.doubted = nil, change.Either != nil, k.hold
		for _, e := range change.Either {
			c := candidate{key: e.After, at: a.at, source: a.source, nx: a.wouldNX}
			if e.Did == command.Kept || e.Did == command.Extended {
				c.hold, c.at = k.hold, Time{}
			}
			k.candidates = append(k.candidates, c)
		}
		if k.hold = nil; change.Either != nil {
			k.tell(a.at, "%s comes at the end of the TTL, so nobody knows whether before it or after it", a.name())
		} else {
			k.tell(a.at, "%s: nobody knows what it leaves of the lock", a.name())
		}
	} else {
		k.follow(a, done)
	}
	if change.Lasting {
		k.candidates, k.complete = nil, false
	}
	if r.Key = is; k.story.o.Doubted != nil {
		k.story.o.Doubted(k)
	}
}

// follow takes a command into what may be. A key of which nothing is known may be one that the command sets.
func (k *Lock) follow(a *act, done command.Executed) {
	var next []candidate
	for _, c := range k.candidates {
		o := k.log.Replay.Outcomes(done, c.key)[0]
		switch {
		case o.After.Holds == command.Unclear:
			k.complete = false
			continue
		case o.Did == command.Wrote:
			c = candidate{key: o.After, at: a.at, source: a.source, nx: a.wouldNX}
		case o.Did == command.Extended:
			c.key = o.After
		case o.Did == command.Deleted:
			c = candidate{}
		}
		next = append(next, c)
	}
	known := slices.ContainsFunc(next, func(c candidate) bool { return sameOwner(c.key, a.would) })
	if !k.complete && a.would.Holds != command.Absent && !known {
		next = append(next, candidate{key: a.would, at: a.at, source: a.source, nx: a.wouldNX})
	}
	if len(next) > mostCandidates {
		next, k.complete = next[len(next)-mostCandidates:], false
	}
	k.candidates = next
}

func sameOwner(a, b command.Key) bool { a.Expires = b.Expires; return a.Equal(b) }

// settleBy ends the doubt where a step did what only the holder's does: it read the key, names an owner who may have it, and went on.
func (k *Lock) settleBy(a *act) {
	for _, c := range k.candidates {
		if c.key.Holds != command.Absent && a.names(valuesOf(c.key)) {
			is := k.log.Replay.Key
			k.resolve(c, a.at, "as its own command tells")
			if a.open != nil {
				a.open.Before, k.log.Replay.Key = c.key, is
			}
			return
		}
	}
}

// resolve ends the doubt: a candidate it was.
func (k *Lock) resolve(c candidate, now Time, why string) {
	before := k.doubted
	k.candidates, k.complete, k.doubted, k.forgotten = nil, false, nil, false
	k.log.Replay.Key, k.log.Unclear = c.key, false
	if before != nil && before != c.hold {
		k.hold = before
		how, end := RanOut, before.expires
		if before.expires == (Time{}) || before.expires.At > now.At {
			how = Unknown
		}
		if end.At > now.At {
			end = now
		}
		k.ended(how, end, "")
	}
	switch {
	case c.hold != nil:
		k.hold = c.hold
	case c.key.Holds != command.Absent:
		k.begins(c.key, c.at, c.source, c.nx, why)
	}
}

// mark says that the data were replaced by others. known: those that are told next to be there are all.
func (k *Lock) mark(known bool) {
	if known {
		if k.log.Replay.Holds == command.Unclear {
			k.log.Replay.Key, k.log.Unclear = command.Key{}, false
		}
		return
	}
	k.forget("the file does not tell what was done here")
}

// Forget says that commands were not seen: nobody knows any more who holds a lock.
func (s *Story) Forget(why string) {
	s.Settle()
	s.absent = false
	for _, k := range s.order {
		k.forget(why)
	}
}

// forget says that nobody knows any more who holds the lock.
func (k *Lock) forget(why string) {
	if k.log.Replay.Holds == command.Unclear {
		return
	}
	k.Totals.Unknown++
	k.candidates, k.complete, k.doubted, k.hold, k.forgotten = nil, false, k.hold, nil, true
	k.log.Replay.Key, k.log.Unclear = command.Key{Holds: command.Unclear}, true
	k.tell(k.story.Last, "from here on nobody knows who holds it: %s", why)
	if k.story.o.Doubted != nil {
		k.story.o.Doubted(k)
	}
}

// Unclear reports that nobody knows what the key holds.
func (k *Lock) Unclear() bool { return k.log.Replay.Holds == command.Unclear }

// Held reports that it is known that somebody holds the lock.
func (k *Lock) Held() bool { return k.hold != nil }

// Found takes in what the server says that a key holds. evicted: it has evicted keys since it was asked last. missed: commands may have
// been carried out since that were not seen.
func (k *Lock) Found(is command.Key, at Time, evicted, missed bool) {
	k.finish()
	now := command.At(at.At.Milliseconds())
	k.overdue(now)
	if k.Unclear() {
		k.foundOf(is, at, missed)
		return
	}
	have := k.log.Replay.Key
	if have.Holds == command.Absent && is.Holds == command.Absent || sameOwner(have, is) || is.Holds == command.Unclear {
		if is.Holds != command.Unclear && have.Expires != (command.Span{}) && is.Expires != (command.Span{}) {
			k.log.Replay.Expires = is.Expires
		}
		return
	}
	_, perhaps := lifeOf(have, now)
	switch {
	case k.hold == nil || perhaps && is.Holds == command.Absent:
	case evicted && is.Holds == command.Absent:
		k.find(EvictedKey, false, at, "the server evicted the key of %s: it needed the memory", k.hold.Owner)
		k.ended(Evicted, at, "")
	default:
		k.find(VanishedKey, missed || k.story.o.Replica, at, "the key of %s is gone, or another's, "+
			"and no command that was seen has done it", k.hold.Owner)
		k.ended(Vanished, at, "")
	}
	if k.hold != nil {
		k.ended(RanOut, Time{At: min(endOf(have).At, at.At)}, "")
	}
	if k.log.Replay.Key = is; is.Holds != command.Absent {
		k.begins(is, Time{}, "", false, "as the server says")
	}
}

// lifeOf says whether a key has run out: surely, or perhaps.
func lifeOf(k command.Key, at command.Span) (over, perhaps bool) {
	if k.Expires == (command.Span{}) {
		return false, false
	}
	return at.From > k.Expires.To, at.To+near > k.Expires.From
}

// near is how many ms may lie between what a server says of a key's end and when that is.
const near = 5

// foundOf ends a doubt by what the server says.
func (k *Lock) foundOf(is command.Key, at Time, missed bool) {
	for _, c := range k.candidates {
		if c.key.Holds != command.Absent && sameOwner(c.key, is) {
			c.key = is
			k.resolve(c, at, "")
			return
		}
	}
	if is.Holds == command.Unclear {
		return
	}
	before := k.doubted
	if before != nil && missed && is.Holds == command.Absent && before.expires.At > at.At+near*time.Millisecond {
		k.hold, k.doubted = before, nil
		k.find(VanishedKey, true, at, "the key of %s is gone %s before its end, and what was done meanwhile was not seen: "+
			"was it released, or lost with the connection?", before.Owner, durationText(before.expires.At-at.At))
		k.ended(Unknown, at, "")
	}
	k.resolve(candidate{key: is}, at, "as the server says")
}
