package report

import (
	"fmt"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report/swimlane"
)

// The history of another tool has operations and nothing else: no beliefs, no keys, no
// faults. Its picture shows each operation from its call to its answer.

// Heights of the lane of a process, in pixels.
const (
	processHeight = 28
	operationTop  = 5
	operationH    = 17
)

// timed reports that a history says when things happened, and not only in which order.
func timed(h *history.History) bool {
	return len(h.Events) > 0 && h.Events[len(h.Events)-1].Time > 0
}

// drawOperations draws the history of another tool; nothing if it has no times.
func (p *page) drawOperations(v *variantView) {
	if v.History == nil || !timed(v.History) {
		return
	}
	scene := swimlane.Operations(v.History, operationWords)
	if len(scene.Clients) == 0 {
		return
	}
	w := swimlane.Frame(v.History, scene.End, focusOf(v.Variant), coreOf(v.Variant), maxDrawnEvents)
	e := &easel{scene: scene, window: w, y: axisHeight, pic: &picture{ID: v.ID,
		From: int64(w.View.From), To: int64(w.View.To), Lo: int64(w.Extent.From), Hi: int64(w.Extent.To)}}
	if n := scene.Cast(involved(v.Variant), w.View, maxDrawnClients); n > 0 {
		e.pic.Notes = append(e.pic.Notes, fmt.Sprintf("%s not drawn: only those of the violation and the busiest ones are", count(n, "process")))
	}
	if n := scene.Crop(w, maxDrawnPerLane); n > 0 {
		e.pic.Notes = append(e.pic.Notes, fmt.Sprintf("%s not drawn: a lane has at most %d", count(n, "operation"), maxDrawnPerLane))
	}
	told := v.told()
	for i := range scene.Clients {
		p.process(e, &scene.Clients[i], told)
	}
	e.pic.Height = e.y + 6
	e.ticks()
	e.pic.Summary = fmt.Sprintf("Time runs from %s to %s over the operations of %s.", seconds(w.View.From), seconds(w.View.To), count(len(scene.Clients), "process"))
	if !w.Whole {
		shown := 0
		for i := range v.History.Events {
			if t := v.History.Events[i].Time; t >= w.Extent.From && t <= w.Extent.To {
				shown++
			}
		}
		e.pic.Overview = overviewOf(v.History, scene.End, w, shown)
	}
	v.Pic = e.pic
}

// process draws the operations of one process. Those that the page tells of have a frame.
func (p *page) process(e *easel, c *swimlane.ClientLane, told map[int]bool) {
	l := lane{Kind: "process", Name: c.Name, H: processHeight, Quiet: true}
	for i := range c.Marks {
		m := &c.Marks[i]
		s := e.bar("belief", m.Span, operationTop, operationH)
		s.Title, s.Event, s.TextY = fmt.Sprintf("%s  %s: %s, took %s", seconds(m.From), c.Name, m.Text, shortDuration(m.Length())), m.Event, 12
		switch m.Type {
		case history.Fail:
			s.Kind, s.Class, p.HasFailed = "thread", "asking", true
			s.Title = fmt.Sprintf("%s  %s: %s, failed", seconds(m.From), c.Name, m.Text)
		case history.Info:
			s.Class, p.HasUnknown = "band", true
			s.Title = fmt.Sprintf("%s  %s: %s, outcome unknown", seconds(m.From), c.Name, m.Text)
		}
		if e.fits(m.Text, m.Span) {
			s.Text = m.Text
		}
		l.Shapes = append(l.Shapes, s)
		if told[m.Event] {
			frame := e.bar("overlap", m.Span, operationTop-3, operationH+6)
			frame.Step, frame.Event, frame.Title = true, m.Event, s.Title
			l.Shapes, l.Quiet, p.HasFrames = append(l.Shapes, frame), false, true
		}
	}
	e.add(l)
}

// operationWords is an operation in a word or two: "write 3", "cas 1 to 2".
func operationWords(call, answer *history.Event) string {
	number := answer.Value.Number
	if !number.Set {
		number = call.Value.Number
	}
	text := string(call.F)
	switch {
	case call.Value.Expected.Set && number.Set:
		text += fmt.Sprintf(" %s to %s", call.Value.Expected, number)
	case number.Set:
		text += " " + number.String()
	case answer.Value.List != nil:
		text += " " + strings.Trim(fmt.Sprint(answer.Value.List), "[]")
	}
	if key := call.Value.Key; key != "" {
		text += " of " + key
	}
	return clip(text, 40)
}
