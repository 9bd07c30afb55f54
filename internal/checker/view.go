package checker

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// forever is the end of what has none.
const forever = time.Duration(math.MaxInt64)

// view is a history made ready for judging. It is built once, and only read afterwards.
type view struct {
	h *history.History
	// work is the workload of the history.
	work workload.Workload
	ops  []history.Op
	// opAt is the operation in ops that an event invokes or completes, -1 for none.
	opAt []int32
	done bool
	// brief: only the verdict is asked for.
	brief bool
	// end is the time of the last event.
	end time.Duration
	// grants are in the order in which they were given; byClient has the
	// places of each client's.
	grants   []grant
	byClient map[string][]int
	// byHolder has those of each client and lock, locks the locks of each client.
	byHolder map[holder][]int
	locks    map[string][]string
	// acquires has the places in ops of each client's attempts at the lock.
	acquires map[string][]int
	faults   []fault
	// fired is how many different faults took effect.
	fired    int
	sections []section
	// namesakes are the operations on the resource, by name.
	namesakes []namesakes
	effects   []effect
	// unclear is the first event after which a node's key was not known, -1 for none.
	unclear int
	// stranger is the first event in which a stranger changed a key of the lock, -1 for none.
	stranger int
	// vague is an event of which it is not known what a lock promised, -1 for none;
	// vagueWhy says why.
	vague    int
	vagueWhy string
	// asks are the commands of each client of a lock program; keys has the keys that they are about; setsKeys: a client was seen to
	// set one.
	asks     map[string]*commands
	keys     *nodeKeys
	setsKeys bool
	// kept are the key-sets that leave a key to the client whose it was.
	kept map[int]kept
	// renewedOver has, for each key-set that is a renewal, whose the key was before it.
	renewedOver map[int]claim
}

// grant is one hold of the lock as its client saw it.
type grant struct {
	client, lock, owner string
	token               history.Int
	// op is the acquire in view.ops; call and ret are its events.
	op, call, ret int
	// until is the promise as it was given with the grant, or before a loss of it.
	until   promise
	extends []extension
	// longest is, for some of the first extensions, the latest end of each and those before it.
	longest []time.Duration
	// ends is the event at which the client's belief ended, -1 where it never
	// did; how says what kind of end it was.
	ends int
	how  ending
	// release is the operation in view.ops that gave it back, where one did.
	release int
	// outer is the grant that this one re-entered, -1 for none.
	outer int
	// loss is the event in which the lock told that it had lost the grant, -1 where it never
	// did; lostAt is its instant, lostError how much earlier it can have been. lease is the last promise as if it had
	// not told.
	loss              int
	lostAt, lostError time.Duration
	lease             promise
}

// promise is what a lock says of the end of a grant. Most grants of a lease have
// one; the zero promise is none, and has no end that could be counted with.
type promise struct {
	end   time.Duration
	given bool
}

func promised(end history.Int) promise { return promise{time.Duration(end.V()), end.IsSet()} }

// over reports that the promise had ended before an instant.
func (p promise) over(at time.Duration) bool { return p.given && p.end < at }

// cut is the earlier of an instant and the end of the promise.
func (p promise) cut(at time.Duration) time.Duration {
	if p.given {
		return min(at, p.end)
	}
	return at
}

// longer is the one of two promises that ends later; one without an end wins.
func (p promise) longer(q promise) promise {
	if p.given && (!q.given || q.end > p.end) {
		return q
	}
	return p
}

// ending says how a belief ended.
type ending uint8

const (
	endless    ending = iota // held to the end of the history
	released                 // the client asked to release
	killed                   // the client was killed
	superseded               // the client asked for the lock anew
)

// extension is a renewal that succeeded: when it was asked for, and the event of its answer.
type extension struct {
	asked time.Duration
	ret   int
	until time.Duration
}

func newView(h *history.History) *view {
	v := newGrants(h, h.Ops())
	v.collectSections()
	v.collectEffects()
	v.collectKept()
	v.readPromises()
	v.cutLosses()
	return v
}

// viewOfGrants is a view that tells of grants and faults alone.
func viewOfGrants(h *history.History, ops []history.Op) *view {
	v := newGrants(h, ops)
	if slices.ContainsFunc(v.grants, func(g grant) bool { return g.loss >= 0 }) {
		v.collectSections() // what a loss ends depends on effects
		v.collectEffects()
	}
	v.collectKept()
	v.readPromises()
	v.cutLosses()
	return v
}

