package checker_test

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/checker/naive"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// turns has, for each property, the one change of a history that violates it at a place which its chances name. Where no
// place of a history can be changed so, the property could not have failed in it.
var turns = map[checker.Property]struct {
	words string
	at    func(c *changed, yield func(*history.History) bool)
}{
	checker.ExclusiveBelief: {"an attempt is granted sooner, or at all; nobody is told of a loss, and the dead live",
		(*changed).granted},
	checker.ExclusiveLease: {"an attempt is granted sooner, or at all; nobody is told of a loss, and the dead live",
		(*changed).granted},
	checker.WithinPermits: {"an attempt is granted sooner, or at all; nobody is told of a loss, and the dead live",
		(*changed).granted},
	checker.NoLateEffect: {"a write takes effect after every promise", (*changed).late},
	checker.HolderServed: {"the fence refuses an operation", (*changed).refused},
	checker.LinearizableResource: {"a section finds what it cannot have found; a job runs once more",
		(*changed).misled},
	checker.AtMostOnce:       {"a client that asked at a tick does its work, too", (*changed).twice},
	checker.OrderedTokens:    {"a grant has the smallest of all tokens", (*changed).smallest},
	checker.OwnerRelease:     {"another client releases or renews a key, or releases it where it was set again", (*changed).touched},
	checker.DeadlockFree:     {"a grant, and all that follows it, comes later by more than the bound", (*changed).delayed},
	checker.MinorityTolerant: {"a grant, and all that follows it, comes later by more than the bound", (*changed).delayed},
	checker.Fairness:         {"all later attempts of others are granted at once, or a client is never answered", (*changed).overtaken},
	checker.NoOrphanLock:     {"a key has no TTL, its node tells who set it, and nobody touches it any more, or ever did", (*changed).kept},
	checker.NothingStays:     {"a key has no TTL, its node tells who set it, and nobody touches it any more, or ever did", (*changed).kept},
	checker.NoResurrection:   {"a renewal sets the keys of a grant once more", (*changed).revived},
	checker.ToldWhenLost:     {"the lock tells no loss, and a promise without end; the client goes on", (*changed).untold},
	checker.ToldAtRelease:    {"a release is answered ok, and nobody was told of a loss", (*changed).affirmed},
	checker.NoFalseAlarm:     {"somebody is told of a loss", (*changed).alarmed},
	checker.Atomic:           {"the writes of a section to a cell fail, or one does not; a number is missing in one list", (*changed).halved},
	checker.Isolated:         {"a snapshot shows a number in one list", (*changed).halfSeen},
	checker.Durable:          {"a number is missing at the end", (*changed).forgotten},
}

// changed makes changed histories.
type changed struct {
	*history.History
	ops   []history.Op
	bound time.Duration
}

// far is later than any promise of a history.
func (c *changed) far() time.Duration {
	far := c.End() + time.Duration(c.Header.TTL)
	for i := range c.Events {
		v := &c.Events[i].Value
		for _, at := range []history.Int{v.ValidUntil(), v.At()} {
			if at.IsSet() && time.Duration(at.V()) < forever/4 {
				far = max(far, time.Duration(at.V()))
			}
		}
	}
	return far + time.Hour
}

// with is the history with other events.
func (c *changed) with(events []history.Event) *history.History {
	h := *c.History
	h.Events = numbered(events)
	return &h
}

// edit is the history with another event in the place of event i.
func (c *changed) edit(i int, change func(*history.Event)) *history.History {
	events := slices.Clone(c.Events)
	change(&events[i])
	return c.with(events)
}

// later is the history with event i, and all that follows, later.
func (c *changed) later(i int, by time.Duration) *history.History {
	return c.laterWith(i, by, c.Events[i].Time)
}

