package naive

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
	return name{e.Value.Client, e.Value.Key, e.Value.Section, e.Value.Op()}
}

func (p *op) name() name { return name{p.client, p.key, p.section, p.f} }

// decided reports that the resource said whether it accepted.
func decided(e *history.Event) bool { return e.F == history.Effect && e.Value.Accepted().Set }

func accepted(e *history.Event) bool { return decided(e) && e.Value.Accepted().V }

func changes(f history.F) bool { return f == history.Write || f == history.CAS }

// noLateEffect: "No `write` or `cas` takes effect after the validity that was promised to
// its client. Only effects that the resource accepted count."
func (t *terms) noLateEffect() answer {
	violated, chances := false, false
	told := map[name]int{}
	for i := range t.events {
		if e := &t.events[i]; decided(e) && changes(e.Value.Op()) {
			// "Chances: effects of writes that the resource accepted or refused, if their instant is known, and the
			// promise that counts has an end with all renewals."
			late, judged := t.late(e)
			chances = chances || judged
			if accepted(e) {
				told[nameOf(e)]++
				violated = violated || late
			}
		}
	}
	// "Unknown if the resource recorded fewer accepted effects of a name than there were
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
// the grant under which the client acted." judged: it can be late.
func (t *terms) late(e *history.Event) (late, judged bool) {
	by := t.asked(e)
	earliest, latest, known := instants(e, by)
	// "If the effect can belong to several operations, the promise that ends last counts. If
	// no operation has the name of the effect, all grants of the client that were answered at
	// or before the earliest instant are considered, and the promise that ends last counts."
	var under []*grant
	for _, p := range by {
		its := t.actsUnder(p)
		if len(its) == 0 {
			return false, false
		}
		under = append(under, its...)
	}
	for _, g := range t.grants {
		if len(by) == 0 && g.client == e.Value.Client && g.ret <= earliest {
			under = append(under, g)
		}
	}
	late, judged = true, true
	for _, g := range under {
		// "An effect is not late if the client acted under a grant without a promise, or under no
		// grant, or if the instant of the effect is unknown." "If the client acted under several grants, the
		// promise that ends last counts."
		// "The promise includes the renewals that were invoked at or before the latest instant
		// of the effect."
		until, promised := g.promise(func(r *op) bool { return r.call <= latest })
		if !promised {
			return false, false
		}
		late = late && earliest > until
		_, ends := g.promise(all)
		judged = judged && ends
	}
	some := known && len(under) > 0
	return late && some, judged && some
}

// holderServed: "The fence refuses nothing that a client does inside its own validity. A
// resource has a fence if it refused an effect or reported a `highest` token with one.
// Unknown if there is no fence."
func (t *terms) holderServed() answer {
	violated, chances, fence := false, false, false
	for i := range t.events {
		e := &t.events[i]
		if e.F != history.Effect {
			continue
		}
		fence = fence || decided(e) && !accepted(e) || e.Value.Highest().IsSet()
		if decided(e) && t.valid(e) {
			// "if an effect of another client, or with another token, stands before it that the fence accepted or refused"
			chances = chances || slices.ContainsFunc(t.events[:i], func(other history.Event) bool {
				return decided(&other) && (other.Value.Client != e.Value.Client || other.Value.Token != e.Value.Token)
			})
			violated = violated || !accepted(e)
		}
	}
	return found(violated, chances && fence)
}

// valid reports that an effect is of a client inside its validity: "The client acted under
// a grant. The refusal was surely before the end of the belief. That is so if its latest
// instant is before that end, or if the operation was answered `ok` or `fail` and its
// completion stands before the event that ended the belief. The latest instant of the
// refusal is before the end of the promise. The promise includes only renewals whose
// answer stands before the operation's invocation. If the effect can belong to several
// operations, or the client acted under several grants, this must be true of all of them."
func (t *terms) valid(e *history.Event) bool {
	by := t.asked(e)
	_, latest, _ := instants(e, by)
	for _, p := range by {
		under := t.actsUnder(p)
		if len(under) == 0 {
			return false
		}
		for _, g := range under {
			if latest >= g.end && (p.outcome == history.Info || p.answered > g.ended) {
				return false
			}
			until, promised := g.promise(func(r *op) bool { return r.answered < p.invoked })
			if promised && latest >= until {
				return false
			}
		}
	}
	return len(by) > 0
}

// atomic: "A section changes all of its cells or none of them (workload `two-cells`). In
// the workload `transactions`: at the end every number is in both lists or in none. A
// number whose append failed is in none."
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
	sections := map[section]int{} // the last write that each asked for
	for _, p := range t.ops {
		if p.section != 0 && changes(p.f) {
			sections[section{p.client, p.section}] = p.invoked
		}
	}
	violated, unsure, chances := false, false, false
	for s, last := range sections {
		done, not, open := 0, 0, 0
		for _, cell := range []string{"a", "b"} {
			switch writes := t.writes(s.client, s.number, cell); {
			case t.wasDone(s.client, s.number, cell, writes):
				done++
			case len(writes) > 0 && !slices.ContainsFunc(writes, func(p *op) bool { return p.outcome == history.Info }):
				not++ // "One that failed was not."
			case len(writes) > 0:
				unsure = true // "Unknown if nobody can tell."
			case t.wentOn(s.client, last):
				not++
			default:
				open++ // the client may still come to it
			}
		}
		violated = violated || done > 0 && not > 0
		unsure = unsure || done > 0 && open > 0
		// "Chances: sections that asked for a write, and of which it can be told of all cells whether they were changed."
		chances = chances || done+not == 2
	}
	return found(violated, chances && !unsure)
}

