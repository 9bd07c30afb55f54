package nemesis

import (
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name:   "slow-close",
		Title:  "the other side learns late that a connection was closed",
		Powers: []world.Power{world.SlowClose.Power()},
		New:    func() Fault { return &slowClose{} },
	})
}

// slowClose delays the end of connections.
type slowClose struct {
	disturbance `yaml:",inline"`
	Delay       time.Duration `yaml:"delay" doc:"how late" min:"1ms" max:"10m" required:"true"`
}

// Impact implements Fault.
func (f *slowClose) Impact(w world.World) history.Impact {
	return f.impactOn(w, "closed connections", fmt.Sprintf("ended %v late", f.Delay), history.Delays)
}

// Begin implements Fault.
func (f *slowClose) Begin(w world.World) (undo func() error, err error) {
	return f.begin(w, world.Disturbance{Kind: world.SlowClose, Delay: f.Delay})
}
