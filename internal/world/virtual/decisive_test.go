package virtual_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestDecisive: without the events that a violation's counterexample calls decisive, the violation is gone. A run of the virtual world
// is repeated without the faults among them; the others are taken out of its history, with what rests on them, which is then judged again.
func TestDecisive(t *testing.T) {
	seeds := uint64(suite.Amount(t, 10, 2))
	byFaults, byEvents := 0, 0
	for _, s := range scenariotest.OnModels(t) {
		for _, v := range s.Variants {
			for seed := range seeds {
				h := act(t, s, v, seed, nil, fresh)
				o := checker.Options{GrantWithin: v.Setup.GrantWithin}
				for _, f := range checker.Judge(context.Background(), h, checker.Properties(), o) {
					if f.Verdict != checker.Violated {
						continue
					}
					name := fmt.Sprintf("%s, %s, seed %d: %s", s.Name, v.Name, seed, f.Property)
					faults, others := decisive(t, h, f, name)
					if len(faults) > 0 {
						byFaults++
						out, err := runner.Run(runner.Config{Scenario: s.Name, Variant: without(v, faults), Seed: seed, World: "virtual",
							Started: time.Unix(0, 0), Open: fresh})
						if err != nil {
							t.Fatal(err)
						}
						g := checker.Judge(context.Background(), out.History, []checker.Property{f.Property}, o)[0]
						if g.Verdict == checker.Violated && same(f, g, func(op checker.CounterOp) string { return op.Client }) {
							t.Errorf("%s: without the faults %v still %s%s", name, faults, g.Why, told(f))
						}
					}
					if len(others) > 0 {
						byEvents++
						isGone(t, h, f, others, o, name)
					}
				}
			}
		}
	}
	if byFaults < 100 || byEvents < 100 {
		t.Errorf("%d violations rest on faults, %d on other events", byFaults, byEvents)
	}
}

// TestDecisiveOfLiveRuns: the same of recorded runs among real servers, whose faults cannot be left out.
func TestDecisiveOfLiveRuns(t *testing.T) {
	files, err := filepath.Glob("../../checker/testdata/live-*.jsonl.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded runs: %v", err)
	}
	o := checker.Options{GrantWithin: 3 * time.Second}
	for _, file := range files {
		r, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		z, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		h, err := history.Decode(z, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range checker.Judge(context.Background(), h, checker.Properties(), o) {
			if f.Verdict == checker.Violated {
				name := filepath.Base(file) + ": " + string(f.Property)
				if _, others := decisive(t, h, f, name); len(others) > 0 {
					isGone(t, h, f, others, o, name)
				}
			}
		}
	}
}

// told is the story of a finding.
func told(f checker.Finding) string {
	var b strings.Builder
	for _, s := range f.Counterexample.Story {
		fmt.Fprintf(&b, "\n    %v [%d] %s", s.At, s.Event, s.Text)
	}
	return b.String() + "\n    " + f.Counterexample.Assumption
}

// decisive are the decisive events of a finding: the numbers of its faults in the scenario, and all other events. The
// story tells of each: a decisive sentence is about it, or names who did it.
func decisive(t *testing.T, h *history.History, f checker.Finding, name string) (faults, others []int) {
	t.Helper()
	c := f.Counterexample
	if len(c.Decisive) == 0 {
		t.Errorf("%s: nothing is decisive%s", name, told(f))
	}
	for _, i := range c.Decisive {
		e := &h.Events[i]
		who := e.Process
		if e.Value.Client != "" {
			who = e.Value.Client
		}
		tells := func(s checker.Sentence) bool { return s.Decisive && (s.Event == i || strings.Contains(s.Text, who)) }
		if e.F == history.FaultBegin {
			tells = func(s checker.Sentence) bool { return s.Decisive && s.Event == i }
			faults = append(faults, e.Value.ID())
		} else {
			others = append(others, i)
		}
		if !slices.ContainsFunc(c.Story, tells) {
			t.Errorf("%s: the story does not tell of event %d%s", name, i, told(f))
		}
	}
	return faults, others
}

// without is a variant in which some faults come only when the run is over, and so do those that follow them.
func without(v scenario.Variant, faults []int) scenario.Variant {
	v.Setup.Faults.List = slices.Clone(v.Setup.Faults.List)
	for _, id := range faults {
		never := time.Hour
		v.Setup.Faults.List[id-1].Trigger = nemesis.Trigger{At: &never}
	}
	return v
}

