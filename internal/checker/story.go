package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

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
	v    *view
	list []weighed
	// decisive are the events without which the violation would not have been, also has what is to be
	// added to the sentence of an event.
	decisive []int
	also     map[int]string
}

type weighed struct {
	Sentence
	weight weight
}

func (v *view) newStory() *story { return &story{v: v, also: make(map[int]string)} }

// rests takes note of the events without which the violation would not have been, and tells of those that are faults.
func (s *story) rests(events ...int) {
	s.decisive = sortedEvents(append(s.decisive, events...)...)
	for i := range s.v.faults {
		if f := &s.v.faults[i]; slices.Contains(events, f.begin) {
			s.tell(decisive, f.begin, "%s", s.v.faultWords(f))
		}
	}
}

// tell adds a sentence about an event.
func (s *story) tell(w weight, event int, format string, args ...any) {
	s.tellAt(w, s.v.at(event), event, format, args...)
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

// grant tells of a grant and of the end of its promise where that lies before
// the given instant.
func (s *story) grant(g *grant, before time.Duration) {
	s.tell(turning, g.ret, "%s", s.v.grantWords(g))
	s.tell(filler, g.call, "%s asked for the lock", g.client)
	for _, x := range slices.Backward(g.extends) {
		if s.v.at(x.ret) < before {
			s.tell(setting, x.ret, "%s renewed its lock, valid until %s", g.client, words.Instant(x.until))
			break
		}
	}
	if last := g.lastPromise(); last.over(before) && last.over(s.v.at(g.ends)) {
		s.tellAt(turning, last.end, g.ret, "the validity of %s ended; %s did not notice", g.client, g.client)
	}
}

// faults tells of the faults that began in a stretch of the run and struck one
// of the clients or no client at all: a node, a link.
func (s *story) faults(from, to time.Duration, clients ...string) {
	for i := range s.v.faults {
		f := &s.v.faults[i]
		at := s.v.at(f.begin)
		lasts := f.does(history.BendsClock) && (f.end < 0 || s.v.at(f.end) > from)
		if at < from && !lasts || at > to {
			continue
		}
		struck := f.clients()
		if len(struck) > 0 && !slices.ContainsFunc(struck, func(c string) bool { return slices.Contains(clients, c) }) {
			continue
		}
		s.tell(setting, f.begin, "%s", s.v.faultWords(f))
		if len(struck) > 0 && f.end >= 0 && s.v.at(f.end) <= to && f.does(history.Stops) && !f.does(history.Kills) {
			s.tell(filler, f.end, "%s ran on", struck[0])
		}
	}
}

// end tells how a belief ended.
func (s *story) end(g *grant, also string) {
	switch g.how {
	case endless:
		s.tell(setting, len(s.v.h.Events)-1, "the history ends, and %s never asked to release%s", g.client, also)
	case released:
		s.tell(setting, g.ends, "%s asked to release%s", g.client, also)
	case killed:
		s.tell(setting, g.ends, "%s was killed%s", g.client, also)
	case superseded:
		s.tell(setting, g.ends, "%s gave up what it had and asked anew%s", g.client, also)
	}
}

// writes tells of the accepted writes of the clients in a stretch of the run.
func (s *story) writes(from, to time.Duration, clients ...string) {
	for i := range s.v.sections {
		x := &s.v.sections[i]
		if !slices.Contains(clients, x.client) {
			continue
		}
		for _, op := range x.writes {
			o := &s.v.ops[op]
			if s.v.at(o.Return) < from || s.v.at(o.Return) > to {
				continue
			}
			s.tell(setting, o.Return, "%s", s.v.writeWords(x, op))
		}
	}
}

// writeWords tell of a write: "c2 wrote 1 from 0".
func (v *view) writeWords(x *section, op int) string {
	o := &v.ops[op]
	verb := cmp.Or(v.work.CellOf(x.key).Wrote, "wrote")
	text := x.client + " " + verb
	if n := v.number(op); n.IsSet() {
		text = fmt.Sprintf("%s %s %d", x.client, verb, n.V())
	}
	if r := v.lastRead(x, op); r >= 0 {
		if n := v.number(r); n.IsSet() {
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

// lastRead is the latest successful read of the section before a write, -1 for
// none.
func (v *view) lastRead(x *section, write int) int {
	for i := len(x.reads) - 1; i >= 0; i-- {
		o := &v.ops[x.reads[i]]
		if o.Type == history.OK && o.Return < v.ops[write].Call {
			return x.reads[i]
		}
	}
	return -1
}

// sentences gives the story in order of time, at most maxSentences long.
func (s *story) sentences() []Sentence {
	list := slices.Clone(s.list)
	for i := range list {
		x := &list[i]
		if slices.Contains(s.decisive, x.Event) && x.weight >= setting {
			x.Decisive, x.weight = true, decisive
		}
		if x.At == s.v.at(x.Event) && x.weight >= turning {
			x.Text += s.also[x.Event]
			delete(s.also, x.Event)
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
