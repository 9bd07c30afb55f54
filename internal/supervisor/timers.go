//go:build linux && amd64

package supervisor

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// timer is a timerfd, an interval timer or a POSIX timer.
type timer struct {
	// at is when it is due next, 0: never. every is its period.
	at, every int64
	// clockTime, of a clock, is what it was set to; 0: a span of time.
	clockTime int64
	clock     int
	// due is when it rings.
	due *event
	// ring lets it be felt.
	ring func(p *process)
	// file is the eventfd that stands for a timerfd, of program.
	file    *file
	program *Program
}

func (x *timer) stop(s *Supervisor) {
	s.cancel(x.due)
	x.at, x.due = 0, nil
}

// start lets it ring when it is due.
func (x *timer) start(p *process) {
	h := p.program.host
	h.s.cancel(x.due)
	if x.due = nil; x.at == 0 || x.at >= never {
		return
	}
	var e *event
	due := func() {
		if x.due != e || p.zombie {
			return
		}
		if h.paused {
			h.due = append(h.due, e.do)
			return
		}
		if x.at, x.clockTime = 0, 0; x.every > 0 {
			x.at = h.s.now + x.every
		}
		x.ring(p)
		x.start(p)
	}
	at := x.at
	if at%step != 0 {
		at = nearest(at) + step
	}
	e = h.s.at(at, due)
	x.due = e
}

// allTimers are those of a process, in a fixed order.
func (p *process) allTimers() (list []*timer) {
	for _, k := range slices.Sorted(maps.Keys(p.timers)) {
		list = append(list, p.timers[k])
	}
	if p.alarm != nil {
		list = append(list, p.alarm)
	}
	return list
}

// readSpec reads when a timer is to be due (struct itimerspec or itimerval).
func (x *timer) readSpec(t *thread, address uint64, unit int64, absolute bool) {
	x.every = t.p.readTime(address, unit)
	x.at, x.clockTime = t.p.readTime(address+16, unit), 0
	switch {
	case x.at == 0:
	case absolute:
		x.clockTime = x.at
		x.at = max(t.until(x.clock, x.at), t.now()+1)
	default:
		x.at += t.now()
	}
}

// writeSpec tells what is left.
func (x *timer) writeSpec(t *thread, address uint64, unit int64) {
	if address == 0 {
		return
	}
	left := int64(0)
	if x.at > 0 {
		left = max(x.at-t.now(), unit)
	}
	t.p.writeTime(address, x.every, unit)
	t.p.writeTime(address+16, left, unit)
}

const absoluteTimer = 1 // TFD_TIMER_ABSTIME, TIMER_ABSTIME

func (t *thread) timerfdCreate() {
	a, g := &t.call.Args, t.p.program
	fd, err := unix.Eventfd(0, int(a[1])&unix.O_NONBLOCK|unix.O_CLOEXEC)
	if err != nil {
		t.failWith(err)
		return
	}
	f := newFile(fd)
	f.timer = &timer{program: g, file: f, clock: int(a[0]), ring: func(*process) {
		_, _ = unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0})
		g.dirty = true
	}}
	g.timerFDs = append(g.timerFDs, f.timer)
	if len(g.timerFDs) >= maxThreads {
		g.doubt("has more than %d timers", maxThreads)
	}
	t.handFile(f, a[1]&unix.O_CLOEXEC != 0)
	f.drop()
}

// forget: no process has the timerfd open.
func (x *timer) forget() {
	x.stop(x.program.host.s)
	x.program.timerFDs = removed(x.program.timerFDs, x)
}

// theTimerFD is the one that the call names; nil: there is none, and the call has failed.
func (t *thread) theTimerFD() *timer {
	f := t.argFile()
	if f == nil {
		return nil
	}
	if f.timer == nil {
		t.fail(unix.EINVAL)
	}
	return f.timer
}

func (t *thread) timerfdSettime() {
	a := &t.call.Args
	x := t.theTimerFD()
	if x == nil {
		return
	}
	x.writeSpec(t, a[3], timespec)
	x.readSpec(t, a[2], timespec, a[1]&absoluteTimer != 0)
	var count [8]byte
	if has(x.file.fd, unix.POLLIN) {
		_, _ = unix.Read(x.file.fd, count[:])
	}
	x.start(t.p.program.processes[0])
	t.answer(0)
}

