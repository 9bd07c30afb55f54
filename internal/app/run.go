package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Suite is what came of several scenarios that were run.
type Suite struct {
	Request   request.Run
	Scenarios []*scenario.Scenario
	// Units are the runs that were to be made: round by round, in the order of the scenarios. Done has what came of each; nil: it was not run.
	Units []int
	Done  []*trial.Trial
	// Errors are those of scenarios that left no result. Missing are the shards that a merged suite lacks.
	Errors  []error
	Missing []string
	Took    time.Duration
	// Index is the page that leads to all reports; empty: one run needs none.
	Index string
}

// RunEnded tells of runs in the order of their files.
type RunEnded struct {
	Request request.Run
	*trial.Trial
	// Alone: it is the only run of its suite.
	Alone bool
}

func (RunEnded) event() {}

// mostRepeats bounds what a suite keeps in memory.
const mostRepeats = 100_000

// Run runs scenarios and judges what happened. It loads everything before it runs anything, so that a mistake in
// the last file does not cost the time of the first. The suite is there also where runs failed: Suite.Verdict says how it ended.
func Run(ctx context.Context, env *Env, r request.Run, l Listener) (*Suite, error) {
	s := &running{Env: env, listener: l, usualJobs: r.Jobs == 0, out: &Suite{Request: r}, leave: func() {}}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	defer func() { s.leave() }()
	r = s.out.Request
	if r.World == request.Live {
		if err := s.enterLive(); err != nil {
			return nil, err
		}
	}
	if err := s.load(ctx); err != nil {
		return nil, err
	}
	if err := s.deal(ctx); err != nil {
		return nil, err
	}
	if err := canStore(r.Out); err != nil {
		return nil, err
	}
	if err := s.make(ctx); err != nil {
		return nil, err
	}
	if s.share != nil {
		return s.out, s.keepShare(ctx)
	}
	if err := s.out.remember(); err != nil || len(s.out.Done) < 2 {
		return s.out, err
	}
	return s.out, s.out.writeIndex()
}

// running is a suite under way.
type running struct {
	*Env
	listener Listener
	out      *Suite
	// own is the lock in the place of every scenario's; nil: each has its own.
	own      *scenario.StandIn
	place    place
	programs *trial.Programs
	self     string
	share    *share
	// idleJobs are how many scenarios run at once while the machine is idle.
	idleJobs int
	// usualJobs: nobody said how many scenarios run at once.
	usualJobs bool
	// leave ends what was started.
	leave func()
	// starts are the units in the order in which they begin.
	starts []int
	// resting are servers and clients that go from run to run.
	resting trial.Resting
	// repeating is what is known of programs in virtual time.
	repeating trial.Repeating

	mu sync.Mutex
	// told is how many of the units have been told of.
	told int
}

// settle completes what is asked, and refuses what makes no sense.
func (s *running) settle(ctx context.Context) (err error) {
	r := &s.out.Request
	if s.own, err = s.standIn(r.Lock); err != nil {
		return err
	}
	if err := s.lockOf(s.own, r.LockOf); err != nil {
		return err
	}
	s.place = place{world: &r.World, nodes: &r.Nodes, redis: r.Redis}
	if err := s.Env.settle(ctx, &s.place, request.Live, []*scenario.StandIn{s.own}, s.listener); err != nil {
		return err
	}
	s.settleJobs()
	return checkRun(r)
}

// settleJobs says how many scenarios run at once, and how often each is tried, where nobody said so.
func (s *running) settleJobs() {
	r := &s.out.Request
	if s.usualJobs {
		r.Jobs, s.idleJobs = jobsFor(r.World, server.Provider(r.Nodes), r.Lock)
	}
	if r.Tries == 0 && r.World == request.Live {
		r.Tries = s.RealTime.Tries
	}
}

// enterLive makes sure that processes can be started, see Env.enterLive.
func (s *running) enterLive() error {
	leave, err := s.Env.enterLive(s.Permit.Hooks, s.listener)
	if err == nil {
		s.leave = leave
	}
	return err
}

