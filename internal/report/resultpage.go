package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report/page"
	"github.com/redlock-sim/redlock-sim/internal/report/picture"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// resultPage is a result as the HTML shows it.
type resultPage struct {
	*Result
	Heading string
	Badge   page.Badge
	// Unmet says first what is not as expected, Surprises are these verdicts. Lead says the outcome of each variant in a sentence,
	// Difference what sets the variants apart.
	Unmet            string
	Surprises        []surprise
	MoreSurprises    int
	Lead, Difference string
	Facts            []string
	// LockFacts are those of the lock program that all variants have.
	LockFacts   []string
	Views       []variantView
	Properties  []propertyGroup
	Limits      []string
	Replays     []replayLine
	VersionList [][2]string
	HasStory    bool
	HasCause    bool
	// InPlace names the lock program that was put in the place of the scenario's own lock;
	// empty: there is none.
	InPlace     string
	HasPicture  bool
	HasHistory  bool
	HasExamples bool
	HasFaults   bool
	HasCost     bool
	// What the picture of a history of another tool has, for its legend.
	HasFailed, HasUnknown, HasFrames bool
	// HasLed: some picture shows which node served as the primary.
	HasLed bool
	// HasWatched: some picture shows what sentinels, or nodes of a cluster, saw.
	HasWatched bool
}

// variantView is a variant as the HTML shows it.
type variantView struct {
	*Variant
	ID    string
	Badge page.Badge
	// TriesNote says which of several tries is shown.
	TriesNote string
	// LockFacts are those of its lock program, where others have another.
	LockFacts []string
	Logs      []logLink
	Quotes    []quote
	Chips     []chip
	Story     *storyView
	Cause     *causeView
	Tables    []exampleView
	CostRows  []CostRow
	picture.Drawn
	Rows []row
	// Rest are the events without a row, packed.
	Rest string
	// RowNote says which part of the history the rows are.
	RowNote string
	// whole says where the whole history is.
	whole   string
	subject *picture.Subject
	// untimed: nobody knows when things happened.
	untimed bool
	// shown are the events that have a row.
	shown map[int]bool
}

// chip is one property's verdict beside its expectation.
type chip struct {
	Name   checker.Property
	Badge  page.Badge
	Beside string
	Link   string
	Loud   bool
}

// surprise is a verdict that is not as expected.
type surprise struct {
	*PropertyResult
	Variant, Link string
}

// ExpectedWord is the verdict that was expected.
func (s surprise) ExpectedWord() string { return ExpectedWord(s.Expected) }

type storyView struct {
	Property  checker.Property
	Sentences []sentenceView
	// Decisive: one of them at least is.
	Decisive bool
	More     int
}

// causeView says what broke, by which faults, and which assumption failed.
type causeView struct {
	Property   checker.Property
	Beside     string
	Loud       bool
	At, Link   string
	Broke      string
	Faults     []string
	Assumption string
	// Mistakes are those that are switched on in the lock, as "value: constant".
	Mistakes []string
	// Promise says what the lock program promises, as it was judged; empty for a built-in lock.
	Promise string
}

type sentenceView struct {
	At, Text, Link string
	Decisive       bool
}

// exampleView is a counterexample as a table.
type exampleView struct {
	Property   checker.Property
	Badge      page.Badge
	Operations []exampleRow
	Shrunk     string
	Impossible string
	Link       string
}

type exampleRow struct {
	checker.CounterOp
	From, To string
	Links    []eventLink
}

type eventLink struct {
	Index int
	Link  string
}

// propertyGroup is a property in all variants.
type propertyGroup struct {
	Name     checker.Property
	ID       string
	Words    string
	Observed []observed
}

type observed struct {
	*PropertyResult
	Variant string
	Badge   page.Badge
	Allowed string
	Chances string
	Links   []eventLink
}

