//go:build linux && amd64

package supervisor

import (
	"container/heap"
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const never = int64(math.MaxInt64)

// Config says how the time of programs begins, and who carries what they send.
type Config struct {
	// Seed is that of all randomness.
	Seed uint64
	// Wall is the time of day at the time 0, counted from 1970.
	Wall time.Duration
	// Network carries what programs send to each other.
	Network Network
	// Done ends what goes on when it is closed; nil: nothing does.
	Done <-chan struct{}
}

// Network is who carries what programs send. It is called while all threads of the program wait, and calls nothing of the
// supervisor but the methods of Conn.
type Network interface {
	// Dial: a program opens a connection. It is answered, now or later, by Conn.Open or Conn.Refuse.
	Dial(c *Conn)
	// Sent: what was written at an end of a connection, Opener or Listener, since it was asked last.
	Sent(c *Conn, end int, b []byte)
	// Closed: an end sends nothing more. gone: it takes nothing, either.
	Closed(c *Conn, end int, gone bool)
}

// Supervisor runs programs in virtual time. It is for one goroutine, which is bound to its thread from New to Close.
type Supervisor struct {
	Config
	now    int64
	events eventQueue
	made   uint64

	hosts    []*Host
	programs []*Program
	// doubt is why what happens tells nothing; empty: it does.
	doubt string
	// told: something was told since Run began.
	told bool

	// hub is a Unix socket that listens: the other end of each connection that a program opens.
	hub        int
	hubAddress unix.SockaddrUnix
	// coming are connections that a listener has not accepted, by the name of our end.
	coming map[string]*Conn
	names  int
	conns  uint64
	// futexes are who waits for them, in this order; trying are threads whose wait is to be tried again and again.
	futexes  map[futexKey][]*thread
	trying   []*thread
	memories uint64
	// mask are the signals that were blocked before Bind; bound: a goroutine is bound to its thread.
	mask   unix.Sigset_t
	bound  bool
	watch  watchdog
	closed bool
	// calls counts the calls that were notified, digest is one of all of them with their times.
	calls, digest uint64
}

// MonotonicAtStart is what the monotonic clocks of all hosts show at the time 0.
const MonotonicAtStart = time.Hour

// New makes a supervisor. It binds the calling goroutine to its thread.
func New(c Config) (*Supervisor, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	s := &Supervisor{Config: c, hub: -1, coming: make(map[string]*Conn),
		futexes: make(map[futexKey][]*thread)}
	var err error
	if s.hub, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		return nil, fmt.Errorf("failed to make a socket: %w", err)
	}
	err = unix.Bind(s.hub, &unix.SockaddrUnix{})
	if err == nil {
		err = unix.Listen(s.hub, 512)
	}
	var at unix.Sockaddr
	if err == nil {
		at, err = unix.Getsockname(s.hub)
	}
	if err != nil {
		closeFD(s.hub)
		return nil, fmt.Errorf("failed to make a socket: %w", err)
	}
	if u, ok := at.(*unix.SockaddrUnix); ok {
		s.hubAddress = *u
	}
	if err := s.Bind(); err != nil {
		closeFD(s.hub)
		return nil, err
	}
	s.watch.start()
	return s, nil
}

// Now is the time since New, in which programs live.
func (s *Supervisor) Now() time.Duration { return time.Duration(s.now) }

// Doubt is why what happens tells nothing: what a program did is not modelled. Nothing goes on then.
func (s *Supervisor) Doubt() string { return s.doubt }

// Calls is how many calls of programs were notified.
func (s *Supervisor) Calls() uint64 { return s.calls }

func (s *Supervisor) unknown(format string, args ...any) {
	if s.doubt == "" {
		s.doubt = fmt.Sprintf(format, args...)
		s.told = true
	}
}

// Run lets programs run, and time pass: until a time, or the earlier one at which something was told.
func (s *Supervisor) Run(until time.Duration) {
	s.told = false
	s.settle()
	for s.doubt == "" && !s.told && !s.isDone() {
		if len(s.events) == 0 || s.events[0].at > int64(until) {
			s.now = max(s.now, int64(until))
			return
		}
		e, _ := heap.Pop(&s.events).(*event)
		s.now = max(s.now, e.at)
		e.do()
		s.settle()
	}
}

// settle lets all programs run until all of them wait.
func (s *Supervisor) settle() {
	for again := true; again && s.doubt == "" && !s.isDone(); {
		again = false
		for _, g := range s.programs {
			for !g.ended && !g.host.paused && len(g.ready) > 0 && s.doubt == "" {
				again = true
				g.run()
			}
			if g.dirty && !g.host.paused {
				again = true
				g.collect()
				if !g.ended {
					g.look()
				}
				g.dirty = false
			}
		}
		again = s.retry() || again
	}
	s.watch.doubted(s)
}

// isDone reports that what goes on is to end.
func (s *Supervisor) isDone() bool {
	select {
	case <-s.Done:
		return true
	default:
		return false
	}
}

// retry tries again the waits that no descriptor shows the end of. Of those that are over the first goes on, and then the others are
// tried: it may have taken what they wait for.
func (s *Supervisor) retry() bool {
	for _, t := range s.trying {
		if w := t.wait; w != nil && !t.host().paused && w.try() {
			t.redo = w.again
			t.wake(t.reply)
			return true
		}
	}
	return false
}

// Close ends all programs.
func (s *Supervisor) Close() {
	if s.closed {
		return
	}
	s.closed = true
	for _, g := range s.programs {
		g.Kill()
		g.release()
	}
	s.watch.stop()
	closeFD(s.hub)
	s.Unbind()
}

// event is something that happens at a time, in the order of (time, number).
type event struct {
	at     int64
	number uint64
	do     func()
	// index is its place in the queue; -1: it is not in there.
	index int
}

type eventQueue []*event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].number < q[j].number
}
func (q eventQueue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *eventQueue) Push(x any) {
	if e, ok := x.(*event); ok {
		e.index = len(*q)
		*q = append(*q, e)
	}
}

func (q *eventQueue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	e.index = -1
	return e
}

func (s *Supervisor) at(at int64, do func()) *event {
	s.made++
	e := &event{at: max(at, s.now), number: s.made, do: do}
	heap.Push(&s.events, e)
	return e
}

// cancel takes an event out of the queue, if it is in there.
func (s *Supervisor) cancel(e *event) {
	if e != nil && e.index >= 0 {
		heap.Remove(&s.events, e.index)
	}
}

// removed takes values out of a list that meet a condition.
func removed[T comparable](list []T, x T) []T {
	return slices.DeleteFunc(list, func(o T) bool { return o == x })
}

// mixed is a hash of numbers.
func mixed(numbers ...uint64) (h uint64) {
	for _, n := range numbers {
		h += n + 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}
