package keystory

import (
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// changed is what is known of a key since the server said last what it holds.
type changed struct {
	// events are those that have come since, which may have changed it; at is the first of them.
	events []string
	at     Time
	// new: there was no key before.
	new bool
}

// mostEvents bounds the events that are kept till the server says what a key holds.
const mostEvents = 16

// SeeEvent takes in a keyspace event: something was done to a key. It says neither what the key holds nor who did it, so nobody is
// accused by it
// but the server. What the key holds, Sampled says.
func (s *Story) SeeEvent(db int, key, event string, at Time) {
	if !s.o.Keys.Fit(key) {
		return
	}
	s.count(at)
	if k := s.lock(id{db, key}); k != nil {
		k.seeEvent(event, at)
	}
}

func (k *Lock) seeEvent(event string, at Time) {
	k.fromLines = true
	k.Changes++
	switch event {
	case "expired":
		k.unseen(at)
		if k.hold != nil {
			end := at
			if e := k.hold.expires; e.At > 0 && e.At < at.At {
				end = e
			}
			k.ended(RanOut, end, "")
		}
		k.gone()
	case "evicted":
		k.unseen(at)
		if k.hold != nil {
			k.find(EvictedKey, false, at, "the server evicted the key of %s: it needed the memory", k.hold.Owner)
			k.ended(Evicted, at, "")
		}
		k.gone()
	case "del", "rename_from", "move_from":
		k.unseen(at)
		if k.hold != nil {
			k.bare(k.hold, at, true)
			k.tell(at, "it is removed%s (%s); the event does not say by whom", left(k.log.Replay.Key, at), event)
			k.ended(Unknown, at, "")
		}
		k.gone()
	default:
		k.counted = k.counted || event == "incrby" || event == "incrbyfloat"
		k.written = true
		if len(k.changed.events) == 0 {
			k.changed.at, k.changed.new = at, k.log.Replay.Holds == command.Absent
		}
		if len(k.changed.events) < mostEvents {
			k.changed.events = append(k.changed.events, event)
		}
		if k.log.Replay.Holds != command.Unclear {
			k.log.Replay.Key, k.log.Unclear = command.Key{Holds: command.Unclear}, true
		}
		if k.story.o.Doubted != nil {
			k.story.o.Doubted(k)
		}
	}
}

// unseen counts who had the lock so shortly that the server could not be asked who it was.
func (k *Lock) unseen(at Time) {
	if k.changed.new && k.hold == nil {
		k.Totals.Holds++
		k.Totals.Ended++
		k.countHeld(&Hold{From: k.changed.at}, at)
		k.tell(at, "somebody had it, and nobody could ask who before it was over")
	}
}

// gone says that there is no such key.
func (k *Lock) gone() {
	k.changed = changed{}
	k.log.Replay.Key, k.log.Unclear = command.Key{}, false
}

// Sampled takes in what the server says that a key holds, where nothing but that and events say anything. gaps: events may have been
// missed,
// so whatever is between two samples is not known.
func (k *Lock) Sampled(is command.Key, at Time, gaps bool) {
	k.fromLines, k.sampled = true, gaps
	k.story.Last = at
	if k.story.First.At == 0 {
		k.story.First = at
	}
	was := k.changed
	k.changed = changed{}
	h := k.hold
	switch {
	case is.Holds == command.Unclear:
		k.changed = was
		return
	case h != nil && is.Holds != command.Absent && h.Owner == k.owner(is):
		k.goesOn(h, is, at, was)
	case h != nil:
		k.passes(h, is, at, gaps, was)
	case was.new && is.Holds == command.Absent:
		k.unseen(at) // the event of its end was missed
	}
	before := k.hold
	k.log.Replay.Key, k.log.Unclear = is, false
	if before == nil && is.Holds != command.Absent {
		if since := was.at; (was.new || h != nil && len(was.events) > 0) && !gaps {
			k.begins(is, since, "", false, "")
		} else {
			k.begins(is, Time{}, "", false, "as the server says")
			k.hold.From = at
		}
	}
}

// goesOn tells that the holder has the lock still.
func (k *Lock) goesOn(h *Hold, is command.Key, at Time, was changed) {
	if is.Expires == (command.Span{}) {
		if !h.hasBare && !isInstant(is.Value, at) {
			h.hasBare, h.bare = true, at
			k.tell(at, "%s has it without a TTL", h.Owner)
		}
		k.bare(h, at, false)
		return
	}
	k.isLock = k.isLock || !k.counted
	end, before := endOf(is), h.expires
	h.expires, h.hasBare = end, false
	if longer, ok := end.since(before); !ok || longer <= near*time.Millisecond && len(was.events) == 0 {
		return
	}
	k.Totals.Renewals++
	if ttl, ok := end.since(at); ok {
		k.Totals.TTL = max(k.Totals.TTL, ttl)
	}
	if left, ok := before.since(was.at); ok && len(was.events) > 0 {
		if k.Totals.LeastLeft == 0 || left < k.Totals.LeastLeft {
			k.Totals.LeastLeft = max(left, time.Nanosecond)
		}
	}
	k.tellRenewal(at, h.Owner+" has it for longer, until "+end.Text(), h)
}

// passes tells that a lock has another holder than before, or none.
func (k *Lock) passes(h *Hold, is command.Key, at Time, gaps bool, was changed) {
	end, over := at, h.expires.At > 0 && h.expires.At <= at.At+near*time.Millisecond
	if over && h.expires.At < at.At {
		end = h.expires
	}
	if len(was.events) > 0 && !over {
		end = was.at
	}
	k.bare(h, end, true)
	written := slices.ContainsFunc(was.events, func(e string) bool { return strings.HasPrefix(e, "set") })
	switch {
	case gaps:
		k.tell(at, "%s has it no longer; nobody saw how that came", h.Owner)
	case is.Holds == command.Text && written && !over && !leaseOver(k.valueOf(h), at):
		k.find(OverwrittenKey, true, at, "%s is in the place of %s, which held the lock: the event (%s) does not say who wrote it",
			k.owner(is), h.Owner, strings.Join(was.events, ", "))
		k.ended(Overwritten, end, "")
		return
	case is.Holds == command.Absent && !over:
		k.find(VanishedKey, true, at, "the key of %s is gone, and no event says why: were all keys removed?", h.Owner)
		k.ended(Vanished, end, "")
		return
	case over:
		k.ended(RanOut, end, "")
		return
	}
	k.ended(Unknown, end, "")
}

// valueOf is the value of a hold, if it has one.
func (k *Lock) valueOf(h *Hold) string {
	if len(h.values) == 1 {
		return h.values[0]
	}
	return ""
}
