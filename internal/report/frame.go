package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/report/swimlane"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// drawAll draws the variants' pictures on one scale. Where their violations lie
// near one another they share the same stretch of time; where they do not,
// each has its own stretch of the same length.
func drawAll(views []variantView) {
	scenes := make([]*swimlane.Scene, len(views))
	var seen []int // the views that have something to be drawn
	var end time.Duration
	for i := range views {
		if h := views[i].History; h != nil && len(h.Events) > 0 {
			seen, end = append(seen, i), max(end, h.End())
		}
	}
	foci := fociOf(views)
	spans := make([]swimlane.Span, len(views))
	var length, room time.Duration
	for _, i := range seen {
		spans[i] = swimlane.Frame(views[i].History, end, foci[i], coreOf(views[i].Variant), maxViewEvents/len(seen))
		length = max(length, spans[i].Length())
	}
	for _, i := range seen {
		if spans[i].From+length >= views[i].History.End() {
			// What happens last must not stick to the edge. All get the room, or
			// their scales would differ.
			room = length / 60
		}
	}
	for _, i := range seen {
		spans[i].To = spans[i].From + length + room
		scenes[i] = swimlane.BuildFor(views[i].History, spans[i], maxThings/len(seen))
		drawOne(&views[i], scenes[i], spans[i], len(seen))
	}
	drawDetails(views, scenes, length+room)
}

// drawDetails draws overlaps that are too short to be seen once more, larger. A
// second holder's section often takes but milliseconds of the seconds that the
// story needs. All details have one scale, too.
func drawDetails(views []variantView, scenes []*swimlane.Scene, view time.Duration) {
	longest := time.Duration(0)
	for i := range views {
		if scenes[i] == nil {
			continue
		}
		if list := overlapsOf(views[i].Variant); len(list) > 0 && list[0].Length()*25 < view {
			longest = max(longest, list[0].Length())
		}
	}
	for i := range views {
		v := &views[i]
		if scenes[i] == nil || longest == 0 {
			continue
		}
		list := overlapsOf(v.Variant)
		if len(list) == 0 || list[0].Length() > longest {
			continue
		}
		room := (longest*5/2 - list[0].Length()) / 2
		span := swimlane.Span{From: list[0].From - room, To: list[0].To + room}
		v.Detail = draw(v.ID+"d", scenes[i], span, list, len(views))
		v.Detail.keepInView()
		v.Detail.Class = "detail"
		v.Detail.Summary = summary(v.Variant, scenes[i], span)
		v.DetailName = fmt.Sprintf("the overlap, %s to %s, %s times as large", words.Seconds(span.From), words.Seconds(span.To),
			words.Grouped(int(view/max(1, span.Length()))))
	}
}

// keepInView leaves what is in view at first, for a picture that does not move.
func (p *picture) keepInView() {
	p.Lo, p.Hi = p.From, p.To
	for _, l := range p.Lanes {
		l.Shapes = slices.DeleteFunc(l.Shapes, func(s shape) bool { return s.Far || s.A > p.To || s.B < p.From })
	}
}

// fociOf is where each variant's picture is to look. A variant without a
// violation looks where the first one that has one looks.
func fociOf(views []variantView) []swimlane.Span {
	foci := make([]swimlane.Span, len(views))
	var union, lead swimlane.Span
	longest := time.Duration(0)
	for i := range views {
		f := focusOf(views[i].Variant)
		foci[i] = f
		if f == (swimlane.Span{}) {
			continue
		}
		longest = max(longest, f.Length())
		if lead == (swimlane.Span{}) {
			union, lead = f, f
		}
		union = swimlane.Span{From: min(union.From, f.From), To: max(union.To, f.To)}
	}
	for i := range foci {
		switch {
		case union.Length() <= 2*longest:
			foci[i] = union
		case foci[i] == (swimlane.Span{}):
			foci[i] = lead
		default:
			foci[i].To = foci[i].From + longest
		}
	}
	return foci
}