func newPage(r *Result) *resultPage {
	p := &resultPage{Result: r, Heading: r.Title, Badge: outcomeBadge(outcomeOf(r))}
	if p.Heading == "" {
		p.Heading = r.Scenario
	}
	if p.Heading == "" {
		p.Heading = "A run without a name"
	}
	p.Facts = facts(r)
	shared := sharedLock(r)
	if shared != nil {
		p.LockFacts = shared.Facts()
	}
	p.Views = make([]variantView, len(r.Variants))
	for i := range r.Variants {
		p.Views[i] = newVariantView(i, &r.Variants[i])
		p.Views[i].whole = fmt.Sprintf("The run's folder has all of them, in %s/history.jsonl.", r.Variants[i].Name)
		if r.Checked != "" {
			p.Views[i].whole = fmt.Sprintf("%s has all of them.", r.Checked)
		}
		if l := r.Variants[i].Lock; l != nil {
			p.Views[i].Logs, p.Views[i].Quotes = l.logLinks(), p.Views[i].quotes()
			if shared == nil {
				p.Views[i].LockFacts = l.Facts()
			}
		}
	}
	slices.SortStableFunc(p.Views, func(x, y variantView) int { return y.urgency() - x.urgency() })
	p.draw()
	tellAll(p.Views)
	for i := range p.Views {
		p.seeParts(&p.Views[i])
	}
	p.Surprises = p.surprises()
	p.Unmet = unmetSentence(p.Surprises, len(r.Variants))
	p.MoreSurprises = max(0, len(p.Surprises)-mostSurprises)
	p.Surprises = p.Surprises[:len(p.Surprises)-p.MoreSurprises]
	inOrder := make([]*Variant, len(p.Views))
	for i := range p.Views {
		inOrder[i] = p.Views[i].Variant
	}
	p.Lead, p.Difference = leadSentence(inOrder), difference(r)
	p.Properties = groups(p.Views)
	p.Limits, p.Replays = limits(r), replays(r)
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		p.VersionList = append(p.VersionList, [2]string{name, r.Versions[name]})
	}
	return p
}

// draw draws the pictures of all variants.
func (p *resultPage) draw() {
	if p.Imported {
		for i := range p.Views {
			v := &p.Views[i]
			v.untimed = v.History != nil && !picture.Timed(v.History)
			v.Pic = picture.DrawOperations(v.subject, v.told())
		}
		return
	}
	subjects := make([]*picture.Subject, len(p.Views))
	for i := range p.Views {
		subjects[i] = p.Views[i].subject
	}
	for i, drawn := range picture.DrawAll(subjects) {
		p.Views[i].Drawn = drawn
	}
}

// seeParts notes which parts a variant has: the page has a part if one of its variants does.
func (p *resultPage) seeParts(v *variantView) {
	p.HasStory = p.HasStory || v.Story != nil
	p.HasCause = p.HasCause || v.Cause != nil
	if l := v.Lock; l != nil && l.InPlace {
		p.InPlace = l.Name
	}
	if pic := v.Pic; pic != nil {
		p.HasPicture = true
		p.HasLed, p.HasWatched = p.HasLed || pic.Led, p.HasWatched || pic.Watched
		p.HasFailed, p.HasUnknown, p.HasFrames = p.HasFailed || pic.HasFailed, p.HasUnknown || pic.HasUnknown, p.HasFrames || pic.HasFrames
	}
	p.HasHistory = p.HasHistory || len(v.Rows) > 0
	p.HasExamples = p.HasExamples || len(v.Tables) > 0
	p.HasFaults = p.HasFaults || len(v.Faults) > 0
	p.HasCost = p.HasCost || len(v.CostRows) > 0
}

func newVariantView(i int, v *Variant) variantView {
	view := variantView{Variant: v, ID: fmt.Sprintf("v%d", i+1),
		Badge: outcomeBadge(variantOutcome(v)), TriesNote: words.Sentence(v.triesWords()), CostRows: CostRows(v.Cost)}
	view.subject = v.Subject()
	view.subject.ID = view.ID
	for _, p := range v.Properties {
		view.Chips = append(view.Chips, chip{Name: p.Name, Badge: verdictBadge(p.Verdict),
			Beside: strings.TrimSuffix(expectationWords(&p)+", "+p.triedWords(), ", "), Link: fmt.Sprintf("#p%d", propertyID(p.Name)), Loud: !p.Met})
	}
	return view
}

// facts are the head's small print.
func facts(r *Result) []string {
	var list []string
	if r.Title != "" && r.Scenario != "" {
		list = append(list, r.Scenario)
	}
	switch real := r.realInVirtualTime(); {
	case real != "":
		list = append(list, real)
	case r.World == "virtual":
		list = append(list, "virtual world")
	case r.Nodes != "":
		list = append(list, "live world, "+r.Nodes+" nodes")
	case r.World != "":
		list = append(list, r.World+" world")
	}
	list = append(list, r.Facts...)
	if !r.Imported {
		list = append(list, fmt.Sprintf("seed %d", r.Seed))
	}
	if t, err := time.Parse(time.RFC3339, r.Started); err == nil {
		list = append(list, t.UTC().Format("2 January 2006, 15:04:05 UTC"))
	} else if r.Started != "" {
		list = append(list, r.Started)
	}
	if r.WallMS > 0 {
		list = append(list, "took "+words.Length(time.Duration(r.WallMS)*time.Millisecond))
	}
	return list
}

