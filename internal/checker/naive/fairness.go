package naive

import (
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// fairness: "The bound is the header's `most_overtakes`, or else 0 if it has `fair`. Violated if more grants than the bound overtake one
// attempt. Unknown if the header has neither."
func (t *terms) fairness() answer {
	if !t.header.Fair && t.header.MostOvertakes == 0 {
		return cannotTell
	}
	violated, chances := false, false
	for _, p := range t.ops {
		if !attempt(p) {
			continue
		}
		overtaking, would, behind := 0, 0, 0
		for _, g := range t.grants {
			if t.overtakes(g, p, t.goingOnTo(p)) {
				overtaking++
			}
			if t.overtakes(g, p, forever) {
				would++
			}
		}
		// "Chances: attempts behind which another client asked: for the same lock, later by more than the allowance, before the attempt ended,
		// while it had been quiet. If the bound is not 0, more grants than the bound must be such that they would overtake the attempt if it
		// never ended."
		for _, o := range t.ops {
			if attempt(o) && t.asksLater(o, p) && o.call < t.goingOnTo(p) && t.quiet(p, o.call) {
				behind++
			}
		}
		violated = violated || overtaking > t.header.MostOvertakes
		chances = chances || behind > 0 && (t.header.MostOvertakes == 0 || would > t.header.MostOvertakes)
	}
	return found(violated, chances)
}

// attempt: "An attempt is an `acquire` that does not say `inner`."
func attempt(p *op) bool { return p.f == history.Acquire && !p.asked.Inner() }

// asksLater: "of another client and the same lock", and "invoked later than that attempt by more than the allowance. The allowance is a
// tenth of the TTL, without a TTL a tenth of `grant_within`."
func (t *terms) asksLater(o, p *op) bool {
	return o.client != p.client && o.lock == p.lock && o.call-p.call > t.allowance()
}

func (t *terms) allowance() int64 {
	longest := t.ttl("") // "of the longest one, where clients differ in it"
	for client := range t.header.Differ {
		longest = max(longest, t.ttl(client))
	}
	return orElse(longest, t.bound) / 10
}

// goingOnTo: "It is *going on* from its invocation to its completion, or else to the client's next `acquire`."
func (t *terms) goingOnTo(p *op) int64 {
	for _, o := range t.ops {
		if p.answered < 0 && o.client == p.client && o.f == history.Acquire && o.invoked > p.invoked {
			return o.call
		}
	}
	return p.ret
}

// overtakes: "its own `acquire`, which is such an attempt, was invoked later; it was answered before that attempt ended; it is no re-entry;
// that attempt was *quiet* from its invocation to the answer of the grant."
func (t *terms) overtakes(g *grant, p *op, end int64) bool {
	return attempt(g.op) && t.asksLater(g.op, p) && g.ret < end && g.outer == nil && t.quiet(p, g.ret)
}

// quiet: "its client was not struck, what it and each node told one another was undisturbed, and the parts of all stalls in this stretch
// make up less than the allowance."
func (t *terms) quiet(p *op, to int64) bool {
	for _, node := range t.header.Nodes {
		if t.disturbed(p.client, node, p.call, to) {
			return false
		}
	}
	return !t.struckIn(p.client, p.call, to) && t.stalls(p.call, to) < t.allowance()
}
