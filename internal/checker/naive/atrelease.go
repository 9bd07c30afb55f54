package naive

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// toldAtRelease: "a release that ended the belief in a grant was answered `ok`", though its lock was gone.
func (t *terms) toldAtRelease() answer {
	if !t.oneLock() {
		return cannotTell
	}
	violated, chances := false, false
	for _, p := range t.ops {
		if p.f != history.Release || len(p.ends) == 0 || p.answered < 0 {
			continue
		}
		g := p.ends[0]
		// "Re-entries are not judged"
		if g.outer != nil {
			continue
		}
		// "The lock of the grant was gone before the release was invoked, and after each event from there to the answer."
		gone := true
		for i := p.invoked - 1; i <= p.answered; i++ {
			gone = gone && t.gone(g, i)
		}
		late := t.setSeenLate(g, p)
		// "Before the answer there was no alarm about the grant."
		told := false
		for i := range p.answered {
			told = told || t.alarm(g, i)
		}
		if gone && !late && !t.onTrial(g, p) {
			chances = true
			violated = violated || !told && p.outcome == history.OK
		}
	}
	left, stayed := t.leftAtRelease()
	return found(violated || left, (chances || stayed) && t.unclear() == len(t.events))
}

// setSeenLate: not so that "no `key-set` of the client of a key of the lock stands after the answer whose `at` is neither after it nor
// before the invocation of the `acquire`".
func (t *terms) setSeenLate(g *grant, release *op) (late bool) {
	for i := release.answered + 1; i < len(t.events); i++ {
		v := &t.events[i].Value
		late = late || t.events[i].F == history.KeySet && v.Client == g.client && t.ofLock(i) &&
			v.At().IsSet() && v.At().V() <= release.ret && v.At().V() >= g.call
	}
	return late
}

// leftAtRelease: "a release that was answered `ok` left the lock where it was: on each of a quorum of nodes a key of the lock violates what
// nothing-stays demands, and the answer to this release is the one at which the attempts of the key are over", with refused commands as
// no disturbance. stayed: one that was answered in any way did.
func (t *terms) leftAtRelease() (left, stayed bool) {
	if t.mayStay("") <= 0 || t.leased() {
		return false, false
	}
	for _, p := range t.ops {
		if p.f != history.Release || p.answered < 0 {
			continue
		}
		var nodes []string
		for _, i := range t.ownLives() {
			attempts := t.attemptsFor(t.whoseOf(i).client, t.setAs(i))
			if t.overAt(attempts) == p.answered && t.stayed(i, attempts, butRefusals, true) {
				nodes = append(nodes, t.events[i].Process)
			}
		}
		if t.count(nodes) >= t.quorum() {
			stayed, left = true, left || p.outcome == history.OK
		}
	}
	return left, stayed
}

// onTrial: not so that "the client was not struck from the invocation of the release to its answer, and what it and each node told one
// another was undisturbed from the invocation of the `acquire` to the answer".
func (t *terms) onTrial(g *grant, release *op) bool {
	return t.struckIn(g.client, release.call, release.ret) ||
		slices.ContainsFunc(t.header.Nodes, func(n string) bool { return t.disturbed(g.client, n, g.call, release.ret) })
}

// alarm: "An event tells the client of a grant that the lock is lost, if it stands after the invocation of the `acquire` and is a
// `lost` of the client that may be about the grant; or the answer `fail` to an `extend` of the client and lock that was invoked after
// the answer to the `acquire` and while the belief was open. If both have an owner value, these must be equal."
func (t *terms) alarm(g *grant, i int) bool {
	if i <= g.invoked {
		return false
	}
	for _, p := range t.ops {
		if p.answered == i && p.f == history.Extend && p.outcome == history.Fail && p.client == g.client && p.lock == g.lock &&
			p.invoked > g.answered && p.invoked < g.ended && (p.owner == "" || g.owner == "" || p.owner == g.owner) {
			return true
		}
	}
	return t.tells(g, i)
}

// struckIn: "a *client is struck* if a fault that strikes it lasts at some instant" of a stretch, "or if its lock program
// ended by its end".
func (t *terms) struckIn(client string, from, to int64) bool {
	for i := range t.events {
		ended := t.events[i].F == history.ProgramEnded && t.events[i].Process == client
		if t.time(i) <= to && (ended || t.strikes(i, anything).clients[client] && t.faultEnd(i) >= from) {
			return true
		}
	}
	return false
}

// disturbed: what a client and a node tell one another is *disturbed* "if, at some instant" of a stretch, "a fault lasts that strikes
// the node; a fault lasts that strikes a link, unless one end of the link is the resource or another client, or its ends are the client
// and another node; the node goes down, comes up, is promoted or is demoted".
func (t *terms) disturbed(client, node string, from, to int64) bool {
	return t.disturbedBy(anything, client, node, from, to)
}

// disturbedBy: so, by such effects alone.
func (t *terms) disturbedBy(what history.Does, client, node string, from, to int64) bool {
	changes := []history.F{history.NodeDown, history.NodeUp, history.NodePromoted, history.NodeDemoted}
	for i, e := range t.events {
		if slices.Contains(changes, e.F) && e.Process == node && t.time(i) >= from && t.time(i) <= to {
			return true
		}
		s := t.strikes(i, what)
		touches := s.nodes[node]
		for _, l := range s.links {
			ends := []string{l.From, l.To}
			apart := slices.ContainsFunc(ends, func(end string) bool {
				return end == history.ResourceProcess || end != client && slices.Contains(t.header.Clients, end)
			})
			anotherNode := slices.ContainsFunc(ends, func(end string) bool { return end != node && slices.Contains(t.header.Nodes, end) })
			elsewhere := slices.Contains(ends, client) && anotherNode
			touches = touches || !apart && !elsewhere
		}
		if touches && t.time(i) <= to && t.faultEnd(i) >= from {
			return true
		}
	}
	return false
}
