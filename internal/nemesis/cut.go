package nemesis

import (
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name:   "cut",
		Title:  "the links lose everything; connections stay open and silent, as behind a firewall that drops packets",
		Powers: []world.Power{world.Cut.Power()},
		New:    func() Fault { return &cut{} },
	})
}

// cut loses messages.
type cut struct {
	disturbance `yaml:",inline"`
}

// Impact implements Fault.
func (f *cut) Impact(w world.World) history.Impact {
	return f.impactOn(w, "messages", "were lost", history.Drops)
}

// Begin implements Fault.
func (f *cut) Begin(w world.World) (undo func() error, err error) {
	return f.begin(w, world.Disturbance{Kind: world.Cut})
}
