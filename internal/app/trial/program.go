package trial

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/world/live/docker"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Programs are the lock programs of some scenarios, as they describe themselves.
type Programs struct {
	// own is the user's lock, in the place of those of all scenarios; nil: each scenario keeps its lock.
	own   *scenario.StandIn
	world string
	// ready is by how a program is started.
	ready map[string]*program.Ready
	// Start is how long the start of one keeps a processor busy, at most.
	Start time.Duration
	// AsPrograms says that each built-in lock is behind the lock protocol.
	AsPrograms bool
}

// Greet starts each lock program of the scenarios once, in real time, and lets it describe itself. With
// own that one lock is in the place of all their locks; of a program it is noted there what it says. The world is the one in which it is
// put on trial.
func Greet(ctx context.Context, list []*scenario.Scenario, own *scenario.StandIn, world string) (*Programs, error) {
	p := &Programs{own: own, world: world, ready: make(map[string]*program.Ready)}
	if own != nil && own.Program == nil {
		return p, nil
	}
	if own != nil {
		if err := p.greet(ctx, own.Program); err != nil {
			return nil, err
		}
		own.Ready = *p.Of(own.Program)
		for _, other := range own.Others {
			if err := p.greet(ctx, other.Program); err != nil {
				return nil, err
			}
			other.Ready = *p.Of(other.Program)
		}
		return p, nil
	}
	for _, s := range list {
		for i := range s.Variants {
			for _, one := range s.Variants[i].Setup.Lock.All() {
				if one.Program == nil {
					continue
				}
				if err := p.greet(ctx, one.Program); err != nil {
					return nil, err
				}
			}
		}
	}
	return p, nil
}

// Of is what the lock program says of itself; nil: it has not been greeted, or there is none.
func (p *Programs) Of(l *lock.Program) *program.Ready {
	if l == nil {
		return nil
	}
	return p.ready[started(l)]
}

// SlowError says that this machine was too slow to begin at all.
type SlowError struct{ Err error }

func (e *SlowError) Error() string { return "this machine was too slow: " + e.Err.Error() }
func (e *SlowError) Unwrap() error { return e.Err }

func (p *Programs) greet(ctx context.Context, l *lock.Program) error {
	if p.Of(l) != nil {
		return nil
	}
	if _, err := FindImage(ctx, l.Command); err != nil {
		return err
	}
	log := program.NewLog(io.Discard)
	pace, end := machine.WatchPace()
	defer end()
	running, err := program.Start(ctx, program.Options{Command: l.Command, Env: l.Environ(), Log: log})
	if pace.Blamed(err, scenario.SureLateness) {
		return &SlowError{err}
	}
	if err != nil {
		return &EnvironmentError{Err: withLast(err, log.Last()), Hint: HintFor(l, err)}
	}
	running.Close()
	p.Start = max(p.Start, running.Worked())
	ready := &running.Ready
	p.ready[started(l)] = ready
	if p.world == request.Virtual { // which has all clocks in its hand
		ready.AllClocks, ready.AllServers = true, true
		return nil
	}
	ready.ClockStays = "it does not say that it reads its clocks by libc"
	if _, contained := program.Image(l.Command); contained || ready.Clock == program.LibcClock {
		ready.ClockStays = ""
		if err := program.MovesClock(ctx, program.Options{Command: l.Command, Env: l.Environ(), Log: log}); err != nil {
			ready.ClockStays = err.Error()
		}
	}
	return nil
}

// FindImage makes sure that the image is there which a command names, and removes the containers
// that killed runs have left. The image's ID is empty where the command names none.
func FindImage(ctx context.Context, command []string) (id string, err error) {
	name, named := program.Image(command)
	if !named {
		return "", nil
	}
	if name == "" {
		return "", &EnvironmentError{Err: errors.New("image: names no image"), Hint: "image:NAME, as in docker images"}
	}
	image, err := docker.Find(ctx, name)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, docker.ErrNoEngine):
		return "", &EnvironmentError{Err: err, Hint: "start Docker, or set DOCKER_HOST to its address: a lock program in an image needs it"}
	case err != nil:
		return "", &EnvironmentError{Err: err,
			Hint: fmt.Sprintf("docker build -t %s . builds an image; docker images lists those that there are", name)}
	}
	return image.ID, nil
}

