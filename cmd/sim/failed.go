package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// lastFile is the file below --out that says how the last suite ended.
const lastFile = "last.json"

// last is how the last suite ended.
type last struct {
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
func (s *suiteRun) remember() error {
	l := last{World: s.flags.world, Seed: s.flags.seed, Repeat: s.flags.repeat}
	for _, sc := range s.scenarios {
		l.Scenarios = append(l.Scenarios, lastScenario{Scenario: sc.File})
	}
	for i, t := range s.done {
		exit := exitInterrupted
		switch {
		case t != nil && t.Result != nil:
			exit = exitOf(t.Result, s.flags.allowUndecided)
		case t != nil:
			exit = exitInternal
		}
		one := &l.Scenarios[i%len(s.scenarios)]
		one.Exit = max(one.Exit, exit)
	}
	if _, err := os.Stat(s.flags.out); err != nil {
		return nil // nothing was run
	}
	return machine.WriteFile(filepath.Join(s.flags.out, lastFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(l) })
}

// mostLast bounds the file, in bytes.
const mostLast = 64 << 20

// readLast reads how the last suite below a folder ended.
func readLast(out string) (l last, err error) {
	file := filepath.Join(out, lastFile)
	text, err := machine.ReadRegular(file, mostLast)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l, usageError("--failed: no run is stored in %s\nhint: --out names the folder", out)
	case err != nil:
		return l, fmt.Errorf("--failed: %w", err)
	}
	if err := json.Unmarshal(text, &l); err != nil || l.World != trial.Live && l.World != trial.Virtual || l.Repeat < 1 {
		return l, usageError("--failed: %s is not what a run leaves there", file)
	}
	return l, nil
}

// as takes over how the last suite was run, but for the flags that are given.
func (f *runFlags) as(l last, given func(flag string) bool) {
	if !given("world") {
		f.world = l.World
	}
	if !given("seed") {
		f.seed = l.Seed
	}
	if !given("repeat") {
		f.repeat = l.Repeat
	}
}

// again are the scenarios to run again: what did not end as expected, or was not run.
func (l last) again() (names []string) {
	for _, one := range l.Scenarios {
		if one.Exit != exitMet {
			names = append(names, one.Scenario)
		}
	}
	return names
}
