package checker_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// author writes small random histories that look like runs: clients ask for locks,
// are granted them, renew, re-enter, read, write and release; nodes tell of keys, faults
// strike. Stamps are few, so that many are equal. How often something goes wrong is drawn for
// each history and each kind of wrong.
type author struct {
	r       *rand.Rand
	plot    plot
	h       *history.History
	now     int64
	actors  []*actor
	keys    map[string]*nodeKey
	locks   []string
	tokens  int64
	fenced  bool
	cells   map[string]int64
	list    []int64
	other   []int64
	faults  []*history.Rare
	ruined  map[wrong]int
	section map[string]int
	aground bool            // nobody is granted anything any more
	late    []history.Event // of keys of programs, to be told later
}

// plot is what a history is about.
type plot struct {
	name      string
	workloads []string
	// steps is how many steps the author takes at most; pause how long it can be between two.
	steps, pause int
	// faults, keys and work are how often, in a hundred steps, a fault strikes, nodes
	// tell of a key, and a holder uses the resource.
	faults, keys, work int
	// wrong are the rates, in a hundred, of which each kind of wrong has one.
	wrong []int
	// healing is how often, in a hundred steps, everything heals.
	healing int
	// node is the only one that faults strike, if only one does.
	node string
	// silent: most faults silence the connections of a client.
	silent bool
	// aground is how often, in a hundred steps, the lock is lost for ever.
	aground int
	// program: the lock is a program; losses is how often, in a hundred steps, it tells
	// one of its clients of a loss.
	program bool
	losses  int
	// ends is how often, in a hundred steps, such a program ends by itself.
	ends int
	// tells is how often, in a hundred grants of a program, it tells an end, mostly a true one.
	tells int
	// gone is how often, in a hundred steps, something becomes of all keys of a holder.
	gone int
	// backing: clients are granted locks for which they have not the keys.
	backing bool
	// releases is how often, in a hundred things that a holder does, it gives the lock back, where all keys of a holder may go.
	releases int
	// tidy: a release, or an attempt that fails, deletes all keys of its client, mostly.
	tidy bool
	// renewals is how often, in a hundred things that a holder does, its lock renews its keys, and may tell of a loss then.
	renewals int
	// endless: the lock is given no TTL.
	endless bool
	// permits: the lock is a semaphore.
	permits bool
	// modes: it has readers and writers.
	modes bool
	// upgrades is how often, in a hundred steps of a reader, it asks to write; of a program, how often it asks inside.
	upgrades int
	// fair: the lock serves in order, or is to.
	fair bool
	// stalls is how often, in a hundred steps, the machine stalled.
	stalls int
}

// wrong is a kind of things that can go wrong.
type wrong int

const (
	lockGivenTwice wrong = iota
	leaseGivenTwice
	tokenOutOfOrder
	lateAccepted
	validRefused
	wrongValue
	wrongKey
	halfDone
	revived
	unbacked
	untrueRelease
	falseAlarm
	wrongEnd
	wrongs
)

// unit is the step of the stamps, and bound is grant_within.
const (
	unit  = int64(time.Millisecond)
	bound = 24 * unit
)

type actor struct {
	name   string
	held   []*promise
	asking *promise // an acquire that waits for its answer
	doing  map[history.F]*history.Value
}

type promise struct {
	lock, owner string
	until       history.Int
	token       history.Int
	section     int
	wrote       bool
	// shared: it is a reader's.
	shared bool
	// upgrade: a reader asks to write, or a client asks inside.
	upgrade bool
	// asked is when it was asked for, nodes until when its commands asked for its keys.
	asked int64
	nodes map[string]int64
}

type nodeKey struct {
	// owner is what stands in the key, claim what its client left there.
	owner, claim, client string
	until                int64
}

func write(seed uint64, p plot) *history.History {
	a := &author{r: rand.New(rand.NewPCG(seed, 0x646566)),
		plot: p, keys: map[string]*nodeKey{}, cells: map[string]int64{}, section: map[string]int{}, ruined: map[wrong]int{}}
	a.begin(seed)
	for range a.plot.steps/2 + a.r.IntN(a.plot.steps/2) {
		a.step()
	}
	if a.end(); p.endless {
		a.dropEnds()
	}
	return a.h
}

