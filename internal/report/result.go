// Package report shows what came of a run: one typed Result, and renderers
// that turn it into text, JSON, JUnit, Markdown and HTML. It knows no worlds.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report/picture"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// ResultVersion is the version of the shape that Result has as JSON
// (result.json and `sim run --json`). A field may be added without a new
// version; none changes its meaning or goes.
const ResultVersion = 1

// Result is what came of one scenario.
type Result struct {
	Version  int    `json:"version"`
	Scenario string `json:"scenario"`
	Title    string `json:"title,omitempty"`
	// Source says where the schedule comes from; Story what it shows and why.
	Source string `json:"source,omitempty"`
	Story  string `json:"story,omitempty"`
	// Guarantee is what the scenario puts to the test; absent: no promise of a lock.
	Guarantee string   `json:"guarantee,omitempty"`
	Tags      []string `json:"tags,omitempty"`
	// World is live or virtual, Nodes how the nodes were provided (process,
	// docker, external; empty where they are models).
	World string `json:"world"`
	Nodes string `json:"nodes,omitempty"`
	Seed  uint64 `json:"seed"`
	// Met says that every verdict was the expected one, of the variants that apply.
	Met bool `json:"met"`
	// Undecided says that an expectation could not be judged.
	Undecided bool `json:"undecided"`
	// Interrupted says that the run was stopped before its end; Error why a run
	// could not be carried out.
	Interrupted bool   `json:"interrupted,omitempty"`
	Error       string `json:"error,omitempty"`
	// Started is RFC 3339; WallMS the time the run took.
	Started string `json:"started,omitempty"`
	WallMS  int64  `json:"wall_ms"`
	// Versions of what took part: sim, go, redis, toxiproxy, ...
	Versions map[string]string `json:"versions,omitempty"`
	// Replay is the command line that runs it again.
	Replay string `json:"replay,omitempty"`
	// Facts are the settings worth a line in the head, in order, such as
	// "5 nodes", "ttl 1s", "2 clients".
	Facts    []string  `json:"facts,omitempty"`
	Variants []Variant `json:"variants"`
	// ScenarioText is the scenario file as it was run; ScenarioDigest its
	// SHA-256 in hex. Not in the JSON: a run's folder has the file itself.
	ScenarioText   string `json:"-"`
	ScenarioDigest string `json:"scenario_digest,omitempty"`
	// Folder is where the run is stored; empty: that is not known.
	Folder string `json:"-"`
	// Checked is the file of which this is a check; empty: this is a run.
	Checked string `json:"-"`
	// Playground is the address under which a playground shows this run; empty: the page names the command that does.
	Playground string `json:"-"`
	// Imported says that another tool recorded the history: nothing is known of a run but
	// its operations, and there is no seed.
	Imported bool `json:"-"`
}

// Applies reports that at least one variant could be run, as far as the lock program on
// trial is concerned.
func (r *Result) Applies() bool {
	return len(r.Variants) == 0 || slices.ContainsFunc(r.Variants, func(v Variant) bool { return v.NotApplicable == "" })
}

// IsFinding reports that something was run, and did not come out as expected.
func (r *Result) IsFinding() bool { return r.Applies() && outcomeOf(r) > asExpected }

// realInVirtualTime says what of a run in virtual time is real; empty: all of it is a model, or the run took real time.
func (r *Result) realInVirtualTime() string {
	if r.World != "virtual" || r.Nodes == "" {
		return ""
	}
	what := "real servers"
	if slices.ContainsFunc(r.Variants, func(v Variant) bool { return v.Lock != nil && len(v.Lock.Logs) > 0 }) {
		what = "real programs and servers"
	}
	if v := r.Versions["redis"]; v != "" {
		what += " (" + serverNamed(v)
		if then := r.Versions["redis-upgrade"]; then != "" {
			what += ", then " + serverNamed(then)
		}
		what += ")"
	}
	return "virtual time, " + what
}

// serverNamed is a server's version with its name, which Valkey's has already.
func serverNamed(version string) string {
	if strings.HasPrefix(version, "Valkey ") {
		return version
	}
	return "redis-server " + version
}

// TooSlow says why this machine was too slow for a variant; empty: it was for none.
func (r *Result) TooSlow() string {
	for i := range r.Variants {
		if why := r.Variants[i].TooSlow; why != "" {
			return why
		}
	}
	return ""
}

// Plays reports that a playground can make such a run: it knows the scenario, and the lock is one of sim.
func (r *Result) Plays() bool {
	return r.ScenarioText != "" && !r.Imported && !slices.ContainsFunc(r.Variants, func(v Variant) bool {
		return v.Lock != nil || v.NotApplicable != ""
	})
}