// laterWith leaves those of what these events tell of as they are that were before an instant.
func (c *changed) laterWith(i int, by, from time.Duration) *history.History {
	events := slices.Clone(c.Events)
	for ; i < len(events); i++ {
		e := &events[i]
		e.Time += by
		if at := e.Value.At(); at.IsSet() {
			if at.V() < int64(from) {
				continue // it tells of what was before
			}
			e.Value.OwnOutcome().At = history.Some(at.V() + int64(by))
		}
		if until := e.Value.ValidUntil(); until.IsSet() && until.V() < forever/4 {
			e.Value.OwnGrant().ValidUntil = history.Some(until.V() + int64(by))
		}
	}
	return c.with(events)
}

// completed are the events that answer an operation ok.
func (c *changed) completed(f history.F) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, o := range c.ops {
			if o.F == f && o.Type == history.OK && !yield(o.Return) {
				return
			}
		}
	}
}

func (c *changed) granted(yield func(*history.History) bool) {
	alive := *c.History
	alive.Events = slices.Clone(c.Events)
	for i := range alive.Events { // whom the lock does not know to be dead
		if e := &alive.Events[i]; e.F == history.FaultBegin && slices.Contains(c.Header.Clients, e.Value.Target()) {
			e.F = history.FaultFailed
		}
	}
	lives := &changed{History: &alive, ops: alive.Ops(), bound: c.bound}
	for _, c := range []*changed{c, lives} {
		for h := range c.grantedSooner {
			if !yield(h) {
				return
			}
		}
	}
}

func (c *changed) grantedSooner(yield func(*history.History) bool) {
	far := history.Some(int64(c.far()))
	for _, o := range c.ops {
		if o.F != history.Acquire {
			continue
		}
		e := c.Events[o.Call]
		e.Type, e.Value.Owner = history.OK, "granted sooner"
		end := len(c.Events)
		if o.Return >= 0 {
			end = o.Return
		}
		if o.Type == history.OK {
			e = c.Events[o.Return]
		}
		e.Value.OwnGrant().ValidUntil = far
		for k := o.Call; k < end; k++ {
			events := slices.Clone(c.Events)
			e.Time = c.Events[k].Time
			events = slices.Insert(events, k+1, e)
			rest := events[k+2:]
			if o.Return >= 0 {
				rest = slices.Delete(rest, o.Return-k-1, o.Return-k)
			}
			lost := func(e history.Event) bool { return e.F == history.Lost && e.Process == o.Process }
			if !yield(c.with(slices.DeleteFunc(slices.Concat(events[:k+2], rest), lost))) {
				return
			}
		}
	}
}

func (c *changed) overtaken(yield func(*history.History) bool) {
	for _, o := range c.ops {
		if o.F != history.Acquire {
			continue
		}
		var waits []history.Event
		for i, e := range c.Events {
			if i <= o.Call || e.Process != o.Process {
				waits = append(waits, e)
			}
		}
		if !yield(c.with(waits)) {
			return
		}
		var events []history.Event
		answered := make(map[int]bool)
		for i, e := range c.Events {
			if answered[i] {
				continue
			}
			if events = append(events, e); e.F != history.Acquire || e.Type != history.Invoke || i <= o.Call || e.Process == o.Process {
				continue
			}
			for _, p := range c.ops {
				if p.Call == i && p.Return >= 0 {
					answered[p.Return] = true
				}
			}
			e.Type, e.Value.Owner = history.OK, "granted sooner"
			events = append(events, e)
		}
		if !yield(c.with(events)) {
			return
		}
	}
}

func (c *changed) late(yield func(*history.History) bool) {
	ends := []int64{int64(c.far())}
	for i := range c.Events {
		if until := c.Events[i].Value.ValidUntil(); until.IsSet() && until.V() < forever/4 {
			ends = append(ends, until.V()) // further renewals may be for ever
		}
	}
	for i := range c.Events {
		for _, end := range ends {
			if e := &c.Events[i]; e.F == history.Effect && e.Value.Accepted().Set &&
				(e.Value.Op() == history.Write || e.Value.Op() == history.CAS) && !yield(c.edit(i, func(e *history.Event) {
				x := e.Value.OwnOutcome()
				x.Accepted, x.At = history.SomeBool(true), history.Some(end+x.AtError+1)
			})) {
				return
			}
		}
	}
}