// dropEnds makes the history one of a lock without a TTL: few keys have an end, few grants promise one, and no key expires.
func (a *author) dropEnds() {
	a.h.Header.TTL, a.h.Header.TTLExtra, a.h.Header.Lease = 0, 0, history.LeaseNone
	expires := func(e history.Event) bool { return e.F == history.KeyExpired && !a.goesWrong(wrongKey) }
	a.h.Events = numbered(slices.DeleteFunc(a.h.Events, expires))
	for i := range a.h.Events {
		if v := &a.h.Events[i].Value; v.Grant != nil && !a.goesWrong(wrongEnd) {
			grant := *v.Grant
			grant.TTL, grant.ValidUntil = history.Int{}, history.Int{}
			v.Grant = &grant
		}
	}
}

// differ gives one client another TTL now and then, and a lock that renews where the others' does not.
func (a *author) differ(seed uint64) {
	h := &a.h.Header
	if seed%6 != 4 || h.TTL == 0 {
		return
	}
	h.Differ = map[string]history.ClientLock{"c2": {LockKey: h.LockKey, TTL: []int64{2, 4, 8, 14}[seed/6%4] * unit,
		Renews: h.Renews != (seed%4 == 0)}}
}

func (a *author) chance(percent int) bool { return a.r.IntN(100) < percent }

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// goesWrong draws whether something goes wrong now.
func (a *author) goesWrong(w wrong) bool { return a.chance(a.ruined[w]) }

func (a *author) begin(seed uint64) {
	for w := range wrongs {
		a.ruined[w] = pick(a.r, a.plot.wrong)
	}
	a.h = &history.History{Header: history.Header{Format: history.FormatName,
		Version: history.FormatVersion, Scenario: a.plot.name, Seed: seed,
		Workload: pick(a.r, a.plot.workloads), Clients: []string{"c1", "c2", "c3"}[:2+a.r.IntN(2)],
		Nodes:   []string{"A", "B", "C", "D", "E"}[:1+a.r.IntN(5)],
		LockKey: pick(a.r, []string{"lock", "lock", ""}), TTL: pick(a.r, []int64{0, 6, 6, 6, 6, 9, 9, 9, 9}) * unit, Initial: history.Some(0)}}
	if a.plot.node != "" {
		a.h.Header.Nodes = []string{"A", "B", "C", "D"}[:pick(a.r, []int{2, 3, 3, 4, 4})]
	}
	if a.plot.program {
		a.h.Header.Quorum = 1 + a.r.IntN(min(3, len(a.h.Header.Nodes)))
	}
	if n := len(a.h.Header.Nodes); seed%7 == 3 && n > 1 && !a.plot.program {
		first, second := a.h.Header.Nodes[:n/2], a.h.Header.Nodes[n/2:]
		a.h.Header.Clusters = []history.ClusterNodes{{Name: "cluster1", Nodes: first}, {Name: "cluster2", Nodes: second}}
	}
	if a.plot.permits {
		a.h.Header.Permits, a.h.Header.Clients = 1+a.r.IntN(2), []string{"c1", "c2", "c3", "c4"}[:3+a.r.IntN(2)]
	}
	if a.plot.modes {
		a.h.Header.Modes, a.h.Header.Clients = true, []string{"c1", "c2", "c3", "c4"}[:3+a.r.IntN(2)]
	}
	if a.plot.fair {
		a.h.Header.Fair, a.h.Header.MostOvertakes = seed%2 == 0, max(0, int(seed%4)-2)
		a.h.Header.Clients = []string{"c1", "c2", "c3", "c4"}[:2+a.r.IntN(3)]
	}
	a.h.Header.Renews = seed%16 != 1 && (a.plot.losses == 0 || seed%3 == 0)
	a.differ(seed)
	if seed%5 == 0 {
		a.h.Header.Lease = history.LeaseTTL
	} else if a.plot.permits || a.plot.modes {
		a.h.Header.Lease = history.LeaseClock
	}
	if a.h.Header.Workload == "stock" {
		a.h.Header.Initial = history.Some(3)
		a.cells[""] = 3
	}
	if a.chance(8) {
		a.now = -20 * unit // of clocks that are not quite one
	}
	a.locks = []string{""}
	if a.chance(map[bool]int{false: 20, true: 4}[a.plot.gone > 0]) {
		a.locks = []string{"x", "y"}
	}
	a.fenced = a.chance(80)
	for _, name := range a.h.Header.Clients {
		a.actors = append(a.actors, &actor{name: name, doing: map[history.F]*history.Value{}})
	}
	if a.chance(95) {
		a.phase(history.PhaseSafety)
	}
}

