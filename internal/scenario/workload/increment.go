package workload

func init() {
	register(Workload{
		Name: "increment", Title: "read a number, write one more", Settings: []string{"readers", "upgrade"},
		Reads: 1, Writes: 1, Cell: Cell{Data: CounterData},
		run: Plan.increments,
	})
}

// increments reads a number under the lock and writes one more. Two sections
// that read the same number show that the lock let both in: an update is lost.
// A reader only reads, or asks to write once it has read.
func (p Plan) increments(s Session) {
	p.sections(s, func(section int) {
		n, ok := p.read(s, section, "")
		if !ok || !p.think(s) {
			return
		}
		write := func() { p.write(s, section, "", n+1) }
		switch {
		case !p.Reads():
			write()
		case p.Upgrade:
			p.upgraded(s, section, write)
		}
	})
}
