package nemesis

import (
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// plain is a disturbance of links that has no parameters beside where and how long.
type plain struct {
	disturbance `yaml:",inline"`
	*plainKind
}

// plainKind is what such a disturbance does, and to what it does so.
type plainKind struct {
	kind                 world.DisturbanceKind
	title, struck, words string
	does                 history.Does
	// one: it can strike one message alone.
	one bool
}

func (k *plainKind) new(d disturbance) Fault {
	if k.one {
		return &ofLinks{plain: plain{d, k}}
	}
	return &plain{d, k}
}

var (
	// cut loses messages.
	cut = plainKind{world.Cut, "the links lose everything; connections stay open and silent, as behind a firewall that drops packets",
		"messages", "were lost", history.Drops, false}
	// hold keeps messages back and lets them go at its end.
	hold = plainKind{world.Hold, "the links hold back all messages and deliver them when the fault ends: nothing is lost",
		"messages", "were held back", history.Delays, true}
	// reset breaks connections.
	reset = plainKind{world.Reset, "connections break as soon as something is sent on them",
		"connections", "broke", history.Breaks, true}
)

func init() {
	for _, k := range []*plainKind{&cut, &hold, &reset} {
		register(Kind{
			Name:   k.kind.String(),
			Title:  k.title,
			Powers: []world.Power{k.kind.Power()},
			New:    func() Fault { return k.new(disturbance{}) },
		})
	}
}

// Impact implements Fault.
func (f *plain) Impact(w world.World) history.Impact {
	return f.impactOn(w, f.struck, f.words, f.does)
}

// Begin implements Fault.
func (f *plain) Begin(w world.World) (undo func() error, err error) {
	return f.begin(w, world.Disturbance{Kind: f.kind})
}
