package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/verdict"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/picture"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
)

// Experiment is what a page shows: a scenario's text, a seed, and what to look at.
type Experiment struct {
	YAML string `json:"yaml"`
	// Variant is the one to show; empty, or not there: the first.
	Variant string `json:"variant"`
	// Seed is written as a text: numbers of JavaScript are not that long.
	Seed uint64 `json:"seed,string"`
	// Changes are carried out in the text first.
	Changes []scenario.Change `json:"changes,omitempty"`
	// ID begins the ids of the picture, Width is that of its plot in pixels; From and To are what it shows, in ns,
	// equal where the picture may choose.
	ID    string `json:"id"`
	Width int    `json:"width"`
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	// Explain: find from which event on what is violated was certain, and draw it.
	Explain bool `json:"explain,omitempty"`
}

// Answer is what came of it.
type Answer struct {
	// YAML is the text with the changes.
	YAML string `json:"yaml"`
	// Problems are what is wrong with the text. Where there are any, nothing was run.
	Problems []Problem `json:"problems,omitempty"`
	// Error is why it could not be run.
	Error string `json:"error,omitempty"`
	Name  string `json:"name,omitempty"`
	Title string `json:"title,omitempty"`
	// Tree is what the variant says, whether or not it can be run.
	Tree    any      `json:"tree,omitempty"`
	Variant string   `json:"variant"`
	Tabs    []Tab    `json:"tabs,omitempty"`
	Cast    *Cast    `json:"cast,omitempty"`
	Points  []string `json:"points,omitempty"`
	// Telling and Drawing are what to show of the variant.
	Telling *report.Telling  `json:"telling,omitempty"`
	Drawing *picture.Drawing `json:"drawing,omitempty"`
	Faults  []Fault          `json:"faults,omitempty"`
	// Explained is there if that was asked for, and something is violated.
	Explained *Explained `json:"explained,omitempty"`
	// RunMicros is how long all runs and judgements took, DrawMicros the drawing, in microseconds.
	RunMicros  int64 `json:"runMicros"`
	DrawMicros int64 `json:"drawMicros"`
}

// Problem is a mistake in the text, with its place.
type Problem struct {
	Line    int      `json:"line"`
	Column  int      `json:"column"`
	Path    string   `json:"path,omitempty"`
	Message string   `json:"message"`
	Allowed []string `json:"allowed,omitempty"`
	Hint    string   `json:"hint,omitempty"`
}

// Tab is a variant and its outcome.
type Tab struct {
	Name     string   `json:"name"`
	Class    string   `json:"class"`
	Icon     string   `json:"icon"`
	Word     string   `json:"word"`
	Violated []string `json:"violated,omitempty"`
}

// Cast is who takes part.
type Cast struct {
	Clients   []string `json:"clients"`
	Nodes     []string `json:"nodes"`
	Endpoints []string `json:"endpoints"`
	Replicas  []string `json:"replicas,omitempty"`
	Sentinels []string `json:"sentinels,omitempty"`
}

// Fault is a fault, and how often it struck; Failed says why it did not take effect.
type Fault struct {
	Kind   string `json:"kind"`
	Target string `json:"target"`
	When   string `json:"when"`
	Fired  int    `json:"fired"`
	Failed string `json:"failed,omitempty"`
}

// Play runs an experiment and draws it.
func Play(ctx context.Context, e Experiment) Answer {
	a := Answer{YAML: e.YAML, Variant: e.Variant}
	if len(e.Changes) > 0 {
		text, err := scenario.Edit([]byte(e.YAML), e.Variant, e.Changes)
		if err != nil {
			a.fail(err)
			return a
		}
		a.YAML = string(text)
	}
	tree, variants, err := scenario.Tree([]byte(a.YAML), a.Variant)
	if len(variants) > 0 && !slices.Contains(variants, a.Variant) {
		a.Variant = variants[0]
		tree, _, err = scenario.Tree([]byte(a.YAML), a.Variant)
	}
	if err == nil {
		a.Tree = tree
	}
	for _, name := range variants {
		a.Tabs = append(a.Tabs, Tab{Name: name})
	}
	s, err := scenario.Parse("", []byte(a.YAML))
	if err != nil {
		a.fail(err)
		return a
	}
	a.run(ctx, s, &e)
	return a
}

// fail says what is wrong.
func (a *Answer) fail(err error) {
	problems, ok := errors.AsType[yamlform.Problems](err)
	if !ok {
		a.Error = err.Error()
		return
	}
	for _, p := range problems {
		a.Problems = append(a.Problems, Problem{p.Line, p.Column, p.Path, p.Message, p.Allowed, p.Hint})
	}
}

// run runs all variants, and draws one.
func (a *Answer) run(ctx context.Context, s *scenario.Scenario, e *Experiment) {
	a.Name, a.Title, a.Tabs = s.Name, s.Title, nil
	result, began := verdict.Result(s, world, e.Seed, time.Time{}), time.Now()
	if err := runAll(ctx, s, result); err != nil {
		a.Error = err.Error()
		return
	}
	shown := 0
	for i := range result.Variants {
		v := &result.Variants[i]
		told := report.Tell(v)
		tab := Tab{Name: v.Name, Class: told.Class, Icon: told.Icon, Word: told.Word}
		for _, c := range told.Chips {
			if c.Class == "unsafe" {
				tab.Violated = append(tab.Violated, c.Property)
			}
		}
		a.Tabs = append(a.Tabs, tab)
		if v.Name == a.Variant {
			shown = i
		}
	}
	v, setup := &result.Variants[shown], &s.Variants[shown].Setup
	cast := setup.Cast()
	a.Variant, a.Points = v.Name, setup.Points()
	a.Cast = &Cast{cast.Clients, cast.Nodes, cast.Endpoints, cast.Replicas, cast.Sentinels}
	for i := range v.Faults {
		f := &v.Faults[i]
		a.Faults = append(a.Faults, Fault{f.Fault, f.Target, f.When, f.Fired, f.Failed})
	}
	told := report.Tell(v)
	a.Telling, a.RunMicros = &told, time.Since(began).Microseconds()
	if e.Explain {
		x, err := latest.explain(ctx, s, v, e.Seed)
		if err != nil {
			a.Error = err.Error()
			return
		}
		if v.Explained = x; x != nil {
			a.Explained = &Explained{x.Lead(), x.Basis()}
		}
	}
	began = time.Now()
	drawing, err := picture.Draw(v.Subject(), picture.Options{ID: e.ID, Width: e.Width, From: time.Duration(e.From), To: time.Duration(e.To)})
	if err != nil {
		a.Error = err.Error()
		return
	}
	a.Drawing, a.DrawMicros = drawing, time.Since(began).Microseconds()
}

