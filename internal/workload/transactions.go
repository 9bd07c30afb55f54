package workload

import (
	"github.com/redlock-sim/redlock-sim/internal/client"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// transactions appends a number to two lists that belong together, and looks at
// both, without any lock: what keeps them together is a transaction, or nothing.
func (p Plan) transactions(s Session) {
	for section := 1; section <= p.Sections && !s.Over(); section++ {
		if section > 1 && p.Rest > 0 && !s.Sleep(p.Rest) {
			return
		}
		s.Do(client.Request{F: history.Transact, Section: section, Number: history.Some(p.element(section)), How: p.How})
		if !p.think(s) {
			return
		}
		s.Do(client.Request{F: history.Snapshot, Section: section})
	}
}

// lookAtBoth looks at the lists after everything.
func lookAtBoth(s Session) bool {
	return s.Do(client.Request{F: history.Snapshot}).Type == history.OK
}
