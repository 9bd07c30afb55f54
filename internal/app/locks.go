package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/pflag"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// BuiltIn is the lock of sim with a name, with some rules switched off.
func BuiltIn(name string, switches []string) (lock.Config, error) {
	algorithm, ok := lock.Lookup(name)
	if !ok {
		err := Usagef("no lock %q", name)
		if best := trial.NearestLock(name); best != "" {
			return lock.Config{}, err.Hint("did you mean %s?", best)
		}
		return lock.Config{}, err.Hint("sim list locks lists them")
	}
	config, rules := scenario.StandardLock(name), algorithm.Mistakes.Rules()
	for _, rule := range switches {
		if !slices.Contains(rules, rule) {
			err := Usagef("--switch: %s has no rule %q", name, rule)
			if len(rules) == 0 {
				return config, err.Hint("its rules are none")
			}
			return config, err.Unknown(rule, rules)
		}
		config.Mistakes.SwitchOff(rule)
	}
	return config, nil
}

// standIn is the lock that a request puts in the place of every scenario's: a program, or
// a built-in lock, as in "redlock --switch quorum"; nil: there is none.
func (e *Env) standIn(command string) (*scenario.StandIn, error) {
	if command == "" {
		return nil, nil
	}
	words, err := splitCommand("--lock", command)
	if err != nil {
		return nil, err
	}
	if _, ours := lock.Lookup(words[0]); !ours {
		if !e.Permit.Lock {
			return nil, e.notPermitted(command)
		}
		return &scenario.StandIn{Program: &lock.Program{Command: words}}, nil
	}
	config, err := builtIn("--lock", words)
	if err != nil {
		return nil, err
	}
	return scenario.NewBuiltIn(config, e.Version), nil
}

// lockOf gives single clients other locks than the one that is in the place of all, each as CLIENT=LOCK.
func (e *Env) lockOf(own *scenario.StandIn, list []string) error {
	if own == nil && len(list) > 0 {
		return Usagef("--lock-of %s: it is for the lock of --lock, which is not there", list[0]).
			Hint("--lock names the lock of all other clients")
	}
	for _, text := range list {
		client, command, ok := strings.Cut(text, "=")
		if !ok || !scenario.IsClientName(client) {
			return Usagef("--lock-of %s: want a client and its lock", text).Hint("--lock-of c1='LOCK'")
		}
		other, err := e.standIn(command)
		switch {
		case err != nil:
			return err
		case other == nil:
			return Usagef("--lock-of %s: name a lock", text)
		case own.Others[client] != nil:
			return Usagef("--lock-of: %s is given two locks", client)
		case other.Command() == own.Command():
			return Usagef("--lock-of %s: that is the lock of all other clients, too", text)
		case (other.Program == nil) != (own.Program == nil):
			return Usagef("--lock-of %s: a lock of sim and a lock program do not speak of their grants alike", text).
				Hint("'sim lock NAME' is a lock of sim as a lock program")
		}
		if own.Others == nil {
			own.Others = make(map[string]*scenario.StandIn)
		}
		own.Others[client] = other
	}
	return nil
}

// builtIn is the lock of sim that a command line names, as in "redlock --switch quorum".
func builtIn(where string, words []string) (lock.Config, error) {
	flags := pflag.NewFlagSet(words[0], pflag.ContinueOnError)
	flags.Usage = func() {}
	switches := flags.StringArray("switch", nil, "")
	if err := flags.Parse(words[1:]); err != nil || flags.NArg() > 0 {
		return lock.Config{}, Usagef("%s %s: %s is a lock of sim, and --switch RULE all that can stand behind it",
			where, shellquote.Join(words...), words[0])
	}
	return BuiltIn(words[0], *switches)
}

// notPermitted refuses a lock program that the user's own command line does not name.
func (e *Env) notPermitted(command string) error {
	return Usagef("the lock %q is a program, which is not started without a word from the user", command).
		Hint("%s", cmp.Or(e.Permit.ProgramHint, "name it on the command line"))
}

// splitCommand splits the command of a lock program as a shell would.
func splitCommand(where, command string) ([]string, error) {
	words, err := shellquote.Split(command)
	if err != nil {
		return nil, Usagef("%s %s: %w", where, command, err)
	}
	if len(words) == 0 {
		return nil, Usagef("%s: name a program", where)
	}
	return words, nil
}

// greetPrograms starts the lock programs of the scenarios, or the one that --lock puts in
// the place of all their locks, so that what applies is known before anything is run. No
// program of a scenario is started without a word from the user.
func (s *running) greetPrograms(ctx context.Context, list []*scenario.Scenario) error {
	r, own := s.out.Request, s.own
	if own == nil {
		if err := s.checkPrograms(list); err != nil {
			return err
		}
	}
	if r.AsPrograms {
		self, err := Self()
		if err != nil {
			return err
		}
		asPrograms(list, self)
	}
	if r.World == request.Virtual {
		if err := s.enterVirtual(ctx, list, own); err != nil {
			return err
		}
	}
	return s.greet(ctx, list)
}

// greet has the lock programs describe themselves. Fewer heavy ones run at once.
func (s *running) greet(ctx context.Context, list []*scenario.Scenario) (err error) {
	r := &s.out.Request
	s.programs, err = trial.Greet(ctx, list, s.own, r.World)
	if err == nil {
		s.programs.AsPrograms = r.AsPrograms
	}
	if err == nil && s.usualJobs && r.World == request.Live {
		usual := r.Jobs
		r.Jobs = jobsOf(usual, s.programs.Start)
		s.idleJobs = s.idleJobs * r.Jobs / usual
	}
	return err
}

