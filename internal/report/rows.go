package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report/picture"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Bounds of what is told in tables: a page is read, a history file is searched.
const (
	allRows          = 160
	minRows          = 40
	maxPacked        = 50_000
	packedRoom       = 290_000 // bytes, with the shapes of the pictures
	maxSentences     = 12
	maxExampleEvents = 8
	maxExampleOps    = 40
	maxValueRunes    = 160
)

// row is an event in the history table.
type row struct {
	ID           string
	Index        int
	Nanoseconds  int64
	At, Process  string
	Type, F      string
	Value, Error string
	// Told: the page speaks of this event.
	Told bool
	// Gap rows stand for the events from From to before To, as Missing says.
	Gap      bool
	From, To int
	Missing  string
}

// tellAll fills in stories, counterexamples and history tables. Whatever one
// of them links to is in the history table.
func tellAll(views []variantView) {
	share := max(minRows, allRows/max(1, len(views)))
	room := packedRoom
	for i := range views {
		if p := views[i].Pic; p != nil {
			room -= len(p.Far)
		}
	}
	for i := range views {
		v := &views[i]
		told := v.told()
		v.rows(told, share)
		v.rest(room / len(views))
		if lead := leadOf(v.Variant); lead != nil {
			v.Story = v.storyOf(lead)
		}
		v.Cause = v.causeOf(v.Pictured())
		for j := range v.Properties {
			if p := &v.Properties[j]; p.Counterexample != nil && len(p.Counterexample.Operations) > 0 {
				v.Tables = append(v.Tables, v.example(p))
			}
		}
	}
}

// told marks the events that the page speaks of.
func (v *variantView) told() map[int]bool {
	told := map[int]bool{}
	mark := func(list []int, n int) {
		for _, i := range list[:min(n, len(list))] {
			told[i] = true
		}
	}
	for _, p := range v.Properties {
		mark(p.Events, maxExampleEvents)
		c := p.Counterexample
		if c == nil {
			continue
		}
		told[c.Impossible] = true
		for j := range c.Story[:min(len(c.Story), maxSentences)] {
			told[c.Story[j].Event] = true
		}
		for j := range c.Operations[:min(len(c.Operations), maxExampleOps)] {
			mark(c.Operations[j].Events, maxExampleEvents)
		}
	}
	for i := range v.Faults {
		mark(v.Faults[i].Events, maxExampleEvents)
	}
	return told
}

// rows chooses the events of the table: those the page speaks of, phases and
// faults, and then those around them, up to share.
func (v *variantView) rows(told map[int]bool, share int) {
	if v.History == nil {
		return
	}
	events := v.History.Events
	chosen := map[int]bool{}
	for i := range told {
		if i >= 0 && i < len(events) {
			chosen[i] = true
		}
	}
	for i := range events {
		if f := events[i].F; len(chosen) < share && (f == history.Phase || f == history.FaultBegin || f == history.FaultEnd) {
			chosen[i] = true
		}
	}
	first := 0
	if v.Pic != nil {
		first, _ = slices.BinarySearchFunc(events, time.Duration(v.Pic.From), func(e history.Event, t time.Duration) int {
			return int(e.Time - t)
		})
	}
	for i := first; i < len(events) && len(chosen) < share; i++ {
		chosen[i] = true
	}
	for i := first - 1; i >= 0 && len(chosen) < share; i-- {
		chosen[i] = true
	}
	v.shown = chosen
	last := -1
	for _, i := range slices.Sorted(maps.Keys(chosen)) {
		v.gap(last+1, i)
		v.Rows = append(v.Rows, v.row(i, told[i]))
		last = i
	}
	if last >= 0 {
		v.gap(last+1, len(events))
	}
	v.RowNote = fmt.Sprintf("All %s.", words.Count(len(events), "event"))
	if len(chosen) < len(events) {
		v.RowNote = fmt.Sprintf("%s of %s: those that this page refers to, and those around them. %s",
			words.Grouped(len(chosen)), words.Count(len(events), "event"), v.whole)
	}
}

// gap stands for the events from to before to.
func (v *variantView) gap(from, to int) {
	if to > from {
		v.Rows = append(v.Rows, row{Gap: true, From: from, To: to, Missing: words.Count(to-from, "event") + " not shown"})
	}
}