// Variant is what came of one variant of the scenario. A scenario without
// variants has one, named "default".
type Variant struct {
	Name        string `json:"name"`
	Met         bool   `json:"met"`
	Undecided   bool   `json:"undecided,omitempty"`
	Interrupted bool   `json:"interrupted,omitempty"`
	// TimedOut says that the run reached its time limit and was ended. StoppedAfter is the
	// real time after which that was so, where it was not the scenario's limit.
	TimedOut     bool   `json:"timed_out,omitempty"`
	StoppedAfter string `json:"stopped_after,omitempty"`
	Error        string `json:"error,omitempty"`
	WallMS       int64  `json:"wall_ms"`
	// Unknown is why the run tells nothing, whatever its history holds: something took place in it that nobody models; or, where the run
	// took real time, something took longer than it may. It is then undecided.
	Unknown string `json:"unknown,omitempty"`
	// TooSlow says why this machine was too slow for the run, where for all one knows the run did not come out as expected for that
	// reason. It is then undecided. Pace is how fast the machine was; absent in the virtual world.
	TooSlow string `json:"too_slow,omitempty"`
	Pace    *Pace  `json:"pace,omitempty"`
	// NotApplicable is why the variant was not run: the lock program cannot do what it
	// wants. It is then neither met nor unmet.
	NotApplicable string `json:"not_applicable,omitempty"`
	// Lock is the lock program on trial; absent where the lock is one of sim.
	Lock *Lock `json:"lock,omitempty"`
	// Settings are what this variant sets, as "fencing.tokens: quorum-counter".
	Settings   []string         `json:"settings,omitempty"`
	Properties []PropertyResult `json:"properties"`
	Faults     []FaultResult    `json:"faults,omitempty"`
	// Cost is what the lock costs; absent where the scenario does not want it measured.
	Cost *checker.Cost `json:"cost,omitempty"`
	// Tries are the runs of this variant, in order, where there was more than one.
	// Shown counts them from 1: what stands here, events, faults and history, is of
	// that one.
	Tries []Try `json:"tries,omitempty"`
	Shown int   `json:"shown,omitempty"`
	// History is shown by the HTML; the run's folder has it as a file.
	History *history.History `json:"-"`
	// Explained says from when on a violation was certain, as explain.json has it; nil: nobody has asked.
	Explained *Explanation `json:"-"`
	// Printed is the end of what the lock program printed, where it printed anything.
	Printed []Printed `json:"-"`
}

// Pace is how fast the machine was for a run among real servers.
type Pace struct {
	// Late is how late a timer of sim fired at most, Allowed how late it may.
	Late    time.Duration `json:"late_ns"`
	Allowed time.Duration `json:"allowed_ns"`
	// Start is how long it took to start the servers, or the clients if that took longer.
	Start time.Duration `json:"start_ns,omitempty"`
}

// TooSlow reports that the machine was too slow for a run to be judged by what it did in time.
func (p *Pace) TooSlow() bool { return p != nil && p.Late > p.Allowed }

// Words say how slow the machine was.
func (p *Pace) Words() string {
	return fmt.Sprintf("a timer fired %s late, at most %s are allowed", words.Duration(p.Late), words.Duration(p.Allowed))
}

// Printed is the end of a log; Cut: there is more before it.
type Printed struct {
	Log   string
	Lines []string
	Cut   bool
}

// Property is the verdict on a property; nil: it was not judged.
func (v *Variant) Property(name checker.Property) *PropertyResult {
	if i := slices.IndexFunc(v.Properties, func(p PropertyResult) bool { return p.Name == name }); i >= 0 {
		return &v.Properties[i]
	}
	return nil
}

// Subject is what a picture of the run is drawn of.
func (v *Variant) Subject() *picture.Subject {
	s := &picture.Subject{Name: v.Name, History: v.History}
	if v.Explained != nil {
		s.Odds = v.Explained.odds()
	}
	for i := range v.Properties {
		s.Findings = append(s.Findings, v.Properties[i].Finding())
	}
	if about := v.Pictured(); about != nil {
		f := about.Finding()
		s.About = &f
	}
	return s
}

// Slowness says why the machine was too slow for the run to be judged by what it did in time; empty: it was not. Where a run took real
// time, it is the machine's fault that it tells nothing.
func (v *Variant) Slowness() string {
	switch {
	case v.Pace == nil:
		return ""
	case v.Unknown != "":
		first, _, _ := strings.Cut(v.Unknown, "\n")
		return first
	case v.Pace.TooSlow():
		return v.Pace.Words()
	}
	return ""
}

// Doubt says why what is not as expected of the run is undecided; empty: nothing is the reason but the verdicts themselves.
func (v *Variant) Doubt() string {
	switch {
	case v.TooSlow != "":
		return "this machine was too slow: " + v.TooSlow
	case v.Unknown != "":
		return "the run tells nothing: " + inOneLine(v.Unknown)
	}
	return ""
}

// inOneLine joins the lines of a text.
func inOneLine(text string) string { return strings.ReplaceAll(strings.TrimSpace(text), "\n", "; ") }

// Limit says why a run that TimedOut was ended.
func (v *Variant) Limit() string {
	if v.StoppedAfter != "" {
		return "the run was stopped after " + v.StoppedAfter + " of real time (--timeout)"
	}
	return "the run was ended at its time limit"
}

