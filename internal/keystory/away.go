package keystory

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Pause says that nobody looks for a while, as was planned: what comes after it says nothing of what was before, so nobody is accused by
// both
// together, and the time between is not counted as held.
func (s *Story) Pause(why string) {
	s.Settle()
	s.absent = false
	for _, k := range s.order {
		k.pause(why)
	}
	clear(s.values)
	clear(s.sources)
	clear(s.others)
	clear(s.watching)
	s.steps.Forget()
}

// Pause says of one lock what Story.Pause says of all.
func (k *Lock) Pause(why string) {
	k.story.Settle()
	k.pause(why)
}

func (k *Lock) pause(why string) {
	now := k.story.Last
	if k.act == nil && k.fromLines {
		k.overdue(command.At(now.At.Milliseconds()))
	}
	if h := k.hold; h != nil {
		k.countHeld(h, now)
		k.tell(now, "%s has it still: %s", h.Owner, why)
		k.paused = h
	}
	for _, h := range k.past {
		h.shared = true // whoever writes with its value may have got the lock anew
	}
	clear(k.past)
	clear(k.tried)
	k.candidates, k.complete, k.doubted, k.hold = nil, false, nil, nil
	k.changed = changed{}
	k.log.Replay.Key, k.log.Unclear = command.Key{Holds: command.Unclear}, true
	if k.story.o.Doubted != nil {
		k.story.o.Doubted(k)
	}
}

// countHeld counts how long somebody had the lock, as far as it was seen.
func (k *Lock) countHeld(h *Hold, now Time) {
	if d, ok := now.since(h.From); ok && d > 0 {
		k.Totals.Held += d
		k.Totals.LongestHeld = max(k.Totals.LongestHeld, d)
	}
}

// Holder is who has a lock.
type Holder struct {
	Lock   *Lock
	Owner  string
	Values []string
	// From is when it got it, and Expires when its TTL runs out; zero: nobody knows, or never.
	From, Expires Time
	// Gone: it had it when commands were seen no longer.
	Gone bool
}

// Holders are those of all locks, as far as they are known: who has one, or had it when commands were seen no longer.
func (s *Story) Holders() (list []Holder) {
	s.Settle()
	for _, k := range s.order {
		h := k.hold
		if h == nil && k.forgotten {
			h = k.doubted
		}
		if h != nil && !k.NoLock() {
			list = append(list, Holder{Lock: k, Owner: h.Owner, Values: h.values, From: h.From, Expires: h.expires, Gone: k.hold == nil})
		}
	}
	return list
}

// SetQuiet says whether nothing is found: what another server does is told where it does it.
func (s *Story) SetQuiet(is bool) { s.quiet = is }

// Follow follows a lock from now on; nil: there are too many.
func (s *Story) Follow(db int, key string) *Lock { return s.lock(id{db, key}) }

// Had reports that somebody had the lock with one of some values, as far as that is kept.
func (k *Lock) Had(values []string) bool {
	had := func(h *Hold) bool {
		return h != nil && slices.ContainsFunc(values, func(v string) bool { return slices.Contains(h.values, v) })
	}
	return had(k.hold) || had(k.doubted) || slices.ContainsFunc(values, func(v string) bool { return k.past[v] != nil })
}

// Has reports that a key has one of some values.
func Has(is command.Key, values []string) bool {
	return slices.ContainsFunc(valuesOf(is), func(v string) bool { return slices.Contains(values, v) })
}

// Lost says that this server took over from another, where somebody had the lock, and that it has not: why says what speaks for it.
// certain: it
// was never given back. Otherwise it is a question, till its owner comes back.
func (k *Lock) Lost(o Holder, certain bool, at Time, old, why string) {
	k.finish()
	if k.hold != nil && slices.ContainsFunc(k.hold.values, func(v string) bool { return slices.Contains(o.Values, v) }) {
		return
	}
	h := &Hold{Owner: o.Owner, From: o.From, expires: o.Expires, Over: true, End: at, How: Lost, By: old, lock: k,
		values: o.Values, exclusively: true, told: certain, perhaps: !certain}
	for _, v := range h.values {
		k.past[v] = h
	}
	k.story.remember(h)
	left := ""
	if d, ok := o.Expires.since(at); ok && d > 0 {
		left = ", " + durationText(d) + " before its end"
	}
	k.find(LostByFailover, !certain, at, "%s had the lock on %s, and this server, which took over, has it not%s: %s%s", o.Owner, old, left,
		why, k.holder())
}

// cameBack tells that the owner of a lock that a failover lost came back to it.
func (k *Lock) cameBack(h *Hold, a *act) {
	k.find(LostByFailover, !h.isOver(a.source), a.at, "%s came back to its lock%s (%s), so it had not given it back: "+
		"it had it on %s, and this server, which took over, has it not%s", h.Owner, k.over(a.source), a.name(), h.By, k.holder())
}
