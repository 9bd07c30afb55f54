package nemesis

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name:   world.Stall.String(),
		Title:  "the connections that are open on the links carry nothing until the fault ends; connections opened later work",
		Powers: []world.Power{world.StallPower},
		New:    func() Fault { return &stall{} },
	})
}

// stall keeps back what is sent on the connections that are open, as a lost packet
// does until it is sent again, or a NAT that forgot the flow: who connects anew
// gets through.
type stall struct {
	disturbance `yaml:",inline"`
	Closes      time.Duration `yaml:"closes" doc:"after how long these connections are closed towards clients, as by a proxy on the way that has not yet passed on what it was sent: that still gets to the nodes when the fault ends. Without it they stay open and silent" min:"1ms" max:"10m"`
}

// Check implements Fault.
func (f *stall) Check(c Cast) []Complaint {
	list := f.disturbance.Check(c)
	if f.Closes > 0 && (f.Replica != "" || len(f.Groups) > 0) {
		list = append(list, Complaint{Key: "closes", Message: "connections of clients alone are closed: leave out replica and groups"})
	} else if f.Closes > 0 && len(f.Nodes) == 0 && !f.Resource && len(c.Sentinels) > 0 {
		list = append(list, Complaint{Key: "nodes", Message: "missing: connections to sentinels are not closed", Allowed: c.Endpoints})
	}
	if f.Closes > 0 && f.For > 0 && f.Closes >= f.For {
		list = append(list, Complaint{Key: "closes", Message: "the fault is over by then (for)"})
	}
	return list
}

// Impact implements Fault.
func (f *stall) Impact(w world.World) history.Impact {
	words := "were held back"
	if f.Closes > 0 {
		words += " (such a connection closes after " + f.Closes.String() + ")"
	}
	return f.impactOn(w, "messages on the open connections", words, history.Silences)
}

// Begin implements Fault.
func (f *stall) Begin(w world.World) (undo func() error, err error) {
	return f.begin(w, world.Disturbance{Kind: world.Stall, Closes: f.Closes})
}
