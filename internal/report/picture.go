package report

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report/swimlane"
)

// Bounds of a picture. Beyond them a picture is no longer read, and says what
// it left out.
const (
	maxDrawnEvents   = 1500
	minDrawnEvents   = 200
	allDrawnEvents   = 2400
	maxDrawnPerLane  = 250
	maxDrawnClients  = 10
	densityBuckets   = 160
	assumedPlotWidth = 980.0
)

// picture is a scene laid out. Times become per cent of the plot's width,
// so that the drawing fits any width without scaling its text; heights are
// pixels.
type picture struct {
	ID, Class string
	Height    int
	// From and To bound what is seen at first, Lo and Hi what can be zoomed
	// out to, in ns of run time.
	From, To, Lo, Hi int64
	Ticks            []shape
	// Behind is drawn first and crosses lanes.
	Behind []shape
	Lanes  []lane
	// Notes say in words what is not drawn.
	Notes []string
	// Summary says the picture in a sentence, for those who do not see it.
	Summary  string
	Overview *overview
}

// lane is a strip of the picture.
type lane struct {
	Kind, Name string
	Y, H       int
	// Subs label the rows of the lane.
	Subs   []label
	Shapes []shape
	// Quiet: nothing of note happens in it, or just what its neighbour shows.
	Quiet bool
}

// Short is the name as far as there is room for it.
func (l lane) Short() string { return clip(l.Name, 8) }

// label is text at a height.
type label struct {
	Y    int
	Text string
}

// shape is one thing drawn: a bar when it has a width, else something at a
// point of time.
type shape struct {
	Kind, Class string
	A, B        int64
	X, W        string
	Y, H        int
	Text        string
	// TextY is the baseline of Text; End puts it left of its point.
	TextY int
	End   bool
	Title string
	// Step: the cursor stops here. Event is where it is told, or -1.
	Step  bool
	Event int
}

// Wide reports whether the shape has a length in time.
func (s shape) Wide() bool { return s.Kind == "bar" || s.Kind == "hatch" || s.Kind == "thread" }

// overview is a strip of the whole run, where the picture shows a part of it.
type overview struct {
	Bars                 []overBar
	From, Width          string
	Operations, RunWords string
	ShownWords           string
}

type overBar struct {
	X, W string
	H, Y int
}

// easel lays out one scene.
type easel struct {
	scene  *swimlane.Scene
	window swimlane.Window
	pic    *picture
	y      int
	// clientY is where each client's lane begins.
	clientY map[string]int
}

// percent says where t lies in the view.
func (e *easel) percent(t time.Duration) string {
	v := e.window.View
	return decimal(float64(t-v.From) / float64(v.Length()) * 100)
}

// decimal writes f short, with three digits at most.
func decimal(f float64) string {
	return strconv.FormatFloat(float64(int64(f*1000+sign(f)*0.5))/1000, 'f', -1, 64)
}

func sign(f float64) float64 {
	if f < 0 {
		return -1
	}
	return 1
}

// pixels says where t lies on a plot of the assumed width; only the placing
// of labels depends on it.
func (e *easel) pixels(t time.Duration) float64 {
	v := e.window.View
	return float64(t-v.From) / float64(v.Length()) * assumedPlotWidth
}

// bar is a shape with a length. It never begins before the view by more than
// a hair, so that its label stays in sight.
func (e *easel) bar(class string, s swimlane.Span, y, h int) shape {
	x := max(s.From, e.window.View.From-e.window.View.Length()/500)
	return shape{Kind: "bar", Class: class, A: int64(s.From), B: int64(s.To), Y: y, H: h, Event: -1,
		X: e.percent(x), W: decimal(max(0, float64(s.To-x)/float64(e.window.View.Length())*100))}
}

// at is a shape at a point of time.
func (e *easel) at(kind, class string, t time.Duration, y, h int) shape {
	return shape{Kind: kind, Class: class, A: int64(t), X: e.percent(t), Y: y, H: h, Event: -1}
}

// fits reports whether text fits into a span of the view.
func (e *easel) fits(text string, s swimlane.Span) bool {
	from, to := max(s.From, e.window.View.From), min(s.To, e.window.View.To)
	return e.pixels(to)-e.pixels(from) > textWidth(text)+10
}

// textWidth estimates how wide a label is. Only the hiding of labels hangs on
// it: a wrong guess costs a label or some white space.
func textWidth(s string) float64 { return 6.8 * float64(len([]rune(s))) }

// Heights of the lanes, in pixels.
const (
	axisHeight     = 26
	overlapHeight  = 22
	clientHeight   = 66
	resourceHeight = 58
	quorumHeight   = 24
	nodeHeight     = 20
	groupGap       = 10
)