// Lock is a lock program, as it describes itself.
type Lock struct {
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"`
	Homepage string `json:"homepage,omitempty"`
	// About is what it says of its lock, its client library, and the timeouts and retries behind it.
	About string `json:"about,omitempty"`
	// Others are the locks of single clients, where they are other ones: "c2: NAME VERSION".
	Others []string `json:"others,omitempty"`
	// Class says what keeps the lock: quorum, single, session or other.
	Class string `json:"class"`
	// Store is on what it is kept; empty: Redis.
	Store string `json:"store,omitempty"`
	// Promise says in words what its promises are.
	Promise string `json:"promise"`
	// InPlace says that it was put in the place of the scenario's own lock (--lock). Then
	// the scenario's demands count, not what it expects.
	InPlace bool `json:"in_place,omitempty"`
	// Logs are files below the run's folder with what it printed, one for each client.
	Logs []string `json:"logs,omitempty"`
}

// Try is one of several runs of a variant.
type Try struct {
	Seed uint64 `json:"seed"`
	// Replay is the command line that begins with this seed.
	Replay string `json:"replay,omitempty"`
	// Folder has its history, and is below the run's folder.
	Folder      string                               `json:"folder"`
	Verdicts    map[checker.Property]checker.Verdict `json:"verdicts,omitempty"`
	Interrupted bool                                 `json:"interrupted,omitempty"`
	TimedOut    bool                                 `json:"timed_out,omitempty"`
	Error       string                               `json:"error,omitempty"`
	Unknown     string                               `json:"unknown,omitempty"`
	WallMS      int64                                `json:"wall_ms"`
	Pace        *Pace                                `json:"pace,omitempty"`
}

// Tried is how a verdict came about where there was more than one try. A property
// is violated if it was in one try, unknown if it was in one and violated in none,
// and holds if it held in all.
type Tried struct {
	// In is the first try with this verdict, or the one that is shown if it has it;
	// counted from 1.
	In int `json:"in"`
	// Times is how many of the tries Made had it; Allowed is how many could be made.
	Times   int `json:"times"`
	Made    int `json:"made"`
	Allowed int `json:"allowed"`
}

// PropertyResult is a verdict beside the expectation.
type PropertyResult struct {
	Name    checker.Property `json:"name"`
	Verdict checker.Verdict  `json:"verdict"`
	// Expected is absent where the scenario expects nothing of the property.
	Expected checker.Verdict `json:"expected,omitzero"`
	// ByDesign: the scenario demands the property of other classes of locks alone.
	ByDesign bool `json:"by_design,omitempty"`
	// Met is true where verdict and expectation agree, or nothing is expected.
	Met bool `json:"met"`
	// TooSlow: it is not met, and for all one knows because this machine was too slow. It is then undecided.
	TooSlow        bool                    `json:"too_slow,omitempty"`
	Why            string                  `json:"why"`
	Events         []int                   `json:"events,omitempty"`
	Effort         checker.Effort          `json:"effort"`
	Method         string                  `json:"method,omitempty"`
	Counterexample *checker.Counterexample `json:"counterexample,omitempty"`
	// Tried is absent where there was one try. Events and Counterexample are those
	// of the try that is shown.
	Tried *Tried `json:"tries,omitempty"`
}

// Judged sets a finding beside what was expected of it; the zero verdict expects
// nothing, and is met by everything.
func Judged(f checker.Finding, expected checker.Verdict) PropertyResult {
	return PropertyResult{
		Name: f.Property, Verdict: f.Verdict, Expected: expected, Met: expected == 0 || expected == f.Verdict,
		Why: f.Why, Events: f.Events, Effort: f.Effort, Method: f.Method, Counterexample: f.Counterexample,
	}
}

// Finding is the verdict without the expectation, for a picture.
func (p *PropertyResult) Finding() checker.Finding {
	return checker.Finding{Property: p.Name, Verdict: p.Verdict,
		Why: p.Why, Events: p.Events, Effort: p.Effort, Method: p.Method, Counterexample: p.Counterexample}
}

// FaultResult is a fault of the scenario: planned against measured.
type FaultResult struct {
	// ID counts the scenario's faults from 1.
	ID     int    `json:"id"`
	Fault  string `json:"fault"`
	Target string `json:"target"`
	// When says in words when it was to strike.
	When    string        `json:"when"`
	Planned time.Duration `json:"planned_ns,omitempty"`
	// Fired is how often it took effect; Took the longest measured stretch.
	Fired int           `json:"fired"`
	Took  time.Duration `json:"took_ns,omitempty"`
	// Failed is why it did not take effect the first time that it was due.
	Failed string `json:"failed,omitempty"`
	// Events are its events in the history.
	Events []int `json:"events,omitempty"`
}

// TooLate reports that what the fault was to come before had happened.
func (f *FaultResult) TooLate() bool {
	return f.Fired == 0 && strings.HasPrefix(f.Failed, history.TooLate)
}
