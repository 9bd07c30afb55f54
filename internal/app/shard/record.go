// Package shard deals out work to several machines that know nothing of each other, and puts together what they
// brought back. Each machine is one shard of n. What it does follows from its request alone.
package shard

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/audit"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
)

// Work is what all shards together do. Shards fit together if it is the same in all of them.
type Work struct {
	// Sim is the version of this program.
	Sim string `json:"sim"`
	// Request is what is asked of all shards together.
	Request request.Any `json:"request"`
	// Units is how many pieces of work there are: runs of scenarios, seeds of a search, seeds for each point of a sweep,
	// questions of an audit.
	Units uint64 `json:"units"`
	// Scenarios are those that are run, in their order.
	Scenarios []Scenario `json:"scenarios"`
}

// Scenario is a scenario with the SHA-256 of its text, in hex.
type Scenario struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
}

// Command is the name of what is asked: run, search, sweep or audit.
func (w *Work) Command() string {
	name, _, _ := w.Request.Only()
	return name
}

// Seed is the first seed.
func (w *Work) Seed() uint64 {
	switch _, r, _ := w.Request.Only(); r := r.(type) {
	case *request.Run:
		return r.Seed
	case *request.Search:
		return r.Seed
	case *request.Sweep:
		return r.Seed
	case *request.Audit:
		return r.Seed
	}
	return 0
}

func digest(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// Difference says in what two pieces of work differ first; empty: they are the same.
func (w *Work) Difference(o *Work) string {
	if w.Sim != o.Sim {
		return fmt.Sprintf("sim %s, and %s", w.Sim, o.Sim)
	}
	mine, a, err := w.Request.Only()
	theirs, b, err2 := o.Request.Only()
	if err != nil || err2 != nil || mine != theirs {
		return fmt.Sprintf("command %s, and %s", mine, theirs)
	}
	if d := request.Difference(a, b); d != "" {
		return d
	}
	for i := range min(len(w.Scenarios), len(o.Scenarios)) {
		switch a, b := w.Scenarios[i], o.Scenarios[i]; {
		case a.Name != b.Name:
			return fmt.Sprintf("the scenario %s, and %s", a.Name, b.Name)
		case a.Digest != b.Digest:
			return fmt.Sprintf("the text of the scenario %s (SHA-256 %.12s, and %.12s)", a.Name, a.Digest, b.Digest)
		}
	}
	if a, b := len(w.Scenarios), len(o.Scenarios); a != b {
		return fmt.Sprintf("%d scenarios, and %d", a, b)
	}
	if w.Units != o.Units {
		return fmt.Sprintf("%d pieces of work, and %d", w.Units, o.Units)
	}
	return ""
}

// Folder names the folder of a shard of this work.
func (w *Work) Folder(s request.Shard) string {
	text, _ := json.Marshal(w)
	return fmt.Sprintf("%s-%d-of-%d-%.8s", w.Command(), s.Index, s.Of, digest(text))
}

// Files of a shard's folder, and the folder in which shards have theirs.
const (
	RecordFile = "shard.json"
	// ScenarioFile is the scenario of a search.
	ScenarioFile = runs.Scenario
	Shards       = "shards"
)

const (
	recordFormat  = "redlock-sim-shard"
	recordVersion = 2
	// mostRecord bounds a record, in bytes.
	mostRecord = 64 << 20
	// mostUnits bounds the runs of a suite: all are in memory.
	mostUnits = 10_000_000
)

// Record is what a shard leaves when it has ended: what it is a part of, and what came of its part. Of Results to Answers
// it has what belongs to its command.
type Record struct {
	Format  string        `json:"format"`
	Version int           `json:"version"`
	Shard   request.Shard `json:"shard"`
	Work    Work          `json:"work"`
	// Interrupted says that it did not come to its end. Started is when it began, TookMS how long it took.
	Interrupted bool      `json:"interrupted,omitempty"`
	Started     time.Time `json:"started"`
	TookMS      int64     `json:"took_ms"`
	// Files are the files of Work.Scenarios, as seen from where sim ran; empty: it is a shipped scenario.
	Files []string `json:"files,omitempty"`

	// Results are the runs of sim run. Errors are of scenarios that left no result, or of an audit.
	Results []Result  `json:"results,omitempty"`
	Errors  []Failure `json:"errors,omitempty"`
	// Search is what came of a search; Found are the scenarios that it wrote.
	Search *explore.Part `json:"search,omitempty"`
	Found  []Found       `json:"found,omitempty"`
	// Points are those of a sweep.
	Points []explore.Cell `json:"points,omitempty"`
	// Card has all of an audit but the answers, which are those of the shard.
	Card    *card.Card     `json:"card,omitempty"`
	Answers []audit.Answer `json:"answers,omitempty"`
}

// Result is a run: its folder, below the shard's, and the SHA-256 of the result there.
type Result struct {
	// Unit is which of the runs it is: round by round, in the order of the scenarios.
	Unit   uint64 `json:"unit"`
	Dir    string `json:"dir"`
	Digest string `json:"digest"`
}

// Failure is an error with the exit code that it stands for.
type Failure struct {
	Text string `json:"text"`
	Exit int    `json:"exit"`
}

// Found is a scenario that a search wrote, and the report of its run; both are below the shard's folder.
type Found struct {
	File   string `json:"file"`
	Report string `json:"report,omitempty"`
	Note   string `json:"note"`
	// Property is what it violates.
	Property checker.Property `json:"property,omitempty"`
	// Proved: a violation is for certain.
	Proved bool `json:"proved"`
}

// Write writes the record into the shard's folder.
func (r *Record) Write(dir string) error {
	r.Format, r.Version = recordFormat, recordVersion
	return machine.WriteFile(filepath.Join(dir, RecordFile), func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", " ")
		return enc.Encode(r)
	})
}

