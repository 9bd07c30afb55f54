package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Axis is what a sweep varies: a setting of the scenario (lock.ttl=250ms..10s),
// or how long the faults of a kind last, drawn anew in each run
// (faults.pause=exp(mean=50ms..5s)).
type Axis struct {
	// Path is the setting, or "faults." and a kind.
	Path string
	// Values in their order, as a scenario writes them.
	Values []string
}

var axisForm = regexp.MustCompile(`^([a-z_.-]+)=(.*?)([0-9.]+[a-zµ]*)\.\.([0-9.]+[a-zµ]*)(.*)$`)

// ParseAxis reads an axis and lays steps values on it, spaced by equal factors
// where the range is wide. A list, lock.ttl=1s,2s,5s, gives the values one by
// one.
func ParseAxis(text string, steps int) (Axis, error) {
	m := axisForm.FindStringSubmatch(text)
	if m == nil {
		path, list, ok := strings.Cut(text, "=")
		if !ok || path == "" || list == "" {
			return Axis{}, fmt.Errorf("%q: want a setting and its range, as lock.ttl=250ms..10s", text)
		}
		return Axis{Path: path, Values: strings.Split(list, ",")}, nil
	}
	low, err1 := time.ParseDuration(m[3])
	high, err2 := time.ParseDuration(m[4])
	if err1 != nil || err2 != nil || low <= 0 || high <= low || steps < 2 {
		return Axis{}, fmt.Errorf("%q: want a range of durations, the larger last, and at least 2 steps, "+
			"or a list such as nodes.count=1,3,5", text)
	}
	a := Axis{Path: m[1]}
	for i := range steps {
		share := float64(i) / float64(steps-1)
		d := float64(low) + float64(share*float64(high-low)) // rounded twice on every processor
		if high >= 8*low {
			d = float64(low) * math.Pow(float64(high)/float64(low), share)
		}
		a.Values = append(a.Values, m[2]+roundTo(time.Duration(d), 2).String()+m[5])
	}
	a.Values = slices.Compact(a.Values)
	return a, nil
}

// roundTo keeps so many digits of a duration, for people to read.
func roundTo(d time.Duration, digits int) time.Duration {
	unit := time.Duration(math.Pow10(max(int(math.Log10(float64(d)))+1-digits, 0)))
	return d.Round(unit)
}

// Sweep says what to measure.
type Sweep struct {
	Scenario   *scenario.Scenario
	Variant    string
	X, Y       Axis // Y without values: one row
	Runs       uint64
	First      uint64
	Properties []checker.Property
	Workers    int
	// Progress is told how many cells are done; nil: nobody.
	Progress func(done, of int)
}

// Cell is a point of the grid.
type Cell struct {
	X string `json:"x"`
	Y string `json:"y,omitempty"`
	// Runs were made. By property, in the order of Sweep.Properties: Judged of them
	// put it to the test, and Violated of those violated it.
	Runs     uint64   `json:"runs"`
	Judged   []uint64 `json:"judged"`
	Violated []uint64 `json:"violated"`
	// Wrong is why there can be no run with these settings; empty: there can.
	Wrong string `json:"wrong,omitempty"`
}

// MergeCells adds what was measured at the same points with other seeds. It does not matter in which order.
func MergeCells(grids ...[]Cell) ([]Cell, error) {
	var sum []Cell
	for _, cells := range grids {
		if sum == nil {
			for _, c := range cells {
				c.Runs, c.Judged, c.Violated = 0, make([]uint64, len(c.Judged)), make([]uint64, len(c.Violated))
				sum = append(sum, c)
			}
		}
		if len(cells) != len(sum) {
			return nil, fmt.Errorf("%d points, and %d", len(sum), len(cells))
		}
		for i, c := range cells {
			to := &sum[i]
			if c.X != to.X || c.Y != to.Y || len(c.Judged) != len(to.Judged) || len(c.Violated) != len(to.Violated) {
				return nil, fmt.Errorf("the point %q, %q, and another one in its place", to.X, to.Y)
			}
			to.Runs += c.Runs
			for j := range c.Judged {
				to.Judged[j] += c.Judged[j]
				to.Violated[j] += c.Violated[j]
			}
		}
	}
	return sum, nil
}

