package nemesis

import (
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name:   "limit-data",
		Title:  "each connection ends after a given number of bytes",
		Powers: []world.Power{world.LimitData.Power()},
		New:    func() Fault { return &limitData{} },
	})
}

// limitData ends connections after some bytes.
type limitData struct {
	disturbance `yaml:",inline"`
	Bytes       int64 `yaml:"bytes" doc:"how many bytes pass" min:"0" max:"1000000000" required:"true"`
}

// Impact implements Fault.
func (f *limitData) Impact(w world.World) history.Impact {
	return f.impactOn(w, "connections", fmt.Sprintf("ended after %d bytes", f.Bytes), history.Breaks)
}

// Begin implements Fault.
func (f *limitData) Begin(w world.World) (undo func() error, err error) {
	return f.begin(w, world.Disturbance{Kind: world.LimitData, Bytes: f.Bytes})
}
