package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// SearchProperties are those whose violation counts where none is named.
func SearchProperties() []checker.Property { return checker.Demanded(checker.Subject{}) }

// SearchResult is what a search came to.
type SearchResult struct {
	// Request is what was asked, with the variant and the properties that were taken.
	Request request.Search
	// Of is what was searched, Report what came of it; Before of its runs were made by the search that it continued.
	Of     explore.Search
	Report explore.Report
	Before uint64
	Took   time.Duration
	// Curve is how many behaviours had been seen after how many runs; nil: that is not known of a search in parts.
	Curve []report.CurvePoint
	// Part is the same for another program.
	Part explore.Part
	// Seeds is how many seeds the merged searches had; 0: it is one search.
	Seeds uint64
	Found []Found
	// Proved: a violation is for certain. Untold says why a search that found nothing tells nothing.
	Proved bool
	Untold string
	// Again is the command line that makes the same runs again.
	Again string
}

// Found is a scenario that a search wrote, and the page of its run.
type Found struct {
	File, Report, Note string
	Property           checker.Property
	// History has the run that violated something, where that hardly shows again.
	History string
	// Servers says how real servers do in the same run, where models did it; empty: that is not said.
	Servers string
	// Replay is the command line that runs it again; empty: a shard found it.
	Replay string
	Proved bool
}

// Searching says how far a search is, Searched that all runs are made: what was found is shrunk next. FoundOne tells of something found.
type (
	Searching struct {
		Request request.Search
		Report  explore.Report
		Before  uint64
		Took    time.Duration
	}
	// Searched has the numbers of a search.
	Searched struct{ *SearchResult }
	// FoundOne is one scenario that was found.
	FoundOne struct{ Found }
)

func (Searching) event() {}
func (Searched) event()  {}
func (FoundOne) event()  {}

