package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/conform"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// ownLock is the lock that an agent puts in the place of a scenario's. Left out, it is that of sim.yaml, where programs are permitted;
// empty, there is none.
type ownLock struct {
	Lock *string `json:"lock,omitempty" jsonschema:"a lock in the place of the scenario's: a lock of sim, as in 'redlock --switch quorum', or with --allow-programs the command of a lock program; left out: that of sim.yaml, if there is one and programs are allowed; empty: the scenario's own"`
}

// chosenLock is the lock for a request. It notes where sim.yaml names one that may not be started.
func (m *agents) chosenLock(c *call, in ownLock) string {
	switch {
	case in.Lock != nil:
		return *in.Lock
	case m.project.Lock != "" && !m.programs:
		fmt.Fprintf(&c.printed, "note: sim.yaml names a lock program, which is not started: %s; the lock is the scenario's own\n", programHint)
		return ""
	}
	return m.project.Lock
}

type runIn struct {
	named
	ownLock
	Seed    uint64 `json:"seed,omitempty" jsonschema:"the seed for everything random; the same seed makes the same run; default: 1"`
	Seconds int    `json:"seconds,omitempty" jsonschema:"how long it may take; default: 60, at most 600"`
}

// toldRun is a run for programs.
type toldRun struct {
	Scenario string        `json:"scenario"`
	Outcome  string        `json:"outcome" jsonschema:"as expected, not as expected, undecided, or failed"`
	World    string        `json:"world"`
	Seed     uint64        `json:"seed"`
	Variants []toldVariant `json:"variants"`
	Folder   string        `json:"folder" jsonschema:"what explain_run takes"`
	Report   string        `json:"report" jsonschema:"the page with the picture of the run"`
	Replay   string        `json:"replay,omitempty" jsonschema:"the command line that makes the same run again"`
}

type toldVariant struct {
	Name          string         `json:"name"`
	NotApplicable string         `json:"not_applicable,omitempty" jsonschema:"why it was not run"`
	Error         string         `json:"error,omitempty"`
	Doubt         string         `json:"doubt,omitempty" jsonschema:"why the run tells nothing"`
	Properties    []toldProperty `json:"properties,omitempty"`
}

type toldProperty struct {
	Property   string   `json:"property"`
	Verdict    string   `json:"verdict" jsonschema:"holds, violated or unknown"`
	Expected   string   `json:"expected,omitempty"`
	Met        bool     `json:"met" jsonschema:"the verdict is the expected one, or none is expected"`
	Why        string   `json:"why"`
	Story      []string `json:"story,omitempty" jsonschema:"what happened in case of a violation"`
	Assumption string   `json:"assumption,omitempty" jsonschema:"what was assumed in vain"`
}

// outcomes are the words for exit codes.
var outcomes = map[int]string{app.ExitMet: "as expected", app.ExitUnexpected: "not as expected", app.ExitUndecided: "undecided"}

// tellRun is a run for programs. Much of it may quote what a lock program printed.
func tellRun(t *trial.Trial) toldRun {
	r := t.Result
	out := toldRun{Scenario: r.Scenario, World: r.World, Seed: r.Seed, Folder: shortPath(t.Dir), Report: shortPath(t.Report),
		Replay: fit(r.Replay)}
	out.Outcome = cmp.Or(outcomes[app.ExitOf(r, false)], "failed")
	if r.Interrupted && out.Outcome == outcomes[app.ExitMet] {
		out.Outcome = outcomes[app.ExitUndecided]
	}
	for i := range r.Variants {
		v := &r.Variants[i]
		told := toldVariant{Name: v.Name, NotApplicable: fit(v.NotApplicable), Error: fit(v.Error), Doubt: fit(v.Doubt())}
		for j := range v.Properties {
			told.Properties = append(told.Properties, tellProperty(&v.Properties[j]))
		}
		out.Variants = append(out.Variants, told)
	}
	return out
}

