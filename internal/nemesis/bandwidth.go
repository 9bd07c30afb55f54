package nemesis

import (
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name:   "bandwidth",
		Title:  "the links carry only a limited number of bytes a second",
		Powers: []world.Power{world.Bandwidth.Power()},
		New:    func() Fault { return &bandwidth{} },
	})
}

// bandwidth limits how much passes.
type bandwidth struct {
	disturbance `yaml:",inline"`
	Rate        int64 `yaml:"rate" doc:"bytes a second, in steps of 1000" min:"1000" max:"1000000000" required:"true"`
}

// Impact implements Fault.
func (f *bandwidth) Impact(w world.World) history.Impact {
	return f.impactOn(w, "messages", fmt.Sprintf("passed at %d bytes a second", f.Rate), history.Delays)
}

// Begin implements Fault.
func (f *bandwidth) Begin(w world.World) (undo func() error, err error) {
	return f.begin(w, world.Disturbance{Kind: world.Bandwidth, Rate: f.Rate})
}
