package picture

import (
	"fmt"
	"time"
)

// Odds are how many reruns of a run violate a property, from each of its moments on.
type Odds struct {
	Property string
	Steps    []OddsStep
	// Certain is from when on all do if the faults last, NoReturn from when on all do even if they end at that moment; nil: from none.
	Certain, NoReturn *OddsMark
	// Nearly and NearlyLost: from Certain, or NoReturn, on not quite all do.
	Nearly, NearlyLost bool
	// Rise is when the share rises most if the faults last, where that is before Certain.
	Rise *OddsMark
}

// OddsStep is from an event on, until the next: which share of the reruns violates the property, from 0 to 1, and in words, if the faults
// last, and if they end at that moment.
type OddsStep struct {
	At                  time.Duration
	Event               int
	What                string
	Last, End           float64
	LastWords, EndWords string
}

// OddsMark is an event that the picture marks.
type OddsMark struct {
	At    time.Duration
	Event int
	What  string
}

// Heights of the lane of the odds, in pixels: the rows of its labels, and its bars.
const (
	oddsFirst  = 14
	oddsSecond = 29
	oddsTop    = 39
	oddsFull   = 52
	oddsHeight = oddsTop + oddsFull + 8
	oddsWords  = oddsTop + oddsFull/2 - 4
	oddsBelow  = oddsWords + 15
)

// odds draws the share of the reruns that violate a property, and marks from when on all do.
func (e *easel) odds() {
	o := e.scene.Odds
	if o == nil || len(o.Steps) == 0 {
		return
	}
	e.y += groupGap
	l := lane{Kind: "odds", Name: "reruns", H: oddsHeight, Subs: []sub{{oddsTop + 10, "all violate"}, {oddsTop + oddsFull, "none"}}}
	end := max(e.scene.End, e.view.To)
	ground := bar("odds-ground", Span{o.Steps[0].At, end}, oddsTop, oddsFull)
	ground.Title = "the share of the reruns that violate the property, from each moment on"
	l.Shapes = append(l.Shapes, ground)
	for _, of := range []struct {
		class, how string
		share      func(*OddsStep) float64
		words      func(*OddsStep) string
	}{
		{"odds-last", "if the faults last", func(s *OddsStep) float64 { return s.Last }, func(s *OddsStep) string { return s.LastWords }},
		{"odds-end", "even if the faults end at this moment", func(s *OddsStep) float64 { return s.End },
			func(s *OddsStep) string { return s.EndWords }},
	} {
		for i := 0; i < len(o.Steps); {
			s := &o.Steps[i]
			next := i + 1
			for next < len(o.Steps) && (of.share(&o.Steps[next]) == of.share(s) || o.Steps[next].At == s.At) && of.share(&o.Steps[next]) > 0 {
				if o.Steps[next].At == s.At { // the last event of an instant counts
					s = &o.Steps[next]
				}
				next++
			}
			until := end
			if next < len(o.Steps) {
				until = o.Steps[next].At
			}
			if h := int(of.share(s)*oddsFull + 0.5); h > 0 && until > s.At {
				b := bar(of.class, Span{s.At, until}, oddsTop+oddsFull-h, h)
				b.Event, b.Title = s.Event, fmt.Sprintf("%s reruns violate the property %s", of.words(s), of.how)
				l.Shapes = append(l.Shapes, b)
			}
			i = next
		}
	}
	e.oddsZones(&l, o, end)
	e.oddsMarks(&l, o)
	e.add(l)
}

// oddsZones say what the areas mean.
func (e *easel) oddsZones(l *lane, o *Odds, end time.Duration) {
	zone := func(from, to time.Duration, class string, lines ...[]string) {
		if to <= from {
			return
		}
		for i, texts := range lines {
			s := bar("odds-zone", Span{from, to}, oddsTop, oddsFull)
			s.inside(class, rankOverlap, []int{[]int{oddsWords, oddsBelow}[i]}, texts...)
			l.Shapes = append(l.Shapes, s)
		}
	}
	begin, sure, certain := o.Steps[0].At, end, end
	if o.NoReturn != nil {
		sure, certain = o.NoReturn.At, o.NoReturn.At
	}
	if o.Certain != nil {
		certain = min(o.Certain.At, sure)
	}
	open := []string{fmt.Sprintf("no rerun violates %s", o.Property), "no rerun violates it", "none"}
	for i := range o.Steps {
		if s := &o.Steps[i]; s.At < certain && s.Last > 0 {
			open = []string{fmt.Sprintf("a matter of chance: some reruns violate %s", o.Property), "a matter of chance", "chance"}
		}
	}
	zone(begin, certain, "odds-open", open)
	// Two lines of one length: where one has no room the other has none, and "certain" never stands alone.
	if o.Nearly {
		zone(certain, sure, "odds-sure", []string{"nearly certain"}, []string{"if faults last"})
	} else {
		zone(certain, sure, "odds-sure", []string{"certain unless"}, []string{"the faults end"})
	}
	word := map[bool]string{false: "certain", true: "nearly certain"}[o.NearlyLost]
	zone(sure, end, "odds-lost", []string{word}, []string{"even if all faults end", "anyway"})
}

// oddsMarks mark the moments, through the whole picture.
func (e *easel) oddsMarks(l *lane, o *Odds) {
	line := func(m *OddsMark, class, title string, rank int, rows []int, text string) {
		through := at("line", class, m.At, axisHeight, e.y-axisHeight)
		e.behind.Shapes = append(e.behind.Shapes, through)
		s := at("line", class, m.At, 0, oddsTop+oddsFull)
		s.Event, s.Step, s.Title = m.Event, true, title+": "+m.What
		s.beside(class+"-words", rank, rows, text)
		l.Shapes = append(l.Shapes, s)
	}
	certain, noReturn := o.Certain, o.NoReturn
	if noReturn != nil {
		const name = "point of no return"
		line(noReturn, "odds-no-return", name, rankOverlap, []int{oddsFirst}, name)
		below := at("line", "odds-no-return", noReturn.At, 0, 0)
		below.beside("odds-no-return-words", rankOverlap, []int{oddsSecond}, noReturn.What)
		l.Shapes = append(l.Shapes, below)
	}
	if o.Rise != nil {
		line(o.Rise, "odds-certain", "the largest step", rankBroken, []int{oddsFirst, oddsSecond}, o.Rise.What)
	} else if certain != nil && (noReturn == nil || certain.At < noReturn.At) {
		line(certain, "odds-certain", "certain from here on, unless the faults end", rankBroken, []int{oddsFirst, oddsSecond}, certain.What)
	}
}
