package workload

import "github.com/redlock-sim/redlock-sim/internal/history"

func init() {
	register(Workload{
		Name: "stock", Title: "sell a unit while there are any", Settings: []string{"conditional"},
		Reads: 1, Writes: 1, Cell: Cell{Data: StockData},
		run: Plan.sales,
	})
}

// sales sells one unit in each section while there are any: reads how many are
// left, and writes one less. Conditional takes the unit in one step on the server,
// which cannot oversell whatever the lock does.
func (p Plan) sales(s Session) {
	p.sections(s, func(section int) {
		if p.Conditional {
			if p.think(s) {
				s.Do(Request{F: history.CAS, Section: section, Number: history.Some(1)})
			}
			return
		}
		if left, ok := p.read(s, section, ""); ok && left > 0 && p.think(s) {
			p.write(s, section, "", left-1)
		}
	})
}
