package conform

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// leased reports that the lock keeps its lease in the value of its key, so that the key's own end says nothing.
func (s *suite) leased() bool { return s.ready.LeaseInValue() }

// leaseEnds sees when another client gets the lock of a holder that does not give it back: not before it has lasted for a while at
// least. A holder that renews is killed.
func (s *suite) leaseEnds(ctx context.Context, c1 *client, h held, least time.Duration) error {
	const mend = "keep ttl_ms in the value of the key, in the unit that the library wants, and cut neither it nor the time of day"
	if s.ready.Has(program.Renews) {
		c1.kill()
	}
	c2, err := s.client(ctx, "c2")
	if err != nil {
		return err
	}
	next, err := s.getWithin(ctx, c2, 3*s.ttl()+time.Second)
	if err != nil {
		return counts(amend(err, fmt.Sprintf("c1 had got it before, for %v", s.ttl()), mend), deadHolder)
	}
	if after := next.answered - h.asked; after < least {
		return c2.finding(fmt.Sprintf("c2 got the lock %v after c1 had asked for it for %v", round(after), s.ttl()),
			"a lease of lock.ttl_ms in setup", mend)
	}
	return s.give(ctx, c2, next)
}

// leaseExtended sees that another client does not get the lock of a holder that has extended it for as long as that lasts, save
// for a quarter of a TTL.
func (s *suite) leaseExtended(ctx context.Context, c1 *client, h held, extended time.Duration) error {
	c2, err := s.client(ctx, "c2")
	if err != nil {
		return err
	}
	for {
		left := extended + 3*s.ttl()/4 - s.place.now()
		if left < program.MinWait {
			break
		}
		a, err := s.acquire(ctx, c2, left)
		if err != nil {
			return err
		}
		if got := s.place.now() - extended; a.Type == program.Acquired && got < s.ttl() {
			return c2.finding(fmt.Sprintf("c1 extended the lock for %v, and %v later c2 got it", s.ttl(), round(got)),
				"nobody else gets the lock in this time", "extend by lock.ttl_ms, in the unit that the library wants")
		}
	}
	if s.place.now()-extended > s.ttl() {
		return errLate
	}
	h.until = extended + s.ttl()
	return s.give(ctx, c1, h)
}

// doesWithoutTTL sets clients up without a TTL: the keys have no end then, and a release frees the lock.
func doesWithoutTTL(ctx context.Context, s *suite) error {
	s.closeAll()
	defer s.closeAll()
	s.endless = true
	c, h, keys, err := s.holds(ctx)
	if err != nil {
		return err
	}
	const expected = "a key without an end on each node: there is no lock.ttl_ms in setup"
	if on(keys) < s.nodes.quorum() {
		return c.finding(fmt.Sprintf("c1 got the lock without a TTL, and %d of %d nodes has a key: %s", on(keys), len(s.nodes.list), texts(keys)),
			expected, mendEndless)
	}
	for _, e := range keys {
		if e.ttl >= 0 {
			return c.finding(fmt.Sprintf("c1 got the lock without a TTL, and the key %s ends in %v", e, e.ttl), expected, mendEndless)
		}
	}
	if err := s.give(ctx, c, h); err != nil {
		return err
	}
	if c, h, err = s.takes(ctx, "c2"); err != nil {
		return amend(err, "c1 had released the lock, which has no TTL", "let the release delete the key")
	}
	return s.give(ctx, c, h)
}

const mendEndless = `where setup has no ttl_ms, call the library without a TTL; or do not say that the program can do with "no-ttl"`

// keepsOneObject gets the lock with one lock object and gives it back, again and again.
func keepsOneObject(ctx context.Context, s *suite) error {
	s.closeAll()
	defer s.closeAll()
	s.oneObject = true
	for n := range 3 {
		c, h, keys, err := s.holds(ctx)
		if err != nil && n > 0 {
			return amend(err, fmt.Sprintf("c1 had got the lock with its lock object %s, and released it each time", words.Count(n, "time")),
				mendObject)
		}
		if err != nil {
			return err
		}
		if on(keys) < s.nodes.quorum() {
			return c.finding(fmt.Sprintf("c1 got the lock with one lock object, for time %d, and %d of %d nodes has a key: %s", n+1, on(keys),
				len(s.nodes.list), texts(keys)), "a key on a majority of the nodes", mendObject)
		}
		if err := s.give(ctx, c, h); err != nil {
			return err
		}
	}
	return nil
}

const mendObject = `let one lock object be used again; or do not say that the program can "one-object"`