func outcomeBadge(o outcome) page.Badge {
	switch o {
	case failed:
		return page.Badge{Class: "unsafe", Icon: "!", Word: "Could not run"}
	case interrupted:
		return page.Badge{Class: "undecided", Icon: "‖", Word: "Interrupted"}
	case unexpected:
		return page.Badge{Class: "unsafe", Icon: "✗", Word: "Not as expected"}
	case undecided:
		return page.Badge{Class: "undecided", Icon: "?", Word: "Undecided"}
	case nothingExpected:
		return page.Badge{Class: "undecided", Icon: "–", Word: "Nothing expected"}
	case notApplicable:
		return page.Badge{Class: "aside", Icon: "–", Word: "Not applicable"}
	case asExpected:
		return page.Badge{Class: "safe", Icon: "✓", Word: "As expected"}
	}
	panic("report: an outcome without a badge")
}

func verdictBadge(v checker.Verdict) page.Badge {
	switch v {
	case checker.Holds:
		return page.Badge{Class: "safe", Icon: "✓", Word: "holds"}
	case checker.Violated:
		return page.Badge{Class: "unsafe", Icon: "✗", Word: "violated"}
	}
	return page.Badge{Class: "undecided", Icon: "?", Word: "unknown"}
}

// Badge shows the verdict.
func (p *PropertyResult) Badge() page.Badge { return verdictBadge(p.Verdict) }

// propertyID numbers the properties for anchors: a name is not fit to be one.
func propertyID(name checker.Property) int {
	return slices.Index(checker.Properties(), name) + 1
}

// urgency orders variants: what is not as expected comes first, then what could not be told.
func (v *variantView) urgency() int {
	switch o := variantOutcome(v.Variant); {
	case o == unexpected:
		return 2
	case o > unexpected || o == undecided:
		return 1
	}
	return 0
}

// surprises are the verdicts that are not as expected: those that were reached, then those that were not.
func (p *resultPage) surprises() (list []surprise) {
	for _, reached := range []bool{true, false} {
		for i := range p.Views {
			v := &p.Views[i]
			for j := range v.Properties {
				if one := &v.Properties[j]; !one.Met && isUnexpected(one) == reached {
					link := ""
					if n := propertyID(one.Name); n > 0 {
						link = fmt.Sprintf("#p%d", n)
					}
					list = append(list, surprise{one, v.Name, link})
				}
			}
		}
	}
	return list
}

// unmetSentence says what is not as expected: "linearizable-resource is not as expected, in fenced."; empty: all is.
func unmetSentence(list []surprise, variants int) string {
	var properties, of []string
	wrong := 0
	for _, s := range list {
		if isUnexpected(s.PropertyResult) {
			wrong++
		}
	}
	for _, s := range list {
		if wrong > 0 && !isUnexpected(s.PropertyResult) {
			continue
		}
		if !slices.Contains(properties, string(s.Name)) {
			properties = append(properties, string(s.Name))
		}
		if !slices.Contains(of, s.Variant) {
			of = append(of, s.Variant)
		}
	}
	if len(properties) == 0 {
		return ""
	}
	text, verb := words.List(properties), "are"
	if len(properties) > mostNamed {
		text = words.Count(len(properties), "property")
	} else if len(properties) == 1 {
		verb = "is"
	}
	if wrong > 0 {
		text += " " + verb + " not as expected"
	} else {
		text += " " + verb + " undecided"
	}
	if variants > 1 {
		if len(of) > mostNamed {
			text += fmt.Sprintf(", in %d of %d variants", len(of), variants)
		} else {
			text += ", in " + words.List(of)
		}
	}
	return text + "."
}

// mostNamed is how many properties or variants a sentence names at most, mostSurprises how many verdicts stand on top of a page. More
// are counted.
const (
	mostNamed     = 3
	mostSurprises = 10
)

// leadSentence says each variant's outcome: "unfenced violates 3 of 4
// properties, as expected; fenced violates 1 of 5; 4 expectations met."
func leadSentence(variants []*Variant) string {
	var parts []string
	for _, v := range variants {
		parts = append(parts, v.Name+" "+leadWords(v))
	}
	if len(parts) == 0 {
		return "No variant was run."
	}
	return strings.Join(parts, "; ") + "."
}

// leadWords say what came of a variant.
func leadWords(v *Variant) string {
	violated, known, asked := 0, 0, 0
	for j := range v.Properties {
		if v.Properties[j].Expected != 0 {
			asked++
		}
		if decided(v.Properties[j].Verdict) {
			known++
		}
		if v.Properties[j].Verdict == checker.Violated {
			violated++
		}
	}
	var text string
	switch total := len(v.Properties); {
	case v.NotApplicable != "":
		text = "does not apply"
	case v.Error != "":
		text = "could not be run"
	case v.Doubt() != "" && known == 0:
		text = "could not be decided (" + v.Doubt() + ")"
	case total == 0:
		text = "was not judged"
	case known == 0:
		text = "could not be decided"
		if why := v.Properties[0].Why; why != "" {
			text += " (" + why + ")"
		}
	case violated == 0 && known == total:
		text = "keeps all of its " + words.Count(total, "property")
		if total == 1 {
			text = "keeps its one property"
		}
	case violated == 0:
		text = fmt.Sprintf("keeps %d of %s; the others are undecided", known, words.Count(total, "property"))
	default:
		text = fmt.Sprintf("violates %d of %s", violated, words.Count(total, "property"))
	}
	if v.Error != "" || len(v.Properties) == 0 {
		return text
	}
	o := variantOutcome(v)
	if o == asExpected && asked < len(v.Properties) {
		return text + fmt.Sprintf("; %s met", words.Count(asked, "expectation"))
	}
	if o == unexpected {
		return text + "; " + words.Count(v.countUnexpected(), "verdict") + " not as expected"
	}
	return text + besideLead[o]
}

