package conform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
)

// SetUpCheck is the name of the check without which there is no run, RepeatsCheck of that which needs virtual time, AgainCheck of that of
// a second setup.
const SetUpCheck, RepeatsCheck, AgainCheck = "set-up", "repeats", "setup-again"

// check is one check. Its name is for ever.
type check struct {
	name, title string
	// needs is what the program must be able to do.
	needs program.Ability
	// inRedis: it looks at keys on the nodes.
	inRedis bool
	// atKeys: what it finds rests on which keys are the lock's.
	atKeys bool
	// virtual is why it is made in virtual time alone; empty: it is not.
	virtual string
	// unless says why it is not applicable, where needs does not.
	unless func(*program.Ready) string
	// first: without it nothing else can be checked.
	first bool
	// mutes is what cannot be judged without it.
	mutes Muted
	// ofLock: it shows what the lock does, and not how the program speaks of it. guarantee is the row of a report card in
	// which that counts against it; empty: in none.
	ofLock    bool
	guarantee string
	run       func(context.Context, *suite) error
}

// reason is why a check is not applicable; empty: it is.
func (c *check) reason(r *program.Ready, virtual bool) string {
	switch {
	case c.virtual != "" && !virtual:
		return c.virtual
	case r == nil:
	case c.needs != "" && !r.Has(c.needs):
		return fmt.Sprintf("it does not say that it can %q", c.needs)
	case c.inRedis && r.Class == program.Session:
		return "a session's store is no Redis node"
	case c.unless != nil:
		return c.unless(r)
	}
	return ""
}

var checks = []check{
	{name: "handshake", title: "answers hello with ready", first: true, mutes: Everything, run: handshake},
	{name: SetUpCheck, title: "answers setup with set-up", first: true, mutes: Everything, run: setUp},
	{name: "acquire", title: "gets a lock that nobody holds, and gives it back", first: true, mutes: Everything, run: acquire},
	{name: "nodes", title: "its keys are on the nodes that setup names", mutes: Everything, inRedis: true, run: reachesNodes},
	{name: "keys", title: "its keys fit the patterns that ready names", mutes: ShownByKeys, inRedis: true, run: namesKeys},
	{name: "expiry", title: "its keys live as long as setup says", ofLock: true, guarantee: exclusive,
		inRedis: true, atKeys: true, run: expires},
	{name: "second-client", title: "refuses a second client while it is held", ofLock: true, guarantee: exclusive, run: secondClient},
	{name: "free-after-release", title: "is free after its release", ofLock: true, guarantee: progress, atKeys: true, run: freeAfterRelease},
	{name: "validity", title: "says how long it is valid", ofLock: true, guarantee: exclusive, needs: program.TellsValidity, run: validity},
	{name: "owner", title: "says what it wrote into its key", mutes: ShownByKeys, needs: program.TellsOwner, inRedis: true, run: owner},
	{name: "token", title: "its tokens grow", ofLock: true, guarantee: fencing, needs: program.TellsToken, run: tokens},
	{name: "extend", title: "makes a grant last longer", ofLock: true, guarantee: exclusive,
		needs: program.Extends, inRedis: true, atKeys: true, run: extends},
	{name: "renew", title: "renews itself", ofLock: true, guarantee: staysHeld, needs: program.Renews, run: renews},
	{name: "forget", title: "is free some time after its holder has forgotten it", ofLock: true, guarantee: progress,
		needs: program.Forgets, run: forgotten},
	{name: "lost", title: "says that it has lost the lock", ofLock: true, guarantee: toldWhenLost,
		needs: program.TellsLoss, inRedis: true, atKeys: true, run: saysLost},
	{name: "ended-grant", title: "answers the release of a lock that somebody else has by now", ofLock: true, guarantee: ownerOnly,
		inRedis: true, atKeys: true, run: endedGrant},
	{name: "killed-holder", title: "is free some time after its holder was killed", ofLock: true, guarantee: deadHolder, run: killedHolder},
	{name: "dead-node", title: "goes on though a node is dead", ofLock: true, guarantee: deadMinority, inRedis: true, run: deadNode},
	{name: "lost-answer", title: "refuses no lock whose key stays, where an answer was lost", ofLock: true, guarantee: progress, inRedis: true,
		atKeys: true, virtual: "in real time no single answer is lost", run: lostAnswer},
	{name: "cancel", title: "answers soon when it is cancelled, and leaves nothing behind", ofLock: true, guarantee: progress,
		needs: program.Cancels, atKeys: true, run: cancelled},
	{name: AgainCheck, title: "begins anew when it is set up again", needs: program.SetsUpAgain, inRedis: true, run: setsUpAgain},
	{name: "no-ttl", title: "without a TTL, its keys have no end, and its release frees it", ofLock: true, guarantee: withoutTTL,
		needs: program.DoesWithoutTTL, inRedis: true, atKeys: true, run: doesWithoutTTL},
	{name: "one-object", title: "gets the lock again and again with one lock object", ofLock: true, guarantee: progress,
		needs: program.KeepsOneObject, inRedis: true, atKeys: true, run: keepsOneObject},
	{name: "permits", title: "lets in as many clients as there are permits, and one more after a release", ofLock: true, guarantee: semaphore,
		needs: program.HasPermits, inRedis: true, run: hasPermits},
	{name: "modes", title: "lets readers in together, and a writer alone", ofLock: true, guarantee: readers,
		needs: program.HasModes, inRedis: true, run: hasModes},
	{name: "at-least", title: "stays for a while after its release, and is free then", ofLock: true, guarantee: atMostOnce,
		needs: program.StaysAtLeast, run: staysAtLeast},
	{name: "one-process", title: "lets one client in at a time also if several share its process", ofLock: true, guarantee: exclusive,
		needs: program.IsSeveral, run: sharesProcess},
	{name: "busy", title: "keeps itself busy after a grant, and goes on", needs: program.KeepsBusy, run: busy},
	{name: "points", title: "reports its points, and goes on", unless: noPoints, run: points},
	{name: "clocks", title: "tells its clocks", unless: noClocks, run: clocks},
	{name: "end-of-input", title: "ends within a second of the end of its input", run: endOfInput},
	{name: "nothing-left", title: "leaves no process and no key behind", run: nothingLeft},
	{name: RepeatsCheck, title: "same seed, same bytes: two runs of it in virtual time are the same",
		virtual: "in real time no run is like another", run: repeats},
	{name: "messages", title: "all its messages fit the schema", mutes: Everything, run: messages},
}