// draw lays out the scene in the window.
func draw(id string, scene *swimlane.Scene, w swimlane.Window, overlaps []overlap) *picture {
	e := &easel{scene: scene, window: w, clientY: map[string]int{}, pic: &picture{ID: id,
		From: int64(w.View.From), To: int64(w.View.To), Lo: int64(w.Extent.From), Hi: int64(w.Extent.To)}}
	e.y = axisHeight
	overlapY := e.y
	if len(overlaps) > 0 {
		e.y += overlapHeight
	}
	for i := range scene.Clients {
		e.client(&scene.Clients[i])
	}
	lastClient := e.y
	e.overlaps(overlaps, overlapY, lastClient)
	if len(scene.Effects) > 0 {
		e.y += groupGap
		e.resource()
	}
	e.nodes()
	e.pic.Height = e.y + 6
	e.ticks()
	return e.pic
}

// add appends a lane and moves on below it.
func (e *easel) add(l lane) {
	l.Y = e.y
	e.pic.Lanes = append(e.pic.Lanes, l)
	e.y += l.H
}

// bands returns the faults that hit a lane. One that hits several is named in
// the first of them only.
func (e *easel) bands(name string, h, textY int) []shape {
	var list []shape
	for _, b := range e.scene.Bands {
		if len(b.Lanes) > 0 && !slices.Contains(b.Lanes, name) {
			continue
		}
		first := len(e.pic.Lanes) == 0
		if len(b.Lanes) > 0 {
			first = b.Lanes[0] == name
		}
		list = append(list, e.band(&b, first, h, textY)...)
	}
	return list
}

// band draws a fault: a band while it lasted, or a stroke where it struck at
// once. A label that does not fit inside stands behind it.
func (e *easel) band(b *swimlane.Band, first bool, h, textY int) []shape {
	sudden := b.Length() < e.window.View.Length()/400
	text := bandText(b, !sudden)
	s := e.bar("band", b.Span, 0, h)
	if sudden {
		s = e.at("line", "strike", b.From, 0, h)
	}
	s.Step, s.Title, s.Event, s.TextY = first, fmt.Sprintf("%s  %s", seconds(b.From), text), b.Event, textY
	switch {
	case !first:
	case sudden:
		s.Text = text
		e.turn(&s)
	case e.fits(text, b.Span):
		s.Text = text
	default:
		words := e.at("text", "band-words", b.To, 0, h)
		words.Text, words.TextY = b.Fault+", "+shortDuration(b.Length()), textY
		if e.turn(&words); words.End {
			words.A, words.X = int64(b.From), e.percent(b.From)
		}
		return []shape{s, words}
	}
	return []shape{s}
}

// bandText says a fault in a few words: "pause, 2 s", "clock-jump, ahead by 20 s".
func bandText(b *swimlane.Band, timed bool) string {
	text := b.Fault
	switch {
	case b.Open:
		text += ", to the end"
	case timed:
		text += ", " + shortDuration(b.Length())
	}
	if b.Detail != "" && len(b.Detail) <= 60 {
		text += ", " + b.Detail
	}
	return text
}

// turn puts a label left of its point where the right edge is near.
func (e *easel) turn(s *shape) {
	s.End = e.pixels(time.Duration(s.A))+textWidth(s.Text)+8 > assumedPlotWidth
}

// ticks draws the axis: round times, six or so.
func (e *easel) ticks() {
	v := e.window.View
	step := roundStep(v.Length() / 7)
	for t := (v.From + step - 1) / step * step; t <= v.To; t += step {
		s := e.at("tick", "", t, 0, e.pic.Height)
		s.Text = tickText(t, step)
		s.End = e.pixels(t) > assumedPlotWidth-30
		e.pic.Ticks = append(e.pic.Ticks, s)
	}
}

// roundStep is the least 1, 2 or 5 times a power of ten that is at least d.
func roundStep(d time.Duration) time.Duration {
	for p := time.Duration(1); ; p *= 10 {
		for _, m := range []time.Duration{1, 2, 5} {
			if p*m >= d || p > 1<<58 {
				return p * m
			}
		}
	}
}

// tickText writes a time with as many digits as the step needs.
func tickText(t, step time.Duration) string {
	digits := 0
	for s := step; s < time.Second && digits < 9; s *= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f s", digits, t.Seconds())
}

// clip keeps the text of a label short enough to be a label.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}

// overviewOf draws the whole run, where the picture shows only a part.
func overviewOf(h *history.History, end time.Duration, w swimlane.Window, drawn int) *overview {
	counts := swimlane.Density(h, end, densityBuckets)
	peak, total := 1, 0
	for _, c := range counts {
		peak, total = max(peak, c), total+c
	}
	o := &overview{
		From:       decimal(float64(w.View.From) / float64(end) * 100),
		Width:      decimal(max(0.3, float64(w.View.Length())/float64(end)*100)),
		Operations: count(total, "operation"), RunWords: shortDuration(end),
		ShownWords: fmt.Sprintf("%s to %s, %s of %s", seconds(w.Extent.From), seconds(w.Extent.To),
			grouped(drawn), count(len(h.Events), "event")),
	}
	for i, c := range counts {
		if c == 0 {
			continue
		}
		height := max(1, c*28/peak)
		o.Bars = append(o.Bars, overBar{X: decimal(float64(i) * 100 / densityBuckets),
			W: decimal(100.0 / densityBuckets), H: height, Y: 30 - height})
	}
	return o
}