func (c *changed) refused(yield func(*history.History) bool) {
	for i := range c.Events {
		if c.Events[i].Value.Accepted().V &&
			!yield(c.edit(i, func(e *history.Event) { e.Value.OwnOutcome().Accepted = history.SomeBool(false) })) {
			return
		}
	}
}

func (c *changed) misled(yield func(*history.History) bool) {
	others := []int64{-7777}
	for i := range c.completed(history.Read) {
		others = append(others, c.Events[i].Value.Number.V())
	}
	slices.Sort(others)
	others = slices.Compact(others)
	for i := range c.completed(history.Read) {
		list := c.Events[i].Value.List()
		shorter := func(e *history.Event) { e.Value.OwnExtra().List = list[:len(list)-1] }
		if len(list) > 0 && !yield(c.edit(i, shorter)) ||
			!yield(c.edit(i, func(e *history.Event) { e.Value.OwnExtra().List = append(slices.Clone(list), -7777) })) {
			return
		}
		for _, n := range others {
			if !yield(c.edit(i, func(e *history.Event) { e.Value.Number = history.Some(n) })) {
				return
			}
		}
	}
	for i := range c.completed(history.CAS) {
		if !yield(c.edit(i, func(e *history.Event) { e.Value.OwnExtra().Expected = history.Some(e.Value.Expected().V() + 7777) })) {
			return
		}
	}
	for i := range c.completed(history.Write) {
		for _, client := range c.Header.Clients {
			e := c.Events[i]
			e.Process, e.Value.Section = client, 7777
			invoked := e
			invoked.Type = history.Invoke
			if !yield(c.with(slices.Insert(slices.Clone(c.Events), i+1, invoked, e))) {
				return
			}
		}
	}
}

func (c *changed) twice(yield func(*history.History) bool) {
	for _, o := range c.ops {
		if o.F != history.Acquire {
			continue
		}
		invoked := c.Events[o.Call]
		invoked.F = history.Write
		ok := invoked
		ok.Type = history.OK
		if !yield(c.with(slices.Insert(slices.Clone(c.Events), o.Call+1, invoked, ok))) {
			return
		}
	}
}

func (c *changed) smallest(yield func(*history.History) bool) {
	smallest := history.Int{}
	for i := range c.completed(history.Acquire) {
		if t := c.Events[i].Value.Token; t.IsSet() && (!smallest.IsSet() || t.V() < smallest.V()) {
			smallest = t
		}
	}
	for i := range c.completed(history.Acquire) {
		if c.Events[i].Value.Token.IsSet() && !yield(c.edit(i, func(e *history.Event) { e.Value.Token = smallest })) {
			return
		}
	}
}

func (c *changed) touched(yield func(*history.History) bool) {
	type place struct{ node, key string }
	holds := map[place]string{}
	for i := range c.Events {
		if e := &c.Events[i]; e.F == history.KeySet {
			at := place{e.Process, e.Value.Key}
			before := holds[at]
			holds[at] = e.Value.Owner
			for _, client := range c.Header.Clients {
				if !yield(c.edit(i, func(e *history.Event) { e.F, e.Value.Owner, e.Value.Client = history.KeyDeleted, before, client })) {
					return
				}
			}
			continue
		}
		if e := &c.Events[i]; e.F != history.KeyDeleted && e.F != history.KeyExtended || e.Value.Client == "" {
			continue
		}
		for _, client := range c.Header.Clients {
			if !yield(c.edit(i, func(e *history.Event) { e.Value.Client = client })) {
				return
			}
		}
	}
}

