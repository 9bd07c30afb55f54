package facts

import (
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// KeyLife is the life of one key on one node, from its setting to its end.
type KeyLife struct {
	// Set is the event that it begins with, by the key-set that made it its client's, with the value
	// Owner. value is what stands in it.
	Set, by              int
	Client, Owner, value string
	// latest is the last key-set by which it is its client's.
	latest int
	// End is the event that ended it, -1 where none did; Expires the instant at
	// which it would end by itself, Forever where it has no TTL.
	End     int
	Expires time.Duration
	Renewed int // the last renewal, -1 for none
	// Forgotten is the event after which nothing would be known of it, had it not ended before; -1 for none.
	Forgotten int
}

// KeyLives replays what the nodes told of the lock's key.
func (f *Facts) KeyLives() []KeyLife {
	l := lifeReplay{facts: f, open: make(map[NodeKey]int), remembered: make(map[NodeKey][]int)}
	lockKey := f.History.Header.LockKey
	begun := 0
	for i := range f.History.Events {
		e := f.Event(i)
		if lockKey != "" && e.Value.Key != "" && e.Value.Key != lockKey {
			continue
		}
		k := KeyOf(e)
		switch e.F {
		case history.KeySet:
			l.set(k, i)
		case history.KeyExtended:
			l.extend(k, i)
		case history.KeyDeleted, history.KeyExpired:
			l.end(k, i)
		case history.KeyUnclear:
			l.forget(i, func(key NodeKey) bool { return key == k })
		case history.FaultBegin:
			fault := &f.Faults[begun]
			begun++
			l.forget(i, func(key NodeKey) bool { return fault.MayForget(key.Node) })
		case history.NodeDown:
			l.forget(i, func(key NodeKey) bool { return key.Node == e.Process })
		}
	}
	return l.lives
}

// Copies tells which keys are copies: no client is known to have set one on its node, and one set it on another. A replica took it over.
func (f *Facts) Copies() func(k *KeyLife) bool {
	type value struct{ key, owner string }
	setOn := make(map[value][]string)
	for i := range f.History.Events {
		if e := f.Event(i); e.F == history.KeySet && e.Value.Client != "" {
			v := value{e.Value.Key, e.Value.Owner}
			if !slices.Contains(setOn[v], e.Process) {
				setOn[v] = append(setOn[v], e.Process)
			}
		}
	}
	return func(k *KeyLife) bool {
		here := f.Event(k.Set)
		elsewhere := func(node string) bool { return node != here.Process }
		return k.Client == "" && slices.ContainsFunc(setOn[value{here.Value.Key, k.Owner}], elsewhere)
	}
}

// lifeReplay follows the lives of keys, one event after the other.
type lifeReplay struct {
	facts *Facts
	lives []KeyLife
	// open is the life of each key that goes on, as a place in lives; remembered are all lives of a key
	// since nothing was known of it before.
	open       map[NodeKey]int
	remembered map[NodeKey][]int
}

// set begins a life, unless the key-set belongs to the one that goes on.
func (l *lifeReplay) set(k NodeKey, event int) {
	if at, known := l.open[k]; known {
		if l.goesOn(k, &l.lives[at], event) {
			return
		}
		l.lives[at].End = event
	}
	client, by := l.facts.OwnerAfter(event)
	l.open[k] = len(l.lives)
	l.remembered[k] = append(l.remembered[k], len(l.lives))
	l.lives = append(l.lives, KeyLife{Set: event, by: by, latest: by, Client: client, Owner: l.facts.Event(by).Value.Owner,
		value: l.facts.Event(event).Value.Owner, End: -1, Expires: l.facts.earliestExpiry(event), Renewed: -1, Forgotten: -1})
}

// goesOn reports that a key-set begins no new life of a key: somebody else wrote into it, or its client renewed a lease in the value.
func (l *lifeReplay) goesOn(key NodeKey, k *KeyLife, set int) bool {
	f := l.facts
	if _, by := f.OwnerAfter(set); by != set && by == k.latest {
		if k.value = f.Event(set).Value.Owner; !f.LeaseInValue() {
			k.Expires = f.earliestExpiry(set)
		}
		return true
	}
	if !f.renewsLease(k, set) {
		return false
	}
	if f.mayBeRelease(k, set) {
		k.Expires, k.End, k.Forgotten = min(k.Expires, f.At(set)), set, set
		delete(l.open, key)
	} else {
		k.value, k.Expires, k.latest, k.Renewed = f.Event(set).Value.Owner, f.leaseEnd(set), set, set
	}
	return true
}

// extend gives the life that goes on another end.
func (l *lifeReplay) extend(k NodeKey, event int) {
	at, known := l.open[k]
	if !known {
		return
	}
	f, e := l.facts, l.facts.Event(event)
	if l.lives[at].value != e.Value.Owner { // another has taken its place, unseen
		l.end(k, event)
		return
	}
	if f.LeaseInValue() {
		return
	}
	l.lives[at].Renewed = event
	if !f.KeepsItsEnd(e) {
		l.lives[at].Expires = f.earliestExpiry(event)
	}
}

// end ends the life that goes on.
func (l *lifeReplay) end(k NodeKey, event int) {
	if at, known := l.open[k]; known {
		l.lives[at].End = event
		delete(l.open, k)
	}
}

// forget ends the lives of keys that may be gone: what is no longer known to be there
// is not held against anybody.
func (l *lifeReplay) forget(event int, gone func(NodeKey) bool) {
	for k, list := range l.remembered {
		if !gone(k) {
			continue
		}
		for _, at := range list {
			if l.lives[at].Forgotten < 0 {
				l.lives[at].Forgotten = event
			}
		}
		if at, known := l.open[k]; known {
			l.lives[at].Expires, l.lives[at].End = min(l.lives[at].Expires, l.facts.At(event)), event
		}
		delete(l.open, k)
		delete(l.remembered, k)
	}
}

// KeepsItsEnd reports that a key that was prolonged ends when it would have ended. That it was seen is no
// proof that it lived until then: a node that was stopped while it carried the command out tells of it when it goes on.
func (f *Facts) KeepsItsEnd(e *history.Event) bool {
	return f.History.Header.Program != "" && e.Value.Client != "" && !e.Value.At().IsSet()
}

// earliestExpiry is when a key ends by itself, at the earliest.
func (f *Facts) earliestExpiry(event int) time.Duration {
	e := f.Event(event)
	if f.LeaseInValue() {
		return f.leaseEnd(event)
	}
	if !e.Value.TTL().IsSet() {
		return Forever
	}
	for i := range f.Faults {
		if f.Faults[i].StrikesNode(history.BendsClock, e.Process) {
			return e.Time
		}
	}
	return f.ExpiryAfter(e)
}

// ExpiryAfter is when a key went by itself, on a clock that nobody bent, by the event that set its end.
func (f *Facts) ExpiryAfter(e *history.Event) time.Duration {
	if !e.Value.TTL().IsSet() {
		return Forever
	}
	end := e.Time + time.Duration(e.Value.TTL().V())
	if e.Value.At().IsSet() && e.Value.ValidUntil().IsSet() {
		end = min(end, time.Duration(e.Value.ValidUntil().V()))
	}
	return end
}

// NoLongerWanted is when the owner of a key had done with it, at which event, and
// whether the owner was killed; Forever where it never had. Where several attempts used
// the key's owner value, it is the last of their ends.
func (f *Facts) NoLongerWanted(k *KeyLife) (at time.Duration, event int, dead bool) {
	at = Forever
	for n, attempt := range f.attemptsFor(k) {
		t, e, d := f.attemptEnd(k.Client, attempt)
		if n == 0 || t > at || t == at && e > event {
			at, event, dead = t, e, d
		}
	}
	return at, event, dead
}

// Over is when all attempts that used a key were over, as their client was told; from is the first of their invocations,
// release the first invocation of a release of theirs, -1 for none. ok is false where one of them was not over, or there was none.
// however: a release need not have been answered with yes or no.
func (f *Facts) Over(k *KeyLife, however bool) (from, over, release int, ok bool) {
	from, over, release = -1, -1, -1
	for _, attempt := range f.attemptsFor(k) {
		o := &f.Ops[attempt]
		end := o.Return
		if o.Type == history.OK {
			r := f.ReleaseOf(f.GrantOf(attempt))
			if r == nil || r.Return < 0 || r.Type == history.Info && !however {
				return -1, -1, -1, false
			}
			if end = r.Return; release < 0 || r.Call < release {
				release = r.Call
			}
		} else if o.Type != history.Fail {
			return -1, -1, -1, false
		}
		if over = max(over, end); from < 0 || o.Call < from {
			from = o.Call
		}
	}
	return from, over, release, over >= 0
}

// SetIn is the key-set by which a key is its client's.
func (k *KeyLife) SetIn() int { return k.by }

// attemptEnd is when a client had done with the keys of one attempt.
func (f *Facts) attemptEnd(client string, attempt int) (at time.Duration, event int, dead bool) {
	o := &f.Ops[attempt]
	if kill := f.KilledBetween(client, o.Call, o.Return); kill >= 0 {
		return f.At(kill), kill, true
	}
	if o.Type != history.OK {
		return f.At(o.Return), o.Return, false
	}
	g := f.GrantOf(attempt)
	if g.Ending == Released && f.Ops[g.release].Type == history.Info {
		if kill := f.KilledBetween(client, g.End, f.nextCall(client, g.release)); kill >= 0 {
			return f.At(kill), kill, true // the lock may not have learned of the release
		}
	}
	return f.At(g.End), g.End, g.Ending == Killed
}

// attemptsFor are the acquires that may have set a key: those with its owner value, or
// else the client's latest before it that told none, and those that took it again.
func (f *Facts) attemptsFor(k *KeyLife) []int {
	var same []int
	silent := -1
	for _, i := range f.Attempts[k.Client] {
		owner := f.ownerOf(i)
		if owner != "" && owner == k.Owner {
			same = append(same, i)
		} else if owner == "" && f.At(f.Ops[i].Call) <= f.At(k.by) {
			silent = i
		}
	}
	if len(same) == 0 && silent >= 0 {
		return f.tookAgain(k, silent)
	}
	return same
}

// tookAgain are the acquire of a client that had set a key, and the later ones that used it: they were granted the lock, and extended
// the key.
func (f *Facts) tookAgain(k *KeyLife, last int) []int {
	list := []int{last}
	of := f.Event(k.by)
	for i := k.by + 1; i < len(f.History.Events); i++ {
		e := f.Event(i)
		if e.Process != of.Process || e.Value.Key != of.Value.Key {
			continue
		}
		switch e.F {
		case history.KeySet, history.KeyDeleted, history.KeyExpired, history.KeyUnclear:
			return list
		case history.KeyExtended:
		default:
			continue
		}
		if e.Value.Client != k.Client || !e.Value.At().IsSet() {
			continue
		}
		if a := f.takenAround(k.Client, f.LeftAt(i)); a > last {
			list, last = append(list, a), a
		}
	}
	return list
}

// takenAround is the last acquire of a client that was under way at an instant, and told no owner value; -1: none. Where the lock renews by
// itself, a renewal of an earlier one may be under way then, too: it must have been granted.
func (f *Facts) takenAround(client string, at time.Duration) int {
	attempts := f.Attempts[client]
	n := sort.Search(len(attempts), func(n int) bool { return f.At(f.Ops[attempts[n]].Call) > at }) - 1
	for ; n >= 0 && f.At(f.Ops[attempts[n]].Return) >= at; n-- {
		a := attempts[n]
		if granted := f.Ops[a].Type == history.OK; f.ownerOf(a) == "" && (granted || !f.History.Header.LockOf(client).Renews) {
			return a
		}
	}
	return -1
}
