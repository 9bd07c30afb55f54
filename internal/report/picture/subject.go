package picture

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Subject is what a picture is drawn of: a run's history, and what was found in it.
type Subject struct {
	// Name is that of the variant; ID begins the ids of all elements.
	Name, ID string
	History  *history.History
	Findings []checker.Finding
	// About is the finding that the picture is about; nil: nothing was violated.
	About *checker.Finding
	// Odds are how many reruns violate a property; nil: none were made.
	Odds *Odds
}

// Overlap is a stretch in which two holders stood side by side, and in what
// sense.
type Overlap struct {
	Span
	Words string
}

// Overlaps collects what the checker boxed in. Equal stretches are told once.
func (s *Subject) Overlaps() []Overlap {
	var list []Overlap
	for _, name := range []checker.Property{checker.ExclusiveBelief, checker.ExclusiveLease, checker.WithinPermits} {
		for _, f := range s.Findings {
			if f.Property != name || f.Counterexample == nil || f.Counterexample.Overlap == nil {
				continue
			}
			o := f.Counterexample.Overlap
			span := Span{From: o.From, To: o.To}
			said := "two holders at once, " + words.Length(span.Length())
			switch name {
			case checker.ExclusiveLease:
				said = "inside two promises at once, " + words.Length(span.Length())
			case checker.WithinPermits:
				said = fmt.Sprintf("%d holders at once, %s", len(f.Counterexample.Operations), words.Length(span.Length()))
			}
			if span.To <= span.From || len(list) > 0 && list[0].Span == span {
				continue
			}
			list = append(list, Overlap{span, said})
		}
	}
	return list
}

// focus is the stretch of run time that the violation is told in.
func (s *Subject) focus() Span {
	var focus Span
	found := false
	include := func(t time.Duration) {
		if t < 0 {
			return
		}
		if !found {
			focus, found = Span{From: t, To: t}, true
		}
		focus = Span{From: min(focus.From, t), To: max(focus.To, t)}
	}
	if s.About == nil {
		return focus
	}
	if c := s.About.Counterexample; c != nil {
		for _, sentence := range c.Story {
			include(sentence.At)
		}
		for _, o := range c.Operations {
			include(o.From)
			include(o.To)
		}
		if c.Overlap != nil {
			include(c.Overlap.From)
			include(c.Overlap.To)
		}
	}
	if o := s.Odds; o != nil && found {
		for _, m := range []*OddsMark{o.Rise, o.Certain, o.NoReturn} {
			if m != nil {
				include(m.At)
			}
		}
	}
	if s.History != nil && !found {
		for _, at := range s.About.Events[:min(len(s.About.Events), 20)] {
			if at >= 0 && at < len(s.History.Events) {
				include(s.History.Events[at].Time)
			}
		}
	}
	if found && focus.Length() == 0 {
		focus.To += time.Millisecond
	}
	return focus
}

// violations are the stretches of run time in which properties were violated.
func (s *Subject) violations() []Span {
	var list []Span
	for i := range s.Findings {
		f := &s.Findings[i]
		if f.Verdict != checker.Violated {
			continue
		}
		var span Span
		if c := f.Counterexample; c != nil && c.Overlap != nil {
			span = Span{From: c.Overlap.From, To: c.Overlap.To}
		} else if at, ok := s.momentOf(f); ok {
			span = Span{From: at, To: at}
			if c := f.Counterexample; c == nil || c.Impossible < 0 { // no one event broke it
				for _, i := range f.Events {
					if i >= 0 && i < len(s.History.Events) {
						span.To = max(span.To, s.History.Events[i].Time)
					}
				}
			}
		} else {
			continue
		}
		if !slices.Contains(list, span) {
			list = append(list, span)
		}
	}
	return list
}

// momentOf is when a property was violated: at the event that makes its counterexample impossible,
// or else at the first event of the violation.
func (s *Subject) momentOf(f *checker.Finding) (time.Duration, bool) {
	events := f.Events
	if c := f.Counterexample; c != nil {
		events = append([]int{c.Impossible}, events...)
	}
	for _, i := range events {
		if s.History != nil && i >= 0 && i < len(s.History.Events) {
			return s.History.Events[i].Time, true
		}
	}
	return 0, false
}

// Core is the instant that a picture must show if it can show but one.
func (s *Subject) Core() time.Duration {
	if s.About == nil {
		return 0
	}
	if c := s.About.Counterexample; c != nil && c.Overlap != nil {
		return c.Overlap.From
	}
	if at, ok := s.momentOf(s.About); ok {
		return at
	}
	return s.focus().From
}

// involved are the clients that counterexamples speak of.
func (s *Subject) involved() []string {
	var names []string
	for _, f := range s.Findings {
		if c := f.Counterexample; c != nil {
			for _, o := range c.Operations {
				names = append(names, o.Client)
			}
		}
	}
	return names
}

// summary says the picture in words.
func (s *Subject) summary(scene *Scene, view Span) string {
	text := fmt.Sprintf("Time runs from %s to %s over %s, the resource and %s.", words.Seconds(view.From), words.Seconds(view.To),
		words.Count(len(scene.Clients), "client"), words.Count(len(scene.Nodes), "node"))
	for _, o := range s.Overlaps() {
		text += fmt.Sprintf(" From %s on: %s.", words.Seconds(o.From), o.Words)
	}
	for _, o := range scene.Splits {
		text += fmt.Sprintf(" From %s on: %s.", words.Seconds(o.From), scene.splitWords(o))
	}
	if scene.Refused > 0 {
		text += fmt.Sprintf(" The resource refused %s.", words.Count(scene.Refused, "operation"))
	}
	return text
}