// mostSentences bounds a story.
const mostSentences = 60

func tellProperty(p *report.PropertyResult) toldProperty {
	out := toldProperty{Property: string(p.Name), Verdict: p.Verdict.String(), Met: p.Met, Why: fit(p.Why)}
	if p.Expected != 0 {
		out.Expected = p.Expected.String()
	}
	if c := p.Counterexample; c != nil && p.Verdict == checker.Violated {
		out.Assumption = fit(c.Assumption)
		for _, s := range c.Story[:min(len(c.Story), mostSentences)] {
			out.Story = append(out.Story, sentenceAt(s))
		}
	}
	return out
}

// runLimits are how long a run may take, in seconds.
const usualRun, mostRun = 60, 600

func (m *agents) runScenario(ctx context.Context, c *call, in runIn) (out toldRun, err error) {
	limit, err := seconds(in.Seconds, usualRun, mostRun)
	if err != nil {
		return out, err
	}
	file, err := m.file(in.named)
	switch {
	case err != nil:
		return out, err
	case file == "":
		return out, app.Usagef("name a scenario, or give its yaml").Hint("list has the scenarios that sim ships")
	}
	if _, err := app.LoadOne(file); err != nil {
		return out, err
	}
	r := request.Run{Scenarios: []string{file}, World: request.Virtual, Lock: m.chosenLock(c, in.ownLock), Seed: cmp.Or(in.Seed, 1), Repeat: 1,
		Timeout: request.Duration(limit), Place: request.Place{Out: m.project.Out}}
	var suite *app.Suite
	err = m.exclusively(ctx, limit+endsWithin, func(ctx context.Context) error {
		suite, err = app.Run(ctx, m.permitted(r.Lock), r, c.hear(m.writingTo(&c.printed).listener()))
		return err
	})
	if err != nil {
		return out, err
	}
	if t := suite.Done[0]; t != nil && t.Result != nil {
		return tellRun(t), nil
	}
	return out, suite.Verdict(ctx)
}

// endsWithin is how much longer than its limit something may take to end in order.
const endsWithin = 30 * time.Second

type searchIn struct {
	named
	ownLock
	Variant    string   `json:"variant,omitempty" jsonschema:"the variant to search; default: the first"`
	Properties []string `json:"properties,omitempty" jsonschema:"the properties whose violation counts; default: those that suit the scenario"`
	Kinds      []string `json:"kinds,omitempty" jsonschema:"the kinds of faults to draw; default: all"`
	Bare       bool     `json:"bare,omitempty" jsonschema:"leave out the scenario's own faults"`
	Seconds    int      `json:"seconds,omitempty" jsonschema:"how long to search; default: 20, at most 600; shrinking what is found comes on top"`
	Seed       uint64   `json:"seed,omitempty" jsonschema:"the first seed"`
	Seeds      uint64   `json:"seeds,omitempty" jsonschema:"how many runs to make at most"`
	StopAt     int      `json:"stop_at,omitempty" jsonschema:"stop after this many violations that are confirmed"`
}

// searchOut is a search for programs, also as sim search prints it with --json.
type searchOut struct {
	Scenario   string        `json:"scenario"`
	Variant    string        `json:"variant"`
	Outcome    string        `json:"outcome" jsonschema:"violated, nothing found, or undecided"`
	Undecided  string        `json:"undecided,omitempty" jsonschema:"why nothing can be said"`
	Runs       uint64        `json:"runs"`
	Behaviours uint64        `json:"behaviours" jsonschema:"how many distinct ones the runs showed"`
	Violated   []searchClass `json:"violated,omitempty"`
	Found      []searchFound `json:"found,omitempty"`
	Looked     []searchSight `json:"looked,omitempty" jsonschema:"what the search looked at, and what of it no run reached"`
	Worth      []string      `json:"worth,omitempty" jsonschema:"what it is worth that nothing was found"`
	Replay     string        `json:"replay,omitempty" jsonschema:"the command line that makes the same runs again"`
}