// isGone sees to it that a violation is gone without some events: no finding is about the same operations.
func isGone(t *testing.T, h *history.History, f checker.Finding, events []int, o checker.Options, name string) {
	t.Helper()
	less, was := removed(h, events)
	again := checker.Judge(context.Background(), less, []checker.Property{f.Property}, o)[0]
	if again.Verdict != checker.Violated {
		return
	}
	for i := range again.Counterexample.Operations {
		e := &again.Counterexample.Operations[i].Events[0]
		*e = was[*e]
	}
	if same(f, again, func(op checker.CounterOp) string { return fmt.Sprint(op.Client, op.Events[0]) }) {
		t.Errorf("%s: without the events %v still %s%s\nand then%s", name, events, again.Why, told(f), told(again))
	}
}

// same reports that two findings are about the same operations. Two clients can go on believing for another reason: without the
// renewals that nobody took in, the first acts too late. So of a belief the assumption must be the same, too.
func same(f, g checker.Finding, name func(checker.CounterOp) string) bool {
	alike := func(a, b checker.CounterOp) bool { return name(a) == name(b) }
	a, b := f.Counterexample, g.Counterexample
	return (f.Property != checker.ExclusiveBelief || a.Assumption == b.Assumption) && slices.EqualFunc(a.Operations, b.Operations, alike)
}

// removed is a history without some events, and which event of the old one each was. With an event goes what rests on it
// (docs/internals/checker.md, "The events that decide").
func removed(h *history.History, events []int) (less *history.History, was []int) {
	r := removal{h: h, gone: make([]bool, len(h.Events)), ops: h.Ops()}
	before := r.standing()
	for _, i := range events {
		r.remove(i)
	}
	r.refuse(before)
	r.admit()
	less = &history.History{Header: h.Header}
	for i := range h.Events {
		if !r.gone[i] {
			e := h.Events[i]
			e.Index = int32(len(was))
			less.Events, was = append(less.Events, e), append(was, i)
		}
	}
	return less, was
}

type removal struct {
	h    *history.History
	ops  []history.Op
	gone []bool
}

// remove takes an event out: of an operation both events, its effect, and, if it is a grant, all that its client did under it.
func (r *removal) remove(i int) {
	r.gone[i] = true
	e := &r.h.Events[i]
	if e.F == history.Effect {
		for _, o := range r.ops {
			asked := &r.h.Events[o.Call].Value
			if o.Process == e.Value.Client && o.F == e.Value.Op() && asked.Section == e.Value.Section && asked.Key == e.Value.Key && o.Call < i {
				r.removeOp(o)
			}
		}
	}
	for _, o := range r.ops {
		if o.Call == i || o.Return == i {
			r.removeOp(o)
		}
	}
	r.unblock(i)
	r.keepUntilItsEnd(i)
}

// keepUntilItsEnd takes out the expiry of a key that only a removed renewal brought about, because it gave the key less time.
func (r *removal) keepUntilItsEnd(renewal int) {
	e, now := &r.h.Events[renewal], make(map[place]key)
	if e.F != history.KeyExtended {
		return
	}
	at := place{e.Process, e.Value.Key}
	for i := range r.h.Events[:renewal] {
		r.see(now, &r.h.Events[i])
	}
	for i := renewal + 1; i < len(r.h.Events); i++ {
		next := &r.h.Events[i]
		if (place{next.Process, next.Value.Key}) != at {
			continue
		}
		r.gone[i] = r.gone[i] || next.F == history.KeyExpired && next.Time < now[at].ends
		return
	}
}

func (r *removal) removeOp(o history.Op) {
	r.gone[o.Call] = true
	if o.Return >= 0 {
		r.gone[o.Return] = true
	}
	asked := &r.h.Events[o.Call].Value
	until := len(r.h.Events)
	for i := o.Call + 1; i < until; i++ {
		e := &r.h.Events[i]
		if e.F == history.Effect && e.Value.Client == o.Process && e.Value.Op() == o.F &&
			e.Value.Section == asked.Section && e.Value.Key == asked.Key {
			r.gone[i] = true
			continue
		}
		if o.F != history.Acquire || o.Type != history.OK {
			continue
		}
		if e.Process == o.Process && e.F == history.Acquire && e.Type == history.Invoke && !e.Value.Inner() {
			return // what follows is of another attempt
		}
		if asked.Inner() && e.Process == o.Process && e.F == history.Release && e.Type != history.Invoke {
			r.gone[i] = true
			return // what follows is done under the grant around it
		}
		if e.Process == o.Process && (e.IsOp() || e.F == history.Lost) || e.F == history.Effect && e.Value.Client == o.Process {
			r.gone[i] = true
		}
	}
}

