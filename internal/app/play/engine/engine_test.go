package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/play/engine"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// stalled is a client that stalls for 2 s in its section.
const stalled = `name: stalled
lock: {algorithm: redlock, ttl: 1s, node_timeout: 50ms}
workload: {kind: increment, clients: 2, sections: 1, think: 300ms}
faults:
  - at: 100ms # in its section
    pause: {client: c1, for: 2s}
`

func change(t *testing.T, path, value string) scenario.Change {
	t.Helper()
	var c scenario.Change
	if err := json.Unmarshal([]byte(`{"path":`+path+`,"value":`+value+`}`), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// A ttl above the pause keeps what one below it breaks.
func TestPlay(t *testing.T) {
	e := engine.Experiment{YAML: stalled, Seed: 1, ID: "p", Width: 800}
	broken := engine.Play(context.Background(), e)
	if broken.Error != "" || len(broken.Problems) > 0 || len(broken.Tabs) != 1 {
		t.Fatalf("%+v", broken)
	}
	if !slices.Contains(broken.Tabs[0].Violated, "exclusive-belief") {
		t.Errorf("a pause of 2 s with a ttl of 1 s violates only %v", broken.Tabs[0].Violated)
	}
	if d := broken.Drawing; d == nil || len(d.Bands) != 1 || d.Bands[0].Fault != 1 ||
		d.Bands[0].From != int64(100*time.Millisecond) || !strings.Contains(d.HTML, `<svg class="picture"`) {
		t.Errorf("the drawing: %+v", broken.Drawing)
	}
	if c := broken.Telling; c == nil || c.Broke == "" || len(c.Story) == 0 {
		t.Errorf("what broke: %+v", broken.Telling)
	}
	e.Changes = []scenario.Change{change(t, `["lock","ttl"]`, `"5s"`)}
	kept := engine.Play(context.Background(), e)
	if len(kept.Tabs) != 1 || len(kept.Tabs[0].Violated) > 0 {
		t.Errorf("with a ttl of 5 s: %+v", kept.Tabs)
	}
	if !strings.Contains(kept.YAML, "ttl: 5s") || !strings.Contains(kept.YAML, "# in its section") {
		t.Errorf("the text:\n%s", kept.YAML)
	}
	e.From, e.To = int64(50*time.Millisecond), int64(150*time.Millisecond)
	if d := engine.Play(context.Background(), e).Drawing; d.From != e.From || d.To != e.To {
		t.Errorf("the window is %d to %d", d.From, d.To)
	}
}

// Mistakes come with their place, and what the text says all the same.
func TestPlayOfMistakes(t *testing.T) {
	a := engine.Play(context.Background(), engine.Experiment{YAML: strings.Replace(stalled, "1s, node", "1x, node", 1), Seed: 1})
	if len(a.Problems) != 1 || a.Problems[0].Line != 2 || a.Problems[0].Column != 33 || a.Problems[0].Path != "lock.ttl" {
		t.Fatalf("%+v", a.Problems)
	}
	if lock := a.Tree.(map[string]any)["lock"].(map[string]any); lock["ttl"] != "1x" || a.Drawing != nil {
		t.Errorf("%v, %v", lock, a.Drawing)
	}
	for _, text := range []string{"", "a: [", "name: x\nlock: {program: {command: [x]}}\n", "[]", strings.Repeat("a", 2<<20)} {
		a := engine.Play(context.Background(), engine.Experiment{YAML: text, Seed: 1})
		if len(a.Problems) == 0 && a.Error == "" {
			t.Errorf("%.20q: no complaint", text)
		}
	}
}

func TestSearch(t *testing.T) {
	text := strings.Replace(stalled, "for: 2s", "for: 1ms", 1)
	told := 0
	got, err := engine.Search(context.Background(),
		engine.Experiment{YAML: text, Seed: 1}, request.Search{For: request.Duration(3 * time.Second)}, func(engine.Hunted) {
			told++
		})
	if err != nil || got.Runs == 0 || told == 0 || len(got.Found) == 0 {
		t.Fatalf("%+v, told %d times: %v", got, told, err)
	}
	for _, f := range got.Found {
		a := engine.Play(context.Background(), engine.Experiment{YAML: f.YAML, Seed: f.Seed})
		if len(a.Tabs) != 1 || !slices.Contains(a.Tabs[0].Violated, f.Property) {
			t.Errorf("%s is not violated by what was found for it: %+v\n%s", f.Property, a.Tabs, f.YAML)
		}
	}
	if _, err := engine.Search(context.Background(), engine.Experiment{YAML: text}, request.Search{For: request.Duration(time.Hour)},
		func(engine.Hunted) {}); err == nil {
		t.Error("a search of an hour was begun")
	}
}

func TestSweep(t *testing.T) {
	about := engine.Experiment{YAML: stalled, Seed: 1}
	grid := request.Sweep{X: "lock.ttl=500ms,5s", Y: "faults.pause=100ms,2s", Steps: 2, Runs: 5}
	got, err := engine.Sweep(context.Background(), about, grid, func(engine.Rates) {})
	if err != nil || got.Done != 4 || len(got.Lines) != 2 {
		t.Fatalf("%+v: %v", got, err)
	}
	if long := got.Lines[1].Tiles; long[0].Text != "100.0 %" || long[1].Text != "0.0 %" {
		t.Errorf("a pause of 2 s: %+v", long)
	}
	grid.X, grid.Y = "", ""
	if got, err := engine.Sweep(context.Background(), about, grid, func(engine.Rates) {}); err != nil || got.AxisY != "faults.pause" {
		t.Errorf("by itself it measures %s and %s: %v", got.AxisX, got.AxisY, err)
	}
	for _, bad := range []request.Sweep{{Runs: 1e9, Steps: 2},
		{Runs: 1, Steps: 13}, {Runs: 1, Steps: 2, X: "lock.nothing=1,2"},
		{Runs: 1, Steps: 2, Target: request.Target{Properties: []string{"x"}}}} {
		if _, err := engine.Sweep(context.Background(), about, bad, func(engine.Rates) {}); err == nil {
			t.Errorf("%+v was measured", bad)
		}
	}
}

// Every shipped scenario can be shown, or says why not.
func TestShippedScenarios(t *testing.T) {
	offer, err := engine.Offer()
	if err != nil {
		t.Fatal(err)
	}
	programs := 0
	for _, s := range scenariotest.Shipped(t) {
		if slices.ContainsFunc(s.Variants, func(v scenario.Variant) bool {
			return v.Setup.Lock.Program != nil || v.Setup.Nodes.Clustered()
		}) {
			programs++
		}
	}
	if len(offer.Scenarios)+programs != len(scenariotest.Shipped(t)) {
		t.Errorf("%d scenarios are offered, and %d have programs or are clusters, of %d",
			len(offer.Scenarios), programs, len(scenariotest.Shipped(t)))
	}
	for _, s := range offer.Scenarios {
		a := engine.Play(context.Background(), engine.Experiment{YAML: s.YAML, Seed: 1, ID: "p", Width: 900})
		if a.Error != "" || len(a.Problems) > 0 || a.Drawing == nil || len(a.Tabs) != len(s.Variants) {
			t.Errorf("%s: %s %v", s.Name, a.Error, a.Problems)
		}
	}
}

// The playground tells of each variant what sim run tells of it with the same seed, and draws the same picture.
func TestPlayIsAsTheCommand(t *testing.T) {
	for _, name := range []string{"gc-pause", "random-faults", "split-votes"} {
		shipped := scenariotest.Shipped(t)
		s := shipped[slices.IndexFunc(shipped, func(s *scenario.Scenario) bool { return s.Name == name })]
		one, err := trial.Run(context.Background(), s, trial.Options{Seed: 42, World: request.Virtual, Out: t.TempDir(), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		for i := range one.Result.Variants {
			v := &one.Result.Variants[i]
			e := engine.Experiment{YAML: s.Text, Seed: 42, Variant: v.Name, ID: "p", Width: 800}
			if got, want := engine.Play(context.Background(), e).Telling, report.Tell(v); !reflect.DeepEqual(*got, want) {
				t.Errorf("%s, %s: the playground tells\n%+v\nsim run\n%+v", name, v.Name, *got, want)
			}
			var want bytes.Buffer
			if _, _, err := report.WriteSVG(&want, one.Result, v.Name); err != nil {
				t.Fatal(err)
			}
			if got, err := engine.Picture(context.Background(), e); err != nil || got != want.String() {
				t.Errorf("%s, %s: another picture than that of sim run: %v", name, v.Name, err)
			}
		}
	}
}

// How long a change takes: edit, run, judge, tell, draw.
func BenchmarkPlay(b *testing.B) {
	offer, err := engine.Offer()
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"gc-pause", "sentinel-failover", "many-clients"} {
		i := slices.IndexFunc(offer.Scenarios, func(s engine.Shipped) bool { return s.Name == name })
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				engine.Play(context.Background(), engine.Experiment{YAML: offer.Scenarios[i].YAML, Seed: 1, ID: "p", Width: 900})
			}
		})
	}
}

