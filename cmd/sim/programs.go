package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/pflag"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// greetPrograms starts the lock programs of the scenarios, or the one that --lock puts in
// the place of all their locks, so that what applies is known before anything is run. No
// program of a scenario is started without a word from the user.
func greetPrograms(ctx context.Context, list []*scenario.Scenario, f runFlags) (*trial.Programs, error) {
	own, err := standIn(f.lock)
	if err != nil {
		return nil, err
	}
	if own != nil && own.Program != nil && f.world == trial.Virtual {
		return nil, usageError("--lock: %w\nhint: --world live", trial.ErrNotVirtual)
	}
	if own == nil {
		if err := checkPrograms(list, f); err != nil {
			return nil, err
		}
	}
	if f.asPrograms {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("failed to find my own program: %w", err)
		}
		asPrograms(list, self)
	}
	return trial.Greet(ctx, list, own)
}

// asPrograms puts each lock of ours behind the lock protocol: everything else stays, what
// is expected of it, too. Two stay where they are: a lock that is kept in a consensus store, and
// none, which promises without a key.
func asPrograms(list []*scenario.Scenario, self string) {
	for _, s := range list {
		for i := range s.Variants {
			l := &s.Variants[i].Setup.Lock
			if algorithm, ok := lock.Lookup(l.Algorithm); ok && !algorithm.Consensus && l.Algorithm != "none" {
				l.Program, l.Algorithm = &lock.Program{Command: []string{self, "lock", l.Algorithm, "--obey"}}, ""
			}
		}
	}
}

// checkPrograms makes sure that the programs which scenarios name may be started.
func checkPrograms(list []*scenario.Scenario, f runFlags) error {
	for _, s := range list {
		programs := programsOf(s)
		switch {
		case len(programs) == 0:
		case f.world == trial.Virtual:
			return usageError("%s: %w\nhint: --world live", s.File, trial.ErrNotVirtual)
		case !f.allowPrograms:
			return usageError("%s names programs to run on this machine:\n  %s\n"+
				"hint: read them; if they are safe, run with --allow-programs", s.File, strings.Join(programs, "\n  "))
		}
	}
	return nil
}

// standIn is the lock that a command line puts in the place of every scenario's: a program, or
// a built-in lock, as in "redlock --switch quorum"; nil: there is none.
func standIn(command string) (*scenario.StandIn, error) {
	if command == "" {
		return nil, nil
	}
	words, err := splitCommand("--lock", command)
	if err != nil {
		return nil, err
	}
	if _, ours := lock.Lookup(words[0]); !ours {
		return &scenario.StandIn{Program: &lock.Program{Command: words}}, nil
	}
	flags := pflag.NewFlagSet(words[0], pflag.ContinueOnError)
	flags.Usage = func() {}
	switches := flags.StringArray("switch", nil, "")
	if err := flags.Parse(words[1:]); err != nil || flags.NArg() > 0 {
		return nil, usageError("--lock %s: %s is a lock of sim, and --switch RULE all that can stand behind it", command, words[0])
	}
	config, err := lockConfig(words[0], *switches)
	return scenario.NewBuiltIn(config, programVersion()), err
}

// splitCommand splits the command of a lock program as a shell would.
func splitCommand(where, command string) ([]string, error) {
	words, err := shellquote.Split(command)
	switch {
	case err != nil:
		return nil, usageError("%s %s: %w", where, command, err)
	case len(words) == 0:
		return nil, usageError("%s: name a program", where)
	}
	return words, nil
}

// programsOf are the lock programs that a scenario names, as a person can judge them.
func programsOf(s *scenario.Scenario) []string {
	var list []string
	for i := range s.Variants {
		p := s.Variants[i].Setup.Lock.Program
		if p == nil {
			continue
		}
		text := fmt.Sprintf("%q", p.Command)
		if env := p.Environ(); len(env) > 0 {
			text += fmt.Sprintf(" with %q", env)
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}
