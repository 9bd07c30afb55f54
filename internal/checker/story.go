package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// maxSentences is how long a story may be; what matters least is left out.
const maxSentences = 7

// weight says how much a sentence matters to a story.
type weight uint8

const (
	filler   weight = iota // told only where there is room
	setting                // how it came about
	turning                // the story makes no sense without it
	decisive               // without it the violation would not have been
)

// story collects sentences in any order.
type story struct {
	j    *judge
	list []weighed
	// decisive are the events without which the violation would not have been, also has what is to be
	// added to the sentence of an event.
	decisive []int
	suffixes map[int]string
}

type weighed struct {
	Sentence
	weight weight
}

func (j *judge) newStory() *story { return &story{j: j, suffixes: make(map[int]string)} }

// decidedBy takes note of the events without which the violation would not have been, and tells of those that are faults.
func (s *story) decidedBy(events ...int) {
	s.decisive = sortedEvents(append(s.decisive, events...)...)
	for i := range s.j.Faults {
		if f := &s.j.Faults[i]; slices.Contains(events, f.Begin) {
			s.tell(decisive, f.Begin, "%s", s.j.faultWords(f))
		}
	}
}

// tell adds a sentence about an event.
func (s *story) tell(w weight, event int, format string, args ...any) {
	s.tellAt(w, s.j.At(event), event, format, args...)
}

// tellAt adds a sentence about an instant that the event made known.
func (s *story) tellAt(w weight, at time.Duration, event int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, x := range s.list {
		if x.Event == event && (x.Text == text || x.At == at && x.weight > w) {
			return
		}
	}
	s.list = append(s.list, weighed{Sentence{At: at, Event: event, Text: text}, w})
}

// tellGrant tells of a grant and of the end of its promise where that lies before
// the given instant.
func (s *story) tellGrant(g *facts.Grant, before time.Duration) {
	s.tell(turning, g.Return, "%s", s.j.grantWords(g))
	s.tell(filler, g.Call, "%s asked for %s", g.Client, s.j.theLock())
	for _, x := range slices.Backward(g.Renewals) {
		if s.j.At(x.Return) < before {
			s.tell(setting, x.Return, "%s renewed %s, valid until %s", g.Client, s.j.itsLock(), words.Instant(x.Until))
			break
		}
	}
	if last := g.LastPromise(); last.EndedBefore(before) && last.EndedBefore(s.j.At(g.End)) {
		s.tellAt(turning, last.End, g.Return, "the validity of %s ended; %s did not notice", g.Client, g.Client)
	}
}

// tellFaults tells of the faults that began in a stretch of the run and struck one
// of the clients or no client at all: a node, a link.
func (s *story) tellFaults(from, to time.Duration, clients ...string) {
	for i := range s.j.Faults {
		f := &s.j.Faults[i]
		at := s.j.At(f.Begin)
		lasts := f.Does(history.BendsClock) && (f.End < 0 || s.j.At(f.End) > from)
		if at < from && !lasts || at > to {
			continue
		}
		struck := slices.Concat(f.Clients(), f.Cancelled)
		if len(struck) > 0 && !slices.ContainsFunc(struck, func(c string) bool { return slices.Contains(clients, c) }) {
			continue
		}
		s.tell(setting, f.Begin, "%s", s.j.faultWords(f))
		if len(struck) > 0 && f.End >= 0 && s.j.At(f.End) <= to && f.Does(history.Stops) && !f.Does(history.Kills) {
			s.tell(filler, f.End, "%s ran on", struck[0])
		}
	}
}

// tellEnd tells how a belief ended.
func (s *story) tellEnd(g *facts.Grant, also string) {
	switch g.Ending {
	case facts.Endless:
		s.tell(setting, len(s.j.History.Events)-1, "the history ends, and %s never asked to release%s", g.Client, also)
	case facts.Released:
		s.tell(setting, g.End, "%s asked to release%s", g.Client, also)
	case facts.Dropped:
		s.tell(setting, g.End, "%s forgot %s%s", g.Client, s.j.itsLock(), also)
	case facts.Killed:
		if slices.Contains(s.j.ProgramEnds, g.End) {
			s.tell(setting, g.End, "%s%s", s.j.programEndWords(g.End), also)
			return
		}
		s.tell(setting, g.End, "%s was killed%s", g.Client, also)
	case facts.Superseded:
		s.tell(setting, g.End, "%s gave up what it had and asked anew%s", g.Client, also)
	}
}

// tellWrites tells of the accepted writes of the clients in a stretch of the run.
func (s *story) tellWrites(from, to time.Duration, clients ...string) {
	for i := range s.j.Sections {
		x := &s.j.Sections[i]
		if !slices.Contains(clients, x.Client) {
			continue
		}
		for _, op := range x.Writes {
			o := &s.j.Ops[op]
			if s.j.At(o.Return) < from || s.j.At(o.Return) > to {
				continue
			}
			s.tell(setting, o.Return, "%s", s.j.writeWords(x, op))
		}
	}
}

// writeWords tell of a write: "c2 wrote 1 from 0".
func (j *judge) writeWords(x *facts.Section, op int) string {
	o := &j.Ops[op]
	verb := cmp.Or(j.Workload.CellOf(x.Key).Wrote, "wrote")
	text := x.Client + " " + verb
	if n := j.Number(op); n.IsSet() {
		text = fmt.Sprintf("%s %s %d", x.Client, verb, n.V())
	}
	if r := j.LastReadBefore(x, op); r >= 0 {
		if n := j.Number(r); n.IsSet() {
			text += fmt.Sprintf(" from %d", n.V())
		}
	}
	switch o.Type {
	case history.Fail:
		text += ": refused"
	case history.Info:
		text += ": outcome unknown"
	}
	return text
}

// sentences gives the story in order of time, at most maxSentences long.
func (s *story) sentences() []Sentence {
	list := slices.Clone(s.list)
	for i := range list {
		x := &list[i]
		if slices.Contains(s.decisive, x.Event) && x.weight >= setting {
			x.Decisive, x.weight = true, decisive
		}
		if x.At == s.j.At(x.Event) && x.weight >= turning {
			x.Text += s.suffixes[x.Event]
			delete(s.suffixes, x.Event)
		}
	}
	slices.SortStableFunc(list, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Event, b.Event))
	})
	for w := filler; len(list) > maxSentences; {
		// The latest of the least weight goes first, save the very last
		// sentence: it is how the story ends.
		at := -1
		for i := range list[:len(list)-1] {
			if list[i].weight == w {
				at = i
			}
		}
		switch {
		case at >= 0:
			list = slices.Delete(list, at, at+1)
		case w == decisive:
			list = list[:maxSentences]
		default:
			w++
		}
	}
	out := make([]Sentence, len(list))
	for i := range list {
		out[i] = list[i].Sentence
	}
	return out
}

// sortedEvents gives the distinct events without -1, in order.
func sortedEvents(events ...int) []int {
	slices.Sort(events)
	events = slices.Compact(events)
	return slices.DeleteFunc(events, func(i int) bool { return i < 0 })
}
