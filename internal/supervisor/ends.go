//go:build linux && amd64

package supervisor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// findEnded finds processes that have ended without a call.
func (g *Program) findEnded() {
	for _, p := range slices.Clone(g.processes) {
		if !p.zombie && has(p.pidfd, unix.POLLIN) {
			p.gone()
		}
	}
}

// gone: a signal has ended a process.
func (p *process) gone() {
	for _, t := range p.threads {
		if t.wait == nil && !slices.Contains(p.program.ready, t) {
			p.program.running--
		}
	}
	p.awaitEnd()
}

// findKilled finds processes that a signal ends that another one has sent: they end before anything else is done.
func (g *Program) findKilled() {
	if !g.mayEnd {
		return
	}
	g.mayEnd = false
	for _, p := range slices.Clone(g.processes) {
		if p.zombie {
			continue
		}
		const killed = 1 << (unix.SIGKILL - 1)
		for _, t := range p.threads {
			text, err := os.ReadFile("/proc/" + strconv.Itoa(t.tid) + "/status")
			if err != nil || numberIn(text, "SigPnd")&killed != 0 {
				p.gone()
				break
			}
		}
	}
}

// needNotWait reports whether a wait for a child would end at once: one has ended, or there is none.
func (p *process) needNotWait(which int) bool { return p.hasZombie(which) || !p.hasChild(which) }

// anyChild stands for the number of any child.
const anyChild = -1

func (p *process) hasChild(which int) bool {
	return slices.ContainsFunc(p.program.processes, func(o *process) bool { return o.isChild(p, which) })
}

func (p *process) isChild(of *process, which int) bool {
	return p.parent == of && !p.reaped && (which == anyChild || p.inside == which)
}

// hasZombie: a child has ended and has not been waited for.
func (p *process) hasZombie(which int) bool {
	for _, o := range p.program.processes {
		if !o.zombie || !o.isChild(p, which) {
			continue
		}
		if _, err := os.Stat("/proc/" + strconv.Itoa(o.pid)); err == nil {
			return true
		}
		o.reaped = true
	}
	return false
}

// endWithin bounds how long a process or a thread may take to end, once it has begun to: milliseconds, on a machine that is not busy.
const endWithin = time.Minute

// awaitEnd waits until a process that is to end has ended. Those that the program's first process has begun end with it.
func (p *process) awaitEnd() {
	if p.zombie {
		return
	}
	fds := []unix.PollFd{{Fd: int32(p.pidfd), Events: unix.POLLIN}}
	g := p.program
	for {
		n, err := unix.Poll(fds, int(endWithin.Milliseconds()))
		if n > 0 {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			g.doubt("does not end")
			break
		}
	}
	for _, t := range slices.Clone(p.threads) {
		g.forgetThread(t)
	}
	p.zombie, g.polled = true, nil
	p.files.leave()
	p.closeMemory()
	for _, o := range g.processes {
		if o.parent == p { // its children are others' now
			o.parent, o.reaped = nil, true
		}
	}
	if p.parent != nil {
		p.parent.signalled = true
	}
	if p.vforked { // who has begun it goes on
		p.vforked = false
		g.running++
	}
	g.host.s.wakeOrphans(p.memory)
	if p == g.processes[0] {
		p.reap()
		for _, o := range g.processes {
			o.kill()
		}
		for _, o := range g.processes {
			o.awaitEnd()
		}
		g.end(p.how)
	}
}

// others are the commands of the processes that live beside the first.
func (g *Program) others() (list []string) {
	for _, p := range g.processes[1:] {
		if text, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline"); err == nil && len(text) > 0 && !p.zombie {
			list = append(list, strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " ")))
		}
	}
	return list
}

// reap learns how the program's first process has ended, which is our child.
func (p *process) reap() {
	if p.reaped {
		return
	}
	p.reaped = true
	var status unix.WaitStatus
	for {
		if _, err := unix.Wait4(p.pid, &status, 0, nil); err != unix.EINTR {
			break
		}
	}
	switch {
	case p.how != "":
	case status.Signaled():
		p.how = "ended by " + signalName(status.Signal())
	case status.ExitStatus() != 0:
		p.how = fmt.Sprintf("ended with exit status %d", status.ExitStatus())
	default:
		p.how = "ended"
	}
}