// unblock takes out the attempts of others that a removed key-set may have kept from the lock.
func (r *removal) unblock(i int) {
	set := &r.h.Events[i]
	if set.F != history.KeySet {
		return
	}
	end := i + 1
	for end < len(r.h.Events) {
		e := &r.h.Events[end]
		if (e.F == history.KeyDeleted || e.F == history.KeyExpired) && e.Process == set.Process && e.Value.Key == set.Value.Key {
			break
		}
		end++
	}
	for _, o := range r.ops {
		if o.F == history.Acquire && (o.Return < 0 || o.Type != history.OK && o.Return > i || o.Return > end) {
			r.gone[o.Call] = true
			if o.Return >= 0 {
				r.gone[o.Return] = true
			}
		}
	}
}

// place is a key on a node.
type place struct{ node, key string }

// key is what stands there: whose it is, its value, and its end.
type key struct {
	client, owner string
	ends          time.Duration
}

// standing says of each key-set whether a key of another client stood there, by the events that are left.
func (r *removal) standing() map[int]bool {
	now, over := make(map[place]key), make(map[int]bool)
	for i := range r.h.Events {
		if e := &r.h.Events[i]; !r.gone[i] {
			over[i] = r.see(now, e)
		}
	}
	return over
}

// see takes in an event, and reports that it set a key where that of another client stood.
func (r *removal) see(now map[place]key, e *history.Event) (over bool) {
	at := place{e.Process, e.Value.Key}
	k, there := now[at]
	switch e.F {
	case history.KeySet, history.KeyExtended:
		ends := time.Duration(1 << 62)
		if ttl := e.Value.TTL(); ttl.IsSet() {
			ends = e.Time + time.Duration(ttl.V())
		}
		over = e.F == history.KeySet && there && k.client != e.Value.Client && e.Time < k.ends
		if e.F == history.KeyExtended {
			k.ends = ends
			now[at] = k
			return false
		}
		now[at] = key{e.Value.Client, e.Value.Owner, ends}
	case history.KeyDeleted, history.KeyExpired:
		delete(now, at)
	case history.NodeDown:
		for p := range now {
			if p.node == e.Process {
				delete(now, p)
			}
		}
	}
	return over
}

// refuse takes out the key-sets that would have found another client's key where none stood before, what is told of values that were
// never set, and the grants that are left with fewer than a quorum of keys.
func (r *removal) refuse(before map[int]bool) {
	quorum := r.h.Header.Quorum
	if quorum == 0 {
		quorum = len(r.h.Header.Nodes)/2 + 1
	}
	now := make(map[place]key)
	refused := make(map[int]map[string]bool) // the nodes that an attempt lost
	held := make(map[int]map[string]bool)
	for i := range r.h.Events {
		e := &r.h.Events[i]
		k, there := now[place{e.Process, e.Value.Key}]
		if e.F == history.KeySet && e.Value.Client != "" {
			op := r.attempt(e.Value.Client, i)
			lost := r.gone[i]
			if !lost && there && k.client != e.Value.Client && e.Time < k.ends && !before[i] {
				r.gone[i], lost = true, true
			}
			to := held
			if lost {
				to = refused
			}
			if to[op] == nil {
				to[op] = make(map[string]bool)
			}
			if lost || op < 0 || !r.renews(op, i) { // a renewal keeps what the attempt has
				to[op][e.Process] = true
			}
		} else if (e.F == history.KeyDeleted || e.F == history.KeyExtended) && there && k.owner != e.Value.Owner {
			r.gone[i] = true
		}
		if !r.gone[i] {
			r.see(now, e)
		}
	}
	for op, nodes := range refused {
		if op >= 0 && len(nodes) > 0 && len(held[op]) < min(quorum, len(nodes)+len(held[op])) && r.ops[op].Type == history.OK {
			r.removeOp(r.ops[op])
		}
	}
}

// renews reports that a key-set came after the answer to the attempt that it belongs to.
func (r *removal) renews(op, set int) bool {
	o, at := &r.ops[op], r.h.Events[set].Value.At()
	return o.Type == history.OK && set > o.Return && (!at.IsSet() || time.Duration(at.V()) > r.h.Events[o.Return].Time)
}

// admit takes out what the resource refused because of a token that is gone.
func (r *removal) admit() {
	came := make(map[int64]bool)
	for i := range r.h.Events {
		e := &r.h.Events[i]
		if v := &e.Value; e.F == history.Effect && !r.gone[i] {
			if v.Accepted().V && v.Token.IsSet() {
				came[v.Token.V()] = true
			}
			if highest := v.Highest(); !v.Accepted().V && highest.IsSet() && !came[highest.V()] {
				r.remove(i)
			}
		}
	}
}

// attempt is the latest acquire of a client that was invoked before an event, -1 for none.
func (r *removal) attempt(client string, before int) int {
	latest := -1
	for n, o := range r.ops {
		if o.F == history.Acquire && o.Process == client && o.Call < before {
			latest = n
		}
	}
	return latest
}
