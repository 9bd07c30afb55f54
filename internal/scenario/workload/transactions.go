package workload

import "github.com/redlock-sim/redlock-sim/internal/history"

func init() {
	register(Workload{
		Name: "transactions", Title: "append to two lists together, without a lock", Settings: []string{"how"},
		Pair: true, Empty: true, Most: 5000, MostOf: "appends to two lists",
		run: Plan.transactions, final: lookAtBoth,
	})
}

// transactions appends a number to two lists that belong together, and looks at
// both, without any lock: what keeps them together is a transaction, or nothing.
func (p Plan) transactions(s Session) {
	for section := 1; section <= p.Sections && !s.Over(); section++ {
		if section > 1 && p.Rest > 0 && !s.Sleep(p.Rest) {
			return
		}
		s.Do(Request{F: history.Transact, Section: section, Number: history.Some(p.element(section)), How: p.How})
		if !p.think(s) {
			return
		}
		s.Do(Request{F: history.Snapshot, Section: section})
	}
}

// lookAtBoth looks at the lists after everything.
func lookAtBoth(s Session) bool {
	return s.Do(Request{F: history.Snapshot}).Type == history.OK
}
