package picture

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Drawing is a picture, and what a page says beside it, for a page that draws them anew
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

// DrawOptions say how to draw.
type Options struct {
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

// Draw draws a subject that has a history.
func Draw(s *Subject, o Options) (*Drawing, error) {
	if s.History == nil || len(s.History.Events) == 0 {
		return nil, fmt.Errorf("variant %q has no history to draw", s.Name)
	}
	view := Span{From: o.From, To: o.To}
	if o.To <= o.From {
		view = Frame(s.History, s.History.End(), s.focus(), s.Core(), maxViewEvents)
		view.To += view.Length() / 60 // what happens last must not stick to the edge
	}
	scene := BuildFor(s.History, view, mostDrawn)
	scene.Odds = s.Odds
	out := &Drawing{From: int64(view.From), To: int64(view.To), End: int64(scene.End)}
	for _, b := range scene.Bands {
		out.Bands = append(out.Bands, FaultBand{Fault: b.ID, From: int64(b.From), To: int64(b.To), Open: b.Open, Event: b.Event})
	}
	if left := scene.Cast(s.involved(), view, maxDrawnClients); len(left) > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s not drawn: only those of the violation and the busiest ones are",
			words.Count(len(left), "client")))
	}
	scene.Thin(view, mostDrawn)
	e := newEasel(o.ID, scene, view)
	e.pic.plot = float64(min(max(o.Width, leastDrawing), mostDrawing))
	e.pic.Hi = max(e.pic.Hi, int64(view.To))
	pic := e.draw(s.Overlaps(), mostDrawn)
	for _, l := range pic.Lanes {
		l.Shapes = slices.DeleteFunc(l.Shapes, func(s shape) bool { return s.Far })
	}
	pic.Summary = s.summary(scene, view)
	out.Summary = pic.Summary
	if pic.Thinned != "" {
		out.Notes = append(out.Notes, pic.Thinned)
	}
	if s.History.Truncated {
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