// The rows of a report card in which findings count. They are guarantees, as scenarios name them.
const (
	exclusive    = "exclusive"
	ownerOnly    = "owner-only"
	staysHeld    = "stays-held"
	toldWhenLost = "told-when-lost"
	fencing      = "fencing"
	deadHolder   = "dead-holder"
	withoutTTL   = "without-ttl"
	semaphore    = "semaphore"
	readers      = "readers-writers"
	atMostOnce   = "at-most-once"
	deadMinority = "dead-minority"
	progress     = "progress"
)

func noPoints(r *program.Ready) string {
	if len(r.Points) == 0 {
		return "it names no points"
	}
	return ""
}

func noClocks(r *program.Ready) string {
	if r.Clock != program.LibcClock {
		return "it does not say that it reads its clocks by libc"
	}
	return ""
}

func handshake(ctx context.Context, s *suite) error {
	c, err := s.greet(ctx, "c1")
	if err == nil {
		s.ready = c.describes()
	}
	return err
}

// setUp starts the nodes that the program's class needs, and sets two clients up.
func setUp(ctx context.Context, s *suite) (err error) {
	if s.nodes == nil {
		if s.nodes, err = s.place.startNodes(ctx, s.ready); err != nil {
			return err
		}
	}
	if err := s.setUp(ctx, s.clients["c1"], "c1", nil, 0); err != nil {
		return err
	}
	_, err = s.client(ctx, "c2")
	return err
}

// takes gets the lock for a client.
func (s *suite) takes(ctx context.Context, name string) (*client, held, error) {
	c, err := s.client(ctx, name)
	if err != nil {
		return nil, held{}, err
	}
	h, err := s.get(ctx, c)
	return c, h, err
}

// holds gets the lock for c1, and looks at its keys.
func (s *suite) holds(ctx context.Context) (*client, held, []entry, error) {
	c, h, err := s.takes(ctx, "c1")
	if err != nil {
		return c, h, nil, err
	}
	keys, err := s.nodes.locks(ctx, s)
	switch {
	case err != nil:
	case !s.inTime(h):
		err = errLate
	case on(keys) < s.nodes.quorum() && s.endedEarly(h):
		err = errShort
	}
	return c, h, keys, err
}

func acquire(ctx context.Context, s *suite) error {
	c, h, err := s.takes(ctx, "c1")
	if err != nil {
		return err
	}
	for _, told := range []struct {
		what program.Ability
		is   bool
	}{{program.TellsValidity, h.Valid}, {program.TellsOwner, len(h.Owner) > 0}, {program.TellsToken, h.Token != nil}} {
		if told.is && !s.ready.Has(told.what) {
			s.note("it can tell its %s, but does not say so in its message ready: some scenarios will not run", told.what)
		}
	}
	return s.give(ctx, c, h)
}

