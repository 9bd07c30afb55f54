package nemesis

import (
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name:   "reset",
		Title:  "connections break as soon as something is sent on them",
		Powers: []world.Power{world.Reset.Power()},
		New:    func() Fault { return &reset{} },
	})
}

// reset breaks connections.
type reset struct {
	disturbance `yaml:",inline"`
}

// Impact implements Fault.
func (f *reset) Impact(w world.World) history.Impact {
	return f.impactOn(w, "connections", "broke", history.Breaks)
}

// Begin implements Fault.
func (f *reset) Begin(w world.World) (undo func() error, err error) {
	return f.begin(w, world.Disturbance{Kind: world.Reset})
}
