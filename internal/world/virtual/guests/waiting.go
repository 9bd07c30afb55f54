//go:build linux && amd64

package guests

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/supervisor"
)

// waitingProgram is a lock program between two runs.
type waitingProgram struct {
	running *supervisor.Program
	ready   program.Ready
	// conns are its connections of the run before.
	conns []*supervisor.Conn
}

// mayStay reports that the program can be set up again: it says so, nothing is asked of it, and it does nothing by itself.
func (p *lockProgram) mayStay() bool {
	return p.opened && p.failed == nil && !p.doubtful && p.running != nil && !p.running.HasEnded() &&
		slices.Contains(p.talk.Ready.Can, program.SetsUpAgain) && p.talk.Idle() && !p.m.Stands()
}

// goOn lets a program begin that the run before has left. If it cannot be set up again, or holds on to what it had there, another one is
// started.
func (p *lockProgram) goOn(left *waitingProgram) {
	delete(p.g.waiting, p.m.Client())
	p.running, p.talk.Ready, p.again = left.running, left.ready, true
	o := p.outputs()
	p.running.Output, p.running.Errors, p.running.Ended = o.Output, o.Errors, o.Ended
	// Some count whole milliseconds, as Node.js does: one begins for them when it would in a program that was just started.
	p.host.Skip(-(p.host.ReadMonotonic() - p.g.sup.Now()) % time.Millisecond)
	p.booted = p.host.ReadMonotonic() - p.g.sup.Now()
	p.host.SetClocks(wallAtStart, p.host.Monotonic())
	again := func() {
		p.g.settle() // what it has closed is seen
		if slices.ContainsFunc(left.conns, func(c *supervisor.Conn) bool { return c.IsOpen(supervisor.Opener) }) {
			p.startAnother("when it said that it was set up again, a connection of the trial before was open")
			return
		}
		for _, c := range left.conns {
			c.Reset(supervisor.Opener) // of what was never opened, our side is left
		}
		p.again = false
		p.isOpen()
	}
	p.g.whenTogether(func() { p.setUp(again) })
}

// startAnother starts a program in the place of one that was to be set up again, and says why.
func (p *lockProgram) startAnother(why string) {
	p.again = false
	p.running.Kill()
	p.talk = program.Conversation{Log: p.talk.Log, On: p.talk.On}
	p.g.keeper.again++
	p.g.keeper.why = why
	if err := p.start(); err != nil {
		p.fail(err)
	}
}

// Late implements virtual.Locks.
func (g *guests) Late() (anew bool) {
	for _, name := range g.processes() {
		if p := g.clients[name]; p != nil && p.again {
			p.startAnother("it was not set up again in time")
			anew = true
		}
	}
	return anew
}

// rest lets timers that a program still has come now: an interpreter's own, or that of a connection which is closed. In a run they would
// make it wait once more, a little longer.
func (p *lockProgram) rest() {
	const times, each = 10, 10 * time.Second
	for range times {
		p.host.Skip(each)
		p.g.settle()
	}
}

// quiet is for how long a lock program must do nothing before it is set up again, in its time: a lock that is renewed by mistake is renewed
// within its time to live.
func (g *guests) quiet() time.Duration {
	return min(max(g.spec.Lock.LongestTTL(), time.Second), time.Minute)
}

// keepPrograms lets lock programs wait for the next run, if they do nothing meanwhile.
func (g *guests) keepPrograms() {
	for _, p := range g.clients { // what a fault did to its clocks is over
		p.host.SetClocks(wallAtStart, supervisor.Clock{Base: int64(p.host.ReadMonotonic()), Since: int64(g.sup.Now()), Rate: 1})
	}
	g.inbox, g.stirred = nil, false
	end := g.sup.Now() + g.quiet()
	silent := func() bool { return !g.stirred && len(g.inbox) == 0 }
	for g.sup.Now() < end && !g.over() && silent() {
		g.sup.Run(end)
	}
	for _, p := range g.clients {
		if silent() {
			p.rest()
		}
	}
	for name, p := range g.clients {
		switch {
		case p.running == nil:
		case p.stays && silent() && !p.running.HasEnded():
			g.waiting[name] = &waitingProgram{p.running, p.talk.Ready, p.old}
			g.keeper.waited++
		default:
			if p.stays {
				g.keeper.why = fmt.Sprintf("after a trial it said something, opened or closed a connection, or ended, within %v", g.quiet())
			}
			g.keeper.stopped++
			p.running.Kill()
		}
	}
}
