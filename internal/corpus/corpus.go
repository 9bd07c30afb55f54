// Package corpus knows corpora of lock histories: folders with histories of which it is known what is wrong with them, for makers of
// checkers. It labels histories, damages them, reads and checks such a folder. It makes no runs.
package corpus

import (
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/checker"
)

// Format and Version name what stands in the first line of an index. The version changes where the same seed gives other histories or
// labels because of this package, and where a field changes its meaning.
const (
	Format  = "redlock-sim-corpus"
	Version = 1
)

// Files of a corpus.
const (
	IndexFile  = "index.jsonl"
	ReadmeFile = "README.md"
	Histories  = "histories"
)

// Source is where a history comes from.
type Source string

// The sources of histories.
const (
	Virtual Source = "virtual"
	Real    Source = "real"
	Damaged Source = "damaged"
)

// Sources lists them all.
func Sources() []Source { return []Source{Virtual, Real, Damaged} }

// Index is the first line of an index.
type Index struct {
	Format    string         `json:"format"`
	Version   int            `json:"version"`
	Seed      uint64         `json:"seed"`
	Histories int            `json:"histories"`
	Sources   map[Source]int `json:"sources"`
	LeftOut   *LeftOut       `json:"left_out,omitempty"`
	Sim       string         `json:"sim"`
	Server    string         `json:"server,omitempty"`
	License   string         `json:"license"`
}

// LeftOut are histories that could not be made on this machine.
type LeftOut struct {
	Source    Source `json:"source"`
	Histories int    `json:"histories"`
	Why       string `json:"why"`
}

// Entry is a line of an index: a history with its labels.
type Entry struct {
	ID     string `json:"id"`
	Source Source `json:"source"`
	JSONL  *File  `json:"jsonl,omitempty"`
	EDN    *File  `json:"edn,omitempty"`
	// Refused: a reader must refuse the file, with an error. There are no labels then.
	Refused string `json:"refused,omitempty"`
	Verdict string `json:"verdict"`
	// Properties are labels of the JSON Lines, Models of the EDN.
	Properties []Label      `json:"properties,omitempty"`
	Models     []ModelLabel `json:"models,omitempty"`
	Reason     string       `json:"reason"`
	Origin     Origin       `json:"origin"`
	Damage     *Damage      `json:"damage,omitempty"`
	Events     int          `json:"events"`
	// GrantWithin bounds the properties that say how soon something comes.
	GrantWithin int64 `json:"grant_within_ns"`
}

// File is one form of a history.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Label is the verdict on one property.
type Label struct {
	Property checker.Property `json:"property"`
	Verdict  checker.Verdict  `json:"verdict"`
	// By are the grounds.
	By         []string `json:"by"`
	Assumption string   `json:"assumption,omitempty"`
	Why        string   `json:"why,omitempty"`
}

// Grounds of a label.
const (
	ByDefinition = "definition"
	ByScenario   = "scenario"
	ByDamage     = "damage"
	ByPorcupine  = "porcupine"
)

// ModelLabel is the verdict on whether a sequential model explains the operations.
type ModelLabel struct {
	Model   string          `json:"model"`
	Initial *int64          `json:"initial,omitempty"`
	Verdict checker.Verdict `json:"verdict"`
	By      []string        `json:"by"`
}

// Origin is how the history, or what was damaged, was made.
type Origin struct {
	Scenario string   `json:"scenario"`
	Variant  string   `json:"variant"`
	Seed     uint64   `json:"seed"`
	Lock     string   `json:"lock"`
	Mistakes []string `json:"mistakes,omitempty"`
	Workload string   `json:"workload"`
	// Asis: the run is the scenario as it is shipped; else clients, sections or faults were drawn.
	AsIs   bool    `json:"as_is"`
	Faults []Fault `json:"faults,omitempty"`
}

// Fault is one that struck.
type Fault struct {
	Fault  string `json:"fault"`
	Target string `json:"target,omitempty"`
	Begin  int64  `json:"begin_ns"`
}

// Damage is the one thing that was changed in a correct history.
type Damage struct {
	Kind string `json:"kind"`
	// Property is what it violates by itself; empty: it makes the history undecided, or no history.
	Property checker.Property `json:"property,omitempty"`
	What     string           `json:"what"`
	// Of is the history that was damaged, where the corpus has it.
	Of string `json:"of,omitempty"`
}

// Verdicts of a history as a whole.
const (
	holds    = "holds"
	violated = "violated"
	unknown  = "unknown"
	refused  = "refused"
)

// sumUp sets the verdict of the whole.
func (e *Entry) sumUp() {
	e.Verdict = unknown
	if e.Refused != "" {
		e.Verdict = refused
	}
	for i := range e.Properties {
		switch e.Properties[i].Verdict {
		case checker.Violated:
			e.Verdict = violated
			return
		case checker.Holds:
			e.Verdict = holds
		}
	}
}

// path is where a history of the entry is.
func (e *Entry) path(ending string) string { return fmt.Sprintf("%s/%s.%s", Histories, e.ID, ending) }
