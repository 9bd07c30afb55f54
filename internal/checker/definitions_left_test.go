package checker_test

import (
	"math"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// nothingStays: "a key of the lock on a node surely lived for longer than half a TTL after its attempts were over", and no fault had a
// hand in it.
func (t *terms) nothingStays() answer {
	violated, chances := false, false
	lived := map[int]bool{}
	for i := range t.events {
		if t.events[i].F != history.KeySet || !t.ofLock(i) || lived[i] {
			continue
		}
		l := t.life(i)
		for _, j := range l.wrote {
			lived[j] = true
		}
		// "the owner must be known by whose the key is"
		client := t.whoseOf(i).client
		if !t.whoseOf(i).known() || client == "" {
			continue
		}
		first, over, ok := t.over(t.attemptsFor(client, t.setAs(i)), t.setAs(i))
		if !ok {
			continue
		}
		// "They are over at the last of these answers. A key that was set later lives from then."
		since := max(over, t.time(i))
		until := since + t.mayStay()/2
		// "From the first invocation of these attempts until half a TTL after they were over, or after the key was set if that was
		// later, the client was not struck, and what it and the node told one another was undisturbed."
		if t.struckIn(client, first, until) || t.disturbed(client, t.events[i].Process, first, until) {
			continue
		}
		violated = violated || l.to > until
		known, _ := t.forgets(i)
		chances = chances || min(known, t.last) > until
	}
	if t.mayStay() <= 0 || t.leased() || !t.oneLock() {
		return cannotTell
	}
	return found(violated, chances && t.unclear() == len(t.events))
}

// over is when some attempts were over that used a key, and the first invocation of them: "Each of its attempts is over: it was
// answered `fail`, or the belief in its grant ended by a release that was answered `ok` or `fail`." "The command that set the key did
// not leave the client (`at`) at or after the invocation of one of these releases."
func (t *terms) over(attempts []*op, set int) (first, over int64, ok bool) {
	first, over = forever, math.MinInt64
	for _, p := range attempts {
		end := p
		if p.outcome == history.OK {
			end = nil
			for _, r := range t.ops {
				if r.f == history.Release && len(r.ends) == 1 && r.ends[0].op == p {
					end = r
				}
			}
			if at := t.events[set].Value.At(); end == nil || at.IsSet() && at.V() >= end.call {
				return 0, 0, false
			}
		}
		if end.outcome != history.OK && end.outcome != history.Fail {
			return 0, 0, false
		}
		first, over = min(first, p.call), max(over, end.ret)
	}
	return first, over, len(attempts) > 0
}