// "Measure how often" works at once with every scenario that the page offers, in each of its variants: with the settings that it proposes
// most points have a rate.
func TestEveryScenarioCanBeMeasured(t *testing.T) {
	offer, err := engine.Offer()
	if err != nil {
		t.Fatal(err)
	}
	steps, variants := suite.Amount(t, 7, 3), suite.Amount(t, 100, 1) // the page takes 7 steps
	for _, s := range offer.Scenarios {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			for _, v := range s.Variants[:min(variants, len(s.Variants))] {
				about := engine.Experiment{YAML: s.YAML, Variant: v, Seed: 1}
				got, err := engine.Sweep(context.Background(), about, request.Sweep{Steps: steps, Runs: 1}, func(engine.Rates) {})
				if err != nil {
					t.Errorf("%s: %v", v, err)
					continue
				}
				measured := 0
				for _, line := range got.Lines {
					for _, tile := range line.Tiles {
						if tile.Text != "cannot work" {
							measured++
						}
					}
				}
				if got.Done != got.Of || 2*measured < got.Of {
					t.Errorf("%s: %d of %d points were done, %d can be measured; %s and %s", v, got.Done, got.Of, measured, got.X, got.Y)
				}
			}
		})
	}
}

// The point of no return of what is shown is found if that is asked for, and drawn.
func TestExplain(t *testing.T) {
	e := engine.Experiment{YAML: stalled, Seed: 7, ID: "p", Width: 900}
	if a := engine.Play(t.Context(), e); a.Explained != nil || strings.Contains(a.Drawing.HTML, "odds-no-return") {
		t.Error("explained without a question")
	}
	e.Explain = true
	a := engine.Play(t.Context(), e)
	if a.Explained == nil || !strings.Contains(a.Explained.Lead, "the pause of c1 begins") ||
		!strings.Contains(a.Drawing.HTML, "odds-no-return") {
		t.Fatalf("not explained: %+v %s", a.Explained, a.Error)
	}
	e.From, e.To = a.Drawing.From, a.Drawing.To/2
	if again := engine.Play(t.Context(), e); *again.Explained != *a.Explained {
		t.Errorf("another window, another explanation: %+v", again.Explained)
	}
	e.Changes = []scenario.Change{change(t, `["lock","ttl"]`, `"5s"`)}
	if a := engine.Play(t.Context(), e); a.Explained != nil || a.Error != "" {
		t.Errorf("nothing is violated: %+v %s", a.Explained, a.Error)
	}
}
