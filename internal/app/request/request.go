package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
)

// The worlds in which something can be run.
const (
	// Live has real servers and client processes, in real time.
	Live = "live"
	// Virtual is a deterministic model in simulated time.
	Virtual = "virtual"
)

// Topologies are those that a search without a scenario can be asked for.
func Topologies() []string { return []string{program.Clustered, program.Watched} }

// Target is what is explored: a variant of a scenario, for the sake of some properties.
type Target struct {
	// Scenario is a file or the name of a shipped scenario. Each of several machines may have it elsewhere: its text says whether it is
	// the same.
	Scenario string `json:"scenario,omitempty" line:"argument" part:"own"`
	// Variant is one of the scenario's; empty: the first.
	Variant string `json:"variant,omitempty"`
	// Properties are those that count; empty: those that suit the scenario.
	Properties []string `json:"property,omitempty"`
}

// Search asks for violations: a scenario is run many times, each time with other faults.
type Search struct {
	World string `json:"world"`
	// Nodes is where the nodes come from. Redis is the program of nodes that are processes; several machines may have it elsewhere.
	Nodes string `json:"nodes,omitempty"`
	Redis string `json:"redis,omitempty" part:"own"`
	// Lock takes the place of the scenario's: a command, or a lock of sim.
	Lock string `json:"lock,omitempty"`
	// Topology is one of Topologies, in which the nodes of a search without a scenario are arranged; empty: as suits the lock.
	Topology string `json:"topology,omitempty"`
	// StrictModel stops where real servers differ from the model in a run that was found.
	StrictModel bool `json:"strict-model,omitempty"`
	Target
	// Seed is the first seed, Seeds how many runs to make; 0: as many as the time allows.
	Seed  uint64 `json:"seed"`
	Seeds uint64 `json:"seeds"`
	// For is how long to search; 0: until all Seeds are run.
	For Duration `json:"for"`
	// Drawing is how schedules are drawn. Among real servers no kinds stand for those that a lock is meant to survive.
	explore.Drawing
	// StopAt ends the search after so many violations; 0: never.
	StopAt int `json:"stop-at,omitempty"`
	Place
	// Resume continues an earlier search with the same request.
	Resume bool `json:"resume,omitempty" part:"own"`
}

// Sweep asks how often a scenario fails as its settings vary.
type Sweep struct {
	Target
	// Steps is how many values of a range are measured, Runs how many runs are made for each point.
	Steps int    `json:"steps"`
	Runs  uint64 `json:"runs"`
	// Seed is the first seed.
	Seed uint64 `json:"seed"`
	// X and Y are the settings that vary, as SETTING=RANGE; Y may be empty.
	X string `json:"x"`
	Y string `json:"y,omitempty"`
	Place
}

// Explain asks from which event of a stored run on a violation was certain.
type Explain struct {
	// Run is the run's folder.
	Run string `json:"run" line:"argument"`
	// Variant is the one to explain; empty: the first with a violation. Property is a violated one; empty: the one that the report tells of.
	Variant  string `json:"variant,omitempty"`
	Property string `json:"property,omitempty"`
	// Reruns is how many are made in each of the two ways at an event at which their share changes; 0: as many as suit the run.
	Reruns int `json:"reruns,omitempty"`
	// Lock is what took the place of the scenario's lock in the run; empty: nothing did.
	Lock string `json:"lock,omitempty"`
	// Redis is the program of servers, if the run had any.
	Redis string `json:"redis,omitempty"`
	Jobs  int    `json:"jobs,omitempty"`
}

// Run asks for runs of scenarios, and for their verdicts.
type Run struct {
	// Scenarios are files, folders and names of shipped scenarios. Match and Tags choose among them. Several machines may name the same
	// scenarios otherwise.
	Scenarios []string `json:"scenarios,omitempty" line:"argument" part:"own"`
	Match     string   `json:"match,omitempty" part:"own"`
	Tags      []string `json:"tag,omitempty" part:"own"`
	World     string   `json:"world"`
	// Nodes is where the nodes come from. Redis is the program of nodes that are processes; several machines may have it elsewhere.
	Nodes string `json:"nodes,omitempty"`
	Redis string `json:"redis,omitempty" part:"own"`
	// Upgrade is the program with which a node that was killed starts again; empty: the same.
	Upgrade string `json:"upgrade,omitempty" part:"own"`
	// LockOf are locks of single clients in the place of Lock, as CLIENT=LOCK.
	LockOf []string `json:"lock-of,omitempty" line:"repeat"`
	// Lock takes the place of every scenario's: a command, or a lock of sim. AsPrograms puts each built-in lock behind the lock protocol.
	Lock       string `json:"lock,omitempty"`
	AsPrograms bool   `json:"as-programs,omitempty"`
	Seed       uint64 `json:"seed"`
	// Repeat is how often every scenario is run. Tries is how often a variant may be run until each violation that it expects has
	// shown; 0: as many as suit the world.
	Repeat  int      `json:"repeat"`
	Tries   int      `json:"tries,omitempty"`
	Timeout Duration `json:"timeout"`
	// Twice: each run of real programs and servers in virtual time is made twice.
	Twice bool `json:"twice,omitempty" part:"own"`
	// FailFast starts no further scenario after one that did not end as expected.
	FailFast bool `json:"fail-fast,omitempty" part:"own"`
	// AllowUndecided: what is undecided counts as expected.
	AllowUndecided bool `json:"allow-undecided,omitempty" part:"own"`
	Place
}