type searchClass struct {
	Properties string `json:"properties"`
	Runs       uint64 `json:"runs"`
}

type searchSight struct {
	What    string        `json:"what" jsonschema:"properties, kinds of faults, or states on the way to a violation"`
	Reached int           `json:"reached"`
	All     int           `json:"all"`
	Never   []string      `json:"never,omitempty"`
	Runs    []searchCount `json:"runs" jsonschema:"of each, how many runs reached it"`
}

type searchCount struct {
	Name string `json:"name"`
	Runs uint64 `json:"runs"`
}

type searchFound struct {
	Scenario string `json:"scenario" jsonschema:"the shrunk scenario; run_scenario runs it"`
	Report   string `json:"report,omitempty"`
	Note     string `json:"note,omitempty"`
	Replay   string `json:"replay,omitempty"`
	Property string `json:"property" jsonschema:"the property that it violates"`
	Proved   bool   `json:"proved" jsonschema:"it is certain: it shows again, and not by the lock program's word alone"`
}

const (
	usualSearch, mostSearch = 20, 600
	// shrinksWithin is how long it may take to shrink what was found.
	shrinksWithin = 10 * time.Minute
)

func (m *agents) search(ctx context.Context, c *call, in searchIn) (out searchOut, err error) {
	limit, err := seconds(in.Seconds, usualSearch, mostSearch)
	if err != nil {
		return out, err
	}
	file, err := m.file(in.named)
	if err != nil {
		return out, err
	}
	r := m.cli.search()
	r.World, r.Nodes, r.Lock, r.For = request.Virtual, string(server.Auto), m.chosenLock(c, in.ownLock), request.Duration(limit)
	r.Target = request.Target{Scenario: file, Variant: in.Variant, Properties: in.Properties}
	r.Kinds, r.Bare, r.Seed, r.Seeds, r.StopAt = in.Kinds, in.Bare, in.Seed, in.Seeds, in.StopAt
	var result *app.SearchResult
	err = m.exclusively(ctx, limit+shrinksWithin, func(ctx context.Context) error {
		result, err = app.Search(ctx, m.permitted(r.Lock), r, c.hear(m.writingTo(&c.printed).listener()))
		return err
	})
	if err != nil {
		return out, err
	}
	m.writingTo(&c.printed).printUntold(ctx, result)
	return tellSearch(result), nil
}

// tellSearch is a search for programs.
func tellSearch(s *app.SearchResult) searchOut {
	out := searchOut{Scenario: s.Of.Scenario.Name, Variant: s.Of.Variant, Outcome: "nothing found",
		Runs: s.Report.Runs, Behaviours: uint64(s.Report.Behaviours), Replay: fit(s.Again)}
	for _, class := range s.Report.Classes {
		out.Violated = append(out.Violated, searchClass{class.Name, class.Runs})
	}
	out.Looked = tellLooked(lookedAt(s))
	for _, k := range s.Found {
		out.Found = append(out.Found, searchFound{k.File, shortPath(k.Report), fit(k.Note), fit(k.Replay), string(k.Property), k.Proved})
	}
	switch {
	case s.Proved:
		out.Outcome = checker.Violated.String()
	case len(s.Found) > 0 || s.Untold != "":
		out.Outcome, out.Undecided = outcomes[app.ExitUndecided], fit(cmp.Or(s.Untold, "what was found hardly shows again"))
	default:
		out.Worth = app.Worth(s.Of.Properties, &s.Report)
	}
	return out
}

// tellLooked is what a search looked at, for programs.
func tellLooked(l *report.Looked) (list []searchSight) {
	for _, s := range l.Sights() {
		one := searchSight{What: s.What[0], Reached: s.Seen, All: len(s.Counts)}
		for _, never := range s.Never {
			one.Never = append(one.Never, fit(never))
		}
		for _, o := range s.LeftOut {
			one.Never = append(one.Never, fit(fmt.Sprintf("%s: left out of this search: %s", o.Kind, o.Why)))
		}
		for _, c := range s.Counts {
			one.Runs = append(one.Runs, searchCount{c.Name, c.Runs})
		}
		list = append(list, one)
	}
	return list
}