// checkRun refuses what makes no sense.
func checkRun(r *request.Run) error {
	if err := checkWorld(r.World); err != nil {
		return err
	}
	if err := checkNodes(r.World, r.Nodes, r.Redis, trial.Providers(r.World)); err != nil {
		return err
	}
	switch {
	case r.Upgrade != "" && (r.World != request.Virtual || server.Provider(r.Nodes) != server.Process):
		return Usagef("--upgrade is about real servers in virtual time").Hint("--world virtual --nodes process")
	case r.Timeout < 0:
		return Usagef("--timeout %v: must not be negative", r.Timeout)
	case r.Repeat > mostRepeats:
		return Usagef("--repeat %d: want at most %d", r.Repeat, mostRepeats)
	case r.Jobs < 1:
		return Usagef("--jobs %d: want at least 1", r.Jobs)
	case r.Repeat < 1:
		return Usagef("--repeat %d: want at least 1", r.Repeat)
	case r.Tries < 0:
		return Usagef("--tries %d: want at least 1", r.Tries)
	case r.Part != nil && r.FailFast:
		return Usagef("--shard does not go with --fail-fast and --failed: a shard does not know what others do")
	}
	return nil
}

// load reads the scenarios, and greets the lock programs.
func (s *running) load(ctx context.Context) error {
	r := s.out.Request
	list, err := Load(r.Scenarios...)
	if err != nil {
		return err
	}
	if list, err = chosen(list, r.Match, r.Tags); err != nil {
		return err
	}
	if err := checkSentinels(list, r); err != nil {
		return err
	}
	if err := s.checkExternal(list, r); err != nil {
		return err
	}
	if err := s.checkImages(ctx, list, r); err != nil {
		return err
	}
	s.out.Scenarios = list
	if err := s.greetPrograms(ctx, list); err != nil {
		return err
	}
	if why := storesInRealTime(s.own); why != nil && s.place.chosen && r.World == request.Virtual {
		if err := s.fallBack(ctx, why); err != nil {
			return err
		}
	}
	s.self, err = Self()
	return err
}

// fallBack runs in real time what cannot run in virtual time as it says itself.
func (s *running) fallBack(ctx context.Context, why error) (err error) {
	s.place.fallBack(s.Env, why, s.listener)
	s.settleJobs()
	if err := s.checkImages(ctx, s.out.Scenarios, s.out.Request); err != nil {
		return err
	}
	return s.greet(ctx, s.out.Scenarios)
}

// deal says which runs are to be made: all, or those of the shard, whose results then go into its folder.
func (s *running) deal(ctx context.Context) error {
	r, list := &s.out.Request, s.out.Scenarios
	s.out.Units = make([]int, len(list)*r.Repeat)
	for i := range s.out.Units {
		s.out.Units[i] = i
	}
	if r.Part == nil {
		return nil
	}
	asked := request.Shared(*r)
	each := trial.Lengths(ctx, list, r.World, r.Seed)
	var err error
	if s.share, err = s.beginShare(*r.Part, r.Out, &asked, uint64(len(s.out.Units)), list...); err != nil {
		return err
	}
	r.Out = s.share.dir
	all := len(s.out.Units)
	if s.out.Units = r.Part.Deal(lengthsOf(s.out.Units, each)); len(s.out.Units) == 0 {
		s.listener.tell(ShardIdle{*r.Part, words.Count(all, "run")})
	}
	return nil
}

// make makes the runs.
func (s *running) make(ctx context.Context) error {
	about := s.plan(ctx)
	if s.out.Request.World == request.Virtual && slices.ContainsFunc(s.out.Scenarios, isLong) {
		debug.SetGCPercent(10) // nearly all that is in use is the history: what may be wasted beside it should be little
	}
	s.listener.tell(Started{})
	s.listener.tell(Planned{len(s.out.Units), about})
	began := time.Now()
	s.runAll(ctx)
	err := s.resting.Close()
	s.out.Took = time.Since(began)
	s.listener.tell(WorkOver{})
	return err
}

