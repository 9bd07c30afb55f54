package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Hunted is what a search has found.
type Hunted struct {
	Runs uint64 `json:"runs"`
	// Behaviours is how many different ones were seen, Violations how many runs violated something.
	Behaviours int    `json:"behaviours"`
	Violations uint64 `json:"violations"`
	// Phase says what is done now.
	Phase string  `json:"phase,omitempty"`
	Found []Found `json:"found,omitempty"`
	// Worth says what it is worth to have found nothing.
	Worth []string `json:"worth,omitempty"`
}

// Found is a schedule that breaks the scenario, as small as it could be made.
type Found struct {
	Property string `json:"property"`
	Class    string `json:"class"`
	Seed     uint64 `json:"seed,string"`
	Note     string `json:"note"`
	YAML     string `json:"yaml"`
	Share    string `json:"share"`
}

const (
	// mostLasts bounds a search.
	mostLasts = 2 * time.Minute
	// shrunkPerClass is how many violations of a class are made smaller: the best is shown.
	shrunkPerClass = 3
)

// tellEvery is how often progress is told.
const tellEvery = 100 * time.Millisecond

// Search searches as it is asked to, in the scenario and from the seed of an experiment. tell is told of the progress, and may end ctx.
func Search(ctx context.Context, e Experiment, r request.Search, tell func(Hunted)) (Hunted, error) {
	s, v, err := variantOf(e.YAML, e.Variant)
	if err != nil {
		return Hunted{}, err
	}
	lasts := time.Duration(r.For)
	if lasts <= 0 || lasts > mostLasts {
		return Hunted{}, fmt.Errorf("a search takes more than 0 s and at most %v", mostLasts)
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	began, told := time.Now(), time.Now()
	search := explore.Search{Scenario: s, Variant: v.Name, Drawing: r.Drawing, First: e.Seed, Workers: 1,
		Properties: v.Setup.Judged(v.Setup.Demanded())}
	search.Progress = func(r explore.Report) {
		if time.Since(began) >= lasts { // nothing else may be let in to tell the time
			cancel()
		}
		if time.Since(told) >= tellEvery {
			told = time.Now()
			tell(hunted(&r, "searching"))
		}
	}
	found, err := search.Run(limited)
	if err != nil {
		return Hunted{}, err
	}
	out := hunted(&found, "making it smaller")
	tell(out)
	out.Phase = ""
	var few []explore.Found
	per := make(map[string]int)
	for _, f := range found.Found {
		if per[f.Class]++; per[f.Class] <= shrunkPerClass {
			few = append(few, f)
		}
	}
	best, err := search.ShrinkBest(context.WithoutCancel(ctx), few)
	if err != nil {
		return out, err
	}
	for _, k := range best {
		name := fmt.Sprintf("%.20s-%s-%d", s.Name, k.Property, e.Seed+k.Run)
		text, err := k.YAML(name, fmt.Sprintf("a search in the playground from seed %d on, run %d", e.Seed, k.Run))
		if err != nil {
			return out, err
		}
		note := fmt.Sprintf("%s of %d drawn; with %d of %s it fails as well",
			words.Count(len(k.Setup.Faults.List), "fault"), k.From, k.Robust, words.Count(k.OtherSeeds, "other seed"))
		if k.Failed != nil {
			note = fmt.Sprintf("%s; it could not be made smaller: %v", words.Count(k.From, "fault"), k.Failed)
		}
		out.Found = append(out.Found, Found{string(k.Property), k.Class, k.Seed, note, text, share(&found, k.Class)})
	}
	if len(best) == 0 {
		for _, p := range search.Properties {
			out.Worth = append(out.Worth, fmt.Sprintf("%s: %s", p, found.Worth(p)))
		}
	}
	return out, nil
}

// share says how frequent a class is among schedules drawn afresh.
func share(r *explore.Report, class string) string {
	for _, c := range r.Classes {
		if c.Name == class {
			_, judged := r.JudgedOn(class)
			return report.RateOf(c.Drawn, judged, r.Drawn).String()
		}
	}
	return ""
}

func hunted(r *explore.Report, phase string) Hunted {
	return Hunted{Runs: r.Runs, Behaviours: r.Behaviours, Violations: r.Violations(), Phase: phase}
}

func variantOf(text, name string) (*scenario.Scenario, *scenario.Variant, error) {
	s, err := scenario.Parse("", []byte(text))
	if err != nil {
		return nil, nil, err
	}
	i := max(0, slices.IndexFunc(s.Variants, func(v scenario.Variant) bool { return v.Name == name }))
	if s.Variants[i].Setup.Lock.Program != nil {
		return nil, nil, errProgram
	}
	return s, &s.Variants[i], nil
}

// Rates are what was measured so far.
type Rates struct {
	X        string            `json:"x"`
	Y        string            `json:"y"`
	AxisX    string            `json:"axisX"`
	AxisY    string            `json:"axisY"`
	Property string            `json:"property"`
	Lines    []report.HeatLine `json:"lines"`
	// Done of so many points are measured.
	Done    int    `json:"done"`
	Of      int    `json:"of"`
	Command string `json:"command"`
}

// Bounds of a measurement.
const (
	mostPoints  = 144
	mostAtPoint = 20_000
)

// Sweep measures as it is asked to, row by row, in the scenario and from the seed of an experiment. Where no settings are named, it takes
// those that suit the scenario; where no property is named, linearizable-resource, or what the workload has in its place. tell is told of
// the progress, and may end ctx.
func Sweep(ctx context.Context, e Experiment, g request.Sweep, tell func(Rates)) (Rates, error) {
	s, v, err := variantOf(e.YAML, e.Variant)
	if err != nil {
		return Rates{}, err
	}
	property := measured(v)
	if len(g.Properties) > 0 {
		property = checker.Property(g.Properties[0])
	}
	if g.X == "" && g.Y == "" {
		g.X, g.Y = axes(s, v, g.Steps)
	}
	sweep := explore.Sweep{Scenario: s, Variant: v.Name, Runs: g.Runs, First: e.Seed, Workers: 1, Properties: []checker.Property{property}}
	if sweep.X, err = explore.ParseAxis(g.X, g.Steps); err != nil {
		return Rates{}, err
	}
	rows := 1
	if g.Y != "" {
		if sweep.Y, err = explore.ParseAxis(g.Y, g.Steps); err != nil {
			return Rates{}, err
		}
		rows = len(sweep.Y.Values)
	}
	out := Rates{X: g.X, Y: g.Y, AxisX: sweep.X.Path, AxisY: sweep.Y.Path, Property: string(property), Of: rows * len(sweep.X.Values)}
	switch {
	case out.Of > mostPoints:
		return out, fmt.Errorf("%d points are more than %d", out.Of, mostPoints)
	case g.Runs < 1 || g.Runs > mostAtPoint:
		return out, fmt.Errorf("want 1 to %d runs for each point", mostAtPoint)
	case !slices.Contains(checker.Properties(), property):
		return out, errors.New("there is no such property")
	}
	return sweepRows(ctx, sweep, out, tell)
}

// sweepRows measures row by row. Points with which there can be no run are left out.
func sweepRows(ctx context.Context, sweep explore.Sweep, out Rates, tell func(Rates)) (Rates, error) {
	points, err := sweep.Grid()
	if err != nil {
		return out, err
	}
	grid := report.RateGrid{X: sweep.X.Path, Y: sweep.Y.Path, Columns: sweep.X.Values, Rows: sweep.Y.Values}
	for row := range slices.Chunk(points, len(sweep.X.Values)) {
		if grid.Y != "" {
			sweep.Y.Values = []string{row[0].Y}
		}
		sweep.Progress = func(int, int) {
			out.Done++
			tell(out)
		}
		left := len(row)
		row = slices.Clone(row)
		for _, c := range row {
			if c.Wrong != "" {
				out.Done++
				left--
			}
		}
		if left > 0 {
			if row, err = sweep.Run(ctx); err != nil {
				return out, err
			}
		}
		for _, c := range row {
			rate := report.RateOf(c.Violated[0], c.Judged[0], c.Runs)
			rate.Wrong = c.Wrong
			grid.Cells = append(grid.Cells, rate)
		}
		out.Lines = grid.Heat()
		if ctx.Err() != nil {
			break
		}
	}
	return out, nil
}