// parseRecord reads what Write wrote, and believes nothing that cannot be true.
func parseRecord(text []byte) (*Record, error) {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&head); err != nil {
		return nil, fmt.Errorf("not the record of a shard: %w", err)
	}
	if head.Format != recordFormat {
		return nil, errors.New("not the record of a shard")
	}
	if head.Version != recordVersion {
		return nil, fmt.Errorf("the record of a shard, version %d: this program reads version %d", head.Version, recordVersion)
	}
	r := &Record{}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(r); err != nil {
		return nil, fmt.Errorf("not the record of a shard: %w", err)
	}
	if damage := r.damage(); damage != nil {
		return nil, fmt.Errorf("the record is damaged: %w", damage)
	}
	return r, nil
}

func (r *Record) damage() error {
	if r.Shard.Of == 0 {
		return errors.New("it does not say which shard it is of")
	}
	if len(r.Files) > 0 && len(r.Files) != len(r.Work.Scenarios) {
		return errors.New("it has more or fewer files than scenarios")
	}
	for _, e := range r.Errors {
		if e.Exit < 1 || e.Exit > 5 {
			return fmt.Errorf("an error with the exit code %d", e.Exit)
		}
	}
	first, count := r.Shard.Seeds(r.Work.Seed(), r.Work.Units)
	mine := explore.Seeds{First: first, Count: count}
	if err := r.Work.damage(); err != nil {
		return err
	}
	switch r.Work.Command() {
	case request.RunName:
		return r.damagedRun()
	case request.SearchName:
		return r.damagedSearch(mine)
	case request.SweepName:
		for _, c := range r.Points {
			if c.Runs > mine.Count || len(c.Judged) != len(c.Violated) {
				return fmt.Errorf("the point %s %s has other runs than those of its shard", c.X, c.Y)
			}
			for i := range c.Judged {
				if c.Judged[i] > c.Runs || c.Violated[i] > c.Judged[i] {
					return fmt.Errorf("the point %s %s has more violations than runs", c.X, c.Y)
				}
			}
		}
		return nil
	case request.AuditName:
		if r.Card == nil {
			return errors.New("it has no card")
		}
		return audit.CheckAnswers(r.Card, r.Answers, r.Work.Units)
	}
	return fmt.Errorf("no command %q has shards", r.Work.Command())
}

// damage says what cannot be true of what all shards together do.
func (w *Work) damage() error {
	name, asked, err := w.Request.Only()
	if err != nil {
		return err
	}
	if own := request.Own(asked); own != "" {
		return fmt.Errorf("its request has --%s, which each machine has for itself", own)
	}
	scenarios := uint64(len(w.Scenarios))
	world, isWhole := request.Virtual, true
	switch r := asked.(type) {
	case *request.Run:
		world, isWhole = r.World, r.Repeat > 0 && uint64(r.Repeat)*scenarios == w.Units
	case *request.Search:
		world, isWhole = r.World, r.Seeds == w.Units && len(r.Properties) > 0
		for _, k := range r.Kinds {
			if !slices.Contains(explore.Kinds(), k) {
				return fmt.Errorf("its request names the fault %q, which cannot be drawn", k)
			}
		}
	case *request.Sweep:
		isWhole = r.Runs == w.Units && len(r.Properties) > 0 && scenarios == 1
	case *request.Audit:
		world, isWhole = r.World, len(r.Locks) > 0
	}
	if world != request.Live && world != request.Virtual {
		return fmt.Errorf("its request names the world %q", world)
	}
	if !isWhole {
		return fmt.Errorf("its request is not that of sim %s with %d pieces of work", name, w.Units)
	}
	return nil
}

func (r *Record) damagedRun() error {
	if r.Work.Units > mostUnits {
		return fmt.Errorf("it has %d runs, more than %d", r.Work.Units, mostUnits)
	}
	if len(r.Work.Scenarios) == 0 || r.Work.Units%uint64(len(r.Work.Scenarios)) != 0 {
		return errors.New("it has no scenarios, or not as many runs of each")
	}
	seen := make(map[uint64]bool)
	for _, one := range r.Results {
		if one.Unit >= r.Work.Units || seen[one.Unit] {
			return fmt.Errorf("the run %d is there twice, or is none", one.Unit)
		}
		if seen[one.Unit] = true; !filepath.IsLocal(one.Dir) {
			return fmt.Errorf("the folder %q is not below the shard's", one.Dir)
		}
	}
	return nil
}

func (r *Record) damagedSearch(mine explore.Seeds) error {
	if r.Search == nil || len(r.Work.Scenarios) != 1 {
		return errors.New("it has no search of one scenario")
	}
	for _, s := range r.Search.Seeds {
		if s.First-mine.First >= mine.Count || s.Count > mine.Count-(s.First-mine.First) {
			return fmt.Errorf("the seeds %v are not those of the shard", s)
		}
	}
	for _, f := range r.Found {
		if !filepath.IsLocal(f.File) || f.Report != "" && !filepath.IsLocal(f.Report) {
			return fmt.Errorf("the file %q is not below the shard's folder", f.File)
		}
	}
	return r.Search.Check()
}