func drawOne(v *variantView, scene *swimlane.Scene, view swimlane.Span, pictures int) {
	v.paint(scene, view, "client", pictures, func() *picture { return draw(v.ID, scene, view, overlapsOf(v.Variant), pictures) })
	v.Pic.Summary = summary(v.Variant, scene, view)
	if !scene.KeysSeen {
		v.Pic.Notes = append(v.Pic.Notes, "the nodes' keys were not observed in this run, so the picture cannot show what was true")
	}
	if v.History.Truncated {
		v.Pic.Notes = append(v.Pic.Notes, "the history ends in the middle of a line")
	}
}

// paint makes the picture of a scene, with as much of it as one of several pictures on a page can hold, and says
// in words what it left out.
func (v *variantView) paint(scene *swimlane.Scene, view swimlane.Span, process string, pictures int, draw func() *picture) {
	var notes []string
	if left := scene.Cast(involved(v.Variant), view, maxDrawnClients); len(left) > 0 {
		few := left[:min(len(left), maxDrawnClients)]
		text := strings.Join(few, ", ")
		if more := len(left) - len(few); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		notes = append(notes, fmt.Sprintf("%s not drawn (%s): only those of the violation and the busiest ones are",
			words.GroupedCount(len(left), process), text))
	}
	apart := time.Duration(0)
	for things := maxThings / pictures; ; things = things * 2 / 3 {
		apart = max(apart, scene.Thin(view, things))
		v.Pic = draw()
		v.Pic.pack()
		if len(v.Pic.Far) <= maxFar/pictures || things < maxStatic {
			break
		}
	}
	if view.From > 0 || view.To < scene.End {
		v.Pic.Overview = overviewOf(v.History, scene, view, violationsOf(v.Variant))
	}
	if apart > 0 {
		notes = append(notes, fmt.Sprintf("the run is long: "+
			"outside of what is shown at first, short things that begin less than %s after one another are drawn as one", words.Duration(apart)))
	}
	v.Pic.Notes = notes
}

// involved are the clients that counterexamples speak of.
func involved(v *Variant) []string {
	var names []string
	for i := range v.Properties {
		if c := v.Properties[i].Counterexample; c != nil {
			for _, o := range c.Operations {
				names = append(names, o.Client)
			}
		}
	}
	return names
}

// summary says the picture in words.
func summary(v *Variant, s *swimlane.Scene, view swimlane.Span) string {
	text := fmt.Sprintf("Time runs from %s to %s over %s, the resource and %s.", words.Seconds(view.From), words.Seconds(view.To),
		words.GroupedCount(len(s.Clients), "client"), words.GroupedCount(len(s.Nodes), "node"))
	for _, o := range overlapsOf(v) {
		text += fmt.Sprintf(" From %s on: %s.", words.Seconds(o.From), o.Words)
	}
	for _, o := range s.Splits {
		text += fmt.Sprintf(" From %s on: two primaries at once, %s.", words.Seconds(o.From), words.Duration(o.Length()))
	}
	if s.Refused > 0 {
		text += fmt.Sprintf(" The resource refused %s.", words.GroupedCount(s.Refused, "operation"))
	}
	return text
}

// limits says what this evidence does not show. The list is never empty.
func limits(r *Result) []string {
	if r.Imported {
		return importedLimits(r)
	}
	list := []string{
		"“Holds” means that this run, with these faults, showed no violation. It is no proof. " +
			"The number of chances beside each verdict says how often the property could have failed. “Violated” is always true of the run.",
	}
	if r.World == "virtual" {
		list = append(list, "The run took place in the virtual world: "+
			"nodes, network and clocks are models. Replay it in the live world before you base a decision on it.")
	} else {
		list = append(list, "The keys of the nodes are observed from outside. The stamp of a key's event is the time at which the "+
			"observation arrived, up to some milliseconds after the event. A hatched stretch shorter than that may only be the observer's delay.",
			"The run took place on one machine in real time. A run with the same seed takes the same decisions, but not at the same microsecond. "+
				"A schedule that depends on microseconds may need several runs.")
	}
	for i := range r.Variants {
		list = append(list, variantLimits(&r.Variants[i])...)
	}
	if r.Interrupted {
		list = append(list, "The run was interrupted. What it would have shown later is not known.")
	}
	return append(list, "The times of clients are taken when their requests leave and when their answers arrive, "+
		"so the recorded interval contains the true one. One run is one schedule. To learn how often a violation occurs, make many runs.")
}