// Run measures the whole grid, row by row. A context that ends leaves the cells
// that are done.
func (s Sweep) Run(ctx context.Context) ([]Cell, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cells, err := s.Grid()
	if err != nil {
		return nil, err
	}
	m := measuring{Sweep: s}
	for i := range cells {
		if cells[i].Wrong == "" {
			m.points = append(m.points, &point{Cell: &cells[i]})
		}
	}
	var wg sync.WaitGroup
	for range max(s.Workers, 1) {
		wg.Go(func() {
			for p := m.claim(); p != nil && ctx.Err() == nil; p = m.claim() {
				if err := m.measure(ctx, p); err != nil {
					m.fail(err)
					cancel()
				}
			}
		})
	}
	wg.Wait()
	if errors.Is(m.failed, context.Canceled) {
		m.failed = nil
	}
	return cells, m.failed
}

// measuring is a sweep in progress.
type measuring struct {
	Sweep
	points []*point
	// begun is how many points somebody has begun with.
	begun atomic.Int64

	mu     sync.Mutex // for what follows, and for the cells
	done   int
	failed error
}

// point is a cell that is being measured, by one worker or by several. Each run depends on its seed alone.
type point struct {
	*Cell
	// taken is how many of its runs somebody makes, or has made.
	taken atomic.Uint64
}

// claim is a point to work at: one that nobody has begun with, or, where there is none any more, that of which most runs
// are left. So nobody is idle while others have a point each to finish. nil: nothing is left.
func (m *measuring) claim() *point {
	if i := m.begun.Add(1) - 1; int(i) < len(m.points) {
		return m.points[i]
	}
	least, most := m.Runs, (*point)(nil)
	for i := range m.points {
		if taken := m.points[i].taken.Load(); taken < least {
			least, most = taken, m.points[i]
		}
	}
	return most
}

func (m *measuring) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed == nil {
		m.failed = err
	}
}

// add adds what a worker has measured of a point.
func (m *measuring) add(p *point, mine *Cell) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p.Runs += mine.Runs
	for i := range mine.Judged {
		p.Judged[i] += mine.Judged[i]
		p.Violated[i] += mine.Violated[i]
	}
	if mine.Runs > 0 && p.Runs == m.Runs {
		m.done++
		if m.Progress != nil {
			m.Progress(m.done, len(m.points))
		}
	}
}

// Grid lists the points, and says of each with which there can be no run why. Where there can be none with any, it is an error: that of
// the first.
func (s Sweep) Grid() ([]Cell, error) {
	if s.X.Path == s.Y.Path {
		return nil, fmt.Errorf("%s varies in both directions: name two settings", s.X.Path)
	}
	ys := s.Y.Values
	if len(ys) == 0 {
		ys = []string{""}
	}
	var cells []Cell
	var refused error
	some := false
	for _, y := range ys {
		for _, x := range s.X.Values {
			c := Cell{X: x, Y: y, Judged: make([]uint64, len(s.Properties)), Violated: make([]uint64, len(s.Properties))}
			if err := s.try(x, y); err != nil {
				c.Wrong, _, _ = strings.Cut(err.Error(), "\n") // without the hint
				refused = cmp.Or(refused, fmt.Errorf("%s: %w", s.Label(x, y), err))
			}
			some = some || c.Wrong == ""
			cells = append(cells, c)
		}
	}
	if !some {
		return nil, refused
	}
	return cells, nil
}

// try says what is wrong with a point of the grid.
func (s Sweep) try(x, y string) error {
	setup, err := s.cellSetup(x, y)
	if err == nil {
		_, err = s.lengths(setup, x, y)
	}
	return err
}

// Label names a point of the grid by its settings.
func (s Sweep) Label(x, y string) string {
	text := s.X.Path + "=" + x
	if s.Y.Path != "" {
		text += ", " + s.Y.Path + "=" + y
	}
	return text
}