// rest packs the events without a row into at most room bytes; if they are too many, those around the
// violation. The cells of a column stand together, a line each, and the columns one after another. An index is left
// out where it follows the one before, and times are µs since then.
func (v *variantView) rest(room int) {
	if v.History == nil || len(v.shown) == len(v.History.Events) {
		return
	}
	total := len(v.History.Events)
	core, _ := slices.BinarySearchFunc(v.History.Events, v.subject.Core(), func(e history.Event, t time.Duration) int {
		return cmp.Compare(e.Time, t)
	})
	for n := min(total, maxPacked); n > 0; n = min(n*4/5, n*room/len(v.Rest)) {
		first := max(0, min(core-n/2, total-n))
		if v.Rest = picture.Packed(plain.HTML(v.columns(first, first+n))); len(v.Rest) <= room {
			if n < total {
				v.RowNote += fmt.Sprintf(" The filter looks at %s around the violation.", words.Count(n, "event"))
			}
			return
		}
	}
	v.Rest = ""
	v.RowNote += " The filter looks at those shown here alone."
}

func (v *variantView) columns(first, end int) []byte {
	const columns = 7
	var texts [columns][]byte
	last, before := -1, int64(0)
	for i := first; i < end; i++ {
		if v.shown[i] {
			continue
		}
		r := v.row(i, false)
		index, micros := "", fmt.Sprint(r.Nanoseconds/1000-before)
		if i != last+1 {
			index = fmt.Sprint(i)
		}
		if last, before = i, r.Nanoseconds/1000; v.untimed {
			micros = ""
		}
		for j, cell := range [columns]string{index, micros, r.Process, r.Type, r.F, r.Value, r.Error} {
			texts[j] = append(texts[j], strings.Join(strings.Fields(cell), " ")+"\n"...)
		}
	}
	return slices.Concat(texts[:]...)
}

func (v *variantView) row(i int, told bool) row {
	e := &v.History.Events[i]
	at := fmt.Sprintf("%.6f", e.Time.Seconds())
	if v.untimed {
		at = ""
	}
	return row{ID: fmt.Sprintf("%s-e%d", v.ID, i), Index: i, Nanoseconds: int64(e.Time), At: at, Process: e.Process,
		Type: e.Type.String(), F: string(e.F), Value: plain.Clip(valueWords(&e.Value), maxValueRunes),
		Error: plain.Clip(e.Error.String(), maxValueRunes), Told: told}
}

// link is where an event is shown; "" where it is not.
func (v *variantView) link(event int) string {
	if v.History == nil || event < 0 || event >= len(v.History.Events) {
		return ""
	}
	if !v.shown[event] {
		return ""
	}
	return fmt.Sprintf("#%s-e%d", v.ID, event)
}

func (v *variantView) links(events []int, limit int) []eventLink {
	var list []eventLink
	for _, i := range events[:min(limit, len(events))] {
		if l := v.link(i); l != "" {
			list = append(list, eventLink{i, l})
		}
	}
	return list
}

// when writes a time, where it is known.
func (v *variantView) when(t time.Duration) string {
	if v.untimed || t < 0 {
		return ""
	}
	return words.Seconds(t)
}

// SeenAt is the event by which the violation was seen; -1: it is not known.
func (p *PropertyResult) SeenAt() int {
	switch c := p.Counterexample; {
	case c != nil && c.Impossible >= 0:
		return c.Impossible
	case len(p.Events) > 0:
		return slices.Max(p.Events)
	}
	return -1
}

// causeOf says what broke a property, as far as its story tells.
func (v *variantView) causeOf(p *PropertyResult) *causeView {
	if p == nil || p.Verdict != checker.Violated {
		return nil
	}
	c := &causeView{Property: p.Name, Broke: p.Why, Beside: expectationWords(p), Loud: !p.Met}
	if v.Lock != nil {
		c.Promise = v.Lock.Promise
	}
	for _, s := range v.Settings {
		if mistake, ok := strings.CutPrefix(s, "lock.switches."); ok {
			c.Mistakes = append(c.Mistakes, mistake)
		}
	}
	example, moment := p.Counterexample, p.SeenAt()
	if v.hasEvent(moment) {
		c.At = v.when(v.History.Events[moment].Time)
		c.Link = v.link(moment)
	}
	if example == nil {
		return c
	}
	c.Assumption = example.Assumption
	for _, s := range example.Story {
		if slices.ContainsFunc(v.Faults, func(f FaultResult) bool { return slices.Contains(f.Events, s.Event) }) {
			c.Faults = append(c.Faults, s.Text)
		}
	}
	return c
}