// importedLimits are those of the history of another tool.
func importedLimits(r *Result) []string {
	list := []string{
		"“Holds” means that an order of the operations explains this history. " +
			"It is no proof that the system always behaves so. “Violated” is always true of the history.",
		"The file is taken at its word: an operation takes effect at some instant between its call and its answer; " +
			"one whose outcome is unknown may take effect at any time after its call, or never.",
	}
	for i := range r.Variants {
		switch h := r.Variants[i].History; {
		case h == nil:
			list = append(list, "The file is too large to be shown here.")
		case !timed(h):
			list = append(list, "The file has no times, so there is no picture. Its lines are in the order in which things happened.")
		}
	}
	return list
}

func variantLimits(v *Variant) []string {
	var list []string
	say := func(format string, args ...any) {
		list = append(list, v.Name+": "+fmt.Sprintf(format, args...))
	}
	var never, unknown []string
	for i := range v.Faults {
		if v.Faults[i].Fired == 0 {
			never = append(never, fmt.Sprintf("%d (%s)", v.Faults[i].ID, v.Faults[i].Fault))
		}
	}
	for _, p := range v.Properties {
		if !decided(p.Verdict) {
			unknown = append(unknown, string(p.Name))
		}
		if p.Verdict == checker.Holds && p.Effort.Chances == 0 {
			say("%s holds, but had no chance to fail.", p.Name)
		}
	}
	if v.TooSlow != "" {
		say("this machine was too slow for the run: %s. So what is not as expected is undecided: it speaks neither for nor against the lock.",
			v.TooSlow)
	}
	if len(v.Tries) > 1 {
		say("%s. A violation that showed in one of %d tries counts; "+
			"a property that holds did so in all of them. The picture, the faults and the history show one try.",
			v.triesWords(), len(v.Tries))
	}
	if len(never) > 0 {
		say("fault %s never fired, so it tested nothing.", strings.Join(never, ", "))
	}
	if len(unknown) > 0 {
		say("undecided: %s.", strings.Join(unknown, ", "))
	}
	if v.History == nil {
		say("there is no history to draw.")
		return list
	}
	if v.TimedOut {
		say("%s.", v.Limit())
	}
	told, worst := make(map[int]bool), int64(0)
	for i := range v.History.Events {
		e := &v.History.Events[i]
		worst = max(worst, e.Value.AtError())
		if e.F == history.FaultFailed && !told[e.Value.ID()] {
			told[e.Value.ID()] = true
			say("fault %d (%s) was due at %s and did not take effect: %s.",
				e.Value.ID(), e.Value.Fault(), words.Seconds(e.Time), plain.Clip(e.Error.String(), maxValueRunes))
		}
	}
	if worst > 0 {
		say("the resource's clock is known to within %s.", words.Duration(time.Duration(worst)))
	}
	if len(v.History.Events) > 0 && !v.History.Done() {
		say("the history ends before the run was done.")
	}
	return list
}

// missingShards names the shards that something merged lacks.
func missingShards(list []string) string {
	if len(list) == 1 {
		return "The shard " + plain.Text(list[0]) + " is missing"
	}
	return fmt.Sprintf("%s are missing: %s", words.GroupedCount(len(list), "shard"), plain.Text(strings.Join(list, "; ")))
}
