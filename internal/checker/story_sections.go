package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// brokenWhy says in one line what is wrong with sections that cannot be.
func (j *judge) brokenWhy(sections []*facts.Section) string {
	first, last := sections[0], sections[len(sections)-1]
	r, w := j.DecisiveRead(last), j.DecisiveWrite(last)
	cell := j.Workload.CellOf(last.Key)
	if cell.Twice != "" && w >= 0 {
		return fmt.Sprintf("%s %s %s, by %s and by %s", cell.Item, j.Number(w), cell.Twice, first.Client, last.Client)
	}
	if lost, acknowledged := j.lostElements(); lost > 0 {
		return fmt.Sprintf("%d of %s (%.0f %%) missing at the end",
			lost, words.Count(acknowledged, "acknowledged element"), 100*float64(lost)/float64(acknowledged))
	}
	if cell.Data == workload.ListData {
		if len(sections) > 1 {
			return fmt.Sprintf("no order of the appends explains what %s and %s read", first.Client, last.Client)
		}
		return fmt.Sprintf("%s read a list that cannot have been", last.Client)
	}
	if w >= 0 && cell.Data == workload.StockData && j.Number(w).V() < 0 {
		return fmt.Sprintf("%s sold more than there was: %s left", last.Client, j.Number(w))
	}
	if r < 0 {
		return fmt.Sprintf("%s cannot be explained together", words.Count(len(sections), "section"))
	}
	if len(sections) == 1 {
		return fmt.Sprintf("%s read %d, which nobody had written", last.Client, j.ReadValue(r))
	}
	if len(sections) == 2 && j.DecisiveRead(first) >= 0 {
		return j.conflictWhy(first, last)
	}
	return fmt.Sprintf("%d sections have no order that explains what they read", len(sections))
}

// conflictWhy says in one line what is wrong with two sections each of which read something.
func (j *judge) conflictWhy(first, last *facts.Section) string {
	before, saw := j.ReadValue(j.DecisiveRead(first)), j.ReadValue(j.DecisiveRead(last))
	if before != saw {
		return fmt.Sprintf("%s read %d and %s read %d: no order explains both", first.Client, before, last.Client, saw)
	}
	if j.CellData(last.Key) == workload.StockData && j.DecisiveWrite(last) >= 0 && j.DecisiveWrite(first) >= 0 {
		return fmt.Sprintf("%s and %s both sold the same unit: both found %d left", first.Client, last.Client, saw)
	}
	if len(last.Writes) > 0 && len(first.Writes) > 0 {
		return fmt.Sprintf("%s and %s both read %d; one update lost", first.Client, last.Client, saw)
	}
	return fmt.Sprintf("%s read %d and %s read %d: no order explains both", first.Client, before, last.Client, saw)
}

// lostElements counts the elements whose append was acknowledged, and those of
// them that the last read of the list, after everything, did not find.
func (j *judge) lostElements() (lost, acknowledged int) {
	if j.Workload.Cell.Data != workload.ListData || len(j.Sections) == 0 {
		return 0, 0
	}
	final := &j.Sections[len(j.Sections)-1]
	r := j.DecisiveRead(final)
	if final.Number != 0 || len(final.Writes) > 0 || r < 0 {
		return 0, 0
	}
	there := make(map[int64]bool)
	for _, element := range j.Event(j.Ops[r].Return).Value.List() {
		there[element] = true
	}
	for i := range j.Ops {
		o := &j.Ops[i]
		if o.F == history.Write && o.Type == history.OK && o.Return < j.Ops[r].Call {
			acknowledged++
			if !there[j.Number(i).V()] {
				lost++
			}
		}
	}
	return lost, acknowledged
}

