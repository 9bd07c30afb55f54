package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
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
func judgeAtomic(ctx context.Context, j *judge, _ Options) Finding {
	if j.Workload.Pair {
		return j.judgeAtomicPair(ctx)
	}
	cells := j.Workload.Together
	if len(cells) == 0 {
		why := fmt.Sprintf("the workload %q has nothing that belongs together", j.History.Header.Workload)
		return unknown(why, Effort{Operations: len(j.Ops)})
	}
	f := Finding{Method: "comparison of the cells of each section", Effort: Effort{Operations: len(j.Ops), Of: "sections that wrote"}}
	type name struct {
		client string
		number int
	}
	parts := make(map[name][]*facts.Section)
	var order []name
	for i := range j.Sections {
		s := &j.Sections[i]
		n := name{s.Client, s.Number}
		if len(s.Writes) == 0 || s.Number == 0 {
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
			switch j.cellApplied(parts[n], cell) {
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
			return j.halfDoneFinding(f, parts[n], done[0], missing[0])
		case may || toCome && len(done) > 0:
			unclear++
		case !toCome:
			f.Effort.Chances++
		}
	}
	if unclear > 0 {
		f.Verdict, f.Why = Unknown, fmt.Sprintf("nobody knows what became of %s", words.Count(unclear, "section"))
		return f
	}
	return f.noViolation("no section wrote all that it had to", "%s, %sdone as a whole or not at all",
		words.Count(f.Effort.Chances, "section"), eachIfSeveral(f.Effort.Chances))
}

// cellApplied says what became of a section's write to a cell.
func (j *judge) cellApplied(parts []*facts.Section, cell string) applied {
	var writes []int
	if i := slices.IndexFunc(parts, func(s *facts.Section) bool { return s.Key == cell }); i >= 0 {
		writes = parts[i].Writes
	}
	logged := func(x facts.Effect) bool {
		return x.Accepted && x.Changes() && x.Client() == parts[0].Client && x.Section() == parts[0].Number && x.Key() == cell
	}
	of := func(t history.Type) func(int) bool { return func(w int) bool { return j.Ops[w].Type == t } }
	switch {
	case slices.ContainsFunc(writes, of(history.OK)) || slices.ContainsFunc(j.Effects, logged):
		return wasApplied
	case slices.ContainsFunc(writes, of(history.Info)):
		return mayBeApplied
	case len(writes) > 0 || j.clientWentOn(parts):
		return notApplied // it failed, or the client never came to it
	}
	return stillToCome
}

// clientWentOn reports that a section's client has done with it: it asked for something
// else afterwards, or was killed.
func (j *judge) clientWentOn(parts []*facts.Section) bool {
	last := 0
	for _, p := range parts {
		for _, w := range p.Writes {
			last = max(last, j.Ops[w].Call)
		}
	}
	client := parts[0].Client
	if j.KilledBetween(client, last, -1) >= 0 {
		return true
	}
	return slices.ContainsFunc(j.Ops, func(o history.Op) bool { return o.Process == client && o.F != history.Extend && o.Call > last })
}

func (j *judge) halfDoneFinding(f Finding, parts []*facts.Section, done, missing string) Finding {
	client, number := parts[0].Client, parts[0].Number
	f.Verdict = Violated
	f.Why = fmt.Sprintf("section %d of %s changed cell %s and not cell %s", number, client, done, missing)
	c := &Counterexample{From: f.Effort.Chances + 1, Assumption: "that a holder of the lock gets to its section's end"}
	s := j.newStory()
	begin, end := facts.Forever, j.At(j.Ops[parts[0].Writes[0]].Call)
	for _, p := range parts {
		for _, w := range p.Writes {
			o := &j.Ops[w]
			op, event := j.counterOp(w, "writes %s to cell %s", j.Number(w), p.Key)
			switch o.Type {
			case history.OK:
				s.tell(turning, event, "%s wrote %s to cell %s", client, j.Number(w), p.Key)
			case history.Fail:
				op.True = "it did not take effect"
				s.tell(turning, event, "the write of %s to cell %s failed: %s", client, p.Key, j.Event(event).Error)
			default:
				s.tell(turning, event, "%s wrote %s to cell %s: outcome unknown", client, j.Number(w), p.Key)
			}
			c.Operations = append(c.Operations, op)
			c.Impossible = event
			begin, end = min(begin, j.At(o.Call)), max(end, j.At(event))
		}
	}
	if g := j.GrantBefore(client, j.Ops[parts[0].Writes[0]].Call); g != nil {
		begin = min(begin, j.At(g.Call))
		s.tellGrant(g, end)
	}
	if kill := j.KilledBetween(client, c.Impossible, -1); kill >= 0 {
		end = j.At(kill) // which is why it never came to the other cell
	}
	s.tellFaults(begin, end, client)
	s.decidedBy(j.faultsOnWriter(client, begin, end, c.Impossible)...)
	c.setStory(s)
	return f.withCounterexample(c)
}

// faultsOnWriter are the faults that stopped or killed a client in a stretch of the run, or struck
// the resource or the way to it; without any it is the write that did not take effect.
func (j *judge) faultsOnWriter(client string, from, to time.Duration, write int) (begins []int) {
	for i := range j.Faults {
		f := &j.Faults[i]
		strikes := func(s history.Strike) bool {
			link := func(l history.Link) bool { return l.From == client && l.To == history.ResourceProcess }
			return s.Resource || slices.Contains(s.Clients, client) || slices.ContainsFunc(s.Links, link)
		}
		if j.At(f.Begin) >= from && j.At(f.Begin) <= to && slices.ContainsFunc(f.Strikes, strikes) {
			begins = append(begins, f.Begin)
		}
	}
	if len(begins) == 0 {
		return []int{write}
	}
	return begins
}

// judgeAtomicPair: what was appended to one list was appended to the other, and
// what failed to none.
func (j *judge) judgeAtomicPair(ctx context.Context) Finding {
	p := j.pair()
	f := Finding{Method: "comparison of the lists at the end", Effort: Effort{Operations: len(j.Ops), Of: "appends to both lists"}}
	if p.final < 0 {
		return unknown(noLastLook, f.Effort)
	}
	a, b := j.listsSeen(p.final)
	first, second := members(a), members(b)
	for _, n := range slices.Concat(a, b) {
		if first[n] != second[n] {
			where, not := "a", "b"
			if second[n] {
				where, not = "b", "a"
			}
			return j.brokenPairFinding(f, fmt.Sprintf("%d is in list %s and not in list %s", n, where, not),
				"that a transaction in which a command fails is undone", p.appendsOf(p.final, n)...)
		}
	}
	for _, i := range p.appends {
		if ctx.Err() != nil {
			return unknown(cancelled, f.Effort)
		}
		n := j.Number(i).V()
		if first[n] && j.Ops[i].Type == history.Fail {
			return j.brokenPairFinding(f, fmt.Sprintf("%d is in both lists though its transaction failed", n),
				"that nothing runs of a transaction whose client was told that it failed", i, p.final)
		}
		f.Effort.Chances++
	}
	if f.Effort.Chances == 0 {
		return unknown("nothing was appended", f.Effort)
	}
	f.Verdict, f.Why = Holds, fmt.Sprintf("%s, %sin both lists or in none",
		words.Count(f.Effort.Chances, "append"), eachIfSeveral(f.Effort.Chances))
	return f
}
