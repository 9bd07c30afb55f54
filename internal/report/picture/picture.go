package picture

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Bounds of a picture. A page that has more than maxStatic shapes keeps those outside of
// what is seen at first packed; a run that has more than maxThings, or more than maxFar bytes of packed
// shapes, is drawn more coarsely.
const (
	maxStatic       = 360
	minStatic       = 80
	maxThings       = 16_000
	maxFar          = 230_000 // bytes
	maxViewEvents   = 12_000
	maxDrawnClients = 10
	densityBuckets  = 200
	// assumedPlotWidth is how wide a plot is without a script, at least.
	assumedPlotWidth = 980.0
)

// picture is a scene laid out. Times become per cent of the plot's width,
// so that the drawing fits any width without scaling its text; heights are
// pixels.
type Picture struct {
	ID, Class string
	Height    int
	// From and To bound what is seen at first, Lo and Hi what can be zoomed
	// out to, in ns of run time.
	From, To, Lo, Hi int64
	Ticks            []tick
	// Lanes begins with what crosses the others and stands behind them.
	Lanes []*lane
	// Far are the shapes that are not drawn on the page itself, packed, and Unit the ns in which
	// their times are counted.
	Far  string
	Unit int64
	// Notes say in words what is not drawn, Thinned what is not drawn until a script draws it.
	Notes   []string
	Thinned string
	// Summary says the picture in a sentence, for those who do not see it.
	Summary  string
	Overview *overview
	// Led: it shows which node served as the primary.
	Led bool
	// Watched: it shows what sentinels, or the nodes of a cluster, saw.
	Watched bool
	// What a history of another tool has, for the legend.
	HasFailed, HasUnknown, HasFrames bool
	// plot is how wide the plot is without a script, in pixels.
	plot float64
}

// lane is a strip of the picture.
type lane struct {
	Kind, Name string
	// Anchor is the lane's address on the page.
	Anchor string
	Y, H   int
	// Subs name the rows of the lane.
	Subs   []sub
	Shapes []shape
	// Quiet: nothing of note happens in it, or just what its neighbour shows.
	Quiet bool
}

// Short is the name as far as there is room for it.
func (l *lane) Short() string { return plain.Clip(l.Name, 8) }

// NameRow is the baseline of the name. A long one stands above the names of a client's rows.
func (l *lane) NameRow() int {
	if l.Kind == "client" && len(l.Name) <= 5 {
		return beliefRow + 1
	}
	if l.Kind == "resource" {
		return 27
	}
	return 14
}

// sub names a row of a lane.
type sub struct {
	Y    int
	Text string
}

// layers is how many layers a lane's shapes have: faults, then bars, then what stands at a point
// of time.
const layers = 3

// Layers are the shapes of the page itself.
func (l *lane) Layers() [][]shape { return l.split(false) }

func (l *lane) split(far bool) [][]shape {
	list := make([][]shape, layers)
	for i := range l.Shapes {
		if s := &l.Shapes[i]; s.Far == far {
			list[s.layer()] = append(list[s.layer()], *s)
		}
	}
	return list
}

// Labels are those of the shapes of the page itself.
func (l *lane) Labels() []label {
	var list []label
	for i := range l.Shapes {
		if s := &l.Shapes[i]; s.Label != nil && !s.Far {
			list = append(list, *s.Label)
		}
	}
	return list
}

// shape is one thing drawn: a bar when it has a width, else something at a
// point of time.
type shape struct {
	Kind, Class string
	A, B        int64
	X, W        string
	Y, H        int
	// Title says what it is, without its times.
	Title string
	// Step: the cursor stops here. Event is where it is told, or -1. Told: it is told.
	Step  bool
	Event int
	Told  bool
	// Label is its text; nil: it has none.
	Label *label
	// Away: it is on the page, and not in view at first.
	Away bool
	// Far: it is not on the page itself.
	Far bool
}

// Tip is its title with its times.
func (s shape) Tip() string {
	if s.Far {
		return s.Title
	}
	text := words.Seconds(time.Duration(s.A)) + "  " + s.Title
	if s.Wide() {
		text += ", until " + words.Seconds(time.Duration(s.B))
	}
	return text
}

// Wide reports whether the shape has a length in time.
func (s shape) Wide() bool { return s.Kind == "bar" || s.Kind == "hatch" || s.Kind == "thread" }

func (s *shape) layer() int {
	if s.Class == "band" || s.Class == "strike" {
		return 0
	}
	if s.Wide() {
		return 1
	}
	return 2
}

// tick is a time on the axis.
type tick struct {
	X, Text string
	End     bool
}

// overview is a strip of the whole run, where the picture shows a part of it.
type overview struct {
	Bars, Faults, Violations []overBar
	From, Width              string
	Words                    string
}

