package naive

import "github.com/redlock-sim/redlock-sim/internal/history"

// keepsRunning: "A lock program does not end by itself. Violated if a `program-ended` stands after the first grant, or after the first
// `fault-begin`. Chances: clients that asked for the lock, if there was a grant or a fault. Unknown if the lock is no program, or if a
// `program-ended` stands before both."
func (t *terms) keepsRunning() answer {
	if t.header.Program == "" && t.header.Quorum <= 0 {
		return cannotTell
	}
	began := func(i int) bool {
		for k := range t.events[:i] {
			if t.events[k].F == history.FaultBegin {
				return true
			}
		}
		for _, g := range t.grants {
			if g.answered < i {
				return true
			}
		}
		return false
	}
	violated, useless, asked := false, false, false
	for i, e := range t.events {
		asked = asked || e.F == history.Acquire && e.Type == history.Invoke
		if e.F == history.ProgramEnded {
			violated, useless = violated || began(i), useless || !began(i)
		}
	}
	return found(violated, asked && began(len(t.events)) && !useless)
}
