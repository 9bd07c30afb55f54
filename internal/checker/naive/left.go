package naive

import (
	"math"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// nothingStays: "a key of the lock on a node surely lived for longer than half a TTL after its attempts were over", and no fault had a
// hand in it.
func (t *terms) nothingStays() answer {
	violated, chances := false, false
	for _, i := range t.ownLives() {
		attempts := t.attemptsFor(t.whoseOf(i).client, t.setAs(i))
		violated = violated || t.stayed(i, attempts, anything, false)
		if until, ok := t.toBeGone(i, attempts, anything, false); ok {
			known, _ := t.forgets(i)
			chances = chances || min(known, t.last) > until
		}
	}
	if t.mayStay("") <= 0 || t.leased() || !t.oneLock() {
		return cannotTell
	}
	return found(violated, chances && t.unclear() == len(t.events))
}

// ownLives are the events with which the lives of keys of the lock begin, where "the owner is known by whose the key is".
func (t *terms) ownLives() (list []int) {
	lived := map[int]bool{}
	for i := range t.events {
		if t.events[i].F != history.KeySet || !t.ofLock(i) || lived[i] {
			continue
		}
		for _, j := range t.life(i).wrote {
			lived[j] = true
		}
		if who := t.whoseOf(i); who.known() && who.client != "" {
			list = append(list, i)
		}
	}
	return list
}

// toBeGone is until when a key is to be gone that some attempts used; not ok: something may have kept it. disturbing are the effects that
// may have; however: releases may have been answered as they like.
func (t *terms) toBeGone(set int, attempts []*op, disturbing history.Does, however bool) (until int64, ok bool) {
	first, over, ok := t.over(attempts, t.setAs(set), however)
	// "They are over at the last of these answers. A key that was set later lives from then."
	client := t.whoseOf(set).client
	until = max(over, t.time(set)) + t.mayStay(client)/2
	// "From the first invocation of these attempts until half a TTL after they were over, or after the key was set if that was
	// later, the client was not struck, and what it and the node told one another was undisturbed."
	return until, ok && !t.struckIn(client, first, until) && !t.disturbedBy(disturbing, client, t.events[set].Process, first, until)
}

// stayed: the key that was set there violates it.
func (t *terms) stayed(set int, attempts []*op, disturbing history.Does, however bool) bool {
	until, ok := t.toBeGone(set, attempts, disturbing, however)
	return ok && t.life(set).to > until
}

// overAt is the answer at which attempts were over; -1: they are not.
func (t *terms) overAt(attempts []*op) int {
	last := -1
	for _, p := range attempts {
		end := p
		for _, r := range t.ops {
			if r.f == history.Release && len(r.ends) == 1 && r.ends[0].op == p {
				end = r
			}
		}
		last = max(last, end.answered)
	}
	return last
}

// over is when some attempts were over that used a key, and the first invocation of them: "Each of its attempts is over: it was
// answered `fail`, or the belief in its grant ended by a release that was answered `ok` or `fail`." "The command that set the key did
// not leave the client (`at`) at or after the invocation of one of these releases."
func (t *terms) over(attempts []*op, set int, however bool) (first, over int64, ok bool) {
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
		if end.answered < 0 || end.outcome == history.Info && (end == p || !however) {
			return 0, 0, false
		}
		first, over = min(first, p.call), max(over, end.ret)
	}
	return first, over, len(attempts) > 0
}