// measure makes those runs of a point that nobody else takes.
func (m *measuring) measure(ctx context.Context, p *point) error {
	setup, err := m.cellSetup(p.X, p.Y)
	if err != nil {
		return err
	}
	lengths, err := m.lengths(setup, p.X, p.Y)
	if err != nil {
		return err
	}
	b := newBench(ctx, m.Scenario.Name, nil)
	defer b.close()
	b.faults = len(setup.Faults.List)
	mine := &Cell{Judged: make([]uint64, len(m.Properties)), Violated: make([]uint64, len(m.Properties))}
	defer m.add(p, mine)
	for n := p.taken.Add(1) - 1; n < m.Runs; n = p.taken.Add(1) - 1 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		seed := m.First + n
		r := rand.New(rand.NewPCG(seed, 0x7377656570))
		for _, l := range lengths {
			*l.d = max(l.from.Draw(r), time.Millisecond)
		}
		v, err := b.run(setup, seed, m.Properties)
		if err != nil {
			return err
		}
		mine.Runs++
		for i, p := range m.Properties {
			if v.judged(p) {
				mine.Judged[i]++
			}
			if v.violated(p) {
				mine.Violated[i]++
			}
		}
	}
	return nil
}

// cellSetup is the scenario with the cell's settings.
func (s Sweep) cellSetup(x, y string) (*scenario.Setup, error) {
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(s.Scenario.Text), &tree); err != nil {
		return nil, err
	}
	if variants, ok := tree["variants"].(map[string]any); ok {
		overlay, _ := variants[s.Variant].(map[string]any)
		merge(tree, overlay)
	}
	for _, block := range []string{"variants", "expect", "demands"} {
		delete(tree, block)
	}
	for _, set := range []struct{ path, value string }{{s.X.Path, x}, {s.Y.Path, y}} {
		if set.path != "" && !strings.HasPrefix(set.path, "faults.") {
			put(tree, strings.Split(set.path, "."), set.value)
		}
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		return nil, err
	}
	parsed, err := scenario.Parse("", text) // no file says this
	if err != nil {
		return nil, err
	}
	return &parsed.Variants[0].Setup, nil
}

func merge(base, overlay map[string]any) {
	for key, value := range overlay {
		under, ok1 := base[key].(map[string]any)
		over, ok2 := value.(map[string]any)
		if ok1 && ok2 {
			merge(under, over)
		} else {
			base[key] = value
		}
	}
}

// put sets what is at a path; scalars become numbers and words by YAML's rules.
func put(tree map[string]any, path []string, value string) {
	if len(path) > 1 {
		below, ok := tree[path[0]].(map[string]any)
		if !ok {
			below = make(map[string]any)
			tree[path[0]] = below
		}
		put(below, path[1:], value)
		return
	}
	var scalar any
	if yaml.Unmarshal([]byte(value), &scalar) != nil {
		scalar = value
	}
	tree[path[0]] = scalar
}

// length is the length of a fault, and where it is drawn from.
type length struct {
	d    *time.Duration
	from nemesis.Distribution
}

// lengths finds the faults whose lengths an axis draws.
func (s Sweep) lengths(setup *scenario.Setup, x, y string) ([]length, error) {
	var list []length
	for _, set := range []struct{ path, value string }{{s.X.Path, x}, {s.Y.Path, y}} {
		kind, ok := strings.CutPrefix(set.path, "faults.")
		if !ok {
			continue
		}
		var from nemesis.Distribution
		if err := from.UnmarshalText([]byte(set.value)); err != nil {
			return nil, err
		}
		if d, err := time.ParseDuration(set.value); err == nil && d < time.Millisecond {
			return nil, fmt.Errorf("want at least 1ms, got %v", d)
		}
		before := len(list)
		for i := range setup.Faults.List {
			f := &setup.Faults.List[i]
			if f.Kind != kind {
				continue
			}
			d := reflect.ValueOf(f.Params).Elem().FieldByName("For")
			if !d.IsValid() {
				return nil, fmt.Errorf("a fault %q has no length", kind)
			}
			list = append(list, length{d.Addr().Interface().(*time.Duration), from})
		}
		if len(list) == before {
			return nil, fmt.Errorf("the scenario lists no fault %q", kind)
		}
	}
	return list, nil
}