// plan orders the runs, and says about how long they take; 0: not known.
func (s *running) plan(ctx context.Context) (about time.Duration) {
	r := s.out.Request
	s.starts = s.out.Units
	if r.World != request.Live || len(s.starts) < 2 {
		return 0
	}
	each := s.programs.Lengths(ctx, s.out.Scenarios, server.Provider(r.Nodes), r.Seed)
	atOnce := max(r.Jobs, s.idleJobs)
	about = trial.Together(lengthsOf(s.starts, each), atOnce)
	if work, err := trial.Work(ctx, []string{s.self, "client"}, variantsOf(s.starts, s.out.Scenarios)); err == nil {
		about = max(about, work)
	}
	if atOnce > 1 { // one after the other they come in the order in which they are shown
		s.starts = longestFirst(s.starts, each)
	}
	return about
}

func (s *running) runAll(ctx context.Context) {
	list := s.out.Scenarios
	s.out.Done = make([]*trial.Trial, len(list)*s.out.Request.Repeat)
	slots := newSlots(s.out.Request.Jobs, s.idleJobs)
	var wg sync.WaitGroup
	for _, i := range s.starts {
		slots.take(ctx)
		if ctx.Err() != nil || s.out.Request.FailFast && s.failed() {
			break
		}
		round := i / len(list)
		wg.Go(func() {
			defer slots.leave()
			s.one(ctx, i, list[i%len(list)], s.out.Request.Seed+uint64(round))
		})
	}
	wg.Wait()
}

func (s *running) one(ctx context.Context, i int, sc *scenario.Scenario, seed uint64) {
	r := s.out.Request
	s.tell(PieceBegun{sc.Name})
	o := s.trialOptions(s.self)
	o.Seed, o.Tries, o.Timeout = seed, r.Tries, time.Duration(r.Timeout)
	o.World, o.Nodes, o.Redis = r.World, server.Provider(r.Nodes), r.Redis
	o.Upgrade = r.Upgrade
	o.AllowHooks, o.PasswordEnv, o.Programs, o.Out, o.Resting = s.Permit.Hooks, s.Permit.PasswordEnv, s.programs, r.Out, &s.resting
	if !r.Twice {
		o.Repeating = &s.repeating
	}
	o.Progress = func(variant, phase string) { s.tell(PiecePhase{sc.Name, variant, phase}) }
	t, err := trial.Run(ctx, sc, o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener.tell(PieceEnded{sc.Name})
	if err != nil {
		s.out.Errors = append(s.out.Errors, fmt.Errorf("%s: %w", sc.Name, err))
	}
	if t == nil {
		t = &trial.Trial{}
	}
	s.out.Done[i] = t
	s.told = s.out.tell(s.told, s.listener)
}

// tell tells the listener one thing at a time.
func (s *running) tell(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener.tell(e)
}

// tell tells of the runs that are next in the order of the files, of which so many have been told of.
func (s *Suite) tell(told int, l Listener) int {
	for ; told < len(s.Units) && s.Done[s.Units[told]] != nil; told++ {
		if t := s.Done[s.Units[told]]; t.Result != nil {
			l.tell(RunEnded{s.Request, t, len(s.Units) == 1})
		}
	}
	return told
}

// failed reports that something has not come out as expected so far.
func (s *running) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.out.Done, func(t *trial.Trial) bool {
		return t != nil && (t.Result == nil || ExitOf(t.Result, s.out.Request.AllowUndecided) != ExitMet)
	})
}

