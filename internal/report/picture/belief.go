package picture

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// clientLanes reads what the clients did and believed.
func clientLanes(h *history.History, names []string, truth map[string][]majority, s *Scene) []ClientLane {
	lanes := make([]ClientLane, len(names))
	place := map[string]int{}
	for i, n := range names {
		lanes[i].Name, place[n] = n, i
	}
	ops := h.Ops()
	makeRoom(lanes, place, ops)
	for b := range checker.Beliefs(h, ops) {
		hold := Hold{Belief: b, Span: Span{b.During.From, b.During.To}, Nodes: len(h.Events[b.Granted].Value.Nodes())}
		hold.see(truth[b.Owner], s)
		lane := &lanes[place[b.Client]]
		lane.Holds = append(lane.Holds, hold)
	}
	for i := range h.Events {
		if e := &h.Events[i]; e.F == history.Point {
			lane := &lanes[place[e.Process]]
			lane.Marks = append(lane.Marks, Mark{Span{e.Time, e.Time}, e.F, e.Type, e.Value.Point(), i})
		}
	}
	opMarks(h, ops, lanes, place, s.End)
	for i := range lanes {
		slices.SortStableFunc(lanes[i].Holds, func(a, b Hold) int { return int(a.From - b.From) })
		slices.SortStableFunc(lanes[i].Marks, func(a, b Mark) int { return int(a.From - b.From) })
	}
	return lanes
}

// makeRoom makes room for holds and for the marks of operations, so that it need not be made again and again.
func makeRoom(lanes []ClientLane, place map[string]int, ops []history.Op) {
	type many struct{ holds, marks int }
	each := make([]many, len(lanes))
	for i := range ops {
		of := &each[place[ops[i].Process]]
		if of.marks++; ops[i].F == history.Acquire && ops[i].Type == history.OK {
			of.holds++
		}
	}
	for i, n := range each {
		lanes[i].Holds, lanes[i].Marks = slices.Grow(lanes[i].Holds, n.holds), slices.Grow(lanes[i].Marks, n.marks)
	}
}

// see sets the hold's belief beside what the nodes had.
func (hold *Hold) see(truth []majority, s *Scene) {
	for _, m := range truth {
		if m.Overlaps(hold.Span) {
			hold.Truth = append(hold.Truth, m.Span)
		}
	}
	if !s.KeysSeen || hold.Owner == "" {
		return
	}
	known := slices.Clone(hold.Truth)
	for i := range s.Nodes { // what nobody knows is no gap
		known = append(known, s.Nodes[i].Unclear...)
	}
	slices.SortFunc(known, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	at := hold.From
	for _, t := range known {
		if !t.Overlaps(hold.Span) {
			continue
		}
		if t.From > at {
			hold.Gaps = append(hold.Gaps, Span{at, t.From})
		}
		at = max(at, t.To)
	}
	if at < hold.To {
		hold.Gaps = append(hold.Gaps, Span{at, hold.To})
	}
}

// opMarks adds the operations that are no holds themselves.
func opMarks(h *history.History, ops []history.Op, lanes []ClientLane, place map[string]int, end time.Duration) {
	for _, op := range ops {
		call := &h.Events[op.Call]
		mark := Mark{Span: Span{call.Time, end}, F: op.F, Type: op.Type, Event: op.Call}
		answer := &history.Event{}
		if op.Return >= 0 {
			answer = &h.Events[op.Return]
			mark.To, mark.Event = answer.Time, op.Return
		}
		mark.Text = opText(op, call, answer)
		lane := &lanes[place[op.Process]]
		lane.Marks = append(lane.Marks, mark)
	}
}

func opText(op history.Op, call, answer *history.Event) string {
	number := answer.Value.Number
	if !number.IsSet() {
		number = call.Value.Number
	}
	var text string
	switch op.F {
	case history.Read:
		text = "r"
	case history.Write:
		text = "w"
	default:
		text = string(op.F)
	}
	if number.IsSet() {
		text += " " + number.String()
	}
	switch op.Type {
	case history.Fail:
		text += " ✗"
	case history.Info:
		text += " ?"
	}
	return text
}
