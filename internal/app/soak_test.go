package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/runner"
)

// A table of seeds comes from anywhere: what is too large, unknown or asks for too much is refused.
func TestATableOfSeedsIsBounded(t *testing.T) {
	const line = `{"soak":1,"of":"x","with":"y","seed":7,"epoch":12,"epochs":3,"what":"exclusive-lease","sim":"1"}`
	for name, test := range map[string]struct{ text, says string }{
		"a seed":           {line + "\n\n" + line, ""},
		"too many":         {strings.Repeat(line+"\n", mostSeeds+1), "more than 1000 seeds"},
		"too large":        {strings.Repeat(" ", mostSeedsBytes+1), "more than 1048576 bytes"},
		"another version":  {strings.Replace(line, `"soak":1`, `"soak":2`, 1), "version 2"},
		"an unknown field": {strings.Replace(line, `"of"`, `"cow"`, 1), "cow"},
		"too many epochs":  {strings.Replace(line, `"epochs":3`, `"epochs":14`, 1), "cannot need 14"},
		"for ever":         {strings.Replace(line, `"epoch":12,"epochs":3`, `"epoch":18446744073709551615,"epochs":9999999`, 1), "cannot need"},
		"nothing violated": {strings.Replace(line, "exclusive-lease", "", 1), "what was violated"},
	} {
		path := filepath.Join(t.TempDir(), "seeds.jsonl")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readSeeds(path)
		if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What a soak remembers does not grow with its epochs, whatever reasons they have.
func TestATallyDoesNotGrow(t *testing.T) {
	tally := newTally(0)
	for n := range uint64(1000) {
		tally.take(&explore.Epoch{Number: n, Life: n / 10 * 10, Granted: 5, Sections: 6, Took: time.Minute, RollCall: 2,
			Struck: map[string]uint64{"pause": 2}, Over: fmt.Sprint("for the reason ", n), Failed: strings.Repeat("x", 10_000),
			Waited: []runner.Called{{Client: "c1"}},
			Verdicts: []checker.Finding{{Property: checker.ExclusiveLease, Verdict: checker.Unknown, Why: fmt.Sprint("why ", n)},
				{Property: checker.NoLateEffect, Verdict: checker.Violated}}})
	}
	lease, late := tally.of(checker.ExclusiveLease), tally.of(checker.NoLateEffect)
	if len(tally.Ends) > mostReasons || len(lease.Undecided) > mostReasons || len(tally.Failure) > mostLine {
		t.Errorf("%d ends, %d reasons, a failure of %d bytes", len(tally.Ends), len(lease.Undecided), len(tally.Failure))
	}
	sum := uint64(0)
	for _, r := range tally.Ends {
		sum += r.Epochs
	}
	if sum != 1000 || tally.Lives != 100 || tally.Epochs != 1000 || tally.Next != 1000 || tally.Struck["pause"] != 2000 {
		t.Errorf("%d ends of lives, %+v", sum, tally)
	}
	if late.Violated != 1000 || late.Sections != 5000 || lease.Judged != 0 || tally.Progress.Violated != 1000 {
		t.Errorf("no-late-effect %+v, exclusive-lease %+v, progress %+v", late, lease, tally.Progress)
	}
	if r := late.Rate(); r.Share() != 0.2 || r.Low >= 0.2 || r.High <= 0.2 {
		t.Errorf("a rate of %+v", r)
	}
}

// What a soak says of its memory is what is in use, and not the garbage of an epoch.
func TestASoakMeasuresWhatIsInUse(t *testing.T) {
	const large = 64 << 20
	tally := newTally(0)
	tally.measure()
	before := tally.End.Heap
	garbage := make([]byte, large)
	runtime.GC() // which finds it in use
	runtime.KeepAlive(garbage)
	if tally.take(&explore.Epoch{}); tally.Start.Heap > before+large/2 {
		t.Errorf("%d bytes in use, and %d before %d came and went", tally.Start.Heap, before, large)
	}
}

// A soak in which something is violated again and again keeps no more of it than the first.
func TestASoakDoesNotGrow(t *testing.T) {
	r := request.Soak{World: request.Virtual, Epochs: 150, Length: request.Duration(10 * time.Second), Seed: 7, Kinds: []string{"pause"},
		Target: request.Target{Scenario: "gc-pause", Variant: "unfenced"}, Out: t.TempDir()}
	ctx, enough := context.WithCancel(t.Context())
	var early int64
	var all *SoakResult
	_, err := Soak(ctx, &Env{System: runtime.GOOS}, r, func(e Event) {
		switch e := e.(type) {
		case Soaking:
			if e.Epochs == 20 {
				e.measure()
				early = e.End.Heap
			}
		case Soaked:
			all = e.SoakResult
			enough() // nothing is to be explained
		}
	})
	if all == nil || len(all.Found) == 0 || all.Epochs != 150 {
		t.Fatal(all, err)
	}
	if grown := all.End.Heap - early; early == 0 || grown > 1<<20 {
		t.Errorf("from the epoch 20 on the heap grew by %d bytes, to %d", grown, all.End.Heap)
	}
}

// An epoch shows again what it showed if the first of that shows: others may come along.
func TestWhatAnEpochShows(t *testing.T) {
	e := &explore.Epoch{Verdicts: []checker.Finding{{Property: checker.NoLateEffect, Verdict: checker.Violated},
		{Property: checker.ExclusiveLease, Verdict: checker.Violated}}, Doubted: []checker.Property{checker.ExclusiveLease}}
	if what, confirmed := whatOf(e); what != "no-late-effect" || !confirmed {
		t.Errorf("it shows %q, confirmed %v", what, confirmed)
	}
	if !shows(e, "no-late-effect + progress") || shows(e, "exclusive-lease") || shows(e, "progress") {
		t.Error("it shows something else")
	}
	e.Doubted = append(e.Doubted, checker.NoLateEffect)
	if what, confirmed := whatOf(e); what != "no-late-effect + exclusive-lease" || confirmed {
		t.Errorf("by the lock's word alone it shows %q, confirmed %v", what, confirmed)
	}
	e.Waited = []runner.Called{{Client: "c2"}}
	if what, confirmed := whatOf(e); what != progressProperty || !confirmed {
		t.Errorf("with a client that waits it shows %q, confirmed %v", what, confirmed)
	}
}

func TestASoakOfNoLengthIsRefused(t *testing.T) {
	for _, r := range []request.Soak{{}, {Length: request.Duration(time.Minute)}, {Length: request.Duration(time.Hour), Epochs: 1},
		{Length: request.Duration(time.Minute), Epochs: 1, From: 3, Resume: true}} {
		if err := checkSoak(&r); ExitCode(err) != ExitUsage {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
