package picture

import (
	"fmt"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// The history of another tool has operations and nothing else: no beliefs, no keys, no
// faults. Its picture shows each operation from its call to its answer.

// Heights of the lane of a process, in pixels.
const (
	processHeight = 28
	operationTop  = 5
	operationH    = 17
)

// Timed reports that a history says when things happened, and not only in which order.
func Timed(h *history.History) bool {
	return h.End() > 0
}

// DrawOperations draws the history of another tool; nil if it has no times. Told are the events that the page tells of.
func DrawOperations(s *Subject, told map[int]bool) *Picture {
	if s.History == nil || !Timed(s.History) {
		return nil
	}
	scene := Operations(s.History, operationWords)
	if len(scene.Clients) == 0 {
		return nil
	}
	view := Frame(s.History, scene.End, s.focus(), s.Core(), maxViewEvents)
	pic := s.paint(scene, view, "process", 1, func() *Picture {
		e := newEasel(s.ID, scene, view)
		for i := range scene.Clients {
			e.process(&scene.Clients[i], told)
		}
		return e.finish(maxStatic)
	})
	pic.Summary = fmt.Sprintf("Time runs from %s to %s over the operations of %s.",
		words.Seconds(view.From), words.Seconds(view.To), words.Count(len(scene.Clients), "process"))
	return pic
}

// process draws the operations of one process. Those that the page tells of have a frame.
func (e *easel) process(c *ClientLane, told map[int]bool) {
	l := lane{Kind: "process", Name: c.Name, H: processHeight, Quiet: true}
	for i := range c.Marks {
		m := &c.Marks[i]
		s := bar("belief", m.Span, operationTop, operationH)
		s.Title, s.Event = c.Name+": "+m.Text, m.Event
		name := s.inside("belief-words", rankMark, []int{operationTop + 12}, m.Text)
		switch m.Type {
		case history.Fail:
			s.Kind, s.Class, e.pic.HasFailed = "thread", "asking", true
			s.Title = fmt.Sprintf("%s: %s, failed", c.Name, m.Text)
			s.Label = nil
		case history.Info:
			s.Class, name.Class, e.pic.HasUnknown = "band", "fault-words", true
			s.Title = fmt.Sprintf("%s: %s, outcome unknown", c.Name, m.Text)
		}
		l.Shapes = append(l.Shapes, s)
		if told[m.Event] {
			frame := bar("overlap", m.Span, operationTop-3, operationH+6)
			frame.Step, frame.Event, frame.Title = true, m.Event, s.Title
			l.Shapes, l.Quiet, e.pic.HasFrames = append(l.Shapes, frame), false, true
		}
	}
	e.add(l)
}

// operationWords is an operation in a word or two: "write 3", "cas 1 to 2".
func operationWords(call, answer *history.Event) string {
	number := answer.Value.Number
	if !number.IsSet() {
		number = call.Value.Number
	}
	text := string(call.F)
	switch {
	case call.Value.Expected().IsSet() && number.IsSet():
		text += fmt.Sprintf(" %s to %s", call.Value.Expected(), number)
	case number.IsSet():
		text += " " + number.String()
	case answer.Value.List() != nil:
		text += " " + strings.Trim(fmt.Sprint(answer.Value.List()), "[]")
	}
	if key := call.Value.Key; key != "" {
		text += " of " + key
	}
	return plain.Clip(text, 40)
}