func (c *changed) delayed(yield func(*history.History) bool) {
	by := c.bound + c.far() // no promise of another client outlasts it
	for i := range c.completed(history.Acquire) {
		if !yield(c.later(i, by)) || !yield(c.laterWith(i, by, math.MinInt64)) {
			return
		}
		// What has the same stamp may have been before it.
		for last := i + 1; last < len(c.Events) && c.Events[last].Time == c.Events[i].Time; last++ {
			events := slices.Insert(slices.Clone(c.Events), last+1, c.Events[i])
			moved := changed{History: c.with(slices.Delete(events, i, i+1))}
			if !yield(moved.later(last, by)) {
				return
			}
		}
	}
}

func (c *changed) kept(yield func(*history.History) bool) {
	for i := range c.Events {
		if c.Events[i].F != history.KeySet {
			continue
		}
		e := c.Events[i]
		g := e.Value.OwnGrant()
		g.TTL, g.ValidUntil = history.Int{}, history.Int{}
		touches := func(x history.Event) bool {
			return keyChanged(x.F) && x.Process == e.Process && x.Value.Key == e.Value.Key
		}
		before := slices.Clone(c.Events[:i])
		after := append([]history.Event{e}, slices.DeleteFunc(slices.Clone(c.Events[i+1:]), touches)...)
		if !yield(c.with(slices.Concat(before, after))) || !yield(c.with(append(slices.DeleteFunc(slices.Clone(before), touches), after...))) {
			return
		}
		for _, client := range c.Header.Clients {
			if after[0].Value.Client = client; e.Value.Client == "" && !yield(c.with(slices.Concat(before, after))) {
				return
			}
		}
	}
}

func (c *changed) revived(yield func(*history.History) bool) {
	for g := range c.completed(history.Acquire) {
		client := c.Events[g].Process
		call := g
		for ; c.Events[call].Process != client || c.Events[call].F != history.Acquire || c.Events[call].Type != history.Invoke; call-- {
		}
		ends := func(e history.Event) bool {
			return e.Process == client && e.Type == history.Invoke && (e.F == history.Release || e.F == history.Forget || e.F == history.Acquire)
		}
		for k := g; k < len(c.Events) && (k == g || !ends(c.Events[k])); k++ {
			var sets, free []history.Event
			for _, e := range c.Events[call : k+1] {
				if e.F != history.KeySet || e.Value.Client != client || e.Value.Owner == "" && c.Header.Lease == "" {
					continue
				}
				e.Time = c.Events[k].Time
				e.Value.OwnOutcome().At = history.Some(int64(max(e.Time, c.Events[g].Time+1)))
				if sets = append(sets, e); !c.isOthers(k, e) {
					free = append(free, e)
				}
			}
			for _, sets := range [][]history.Event{sets, free} {
				if !yield(c.with(slices.Insert(slices.Clone(c.Events), k+1, sets...))) {
					return
				}
			}
		}
	}
}

// isOthers reports that after event k another client's value stands in the key of an event.
func (c *changed) isOthers(k int, of history.Event) bool {
	for _, e := range slices.Backward(c.Events[:k+1]) {
		if e.F == history.NodeDown && e.Process == of.Process {
			return false
		}
		if keyChanged(e.F) && e.Process == of.Process && e.Value.Key == of.Value.Key {
			return e.F == history.KeySet && e.Value.Client != of.Value.Client
		}
	}
	return false
}

func (c *changed) untold(yield func(*history.History) bool) {
	far := c.far()
	for g := range c.completed(history.Acquire) {
		client := c.Events[g].Process
		silent := changed{History: c.edit(g, func(e *history.Event) { e.Value.OwnGrant().ValidUntil = history.Some(int64(far)) })}
		if !yield(silent.History) {
			return
		}
		for i := g + 1; i < len(c.Events); i++ {
			if c.Events[i].F == history.Lost && c.Events[i].Process == client && !yield(silent.later(i, 2*time.Duration(c.Header.TTL))) {
				return
			}
		}
		mute := func(e history.Event) bool { return e.F == history.Lost && e.Process == client }
		silent.Events = numbered(slices.DeleteFunc(slices.Clone(silent.Events), mute))
		for i := range silent.Events {
			if i > g && !yield(silent.later(i, 2*time.Duration(c.Header.TTL))) {
				return
			}
		}
	}
}