// enterVirtual makes sure that what is real in virtual time can be had: lock programs, and the servers that they meet.
func (s *running) enterVirtual(ctx context.Context, list []*scenario.Scenario, own *scenario.StandIn) error {
	r := &s.out.Request
	var locks []virtualLock
	if own != nil {
		locks = append(locks, virtualLock{"--lock", own.Program})
		for _, other := range own.Others {
			locks = append(locks, virtualLock{"--lock-of", other.Program})
		}
	} else {
		for _, sc := range list {
			for i := range sc.Variants {
				locks = append(locks, virtualLock{sc.File, sc.Variants[i].Setup.Lock.Program})
			}
		}
	}
	if path, err := serverFor(ctx, r.Nodes, r.Redis, locks...); path == "" || err != nil {
		return err
	}
	if r.Tries > 1 {
		return Usagef("--tries %d is for real time: in virtual time the same seed makes the same run", r.Tries).
			Hint("--world live; or --repeat %d, which takes other seeds", r.Tries)
	}
	if s.usualJobs { // each run keeps a processor busy
		r.Jobs = runtime.NumCPU()
	}
	return s.enterLive()
}

// virtualLock is a lock in virtual time: where it is named, and its program; nil is a lock of sim.
type virtualLock struct {
	where   string
	program *lock.Program
}

// serverFor is the program of the real servers that locks meet in virtual time; empty: all nodes are models.
func serverFor(ctx context.Context, nodes, redis string, locks ...virtualLock) (path string, err error) {
	real := server.Provider(nodes) == server.Process
	for _, l := range locks {
		if err := checkVirtualLock(l.where, l.program, nodes); err != nil {
			return "", err
		}
		real = real || l.program != nil
	}
	switch {
	case real:
		path, _, err = trial.VirtualServer(ctx, redis)
	case redis != "":
		err = errNoServers
	}
	return path, err
}

// errNoServers refuses a program of servers where there are none.
var errNoServers = Usagef("--redis names the program of real servers, and the nodes are models").Hint("--nodes process")

// checkVirtualLock refuses a lock program that cannot run in virtual time; nil is a lock of sim.
func checkVirtualLock(where string, p *lock.Program, nodes string) error {
	if p == nil {
		return nil
	}
	if server.Provider(nodes) == trial.Model {
		return Usagef("%s: %w (--nodes model)", where, trial.ErrOnModel).Hint("--nodes process")
	}
	if _, contained := program.Image(p.Command); contained {
		return Usagef("%s: %w", where, errContained).Hint("--world live")
	}
	return nil
}

// asPrograms puts each lock of ours behind the lock protocol: everything else stays, what is expected of it, too. What is asked of lock
// programs alone is not asked of it. Those stay where they are for which the protocol has no word: a lock that is kept in a consensus
// store, and none, which promises without a key.
func asPrograms(list []*scenario.Scenario, self string) {
	for _, s := range list {
		for i := range s.Variants {
			v := &s.Variants[i]
			l := &v.Setup.Lock
			algorithm, ok := lock.Lookup(l.Algorithm)
			if !ok || algorithm.Consensus || l.Algorithm == "none" {
				continue
			}
			asked := v.Setup.Demanded()
			l.Clients = maps.Clone(l.Clients)
			for client, d := range l.Clients {
				if d.Algorithm != "" { // then it does not make the mistakes of the others
					command := append([]string{self, "lock"}, scenario.Words(d.Algorithm, d.Mistakes)...)
					d.Program, d.Algorithm = &lock.Program{Command: command}, ""
					l.Clients[client] = d
				}
			}
			l.Program, l.Algorithm = &lock.Program{Command: []string{self, "lock", l.Algorithm, "--obey"}}, ""
			for _, p := range v.Setup.Demanded() {
				if !slices.Contains(asked, p) && !v.Says(p) {
					v.Expect = append(v.Expect, scenario.ExpectedVerdict{Property: p})
				}
			}
		}
	}
}

// checkPrograms makes sure that the programs which scenarios name may be started.
func (e *Env) checkPrograms(list []*scenario.Scenario) error {
	for _, s := range list {
		programs := ProgramsOf(s)
		switch {
		case len(programs) == 0:
		case !e.Permit.Programs:
			return Usagef("%s names programs to run on this machine:\n  %s", s.File, strings.Join(programs, "\n  ")).
				Hint("%s", cmp.Or(e.Permit.ProgramHint, "read them; if they are safe, run with --allow-programs"))
		}
	}
	return nil
}

// ProgramsOf are the lock programs that a scenario names, as a person can judge them.
func ProgramsOf(s *scenario.Scenario) []string {
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

// labelled reads NAME=LOCK ("ours=bin/my-lock"); the label is empty where there is no name.
func (e *Env) labelled(text string) (label string, own *scenario.StandIn, err error) {
	command := text
	if name, rest, ok := strings.Cut(text, "="); ok && scenario.IsLockName(name) {
		label, command = name, rest
	}
	if own, err = e.standIn(command); err == nil && own == nil {
		err = Usagef("--lock %s: name a lock", text)
	}
	return label, own, err
}

// unfit are the runs of characters that cannot stand in a label.
var unfit = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// labelOf names a lock by its command, without folders.
func labelOf(s *scenario.StandIn) string {
	words, _ := shellquote.Split(s.Command())
	for i := range words {
		words[i] = filepath.Base(words[i])
	}
	text := strings.Trim(unfit.ReplaceAllString(strings.ReplaceAll(strings.Join(words, "-"), "--switch", "without"), "-"), "-.")
	if len(text) > 60 {
		text = text[:60]
	}
	return cmp.Or(text, "lock")
}
