package app

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// SoakTally is what the epochs of a soak came to. It does not grow with them.
type SoakTally struct {
	// Next is the number of the epoch that comes next, Epochs how many there were, Before of them in the soak that was continued.
	Next   uint64 `json:"next"`
	Epochs uint64 `json:"epochs"`
	Before uint64 `json:"-"`
	// Calm had no faults. Lives is how many worlds there were.
	Calm  uint64 `json:"calm"`
	Lives uint64 `json:"lives"`
	// Virtual is how long they were in the time of their world, Took in real time.
	Virtual time.Duration `json:"virtual"`
	Took    time.Duration `json:"took"`
	// Sections is how often clients asked for the lock, Granted how often they were granted it.
	Sections uint64 `json:"sections"`
	Granted  uint64 `json:"granted"`
	// Struck is how many faults took effect, by their kind.
	Struck map[string]uint64 `json:"struck"`
	// ByProperty is what came of each, Progress of the roll calls.
	ByProperty []*SoakProperty `json:"by_property"`
	Progress   SoakProperty    `json:"progress"`
	// Carried is how many epochs began with keys of an earlier one.
	Carried uint64 `json:"carried,omitempty"`
	// Failed could not be carried out, Failure says why of the last. For Slow the machine was too slow; Unfinished came to the time limit.
	Failed     uint64 `json:"failed,omitempty"`
	Failure    string `json:"failure,omitempty"`
	Slow       uint64 `json:"slow,omitempty"`
	Unfinished uint64 `json:"unfinished,omitempty"`
	// Ends says why lives ended, and how often.
	Ends  []SoakReason `json:"ends,omitempty"`
	Found []*SoakFound `json:"found,omitempty"`
	// Start and End are how much memory there was after the first epoch and after the last.
	Start SoakMemory `json:"memory_start"`
	End   SoakMemory `json:"memory_end"`

	life     uint64
	measured time.Time
}

// SoakMemory is how much memory sim had, and the processes below it, in bytes. Heap is what of its own is in use: the rest it takes and
// gives back as its garbage is collected.
type SoakMemory struct {
	Own      int64 `json:"own"`
	Heap     int64 `json:"heap"`
	Children int64 `json:"children"`
}

// SoakReason is a reason, and in how many epochs it was one.
type SoakReason struct {
	Why    string `json:"why"`
	Epochs uint64 `json:"epochs"`
}

// SoakProperty is what came of a property.
type SoakProperty struct {
	Property checker.Property `json:"property"`
	// Judged is how many epochs say something of it, Violated how many of them violated it; Doubted of them by the word of the lock alone.
	Judged   uint64 `json:"judged"`
	Violated uint64 `json:"violated"`
	Doubted  uint64 `json:"doubted,omitempty"`
	// Sections is how many grants the judged epochs had.
	Sections uint64 `json:"sections"`
	// Undecided are the reasons why others say nothing.
	Undecided []SoakReason `json:"undecided,omitempty"`
}

// Rate is how many of the sections came with a violation at least: an epoch that violated a property counts once.
func (p *SoakProperty) Rate() report.Rate { return report.RateOf(p.Violated, p.Sections, p.Sections) }

func newTally(from uint64) SoakTally {
	return SoakTally{Next: from, Struck: make(map[string]uint64), Progress: SoakProperty{Property: progressProperty}, life: noLife}
}

// noLife is no epoch's number.
const noLife = 1<<64 - 1

// mostReasons bounds how many different reasons are told.
const mostReasons = 6

func count(list []SoakReason, why string) []SoakReason {
	if i := slices.IndexFunc(list, func(r SoakReason) bool { return r.Why == why }); i >= 0 {
		list[i].Epochs++
		return list
	}
	if len(list) == mostReasons {
		if last := &list[mostReasons-1]; last.Why != otherReasons {
			last.Why = otherReasons
		}
		list[mostReasons-1].Epochs++
		return list
	}
	return append(list, SoakReason{why, 1})
}

const otherReasons = "other reasons"

// take takes an epoch in.
func (t *SoakTally) take(e *explore.Epoch) {
	t.Next = e.Number + 1
	t.Epochs++
	if e.Life != t.life {
		t.life = e.Life
		t.Lives++
	}
	if e.Calm {
		t.Calm++
	}
	if len(e.Found) > 0 {
		t.Carried++
	}
	t.Virtual += e.Took
	t.Sections += e.Sections
	t.Granted += e.Granted
	for kind, n := range e.Struck {
		t.Struck[kind] += n
	}
	if e.Over != "" {
		t.Ends = count(t.Ends, firstLine(e.Over))
	}
	switch {
	case e.Slow != "":
		t.Slow++
		t.Failure = firstLine(e.Slow)
	case e.Failed != "":
		t.Failed++
		t.Failure = firstLine(e.Failed)
	case e.Unfinished:
		t.Unfinished++
		t.Failure = "it came to its time limit"
	}
	t.takeVerdicts(e)
	if t.Epochs == 1 || time.Since(t.measured) > measureEvery {
		t.measure()
	}
	if t.Epochs == 1 {
		t.Start = t.End
	}
}

