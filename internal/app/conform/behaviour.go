package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
)

func secondClient(ctx context.Context, s *suite) error {
	c2, err := s.client(ctx, "c2")
	if err != nil {
		return err
	}
	c1, h, keys, err := s.holds(ctx)
	if err != nil {
		return err
	}
	for _, wait := range []time.Duration{program.MinWait, s.ttl() / 8} {
		asked := s.place.now()
		a, err := s.acquire(ctx, c2, wait)
		if err != nil {
			return err
		}
		took := s.place.now() - asked
		left, err := s.nodes.still(ctx, keys)
		switch {
		case err != nil:
			return err
		case !s.inTime(h) && !s.ready.Has(program.Renews):
			return errLate
		case a.Type != program.Acquired && on(left) < min(s.nodes.quorum(), on(keys)) && s.inTime(h):
			return c2.finding(fmt.Sprintf("c2 asked for the lock and did not get it, and now c1's keys are gone or changed: %d of %d are left",
				len(left), len(keys)),
				"a client that does not get the lock leaves the holder's keys alone", "let an attempt that fails remove its own keys only").
				against(ownerOnly)
		case a.Type == program.Acquired:
			return c2.finding(fmt.Sprintf("c2 got the lock %v after c1 had got it for %v", round(asked+took-h.answered), s.ttl()),
				"refused or unknown, as long as c1 holds the lock",
				"let both clients lock the same key (lock.key in setup), and grant only what the library grants")
		case a.Type == program.Unknown && wait > program.MinWait:
			s.note("c2 asked for a lock that c1 held, and the answer was unknown: %s. Say refused if the lock is certainly not held", a.Why)
		case took > wait+time.Second:
			s.note("with wait_ms %v an answer took %v", program.MS(wait), round(took))
		}
	}
	return s.give(ctx, c1, h)
}

// hasPermits lets two clients hold a lock with two permits, and sees that a third gets in when one of them has given its permit back, and
// not before.
func hasPermits(ctx context.Context, s *suite) error {
	s.closeAll()
	defer s.closeAll()
	s.permits = 2
	const mend = `let as many clients in at once as lock.permits in setup says; or do not say that the program can have "permits"`
	c1, h1, err := s.takes(ctx, "c1")
	if err != nil {
		return err
	}
	c2, h2, err := s.joins(ctx, "c2", "c2 did not get the lock beside c1, and it has 2 permits", mend, h1)
	if err != nil {
		return err
	}
	c3, err := s.client(ctx, "c3")
	if err != nil {
		return err
	}
	if err := s.keepsOut(ctx, c3, "c3 got the lock while c1 and c2 held it, and it has 2 permits", mend, h1, h2); err != nil {
		return err
	}
	if err := s.give(ctx, c1, h1); err != nil {
		return err
	}
	h3, err := s.get(ctx, c3)
	if err != nil {
		return amend(err, "c1 had given its permit back, and c2 held the other", "let a release give one permit back")
	}
	if err := s.give(ctx, c3, h3); err != nil {
		return err
	}
	return s.give(ctx, c2, h2)
}

// hasModes lets two readers hold the lock at once, and sees that a writer is refused meanwhile and gets it once both have given it back,
// and that a reader is refused beside the writer.
func hasModes(ctx context.Context, s *suite) error {
	s.closeAll()
	defer s.closeAll()
	const mend = `let readers (lock.mode in setup is "shared") hold the lock beside one another, and a writer alone; ` +
		`or do not say that the program can "modes"`
	s.mode = program.Shared
	c1, h1, err := s.takes(ctx, "c1")
	if err != nil {
		return err
	}
	c2, h2, err := s.joins(ctx, "c2", "c2, a reader, did not get the lock beside c1, which read", mend, h1)
	if err != nil {
		return err
	}
	s.mode = program.Exclusive
	c3, err := s.client(ctx, "c3")
	if err != nil {
		return err
	}
	if err := s.keepsOut(ctx, c3, "c3, a writer, got the lock while c1 and c2 read", mend, h1, h2); err != nil {
		return err
	}
	if err := errors.Join(s.give(ctx, c1, h1), s.give(ctx, c2, h2)); err != nil {
		return err
	}
	h3, err := s.get(ctx, c3)
	if err != nil {
		return amend(err, "both readers had given it back", "let the lock be free once its last reader has released it")
	}
	if err := s.keepsOut(ctx, c1, "c1, a reader, got the lock while c3 wrote", mend, h3); err != nil {
		return err
	}
	return s.give(ctx, c3, h3)
}

