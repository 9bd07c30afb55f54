package virtual

import (
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Clock is a clock of a client's machine: it showed Base at the run time Since, and goes Rate times as fast as the time does.
type Clock struct {
	Base, Since time.Duration
	Rate        float64
}

// clock is the bend of a clock that would show zero at the beginning of the run.
func (b *bend) clock(zero time.Duration) Clock {
	if !b.bent {
		return Clock{Base: zero, Rate: 1}
	}
	return Clock{Base: b.base, Since: b.since - zero, Rate: b.rate}
}

// faults are what a guest wants to know of those that strike its machine.
type faults struct {
	pause, resume func()
	clocks        func(wall, monotonic Clock)
}

// OnPause lets functions be called when the process is stopped, and when it is to go on.
func (m *Machine) OnPause(pause, resume func()) { m.faults.pause, m.faults.resume = pause, resume }

// OnClocks lets f be called when the machine's clocks are set: at an instant of the run, they go as told from then on.
func (m *Machine) OnClocks(f func(wall, monotonic Clock)) { m.faults.clocks = f }

// Stands reports that the process has been stopped.
func (m *Machine) Stands() bool { return m.c.paused }

func (m *Machine) tell(what func()) {
	if m != nil && !m.ended && what != nil {
		what()
	}
}

// clocksSet tells the guest how the machine's clocks go.
func (c *clientHost) clocksSet() {
	if m := c.machine; m != nil && !m.ended && m.faults.clocks != nil {
		m.faults.clocks(c.wall.clock(c.w.wallZero), c.monotonic.clock(bootedBefore))
	}
}

// LostAt records that the lock told a client of a loss: at a time of the run, or at most so long before it.
func (m *Machine) LostAt(client, owner string, at, uncertain time.Duration, why string) {
	m.c.w.record(history.Event{Process: client, Type: history.Info, F: history.Lost, Error: history.SomeText(why),
		Value: history.Value{Owner: owner, Outcome: &history.Outcome{At: history.Some(int64(at)), AtError: int64(uncertain)}}})
}

// ProgramEnded records that the lock program ended by itself: how, and what it had printed last. All its clients end with it.
func (m *Machine) ProgramEnded(how string, printed []string) {
	w := m.c.w
	w.touchAll()
	for _, name := range m.Process() {
		w.record(client.ProgramEnded(name, how, printed))
	}
	m.c.kill()
}

// AtPoint lets a fault strike at a point of the lock to which a client has come. The lock goes
// on when done is called, if the process is still there.
func (m *Machine) AtPoint(client, name string, done func()) {
	w := m.c.w
	hook := w.hooks.Point
	if hook == nil || !slices.Contains(w.spec.Points, name) {
		done()
		return
	}
	w.Go(func() {
		hook(client, name)
		m.Do(done)
	})
}
