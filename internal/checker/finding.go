// Package checker decides what a history shows. It consists of pure
// functions from histories to findings. It knows neither worlds nor reports.
//
// Judge calls a judge for each property: properties.go has the table of them. A judge stands in a
// file of its own, and asks package facts what the history tells. Where it sees a violation,
// it returns what a function called ...Finding makes of it: the operations that show it, the
// assumption that failed (cause*.go find it) and the story (story*.go, words.go).
package checker

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Verdict is what a checker says of a property. The zero Verdict is no verdict.
type Verdict uint8

const (
	// Holds: no violation was found, and the run gave it chances to show.
	Holds Verdict = iota + 1
	// Violated: the history proves a violation.
	Violated
	// Unknown: the history cannot tell.
	Unknown
)

var verdictNames = [...]string{Holds: "holds", Violated: "violated", Unknown: "unknown"}

func (v Verdict) String() string {
	if int(v) < len(verdictNames) && verdictNames[v] != "" {
		return verdictNames[v]
	}
	return fmt.Sprintf("verdict(%d)", uint8(v))
}

// MarshalText writes the verdict as a word.
func (v Verdict) MarshalText() ([]byte, error) {
	if v < Holds || v > Unknown {
		return nil, fmt.Errorf("no such verdict: %d", uint8(v))
	}
	return []byte(verdictNames[v]), nil
}

// UnmarshalText reads a verdict's word.
func (v *Verdict) UnmarshalText(b []byte) error {
	for i, name := range verdictNames {
		if name != "" && name == string(b) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("verdict %q: want holds, violated or unknown", b)
}

// Property names what is judged.
type Property string

// The properties. docs/reference/properties.md says what each demands.
const (
	ExclusiveBelief      Property = "exclusive-belief"
	ExclusiveLease       Property = "exclusive-lease"
	WithinPermits        Property = "within-permits"
	Fairness             Property = "fairness"
	BackedGrant          Property = "backed-grant"
	NoLateEffect         Property = "no-late-effect"
	HolderServed         Property = "holder-served"
	LinearizableResource Property = "linearizable-resource"
	AtMostOnce           Property = "at-most-once"
	OrderedTokens        Property = "ordered-tokens"
	OwnerRelease         Property = "owner-release"
	DeadlockFree         Property = "deadlock-free"
	MinorityTolerant     Property = "minority-tolerant"
	ComesBack            Property = "comes-back"
	NoOrphanLock         Property = "no-orphan-lock"
	NothingStays         Property = "nothing-stays"
	NoResurrection       Property = "no-resurrection"
	ToldWhenLost         Property = "told-when-lost"
	ToldAtRelease        Property = "told-at-release"
	NoFalseAlarm         Property = "no-false-alarm"
	StaysHeld            Property = "stays-held"
	AsksItsTTL           Property = "asks-its-ttl"
	TrueValidity         Property = "true-validity"
	KeepsRunning         Property = "keeps-running"
	Atomic               Property = "atomic"
	Isolated             Property = "isolated"
	Durable              Property = "durable"
)

// Finding is the verdict on one property of one history, with what shows it.
type Finding struct {
	Property Property `json:"property"`
	Verdict  Verdict  `json:"verdict"`
	// Why is one line for a person: what was seen, or why nothing can be said.
	Why string `json:"why"`
	// Events are the indices of the events that show it, in order.
	Events []int `json:"events,omitempty"`
	// Effort says how hard the property was tried.
	Effort Effort `json:"effort"`
	// Counterexample is set where Verdict is Violated.
	Counterexample *Counterexample `json:"counterexample,omitempty"`
	// Method names the algorithm that decided: porcupine or a direct one.
	Method string `json:"method,omitempty"`
}

// Effort counts the chances that a property had to fail.
type Effort struct {
	// Operations are the client operations that were judged.
	Operations int `json:"operations"`
	// Chances are the situations in which the property could have failed, and
	// Of says what they are, in the plural: "later grants", "writes at the resource".
	Chances int    `json:"chances"`
	Of      string `json:"of,omitempty"`
	// Faults is how often a fault took effect: one of a mix, or with every, may do so again and again.
	Faults int `json:"faults"`
}

// What says what the chances are, in the form that their number asks for: "section of
// 1 client" where there was one, "sections of 2 clients" where there were more.
func (e Effort) What() string {
	if e.Of == "" {
		return words.Noun(e.Chances, "chance")
	}
	if e.Chances != 1 {
		return e.Of
	}
	list := strings.Fields(e.Of)
	for i, w := range list { // the noun is the first word in the plural
		if strings.HasSuffix(w, "s") {
			list[i] = strings.TrimSuffix(w, "s")
			break
		}
	}
	return strings.Join(list, " ")
}

// Counterexample is the smallest set of operations that cannot be explained.
type Counterexample struct {
	// Operations, in the order of their invocation. Removing any one of them
	// leaves a history that has an explanation.
	Operations []CounterOp `json:"operations"`
	// From is how many operations it was shrunk from.
	From int `json:"from"`
	// Impossible is the index of the event at which no explanation was left;
	// -1 where there is no such single event.
	Impossible int `json:"impossible"`
	// Overlap is the stretch of the run during which two holders stood side by
	// side, where the violation is one; else nil.
	Overlap *Interval `json:"overlap,omitempty"`
	// Bound is how long it may take at most, where the violation is that something took longer.
	Bound time.Duration `json:"bound_ns,omitempty"`
	// Decisive are the events without which it would not have been: docs/internals/checker.md says what
	// removing each kind means. The story tells of all of them.
	Decisive []int `json:"decisive,omitempty"`
	// Story tells it in sentences, each tied to an event.
	Story []Sentence `json:"story"`
	// Assumption names in words the assumption that failed.
	Assumption string `json:"assumption,omitempty"`
}

// setStory gives the counterexample its story.
func (c *Counterexample) setStory(s *story) { c.Story, c.Decisive = s.sentences(), s.decisive }

// withCounterexample is the finding with what shows it.
func (f Finding) withCounterexample(c *Counterexample) Finding {
	for i := range c.Operations {
		f.Events = append(f.Events, c.Operations[i].Events...)
	}
	f.Events, f.Counterexample = sortedEvents(f.Events...), c
	return f
}

// CounterOp is one operation of a counterexample: what the client believed and
// what was true.
type CounterOp struct {
	Client string `json:"client"`
	// Op is the operation in words: "holds the lock", "reads 0 and writes 1".
	Op string `json:"op"`
	// Events are its events.
	Events []int `json:"events"`
	// From and To bound it in run time; To is negative where it has no end.
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
	// Believed and True say what the client took for granted and what was so.
	Believed string `json:"believed,omitempty"`
	True     string `json:"true,omitempty"`
}

// Interval is a stretch of run time.
type Interval struct {
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
}

// Sentence is one step of a story.
type Sentence struct {
	// At is the run time, Event the index of the event it tells of, -1 for none.
	At    time.Duration `json:"at"`
	Event int           `json:"event"`
	Text  string        `json:"text"`
	// Decisive: it tells of an event without which the violation would not have been.
	Decisive bool `json:"decisive,omitempty"`
}