// newGrants is a view of grants alone, without promises that the nodes tell and losses.
func newGrants(h *history.History, ops []history.Op) *view {
	v := &view{h: h, work: workload.Of(workload.Name(h.Header.Workload)),
		ops: ops, done: h.Done(), byClient: make(map[string][]int),
		byHolder: make(map[holder][]int), locks: make(map[string][]string), vague: -1}
	v.unclear, v.stranger = firstUnclear(h)
	v.end = h.End()
	v.opAt = make([]int32, len(h.Events))
	for i := range v.opAt {
		v.opAt[i] = -1
	}
	v.acquires = make(map[string][]int)
	granted := 0
	for i := range v.ops {
		o := &v.ops[i]
		if v.opAt[o.Call] = int32(i); o.Return >= 0 {
			v.opAt[o.Return] = int32(i)
		}
		if o.F == history.Acquire {
			if o.Type == history.OK {
				granted++
			}
			v.acquires[o.Process] = append(v.acquires[o.Process], i)
		}
	}
	v.collectFaults()
	v.grants = make([]grant, 0, granted)
	v.collectGrants()
	return v
}

func (v *view) event(i int) *history.Event { return &v.h.Events[i] }

// at is the time of an event; forever for -1.
func (v *view) at(i int) time.Duration {
	if i < 0 {
		return forever
	}
	return v.h.Events[i].Time
}

// holder names whose grants of which lock belong together.
type holder struct{ client, lock string }

// collectGrants follows every client through the history. A client has several
// grants open only where it re-entered, which shows by the owner value being the
// same.
func (v *view) collectGrants() {
	open := make(map[holder][]int)
	early := make(map[string][]int) // losses that were told since each client asked for its lock
	for i, fault := 0, 0; i < len(v.h.Events); i++ {
		e, op := &v.h.Events[i], int(v.opAt[i])
		switch {
		case e.F == history.FaultBegin:
			v.endKilled(open, &v.faults[fault])
			fault++
		case e.F == history.Lost:
			early[e.Process] = append(early[e.Process], i)
			for _, g := range open[holder{e.Process, e.Value.Lock()}] {
				v.lose(&v.grants[g], i)
			}
		case !e.IsOp():
		case e.Type == history.Invoke && e.F == history.Release:
			v.giveBack(open, v.key(op), op)
		case e.Type == history.Invoke && e.F == history.Acquire:
			v.askedAnew(open, op)
			delete(early, e.Process)
		case e.Type == history.Invoke || op < 0 || e.Type != history.OK:
		case e.F == history.Acquire:
			v.acquired(open, op)
			for _, loss := range early[e.Process] {
				v.lose(&v.grants[len(v.grants)-1], loss)
			}
		case e.F == history.Extend:
			v.extended(open, op)
		}
	}
}

// endKilled ends the beliefs of the clients that a fault kills.
func (v *view) endKilled(open map[holder][]int, f *fault) {
	if !f.does(history.Kills) {
		return
	}
	for k, list := range open {
		if !f.strikesClient(history.Kills, k.client) {
			continue
		}
		for _, g := range list {
			v.grants[g].ends, v.grants[g].how = f.begin, killed
		}
		delete(open, k)
	}
}

// key finds the lock that an operation is about: its completion may name it
// where its invocation did not.
func (v *view) key(op int) holder {
	o := &v.ops[op]
	k := holder{o.Process, v.event(o.Call).Value.Lock()}
	if k.lock == "" && o.Return >= 0 {
		k.lock = v.event(o.Return).Value.Lock()
	}
	return k
}

// owner finds the owner value of an operation in the same way.
func (v *view) owner(op int) string {
	o := &v.ops[op]
	owner := v.event(o.Call).Value.Owner
	if owner == "" && o.Return >= 0 {
		owner = v.event(o.Return).Value.Owner
	}
	return owner
}

// askedAnew takes note that a client asks for a lock. Whatever comes of it, a client
// that asks anew without re-entering has given up what it held before.
func (v *view) askedAnew(open map[holder][]int, op int) {
	k := v.key(op)
	list := open[k]
	if len(list) == 0 {
		return
	}
	if v.ops[op].Type == history.OK {
		if owner := v.owner(op); owner != "" && owner == v.grants[list[len(list)-1]].owner {
			return
		}
	}
	for _, g := range list {
		v.grants[g].ends, v.grants[g].how = v.ops[op].Call, superseded
	}
	delete(open, k)
}