// joins wants a client to get the lock while another one holds it.
func (s *suite) joins(ctx context.Context, name, saw, mend string, holder held) (*client, held, error) {
	c, err := s.client(ctx, name)
	if err != nil {
		return c, held{}, err
	}
	h, err := s.attempt(ctx, c, s.ttl()/8)
	switch {
	case err != nil:
	case !s.inTime(holder) && !s.ready.Has(program.Renews):
		err = errLate
	case h.Type != program.Acquired:
		err = c.finding(saw+": "+h.Why, "acquired", mend)
	}
	return c, h, err
}

// keepsOut wants a client to be refused while others hold the lock.
func (s *suite) keepsOut(ctx context.Context, c *client, saw, mend string, holders ...held) error {
	a, err := s.acquire(ctx, c, s.ttl()/8)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(holders, func(h held) bool { return !s.inTime(h) }) && !s.ready.Has(program.Renews) {
		return errLate
	}
	if a.Type == program.Acquired {
		return c.finding(saw, "refused or unknown, as long as it is held", mend)
	}
	return nil
}

// staysAtLeast gives a lock back that is to stay for half a TTL, and sees that another client is refused meanwhile, and gets it before the
// TTL is over.
func staysAtLeast(ctx context.Context, s *suite) error {
	s.closeAll()
	defer s.closeAll()
	s.atLeast = s.ttl() / 2
	c2, err := s.client(ctx, "c2")
	if err != nil {
		return err
	}
	c1, h, err := s.takes(ctx, "c1")
	if err != nil {
		return err
	}
	if err := s.give(ctx, c1, h); err != nil {
		return err
	}
	a, err := s.acquire(ctx, c2, s.ttl()/8)
	if err != nil {
		return err
	}
	if took := s.place.latest() - h.asked; a.Type == program.Acquired && took >= s.atLeast {
		return errLate
	} else if a.Type == program.Acquired {
		return c2.finding(fmt.Sprintf("c2 got the lock %v after c1 had asked for it; c1 had released it, and it is to stay for %v",
			round(took), s.atLeast),
			"refused or unknown, until that time is over",
			`let a release give the key the rest of lock.at_least_ms in setup as its end; or do not say that the program can "at-least"`)
	}
	h2, err := s.get(ctx, c2)
	if err != nil {
		return amend(err, fmt.Sprintf("c1 had released it, and it was to stay for %v", s.atLeast), "let the key end when that time is over")
	}
	if took := h2.answered - h.asked; took > s.ttl() {
		return c2.finding(fmt.Sprintf("c2 waited for the lock, and got it %v after c1 had asked for it; c1 had released it at once", round(took)),
			fmt.Sprintf("acquired once the %v are over for which it stays", s.atLeast), "let a release end the key before its TTL is over")
	}
	return s.give(ctx, c2, h2)
}

func freeAfterRelease(ctx context.Context, s *suite) error {
	c2, err := s.client(ctx, "c2")
	if err != nil {
		return err
	}
	c1, h, keys, err := s.holds(ctx)
	if err != nil {
		return err
	}
	if a, err := s.release(ctx, c1, h); err != nil || a.Type != program.Released {
		return err // what other answers mean, other checks say
	}
	var left []entry
	gone, err := s.eventually(ctx, time.Second, func() (bool, error) {
		var err error
		left, err = s.nodes.still(ctx, keys)
		return on(left) < s.nodes.quorum(), err
	})
	if err != nil {
		return err
	}
	if !gone {
		return c1.finding("c1 released the lock, and a second later its keys are still there: "+texts(left),
			"a lock that is released is free at once",
			"call the library's release, wait until it is done, and answer released after that")
	}
	h, err = s.get(ctx, c2)
	if err != nil {
		return err
	}
	return s.give(ctx, c2, h)
}