type overBar struct {
	X, W string
	H, Y int
}

// easel lays out one scene.
type easel struct {
	scene *Scene
	view  Span
	pic   *Picture
	y     int
	// behind crosses lanes.
	behind *lane
	// clientY is where each client's lane begins.
	clientY map[string]int
}

func newEasel(id string, scene *Scene, view Span) *easel {
	behind := &lane{Kind: "behind"}
	return &easel{scene: scene, view: view, behind: behind, y: axisHeight, clientY: map[string]int{},
		pic: &Picture{ID: id, From: int64(view.From), To: int64(view.To),
			Hi: int64(max(scene.End, view.To)), Lanes: []*lane{behind}, plot: assumedPlotWidth}}
}

// percent says where t lies in a view.
func percent(t time.Duration, view Span) string {
	return decimal(float64(t-view.From) / float64(view.Length()) * 100)
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

// bar is a shape with a length.
func bar(class string, s Span, y, h int) shape {
	return shape{Kind: "bar", Class: class, A: int64(s.From), B: int64(s.To), Y: y, H: h, Event: -1}
}

// at is a shape at a point of time.
func at(kind, class string, t time.Duration, y, h int) shape {
	return shape{Kind: kind, Class: class, A: int64(t), B: int64(t), Y: y, H: h, Event: -1}
}

// inside gives a shape a label that stands inside of it.
func (s *shape) inside(class string, rank int, rows []int, texts ...string) *label {
	s.Label = &label{Class: class, A: s.A, B: s.B, Rank: rank, Rows: rows, Inside: texts}
	return s.Label
}

// beside gives a shape a label that stands beside it.
func (s *shape) beside(class string, rank int, rows []int, texts ...string) *label {
	s.Label = &label{Class: class, A: s.A, B: s.B, Rank: rank, Rows: rows, Outside: texts}
	return s.Label
}

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

// draw lays out the scene in the view.
func draw(id string, scene *Scene, view Span, overlaps []Overlap, pictures int) *Picture {
	return newEasel(id, scene, view).draw(overlaps, max(minStatic, maxStatic/pictures))
}

// draw lays out the scene, with at most so many shapes.
func (e *easel) draw(overlaps []Overlap, most int) *Picture {
	scene := e.scene
	overlapY := e.y
	e.y += overlapHeight * len(overlaps)
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
	e.odds()
	return e.finish(most)
}

// add appends a lane and moves on below it.
func (e *easel) add(l lane) {
	l.Y, l.Anchor = e.y, fmt.Sprintf("%s-lane-%d", e.pic.ID, len(e.pic.Lanes))
	if plainName.MatchString(l.Name) {
		l.Anchor = e.pic.ID + "-lane-" + l.Name
	}
	e.pic.Lanes = append(e.pic.Lanes, &l)
	e.y += l.H
}

// plainName is a name that can be part of an address as it is.
var plainName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// finish decides what is on the page itself, at most so many shapes, and where.
func (e *easel) finish(most int) *Picture {
	p := e.pic
	p.Height = e.y + 6
	e.ticks()
	for _, l := range p.Lanes {
		slices.SortStableFunc(l.Shapes, func(a, b shape) int { return cmp.Compare(a.A, b.A) })
	}
	p.layOut(most)
	return p
}

// layOut decides what is drawn without a script, at most so many shapes, and where.
func (p *Picture) layOut(most int) {
	view := p.view()
	p.Thinned = ""
	if p.selectDrawn(-1) > most {
		for short := int64(0); p.selectDrawn(short) > most && short < int64(view.Length()); {
			short = max(short*3/2, int64(view.Length())/int64(most))
			p.Thinned = fmt.Sprintf("things shorter than %[1]s are not drawn where one like them began less than %[1]s before",
				words.Length(time.Duration(short)))
		}
	}
	for _, l := range p.Lanes {
		for i := range l.Shapes {
			s := &l.Shapes[i]
			if s.Told = s.Event >= 0; s.Label != nil {
				s.Label.Near, s.Label.Shown = !s.Far, false
			}
			if !s.Far {
				p.setPosition(s)
			}
		}
	}
	place(p.Lanes, view, p.plot)
}

// selectDrawn leaves on the page itself what is in view, and of things shorter than some length, that far
// apart; of a negative length, everything. It returns how many that are.
func (p *Picture) selectDrawn(short int64) int {
	n := 0
	for _, l := range p.Lanes {
		last := map[string]int64{}
		for i := range l.Shapes {
			s := &l.Shapes[i]
			before, some := last[s.Class]
			if s.Far = short >= 0 && (!p.inView(s.A, s.B) || some && s.B-s.A < short && s.A-before < short); !s.Far {
				last[s.Class] = s.A
				n++
			}
		}
	}
	return n
}

// HasSteps: there are moments to step through.
func (p *Picture) HasSteps() bool {
	return slices.ContainsFunc(p.Lanes, func(l *lane) bool {
		return slices.ContainsFunc(l.Shapes, func(s shape) bool { return s.Step })
	})
}

// view is what is seen at first.
func (p *Picture) view() Span {
	return Span{From: time.Duration(p.From), To: time.Duration(p.To)}
}

// inView: something of it is in view.
func (p *Picture) inView(a, b int64) bool { return a <= p.To && b >= p.From }

// setPosition says where a shape stands at first. A bar never sticks out of the view by more than a hair.
func (p *Picture) setPosition(s *shape) {
	view := p.view()
	from, hair := time.Duration(s.A), view.Length()/500
	s.Away = !p.inView(s.A, s.B)
	if s.Wide() {
		from = max(from, view.From-hair)
		s.W = decimal(max(0, float64(min(time.Duration(s.B), view.To+hair)-from)/float64(view.Length())*100))
	}
	s.X = percent(from, view)
}

// bands adds the faults that hit a lane, with their names in one of the rows. One that hits
// several is named once.
func (e *easel) bands(l *lane, rows ...int) {
	for i := range e.scene.Bands {
		b := &e.scene.Bands[i]
		if len(b.Lanes) > 0 && !slices.Contains(b.Lanes, l.Name) {
			continue
		}
		first := len(e.pic.Lanes) == 1
		if len(b.Lanes) > 0 {
			first = b.Lanes[0] == l.Name
		}
		sudden := b.Length() < e.view.Length()/400
		s := bar("band", b.Span, 0, l.H-2)
		if sudden {
			s = at("line", "strike", b.From, 0, l.H-2)
		}
		s.Step, s.Event = first, b.Event
		s.Title = BandWords(b, !sudden)
		short := BandWords(&Band{Span: b.Span, Open: b.Open, Fault: b.Fault}, !sudden)
		name := s.inside("fault-words", rankFault, rows, s.Title, short, b.Fault)
		name.Outside, name.Once = []string{short}, fmt.Sprint("fault ", b.Event)
		l.Shapes = append(l.Shapes, s)
	}
}

// bandText says a fault in a few words: "pause, 2.00 s", "clock-jump, ahead by 20 s".
func BandWords(b *Band, timed bool) string {
	text := b.Fault
	if b.Open {
		text += ", to the end"
	} else if timed {
		text += ", " + words.Length(b.Length())
	}
	if b.Detail != "" && len(b.Detail) <= 60 {
		text += ", " + b.Detail
	}
	return text
}

// ticks draws the axis: round times, six or so where there is room.
func (e *easel) ticks() {
	v := e.view
	step := roundStep(v.Length() / time.Duration(max(2, min(7, e.pic.plot/90))))
	for t := (v.From + step - 1) / step * step; t <= v.To; t += step {
		e.pic.Ticks = append(e.pic.Ticks, tick{X: percent(t, v), Text: tickText(t, step), End: t > v.To-v.Length()/30})
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

// overviewOf draws the whole run, where the picture shows a part of it at first.
func overviewOf(h *history.History, scene *Scene, view Span, violations []Span) *overview {
	end := max(scene.End, 1)
	place := func(s Span, y, h int) overBar {
		return overBar{X: decimal(float64(s.From) / float64(end) * 100), W: decimal(max(0.1, float64(s.Length())/float64(end)*100)), Y: y, H: h}
	}
	counts := Density(h, end, densityBuckets)
	peak, total := 1, 0
	for _, c := range counts {
		peak, total = max(peak, c), total+c
	}
	here := place(view, 0, 0)
	o := &overview{From: here.X, Width: here.W,
		Words: fmt.Sprintf("The whole run: %s in %s", words.Count(total, "operation"), words.Length(end))}
	for i, c := range counts {
		if c == 0 {
			continue
		}
		height := max(1, c*overviewLoad/peak)
		o.Bars = append(o.Bars, overBar{X: decimal(float64(i) * 100 / densityBuckets),
			W: decimal(100.0 / densityBuckets), H: height, Y: overviewHeight - height})
	}
	for i := range scene.Bands {
		o.Faults = append(o.Faults, place(scene.Bands[i].Span, overviewFaults, overviewLoad))
	}
	for _, v := range violations {
		o.Violations = append(o.Violations, place(v, 0, overviewHeight))
	}
	if n := len(scene.Bands); n > 0 {
		o.Words += ", " + words.Count(n, "fault")
	}
	if len(violations) > 0 {
		o.Words += "; in red, where a property was violated"
	}
	return o
}

// Heights of the overview, in pixels: all of it, and its operations; faults begin at the third.
const (
	overviewHeight = 40
	overviewLoad   = 26
	overviewFaults = 6
)