func (c *changed) affirmed(yield func(*history.History) bool) {
	silent := changed{History: c.with(slices.Clone(c.Events))}
	for i := range silent.Events {
		if e := &silent.Events[i]; e.F == history.Lost {
			e.F = history.Point
		} else if e.F == history.Extend && e.Type == history.Fail {
			e.Type = history.Info
		}
	}
	for _, o := range c.ops {
		answered := o.F == history.Release && o.Return >= 0
		if answered && !yield(silent.edit(o.Return, func(e *history.Event) { e.Type = history.OK })) {
			return
		}
	}
}

func (c *changed) alarmed(yield func(*history.History) bool) {
	for _, o := range c.ops {
		if o.F != history.Acquire || o.Type != history.OK {
			continue
		}
		lock := cmp.Or(c.Events[o.Call].Value.Lock(), c.Events[o.Return].Value.Lock())
		for i := o.Return; i < len(c.Events); i++ {
			e := history.Event{Time: c.Events[i].Time, Process: o.Process, Type: history.Info, F: history.Lost,
				Value: history.Value{Extra: &history.Extra{Lock: lock}}}
			renewed := c.Events[i].F == history.KeySet || c.Events[i].F == history.KeyExtended
			if renewed && c.Events[i].Value.Client == o.Process && !yield(c.with(slices.Insert(slices.Clone(c.Events), i+1, e))) {
				return
			}
		}
	}
}

func (c *changed) halved(yield func(*history.History) bool) {
	for _, o := range c.ops {
		if o.F != history.Write {
			continue
		}
		asked := &c.Events[o.Call].Value
		for _, becomes := range []history.Type{history.Fail, history.OK} {
			var events []history.Event
			for i := range c.Events {
				e := c.Events[i]
				its := e.Value.Section == asked.Section && e.Value.Key == asked.Key
				if its && e.F == history.Effect && e.Value.Client == o.Process {
					e.Value.OwnOutcome().Accepted = history.SomeBool(becomes == history.OK)
				}
				answers := func(p history.Op) bool {
					v := &c.Events[p.Call].Value
					same := p.F == o.F && p.Process == o.Process && v.Section == asked.Section && v.Key == asked.Key
					return same && (p.Return == i || p.Return < 0 && p.Call == i)
				}
				is := slices.ContainsFunc(c.ops, answers)
				if is && e.Type == history.Invoke {
					events = append(events, e)
				}
				if is {
					e.Type = becomes
				}
				events = append(events, e)
			}
			if !yield(c.with(events)) {
				return
			}
		}
	}
	c.looks(func(i int, v *history.Value, n int64) bool {
		return yield(c.edit(i, without(n, false))) && yield(c.edit(i, with(n)))
	})
}

func (c *changed) halfSeen(yield func(*history.History) bool) {
	c.looks(func(i int, v *history.Value, n int64) bool {
		return yield(c.edit(i, without(n, false))) && yield(c.edit(i, with(n)))
	})
}

func (c *changed) forgotten(yield func(*history.History) bool) {
	c.looks(func(i int, v *history.Value, n int64) bool { return yield(c.edit(i, without(n, true))) })
}

// looks goes through all snapshots, and the numbers that were appended.
func (c *changed) looks(at func(int, *history.Value, int64) bool) {
	for i := range c.completed(history.Snapshot) {
		for _, o := range c.ops {
			if o.F == history.Transact && !at(i, &c.Events[i].Value, c.Events[o.Call].Value.Number.V()) {
				return
			}
		}
	}
}