// acquired takes note of a grant. What its client still holds of the lock it has
// re-entered.
func (v *view) acquired(open map[holder][]int, op int) {
	o := &v.ops[op]
	k, e := v.key(op), v.event(o.Return)
	g := grant{client: o.Process, lock: k.lock, owner: v.owner(op), token: e.Value.Token, op: op,
		call: o.Call, ret: o.Return, until: promised(e.Value.ValidUntil()), ends: -1, outer: -1, loss: -1}
	list := open[k]
	if n := len(list); n > 0 {
		g.outer = list[n-1]
	}
	open[k] = append(list, len(v.grants))
	v.byClient[g.client] = append(v.byClient[g.client], len(v.grants))
	if v.byHolder[k] == nil {
		v.locks[k.client] = append(v.locks[k.client], k.lock)
	}
	v.byHolder[k] = append(v.byHolder[k], len(v.grants))
	v.grants = append(v.grants, g)
}

// inherit gives a re-entry the promise of the grant that it re-entered where its
// own is shorter or missing: the client acts under both.
func (g *grant) inherit(last promise, own bool) {
	if !last.given || !own {
		g.until = last
	} else {
		g.until = g.until.longer(last)
	}
}

// giveBack ends the grant that a release is about, the latest. Those that are open
// together have one owner value, so that of the release tells no more.
func (v *view) giveBack(open map[holder][]int, k holder, op int) {
	list := open[k]
	if len(list) == 0 {
		return
	}
	g := &v.grants[list[len(list)-1]]
	g.ends, g.how, g.release = v.ops[op].Call, released, op
	open[k] = list[:len(list)-1]
}

// extended lengthens the open grants that a renewal is about. A re-entrant hold has
// one lease, so there can be several; a renewal that names another owner value
// belongs to a grant that is gone.
func (v *view) extended(open map[holder][]int, op int) {
	o := &v.ops[op]
	until := v.event(o.Return).Value.ValidUntil()
	if !until.IsSet() {
		return
	}
	for _, i := range open[v.key(op)] {
		if g := &v.grants[i]; v.isRenewedBy(g, op) {
			g.extends = append(g.extends, extension{v.at(o.Call), o.Return, time.Duration(until.V())})
		}
	}
}

// isRenewedBy reports that a renewal of the client and lock of a grant is one of this grant.
func (v *view) isRenewedBy(g *grant, op int) bool {
	owner := v.owner(op)
	return v.ops[op].Call > g.call && (owner == "" || g.owner == "" || owner == g.owner)
}

// lastEvent is the event that ended the belief in a grant, or that which the history ended
// before.
func (g *grant) lastEvent(end int) int {
	if g.ends < 0 {
		return end
	}
	return g.ends
}

// believedUntil is the end of the client's belief in a grant; forever where the
// history ended first.
func (v *view) believedUntil(g *grant) time.Duration { return v.at(g.ends) }

// freeFrom is when the lock could be had again for all that is known of a
// grant: released, or its promise over. A client that was killed, or that asked
// anew, keeps its lease, where it has one; forever where nothing ends it.
func (v *view) freeFrom(g *grant) time.Duration {
	last := g.lastPromise()
	if g.loss >= 0 {
		last = g.lease
	}
	at := last.cut(forever)
	if g.how == released && v.ops[g.release].Type != history.Info {
		at = min(at, v.at(v.ops[g.release].Return))
	}
	if !last.given {
		at = min(at, v.at(v.killed(g.client, g.ret, -1)), v.at(v.askedAnewAfter(g)))
	}
	return at
}

// askedAnewAfter is the event in which the client of a grant first asked for the lock
// anew without re-entering, -1 where it never did.
func (v *view) askedAnewAfter(g *grant) int {
	acquires := v.acquires[g.client]
	after := sort.Search(len(acquires), func(i int) bool { return v.ops[acquires[i]].Call > g.ret })
	for _, op := range acquires[after:] {
		if again := v.grantOf(op); v.key(op).lock == g.lock && (again == nil || again.outer < 0) {
			return v.ops[op].Call
		}
	}
	return -1
}

// grantOf is the grant that an acquire brought, nil where it brought none. A client's
// grants are in the order of its attempts.
func (v *view) grantOf(op int) *grant {
	list := v.byClient[v.ops[op].Process]
	n := sort.Search(len(list), func(i int) bool { return v.grants[list[i]].op >= op })
	if n == len(list) || v.grants[list[n]].op != op {
		return nil
	}
	return &v.grants[list[n]]
}

// lastPromise is the latest end that the lock ever promised for a grant.
func (g *grant) lastPromise() promise {
	return g.promise(func(extension) bool { return true })
}

// promise is the latest end that the lock promised for a grant, by itself or by those
// renewals that count. One for ever is none.
func (g *grant) promise(counts func(extension) bool) promise {
	p := g.until
	if !p.given {
		return p
	}
	for _, x := range g.extends {
		if x.until > p.end && counts(x) {
			p.end = x.until
		}
	}
	p.given = p.end < forever
	return p
}
