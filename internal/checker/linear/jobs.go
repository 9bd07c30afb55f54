package linear

import "fmt"

// JobRuns decides a history of jobs: each tick runs at most once.
func JobRuns(h History) Result {
	ran := make(map[int64]int32, len(h.Ops))
	for i := range h.Ops {
		o := &h.Ops[i]
		if o.Kind != Run {
			return undecided("not a history of jobs")
		}
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