// writes are those of a section to a cell.
func (t *terms) writes(client string, section int, cell string) (list []*op) {
	for _, p := range t.ops {
		if changes(p.f) && p.client == client && p.section == section && p.key == cell {
			list = append(list, p)
		}
	}
	return list
}

// wasDone: "A write was done if it was answered `ok`, or if the resource's log shows it as
// accepted."
func (t *terms) wasDone(client string, section int, cell string, writes []*op) bool {
	for _, e := range t.events {
		if n := nameOf(&e); accepted(&e) && changes(n.f) && n.client == client && n.section == section && n.key == cell {
			return true
		}
	}
	return slices.ContainsFunc(writes, func(p *op) bool { return p.outcome == history.OK })
}

// wentOn: "the client never sent it (it asked for something else afterwards than a renewal, or was
// killed)".
func (t *terms) wentOn(client string, last int) bool {
	return t.killed(client, last) < len(t.events) ||
		slices.ContainsFunc(t.ops, func(p *op) bool { return p.client == client && p.f != history.Extend && p.invoked > last })
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
	return slices.Contains(p.said.List(), number) != slices.Contains(p.said.Other(), number)
}

func (p *op) inBoth(number int64) bool {
	return slices.Contains(p.said.List(), number) && slices.Contains(p.said.Other(), number)
}

// number: "Its `number` is that of its completion, or else of its invocation."
func (p *op) number() history.Int { return orElse(p.said.Number, p.asked.Number) }

// appends are the appends of transactions.
func (t *terms) appends() (list []*op) {
	for _, p := range t.ops {
		if p.f == history.Transact && p.number().IsSet() {
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
	for _, number := range slices.Concat(end.said.List(), end.said.Other()) {
		violated = violated || end.inOne(number)
	}
	for _, p := range t.appends() {
		violated = violated || p.outcome == history.Fail && (end.inOne(p.number().V()) || end.inBoth(p.number().V()))
	}
	return found(violated, len(t.appends()) > 0)
}

// isolated: "No snapshot, except the one at the end, shows a number in one list and not in
// the other. Only numbers count whose append was acknowledged, or that some snapshot shows
// in both lists. In each snapshot the numbers that are in both lists have the same order
// in both. Chances: snapshots, except the one at the end, while an append of another client was under way
// that was acknowledged. Unknown if there is no snapshot at the end."
func (t *terms) isolated() answer {
	looks, end := t.looks()
	if t.header.Workload != "transactions" || end == nil {
		return cannotTell
	}
	whole := func(number int64) bool {
		return slices.ContainsFunc(t.appends(), func(p *op) bool { return p.outcome == history.OK && p.number().V() == number }) ||
			slices.ContainsFunc(looks, func(look *op) bool { return look.inBoth(number) })
	}
	violated, chances := false, false
	for _, look := range looks {
		for _, number := range slices.Concat(look.said.List(), look.said.Other()) {
			violated = violated || look != end && look.inOne(number) && whole(number)
		}
		violated = violated || !slices.Equal(order(look.said.List(), look.inBoth), order(look.said.Other(), look.inBoth))
		for _, p := range t.appends() {
			meanwhile := p.client != look.client && p.invoked < look.answered && look.invoked < p.answered
			chances = chances || look != end && p.outcome == history.OK && meanwhile
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

// durable: "Workload `transactions`: at the end every number whose append was answered
// `ok` is in both lists. Unknown if the resource never died (`node-down`) after it had
// acknowledged an append, or if there is no snapshot at the end."
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
		violated = violated || !end.inBoth(p.number().V())
		for i, e := range t.events {
			chances = chances || e.F == history.NodeDown && e.Process == history.ResourceProcess && i > p.answered
		}
	}
	return found(violated, chances)
}
