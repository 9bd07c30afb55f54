package workload

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
)

func init() {
	register(Workload{
		Name: "append", Title: "read a list, write it with one element more",
		Resource: resource.List, Empty: true, Most: 3000, MostOf: "appends to one list",
		Reads: 1, Writes: 1, Cell: Cell{Data: ListData, Wrote: "appended", Writes: "appends"},
		run: Plan.appends, final: readAll,
	})
}

// appends reads a list under the lock and writes it with one element more, as a
// program does with a document that it can only store as a whole. What another
// client appended in between is lost; the read at the end shows how much.
func (p Plan) appends(s Session) {
	p.sections(s, func(section int) {
		read := s.Do(Request{F: history.Read, Section: section})
		if read.Type != history.OK || !p.think(s) {
			return
		}
		element := p.element(section)
		s.Do(Request{F: history.Write, Section: section, Number: history.Some(element), Check: p.Check,
			List: append(slices.Clone(read.Value.List()), element)})
	})
}

// element is unique in the run: 301 is the third one of c1.
func (p Plan) element(section int) int64 { return int64(section)*100 + int64(p.Number) }

// readAll reads the resource, past the fence.
func readAll(s Session) bool {
	return s.Do(Request{F: history.Read, Unfenced: true}).Type == history.OK
}
