package naive

import "github.com/redlock-sim/redlock-sim/internal/history"

// atMostOnce: "Of each tick at most one client does the work. The workload is `jobs`, and the `section` of an operation is the number of
// its tick. Violated if two clients do the work of the same tick. Unknown for every other workload."
func (t *terms) atMostOnce() answer {
	if t.header.Workload != "jobs" {
		return cannotTell
	}
	violated, chances := false, false
	for _, p := range t.ops {
		for _, q := range t.ops {
			if p.client == q.client || p.section != q.section || !t.doesWork(p) {
				continue
			}
			violated = violated || t.doesWork(q)
			// "Chances: ticks whose work a client does, if another client asked for the lock (`acquire`) at this tick."
			chances = chances || q.f == history.Acquire
		}
	}
	return found(violated, chances)
}

// doesWork: "A client does the work of a tick if one of its `write`s of this tick was answered `ok`, or if an effect that the resource
// accepted belongs to one. Section 0 is no tick."
func (t *terms) doesWork(p *op) bool {
	if p.f != history.Write || p.section == 0 {
		return false
	}
	for i := range t.events {
		if e := &t.events[i]; accepted(e) && e.F == history.Effect && nameOf(e) == p.name() && p.invoked < i {
			return true
		}
	}
	return p.outcome == history.OK
}

// aboutKeys: "What is said of keys is said of keys whose whole life is told: ... These are `unknown`."
var aboutKeys = []string{"backed-grant", "ordered-tokens", "owner-release", "no-orphan-lock", "nothing-stays", "no-resurrection",
	"told-when-lost", "told-at-release", "no-false-alarm", "stays-held", "asks-its-ttl", "true-validity"}

// aboutFreeLocks: "deadlock-free, minority-tolerant, comes-back, nothing-stays and told-at-release say that a lock which was given back is
// free. They are `unknown`."
var aboutFreeLocks = []string{"deadlock-free", "minority-tolerant", "comes-back", "nothing-stays", "told-at-release"}
