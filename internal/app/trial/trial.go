package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/verdict"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/live"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// Options say where and how to run.
type Options struct {
	Seed uint64
	// Tries is how often a variant may be run until each violation that it expects
	// has shown; 0: DefaultTries.
	Tries int
	// World is Live or Virtual; empty: Live.
	World string
	// Nodes says where the nodes come from: one of Providers; empty: server.Auto.
	Nodes server.Provider
	// Redis is the program of nodes that are processes, as server.FindRedis takes it; empty: the machine's.
	Redis string
	// Upgrade is the program with which a node that was killed in virtual time starts again; empty: the same.
	Upgrade string
	// AllowHooks says that commands which the scenario names may be run. The
	// caller sees to it that there are none otherwise.
	AllowHooks bool
	// PasswordEnv is the environment variable with the password of servers that exist
	// already; empty: none may be sent.
	PasswordEnv string
	// Programs are the lock programs of this scenario, and maybe of others; nil: they are
	// greeted now. The caller sees to it that they may be started.
	Programs *Programs
	// Repeating is what is known of programs in virtual time; nil: nothing is, and each run is made twice.
	Repeating *Repeating
	// Accuses reports that something in a run is held against the lock, so that the run must repeat; nil: all that is violated is.
	Accuses func(*report.Variant) bool
	// Kept are servers and lock programs that other trials in virtual time use, too; nil: all are started afresh for each run.
	Kept *Kept
	// Timeout is how long one run may take in real time; 0: as long as it wants.
	Timeout time.Duration
	// Out is the folder under which runs are kept.
	Out string
	// ClientCommand starts a client process.
	ClientCommand []string
	// Resting are servers and clients that other trials use, too; nil: each run has its own.
	Resting *Resting
	// Now is the wall clock.
	Now func() time.Time
	// Program is the version of this program.
	Program map[string]string
	// Progress is told what each variant is doing; nil: nobody.
	Progress func(variant, phase string)
}

// EnvironmentError says that the machine lacks something.
type EnvironmentError struct {
	Err error
	// Hint is a command or a step that mends it.
	Hint string
}

func (e *EnvironmentError) Error() string { return e.Err.Error() }
func (e *EnvironmentError) Unwrap() error { return e.Err }

// Resting are servers and clients that trials use one after the other, see Options.
type Resting = live.Resting

// Trial is a finished trial.
type Trial struct {
	Result *report.Result
	// Dir is the run's folder, Report its page.
	Dir, Report string
}

// Run carries out all variants of a scenario side by side. A trial that was
// interrupted, or in which a variant failed, still comes back with a Result
// that says so and a folder; the error is for what left no result at all.
func Run(ctx context.Context, s *scenario.Scenario, o Options) (*Trial, error) {
	if o.World == "" {
		o.World = request.Live
	}
	var err error
	if o.Programs == nil {
		if o.Programs, err = Greet(ctx, []*scenario.Scenario{s}, nil, o.World); err != nil {
			return nil, err
		}
	}
	if o.Tries == 0 {
		o.Tries = DefaultTries(o.World)
	}
	t := &trial{Scenario: s, Options: o, subjects: o.Programs.subjects(s, o.Nodes), started: o.Now()}
	if o.World == request.Live {
		err = t.prepareLive(ctx)
	} else {
		err = t.prepareVirtual(ctx)
	}
	if err != nil {
		return nil, err
	}
	if t.dir, err = runs.Make(o.Out, s.Name, t.started, o.Seed); err != nil {
		return nil, &EnvironmentError{Err: err, Hint: "choose another folder with --out"}
	}
	if err := t.begin(); err != nil {
		return nil, err
	}
	result := t.run(ctx)
	if t.refused != nil {
		return nil, errors.Join(&EnvironmentError{Err: t.refused, Hint: hintFor(t.Nodes, t.refused)}, os.RemoveAll(t.dir))
	}
	page, err := t.store(result)
	return &Trial{Result: result, Dir: t.dir, Report: page}, err
}

// trial is a trial in progress.
type trial struct {
	*scenario.Scenario
	Options
	// subjects are the variants as they are run.
	subjects []subject
	dir      string
	started  time.Time
	// server is the program of servers in virtual time, with its version; empty: there are none.
	server, serverVersion string
	// upgrade is the program with which nodes start again, with its version; empty: the same.
	upgrade, upgradeVersion string
	// stores are from what the servers are started on which lock programs keep their lock (guests.Options.Stores).
	stores map[client.StoreKind]string

	mu       sync.Mutex
	versions map[string]string
	// refused is why nothing was run on the servers that were started; nil: they do.
	refused error
	// aside are the tries that are not shown.
	aside []asideTry
}

func (t *trial) run(ctx context.Context) *report.Result {
	r := t.newResult()
	r.Variants = make([]report.Variant, len(t.subjects))
	var wg sync.WaitGroup
	for i := range t.subjects {
		wg.Go(func() { r.Variants[i] = t.variant(ctx, t.subjects[i]) })
		if t.real() { // a run keeps a processor busy
			wg.Wait()
		}
	}
	wg.Wait()
	r.WallMS = t.Now().Sub(t.started).Milliseconds()
	for k, v := range t.versions {
		r.Versions[k] = v
	}
	verdict.SumUp(r)
	return r
}