// Audit asks for the report card of locks.
type Audit struct {
	// Locks are NAME=LOCK or LOCK; a lock is a command, or a lock of sim.
	Locks []string `json:"lock" line:"repeat"`
	World string   `json:"world"`
	Nodes string   `json:"nodes,omitempty"`
	Redis string   `json:"redis,omitempty" part:"own"`
	// Guarantees and Case choose among the cases.
	Guarantees []string `json:"guarantee,omitempty" line:"repeat"`
	Case       string   `json:"case,omitempty"`
	Seed       uint64   `json:"seed"`
	Timeout    Duration `json:"timeout"`
	// NoShorten: no shortest scenario is looked for.
	NoShorten bool `json:"no-shorten,omitempty"`
	// Twice: each run of real programs and servers in virtual time is made twice.
	Twice bool `json:"twice,omitempty" part:"own"`
	// AllowUndecided: a cell that is unknown counts as expected.
	AllowUndecided bool `json:"allow-undecided,omitempty" part:"own"`
	Place
}

// Conform asks whether a lock program speaks the lock protocol and behaves as a lock.
type Conform struct {
	// Command starts the program.
	Command string `json:"command" line:"argument"`
	// World is where it runs: Live or Virtual; empty: sim chooses. Redis is the program of the nodes; several machines may have it elsewhere.
	World string `json:"world"`
	Redis string `json:"redis,omitempty" part:"own"`
	Key   string `json:"key"`
	// TTL is the lease to ask for, Patience how long an answer may take beyond the wait that was asked for.
	TTL      Duration `json:"ttl"`
	Patience Duration `json:"patience"`
}

// Check asks for the verdicts of histories in files.
type Check struct {
	Files []string `json:"files" line:"argument"`
	// Model judges the histories; empty: the properties of the lock do.
	Model  string `json:"model,omitempty"`
	Format string `json:"format,omitempty"`
	// Initial is the initial value, NilRead the value that a read of nil stands for; empty: those of the file.
	Initial string `json:"initial,omitempty"`
	NilRead string `json:"nil-read,omitempty"`
	// ClockError bounds the difference between the clocks of any two hosts that wrote lock logs; nothing else needs it.
	ClockError Duration `json:"clock-error,omitempty"`
	Permits    int      `json:"permits"`
	Reentrancy int      `json:"reentrancy,omitempty"`
	// Timeout and Memory (in MiB) bound the work; beyond them the verdict is undecided.
	Timeout Duration `json:"timeout"`
	Memory  int64    `json:"memory"`
}

// Corpus asks for a corpus of lock histories.
type Corpus struct {
	Out string `json:"out"`
	// Seed draws all of it.
	Seed      uint64 `json:"seed"`
	Histories int    `json:"histories"`
	// Redis is the program of the real servers; empty: the redis-server of this machine.
	Redis string `json:"redis,omitempty"`
}

// Place says what of the work is done here, how, and where it is stored. It makes no difference to what comes of it.
type Place struct {
	// Jobs is how many runs are made at once; 0: as many as suit the machine.
	Jobs int `json:"jobs,omitempty" line:"never" part:"own"`
	// Out is the folder in which what comes of it is stored.
	Out string `json:"out,omitempty" line:"never" part:"own"`
	// Part is this machine's, where several share the work; the zero value: it does all of it.
	Part *Shard `json:"shard,omitempty" line:"never" part:"own"`
}

// Duration is a duration that is written as in flags: "1m30s".
type Duration time.Duration

// MarshalText writes it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads it.
func (d *Duration) UnmarshalText(text []byte) error {
	got, err := time.ParseDuration(string(text))
	*d = Duration(got)
	return err
}

func (d Duration) String() string { return time.Duration(d).String() }

