package nemesis

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name:   "latency",
		Title:  "every message on the links is late by a while, give or take a jitter",
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

// Begin implements Fault.
func (f *latency) Begin(w world.World) (undo func() error, err error) {
	return f.begin(w, world.Disturbance{Kind: world.Latency, Latency: f.Delay, Jitter: f.Jitter})
}