// hasEvent reports that the history is there, and has such an event.
func (v *variantView) hasEvent(i int) bool {
	return v.History != nil && i >= 0 && i < len(v.History.Events)
}

func (v *variantView) storyOf(lead *PropertyResult) *storyView {
	c := lead.Counterexample
	s := &storyView{Property: lead.Name}
	for i, t := range c.Story {
		if i == maxSentences {
			s.More = len(c.Story) - maxSentences
			break
		}
		s.Sentences = append(s.Sentences, sentenceView{v.when(t.At), t.Text, v.link(t.Event), t.Decisive})
		s.Decisive = s.Decisive || t.Decisive
	}
	return s
}

func (v *variantView) example(p *PropertyResult) exampleView {
	c := p.Counterexample
	t := exampleView{Property: p.Name, Badge: verdictBadge(p.Verdict)}
	for i := range c.Operations[:min(len(c.Operations), maxExampleOps)] {
		o := c.Operations[i]
		r := exampleRow{CounterOp: o, From: v.when(o.From), To: "no end", Links: v.links(o.Events, maxExampleEvents)}
		if o.To >= 0 || r.From == "" {
			r.To = v.when(o.To)
		}
		t.Operations = append(t.Operations, r)
	}
	verb := "are"
	if len(c.Operations) == 1 {
		verb = "is"
	}
	t.Shrunk = fmt.Sprintf("%s of %s %s enough to show it",
		words.Grouped(len(c.Operations)), words.Count(max(c.From, len(c.Operations)), "operation"), verb)
	if n := len(c.Operations) - len(t.Operations); n > 0 {
		t.Shrunk += fmt.Sprintf("; %s more not shown", words.Grouped(n))
	}
	if v.History != nil && c.Impossible >= 0 && c.Impossible < len(v.History.Events) {
		t.Impossible, t.Link = words.Seconds(v.History.Events[c.Impossible].Time), v.link(c.Impossible)
	}
	return t
}

// valueWords writes what an event knows as "name value" pairs.
func valueWords(v *history.Value) string {
	var parts []string
	text := func(name, s string) {
		if s != "" {
			parts = append(parts, strings.TrimSpace(name+" "+s))
		}
	}
	number := func(name string, i history.Int) {
		if i.IsSet() {
			parts = append(parts, name+" "+i.String())
		}
	}
	length := func(name string, i history.Int) {
		if i.IsSet() {
			parts = append(parts, name+" "+words.Length(time.Duration(i.V())))
		}
	}
	when := func(name string, i history.Int) {
		if i.IsSet() {
			parts = append(parts, name+" "+words.Seconds(time.Duration(i.V())))
		}
	}
	text("", v.Point())
	text("", strings.TrimSpace(v.Fault()+" "+v.Target()))
	text("lock", v.Lock())
	text("op", string(v.Op()))
	text("client", v.Client)
	number("number", v.Number)
	number("expected", v.Expected())
	if v.List() != nil {
		parts = append(parts, fmt.Sprint("list ", v.List()))
	}
	number("token", v.Token)
	number("highest", v.Highest())
	if v.Accepted().Set {
		parts = append(parts, map[bool]string{true: "accepted", false: "refused"}[v.Accepted().V])
	}
	text("owner", v.Owner)
	text("key", v.Key)
	if len(v.Nodes()) > 0 {
		parts = append(parts, "nodes "+strings.Join(v.Nodes(), " "))
	}
	length("validity", v.Validity())
	when("valid until", v.ValidUntil())
	length("ttl", v.TTL())
	when("at", v.At())
	length("planned", v.Planned())
	length("took", v.Took())
	if v.Section > 0 {
		parts = append(parts, fmt.Sprint("section ", v.Section))
	}
	text("", v.Detail())
	if c := v.Command(); c != nil {
		text("", c.Name+" to "+c.Node)
		parts = append(parts, fmt.Sprint("connection ", c.Connection), "left "+words.Seconds(time.Duration(c.Left)))
		when("answered", c.Answered)
	}
	if u := v.Unread(); u != nil {
		text("to", u.Node)
	}
	return strings.Join(parts, ", ")
}
