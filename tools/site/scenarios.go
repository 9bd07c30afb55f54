package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/play"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// shown is a scenario with what came of its run.
type shown struct {
	*scenario.Scenario
	Result   *report.Result
	Variants []*variant
}

// variant is one variant of it, with its picture below the site.
type variant struct {
	*report.Variant
	Of            *shown
	Picture       string
	Width, Height int
	// Small is the picture for where there is little room.
	Small struct {
		File          string
		Width, Height int
	}
}

// figure is a picture on a page, from which Up leads to the site's folder.
type figure struct {
	Of *shown
	*variant
	Up   string
	Play bool
}

// Fragment has the playground show the run.
func (f figure) Fragment() (template.URL, error) {
	fragment, err := play.Fragment(f.Of.Text(), seed, f.Name)
	return template.URL(fragment), err // made of a query's own encoding
}

// seed is that of all runs of the site.
const seed = 42

// runAll runs every shipped scenario in the virtual world.
func (s *site) runAll(ctx context.Context) error {
	list, err := scenario.LoadAll(scenario.All)
	if err != nil {
		return err
	}
	s.scenarios = make([]*shown, len(list))
	errs := make([]error, len(list))
	slots := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	for i, sc := range list {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			s.scenarios[i], errs[i] = s.run(ctx, sc)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (s *site) run(ctx context.Context, sc *scenario.Scenario) (*shown, error) {
	folder, err := os.MkdirTemp("", "redlock-sim-site-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	t, err := trial.Run(ctx, sc, trial.Options{Seed: seed, World: request.Virtual, Out: folder, Now: time.Now})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sc.Name, err)
	}
	if !t.Result.Met || t.Result.Undecided || t.Result.Error != "" {
		return nil, fmt.Errorf("%s: not as expected with the seed %d: %s", sc.Name, seed, t.Result.Error)
	}
	out := &shown{Scenario: sc, Result: t.Result}
	for i := range t.Result.Variants {
		v, err := s.draw(out, &t.Result.Variants[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sc.Name, err)
		}
		out.Variants = append(out.Variants, v)
	}
	for i := range t.Result.Variants {
		t.Result.Variants[i].History = nil // they are large, and drawn
	}
	return out, s.copyFile(t.Report, out.ReportFile())
}

// draw draws a variant, if the servers of this machine can do what it asks for.
func (s *site) draw(sc *shown, v *report.Variant) (*variant, error) {
	if v.NotApplicable != "" {
		return &variant{Variant: v, Of: sc}, nil
	}
	out := &variant{Variant: v, Of: sc, Picture: fmt.Sprintf("pictures/%s-%s.svg", sc.Name, v.Name)}
	var b bytes.Buffer
	var err error
	if out.Width, out.Height, err = report.WriteSVG(&b, sc.Result, v.Name); err != nil {
		return nil, err
	}
	if err := s.file(out.Picture, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err }); err != nil {
		return nil, err
	}
	var small bytes.Buffer
	out.Small.File = fmt.Sprintf("pictures/%s-%s-small.svg", sc.Name, v.Name)
	if out.Small.Width, out.Small.Height, err = report.WriteThumb(&small, sc.Result, v.Name); err != nil {
		return nil, err
	}
	return out, s.file(out.Small.File, func(w io.Writer) error { _, err := w.Write(small.Bytes()); return err })
}

// File is the scenario's page, ReportFile its whole report.
func (s *shown) File() string       { return "scenarios/" + s.Name + ".html" }
func (s *shown) ReportFile() string { return "scenarios/" + s.Name + "-report.html" }

// variant finds one by its name; without a name, the first that violates something, or else the first.
func (s *shown) variant(name string) *variant {
	for _, v := range s.Variants {
		if v.Name == name || name == "" && v.violates() {
			return v
		}
	}
	if name != "" {
		return nil
	}
	return s.Variants[0]
}

func (v *variant) violates() bool {
	return slices.ContainsFunc(v.Properties, func(p report.PropertyResult) bool {
		return p.Verdict == checker.Violated && p.Name != checker.ExclusiveBelief
	})
}

// Verdicts are those that the scenario expects something of.
func (v *variant) Verdicts() (list []*report.PropertyResult) {
	for i := range v.Properties {
		if p := &v.Properties[i]; p.Expected != 0 {
			list = append(list, p)
		}
	}
	return list
}

// Words say what came out, for those who cannot see the picture.
func (v *variant) Words() string {
	var broken, kept []string
	for _, p := range v.Verdicts() {
		if p.Verdict == checker.Violated {
			broken = append(broken, fmt.Sprintf("%s is violated: %s", p.Name, p.Why))
		} else {
			kept = append(kept, string(p.Name))
		}
	}
	if len(broken) > 0 {
		return strings.Join(broken, "; ")
	}
	return "no violation of " + strings.Join(kept, ", ")
}

// Told is whether the report has more than one variant to be told apart.
func (v *variant) Told() bool { return len(v.Of.Variants) > 1 }

// Text is the scenario's file; Command runs it.
func (s *shown) Text() string { return s.Scenario.Text }
func (s *shown) Command() string {
	return fmt.Sprintf("sim run %s --seed %d --world virtual", s.Name, seed)
}

func (s *site) scenario(name string) *shown {
	if i := slices.IndexFunc(s.scenarios, func(sc *shown) bool { return sc.Name == name }); i >= 0 {
		return s.scenarios[i]
	}
	return nil
}

// scenarioPages makes a page of each scenario, and their list.
func (s *site) scenarioPages() error {
	for _, sc := range s.scenarios {
		p := &page{File: sc.File(), Title: sc.Title, Kind: "scenario",
			Lead: sc.Name, Source: filepath.ToSlash(filepath.Join("scenarios", sc.Name+".yaml"))}
		data := struct {
			*shown
			Figures []figure
			Way     *way
			Play    bool
		}{sc, nil, s.way(sc.Guarantee), s.play}
		for _, v := range sc.Variants {
			data.Figures = append(data.Figures, figure{sc, v, p.Up(), s.play})
		}
		p.Text, p.From = sc.text(data.Way), p.Source
		if err := s.add(p, "scenario.tmpl", data); err != nil {
			return err
		}
	}
	var groups []*group
	for _, g := range scenario.Guarantees() {
		if list := s.of(g); len(list) > 0 {
			groups = append(groups, &group{g, list, s.way(g)})
		}
	}
	p := &page{File: "scenarios/index.html", Title: "All experiments",
		Kind: "scenarios", Lead: "Every scenario that sim ships, by the guarantee that it puts to the test."}
	p.Text, p.From = groupsText(groups), "scenarios/README.md"
	return s.add(p, "scenarios.tmpl", groups)
}

// group are the scenarios of a guarantee.
type group struct {
	Guarantee scenario.Guarantee
	Scenarios []*shown
	// Way is the page about it; nil: there is none.
	Way *way
}

func (s *site) of(g scenario.Guarantee) (list []*shown) {
	for _, sc := range s.scenarios {
		if sc.Guarantee == g {
			list = append(list, sc)
		}
	}
	return list
}