// once runs and judges a variant once; try counts from 1.
func (t *trial) once(ctx context.Context, v subject, try int) attempt {
	began := t.Now()
	out := attempt{report.Variant{Name: v.Name, Settings: v.Settings, Lock: t.lock(&v)}, trySeed(t.Seed, try)}
	progress := func(phase string) {
		if try > 1 {
			phase = fmt.Sprintf("try %d of %d, %s", try, t.Tries, phase)
		}
		t.progress(v.Name, phase)
	}
	running, cancel := t.within(ctx)
	defer cancel()
	outcome, err := t.carryOut(running, &v, out.seed, progress)
	late := running.Err() != nil && ctx.Err() == nil
	if late && errors.Is(err, running.Err()) { // which is out of time, too
		err = machine.TookTooLong(0, "it did not begin within %v (--timeout)", t.Timeout)
	}
	if out.NotApplicable = notApplicable(err); out.NotApplicable != "" {
		return out
	}
	if t.World == request.Live {
		out.Pace = paceOf(&outcome, &v.Setup)
	}
	var unknown *world.Unknown
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		outcome.Interrupted = true // while its parts were being started
	case errors.As(err, &unknown):
		out.Unknown = unknown.Why
	case err != nil && outcome.TooSlow != "":
		out.Unknown = err.Error()
	case err != nil:
		out.Error = err.Error()
	}
	out.Interrupted, out.TimedOut, out.History = outcome.Interrupted, outcome.TimedOut, outcome.History
	if late && out.Interrupted {
		out.Interrupted, out.TimedOut, out.StoppedAfter = false, true, t.Timeout.String()
	}
	t.mu.Lock()
	if errors.Is(err, server.ErrCluster) {
		t.refused = err
	}
	if t.versions == nil {
		t.versions = outcome.Versions
	}
	t.mu.Unlock()
	if outcome.History != nil {
		progress("checking")
		verdict.Judge(ctx, v.Variant, &out.Variant)
	} else {
		verdict.Settle(&out.Variant)
	}
	out.WallMS = t.Now().Sub(began).Milliseconds()
	return out
}

// notApplicable is why a lock is not to be tried where a run ended with err; empty: it is.
func notApplicable(err error) string {
	var refused *program.UnsupportedError
	var unfit *world.Unfit
	switch {
	case errors.As(err, &refused):
		return refused.Error()
	case errors.As(err, &unfit):
		return unfit.Error()
	}
	return ""
}

// tellPace says how fast the machine was for a run that ended with err.
func tellPace(out *runner.Outcome, pace *machine.Pace, err error, s *scenario.Setup) {
	out.Late, out.Start = pace.Late(), pace.Start()
	if p := paceOf(out, s); pace.Blamed(err, p.Allowed) {
		out.TooSlow = err.Error()
	} else if err == nil && p.TooSlow() {
		out.TooSlow = p.Words()
	}
}

func paceOf(out *runner.Outcome, s *scenario.Setup) *report.Pace {
	return &report.Pace{Late: out.Late, Allowed: s.AllowedLateness(), Start: out.Start}
}

// within bounds the real time of one run.
func (t *trial) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if t.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, t.Timeout)
}

// config is a run of a variant, without its world.
func (t *trial) config(s *subject, seed uint64) runner.Config {
	return runner.Config{Scenario: t.Name, Variant: s.Variant, Seed: seed, World: t.World, Started: t.started, Program: s.program(),
		Programs: t.Programs.ofClients(&s.Setup)}
}

func (t *trial) carryOut(ctx context.Context, s *subject, seed uint64, progress func(string)) (runner.Outcome, error) {
	c := t.config(s, seed)
	c.Dir, c.Progress = filepath.Join(t.dir, s.Name), progress
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return runner.Outcome{}, err
	}
	switch {
	case t.World == request.Live:
		return t.carryOutLive(ctx, s, c)
	case t.real():
		return t.carryOutTwice(ctx, s, c)
	}
	c.Open = func(spec world.Spec) (world.World, error) { return virtual.Open(ctx, spec) }
	return runToFile(c, filepath.Join(c.Dir, runs.History))
}

func (t *trial) carryOutLive(ctx context.Context, s *subject, c runner.Config) (out runner.Outcome, err error) {
	file, err := os.Create(filepath.Join(c.Dir, runs.History))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	c.History = file // each event at once: a killed run leaves what happened
	pace, end := machine.WatchPace()
	defer end()
	c.Open = func(spec world.Spec) (world.World, error) {
		o := t.live(runName(t.Name, s.Name), &s.Setup)
		o.Resting, o.Pace = t.Resting, pace
		return live.Open(ctx, spec, o)
	}
	out, err = runner.Run(c)
	tellPace(&out, pace, err, &s.Setup)
	return out, err
}

func (t *trial) progress(variant, phase string) {
	if t.Progress != nil {
		t.Progress(variant, phase)
	}
}
