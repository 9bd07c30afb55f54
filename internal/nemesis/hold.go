package nemesis

import (
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name:   "hold",
		Title:  "the links hold back all messages and deliver them when the fault ends: nothing is lost",
		Powers: []world.Power{world.Hold.Power()},
		New:    func() Fault { return &hold{} },
	})
}

// hold keeps messages back and lets them go at its end.
type hold struct {
	disturbance `yaml:",inline"`
}

// Impact implements Fault.
func (f *hold) Impact(w world.World) history.Impact {
	return f.impactOn(w, "messages", "were held back", history.Delays)
}

// Begin implements Fault.
func (f *hold) Begin(w world.World) (undo func() error, err error) {
	return f.begin(w, world.Disturbance{Kind: world.Hold})
}
