package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report/picture"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// ExplanationVersion is the version of the shape that Explanation has as JSON.
const ExplanationVersion = 1

// Explanation says from which event of a run on the violation of a property was certain.
type Explanation struct {
	Version  int              `json:"version"`
	Scenario string           `json:"scenario"`
	Variant  string           `json:"variant"`
	Property checker.Property `json:"property"`
	Seed     uint64           `json:"seed"`
	// Events is how many the run has, Reruns how many runs were made in all.
	Events int `json:"events"`
	Reruns int `json:"reruns"`
	// Planned are runs with all faults of the scenario, and other seeds.
	Planned Reruns `json:"planned"`
	// Certain is the first event from which on, at it and at each later one, at least 95 % of the reruns violate the property where the faults
	// that have begun go on as they were to. NoReturn is the first from which on as many do where these faults end at that moment. Rise is
	// the event at which the share rises most where the faults go on, if that is before Certain.
	Rise     *TurningPoint `json:"rise,omitempty"`
	Certain  *TurningPoint `json:"certain,omitempty"`
	NoReturn *TurningPoint `json:"no_return,omitempty"`
	// Seen is the event at which the violation was seen.
	Seen TurningPoint `json:"seen"`
	// Points are the events at which reruns were made, in their order.
	Points []TurningPoint `json:"points"`
}

// TurningPoint is an event, and what became of reruns in which all was as it was until then.
type TurningPoint struct {
	Event int `json:"event"`
	// At is in ns of run time.
	At   int64  `json:"at"`
	What string `json:"what"`
	// Last are the reruns in which the faults that had begun went on as they were to, End those in which they ended at that moment.
	Last *Reruns `json:"faults_last,omitempty"`
	End  *Reruns `json:"faults_end,omitempty"`
}