func (j *judge) sectionsCounterexample(sections []*facts.Section, impossible *facts.Section, from int) *Counterexample {
	why := j.whyBroken(sections, impossible)
	c := &Counterexample{From: from, Impossible: j.SectionEnd(impossible), Assumption: string(why.cause)}
	s := j.newStory()
	s.tellReason(why, j.SectionEnd(impossible))
	var clients []string
	begin, end := facts.Forever, time.Duration(0)
	written := make(map[int64]bool)
	for _, x := range sections {
		c.Operations = append(c.Operations, j.sectionOp(x))
		clients = append(clients, x.Client)
		g := j.GrantBefore(x.Client, j.SectionBegin(x))
		begin = min(begin, j.At(j.SectionBegin(x)))
		if g != nil {
			begin = min(begin, j.At(g.Call))
			s.tellGrant(g, j.At(j.SectionEnd(x)))
		}
		end = max(end, j.At(j.SectionEnd(x)))
		if r := j.DecisiveRead(x); r >= 0 && j.CellData(x.Key) != workload.ListData {
			s.tell(filler, j.Ops[r].Return, "%s read %d", x.Client, j.ReadValue(r))
		}
	}
	s.tellFaults(begin, end, clients...)
	j.tellSectionWrites(s, sections, written)
	c.setStory(s)
	return c
}

// tellSectionWrites tells of the writes in the order in which they were answered, so
// that the one that broke it comes last.
func (j *judge) tellSectionWrites(s *story, sections []*facts.Section, written map[int64]bool) {
	order := slices.Clone(sections)
	slices.SortStableFunc(order, func(a, b *facts.Section) int { return cmp.Compare(j.At(j.SectionEnd(a)), j.At(j.SectionEnd(b))) })
	for _, x := range order {
		w := j.DecisiveWrite(x)
		if w < 0 {
			continue
		}
		event := j.Ops[w].Return
		r := j.DecisiveRead(x)
		text := j.writeWords(x, w)
		if r >= 0 && j.Number(r).IsSet() {
			if written[j.ReadValue(r)] {
				text = fmt.Sprintf("%s wrote %d, also from %d", x.Client, j.Number(w).V(), j.ReadValue(r))
				if g := j.GrantBefore(x.Client, j.SectionBegin(x)); g != nil && g.LastPromise().EndedBefore(j.At(event)) {
					text += fmt.Sprintf(", %s after its validity had ended", length(j.At(event)-g.LastPromise().End))
				}
				text += ": one update is lost"
			}
			written[j.ReadValue(r)] = true
		}
		s.tell(turning, event, "%s", text)
	}
}

// sectionOp is a section as an operation of a counterexample.
func (j *judge) sectionOp(x *facts.Section) CounterOp {
	op := CounterOp{Client: x.Client, From: j.At(j.SectionBegin(x)), To: j.At(j.SectionEnd(x))}
	r, w := j.DecisiveRead(x), j.DecisiveWrite(x)
	cell := j.Workload.CellOf(x.Key)
	switch {
	case cell.Writes != "" && w >= 0:
		op.Op = fmt.Sprintf("%s %s", cell.Writes, j.Number(w))
	case cell.Data == workload.ListData:
		op.Op = "reads the list"
	case r >= 0 && w >= 0:
		op.Op = fmt.Sprintf("reads %d and writes %s", j.ReadValue(r), j.Number(w))
	case w >= 0:
		op.Op = fmt.Sprintf("writes %s", j.Number(w))
	case r >= 0:
		op.Op = fmt.Sprintf("reads %d", j.ReadValue(r))
	}
	var events []int
	for _, i := range []int{r, w} {
		if i >= 0 {
			events = append(events, j.Ops[i].Call, j.Ops[i].Return)
		}
	}
	op.Events = sortedEvents(events...)
	if g := j.GrantBefore(x.Client, j.SectionBegin(x)); g != nil {
		op.Believed = j.promiseWords(g)
		if last := g.LastPromise(); last.EndedBefore(op.To) {
			op.True = fmt.Sprintf("its validity had ended %s before its write was answered", length(op.To-last.End))
		}
	}
	return op
}