// Version is that of requests as JSON. It rises when a field changes its meaning or goes; a new field is refused by the programs that
// do not know it.
const Version = 1

// Any is one request of any kind, as files and workers have it.
type Any struct {
	Version int      `json:"version"`
	Run     *Run     `json:"run,omitempty"`
	Search  *Search  `json:"search,omitempty"`
	Sweep   *Sweep   `json:"sweep,omitempty"`
	Audit   *Audit   `json:"audit,omitempty"`
	Conform *Conform `json:"conform,omitempty"`
	Check   *Check   `json:"check,omitempty"`
}

// The names of requests, which are those of their commands.
const (
	RunName     = "run"
	SearchName  = "search"
	SweepName   = "sweep"
	AuditName   = "audit"
	ConformName = "conform"
	CheckName   = "check"
)

// Of wraps a request; it must be a pointer to one of the types of this package.
func Of(request any) Any {
	a := Any{Version: Version}
	switch r := request.(type) {
	case *Run:
		a.Run = r
	case *Search:
		a.Search = r
	case *Sweep:
		a.Sweep = r
	case *Audit:
		a.Audit = r
	case *Conform:
		a.Conform = r
	case *Check:
		a.Check = r
	default:
		panic(fmt.Sprintf("no request: %T", request))
	}
	return a
}

// Only is the request that is there, and its name; an error unless it is exactly one.
func (a *Any) Only() (name string, request any, err error) {
	for _, one := range []struct {
		name    string
		request any
		there   bool
	}{
		{RunName, a.Run, a.Run != nil}, {SearchName, a.Search, a.Search != nil}, {SweepName, a.Sweep, a.Sweep != nil},
		{AuditName, a.Audit, a.Audit != nil}, {ConformName, a.Conform, a.Conform != nil}, {CheckName, a.Check, a.Check != nil},
	} {
		if !one.there {
			continue
		}
		if request != nil {
			return "", nil, fmt.Errorf("it asks for two things: %s and %s", name, one.name)
		}
		name, request = one.name, one.request
	}
	if request == nil {
		return "", nil, errors.New("it asks for nothing that this program knows")
	}
	return name, request, nil
}

// mostBytes bounds a request that is read.
const mostBytes = 4 << 20

// Read reads one request, and believes nothing that it does not know: another version and an unknown field are refused by name.
func Read(from io.Reader) (*Any, error) {
	text, err := io.ReadAll(io.LimitReader(from, mostBytes+1))
	if err != nil {
		return nil, fmt.Errorf("failed to read the request: %w", err)
	}
	if len(text) > mostBytes {
		return nil, fmt.Errorf("a request of more than %d bytes", mostBytes)
	}
	a := &Any{}
	if err := json.Unmarshal(text, a); err != nil {
		return nil, fmt.Errorf("no request: %w", err)
	}
	_, _, err = a.Only()
	return a, err
}

// UnmarshalJSON refuses fields that it does not know.
func (a *Any) UnmarshalJSON(text []byte) error {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return err
	}
	if version.Version != Version {
		return fmt.Errorf("a request of version %d: this program knows version %d", version.Version, Version)
	}
	type plain Any
	return strict(text, (*plain)(a))
}

// Soak lets a lock live for long, in epochs, each with faults of its own.
type Soak struct {
	World string `json:"world"`
	// Nodes is where the nodes come from. Redis is the program of nodes that are processes.
	Nodes string `json:"nodes,omitempty"`
	Redis string `json:"redis,omitempty" part:"own"`
	// Lock takes the place of the scenario's: a command, or a lock of sim.
	Lock string `json:"lock,omitempty"`
	Target
	// Seed draws all epochs. From is the number of the first, Epochs how many there are; 0: as many as the time has.
	Seed   uint64 `json:"seed"`
	From   uint64 `json:"from,omitempty"`
	Epochs uint64 `json:"epochs,omitempty"`
	// For is how long the lock lives, in the time of its world, Length how long an epoch is, about.
	For    Duration `json:"for"`
	Length Duration `json:"length"`
	// Kinds are the kinds of faults allowed; none: those that suit the lock. Bare leaves out the scenario's own faults.
	Kinds []string `json:"kinds,omitempty"`
	Bare  bool     `json:"bare,omitempty"`
	// Seeds is a file with what earlier soaks found; empty: there is none.
	Seeds string `json:"seeds,omitempty" line:"never" part:"own"`
	// Resume continues an earlier soak with the same request.
	Resume bool `json:"resume,omitempty" line:"never" part:"own"`
	// Out is the folder in which what comes of it is stored.
	Out string `json:"out,omitempty" line:"never" part:"own"`
}
