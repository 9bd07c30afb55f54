package virtual

import (
	"math"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/command"
)

// Mostly a request goes to a node and comes back before anything else happens.
// Then there is no need to park whoever waits for it, nor to bother the queue of
// events: time is moved on directly. What is drawn and what happens is the same.

// quietUntil is the time up to which nothing happens by itself; 0, where
// something happens at once.
func (s *scheduler) quietUntil() time.Duration {
	if s.sinceLook++; s.sinceLook >= lookEvery {
		return 0
	}
	if !s.lookedAhead {
		s.quiet, s.lookedAhead = s.lookAhead(), true
	}
	return s.quiet
}

// lookAhead finds out what quietUntil says. It holds until somebody is woken, an
// event is added, or one happens.
func (s *scheduler) lookAhead() time.Duration {
	if s.ready.n() > 0 || s.pick != nil || s.stopped {
		return 0
	}
	if at, some := s.due(); some {
		return at
	}
	return math.MaxInt64
}

// doze lets time pass without parking anybody; false: something happens before.
func (s *scheduler) doze(d time.Duration) bool {
	if s.now+d >= s.quietUntil() {
		return false
	}
	s.now += d
	return true
}

// undisturbed reports that messages pass the link, and that its node serves them.
func (l *link) undisturbed() bool {
	return len(l.ways[requests].toxics) == 0 && len(l.ways[answers].toxics) == 0 && l.to.up && !l.to.paused
}

// progress is how far a message came without anything else happening.
type progress uint8

const (
	// unsent: it was not sent.
	unsent progress = iota
	// onItsWay, onItsWayBack: it was, or its answer, and arrives when the link's
	// arrival says.
	onItsWay
	onItsWayBack
	// answered: the answer is there; unheard: the node does not know the script.
	answered
	unheard
)

// quick carries a command to the node and its answer back, as far as nothing
// happens before, nor the deadline comes.
func (l *link) quick(conn *connection, deadline time.Duration, cmd *command.Command, reply *command.Reply) progress {
	s := &l.w.s
	until := min(s.quietUntil(), deadline)
	if until <= s.now || !l.undisturbed() {
		return unsent
	}
	random := l.rand.Uint64() // for there and back
	if l.arrival = s.now + l.takes(random>>32); l.arrival >= until {
		return onItsWay
	}
	s.now = l.arrival
	n := l.to
	n.look()
	n.disk.tick(n, n.memory.now)
	known := n.obey(cmd, l, conn, false, reply)
	if !s.lookedAhead { // replicas have something to do now
		until = min(s.quietUntil(), deadline)
	}
	if l.arrival = s.now + l.takes(random&math.MaxUint32); l.arrival >= until {
		l.unheard = !known
		return onItsWayBack
	}
	if s.now = l.arrival; !known {
		return unheard
	}
	return answered
}

// goOn puts a call on the rest of its way, which ends at the link's arrival.
func (k *call) goOn(dir int) {
	l := k.link
	k.epoch = l.epoch
	k.dir, k.stage, k.through = dir, 0, true
	l.pending = append(l.pending, k)
	l.w.s.push(event{at: l.arrival, call: k, epoch: k.way})
}
