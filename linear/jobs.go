package linear

import "fmt"

// decideJobs decides a history of jobs: each tick runs at most once.
func decideJobs(h History) Result {
	for i := range h.Ops {
		if h.Ops[i].Kind != Run {
			return undecided("not a history of jobs")
		}
		if h.Ops[i].Maybe {
			return undecided(whyMaybe)
		}
	}
	ran := make(map[int64]int32, len(h.Ops))
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.Optional() {
			continue
		}
		if first, twice := ran[o.A]; twice {
			return illegal(fmt.Sprintf("the job of tick %d ran twice", o.A), int(first), i)
		}
		ran[o.A] = int32(i)
	}
	return legal()
}