// Search runs a scenario many times with other faults, and shrinks and writes what it finds. Where a shard has nothing to do there is no
// result.
func Search(ctx context.Context, env *Env, r request.Search, l Listener) (*SearchResult, error) {
	if err := env.settleSearch(ctx, &r, l); err != nil {
		return nil, err
	}
	if err := checkSearch(&r); err != nil {
		return nil, err
	}
	out := &SearchResult{Request: r}
	s := &searching{Env: env, listener: l, out: out}
	if err := s.choose(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	if err := s.takeShare(); err != nil {
		return nil, err
	}
	if s.share != nil && out.Of.Seeds == 0 {
		l.tell(ShardIdle{*r.Part, words.Count(r.Seeds, "seed")})
		return nil, s.share.end(ctx, l, &shard.Record{Search: &explore.Part{First: out.Of.First}})
	}
	if err := s.make(ctx); err != nil {
		return nil, err
	}
	if err := s.conclude(ctx); err != nil {
		return nil, err
	}
	if s.share != nil {
		return out, s.keepShare(ctx)
	}
	return out, nil
}

// searching is a search under way.
type searching struct {
	*Env
	listener Listener
	out      *SearchResult
	// real is what a search with real servers takes; nil: all are models.
	real  *realSearch
	share *share
	// reportsAt is the time that the pages of what is found bear; nil: that of the clock. Then they take the place of earlier ones.
	reportsAt func() time.Time
	// shards are those whose searches are merged; nil: it is one search. shrunkInShards: what was found has been shrunk there.
	shards         *shard.Whole
	shrunkInShards bool
	// madeBy is the command line that shows what is found; empty: that of the search.
	madeBy string
	// campaign is the one that the search was; nil: it was none.
	campaign *Campaign
}

// settleSearch chooses the world of a search that names none: it is virtual, but for lock programs where they cannot run there.
func (e *Env) settleSearch(ctx context.Context, r *request.Search, l Listener) error {
	own, err := e.standIn(r.Lock)
	if err != nil {
		return err
	}
	if own == nil && r.Scenario != "" {
		s, err := LoadOne(r.Scenario)
		if err != nil {
			return err
		}
		if v, err := VariantOf(s, r.Variant); err != nil {
			return err
		} else if v.Setup.Lock.Program != nil {
			own = &scenario.StandIn{Program: v.Setup.Lock.Program}
		}
	}
	nodes := cmp.Or(r.Nodes, string(server.Auto)) // what sim.yaml says of nodes is not for searches
	return e.settle(ctx, &place{world: &r.World, nodes: &nodes, redis: r.Redis}, request.Virtual, []*scenario.StandIn{own}, l)
}

// checkSearch refuses what does not go together.
func checkSearch(r *request.Search) error {
	for _, k := range r.Kinds {
		if !slices.Contains(explore.Kinds(), k) {
			return Usagef("--kinds: no fault %q can be drawn", k).Unknown(k, explore.Kinds())
		}
	}
	if r.Topology != "" && !slices.Contains(request.Topologies(), r.Topology) {
		return Usagef("--topology %s: want %s", r.Topology, strings.Join(request.Topologies(), " or ")).
			Hint("name a scenario with other nodes")
	}
	if err := checkWorld(r.World); err != nil {
		return err
	}
	if r.Nodes == string(server.Auto) {
		r.Nodes = ""
	}
	if r.Nodes != "" {
		providers := []server.Provider{server.Process}
		if r.World == request.Virtual {
			providers = trial.Providers(r.World)
		}
		if err := checkNodes(r.World, r.Nodes, r.Redis, providers); err != nil {
			return err
		}
	}
	switch {
	case r.Jobs < 0 || r.For < 0 || r.For == 0 && r.Seeds == 0:
		return Usagef("say how long to search: --for, --seeds, and at least one --jobs")
	case r.Jobs > MostSlots:
		return Usagef("--jobs %d: want at most %d", r.Jobs, MostSlots)
	case r.Part == nil:
	case r.Seeds == 0:
		return Usagef("--shard needs --seeds: each shard searches its part of them").
			Hint("--seeds 1000000 --for 10m searches as many of them as the time allows")
	case r.StopAt > 0:
		return Usagef("--shard does not go with --stop-at: a shard does not know what others do")
	}
	if r.Part != nil {
		return fitSeeds(r.Seed, r.Seeds, "seeds")
	}
	return nil
}

// searchJobs is how many runs a search makes at once where nobody says. In real time a run mostly waits. With real servers in virtual time
// each waits for the others at the end of a generation.
func searchJobs(world string, real bool) int {
	switch jobs := runtime.NumCPU(); {
	case world == request.Live:
		return 4 * jobs
	case real:
		return jobs + 1
	default:
		return jobs
	}
}

// choose finds what is to be searched.
func (s *searching) choose(ctx context.Context) error {
	r, of := &s.out.Request, &s.out.Of
	*of = explore.Search{Drawing: r.Drawing, First: r.Seed, Seeds: r.Seeds, StopAt: r.StopAt}
	found, v, target, err := s.searchTarget(ctx, r, s.listener)
	if err != nil {
		return err
	}
	if r.Jobs == 0 {
		r.Jobs = searchJobs(r.World, target.isReal())
	}
	of.Scenario, of.Variant, of.Ready, of.Workers = found, v.Name, target.ready, r.Jobs
	if target.isReal() {
		s.real = target
		if v, err = s.prepare(ctx, v); err != nil {
			s.leave()
			return err
		}
	}
	if r.World == request.Virtual {
		debug.SetGCPercent(runsLeaveLittle)
	}
	if of.Properties, err = propertiesOf(r.Properties); err != nil {
		s.leave()
		return err
	}
	switch {
	case len(of.Properties) > 0:
	case ofLock(r, &v.Setup):
		of.Properties = lockProperties(target.ready, &v.Setup, waits(r, &v.Setup))
	default:
		of.Properties = v.Setup.Judged(SearchProperties())
	}
	if r.StrictModel {
		if err := s.requireServers(ctx, v); err != nil {
			s.leave()
			return err
		}
	}
	if slices.Contains(r.Kinds, nemesis.Cancel) && v.Setup.Lock.Program != nil && target.ready != nil && !target.ready.Has(program.Cancels) {
		s.leave()
		return Usagef("--kinds cancel: attempts of %s cannot be cancelled", target.ready.Name)
	}
	drawFor(of, r, &v.Setup)
	r.Properties = words.Texts(of.Properties)
	return nil
}

// prepare makes the search one with real servers. Without a scenario and a topology it depends on what the lock sends what is searched.
func (s *searching) prepare(ctx context.Context, v *scenario.Variant) (*scenario.Variant, error) {
	of := &s.out.Of
	s.real.prepare(s.listener, of)
	if s.out.Request.Scenario != "" || s.out.Request.Topology != "" {
		return v, nil
	}
	other, err := s.real.replicate(ctx, of)
	if other != nil {
		of.Scenario, v = other, &other.Variants[0]
	}
	return v, err
}

// leave ends what is left on the machine.
func (s *searching) leave() {
	if s.real != nil {
		s.real.leave()
	}
}

// takeShare leaves the shard's seeds to a search, and its folder to what is found.
func (s *searching) takeShare() (err error) {
	r := &s.out.Request
	if r.Part == nil {
		return nil
	}
	asked := request.Shared(*r)
	if s.share, err = s.beginShare(*r.Part, r.Out, &asked, r.Seeds, s.out.Of.Scenario); err != nil {
		return err
	}
	s.out.Of.First, s.out.Of.Seeds = r.Part.Seeds(r.Seed, r.Seeds)
	r.Out = filepath.Join(s.share.dir, "found")
	return nil
}

// make makes the runs.
func (s *searching) make(ctx context.Context) (err error) {
	out, of, l := s.out, &s.out.Of, s.listener
	state := newSearchState(*of, out.Request)
	if out.Request.Resume {
		if of.From, err = state.load(); err != nil {
			return err
		}
		out.Before = of.From.Runs
	}
	if s.real != nil {
		if err := s.real.learn(ctx, of); err != nil {
			return err
		}
	}
	of.Save = state.save
	if of.Live != nil {
		of.Live.Seen = func(k explore.Found, h *history.History) error {
			return machine.WriteFile(seenFile(*of, out.Request.Out, k), func(w io.Writer) error { return history.Encode(w, h) })
		}
	}
	if err := canStore(out.Request.Out); err != nil {
		return err
	}
	l.tell(Started{})
	began := time.Now()
	of.Progress = func(r explore.Report) {
		out.noteProgress(&r)
		l.tell(Searching{out.Request, r, out.Before, time.Since(began)})
	}
	limited, cancel := Within(ctx, time.Duration(out.Request.For))
	defer cancel()
	out.Part, err = of.RunPart(limited)
	l.tell(Phase{})
	if errors.Is(err, explore.ErrNobodyToStrike) {
		return Usagef("--kinds: %w", err)
	}
	if err != nil {
		return s.real.blamed(err)
	}
	out.Report, out.Took = out.Part.Report(), time.Since(began)
	out.Curve = append(out.Curve, pointOf(&out.Report))
	return nil
}

// mostCurve bounds the points of a curve.
const mostCurve = 400

// noteProgress notes how many behaviours there are when a generation of runs has brought new ones: the runs that are under way have brought
// none yet. So the same search has the same curve.
func (r *SearchResult) noteProgress(now *explore.Report) {
	if n := len(r.Curve); n > 0 && r.Curve[n-1].Behaviours >= now.Behaviours || now.Runs == 0 {
		return
	}
	if len(r.Curve) >= mostCurve { // every other point is enough
		for i := range mostCurve / 2 {
			r.Curve[i] = r.Curve[2*i]
		}
		r.Curve = r.Curve[:mostCurve/2]
	}
	r.Curve = append(r.Curve, pointOf(now))
}

func pointOf(r *explore.Report) report.CurvePoint {
	return report.CurvePoint{Runs: r.Runs, Behaviours: r.Behaviours, Violations: r.Violations()}
}

// conclude shrinks and writes what was found, and says what the search is worth.
func (s *searching) conclude(ctx context.Context) error {
	s.out.Again = s.again()
	s.listener.tell(Searched{s.out})
	if err := s.keepFound(ctx); err != nil {
		return interruptedOr(ctx, err)
	}
	s.out.Untold = Untold(s.out.Of.Properties, &s.out.Report)
	return nil
}

// usualSearch is a search as it is where no flag says otherwise.
var usualSearch = request.Search{World: request.Virtual}

// again is the command line that makes the same runs again.
func (s *searching) again() string {
	r := s.out.Request
	r.For, r.StopAt, r.Resume = 0, 0, false
	if s.campaign != nil {
		return s.campaign.again(r)
	}
	if s.shards == nil || s.shards.Of == 1 || r.Unguided { // else it is that of all shards
		r.Seed, r.Seeds = s.out.Of.First, s.out.Report.Runs
	}
	return request.Line([]string{"sim", "search"}, &r, &usualSearch, "property", "seed", "seeds", "for")
}

// origin is the command line that searches the same, with the number of a run.
func (s *searching) origin(run uint64) string {
	if s.madeBy != "" {
		return s.madeBy
	}
	r := request.Search{World: s.out.Request.World, Nodes: s.out.Request.Nodes, Lock: s.out.Request.Lock, Topology: s.out.Request.Topology,
		Target: request.Target{Scenario: s.out.Request.Scenario, Variant: s.out.Request.Variant}}
	words := []string{"sim", "search"}
	if s.campaign != nil {
		words = []string{"sim", "campaign", "start", "search"}
	}
	return fmt.Sprintf("%s, run %d", request.Line(words, &r, &usualSearch), s.out.Of.First+run)
}

// keepShare writes what came of the shard's search.
func (s *searching) keepShare(ctx context.Context) error {
	r := &shard.Record{Search: &s.out.Part, Files: []string{filepath.ToSlash(s.out.Request.Scenario)}}
	for _, k := range s.out.Found {
		one := shard.Found{Note: k.Note, Property: k.Property, Proved: k.Proved}
		for _, f := range []struct {
			to   *string
			from string
		}{{&one.File, k.File}, {&one.Report, k.Report}} {
			if f.from == "" {
				continue
			}
			var err error
			if *f.to, err = below(s.share.dir, f.from); err != nil {
				return err
			}
		}
		r.Found = append(r.Found, one)
	}
	if err := s.share.writeScenario(s.out.Of.Scenario.Text); err != nil {
		return err
	}
	return s.share.end(ctx, s.listener, r)
}

// SlowRuns says for how many runs the machine was too slow.
func SlowRuns(r *explore.Report) string {
	why, _, _ := strings.Cut(r.Slowness, "\n")
	if r.GaveUp {
		why += " (so the search ended early)"
	}
	return fmt.Sprintf("this machine was too slow for %d of %s, which are not judged; the last: %s", r.Slow, words.Count(r.Runs, "run"), why)
}

// LostMany reports that more than a tenth of the runs could not be carried out, or not be judged, or that the search ended early because
// the machine was too slow: then it says nothing that nothing was found.
func LostMany(r *explore.Report) bool { return r.GaveUp || 10*(r.Failed+r.Slow+r.Unjudged) > r.Runs }

// lostRuns says how many runs could not be carried out or not be judged, and why.
func lostRuns(r *explore.Report) string {
	var list []string
	for _, lost := range []struct {
		runs      uint64
		what, why string
	}{
		{r.Failed, "could not be carried out", r.Failure},
		{r.Slow, "not judged because this machine was too slow", r.Slowness},
		{r.Unjudged, "could not be judged", r.Doubt},
	} {
		if lost.runs > 0 {
			why, _, _ := strings.Cut(lost.why, "\n") // then comes what a program printed
			list = append(list, fmt.Sprintf("%d %s (the last: %s)", lost.runs, lost.what, why))
		}
	}
	text := fmt.Sprintf("%d of %s tell nothing: %s", r.Failed+r.Slow+r.Unjudged, words.Count(r.Runs, "run"), strings.Join(list, "; "))
	if r.GaveUp {
		text += "; so the search ended early"
	}
	return text
}

// Untold says why a search that found nothing tells nothing; empty: it tells something.
func Untold(properties []checker.Property, r *explore.Report) string {
	judged := uint64(0)
	for _, p := range properties {
		runs, _ := r.JudgedOn(string(p))
		judged = max(judged, runs)
	}
	if LostMany(r) {
		return lostRuns(r)
	}
	if r.Runs == 0 {
		return "no run was over when the time was: let it search for longer (--for)"
	}
	if judged == 0 {
		return fmt.Sprintf("none of %s put any of the properties to the test", words.Count(r.Runs, "run"))
	}
	if r.Unfinished > r.Runs/2 {
		return fmt.Sprintf("%d of %s did not finish: they came to the time limit", r.Unfinished, words.Count(r.Runs, "run"))
	}
	return ""
}

// Worth says what it is worth to have found nothing, of each property.
func Worth(properties []checker.Property, r *explore.Report) (lines []string) {
	for _, p := range properties {
		lines = append(lines, fmt.Sprintf("%s: %s", p, r.Worth(p)))
	}
	return lines
}

// ShareOf is how frequent a class is among schedules drawn afresh.
func ShareOf(c explore.Class, r *explore.Report) report.Rate {
	_, judged := r.JudgedOn(c.Name)
	return report.RateOf(c.Drawn, judged, r.Drawn)
}