// countUnexpected is how many verdicts are not the expected ones.
func (v *Variant) countUnexpected() (n int) {
	for i := range v.Properties {
		if isUnexpected(&v.Properties[i]) {
			n++
		}
	}
	return n
}

// besideLead says behind what came of a variant whether that was expected.
var besideLead = map[outcome]string{nothingExpected: "; nothing was expected", asExpected: ", as expected",
	interrupted: "; it was stopped early"}

// difference says what sets the variants apart. That a fence stops the bad
// write and not the double holding is what readers most often get wrong, so it
// is said where it is seen.
func difference(r *Result) string {
	if len(r.Variants) < 2 {
		return ""
	}
	verdicts := map[checker.Property][]checker.Verdict{}
	for i := range r.Variants {
		for _, p := range r.Variants[i].Properties {
			verdicts[p.Name] = append(verdicts[p.Name], p.Verdict)
		}
	}
	var differ, same []string
	byDistance := func(p, q checker.Property) int { return p.Distance() - q.Distance() }
	for _, name := range slices.SortedFunc(slices.Values(checker.Properties()), byDistance) {
		list := verdicts[name]
		if len(list) < len(r.Variants) {
			continue
		}
		if len(slices.Compact(slices.Clone(list))) > 1 {
			differ = append(differ, string(name))
		} else if list[0] == checker.Violated {
			same = append(same, string(name))
		}
	}
	var text string
	switch {
	case len(differ) == 0 && len(same) == 0:
		return ""
	case len(differ) == 0:
		text = "The variants do not differ: all of them violate " + words.List(same) + "."
	default:
		text = "The variants differ in " + words.List(differ)
		if len(same) > 0 {
			text += "; all of them violate " + words.List(same)
		}
		text += "."
	}
	if slices.Contains(same, string(checker.ExclusiveBelief)) &&
		(slices.Contains(differ, string(checker.NoLateEffect)) || slices.Contains(differ, string(checker.LinearizableResource))) {
		text += " What changed is the effect on the resource: two clients still held the lock at once."
	}
	return text
}

// groups puts each property's verdicts in all variants together.
func groups(views []variantView) []propertyGroup {
	var list []propertyGroup
	place := map[checker.Property]int{}
	for i := range views {
		v := &views[i]
		for _, p := range v.Properties {
			at, ok := place[p.Name]
			if !ok {
				at = len(list)
				place[p.Name] = at
				g := propertyGroup{Name: p.Name, Words: words.Sentence(p.Name.Title())}
				if n := propertyID(p.Name); n > 0 {
					g.ID = fmt.Sprintf("p%d", n)
				}
				list = append(list, g)
			}
			allowed := "anything"
			if p.ByDesign {
				allowed = "anything: not demanded of its class"
			} else if p.Expected != 0 {
				allowed = verdictWord(p.Expected)
			}
			list[at].Observed = append(list[at].Observed, observed{PropertyResult: &p, Variant: v.Name,
				Badge: verdictBadge(p.Verdict), Allowed: allowed, Chances: chances(&p), Links: v.links(p.Events, 6)})
		}
	}
	return list
}

// chances says how hard a property was tried.
func chances(p *PropertyResult) string {
	text := words.Count(p.Effort.Operations, "operation")
	if p.Effort.Of != "operations" {
		text = fmt.Sprintf("%s %s, %s", words.Grouped(p.Effort.Chances), p.Effort.What(), text)
	}
	if p.Effort.Faults > 0 {
		text += ", " + words.Count(p.Effort.Faults, "fault")
	}
	return text
}

// isLoud: a reader of the suite must see it.
func isLoud(o outcome) bool { return o != asExpected && o != notApplicable }

// AsExpected reports that a reader of a suite need not look at a result.
func AsExpected(r *Result) bool { return !isLoud(outcomeOf(r)) }

// Outcome says what a result amounts to: a class of the stylesheet, an icon and
// a word.
func Outcome(r *Result) (class, icon, word string) {
	b := outcomeBadge(outcomeOf(r))
	return b.Class, b.Icon, b.Word
}