func (m *agents) explainRun(ctx context.Context, c *call, in struct {
	Run string `json:"run,omitempty" jsonschema:"the folder of the run, as run_scenario returns it; default: the newest run"`
},
) (out toldRun, err error) {
	dir, err := m.runFolder(in.Run)
	if err != nil {
		return out, err
	}
	err = m.exclusively(ctx, mostRun*time.Second, func(ctx context.Context) error {
		t, err := trial.Rejudge(ctx, dir)
		if err != nil {
			return app.Usagef("%w", err).Hint("run_scenario returns the folder of its run")
		}
		out = tellRun(t)
		return report.WriteText(&c.printed, t.Result, shortPath(t.Report), m.writingTo(&c.printed).textOptions())
	})
	return out, err
}

// runFolder is the folder of a stored run: below the folder of all runs, or below this one.
func (m *agents) runFolder(run string) (string, error) {
	if run == "" {
		run = filepath.Join(m.project.Out, runs.Latest)
	}
	for _, top := range []string{m.project.Out, "."} {
		folder, err := os.OpenRoot(top)
		if err != nil {
			continue
		}
		below, err := filepath.Rel(top, run)
		if err == nil && filepath.IsLocal(below) {
			err = inside(folder, below)
			_ = folder.Close()
			return run, err
		}
		_ = folder.Close()
	}
	if filepath.IsLocal(run) {
		return "", app.Usagef("no run is stored in %s", m.project.Out).Hint("run_scenario makes one")
	}
	return "", outside(run)
}

type conformIn struct {
	Command string `json:"command,omitempty" jsonschema:"the command that starts the program; no shell runs it; default: that of sim.yaml"`
}

type conformOut struct {
	Outcome string         `json:"outcome" jsonschema:"conforms, does not conform, or undecided"`
	Checks  []toldCheck    `json:"checks"`
	Logs    string         `json:"logs,omitempty" jsonschema:"the folder with all lines of the program"`
	Counts  map[string]int `json:"counts"`
}

type toldCheck struct {
	Name     string   `json:"name"`
	Outcome  string   `json:"outcome" jsonschema:"passed, failed, not applicable, or not run"`
	Why      string   `json:"why,omitempty"`
	Seen     string   `json:"seen,omitempty"`
	Expected string   `json:"expected,omitempty"`
	Mend     string   `json:"mend,omitempty" jsonschema:"how to mend it"`
	Notes    []string `json:"notes,omitempty"`
}

const mostConform = 5 * time.Minute

func (m *agents) conformTool(ctx context.Context, c *call, in conformIn) (out conformOut, err error) {
	r := usualConform()
	r.World, r.Command = request.Virtual, cmp.Or(in.Command, m.project.Lock)
	if r.Command == "" {
		return out, app.Usagef("name the command of a lock program").Hint("sim.yaml can name it: lock: python3 locks/my_lock.py")
	}
	var result *app.ConformResult
	err = m.exclusively(ctx, mostConform, func(ctx context.Context) error {
		result, err = m.writingTo(&c.printed).makeConform(ctx, r, newConformPrinter(m.writingTo(&c.printed)))
		return err
	})
	if err != nil {
		return out, err
	}
	out = conformOut{Outcome: "undecided", Logs: result.Logs, Counts: make(map[string]int)}
	switch {
	case result.Conforms():
		out.Outcome = "conforms"
	case result.Count(conform.Failed) > 0:
		out.Outcome = "does not conform"
	}
	for _, check := range result.Checks {
		told := toldCheck{Name: check.Name, Outcome: string(check.Outcome), Why: fit(check.Why)}
		if f := check.Finding; f != nil {
			told.Seen, told.Expected, told.Mend = fit(f.Seen), fit(f.Expected), fit(f.Mend)
		}
		for _, note := range check.Notes {
			told.Notes = append(told.Notes, fit(note))
		}
		out.Counts[told.Outcome]++
		out.Checks = append(out.Checks, told)
	}
	return out, nil
}

