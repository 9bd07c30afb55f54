package checker_test

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// name is what an effect and its operation share.
type name struct {
	client, key string
	section     int
	f           history.F
}

func nameOf(e *history.Event) name {
	return name{e.Value.Client, e.Value.Key, e.Value.Section, e.Value.Op}
}

func (p *op) name() name { return name{p.client, p.key, p.section, p.f} }

// decided reports that the resource said whether it accepted.
func decided(e *history.Event) bool { return e.F == history.Effect && e.Value.Accepted.Set }

func accepted(e *history.Event) bool { return decided(e) && e.Value.Accepted.V }

func changes(f history.F) bool { return f == history.Write || f == history.CAS }

// noLateEffect: "No `write` or `cas` takes effect after the validity that was promised to
// its client. Only effects that the resource accepted count."
func (t *terms) noLateEffect() answer {
	violated, chances := false, false
	told := map[name]int{}
	for i := range t.events {
		if e := &t.events[i]; decided(e) && changes(e.Value.Op) {
			chances = true
			if accepted(e) {
				told[nameOf(e)]++
				violated = violated || t.late(e)
			}
		}
	}
	// "Unknown if the resource told of fewer accepted effects of a name than there were
	// operations of that name (`write` or `cas`) answered `ok`."
	for _, p := range t.ops {
		if changes(p.f) && p.outcome == history.OK {
			told[p.name()]--
		}
	}
	for _, n := range told {
		chances = chances && n >= 0
	}
	return found(violated, chances)
}

// late: "Violated if the earliest instant of the effect is after the end of the promise of
// the grant under which the client acted."
func (t *terms) late(e *history.Event) bool {
	by := t.asked(e)
	earliest, latest, known := instants(e, by)
	// "If the effect can belong to several operations, the promise that ends last counts. If
	// no operation has its name, the promise that ends last counts of all grants of the
	// client that were answered at or before the earliest instant."
	var under []*grant
	for _, p := range by {
		under = append(under, t.actsUnder(p))
	}
	for _, g := range t.grants {
		if len(by) == 0 && g.client == e.Value.Client && g.ret <= earliest {
			under = append(under, g)
		}
	}
	for _, g := range under {
		// "Nothing is late under a grant without a promise, without a grant, or at an
		// unknown instant."
		if g == nil {
			return false
		}
		// "The promise counts the renewals that were invoked at or before the latest
		// instant of the effect."
		until, promised := g.promise(func(r *op) bool { return r.call <= latest })
		if !promised || earliest <= until {
			return false
		}
	}
	return known && len(under) > 0
}

// holderServed: "The fence refuses nothing that a client does inside its own validity.
// Unknown if there is no fence." A refusal shows a fence, and so does a highest token.
func (t *terms) holderServed() answer {
	violated, chances, fence := false, false, false
	for i := range t.events {
		e := &t.events[i]
		if !decided(e) {
			continue
		}
		fence = fence || !accepted(e) || e.Value.Highest.Set
		if t.valid(e) {
			chances = true
			violated = violated || !accepted(e)
		}
	}
	return found(violated, chances && fence)
}

// valid reports that an effect is of a client inside its validity: "of a client that acted
// under a grant, the operation was invoked after the grant's answer, and the latest instant
// was before the end of the belief and before the end of the promise. The promise counts
// only renewals that were answered before the operation was invoked. If the effect can
// belong to several operations, all of them must be such."
func (t *terms) valid(e *history.Event) bool {
	by := t.asked(e)
	for _, p := range by {
		g := t.actsUnder(p)
		if g == nil || p.call <= g.ret {
			return false
		}
		_, latest, _ := instants(e, []*op{p})
		until, promised := g.promise(func(r *op) bool { return r.ret < p.call })
		if latest >= g.end || promised && latest >= until {
			return false
		}
	}
	return len(by) > 0
}

// atomic: "What a section does to several cells (workload `two-cells`), it does to all of
// them or to none. In the workload `transactions`: every number is in both lists in the
// end, or in none; one whose append failed is in none."
func (t *terms) atomic() answer {
	switch t.header.Workload {
	case "two-cells":
		return t.atomicCells()
	case "transactions":
		return t.atomicLists()
	}
	return cannotTell
}

