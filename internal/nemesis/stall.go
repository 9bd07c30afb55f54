package nemesis

import (
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name:   "stall",
		Title:  "the connections that are open on the links carry nothing until the fault ends; connections opened later work",
		Powers: []world.Power{world.Stall.Power()},
		New:    func() Fault { return &stall{} },
	})
}

// stall keeps back what is sent on the connections that are open, as a lost packet
// does until it is sent again, or a NAT that forgot the flow: who connects anew
// gets through.
type stall struct {
	disturbance `yaml:",inline"`
}

// Impact implements Fault.
func (f *stall) Impact(w world.World) history.Impact {
	return f.impactOn(w, "messages on the open connections", "were held back", history.Delays)
}

// Begin implements Fault.
func (f *stall) Begin(w world.World) (undo func() error, err error) {
	return f.begin(w, world.Disturbance{Kind: world.Stall})
}
