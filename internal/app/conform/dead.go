package conform

import (
	"context"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
)

// How long a client may need to get a lock one of whose nodes is dead, or to say that it cannot. In virtual time it costs nothing.
const deadVirtual, deadLive = 5 * time.Minute, time.Minute

func deadNode(ctx context.Context, s *suite) error {
	c1, err := s.client(ctx, "c1")
	if err != nil {
		return err
	}
	dead := s.nodes.list[len(s.nodes.list)-1] // the first may count tokens
	s.disturbed = true
	if err := dead.kill(); err != nil {
		return err
	}
	if err := s.place.sleep(ctx, pause); err != nil { // the library sees that its connection has ended, and is asked then
		return err
	}
	if s.patient = deadVirtual; s.Virtual == nil {
		s.patient = deadLive
	}
	goesOn := s.withOneDead
	if len(s.nodes.list) == 1 {
		goesOn = s.withNone
	}
	needs, err := goesOn(ctx, c1)
	if err != nil {
		return err
	}
	s.patient, s.deadNode = 0, 0
	slack := s.nodeTimeout()
	if s.Virtual == nil { // where the machine takes its time, too
		slack += time.Second
	}
	if needs > slack {
		s.deadNode = needs
		s.note("with a dead node its client needs %v; setup asks for %v a node (node_timeout_ms)", round(needs), s.nodeTimeout())
	}
	if err := dead.restart(ctx); err != nil {
		return err
	}
	h, err := s.getWithin(ctx, c1, s.ttl()+20*time.Second)
	if err != nil {
		return counts(amend(err, "its node "+dead.name()+" had been dead for a while", "let the library connect again"), progress)
	}
	return s.give(ctx, c1, h)
}

// withNone is what a client does whose only node is dead: it must answer, and not have the lock. It returns how long it needs beyond its
// wait.
func (s *suite) withNone(ctx context.Context, c1 *client) (needs time.Duration, err error) {
	asked, wait := s.place.now(), s.ttl()/4
	a, err := s.acquire(ctx, c1, wait)
	if err != nil {
		return 0, counts(amendDead(err), progress) // one of one is no minority
	}
	if a.Type == program.Acquired {
		err = c1.finding("c1 got the lock, though its only node is dead", "refused or unknown", "ask the node").against(exclusive)
	}
	return s.place.now() - asked - wait, err
}

// withOneDead is what a quorum must be able to do with a dead node: go on, and begin. It returns how long the client that takes longest
// needs to get the lock, or to give it back.
func (s *suite) withOneDead(ctx context.Context, c1 *client) (needs time.Duration, err error) {
	timed := func(do func() error) {
		began := s.place.now()
		if err == nil {
			err = do()
		}
		needs = max(needs, s.place.now()-began)
	}
	cycle := func(c *client) {
		var h held
		timed(func() (err error) { h, err = s.getWithin(ctx, c, s.patient); return err })
		timed(func() error { return s.give(ctx, c, h) })
	}
	cycle(c1)
	s.close("c2")
	var c2 *client
	if err == nil {
		c2, err = s.greet(ctx, "c2")
	}
	timed(func() error { return s.setUp(ctx, c2, "c2", nil, 0) })
	cycle(c2)
	return needs, amendDead(err)
}

func amendDead(err error) error {
	return amend(err, "a node is dead",
		"a node that cannot be reached counts as a no: neither connecting nor locking may fail, hang or end the program because of it")
}