func validity(ctx context.Context, s *suite) error {
	c, h, err := s.takes(ctx, "c1")
	if err != nil {
		return err
	}
	if !h.Valid {
		s.note("this grant came without validity_ms: its promise is the TTL, from when its command left")
		return s.give(ctx, c, h)
	}
	at := time.Duration(h.AtNS)
	switch {
	case h.Validity > s.ttl():
		return c.finding(fmt.Sprintf("validity_ms is %v", program.MS(h.Validity)), fmt.Sprintf("at most the TTL, %v", program.MS(s.ttl())),
			"validity_ms is in milliseconds, and how long the lock is still valid, not when it ends")
	case h.over() && h.answered-h.asked < s.ttl()/2:
		return c.finding(fmt.Sprintf("validity_ms is %v", program.MS(h.Validity)), "more than it took: the lock has just been granted",
			"validity_ms is how long the lock is still valid, counted from at_ns").against(progress)
	case h.AtNS != 0 && (at < h.asked || at > h.answered):
		return c.finding(fmt.Sprintf("at_ns is %d; the request was sent at %d, the answer came at %d", at, h.asked, h.answered),
			"an instant between the two, on the machine's CLOCK_MONOTONIC, in ns",
			"read clock_gettime(CLOCK_MONOTONIC) (Python: time.monotonic_ns()), or leave at_ns out: the validity then counts from the request").
			spoken()
	case h.AtNS == 0:
		s.note("without at_ns the validity counts from the request")
	}
	return s.give(ctx, c, h)
}

func owner(ctx context.Context, s *suite) error {
	c, h, keys, err := s.holds(ctx)
	if err != nil {
		return err
	}
	has := slices.ContainsFunc(keys, func(e entry) bool {
		return slices.ContainsFunc(e.texts, func(text string) bool { return bytes.Equal([]byte(text), h.Owner) })
	})
	switch {
	case len(h.Owner) == 0:
		return c.finding("acquired came without owner_b64", `the value in the lock's key, since ready says that it can "owner"`,
			"tell the value in base64, or do not say so in ready")
	case !has:
		return c.finding(fmt.Sprintf("owner_b64 is %q, in base64, and no key has that value: %s", h.Owner, values(keys)),
			"the value in the lock's key",
			"tell what the library writes into the key, in base64")
	}
	return s.give(ctx, c, h)
}

// values tell what keys hold.
func values(list []entry) string {
	var texts []string
	for _, e := range list {
		texts = append(texts, fmt.Sprintf("%s has %q", e, e.texts))
	}
	return strings.Join(texts, ", ")
}

func tokens(ctx context.Context, s *suite) error {
	var last *int64
	for i := range 4 {
		c, h, err := s.takes(ctx, []string{"c1", "c2"}[i%2])
		if err != nil {
			return err
		}
		switch {
		case h.Token == nil:
			return c.finding("acquired came without token", `a number, since ready says that it can "token"`,
				"tell the fencing token, or do not say so in ready").spoken()
		case last != nil && *h.Token <= *last:
			return c.finding(fmt.Sprintf("token %d came after token %d", *h.Token, *last), "a larger number with each grant",
				"take the token from a counter that all clients share")
		}
		last = h.Token
		if err := s.give(ctx, c, h); err != nil {
			return err
		}
	}
	return nil
}

func extends(ctx context.Context, s *suite) error {
	c, h, _, err := s.holds(ctx)
	if err != nil {
		return err
	}
	if err := s.place.sleep(ctx, s.ttl()/2); err != nil {
		return err
	}
	before, err := s.longest(ctx)
	if err != nil {
		return err
	}
	asked := s.place.now()
	a, err := c.request(ctx, program.Message{Type: program.ExtendType, Grant: h.Grant}, 0)
	if err != nil {
		return err
	}
	late := !s.inTime(h)
	after, err := s.longest(ctx)
	// The key was to end a TTL after the request, or a TTL after its former end, where the library adds.
	took := s.place.now() - asked
	slack := s.ttl()/4 + program.Duration(s.ready.TTLExtra)
	expected := fmt.Sprintf("about %v", s.ttl())
	switch {
	case err != nil:
		return err
	case late, took > s.ttl()/8:
		return errLate
	case a.Type != program.Extended:
		return c.finding(fmt.Sprintf("c1 was to extend a lock that it held, and answered %q: %s", a.Type, a.Why),
			"extended", "call the library's extend; its time is lock.ttl_ms again").against(toldWhenLost)
	case s.leased():
		return s.leaseExtended(ctx, c, h, asked)
	case after == fieldsEnd:
		after = s.ttl()
	case after == neverEnds:
		return c.finding("c1 extended the lock, and its key never ends", expected, "give the key its time to live again").against(deadHolder)
	case after < s.ttl()-slack:
		return c.finding(fmt.Sprintf("c1 extended the lock, and its key ends in %v; before that, in %v", after, before),
			expected, "extend by lock.ttl_ms, in the unit that the library wants")
	case after > max(before, 0)+s.ttl()+slack:
		return c.finding(fmt.Sprintf("c1 extended the lock, and its key ends in %v; before that, in %v", after, before),
			expected, "extend by lock.ttl_ms, in the unit that the library wants").against(deadHolder)
	}
	h.until = s.place.now() + after
	return s.give(ctx, c, h)
}

