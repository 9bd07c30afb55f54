package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// sectionReads is the read that a section built on; -1 where there is none.
func (v *view) sectionReads(s *section) int {
	if len(s.writes) == 0 {
		for _, r := range s.reads {
			if v.ops[r].Type == history.OK {
				return r
			}
		}
		return -1
	}
	return v.lastRead(s, s.writes[0])
}

// opens is the first event of a section's operation, closes the last one. A section that
// a violation needs has one: what was never answered may not have been.
func (v *view) opens(s *section) int {
	if r := v.sectionReads(s); r >= 0 {
		return v.ops[r].Call
	}
	return v.ops[s.writes[0]].Call
}

func (v *view) closes(s *section) int {
	if w := v.decisiveWrite(s); w >= 0 {
		return v.ops[w].Return
	}
	return v.ops[v.sectionReads(s)].Return
}

// brokenWhy says in one line what is wrong with sections that cannot be.
func (v *view) brokenWhy(sections []*section) string {
	last := sections[len(sections)-1]
	r := v.sectionReads(last)
	w := v.decisiveWrite(last)
	lost, acknowledged := v.lostElements()
	cell := v.work.CellOf(last.key)
	switch {
	case cell.Twice != "" && w >= 0:
		return fmt.Sprintf("%s %s %s, by %s and by %s", cell.Item, v.number(w), cell.Twice, sections[0].client, last.client)
	case lost > 0:
		return fmt.Sprintf("%d of %s (%.0f %%) missing at the end",
			lost, plural(acknowledged, "acknowledged element"), 100*float64(lost)/float64(acknowledged))
	case cell.Data == workload.ListData && len(sections) > 1:
		return fmt.Sprintf("no order of the appends explains what %s and %s read", sections[0].client, last.client)
	case cell.Data == workload.ListData:
		return fmt.Sprintf("%s read a list that cannot have been", last.client)
	case w >= 0 && cell.Data == workload.StockData && v.number(w).V() < 0:
		return fmt.Sprintf("%s sold more than there was: %s left", last.client, v.number(w))
	case r < 0:
		return fmt.Sprintf("%s cannot be explained together", plural(len(sections), "section"))
	}
	saw := v.readValue(r)
	switch len(sections) {
	case 1:
		return fmt.Sprintf("%s read %d, which nobody had written", last.client, saw)
	case 2:
		first := sections[0]
		r := v.sectionReads(first)
		switch {
		case r < 0:
		case v.readValue(r) == saw && cell.Data == workload.StockData && w >= 0 && v.decisiveWrite(first) >= 0:
			return fmt.Sprintf("%s and %s both sold the same unit: both found %d left", first.client, last.client, saw)
		case v.readValue(r) == saw && len(last.writes) > 0 && len(first.writes) > 0:
			return fmt.Sprintf("%s and %s both read %d; one update lost", first.client, last.client, saw)
		default:
			return fmt.Sprintf("%s read %d and %s read %d: no order explains both", first.client, v.readValue(r), last.client, saw)
		}
	}
	return fmt.Sprintf("%d sections have no order that explains what they read", len(sections))
}

// lostElements counts the elements whose append was acknowledged, and those of
// them that the last read of the list, after everything, did not find.
func (v *view) lostElements() (lost, acknowledged int) {
	if v.work.Cell.Data != workload.ListData || len(v.sections) == 0 {
		return 0, 0
	}
	final := &v.sections[len(v.sections)-1]
	r := v.sectionReads(final)
	if final.number != 0 || len(final.writes) > 0 || r < 0 {
		return 0, 0
	}
	there := make(map[int64]bool)
	for _, element := range v.event(v.ops[r].Return).Value.List() {
		there[element] = true
	}
	for i := range v.ops {
		o := &v.ops[i]
		if o.F == history.Write && o.Type == history.OK && o.Return < v.ops[r].Call {
			acknowledged++
			if !there[v.number(i).V()] {
				lost++
			}
		}
	}
	return lost, acknowledged
}

func (v *view) brokenStory(sections []*section, impossible *section, from int) *Counterexample {
	why := v.whyBroken(sections, impossible)
	c := &Counterexample{From: from, Impossible: v.closes(impossible), Assumption: string(why.cause)}
	s := v.newStory()
	s.culprit(why, v.closes(impossible))
	var clients []string
	begin, end := forever, time.Duration(0)
	written := make(map[int64]bool)
	for _, x := range sections {
		c.Operations = append(c.Operations, v.sectionOp(x))
		clients = append(clients, x.client)
		g := v.grantBefore(x.client, v.opens(x))
		begin = min(begin, v.at(v.opens(x)))
		if g != nil {
			begin = min(begin, v.at(g.call))
			s.grant(g, v.at(v.closes(x)))
		}
		end = max(end, v.at(v.closes(x)))
		if r := v.sectionReads(x); r >= 0 && v.data(x.key) != workload.ListData {
			s.tell(filler, v.ops[r].Return, "%s read %d", x.client, v.readValue(r))
		}
	}
	s.faults(begin, end, clients...)
	v.tellWrites(s, sections, written)
	c.tells(s)
	return c
}

// tellWrites tells of the writes in the order in which they were answered, so
// that the one that broke it comes last.
func (v *view) tellWrites(s *story, sections []*section, written map[int64]bool) {
	order := slices.Clone(sections)
	slices.SortStableFunc(order, func(a, b *section) int { return cmp.Compare(v.at(v.closes(a)), v.at(v.closes(b))) })
	for _, x := range order {
		w := v.decisiveWrite(x)
		if w < 0 {
			continue
		}
		event := v.ops[w].Return
		r := v.sectionReads(x)
		text := v.writeWords(x, w)
		if r >= 0 && v.number(r).IsSet() {
			if written[v.readValue(r)] {
				text = fmt.Sprintf("%s wrote %d, also from %d", x.client, v.number(w).V(), v.readValue(r))
				if g := v.grantBefore(x.client, v.opens(x)); g != nil && g.lastPromise().over(v.at(event)) {
					text += fmt.Sprintf(", %s after its validity had ended", length(v.at(event)-g.lastPromise().end))
				}
				text += ": one update is lost"
			}
			written[v.readValue(r)] = true
		}
		s.tell(turning, event, "%s", text)
	}
}

// sectionOp is a section as an operation of a counterexample.
func (v *view) sectionOp(x *section) CounterOp {
	op := CounterOp{Client: x.client, From: v.at(v.opens(x)), To: v.at(v.closes(x))}
	r, w := v.sectionReads(x), v.decisiveWrite(x)
	cell := v.work.CellOf(x.key)
	switch {
	case cell.Writes != "" && w >= 0:
		op.Op = fmt.Sprintf("%s %s", cell.Writes, v.number(w))
	case cell.Data == workload.ListData:
		op.Op = "reads the list"
	case r >= 0 && w >= 0:
		op.Op = fmt.Sprintf("reads %d and writes %s", v.readValue(r), v.number(w))
	case w >= 0:
		op.Op = fmt.Sprintf("writes %s", v.number(w))
	case r >= 0:
		op.Op = fmt.Sprintf("reads %d", v.readValue(r))
	}
	var events []int
	for _, i := range []int{r, w} {
		if i >= 0 {
			events = append(events, v.ops[i].Call, v.ops[i].Return)
		}
	}
	op.Events = sortedEvents(events...)
	if g := v.grantBefore(x.client, v.opens(x)); g != nil {
		op.Believed = promiseWords(g)
		if last := g.lastPromise(); last.over(op.To) {
			op.True = fmt.Sprintf("its validity had ended %s before its write was answered", length(op.To-last.end))
		}
	}
	return op
}
