package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/report/swimlane"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Drawing is the picture of a variant, and what a page says beside it, for a page that draws them anew
// whenever something changes.
type Drawing struct {
	// HTML is the picture with its legend, escaped.
	HTML string `json:"html"`
	// From and To bound what is seen, End is the run's end, all in ns of run time.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	End  int64 `json:"end"`
	// Summary says the picture in a sentence, Notes what is not drawn.
	Summary string   `json:"summary"`
	Notes   []string `json:"notes,omitempty"`
	// Bands are where faults struck.
	Bands []FaultBand `json:"bands,omitempty"`
}

// FaultBand is where a fault struck, in ns of run time. Fault is its number in the scenario, from 1; Open: it
// had no end.
type FaultBand struct {
	Fault int   `json:"fault"`
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	Open  bool  `json:"open,omitempty"`
	Event int   `json:"event"`
}

// DrawOptions say how to draw a variant.
type DrawOptions struct {
	// ID begins the ids of all elements.
	ID string
	// Width is that of the plot, in pixels.
	Width int
	// From and To bound what is seen; equal: what a report shows first.
	From, To time.Duration
}

// Bounds of a drawing: how many shapes, and how wide, in pixels.
const (
	mostDrawn    = 1500
	leastDrawing = 120
	mostDrawing  = 4000
)

// Draw draws a variant that has a history.
func Draw(v *Variant, o DrawOptions) (*Drawing, error) {
	if v.History == nil || len(v.History.Events) == 0 {
		return nil, fmt.Errorf("variant %q has no history to draw", v.Name)
	}
	view := swimlane.Span{From: o.From, To: o.To}
	if o.To <= o.From {
		view = swimlane.Frame(v.History, v.History.End(), focusOf(v), coreOf(v), maxViewEvents)
		view.To += view.Length() / 60 // what happens last must not stick to the edge
	}
	scene := swimlane.BuildFor(v.History, view, mostDrawn)
	out := &Drawing{From: int64(view.From), To: int64(view.To), End: int64(scene.End)}
	for _, b := range scene.Bands {
		out.Bands = append(out.Bands, FaultBand{Fault: b.ID, From: int64(b.From), To: int64(b.To), Open: b.Open, Event: b.Event})
	}
	if left := scene.Cast(involved(v), view, maxDrawnClients); len(left) > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s not drawn: only those of the violation and the busiest ones are",
			words.GroupedCount(len(left), "client")))
	}
	scene.Thin(view, mostDrawn)
	e := newEasel(o.ID, scene, view)
	e.pic.plot = float64(min(max(o.Width, leastDrawing), mostDrawing))
	e.pic.Hi = max(e.pic.Hi, int64(view.To))
	pic := e.draw(overlapsOf(v), mostDrawn)
	for _, l := range pic.Lanes {
		l.Shapes = slices.DeleteFunc(l.Shapes, func(s shape) bool { return s.Far })
	}
	pic.Summary = summary(v, scene, view)
	out.Summary = pic.Summary
	if pic.Thinned != "" {
		out.Notes = append(out.Notes, pic.Thinned)
	}
	if v.History.Truncated {
		out.Notes = append(out.Notes, "the run was stopped before its end")
	}
	var m markup
	m.add(`<div><svg class="defs" width="0" height="0" aria-hidden="true"><defs>`)
	m.hatch()
	m.add("</defs></svg>")
	m.picture(pic)
	m.legend(pic.Led, pic.Watched)
	m.add("</div>")
	out.HTML = string(plain.HTML(m.Bytes()))
	return out, nil
}

// Telling is what a page says of a variant beside its picture.
type Telling struct {
	Class string `json:"class"`
	Icon  string `json:"icon"`
	// Word is the outcome: are the verdicts the expected ones?
	Word  string        `json:"word"`
	Lead  string        `json:"lead"`
	Chips []VerdictLine `json:"chips"`
	// Broke says what broke, By which faults, Assumption what was assumed in vain.
	Broke      string      `json:"broke,omitempty"`
	At         string      `json:"at,omitempty"`
	Property   string      `json:"property,omitempty"`
	By         []string    `json:"by,omitempty"`
	Assumption string      `json:"assumption,omitempty"`
	Story      []StoryLine `json:"story,omitempty"`
	More       int         `json:"more,omitempty"`
}

// VerdictLine is the verdict on a property: its word, what was expected, why, and how hard it was tried.
type VerdictLine struct {
	Property string `json:"property"`
	Words    string `json:"words"`
	Verdict  string `json:"verdict"`
	Class    string `json:"class"`
	Icon     string `json:"icon"`
	Beside   string `json:"beside"`
	Why      string `json:"why"`
	Chances  string `json:"chances"`
	Loud     bool   `json:"loud,omitempty"`
}

// StoryLine is a sentence of the story.
type StoryLine struct {
	At   string `json:"at"`
	Text string `json:"text"`
}

// Tell says what came of a variant.
func Tell(v *Variant) Telling {
	view := newVariantView(0, v)
	one := &Result{Variants: []Variant{*v}}
	out := Telling{Class: view.Badge.Class, Icon: view.Badge.Icon, Word: view.Badge.Word, Lead: leadSentence(one)}
	for i, c := range view.Chips {
		p := &v.Properties[i]
		out.Chips = append(out.Chips, VerdictLine{
			Property: string(c.Name), Words: sentence(c.Name.Title()), Verdict: c.Badge.Word, Class: c.Badge.Class,
			Icon: c.Badge.Icon, Beside: c.Beside, Why: p.Why, Chances: chances(p), Loud: c.Loud,
		})
	}
	if c := view.causeOf(pictured(v)); c != nil {
		out.Broke, out.At, out.Property, out.By, out.Assumption = c.Broke, c.At, string(c.Property), c.Faults, c.Assumption
	}
	if lead := leadOf(v); lead != nil {
		s := view.storyOf(lead)
		for _, t := range s.Sentences {
			out.Story = append(out.Story, StoryLine{At: t.At, Text: t.Text})
		}
		out.More = s.More
	}
	return out
}