// longest is the longest time that a quorum of nodes still has the lock; neverEnds: for ever. Of a hash without an end nobody asks when its
// fields end: fieldsEnd.
func (s *suite) longest(ctx context.Context) (time.Duration, error) {
	keys, err := s.nodes.locks(ctx, s)
	if err != nil || len(keys) == 0 {
		return 0, err
	}
	best := make(map[string]time.Duration)
	for _, e := range keys {
		ttl := e.ttl
		if ttl < 0 {
			ttl = neverEnds
		}
		if ttl < 0 && e.kind == "hash" {
			ttl = fieldsEnd
		}
		best[e.node.name()] = max(best[e.node.name()], ttl)
	}
	list := slices.Sorted(maps.Values(best))
	return list[max(0, len(list)-s.nodes.quorum())], nil
}

const (
	neverEnds time.Duration = math.MaxInt64
	fieldsEnd               = neverEnds - 1
)

func renews(ctx context.Context, s *suite) error {
	c1, h, err := s.takes(ctx, "c1")
	if err != nil {
		return err
	}
	c2, err := s.client(ctx, "c2")
	if err != nil {
		return err
	}
	said, err := c1.hears(ctx, program.Renewed, h.Grant, h.asked+3*s.ttl()/2-s.place.now())
	if err != nil {
		return err
	}
	if !said && !s.ready.Elsewhere() {
		s.note("it does not say renewed: its promise is what it asks for on the wire")
	} else if err := s.place.sleep(ctx, h.asked+3*s.ttl()/2-s.place.now()); err != nil {
		return err
	}
	a, err := s.acquire(ctx, c2, 0)
	if err != nil {
		return err
	}
	if a.Type == program.Acquired {
		return c2.finding(fmt.Sprintf("c1 holds the lock, and %v after it had got it, so did c2; the TTL is %v",
			round(s.place.now()-h.asked), s.ttl()),
			`a lock that renews itself is held until it is released, since ready says that it can "renew"`,
			"switch the library's renewal on, or do not say so in ready")
	}
	return s.give(ctx, c1, h)
}

func saysLost(ctx context.Context, s *suite) error {
	c, h, keys, err := s.holds(ctx)
	if err != nil {
		return err
	}
	if err := take(ctx, keys, time.Hour); err != nil {
		return err
	}
	within := 2*s.ttl() + 3*time.Second
	said, err := c.hears(ctx, program.Lost, h.Grant, within)
	if err != nil {
		return err
	}
	if !said {
		return c.finding(fmt.Sprintf("somebody else took the keys of c1 (%s), and c1 did not say lost within %v", texts(keys), within),
			`{"type":"lost","grant":...}, since ready says that it can "lost"`,
			"send lost when the library's callback is called or its context is cancelled")
	}
	if _, err := s.release(ctx, c, h); err != nil {
		return err
	}
	return s.reset(ctx)
}

// endedGrant is about what is certain: the answer comes, whatever it is.
func endedGrant(ctx context.Context, s *suite) error {
	c, h, keys, err := s.holds(ctx)
	if err != nil {
		return err
	}
	if err := take(ctx, keys, time.Hour); err != nil {
		return err
	}
	taken, err := s.nodes.locks(ctx, s)
	if err != nil {
		return err
	}
	a, err := s.release(ctx, c, h)
	if err != nil {
		return err
	}
	left, err := s.nodes.still(ctx, taken)
	if err != nil {
		return err
	}
	switch {
	case on(left) < on(taken):
		s.note("its release took the lock away from somebody else; scenarios judge that (owner-release)")
	case a.Type == program.Released:
		s.note("it says released of a lock that was not its own any more; scenarios judge that (told-at-release)")
	}
	return s.reset(ctx)
}

