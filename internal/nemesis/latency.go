package nemesis

import (
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name:   "latency",
		Title:  "every message on the links is delayed by a time, plus or minus a jitter",
		Powers: []world.Power{world.Latency.Power()},
		New:    func() Fault { return &latency{} },
	})
}

// latency makes messages late; they stay in order.
type latency struct {
	disturbance `yaml:",inline"`
	Delay       time.Duration `yaml:"delay" doc:"how late a message is" min:"1ms" max:"10m" required:"true"`
	Jitter      time.Duration `yaml:"jitter" doc:"give or take at most this much" max:"10m"`
}

// Impact implements Fault.
func (f *latency) Impact(w world.World) history.Impact {
	return f.impactOn(w, "messages", "were late by "+f.late(), history.Delays)
}

// late says by how much.
func (f *latency) late() string {
	if f.Jitter > 0 {
		return fmt.Sprintf("%v, give or take %v", f.Delay, f.Jitter)
	}
	return f.Delay.String()
}

// Begin implements Fault.
func (f *latency) Begin(w world.World) (undo func() error, err error) {
	return f.begin(w, world.Disturbance{Kind: world.Latency, Latency: f.Delay, Jitter: f.Jitter})
}