// Reruns are how many runs were made, how many of them told something of the property, and how many of these violated it, with the 95 %
// interval of the share.
type Reruns struct {
	Runs     int     `json:"runs"`
	Judged   int     `json:"judged"`
	Violated int     `json:"violated"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// RerunsOf counts reruns.
func RerunsOf(runs, judged, violated int) *Reruns {
	r := &Reruns{Runs: runs, Judged: judged, Violated: violated}
	r.Low, r.High = wilson(uint64(violated), uint64(judged))
	return r
}

func (r *Reruns) share() float64 {
	if r.Judged == 0 {
		return 0
	}
	return float64(r.Violated) / float64(r.Judged)
}

// words say how many violate: "97 of 100".
func (r *Reruns) words() string {
	if r.Judged == 0 {
		return fmt.Sprintf("none of %s (all undecided)", words.Grouped(r.Runs))
	}
	text := fmt.Sprintf("%s of %s", words.Grouped(r.Violated), words.Grouped(r.Judged))
	if left := r.Runs - r.Judged; left > 0 {
		text += fmt.Sprintf(" (%s undecided)", words.Grouped(left))
	}
	return text
}

// Describe says in words what happened at the events that it names.
func (x *Explanation) Describe(h *history.History) {
	m := momentsOf(h)
	describe := func(p *TurningPoint) {
		if p != nil && p.Event >= 0 && p.Event < len(h.Events) {
			p.At, p.What = int64(h.Events[p.Event].Time), plain.Text(m.words(p.Event))
		}
	}
	describe(x.Rise)
	describe(x.Certain)
	describe(x.NoReturn)
	describe(&x.Seen)
	for i := range x.Points {
		describe(&x.Points[i])
	}
}

// ReadExplanation reads what WriteIndented wrote of a run with some history.
func ReadExplanation(rd io.Reader, h *history.History) (*Explanation, error) {
	var x Explanation
	if err := ReadBounded(rd, "explanation", &x); err != nil {
		return nil, err
	}
	if x.Version != ExplanationVersion {
		return nil, fmt.Errorf("explanation version %d: this program reads version %d", x.Version, ExplanationVersion)
	}
	if !x.fits(len(h.Events)) {
		return nil, errors.New("not an explanation of this run")
	}
	x.Describe(h)
	return &x, nil
}

// fits reports that it may be one of a run with so many events.
func (x *Explanation) fits(events int) bool {
	if x.Events != events || x.Seen.Event < 0 || x.Seen.Event >= events || len(x.Points) == 0 || !x.Planned.fit() {
		return false
	}
	last := -1
	for i := range x.Points {
		p := &x.Points[i]
		if p.Event <= last || p.Event >= events || !p.Last.fit() || !p.End.fit() {
			return false
		}
		last = p.Event
	}
	for _, p := range []*TurningPoint{x.Rise, x.Certain, x.NoReturn} {
		if p != nil && (p.Event < 0 || p.Event >= events || !p.Last.fit() || !p.End.fit()) {
			return false
		}
	}
	return true
}

func (r *Reruns) fit() bool {
	return r != nil && 0 <= r.Violated && r.Violated <= r.Judged && r.Judged <= r.Runs
}

// before is the point before another; nil: there is none.
func (x *Explanation) before(p *TurningPoint) *TurningPoint {
	for i := range x.Points {
		if x.Points[i].Event == p.Event && i > 0 {
			return &x.Points[i-1]
		}
	}
	return nil
}

// earlier says how many violated it before a point, so that one sees how sharp the step is.
func (x *Explanation) earlier(p *TurningPoint, of func(*TurningPoint) *Reruns) string {
	if b := x.before(p); b != nil {
		return fmt.Sprintf("; one event earlier %s", of(b).words())
	}
	return ""
}

func last(p *TurningPoint) *Reruns { return p.Last }
func end(p *TurningPoint) *Reruns  { return p.End }

// least are the reruns of the smallest share from a point on.
func (x *Explanation) least(from *TurningPoint, of func(*TurningPoint) *Reruns) *Reruns {
	least := of(from)
	for i := range x.Points {
		if p := &x.Points[i]; p.Event >= from.Event && of(p).share() < least.share() {
			least = of(p)
		}
	}
	return least
}

// Moment is a line of an explanation: an event, what it is, and what that means.
type Moment struct {
	Point            *TurningPoint
	At, Event, Means string
	// Decisive: it is the point of no return.
	Decisive bool
}

// Moments say what an explanation found, in the order of time.
func (x *Explanation) Moments() (list []Moment) {
	line := func(p *TurningPoint, means string, decisive bool) {
		list = append(list, Moment{p, words.Seconds(time.Duration(p.At)), fmt.Sprintf("event %d", p.Event), means, decisive})
	}
	defer func() { slices.SortStableFunc(list, func(a, b Moment) int { return a.Point.Event - b.Point.Event }) }()
	beside := func(p *TurningPoint, of func(*TurningPoint) *Reruns) string {
		text := fmt.Sprintf("%s reruns violate %s", of(p).words(), x.Property)
		text += x.earlier(p, of)
		if least := x.least(p, of); least.share() < of(p).share() {
			text += fmt.Sprintf("; at each later event at least %s", least.words())
		}
		return text
	}
	certain, noReturn, seen := x.Certain, x.NoReturn, "Here the violation is seen."
	switch {
	case certain != nil && certain.Event == 0:
		line(certain, "No fault is needed: from the beginning "+beside(certain, last)+".", true)
	case certain != nil && x.isSeenBy(certain):
		seen += " Nothing was certain before: from here on " + beside(certain, last) + "."
	case certain != nil && noReturn != nil && certain.Event == noReturn.Event:
		line(noReturn, "Point of no return: from here on "+beside(noReturn, last)+". Ending the faults does not help.", true)
	default:
		if certain != nil {
			line(certain, "Certain if the faults last: from here on "+beside(certain, last)+".", noReturn == nil)
		}
		if noReturn != nil && x.isSeenBy(noReturn) {
			seen += " Until then an end of the faults could prevent it."
		} else if noReturn != nil {
			line(noReturn, "Point of no return: even if all faults end at this moment, "+beside(noReturn, end)+".", true)
		}
	}
	if x.Rise != nil {
		b, before := x.before(x.Rise), "0"
		if b != nil {
			before = b.Last.words()
		}
		line(x.Rise, fmt.Sprintf("The largest step: the share rises from %s to %s reruns.", before, x.Rise.Last.words()), false)
	}
	line(&x.Seen, seen, false)
	return list
}

// isSeenBy reports that the violation is there when an event happens.
func (x *Explanation) isSeenBy(p *TurningPoint) bool { return p.Event >= x.Seen.Event }

// Lead says it in one sentence.
func (x *Explanation) Lead() string {
	switch p := x.NoReturn; {
	case x.Certain != nil && x.Certain.Event == 0:
		return fmt.Sprintf("The lock violates %s without any fault: it was certain from the beginning.", x.Property)
	case x.Certain != nil && x.isSeenBy(x.Certain):
		return fmt.Sprintf("Nothing was certain before %s, when the violation was seen.", words.Seconds(time.Duration(x.Seen.At)))
	case p != nil && x.Certain != nil && x.Certain.Event < p.Event && x.isSeenBy(p):
		return fmt.Sprintf("From %s on (%s) it was certain unless the faults end.", words.Seconds(time.Duration(x.Certain.At)), x.Certain.What)
	case p != nil && x.Certain != nil && x.Certain.Event < p.Event:
		return fmt.Sprintf("From %s on (%s) it was certain unless the faults end; from %s on (%s) nothing helped any more.",
			words.Seconds(time.Duration(x.Certain.At)), x.Certain.What, words.Seconds(time.Duration(p.At)), p.What)
	case p != nil:
		return fmt.Sprintf("The point of no return is at %s: %s.", words.Seconds(time.Duration(p.At)), p.What)
	}
	return "It was a matter of chance to the last event."
}

// Basis says what that rests on.
func (x *Explanation) Basis() string {
	if x.NoReturn == nil && x.Certain == nil {
		return ""
	}
	var parts []string
	add := func(p *TurningPoint, how string, of func(*TurningPoint) *Reruns) {
		parts = append(parts, fmt.Sprintf("From %s on, %s reruns in which all faults %s violate %s%s.",
			words.Seconds(time.Duration(p.At)), of(p).words(), how, x.Property, x.earlier(p, of)))
	}
	certain, noReturn := x.Certain, x.NoReturn
	if certain != nil && (noReturn == nil || certain.Event < noReturn.Event) {
		add(certain, "lasted", last)
	}
	if noReturn != nil && (certain == nil || certain.Event >= noReturn.Event || !x.isSeenBy(noReturn)) {
		add(noReturn, "ended at that moment", end)
	}
	return "The run was made again as it was until then, and what follows was drawn anew. " + strings.Join(parts, " ")
}

// odds are what a picture shows of it.
func (x *Explanation) odds() *picture.Odds {
	o := &picture.Odds{Property: plain.Clip(string(x.Property), 40)}
	for i := range x.Points {
		p := &x.Points[i]
		o.Steps = append(o.Steps, picture.OddsStep{At: time.Duration(p.At), Event: p.Event, What: p.What,
			Last: p.Last.share(), End: p.End.share(), LastWords: p.Last.words(), EndWords: p.End.words()})
	}
	mark := func(p *TurningPoint) *picture.OddsMark {
		if p == nil {
			return nil
		}
		return &picture.OddsMark{At: time.Duration(p.At), Event: p.Event, What: p.What}
	}
	if x.Certain != nil {
		o.Nearly = x.least(x.Certain, last).share() < 1
	}
	if x.NoReturn != nil {
		o.NearlyLost = x.least(x.NoReturn, end).share() < 1
	}
	o.Rise, o.Certain, o.NoReturn = mark(x.Rise), mark(x.Certain), mark(x.NoReturn)
	return o
}

// WriteExplanation writes it for a person at a terminal.
func WriteExplanation(w io.Writer, x *Explanation, o terminal.Options) error {
	p := terminal.New(o)
	p.Print(p.Paint(terminal.Strong, plain.Text(x.Scenario)), p.Paint(terminal.Faint, fmt.Sprintf("   %s   %s   seed %d   %s, %s",
		plain.Text(x.Variant), x.Property, x.Seed, words.Count(x.Events, "event"), words.Count(x.Reruns, "rerun"))), "\n\n")
	for _, m := range x.Moments() {
		tone := terminal.Faint
		if m.Decisive {
			tone = terminal.Bad
		}
		p.Print("  ", terminal.Pad(m.At, 10), terminal.Pad(m.Event, 11), p.Paint(terminal.Strong, plain.Text(m.Point.What)), "\n")
		for _, text := range terminal.Wrap(plain.Text(m.Means), p.Width-23) {
			p.Print(strings.Repeat(" ", 23), p.Paint(tone, text), "\n")
		}
	}
	x.curves(p)
	planned := fmt.Sprintf("With other seeds and all faults as planned, %s runs violate it.", x.Planned.words())
	for _, text := range terminal.Wrap(planned, p.Width-2) {
		p.Print("  ", text, "\n")
	}
	return p.WriteAll(w)
}

// levels draw a share, from none to all.
var levels = []rune("·▁▂▃▄▅▆▇█")

// curves draw how many reruns violate the property over the time of the run, a column for each share of it.
func (x *Explanation) curves(p *terminal.Printer) {
	const label, least = 15, 20
	width := min(p.Width-label-6, 72)
	if len(x.Points) < 2 || width < least {
		return
	}
	until := x.Points[len(x.Points)-1].At
	marks := levels
	if !p.Unicode {
		marks = []rune(".12345678#")
	}
	row := func(name string, of func(*TurningPoint) *Reruns) {
		var line strings.Builder
		at := 0
		for column := range width {
			for at+1 < len(x.Points) && x.Points[at+1].At*int64(width) <= until*int64(column+1) {
				at++
			}
			share := of(&x.Points[at]).share()
			level := int(share * float64(len(marks)-1))
			if share > 0 {
				level = max(level, 1)
			}
			line.WriteRune(marks[level])
		}
		p.Print("  ", terminal.Pad(name, label), line.String(), "\n")
	}
	what := fmt.Sprintf("How many reruns violate it, from each moment on (%c none, %c all):", marks[0], marks[len(marks)-1])
	p.Print("\n  ", p.Paint(terminal.Faint, what), "\n")
	row("faults last", last)
	row("faults end", end)
	over := words.Seconds(time.Duration(until))
	p.Print("  ", strings.Repeat(" ", label), p.Paint(terminal.Faint, terminal.Pad("0 s", width-len(over))+over), "\n\n")
}
