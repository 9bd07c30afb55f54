package workload

// CellA and CellB are the cells that must change together.
const (
	CellA = "a"
	CellB = "b"
)

// twoCells adds one to two cells in each section. A holder that is shut out
// between the two writes leaves them half done: a fence stops it, it does not
// undo what it has done.
func (p Plan) twoCells(s Session) {
	p.sections(s, func(section int) {
		a, ok := p.read(s, section, CellA)
		if !ok {
			return
		}
		b, ok := p.read(s, section, CellB)
		if !ok || !p.think(s) {
			return
		}
		if p.write(s, section, CellA, a+1) {
			p.write(s, section, CellB, b+1)
		}
	})
}
