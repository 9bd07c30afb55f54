package picture

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Drawn are the pictures of a subject: Pic of the run, and Detail of an overlap that is too short to be seen there,
// drawn larger. DetailName says how much larger. Nil: there is nothing to draw.
type Drawn struct {
	Pic, Detail *Picture
	DetailName  string
}

// DrawAll draws the pictures of a page on one scale. Where the violations lie
// near one another they share the same stretch of time; where they do not,
// each picture has its own stretch of the same length.
func DrawAll(subjects []*Subject) []Drawn {
	pictures := make([]Drawn, len(subjects))
	scenes := make([]*Scene, len(subjects))
	var seen []int // the subjects that have something to be drawn
	var end time.Duration
	for i, s := range subjects {
		if s.History != nil && len(s.History.Events) > 0 {
			seen, end = append(seen, i), max(end, s.History.End())
		}
	}
	foci := fociOf(subjects)
	spans := make([]Span, len(subjects))
	var length, room time.Duration
	for _, i := range seen {
		spans[i] = Frame(subjects[i].History, end, foci[i], subjects[i].Core(), maxViewEvents/len(seen))
		length = max(length, spans[i].Length())
	}
	for _, i := range seen {
		if spans[i].From+length >= subjects[i].History.End() {
			// What happens last must not stick to the edge. All get the room, or
			// their scales would differ.
			room = length / 60
		}
	}
	for _, i := range seen {
		spans[i].To = spans[i].From + length + room
		scenes[i] = BuildFor(subjects[i].History, spans[i], maxThings/len(seen))
		scenes[i].Odds = subjects[i].Odds
		pictures[i].Pic = subjects[i].draw(scenes[i], spans[i], len(seen))
	}
	drawDetails(pictures, subjects, scenes, length+room)
	return pictures
}

// drawDetails draws overlaps that are too short to be seen once more, larger. A
// second holder's section often takes but milliseconds of the seconds that the
// story needs. All details have one scale, too.
func drawDetails(pictures []Drawn, subjects []*Subject, scenes []*Scene, view time.Duration) {
	longest := time.Duration(0)
	for i, s := range subjects {
		if scenes[i] == nil {
			continue
		}
		if list := s.Overlaps(); len(list) > 0 && list[0].Length()*25 < view {
			longest = max(longest, list[0].Length())
		}
	}
	for i, s := range subjects {
		if scenes[i] == nil || longest == 0 {
			continue
		}
		list := s.Overlaps()
		if len(list) == 0 || list[0].Length() > longest {
			continue
		}
		room := (longest*5/2 - list[0].Length()) / 2
		span := Span{From: list[0].From - room, To: list[0].To + room}
		scene := *scenes[i]
		scene.Odds = nil
		detail := draw(s.ID+"d", &scene, span, list, len(subjects))
		detail.keepInView()
		detail.Class = "detail"
		detail.Summary = s.summary(scenes[i], span)
		pictures[i].Detail = detail
		pictures[i].DetailName = fmt.Sprintf("the overlap, %s to %s, %s times as large", words.Seconds(span.From), words.Seconds(span.To),
			words.Grouped(int(view/max(1, span.Length()))))
	}
}

// keepInView leaves what is in view at first, for a picture that does not move.
func (p *Picture) keepInView() {
	p.Lo, p.Hi = p.From, p.To
	for _, l := range p.Lanes {
		l.Shapes = slices.DeleteFunc(l.Shapes, func(s shape) bool { return s.Far || s.A > p.To || s.B < p.From })
	}
}

// fociOf is where each picture is to look. One without a
// violation looks where the first one that has one looks.
func fociOf(subjects []*Subject) []Span {
	foci := make([]Span, len(subjects))
	var union, lead Span
	longest := time.Duration(0)
	for i, s := range subjects {
		f := s.focus()
		foci[i] = f
		if f == (Span{}) {
			continue
		}
		longest = max(longest, f.Length())
		if lead == (Span{}) {
			union, lead = f, f
		}
		union = Span{From: min(union.From, f.From), To: max(union.To, f.To)}
	}
	for i := range foci {
		switch {
		case union.Length() <= 2*longest:
			foci[i] = union
		case foci[i] == (Span{}):
			foci[i] = lead
		default:
			foci[i].To = foci[i].From + longest
		}
	}
	return foci
}

// draw draws a run, as one of several pictures on a page.
func (s *Subject) draw(scene *Scene, view Span, pictures int) *Picture {
	pic := s.paint(scene, view, "client", pictures, func() *Picture { return draw(s.ID, scene, view, s.Overlaps(), pictures) })
	pic.Summary = s.summary(scene, view)
	if !scene.KeysSeen {
		pic.Notes = append(pic.Notes, "the nodes' keys were not observed in this run, so the picture cannot show what was true")
	}
	if s.History.Truncated {
		pic.Notes = append(pic.Notes, "the history ends in the middle of a line")
	}
	return pic
}

// paint makes the picture of a scene, with as much of it as one of several pictures on a page can hold, and says
// in words what it left out.
func (s *Subject) paint(scene *Scene, view Span, process string, pictures int, draw func() *Picture) *Picture {
	var notes []string
	if left := scene.Cast(s.involved(), view, maxDrawnClients); len(left) > 0 {
		few := left[:min(len(left), maxDrawnClients)]
		text := strings.Join(few, ", ")
		if more := len(left) - len(few); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		notes = append(notes, fmt.Sprintf("%s not drawn (%s): only those of the violation and the busiest ones are",
			words.Count(len(left), process), text))
	}
	var pic *Picture
	apart := time.Duration(0)
	for things := maxThings / pictures; ; things = things * 2 / 3 {
		apart = max(apart, scene.Thin(view, things))
		pic = draw()
		pic.pack()
		if len(pic.Far) <= maxFar/pictures || things < maxStatic {
			break
		}
	}
	if view.From > 0 || view.To < scene.End {
		pic.Overview = overviewOf(s.History, scene, view, s.violations())
	}
	if apart > 0 {
		notes = append(notes, fmt.Sprintf("the run is long: "+
			"outside of what is shown at first, short things that begin less than %s after one another are drawn as one", words.Length(apart)))
	}
	pic.Notes = notes
	return pic
}