// withLast adds to an error what the program printed last, where it does not say that.
func withLast(err error, last []string) error {
	var ended *program.Ended
	if len(last) == 0 || errors.As(err, &ended) {
		return err
	}
	return fmt.Errorf("%w; the last that it printed:\n  %s", err, strings.Join(last, "\n  "))
}

// HintFor says what to do about a program that cannot be greeted, or does not work.
func HintFor(l *lock.Program, err error) string {
	return cmp.Or(HintAbsent(l.Command[0], err), "sim conform "+shellquote.Join(shellquote.Join(l.Command...)))
}

// NearestLock is the lock of sim that was probably meant; empty: no name is near.
func NearestLock(name string) string {
	var names []string
	for _, a := range lock.Algorithms() {
		names = append(names, a.Name)
	}
	return yamlform.Nearest(name, names)
}

// HintAbsent says what to do where a program was not found, or cannot be started; empty: it
// was another error.
func HintAbsent(name string, err error) string {
	_, there := os.Stat(name)
	switch {
	case errors.Is(err, exec.ErrNotFound) && there == nil && filepath.Base(name) == name:
		return fmt.Sprintf("%s is in this folder: write ./%s", name, name)
	case errors.Is(err, exec.ErrNotFound) && NearestLock(name) != "":
		return fmt.Sprintf("did you mean %s, a lock of sim?", NearestLock(name))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "the first word names the program: has it been built, and is it on PATH?"
	case errors.Is(err, fs.ErrPermission):
		return "the first word names the program: may it be executed?"
	}
	return ""
}

// started is how a program is started.
func started(l *lock.Program) string { return fmt.Sprintf("%q %q", l.Command, l.Environ()) }

// subject is a variant with what is known of its lock.
type subject struct {
	scenario.Variant
	// ready is what the lock says of itself: a program, or a built-in lock that is in the place
	// of the scenario's own; nil: the lock is the scenario's own, and a built-in one.
	ready   *program.Ready
	builtIn bool
	// notApplicable is why it is not run.
	notApplicable string
}

// subjects are the variants of a scenario with the programs in their places.
func (p *Programs) subjects(s *scenario.Scenario, nodes server.Provider) []subject {
	var list []subject
	for _, v := range s.Variants {
		list = append(list, p.subject(v, nodes))
	}
	return list
}

func (p *Programs) subject(v scenario.Variant, nodes server.Provider) subject {
	one := subject{Variant: v}
	if p.own != nil {
		one.Variant, one.builtIn = v.With(p.own), p.own.Program == nil
		one.notApplicable = p.own.NotApplicable(&one.Setup)
		one.ready = &p.own.Ready
	} else if named := v.Setup.Lock.Program; named != nil {
		one.ready = p.Of(named)
		one.Variant = v.Fit(one.ready)
		one.notApplicable = one.Setup.NotApplicable(one.ready)
	}
	if one.ready != nil && !one.builtIn {
		one.notApplicable = cmp.Or(one.notApplicable, leavesPrefix(&one.Setup, one.ready, nodes))
	}
	return one
}

// Variant is a variant as a trial runs it, with the lock that is in it; nil: the scenario's own, and a built-in one.
func (p *Programs) Variant(v scenario.Variant) (scenario.Variant, *report.Lock, error) {
	one := p.subject(v, server.Process)
	switch {
	case one.notApplicable != "":
		return one.Variant, nil, errors.New(one.notApplicable)
	case one.ready == nil:
		return one.Variant, nil, nil
	}
	l := Describe(one.ready, p.own != nil)
	return one.Variant, &l, nil
}

// leavesPrefix is about servers that exist already: there all keys of a run begin with a
// prefix of its own, as the key does that a program is told.
func leavesPrefix(s *scenario.Setup, r *program.Ready, nodes server.Provider) string {
	if nodes != server.External {
		return ""
	}
	for _, key := range s.LockKeys(r) {
		if !strings.HasPrefix(key, program.KeyPattern) {
			return fmt.Sprintf("on servers that exist already each key of a run begins with its prefix, as the lock's key does, and it writes %s",
				key)
		}
	}
	return ""
}