// world is the name of the world in which all this happens.
const world = "virtual"

// errProgram says that a scenario's lock is a program.
var errProgram = errors.New("the lock of this scenario is a program of its own, and a program runs in real time: " +
	"sim run --allow-programs runs it among real servers")

// runAll runs and judges all variants of a scenario.
func runAll(ctx context.Context, s *scenario.Scenario, result *report.Result) error {
	for i := range s.Variants {
		h, v, err := runOne(ctx, &s.Variants[i], s.Name, result.Seed)
		if err != nil {
			return err
		}
		v.History = h
		verdict.Judge(ctx, s.Variants[i], v)
		result.Variants = append(result.Variants, *v)
	}
	verdict.SumUp(result)
	return nil
}

func runOne(ctx context.Context, v *scenario.Variant, name string, seed uint64) (*history.History, *report.Variant, error) {
	if v.Setup.Lock.Program != nil {
		return nil, nil, errProgram
	}
	place := &explore.Virtual{}
	defer place.Close()
	out, err := place.Run(ctx, runner.Config{Scenario: name, Variant: *v, Seed: seed})
	if err != nil {
		return nil, nil, err
	}
	return out.History, &report.Variant{Name: v.Name, Settings: v.Settings, Interrupted: out.Interrupted, TimedOut: out.TimedOut}, nil
}

// Picture is the picture of an experiment as an SVG file.
func Picture(ctx context.Context, e Experiment) (string, error) {
	s, err := scenario.Parse("", []byte(e.YAML))
	if err != nil {
		return "", err
	}
	result := verdict.Result(s, world, e.Seed, time.Time{})
	if err := runAll(ctx, s, result); err != nil {
		return "", err
	}
	var svg bytes.Buffer
	_, _, err = report.WriteSVG(&svg, result, e.Variant)
	return svg.String(), err
}

// Hashes are the SHA-256 sums, in hex, of the histories of a scenario's variants with a seed: what a run does, to the
// nanosecond, and nothing else.
func Hashes(ctx context.Context, text string, seed uint64) (map[string]string, error) {
	s, err := scenario.Parse("", []byte(text))
	if err != nil {
		return nil, err
	}
	sums := make(map[string]string)
	for i := range s.Variants {
		h, _, err := runOne(ctx, &s.Variants[i], s.Name, seed)
		if err != nil {
			return nil, err
		}
		sum := sha256.New()
		if err := history.Encode(sum, h); err != nil {
			return nil, err
		}
		sums[s.Variants[i].Name] = hex.EncodeToString(sum.Sum(nil))
	}
	return sums, nil
}

// Choices are what a page offers.
type Choices struct {
	Scenarios  []Shipped   `json:"scenarios"`
	Algorithms []Algorithm `json:"algorithms"`
	Kinds      []Choice    `json:"kinds"`
	// Drawn are the kinds of faults that a search draws.
	Drawn []string `json:"drawn"`
}

// Shipped is a scenario that sim ships.
type Shipped struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Variants []string `json:"variants"`
	YAML     string   `json:"yaml"`
}

// Algorithm is a built-in lock, and what can be chosen for it.
type Algorithm struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Nodes string `json:"nodes"`
	Least int    `json:"least"`
	Most  int    `json:"most"`
	// Semaphore: it has permits.
	Semaphore bool     `json:"semaphore,omitempty"`
	Tokens    []Choice `json:"tokens"`
	Switches  []string `json:"switches"`
}

// Choice is a word, and a line about it.
type Choice struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

// Offer lists the choices.
func Offer() (Choices, error) {
	c := Choices{Drawn: explore.Kinds()}
	shipped, err := scenario.LoadAll(scenario.All)
	if err != nil {
		return c, err
	}
	for _, s := range shipped {
		if slices.ContainsFunc(s.Variants, func(v scenario.Variant) bool { return v.Setup.Lock.Program != nil || v.Setup.Nodes.Clustered() }) {
			continue
		}
		one := Shipped{Name: s.Name, Title: s.Title, YAML: s.Text}
		for i := range s.Variants {
			one.Variants = append(one.Variants, s.Variants[i].Name)
		}
		c.Scenarios = append(c.Scenarios, one)
	}
	for _, a := range lock.Algorithms() {
		one := Algorithm{Name: a.Name, Title: a.Title, Nodes: a.NodeRange(), Least: a.MinNodes, Most: a.MaxNodes, Semaphore: a.Semaphore,
			Switches: a.Mistakes.Rules()}
		for _, t := range a.Tokens {
			one.Tokens = append(one.Tokens, Choice{string(t), t.Title()})
		}
		c.Algorithms = append(c.Algorithms, one)
	}
	for _, k := range nemesis.Kinds() {
		c.Kinds = append(c.Kinds, Choice{k.Name, k.Title})
	}
	return c, nil
}