func (t *terms) atomicCells() answer {
	type section struct {
		client string
		number int
	}
	cells, sections := map[string]bool{}, map[section]bool{}
	for _, p := range t.ops {
		if p.section != 0 && (p.f == history.Write || p.f == history.Read) {
			cells[p.key] = true
			if p.f == history.Write {
				sections[section{p.client, p.section}] = true
			}
		}
	}
	violated, unsure := false, false
	for s := range sections {
		done, not := false, false
		for cell := range cells {
			switch n := (name{s.client, cell, s.number, history.Write}); {
			// "A write that was answered `ok`, or that the resource's log shows as
			// accepted, was done; one that failed, or that the client never came to, was
			// not."
			case t.wasDone(n):
				done = true
			case t.wasNotDone(n):
				not = true
			default:
				// "Unknown if nobody can tell."
				unsure = true
			}
		}
		violated = violated || done && not
	}
	return found(violated, len(sections) > 0 && !unsure)
}

func (t *terms) wasDone(n name) bool {
	return slices.ContainsFunc(t.ops, func(p *op) bool { return p.name() == n && p.outcome == history.OK }) ||
		slices.ContainsFunc(t.events, func(e history.Event) bool { return accepted(&e) && nameOf(&e) == n })
}

func (t *terms) wasNotDone(n name) bool {
	return !slices.ContainsFunc(t.ops, func(p *op) bool { return p.name() == n && p.outcome != history.Fail })
}

// looks are what was seen of two lists: all that was answered `ok`, and the last look at
// both, after everything.
func (t *terms) looks() (looks []*op, end *op) {
	for _, p := range t.ops {
		if p.f == history.Snapshot && p.outcome == history.OK {
			looks = append(looks, p)
			if p.section == 0 {
				end = p
			}
		}
	}
	return looks, end
}

func (p *op) inOne(number int64) bool {
	return slices.Contains(p.said.List, number) != slices.Contains(p.said.Other, number)
}

func (p *op) inBoth(number int64) bool {
	return slices.Contains(p.said.List, number) && slices.Contains(p.said.Other, number)
}

func (p *op) number() int64 { return orElse(p.asked.Number, p.said.Number).V }

// appends are the appends of transactions.
func (t *terms) appends() (list []*op) {
	for _, p := range t.ops {
		if p.f == history.Transact {
			list = append(list, p)
		}
	}
	return list
}

func (t *terms) atomicLists() answer {
	_, end := t.looks()
	if end == nil {
		return cannotTell
	}
	violated := false
	for _, number := range slices.Concat(end.said.List, end.said.Other) {
		violated = violated || end.inOne(number)
	}
	for _, p := range t.appends() {
		violated = violated || p.outcome == history.Fail && (end.inOne(p.number()) || end.inBoth(p.number()))
	}
	return found(violated, len(t.appends()) > 0)
}

// isolated: "Nobody sees a number in one list and not yet in the other, of those that are in
// both in the end, and both lists have them in the same order. Of numbers that were
// acknowledged, or that somebody saw in both. Unknown if nobody looked while somebody
// else's append was under way."
func (t *terms) isolated() answer {
	looks, end := t.looks()
	if t.header.Workload != "transactions" || end == nil {
		return cannotTell
	}
	// Who looks in the end is somebody who saw them in both.
	both := func(number int64) bool { return end.inBoth(number) }
	violated, chances := !slices.Equal(order(end.said.List, both), order(end.said.Other, both)), false
	for _, look := range looks {
		for _, number := range slices.Concat(look.said.List, look.said.Other) {
			violated = violated || both(number) && look.inOne(number)
		}
		for _, p := range t.appends() {
			chances = chances || p.client != look.client && p.call <= look.ret && look.call <= p.ret
		}
	}
	return found(violated, chances)
}

// order is in which order a list has numbers for the first time.
func order(list []int64, of func(int64) bool) (numbers []int64) {
	for _, n := range list {
		if of(n) && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// durable: "Workload `transactions`: every number whose append was answered `ok` is in both
// lists in the end. Unknown if the resource never died after it had acknowledged
// something."
func (t *terms) durable() answer {
	_, end := t.looks()
	if t.header.Workload != "transactions" || end == nil {
		return cannotTell
	}
	violated, chances := false, false
	for _, p := range t.appends() {
		if p.outcome != history.OK {
			continue
		}
		violated = violated || !end.inBoth(p.number())
		for i, e := range t.events {
			died := e.F == history.NodeDown && e.Process == history.ResourceProcess || t.strikes(i, history.Kills).resource
			chances = chances || died && int64(e.Time) > p.ret
		}
	}
	return found(violated, chances)
}