func (a *author) add(process string, t history.Type, f history.F, v history.Value) {
	a.h.Events = append(a.h.Events,
		history.Event{Index: int32(len(a.h.Events)), Time: time.Duration(a.now), Process: process, Type: t, F: f, Value: v})
}

func (a *author) phase(name string) {
	a.add(history.RunProcess, history.Info, history.Phase, history.Value{Rare: &history.Rare{Detail: name}})
}

func (a *author) end() {
	if a.h.Header.Workload == "transactions" && a.chance(95) {
		c := pick(a.r, a.actors).name
		a.add(c, history.Invoke, history.Snapshot, history.Value{})
		a.add(c, history.OK, history.Snapshot, a.look(0))
	}
	if a.chance(97) {
		a.phase(history.PhaseDone)
	}
}

func (a *author) step() {
	if a.chance(50) {
		a.now += unit * int64(1+a.r.IntN(a.plot.pause))
	}
	a.aground = a.aground || a.chance(a.plot.aground)
	switch c := pick(a.r, a.actors); {
	case a.chance(a.plot.faults):
		a.fault()
	case a.chance(a.plot.healing):
		a.phase(history.PhaseHealing)
	case a.chance(a.plot.stalls):
		a.add(history.RunProcess, history.Info, history.Stalled, history.Value{Rare: &history.Rare{Took: history.Some(unit * a.r.Int64N(3) / 2)}})
	case a.plot.ends > 0 && a.chance(a.plot.ends):
		a.kill(c.name)
		a.add(c.name, history.Info, history.ProgramEnded, history.Value{})
	case a.chance(a.plot.losses):
		a.loses(c)
	case a.chance(a.plot.gone):
		a.vanishes(c)
	case len(a.late) > 0 && a.chance(20):
		a.comesLate()
	case a.chance(a.plot.keys):
		a.tellKey(c)
	case a.h.Header.Workload == "transactions":
		a.transact(c)
	case c.doing[history.Extend] != nil && a.chance(30):
		a.extended(c)
	case c.doing[history.Release] != nil:
		a.released(c)
	case c.asking != nil:
		a.answer(c)
	case len(c.doing) > 0 && c.doing[history.Extend] == nil || len(c.doing) > 1:
		a.worked(c)
	case len(c.held) > 0:
		a.hold(c)
	case a.chance(5):
		a.invoke(c, history.Read, history.Value{Key: a.cell()})
	case a.chance(60):
		a.ask(c)
	}
}

func (a *author) invoke(c *actor, f history.F, v history.Value) {
	c.doing[f] = &v
	a.add(c.name, history.Invoke, f, v)
}

// ask asks for a lock, again where the client holds it with some chance for the same owner
// value.
func (a *author) ask(c *actor) {
	a.section[c.name] += 1 - a.r.IntN(100)/90
	p := &promise{lock: pick(a.r, a.locks), section: max(a.section[c.name], 1), asked: a.now}
	p.owner = fmt.Sprintf("%s-%d", c.name, p.section)
	switch {
	case len(c.held) > 0 && a.chance(70):
		p.lock, p.owner = c.held[0].lock, c.held[len(c.held)-1].owner
	case a.chance(6):
		p.owner = pick(a.r, []string{"", "same", c.name})
	}
	p.shared = a.plot.modes && a.chance(60)
	p.upgrade = len(c.held) > 0 && a.plot.upgrades > 0 && a.chance(95)
	p.shared = p.shared && (!p.upgrade || a.chance(5))
	c.asking = p
	a.add(c.name, history.Invoke, history.Acquire,
		history.Value{Extra: &history.Extra{Lock: p.lock, Shared: p.shared, Inner: p.upgrade}, Section: p.section})
}

