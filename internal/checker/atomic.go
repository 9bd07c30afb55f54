package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// applied says whether a write took effect.
type applied uint8

const (
	notApplied applied = iota
	wasApplied
	mayBeApplied
	// stillToCome: the history ended before the client came to it.
	stillToCome
)

// judgeAtomic: what belongs together is done as a whole or not at all.
func judgeAtomic(ctx context.Context, v *view, _ Options) Finding {
	if v.work.Pair {
		return v.judgeAtomicPair(ctx)
	}
	cells := v.work.Together
	if len(cells) == 0 {
		return unknown(fmt.Sprintf("the workload %q has nothing that belongs together", v.h.Header.Workload), Effort{Operations: len(v.ops)})
	}
	f := Finding{Method: "comparison of the cells of each section", Effort: Effort{Operations: len(v.ops), Of: "sections that wrote"}}
	type name struct {
		client string
		number int
	}
	parts := make(map[name][]*section)
	var order []name
	for i := range v.sections {
		s := &v.sections[i]
		n := name{s.client, s.number}
		if len(s.writes) == 0 || s.number == 0 {
			continue
		}
		if parts[n] == nil {
			order = append(order, n)
		}
		parts[n] = append(parts[n], s)
	}
	unclear := 0
	for _, n := range order {
		var done, missing []string
		may, toCome := false, false
		for _, cell := range cells {
			switch v.cellApplied(parts[n], cell) {
			case wasApplied:
				done = append(done, cell)
			case notApplied:
				missing = append(missing, cell)
			case stillToCome:
				toCome = true
			default:
				may = true
			}
		}
		switch {
		case len(done) > 0 && len(missing) > 0:
			return v.halfDone(f, parts[n], done[0], missing[0])
		case may || toCome && len(done) > 0:
			unclear++
		case !toCome:
			f.Effort.Chances++
		}
	}
	if unclear > 0 {
		f.Verdict, f.Why = Unknown, fmt.Sprintf("nobody knows what became of %s", plural(unclear, "section"))
		return f
	}
	return f.tried("no section wrote all that it had to", "%s, %sdone as a whole or not at all",
		plural(f.Effort.Chances, "section"), each(f.Effort.Chances))
}

// cellApplied says what became of a section's write to a cell.
func (v *view) cellApplied(parts []*section, cell string) applied {
	var writes []int
	if i := slices.IndexFunc(parts, func(s *section) bool { return s.key == cell }); i >= 0 {
		writes = parts[i].writes
	}
	logged := func(x effect) bool {
		return x.accepted && x.changes() && x.client() == parts[0].client && x.section() == parts[0].number && x.key() == cell
	}
	of := func(t history.Type) func(int) bool { return func(w int) bool { return v.ops[w].Type == t } }
	switch {
	case slices.ContainsFunc(writes, of(history.OK)) || slices.ContainsFunc(v.effects, logged):
		return wasApplied
	case slices.ContainsFunc(writes, of(history.Info)):
		return mayBeApplied
	case len(writes) > 0 || v.wentOn(parts):
		return notApplied // it failed, or the client never came to it
	}
	return stillToCome
}

// wentOn reports that a section's client has done with it: it asked for something
// else afterwards, or was killed.
func (v *view) wentOn(parts []*section) bool {
	last := 0
	for _, p := range parts {
		for _, w := range p.writes {
			last = max(last, v.ops[w].Call)
		}
	}
	client := parts[0].client
	if v.killed(client, last, -1) >= 0 {
		return true
	}
	return slices.ContainsFunc(v.ops, func(o history.Op) bool { return o.Process == client && o.F != history.Extend && o.Call > last })
}

func (v *view) halfDone(f Finding, parts []*section, done, missing string) Finding {
	client, number := parts[0].client, parts[0].number
	f.Verdict = Violated
	f.Why = fmt.Sprintf("section %d of %s changed cell %s and not cell %s", number, client, done, missing)
	c := &Counterexample{From: f.Effort.Chances + 1, Assumption: "that a holder of the lock gets to its section's end"}
	s := v.newStory()
	begin, end := forever, v.at(v.ops[parts[0].writes[0]].Call)
	for _, p := range parts {
		for _, w := range p.writes {
			o := &v.ops[w]
			op, event := v.counterOp(w, "writes %s to cell %s", v.number(w), p.key)
			switch o.Type {
			case history.OK:
				s.tell(turning, event, "%s wrote %s to cell %s", client, v.number(w), p.key)
			case history.Fail:
				op.True = "it did not take effect"
				s.tell(turning, event, "the write of %s to cell %s failed: %s", client, p.key, v.event(event).Error)
			default:
				s.tell(turning, event, "%s wrote %s to cell %s: outcome unknown", client, v.number(w), p.key)
			}
			c.Operations = append(c.Operations, op)
			c.Impossible = event
			begin, end = min(begin, v.at(o.Call)), max(end, v.at(event))
		}
	}
	if g := v.grantBefore(client, v.ops[parts[0].writes[0]].Call); g != nil {
		begin = min(begin, v.at(g.call))
		s.grant(g, end)
	}
	if kill := v.killed(client, c.Impossible, -1); kill >= 0 {
		end = v.at(kill) // which is why it never came to the other cell
	}
	s.faults(begin, end, client)
	s.rests(v.struckWriter(client, begin, end, c.Impossible)...)
	c.tells(s)
	return f.shown(c)
}

// struckWriter are the faults that stopped or killed a client in a stretch of the run, or struck the resource or the way to it; without any
// it is the write that did not take effect.
func (v *view) struckWriter(client string, from, to time.Duration, write int) (begins []int) {
	for i := range v.faults {
		f := &v.faults[i]
		strikes := func(s history.Strike) bool {
			link := func(l history.Link) bool { return l.From == client && l.To == history.ResourceProcess }
			return s.Resource || slices.Contains(s.Clients, client) || slices.ContainsFunc(s.Links, link)
		}
		if v.at(f.begin) >= from && v.at(f.begin) <= to && slices.ContainsFunc(f.strikes, strikes) {
			begins = append(begins, f.begin)
		}
	}
	if len(begins) == 0 {
		return []int{write}
	}
	return begins
}
