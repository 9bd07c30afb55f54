package workload

import "github.com/redlock-sim/redlock-sim/internal/scenario/resource"

func init() {
	register(Workload{
		Name: "two-cells", Title: "add one to two numbers",
		Reads: 2, Writes: 2, Cell: Cell{Data: CounterData}, Together: []string{resource.CellA, resource.CellB},
		run: Plan.twoCells,
	})
}

// twoCells adds one to two cells in each section. A holder that is shut out
// between the two writes leaves them half done: a fence stops it, it does not
// undo what it has done.
func (p Plan) twoCells(s Session) {
	p.sections(s, func(section int) {
		a, ok := p.read(s, section, resource.CellA)
		if !ok {
			return
		}
		b, ok := p.read(s, section, resource.CellB)
		if !ok || !p.think(s) {
			return
		}
		if p.write(s, section, resource.CellA, a+1) {
			p.write(s, section, resource.CellB, b+1)
		}
	})
}