// grants draws whether a client gets the lock that it asks for, rightly or not.
func (a *author) grants(c *actor, p *promise) bool {
	switch {
	case a.aground:
		return false
	case a.leased(c, p):
		return a.goesWrong(leaseGivenTwice)
	case a.believed(c, p.lock) && !a.plot.permits && !a.plot.modes:
		return a.goesWrong(lockGivenTwice)
	}
	return true
}

// answer answers an acquire, or lets it wait.
func (a *author) answer(c *actor) {
	p := c.asking
	if a.h.Header.TTL > 0 && a.chance(30) {
		a.setKey(c, p.owner)
		return
	}
	v := history.Value{Owner: p.owner, Section: p.section}
	if a.chance(10) {
		v.OwnExtra().Lock = p.lock
	}
	ok := a.grants(c, p)
	switch {
	case ok && a.chance(90):
		switch {
		case a.plot.backing && a.goesWrong(unbacked):
			a.rests(c, p)
		case a.plot.program:
			a.asks(c, p, history.KeySet)
		case a.plot.gone > 0:
			a.occupies(c, p)
		}
		v.OwnGrant().ValidUntil = a.promised(p)
		if a.chance(95) {
			a.tokens++
			p.token = history.Some(a.tokens)
			if a.goesWrong(tokenOutOfOrder) {
				p.token = history.Some(1 + a.r.Int64N(max(1, a.tokens-1)))
			}
		}
		v.Token = p.token
		if a.plot.backing && a.chance(10) {
			v.OwnGrant().Nodes = pick(a.r, [][]string{{history.PrimaryProcess}, a.h.Header.Nodes, a.h.Header.Nodes})
		}
		a.add(c.name, history.OK, history.Acquire, v)
		if n := len(c.held); n == 0 || !p.upgrade && (c.held[n-1].owner != p.owner || p.owner == "") {
			c.held = nil
		}
		c.held = append(c.held, p)
	case a.chance(60):
		return
	case a.chance(15):
		a.add(c.name, history.Info, history.Acquire, history.Value{Section: p.section})
	case a.chance(14): // never answered
	default:
		a.tidies(c)
		a.add(c.name, history.Fail, history.Acquire, history.Value{Section: p.section})
	}
	if !ok && !p.upgrade {
		c.held = nil
	}
	c.asking = nil
}

// promised is the end of the promise that a grant tells.
func (a *author) promised(p *promise) (told history.Int) {
	tells := map[bool]int{false: 85, true: 4}[a.plot.program]
	if a.plot.gone > 0 {
		tells = 85 - 55*min(1, a.h.Header.Quorum)
	}
	if a.chance(a.plot.tells) {
		told = history.Some(a.now + unit*int64(1+a.r.IntN(3)))
		if a.chance(11) {
			told = history.Some(a.now + unit*pick(a.r, []int64{-3, 0, 12, 20}))
		}
		p.until = told
	} else if a.chance(tells) {
		told = history.Some(a.now + unit*int64(a.r.IntN(12)-1))
		p.until = told
	}
	return told
}

// believed and leased report that another client believes to have the lock, or has it by
// its promise.
func (a *author) believed(c *actor, lock string) bool {
	return slices.ContainsFunc(a.actors, func(o *actor) bool {
		return o != c && slices.ContainsFunc(o.held, func(p *promise) bool { return p.lock == lock })
	})
}

func (a *author) leased(c *actor, asks *promise) bool {
	others := 0
	for _, o := range a.actors {
		if o != c && slices.ContainsFunc(o.held, func(p *promise) bool {
			return p.lock == asks.lock && (!p.until.IsSet() || p.until.V() > a.now) && (!p.shared || !asks.shared)
		}) {
			others++
		}
	}
	return others >= max(a.h.Header.Permits, 1)
}

