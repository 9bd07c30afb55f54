package nemesis

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name:   "pause",
		Title:  "stop a client, a node, a sentinel or the resource for a while, as a garbage collection or a suspended machine does (SIGSTOP)",
		Powers: []world.Power{world.PausePower},
		New:    func() Fault { return &pause{} },
	})
}

// pause stops a process and lets it go on after a while.
type pause struct {
	processOrResource `yaml:",inline"`
	For               time.Duration `yaml:"for" min:"1ms" max:"10m" doc:"how long it stands still; without it, until everything heals"`
}

func (p *pause) Length() time.Duration { return p.For }

func (p *pause) Check(c Cast) []Complaint { return p.check(c) }

// Impact implements Fault.
func (p *pause) Impact(w world.World) history.Impact {
	return p.impact(w, "was paused", history.Stops)
}

func (p *pause) Begin(w world.World) (undo func() error, err error) {
	return func() error { return w.Resume(p.Target()) }, w.Pause(p.Target())
}