// flags are those of a command line that runs the same programs.
func (p *Programs) flags() string {
	if p.own != nil {
		list := []string{"--lock", p.own.Command()}
		for _, client := range slices.Sorted(maps.Keys(p.own.Others)) {
			list = append(list, "--lock-of", client+"="+p.own.Others[client].Command())
		}
		return " " + shellquote.Join(list...)
	}
	if p.AsPrograms {
		return " --as-programs"
	}
	if len(p.ready) > 0 {
		return " --allow-programs"
	}
	return ""
}

// lockName is how a variant's lock is called.
func (s *subject) lockName() string {
	if s.ready == nil {
		return s.Setup.Lock.Algorithm
	}
	return called(s.ready)
}

func called(r *program.Ready) string { return strings.TrimSpace(r.Name + " " + r.Version) }

// others are the locks that single clients have in the place of the one that all have, by client.
func (p *Programs) others() (list []string) {
	if p.own == nil {
		return nil
	}
	for _, client := range slices.Sorted(maps.Keys(p.own.Others)) {
		list = append(list, client+": "+called(&p.own.Others[client].Ready))
	}
	return list
}

// The kinds of promises that a lock program makes.
const (
	toldPromise  = "told by the lock"
	givenPromise = "the TTL that it was given, counted from when the command left that set its key"
	noPromise    = "none, so it counts as held until it is given back or told as lost"
)

// program is what the lock program of a variant says of itself; nil: the lock is a built-in one.
func (s *subject) program() *program.Ready {
	if s.builtIn {
		return nil
	}
	return s.ready
}

// lock is the lock of a variant as a report shows it; nil: it is the scenario's own, and a
// built-in one.
func (t *trial) lock(s *subject) *report.Lock {
	if s.ready == nil {
		return nil
	}
	l := Describe(s.ready, t.Programs.own != nil)
	l.Others = t.Programs.others()
	if s.Setup.Lock.TTL == 0 {
		l.Promise = noPromise
	}
	if s.notApplicable == "" && !s.builtIn {
		for _, client := range scenario.ClientNames(s.Setup.Workload.Clients) {
			l.Logs = append(l.Logs, s.Name+"/client-"+client+".log")
		}
	}
	return &l
}

// Describe is what a lock says of itself, as a report shows it.
func Describe(r *program.Ready, inPlace bool) report.Lock {
	l := report.Lock{Name: r.Name, Version: r.Version, Homepage: r.Homepage, About: r.About,
		Class: string(r.Class), Promise: givenPromise, InPlace: inPlace}
	if r.Elsewhere() {
		l.Store = string(r.Store)
	}
	if r.Has(program.TellsValidity) {
		l.Promise = toldPromise
	} else if r.Elsewhere() {
		l.Promise = noPromise
	}
	return l
}

// Digest tells lock programs apart by what they consist of, wherever they are: SHA-256 of the words of a command, and of the contents of
// those that are files; of an image, its ID. What a program loads besides is not in it.
func Digest(ctx context.Context, command []string) (string, error) {
	id, err := FindImage(ctx, command)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for i, word := range command {
		if i == 0 && id != "" {
			word = id
		} else if file, err := fileOf(word, i == 0); err != nil {
			return "", &EnvironmentError{Err: err, Hint: HintAbsent(word, err)}
		} else if file != "" {
			content := sha256.New()
			if err := copyFile(content, file); err != nil {
				return "", &EnvironmentError{Err: err}
			}
			word = fmt.Sprintf("%x", content.Sum(nil))
		}
		fmt.Fprintf(sum, "%d %s\n", len(word), word)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// fileOf is the file that a word of a command names; empty: it names none. The first word is a program.
func fileOf(word string, first bool) (string, error) {
	if first {
		file, err := exec.LookPath(word)
		if err != nil {
			return "", fmt.Errorf("failed to find %s: %w", word, err)
		}
		return file, nil
	}
	if info, err := os.Stat(word); err != nil || !info.Mode().IsRegular() {
		return "", nil
	}
	return word, nil
}

func copyFile(to io.Writer, file string) error {
	f, err := machine.OpenRegular(file)
	if err == nil {
		_, err = io.Copy(to, f)
		_ = f.Close()
	}
	if err != nil {
		return fmt.Errorf("failed to read %s: %w", file, err)
	}
	return nil
}