// measureEvery is how often memory is measured, beside the first epoch and the last.
const measureEvery = 10 * time.Second

// measure measures how much memory there is.
func (t *SoakTally) measure() {
	t.measured = time.Now()
	t.End.Heap = heapInUse()
	t.End.Own, t.End.Children = machine.Resident()
}

// heapInUse is what of the heap is in use. Garbage is collected before: when that was done last it was in the midst of an epoch, and
// counted its events, and all that came while it was being done.
func heapInUse() int64 {
	runtime.GC()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	if metrics.Read(live); live[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(live[0].Value.Uint64())
}

func (t *SoakTally) takeVerdicts(e *explore.Epoch) {
	for i := range e.Verdicts {
		f := &e.Verdicts[i]
		p := t.of(f.Property)
		switch f.Verdict {
		case checker.Unknown:
			p.Undecided = count(p.Undecided, firstLine(f.Why))
			continue
		case checker.Violated:
			p.Violated++
			if slices.Contains(e.Doubted, f.Property) {
				p.Doubted++
			}
		case checker.Holds:
		}
		p.Judged++
		p.Sections += e.Granted
	}
	if e.RollCall > 0 {
		t.Progress.Judged++
		t.Progress.Sections += e.Granted
		if len(e.Waited) > 0 {
			t.Progress.Violated++
		}
	}
}

func (t *SoakTally) of(property checker.Property) *SoakProperty {
	for _, p := range t.ByProperty {
		if p.Property == property {
			return p
		}
	}
	p := &SoakProperty{Property: property}
	t.ByProperty = append(t.ByProperty, p)
	return p
}

// mostLine bounds a reason.
const mostLine = 200

func firstLine(text string) string {
	for i, c := range text {
		if c == '\n' || i >= mostLine {
			return text[:i]
		}
	}
	return text
}

// soakState keeps a soak's tally in a file, so that it can be continued.
type soakState struct {
	path, of string
	written  time.Time
}

// storedSoak is such a file.
type storedSoak struct {
	Of    string    `json:"of"`
	Tally SoakTally `json:"tally"`
}

func newSoakState(s *soaking) soakState {
	r, of := &s.soaked.Request, &s.out.Of
	return soakState{path: filepath.Join(r.Out, fmt.Sprintf("%.40s-%s.soak.json", of.Scenario.Name, of.Variant)), of: soakIdentity(s, r.Seed)}
}

// soakIdentity is what makes a soak the same.
func soakIdentity(s *soaking, seed uint64) string {
	r, of := &s.soaked.Request, &s.out.Of
	text := fmt.Sprintf("%s\n%s\n%s\n%s\n%s\n%+v\n%v\n%v\n%d", r.World, r.Nodes, r.Lock, of.Scenario.Text, of.Variant, of.Drawing,
		of.Properties, r.Length, seed)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
}

// mostState bounds such a file.
const mostState = 4 << 20

func (f *soakState) load() (t SoakTally, err error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return t, Usagef("there is no soak to continue: %s is missing", f.path).Hint("leave out --resume to start a new soak")
	}
	if err != nil {
		return t, fmt.Errorf("failed to open the state of the soak: %w", err)
	}
	defer func() { _ = file.Close() }()
	var stored storedSoak
	if err := json.NewDecoder(io.LimitReader(file, mostState)).Decode(&stored); err != nil {
		return t, Usagef("%s: %v", f.path, err).Hint("leave out --resume to start a new soak")
	}
	if stored.Of != f.of {
		return t, Usagef("%s belongs to another soak: the scenario, --lock, --variant, --world, --nodes, --kinds, --property, --seed "+
			"or --length was different", f.path).Hint("leave out --resume to start a new soak")
	}
	t = stored.Tally
	if t.life = noLife; t.Struck == nil {
		t.Struck = make(map[string]uint64)
	}
	return t, nil
}

// save writes the tally now and then, and when the soak is over.
func (f *soakState) save(t *SoakTally, last bool) error {
	if !last && time.Since(f.written) < stateEvery {
		return nil
	}
	f.written = time.Now()
	return machine.WriteFile(f.path, func(w io.Writer) error { return json.NewEncoder(w).Encode(storedSoak{f.of, *t}) })
}

// Speed is how many seconds of the world's time one of real time had.
func (t *SoakTally) Speed() float64 { return t.Virtual.Seconds() / cmp.Or(t.Took.Seconds(), 1) }