// hold lets a holder do something.
func (a *author) hold(c *actor) {
	p := c.held[len(c.held)-1]
	switch {
	case a.chance(a.plot.work) && (!p.wrote || a.chance(10)):
		a.work(c, p)
	case a.chance(a.plot.renewals):
		a.renews(c, p)
	case a.chance(a.plot.upgrades) && (p.shared || a.plot.program):
		a.ask(c)
	case a.plot.program && a.chance(25):
		a.asks(c, p, history.KeyExtended)
	case a.plot.program && a.chance(2):
		a.takesBack(c, p.owner)
	case c.doing[history.Extend] == nil && a.chance(25):
		a.invoke(c, history.Extend, history.Value{Extra: &history.Extra{Lock: p.lock}})
	case a.chance(map[bool]int{false: 12, true: 3}[a.plot.gone > 0]):
		a.ask(c)
	case a.chance(cmp.Or(a.plot.releases, map[bool]int{false: 50, true: 7}[a.plot.gone > 0])):
		v := history.Value{Extra: &history.Extra{Lock: p.lock}, Section: p.section}
		if a.chance(10) {
			v.Owner = a.owner(c)
		}
		if a.plot.releases > 0 && a.chance(70) {
			a.vanishes(c)
		}
		if a.plot.releases == 0 && a.chance(10) {
			a.invoke(c, history.Forget, v)
			a.add(c.name, history.OK, history.Forget, history.Value{Section: v.Section, Owner: v.Owner})
			delete(c.doing, history.Forget)
		} else {
			a.invoke(c, history.Release, v)
		}
		c.held = c.held[:len(c.held)-1]
	}
}

// owner is an owner value of a client, mostly of its own.
func (a *author) owner(c *actor) string {
	if a.chance(20) {
		c = pick(a.r, a.actors)
	}
	if len(c.held) > 0 && a.chance(60) {
		return pick(a.r, c.held).owner
	}
	return fmt.Sprintf("%s-%d", c.name, max(1, a.section[c.name]-a.r.IntN(2)))
}

func (a *author) released(c *actor) {
	v := c.doing[history.Release]
	if a.plot.program && a.chance(50) {
		a.takesBack(c, fmt.Sprintf("%s-%d", c.name, v.Section))
	}
	if a.chance(40) {
		a.deleteKey(c, fmt.Sprintf("%s-%d", c.name, v.Section))
		return
	}
	a.tidies(c)
	delete(c.doing, history.Release)
	outcome := pick(a.r, []history.Type{history.OK, history.OK, history.OK, history.Fail, history.Info, 0})
	if a.plot.releases > 0 && outcome == history.OK && !a.goesWrong(untrueRelease) {
		outcome = history.Fail
	}
	if outcome != 0 {
		a.add(c.name, outcome, history.Release, history.Value{Section: v.Section, Owner: v.Owner})
	}
}

// tidies deletes the keys of a client, where the plot has it do so.
func (a *author) tidies(c *actor) {
	for _, node := range a.h.Header.Nodes {
		if k := a.keys[node]; a.plot.tidy && k != nil && k.client == c.name && !a.goesWrong(halfDone) {
			a.add(node, history.Info, history.KeyDeleted, history.Value{Key: "lock", Owner: k.owner, Client: c.name})
			delete(a.keys, node)
		}
	}
}

func (a *author) extended(c *actor) {
	delete(c.doing, history.Extend)
	v := history.Value{}
	if len(c.held) > 0 {
		p := pick(a.r, c.held)
		v.Owner = p.owner
		if a.chance(15) {
			v.Owner = a.owner(c)
		}
		if a.chance(90) {
			v.OwnGrant().ValidUntil = history.Some(a.now + unit*int64(a.r.IntN(10)-1))
			if p.until.IsSet() && v.ValidUntil().V() > p.until.V() {
				p.until = v.ValidUntil()
			}
		}
	}
	a.add(c.name, pick(a.r, []history.Type{history.OK, history.OK, history.OK, history.Fail, history.Info}), history.Extend, v)
}

// forever stands for an instant that never comes.
const forever = math.MaxInt64
