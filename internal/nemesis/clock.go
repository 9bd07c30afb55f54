package nemesis

import (
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name:   "clock",
		Title:  "a clock jumps, runs fast or slow, stops, or jumps forward and back again and again",
		Powers: []world.Power{world.NodeClockPower, world.ClientClockPower},
		New:    func() Fault { return &clock{} },
	})
}

// clock bends a clock of a node or a client.
type clock struct {
	process `yaml:",inline"`
	Which   world.Which   `yaml:"which" doc:"which clock of a client; a node and a sentinel have only the wall clock, by which Redis expires keys and a sentinel measures all times" default:"wall" values:"wall,monotonic"`
	Jump    time.Duration `yaml:"jump" doc:"the clock jumps forward by this much, or back where it is negative" min:"-24h" max:"24h"`
	Rate    float64       `yaml:"rate" doc:"the clock runs at this multiple of the true rate: 1.1 is 10 % fast, 0 stands still" min:"0" max:"100" default:"1"`
	Strobe  time.Duration `yaml:"strobe" doc:"the clock jumps forward and back by jump, once every so often" min:"10ms" max:"1m"`
	For     time.Duration `yaml:"for" doc:"after this long the clock is right again; without it, when everything heals" min:"1ms" max:"10m"`
}

// Powers are one of the two: clocks of nodes take preparation.
func (c *clock) Powers() []world.Power {
	if c.Client != "" {
		return []world.Power{world.ClientClockPower}
	}
	return []world.Power{world.NodeClockPower}
}

// MovesMonotonic reports that a fault moves a monotonic clock.
func MovesMonotonic(f Fault) bool {
	c, ok := f.(*clock)
	return ok && c.Which == world.MonotonicClock
}

func (c *clock) Length() time.Duration { return c.For }

func (c *clock) Check(cast Cast) []Complaint {
	list := c.check(cast, 0)
	if c.Client == "" && c.Which == world.MonotonicClock {
		list = append(list, Complaint{Key: "which", Message: "a node or a sentinel has no clock but its wall clock"})
	}
	if c.Which == world.MonotonicClock && c.Jump < 0 {
		list = append(list, Complaint{Key: "jump", Message: "a monotonic clock never goes back"})
	}
	if c.Jump == 0 && c.Rate == 1 {
		list = append(list, Complaint{Message: "say how the clock goes wrong: jump, rate or strobe"})
	}
	if c.Strobe > 0 && (c.Jump == 0 || c.Client != "") {
		list = append(list, Complaint{Key: "strobe", Message: "a strobe needs a jump, and a node"})
	}
	return list
}

// Impact implements Fault.
func (c *clock) Impact(w world.World) history.Impact {
	i := c.impact(w, "", history.BendsClock)
	i.Words = "the clock of " + c.called(w) + " " + c.howWrong()
	return i
}

// howWrong says how the clock goes wrong.
func (c *clock) howWrong() string {
	pace := ""
	switch {
	case c.Strobe > 0:
		return fmt.Sprintf("jumped by %v and back every %v", c.Jump, c.Strobe)
	case c.Rate == 0:
		pace = "stood still"
	case c.Rate != 1:
		pace = fmt.Sprintf("ran at %g times the true rate", c.Rate)
	}
	jump := ""
	if c.Jump > 0 {
		jump = fmt.Sprintf("jumped forward by %v", c.Jump)
	} else if c.Jump < 0 {
		jump = fmt.Sprintf("jumped back by %v", -c.Jump)
	}
	if pace == "" {
		return jump + " and was wrong"
	}
	if jump == "" {
		return pace
	}
	return jump + " and " + pace
}

func (c *clock) Begin(w world.World) (undo func() error, err error) {
	return func() error { return w.ResetClock(c.Target(), c.Which) },
		w.SetClock(c.Target(), c.Which, world.ClockFault{Jump: c.Jump, Rate: c.Rate, Strobe: c.Strobe})
}
