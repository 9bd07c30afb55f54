package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// Last is how the last suite ended.
type Last struct {
	// World and Seed are those of the suite, Repeat how often it ran each scenario.
	World     string         `json:"world"`
	Seed      uint64         `json:"seed"`
	Repeat    int            `json:"repeat"`
	Scenarios []lastScenario `json:"scenarios"`
}

type lastScenario struct {
	// Scenario is what names it at the command line.
	Scenario string `json:"scenario"`
	// Exit is its exit code: 0 all was as expected, 130 it was not run.
	Exit int `json:"exit"`
}

// remember writes down how each scenario ended, for --failed.
func (s *Suite) remember() error {
	l := Last{World: s.Request.World, Seed: s.Request.Seed, Repeat: s.Request.Repeat}
	for _, sc := range s.Scenarios {
		l.Scenarios = append(l.Scenarios, lastScenario{Scenario: sc.File})
	}
	for i, t := range s.Done {
		exit := ExitInterrupted
		switch {
		case t != nil && t.Result != nil:
			exit = ExitOf(t.Result, s.Request.AllowUndecided)
		case t != nil:
			exit = ExitInternal
		}
		one := &l.Scenarios[i%len(s.Scenarios)]
		one.Exit = max(one.Exit, exit)
	}
	if _, err := os.Stat(s.Request.Out); err != nil {
		return nil // nothing was run
	}
	return machine.WriteFile(filepath.Join(s.Request.Out, runs.Last), func(w io.Writer) error { return json.NewEncoder(w).Encode(l) })
}

// mostLast bounds the file, in bytes.
const mostLast = 64 << 20

// ReadLast reads how the last suite below a folder ended.
func ReadLast(out string) (l Last, err error) {
	file := filepath.Join(out, runs.Last)
	text, err := machine.ReadRegular(file, mostLast)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l, Usagef("--failed: no run is stored in %s", out).Hint("--out names the folder")
	case err != nil:
		return l, fmt.Errorf("--failed: %w", err)
	}
	if err := json.Unmarshal(text, &l); err != nil || l.World != request.Live && l.World != request.Virtual || l.Repeat < 1 {
		return l, Usagef("--failed: %s is not what a run leaves there", file)
	}
	return l, nil
}

// Again are the scenarios to run again: what did not end as expected, or was not run.
func (l Last) Again() (names []string) {
	for _, one := range l.Scenarios {
		if one.Exit != ExitMet {
			names = append(names, one.Scenario)
		}
	}
	return names
}
