package workload

import "time"

func init() {
	register(Workload{
		Name: "jobs", Title: "run each tick's job once", Settings: []string{"skew", "hold"},
		Empty: true, Ticks: true, Writes: 1, Cell: Cell{Data: JobsData, Wrote: "ran the job of tick", Writes: "runs the job of tick",
			Item: "the job of tick", Twice: "ran twice"},
		run: Plan.jobs,
	})
}

// jobs is a scheduler among several: when its clock shows a tick, it takes the
// lock and runs the tick's job; where it does not get the lock, somebody else runs
// it. With a job shorter than the difference of their clocks, the lock is free
// again when the next scheduler comes; only holding it for longer helps.
func (p Plan) jobs(s Session) {
	begin := s.Now() + time.Duration(p.Number-1)*p.Skew
	for tick := 1; tick <= p.Sections && !s.Over(); tick++ {
		due := begin + time.Duration(tick-1)*p.Tick
		if wait := due - s.Now(); wait > 0 && !s.Sleep(wait) {
			return
		}
		p.guarded(s, tick, func() {
			granted := s.Now()
			p.write(s, tick, "", int64(tick))
			if !p.think(s) {
				return
			}
			if rest := granted + p.Hold - s.Now(); rest > 0 {
				s.Sleep(rest)
			}
		})
	}
}
