package conform

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
)

const mendCancel = "end the library's call when the request is cancelled, as its users do " +
	`(a context, an interrupt, a task that is cancelled); or do not say that the program can "cancel"`

// How c2 is cancelled while it asks for a lock that nobody has: a little later each time, until it has the lock by then.
const (
	laterBy   = 100 * time.Microsecond
	mostLater = 20
)

// cancelled cancels c2 while it waits for the lock that c1 has, and while it asks for it when nobody has it: it answers soon. Once c1 has
// given the lock back, nothing stays of what was refused, and c3 gets the lock, and c2.
func cancelled(ctx context.Context, s *suite) error {
	s.closeAll()
	defer s.closeAll()
	c2, err := s.client(ctx, "c2")
	if err != nil {
		return err
	}
	c3, err := s.client(ctx, "c3")
	if err != nil {
		return err
	}
	c1, h, err := s.takes(ctx, "c1")
	if err != nil {
		return err
	}
	waits, _, err := s.cancels(ctx, c2, s.ttl()/8)
	switch {
	case err != nil:
		return err
	case !s.inTime(h) && !s.ready.Has(program.Renews):
		return errLate
	case waits.Type == program.Acquired:
		return c2.finding("c2 was cancelled while it waited for the lock that c1 held, and got it",
			"refused or unknown, as long as c1 holds it", "")
	}
	if err := s.give(ctx, c1, h); err != nil {
		return err
	}
	if err := s.leavesNothing(ctx, c2, waits, "while it waited for the lock that c1 held"); err != nil {
		return err
	}
	if err := s.cancelsAsking(ctx, c2); err != nil {
		return err
	}
	for _, c := range []*client{c3, c2} {
		h, err := s.get(ctx, c)
		if err != nil {
			return amend(err, "c2 had been cancelled while it asked for the lock",
				"take back what an attempt has set that is cancelled, with a context of its own")
		}
		if err := s.give(ctx, c, h); err != nil {
			return err
		}
	}
	return nil
}

// cancelsAsking cancels a client while it asks for a lock that nobody has. If it is not known what came of that, the key may stay for a
// TTL.
func (s *suite) cancelsAsking(ctx context.Context, c *client) error {
	for n := range mostLater {
		a, early, err := s.cancels(ctx, c, time.Duration(n)*laterBy)
		switch {
		case err != nil:
			return err
		case a.Type == program.Acquired:
			now := s.place.now()
			if err := s.give(ctx, c, held{Answer: a, asked: now, until: now + s.ttl()}); err != nil || early {
				return err
			}
		case a.Type == program.Unknown:
			return nil
		default:
			if err := s.leavesNothing(ctx, c, a, "while it asked for a lock that nobody held"); err != nil {
				return err
			}
		}
	}
	return nil
}

// cancels has a client ask for the lock, and cancels that after a while. It is answered within a quarter of the TTL then; early: before.
func (s *suite) cancels(ctx context.Context, c *client, after time.Duration) (a program.Answer, early bool, err error) {
	m := acquireMessage(10 * s.ttl())
	m.Client = c.whose()
	answer := c.open(m)
	answered := func() (done bool, err error) {
		if a, done, err = answer(); err != nil {
			return done, c.failed(ctx, m.Type, err)
		}
		return done, nil
	}
	if err := s.place.sleep(ctx, after); err != nil {
		return a, false, err
	}
	if early, err = answered(); early || err != nil {
		return a, early, err
	}
	c.cancel()
	began := s.place.now()
	soon, err := s.eventually(ctx, s.ttl()/4, answered)
	if err == nil && !soon {
		late := "was not answered within %v"
		if is, _ := s.eventually(ctx, 10*s.ttl(), answered); is {
			late = "answered %v later"
		}
		err = c.finding(fmt.Sprintf("%s was cancelled while it asked for the lock, and "+late, c.name, round(s.place.now()-began)),
			fmt.Sprintf("an answer within %v, a quarter of the TTL", s.ttl()/4), mendCancel)
	}
	return a, false, err
}

// leavesNothing wants that no key of the lock is there, if an attempt was refused. A counter of permits or readers stays at 0.
func (s *suite) leavesNothing(ctx context.Context, c *client, a program.Answer, when string) error {
	counts := s.ready.Has(program.HasPermits) || s.ready.Has(program.HasModes)
	if a.Type != program.Refused || s.ready.Class == program.Session || counts {
		return nil
	}
	var left []entry
	gone, err := s.eventually(ctx, s.ttl()/8, func() (bool, error) {
		var err error
		left, err = s.nodes.locks(ctx, s)
		left = slices.DeleteFunc(left, func(e entry) bool { return !s.named(e.name) || s.isCounter(e) })
		return len(left) == 0, err
	})
	if err != nil || gone {
		return err
	}
	return c.finding(fmt.Sprintf("%s was cancelled %s, and said refused; %v later a key of the lock is there: %s",
		c.name, when, s.ttl()/8, texts(left)),
		"no key: refused says that nothing of the attempt stays",
		"take back what the attempt has set, with a context of its own; "+
			"or say unknown, if the library only says that it was cancelled").against(progress)
}