func reachesNodes(ctx context.Context, s *suite) error {
	c, h, keys, err := s.holds(ctx)
	if errors.Is(err, errShort) { // they were there
		return nil
	}
	if err != nil {
		return err
	}
	switch n := on(keys); {
	case n == 0:
		return c.finding("c1 got the lock, and no node has a key", "a key on the nodes that setup names",
			"use the addresses in setup (host and port), and no other server")
	case n < s.nodes.quorum():
		return c.finding(fmt.Sprintf("c1 got the lock, and %d of %d nodes has a key: %s", n, len(s.nodes.list), texts(keys)),
			fmt.Sprintf("a key on %d nodes at least", s.nodes.quorum()), `use all nodes in setup, or say "class": "single"`)
	}
	return s.give(ctx, c, h)
}

func namesKeys(ctx context.Context, s *suite) error {
	c, h, keys, err := s.holds(ctx)
	if errors.Is(err, errShort) { // those that have ended were found by their names
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range keys {
		if !s.named(e.name) {
			return c.finding(fmt.Sprintf("it wrote the key %s", e), "keys that fit "+s.patterns().String(),
				`name the lock's keys in ready: "keys": ["prefix:{key}"]. {key} stands for the lock's key, lock.key in setup, and * for anything`)
		}
		if !strings.Contains(e.name, s.Key) {
			s.note("the key %s does not contain the lock's key %q; two locks with different keys may exclude each other", e, s.Key)
		}
	}
	return s.give(ctx, c, h)
}

func expires(ctx context.Context, s *suite) error {
	c, h, keys, err := s.holds(ctx)
	if err != nil && !errors.Is(err, errShort) {
		return err
	}
	if s.leased() {
		if err := s.leaseEnds(ctx, c, h, s.ttl()/3); err != nil {
			return err
		}
		return expiresInASecond(ctx, s)
	}
	asked := s.ttl()
	expected := fmt.Sprintf("about %v, lock.ttl_ms in setup", asked)
	const mend = "ttl_ms is in milliseconds; what unit does the library want?"
	if errors.Is(err, errShort) {
		e := s.nodes.shortest(s, h)
		return c.finding(askedForLess(e.name, e.node, e.lifeSince(h)), expected, mend)
	}
	for _, e := range keys {
		switch {
		case e.ttl < 0 && e.kind == "hash":
			s.note("the key %s never ends; whether its fields do is not checked", e)
		case e.ttl < 0:
			return c.finding(fmt.Sprintf("the key %s never ends", e), expected, "give the key its time to live in the command that writes it").
				against(deadHolder)
		case e.ttl > 3*asked:
			return c.finding(fmt.Sprintf("the key %s ends in %v", e, e.ttl), expected, mend).against(deadHolder)
		case e.ttl < asked/3 && s.place.now()-h.asked < asked/3:
			if end := s.nodes.shortest(s, h); end != nil {
				return c.finding(askedForLess(end.name, end.node, end.lifeSince(h)), expected, mend)
			}
			return c.finding(fmt.Sprintf("the key %s ends in %v", e, e.ttl), expected, mend)
		}
	}
	if err := s.give(ctx, c, h); err != nil {
		return err
	}
	return expiresInASecond(ctx, s)
}

// expiresInASecond asks for a lease with a fraction of a second, if the lock can have one, shortly before a second is over by the time of
// day: who cuts either to whole seconds asks for far less.
func expiresInASecond(ctx context.Context, s *suite) error {
	const late = 4 * time.Second / 5 // so much of a second is over
	whole := s.TTL
	s.closeAll()
	defer func() {
		s.closeAll()
		s.TTL = whole
	}()
	if s.TTL = 3 * s.ttl() / 4; s.ttl() != s.TTL {
		s.TTL = whole
	}
	if _, err := s.client(ctx, "c1"); err != nil {
		return err
	}
	over := time.Duration(s.place.wall().Nanosecond())
	if err := s.place.sleep(ctx, (late-over+time.Second)%time.Second); err != nil {
		return err
	}
	c, h, _, err := s.holds(ctx)
	least := s.ttl() - s.ttl()/8
	switch {
	case err != nil && !errors.Is(err, errShort):
		return err
	case s.leased():
		return s.leaseEnds(ctx, c, h, least)
	}
	left, err := s.longest(ctx)
	if err != nil {
		return err
	}
	if took := s.place.now() - h.asked; left < fieldsEnd && left+took < least {
		return c.finding(fmt.Sprintf("when c1 got the lock, %v of a second were over, and its key ends in %v", late.Seconds(), left),
			fmt.Sprintf("about %v, lock.ttl_ms in setup", s.ttl()),
			"cut neither the TTL nor the time of day to whole seconds; ttl_step_ms in ready says what each TTL is a multiple of")
	}
	return s.give(ctx, c, h)
}

// askedForLess tells of a key that ends too soon.
func askedForLess(name, node string, life time.Duration) string {
	return fmt.Sprintf("the lock asked for %v at most: by then its key %q on node %s ends", life, name, node)
}