// without takes a number out of the second list, or out of both; with puts it into the first.
func without(n int64, both bool) func(*history.Event) {
	return func(e *history.Event) {
		x := e.Value.OwnExtra()
		is := func(m int64) bool { return m == n }
		if x.Other = slices.DeleteFunc(slices.Clone(x.Other), is); both {
			x.List = slices.DeleteFunc(slices.Clone(x.List), is)
		}
	}
}

func with(n int64) func(*history.Event) {
	return func(e *history.Event) {
		x := e.Value.OwnExtra()
		x.List = append(slices.Clone(x.List), n)
	}
}

// flips reports that a history in which a property holds violates it after its change at some place.
func flips(t *testing.T, h *history.History, p checker.Property, o checker.Options) bool {
	t.Helper()
	o.Brief, o.Fast = true, true
	c := changed{h, h.Ops(), cmp.Or(o.GrantWithin, checker.DefaultGrantWithin)}
	for h := range func(yield func(*history.History) bool) { turns[p].at(&c, yield) } {
		if judge(h, []checker.Property{p}, o)[0] != checker.Violated {
			continue
		}
		// What the page takes too long to say, or has no opinion of, the judge says alone.
		if len(h.Events) <= longest {
			if said := naive.Judge(h, []checker.Property{p}, o)[p]; said != checker.Violated && said != 0 {
				t.Errorf("%s: the judge finds a violation where the page says %v", p, said)
			}
		}
		return true
	}
	return false
}

// couldHaveFailed checks of each property that holds that its change flips it.
func couldHaveFailed(t *testing.T, h *history.History, o checker.Options, origin string, tally map[checker.Property]int) {
	t.Helper()
	properties := checker.Properties()
	for i, v := range judge(h, properties, o) {
		if v != checker.Holds || turns[properties[i]].at == nil {
			continue
		}
		p := properties[i]
		if p == checker.NoOrphanLock && h.Header.Lease != "" {
			continue // a lease in the value ends by itself: it takes a renewal that came late, which is no one change
		}
		if tally[p]++; !flips(t, h, p, o) {
			stays := func(h *history.History) bool {
				return judge(h, []checker.Property{p}, o)[0] == checker.Holds && !flips(t, h, p, o)
			}
			var b bytes.Buffer
			_ = history.Encode(&b, shrink(h, stays))
			t.Errorf("%s: %s holds, and no change violates it (%s)\n%s", origin, p, turns[p].words, b.String())
		}
	}
}

// TestChancesOfShippedScenarios: wherever a property holds in a shipped scenario, one change makes it violated.
func TestChancesOfShippedScenarios(t *testing.T) {
	s, tally := newStage(t), map[checker.Property]int{}
	all := len(s.variants)
	for n := range suite.Amount(t, 10*all, all) {
		i, seed := n%all, uint64(n/all)
		v := s.variants[i]
		out, err := runner.Run(s.config(i, v, seed))
		if err != nil {
			t.Fatal(err)
		}
		couldHaveFailed(t, out.History, checker.Options{GrantWithin: v.Setup.GrantWithin, Fast: true},
			fmt.Sprintf("%s/%s, seed %d", s.names[i], v.Name, seed), tally)
	}
	for _, p := range checker.Properties() {
		if t.Logf("%s: %d", p, tally[p]); tally[p] == 0 && turns[p].at != nil {
			t.Errorf("%s holds in no scenario", p)
		}
	}
}

// TestChancesOfRandomHistories: the same of histories that are written at random.
func TestChancesOfRandomHistories(t *testing.T) {
	tally := map[checker.Property]int{}
	n, first := suite.Amount(t, 4_000, 400), firstSeed(t)
	for i := range n {
		p, seed := plots[i%len(plots)], first+uint64(i)
		couldHaveFailed(t, write(seed, p.plot), options(seed), fmt.Sprintf("plot %s, seed %d", p.name, seed), tally)
	}
	t.Log(tally)
}

// keyChanged: such an event says what became of a key.
func keyChanged(f history.F) bool {
	return f == history.KeySet || f == history.KeyExtended || f == history.KeyDeleted || f == history.KeyExpired
}