// reset has the next check begin anew.
func (s *suite) reset(ctx context.Context) error {
	s.closeAll()
	return s.nodes.reset(ctx)
}

func killedHolder(ctx context.Context, s *suite) error {
	c2, err := s.client(ctx, "c2")
	if err != nil {
		return err
	}
	c1, _, err := s.takes(ctx, "c1")
	if err != nil {
		return err
	}
	c1.kill()
	h, err := s.getWithin(ctx, c2, 3*s.ttl()+3*time.Second)
	if err != nil {
		return amend(err, "c1 held the lock when it was killed; the TTL is "+s.ttl().String(), "give the lock's key a time to live")
	}
	if h.over() {
		return c2.finding(fmt.Sprintf("c2 waited for the lock for %v, and its validity was over when the grant came", round(h.answered-h.asked)),
			"a lock that is still valid", "count the validity from the try that was granted, not from the first of all").against(progress)
	}
	return s.give(ctx, c2, h)
}

func forgotten(ctx context.Context, s *suite) error {
	c2, err := s.client(ctx, "c2")
	if err != nil {
		return err
	}
	c1, h, err := s.takes(ctx, "c1")
	if err != nil {
		return err
	}
	if err := s.place.sleep(ctx, s.ttl()/2); err != nil { // so that it renews, if it does
		return err
	}
	a, err := c1.request(ctx, program.Message{Type: program.ForgetType, Grant: h.Grant}, 0)
	if err != nil {
		return err
	}
	if a.Type != program.Forgotten {
		return c1.finding(fmt.Sprintf("c1 was to forget a lock that it held, and answered %q: %s", a.Type, a.Why), "forgotten",
			"drop the grant and all that refers to the lock, and call no function of the library")
	}
	h, err = s.getWithin(ctx, c2, 3*s.ttl()+3*time.Second)
	if err != nil {
		return amend(err, "c1 had forgotten the lock; the TTL is "+s.ttl().String(),
			"let whatever renews the lock notice that nobody has it any more, by a weak reference or a finalizer. "+
				"In the program, only release and extend of the grant may refer to it")
	}
	return s.give(ctx, c2, h)
}

// counts has a finding count in a row of a report card.
func counts(err error, guarantee string) error {
	if f, ok := err.(*Finding); ok { //nolint:errorlint // it is made here
		return f.against(guarantee)
	}
	return err
}

// amend adds to a finding.
func amend(err error, seen, mend string) error {
	if f, ok := err.(*Finding); ok { //nolint:errorlint // it is made here
		f.Seen += ": " + seen
		f.Mend = mend
		f.usual, f.ofProgram = "", false // its check knows what it shows
	}
	return err
}

func points(ctx context.Context, s *suite) error {
	c, err := s.start(ctx, "c1", s.ready.Points...)
	if err != nil {
		return err
	}
	h, err := s.get(ctx, c)
	if err != nil {
		return err
	}
	if err := s.give(ctx, c, h); err != nil {
		return err
	}
	passed := make(map[string]bool)
	c.mu.Lock()
	for _, e := range c.events {
		if e.kind == program.Point {
			passed[e.point] = true
		}
	}
	c.mu.Unlock()
	s.note("passed while it got and released the lock: %s", strings.Join(slices.Sorted(maps.Keys(passed)), ", "))
	s.close("c1")
	return nil
}

func clocks(ctx context.Context, s *suite) error {
	c, err := s.client(ctx, "c1")
	if err != nil {
		return err
	}
	a, err := c.request(ctx, program.Message{Type: program.ClocksType}, 0)
	if err != nil {
		return err
	}
	const most = 10 * time.Second
	if now := program.MS(time.Duration(s.place.wall().UnixNano())); a.WallMS == nil || max(now-*a.WallMS, *a.WallMS-now) > program.MS(most) {
		return c.finding("wall_ms is not the time of day", fmt.Sprintf("about %.0f, in ms since 1970", now), "read the clock as the library does")
	}
	switch err = s.place.movesClock(ctx, c); {
	case errors.Is(err, errStays):
		s.note("%v", err)
	case err != nil:
		return c.finding(err.Error(), "wall_ms moves with the wall clock that the program is shown, monotonic_ms does not",
			`if the program reads its clocks without libc, or a wrapper around it drops LD_PRELOAD, leave out "clock": "libc" in ready`)
	}
	return nil
}