type auditIn struct {
	Lock       string   `json:"lock,omitempty" jsonschema:"the command of a lock program, or a lock of sim; default: the lock of sim.yaml"`
	Guarantees []string `json:"guarantees,omitempty" jsonschema:"put only these to the test (list has them); default: all"`
	Case       string   `json:"case,omitempty" jsonschema:"only cases whose ID matches this regular expression"`
	Seed       uint64   `json:"seed,omitempty" jsonschema:"the seed for everything random; default: 1"`
	Shorten    bool     `json:"shorten,omitempty" jsonschema:"look for the shortest scenario that shows a violation, which takes several more runs"`
	Seconds    int      `json:"seconds,omitempty" jsonschema:"how long it may take; default: 600, at most 3600"`
}

type auditOut struct {
	Outcome string         `json:"outcome" jsonschema:"nothing broken, broken, or undecided"`
	Cells   []toldCell     `json:"cells"`
	Counts  map[string]int `json:"counts"`
	Folder  string         `json:"folder" jsonschema:"with card.json, card.html, card.md and the runs"`
	Replay  string         `json:"replay,omitempty" jsonschema:"the command line that makes the card again"`
}

type toldCell struct {
	ID    string `json:"id" jsonschema:"guarantee/case"`
	State string `json:"state" jsonschema:"kept, broken, by design, unknown or not applicable"`
	Why   string `json:"why,omitempty"`
}

// usualAudit and mostAudit are how long an audit may take, in seconds.
const usualAudit, mostAudit = 600, 3600

func (m *agents) auditTool(ctx context.Context, c *call, in auditIn) (out auditOut, err error) {
	limit, err := seconds(in.Seconds, usualAudit, mostAudit)
	if err != nil {
		return out, err
	}
	lock := cmp.Or(in.Lock, m.project.Lock)
	if lock == "" {
		return out, app.Usagef("name a lock").Hint("sim.yaml can name it: lock: python3 locks/my_lock.py")
	}
	r := request.Audit{Locks: []string{lock}, World: request.Virtual, Guarantees: in.Guarantees, Case: in.Case, Seed: cmp.Or(in.Seed, 1),
		NoShorten: !in.Shorten, Timeout: request.Duration(limit), Place: request.Place{Out: m.project.Out}}
	var result *app.AuditResult
	err = m.exclusively(ctx, limit, func(ctx context.Context) error {
		result, err = app.Audit(ctx, m.permitted(lock), r, nil, c.hear(m.writingTo(&c.printed).listener()))
		return err
	})
	if err != nil {
		return out, err
	}
	out = auditOut{Outcome: "undecided", Counts: make(map[string]int), Folder: shortPath(result.Dir), Replay: fit(result.Card.Replay)}
	for i := range result.Card.Locks {
		for _, cell := range result.Card.Locks[i].Cells {
			out.Cells = append(out.Cells, toldCell{cell.ID, string(cell.State), fit(cell.Why)})
			out.Counts[string(cell.State)]++
		}
	}
	switch app.ExitCode(result.Verdict(ctx, nil, false)) {
	case app.ExitMet:
		out.Outcome = "nothing broken"
	case app.ExitUnexpected:
		out.Outcome = "broken"
	}
	return out, m.writingTo(&c.printed).publishCard(result, cardFiles{})
}

// sentenceAt is a sentence of a story with its time.
func sentenceAt(s checker.Sentence) string {
	return plain.Text(s.At.Round(time.Millisecond).String() + "  " + s.Text)
}
