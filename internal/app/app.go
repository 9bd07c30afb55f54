// Package app carries out requests: it is sim without its command line. A request and an Env go in, a result comes out, and a Listener is
// told meanwhile what is going on. It prints nothing and reads no flag.
package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// Env is what a request needs of the place where it is carried out.
type Env struct {
	// System is the operating system, as in runtime.GOOS.
	System string
	// Version is that of this program.
	Version string
	// Now is the wall clock.
	Now func() time.Time
	// Variable reads the environment.
	Variable func(name string) string
	// CleanerCommand are the words behind this program's own name that start the process which removes what is left if it is killed.
	CleanerCommand string
	// WorkCommand is the word that starts a process which takes a request on its standard input.
	WorkCommand string
	Permit      Permit
	// RealTime is what the user's folder sets (sim.yaml) where a request leaves it open.
	RealTime RealTime
}

// RealTime are settings of real time alone.
type RealTime struct {
	// Nodes is where nodes come from; empty: from where there are some. Tries is how often a variant may be run; 0: as usual.
	Nodes string
	Tries int
}

// Permit is what the user's own command line permits. No file, and no request from elsewhere, can.
type Permit struct {
	// Lock: the request's lock program may be started. It was named on the command line; or sim.yaml names it, and --allow-programs was given.
	Lock bool
	// Programs: the lock programs that scenarios name may be started.
	Programs bool
	// Hooks: the commands that scenarios name for servers that exist already may be run.
	Hooks bool
	// Images: the images that scenarios name may be fetched and run.
	Images bool
	// PasswordEnv is the environment variable with the password that a scenario may ask for; empty: none may be sent.
	PasswordEnv string
	// PlainPassword: the password may be sent without TLS to servers that are not on this machine.
	PlainPassword bool
	// ProgramHint says how lock programs can be permitted; empty: by the command line of the request.
	ProgramHint string
}

// Listener is told what is going on; nil: nobody is. Calls may come from several goroutines, one at a time.
type Listener func(Event)

func (l Listener) tell(e Event) {
	if l != nil {
		l(e)
	}
}

// Event is one of the types below.
type Event interface{ event() }

type (
	// Started says that there is something to end in order from now on.
	Started struct{}
	// Note is a line for whoever waits.
	Note struct{ Text string }
	// Phase is what is being done, in the place of what was said before; empty: nothing more.
	Phase struct{ Text string }
	// Planned says how many pieces of work will be done, and about how long they take together; 0: not known.
	Planned struct {
		Pieces int
		About  time.Duration
	}
	// PieceBegun, PiecePhase and PieceEnded tell of one piece of work: a scenario of a suite, a case of an audit.
	PieceBegun struct{ Name string }
	// PiecePhase is what a variant of a piece of work is doing.
	PiecePhase struct{ Name, Variant, Phase string }
	// PieceEnded tells of its end.
	PieceEnded struct{ Name string }
	// WorkOver says that all pieces of work have ended.
	WorkOver struct{}
)

func (Started) event()    {}
func (Note) event()       {}
func (Phase) event()      {}
func (Planned) event()    {}
func (PieceBegun) event() {}
func (PiecePhase) event() {}
func (PieceEnded) event() {}
func (WorkOver) event()   {}

// Live refuses what needs the live world on a system that cannot have it.
func (e *Env) Live() error {
	if err := machine.LiveOn(e.System); err != nil {
		return &trial.EnvironmentError{Err: err, Hint: "sim run --world virtual works here; " +
			"for real servers and lock programs run sim on Linux: in WSL, a virtual machine or a container"}
	}
	return nil
}

// enterLive makes sure that the live world can be had, and removes what killed runs have
// left, now and when this one is killed. leave ends what processes have left behind that were started
// meanwhile, but not what hooks have started: that may be somebody's server.
func (e *Env) enterLive(hooks bool, l Listener) (leave func(), err error) {
	if err := e.Live(); err != nil {
		return nil, err
	}
	l.tell(Started{})
	clean := func() { _, _ = machine.Clean(true) } // what cannot be removed does not stop a run; sim doctor tells of it
	clean()
	self, err := Self()
	if err != nil {
		return nil, err
	}
	endCleaner, err := machine.StartCleaner(exec.Command(self, e.CleanerCommand))
	if err != nil {
		return nil, err
	}
	if hooks {
		return func() { clean(); endCleaner() }, nil
	}
	return func() { machine.LeaveNothing(); endCleaner() }, machine.Adopt()
}

// enterKept is enterLive for runs in virtual time for which servers and lock programs are kept: leave ends these, too.
func (e *Env) enterKept(ctx context.Context, l Listener) (kept *trial.Kept, leave func(), err error) {
	end, err := e.enterLive(false, l)
	if err != nil {
		return nil, nil, err
	}
	kept = trial.NewKept(ctx)
	return kept, func() { _ = kept.Close(); end() }, nil
}

// Self is this program, which is also that of clients.
func Self() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("failed to find my own program: %w", err)
	}
	return self, nil
}

// trialOptions are those of every run that is made for a request.
func (e *Env) trialOptions(self string) trial.Options {
	return trial.Options{ClientCommand: []string{self, "client"}, Now: e.Now, Program: map[string]string{"sim": e.Version}}
}

// Within ends a context after a time; 0: it has no end of its own.
func Within(ctx context.Context, lasts time.Duration) (context.Context, context.CancelFunc) {
	if lasts > 0 {
		return context.WithTimeout(ctx, lasts)
	}
	return context.WithCancel(ctx)
}

// LinkFrom is the link on a page to a file, both named as seen from the working folder.
func LinkFrom(page, file string) (string, error) {
	from, err1 := filepath.Abs(filepath.Dir(page))
	to, err2 := filepath.Abs(file)
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	link, err := filepath.Rel(from, to)
	return (&url.URL{Path: filepath.ToSlash(link)}).String(), err
}