// keepShare writes what came of the shard's runs.
func (s *running) keepShare(ctx context.Context) error {
	r := &shard.Record{Errors: failures(s.out.Errors)}
	for _, sc := range s.out.Scenarios {
		file := ""
		if !sc.Shipped {
			file = filepath.ToSlash(sc.File)
		}
		r.Files = append(r.Files, file)
	}
	for i, t := range s.out.Done {
		if t == nil || t.Result == nil {
			continue
		}
		one, err := shard.ResultOf(uint64(i), s.share.dir, t.Dir)
		if err != nil {
			return err
		}
		r.Results = append(r.Results, one)
	}
	if err := s.share.end(ctx, s.listener, r); err != nil || len(s.out.Done) < 2 {
		return err
	}
	return s.out.writeIndex()
}

// Results are those of all runs that left one.
func (s *Suite) Results() (results []*report.Result) {
	for _, t := range s.Done {
		if t != nil && t.Result != nil {
			results = append(results, t.Result)
		}
	}
	return results
}

// Verdict is the suite's end: the worst of what happened, in the order 5, 4, 3,
// 1, 2 of the exit codes; an interrupt counts before all of them.
func (s *Suite) Verdict(ctx context.Context) error {
	codes := []int{ExitMet}
	for _, e := range s.Errors {
		codes = append(codes, ExitCode(e))
	}
	results := s.Results()
	for _, r := range results {
		codes = append(codes, ExitOf(r, s.Request.AllowUndecided))
	}
	if len(results) > 0 && !s.Request.AllowUndecided && !slices.ContainsFunc(results, (*report.Result).Applies) {
		codes = append(codes, ExitUndecided) // nothing was put to the test
	}
	if len(s.Missing) > 0 {
		codes = append(codes, ExitUndecided)
	}
	ranks := []int{ExitMet, ExitUndecided, ExitUnexpected, ExitUsage, ExitEnvironment, ExitInternal}
	code := slices.MaxFunc(codes, func(a, b int) int { return slices.Index(ranks, a) - slices.Index(ranks, b) })
	if ctx.Err() != nil {
		return Interrupted("interrupted; what was recorded is kept")
	}
	if code == ExitMet {
		return nil
	}
	return &ExitError{code, errors.Join(s.Errors...)}
}

// writeIndex writes <out>/index.html, which leads to every report of the suite.
func (s *Suite) writeIndex() error {
	path := filepath.Join(s.Request.Out, runs.Index)
	if len(s.Entries(path)) == 0 && len(s.Missing) == 0 {
		return nil
	}
	s.Index = path
	return machine.WriteFile(path, func(w io.Writer) error { return s.WritePage(w, false) })
}

// Entries are the results with links to their reports, for a page.
func (s *Suite) Entries(page string) (entries []report.IndexEntry) {
	for _, t := range s.Done {
		if t == nil || t.Result == nil {
			continue
		}
		entry := report.IndexEntry{Result: t.Result}
		if link, err := LinkFrom(page, t.Report); err == nil {
			entry.Link = link
		}
		entries = append(entries, entry)
	}
	return entries
}

// lengthsOf are how long runs take; each has how long the scenarios take.
func lengthsOf(units []int, each []time.Duration) []time.Duration {
	lengths := make([]time.Duration, len(units))
	for i, u := range units {
		lengths[i] = each[u%len(each)]
	}
	return lengths
}

// variantsOf is how many variants runs have.
func variantsOf(units []int, scenarios []*scenario.Scenario) (n int) {
	for _, u := range units {
		n += len(scenarios[u%len(scenarios)].Variants)
	}
	return n
}

// longestFirst orders runs within each round, so that no long one is left for the end, alone. each has how long
// the scenarios take.
func longestFirst(units []int, each []time.Duration) []int {
	return slices.SortedStableFunc(slices.Values(units), func(a, b int) int {
		return cmp.Or(cmp.Compare(a/len(each), b/len(each)), cmp.Compare(each[b%len(each)], each[a%len(each)]))
	})
}

// isLong reports that a run of some variant has a history that is large in memory.
func isLong(s *scenario.Scenario) bool {
	return slices.ContainsFunc(s.Variants, func(v scenario.Variant) bool {
		return v.Setup.Workload.Clients*v.Setup.Workload.Sections >= 10_000
	})
}