func (t *thread) timerfdGettime() {
	if x := t.theTimerFD(); x != nil {
		x.writeSpec(t, t.call.Args[1], timespec)
		t.answer(0)
	}
}

// theAlarm is the process's timer of real time.
func (t *thread) theAlarm() *timer {
	if t.p.alarm == nil {
		t.p.alarm = &timer{clock: unix.CLOCK_MONOTONIC, ring: func(p *process) { p.signal(unix.SIGALRM, 0, 0) }}
	}
	return t.p.alarm
}

func (t *thread) setitimer() {
	a := &t.call.Args
	if a[0] != 0 { // of processor time: it never comes
		t.answer(0)
		return
	}
	x := t.theAlarm()
	x.writeSpec(t, a[2], timeval)
	x.readSpec(t, a[1], timeval, false)
	x.start(t.p)
	t.answer(0)
}

func (t *thread) getitimer() {
	x := &timer{}
	if t.call.Args[0] == 0 {
		x = t.theAlarm()
	}
	x.writeSpec(t, t.call.Args[1], timeval)
	t.answer(0)
}

func (t *thread) alarm() {
	x := t.theAlarm()
	left := int64(0)
	if x.at > 0 {
		left = (x.at - t.now() + 999_999_999) / 1e9
	}
	x.at, x.every, x.clockTime = 0, 0, 0
	if seconds := int64(uint32(t.call.Args[0])); seconds > 0 {
		x.at = t.now() + seconds*1e9
	}
	x.start(t.p)
	t.answer(left)
}

// How a POSIX timer tells that it is due (asm-generic/siginfo.h).
const (
	eventSignal = 0
	eventNone   = 1
	eventThread = 4 // a certain thread gets the signal
)

func (t *thread) timerCreate() {
	p, a := t.p, &t.call.Args
	p.lastTimer++
	signal, value, tid := unix.SIGALRM, uint64(p.lastTimer-1), 0
	if a[1] != 0 {
		var b [20]byte // struct sigevent
		p.read(a[1], b[:])
		value = binary.LittleEndian.Uint64(b[:])
		signal = unix.Signal(binary.LittleEndian.Uint32(b[8:]))
		switch how := binary.LittleEndian.Uint32(b[12:]); how {
		case eventSignal:
		case eventNone:
			signal = 0
		case eventThread:
			inside := p.program.meant(int(binary.LittleEndian.Uint32(b[16:])))
			for _, o := range p.threads {
				if o.inside() == inside {
					tid = o.tid
				}
			}
			if tid == 0 {
				t.fail(unix.EINVAL)
				return
			}
		default:
			t.fail(unix.EINVAL)
			return
		}
	}
	p.timers[p.lastTimer] = &timer{clock: int(int32(a[0])), ring: func(p *process) { p.signal(signal, tid, value) }}
	p.writeWord(a[2], uint32(p.lastTimer))
	t.answer(0)
}

// inside is the thread's number as the program sees it.
func (t *thread) inside() int {
	list := strings.Fields(statusLine(t.tid, "NSpid"))
	if len(list) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(list[len(list)-1])
	return n
}

// aTimer is the one that the call names; nil: there is none, and the call has failed.
func (t *thread) aTimer() *timer {
	x := t.p.timers[int(t.call.Args[0])]
	if x == nil {
		t.fail(unix.EINVAL)
	}
	return x
}

func (t *thread) timerSettime() {
	if x := t.aTimer(); x != nil {
		x.writeSpec(t, t.call.Args[3], timespec)
		x.readSpec(t, t.call.Args[2], timespec, t.call.Args[1]&absoluteTimer != 0)
		x.start(t.p)
		t.answer(0)
	}
}

func (t *thread) timerGettime() {
	if x := t.aTimer(); x != nil {
		x.writeSpec(t, t.call.Args[1], timespec)
		t.answer(0)
	}
}

func (t *thread) timerDelete() {
	if x := t.aTimer(); x != nil {
		x.stop(t.host().s)
		delete(t.p.timers, int(t.call.Args[0]))
		t.answer(0)
	}
}

func (t *thread) timerOverrun() {
	if t.aTimer() != nil {
		t.answer(0)
	}
}

// failWith lets a call fail as one of ours did.
func (t *thread) failWith(err error) {
	var e unix.Errno
	if !errors.As(err, &e) {
		e = unix.EIO
	}
	t.fail(e)
}
