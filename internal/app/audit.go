package app

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/audit"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// AuditResult is what an audit found out.
type AuditResult struct {
	Request request.Audit
	Card    *card.Card
	// Dir is the folder with the card and the runs.
	Dir string
	// Err says what went wrong with some of the runs; nil: nothing.
	Err error
}

// Expectation is the card that an audit is compared with, and the file that has it.
type Expectation struct {
	File string
	Card *card.Card
}

// ReadExpectation reads the card of an earlier audit; nil: no file is named.
func ReadExpectation(path string) (*Expectation, error) {
	if path == "" {
		return nil, nil
	}
	f, err := machine.OpenRegular(path)
	if err != nil {
		return nil, Usagef("--expect: %w", err)
	}
	defer func() { _ = f.Close() }()
	expected, err := card.Read(f)
	if err != nil {
		return nil, Usagef("--expect %s: %w", path, err)
	}
	return &Expectation{path, expected}, nil
}

// covers refuses an expectation that has none of some locks.
func (e *Expectation) covers(labels []string) error {
	if e == nil {
		return nil
	}
	if err := e.Card.Covers(labels); err != nil {
		return Usagef("--expect %s: %w", e.File, err).Hint("name it as the card does, with --lock NAME='COMMAND'")
	}
	return nil
}

// Audit makes the report card of locks. expected says which card is expected; nil: none.
func Audit(ctx context.Context, env *Env, r request.Audit, expected *Expectation, l Listener) (*AuditResult, error) {
	locks, err := env.auditLocks(r)
	if err != nil {
		return nil, err
	}
	usualJobs, where := r.Jobs == 0, &place{world: &r.World, nodes: &r.Nodes, redis: r.Redis}
	if err := env.settle(ctx, where, request.Live, standInsOf(locks), l); err != nil {
		return nil, err
	}
	if usualJobs {
		r.Jobs, _ = jobsFor(request.Live, server.Provider(r.Nodes), r.Locks...)
	}
	if err := checkAudit(&r); err != nil {
		return nil, err
	}
	battery, costs, err := casesOf(r)
	if err != nil {
		return nil, err
	}
	if err := expected.covers(labelsOf(locks)); err != nil {
		return nil, err
	}
	real, err := realInAudit(ctx, &r, locks)
	if err != nil {
		return nil, err
	}
	if r.World == request.Live || real {
		leave, err := env.enterLive(false, l)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	if err := greetLocks(ctx, locks, r.World); err != nil {
		return nil, err
	}
	if usualJobs {
		for i := range locks {
			r.Jobs = jobsOf(r.Jobs, locks[i].Programs.Start)
		}
	}
	if why := storesInRealTime(standInsOf(locks)...); why != nil && where.chosen && real {
		where.fallBack(env, why, l)
		if err := greetLocks(ctx, locks, r.World); err != nil {
			return nil, err
		}
		real = false
	}
	if real {
		if usualJobs { // each run keeps a processor busy
			r.Jobs = runtime.NumCPU()
		}
		defer debug.SetGCPercent(debug.SetGCPercent(400)) // little is in use at once: 100 MB instead of 60 save a twentieth of the time
	}
	self, err := Self()
	if err != nil {
		return nil, err
	}
	o := audit.Options{Locks: locks, Scenarios: battery, Costs: costs, Jobs: r.Jobs, Shorten: !r.NoShorten, Trial: env.trialOptions(self)}
	o.Trial.Seed, o.Trial.Timeout = r.Seed, time.Duration(r.Timeout)
	o.Trial.World, o.Trial.Nodes, o.Trial.Redis = r.World, server.Provider(r.Nodes), r.Redis
	if r.Twice {
		return env.auditIn(ctx, r, o, l)
	}
	o.Trial.Repeating, o.Trial.Kept = &trial.Repeating{}, trial.NewKept(ctx)
	out, err := env.auditIn(ctx, r, o, l)
	return out, errors.Join(err, o.Trial.Kept.Close())
}

// greetLocks has each lock program describe itself.
func greetLocks(ctx context.Context, locks []audit.Lock, world string) (err error) {
	for i := range locks {
		if locks[i].Programs, err = trial.Greet(ctx, nil, locks[i].StandIn, world); err != nil {
			return interruptedOr(ctx, err)
		}
	}
	return nil
}

// auditIn audits in a folder of its own, or in that of the shard.
func (e *Env) auditIn(ctx context.Context, r request.Audit, o audit.Options, l Listener) (*AuditResult, error) {
	mine, cases, err := e.auditShare(ctx, r, &o)
	if err != nil {
		return nil, err
	}
	out := &AuditResult{Request: r}
	if out.Dir, err = e.auditDir(r, mine); err != nil {
		return nil, err
	}
	o.Trial.Out = out.Dir
	l.tell(Started{})
	for i := range o.Locks {
		if err = conformance(ctx, l, &o.Locks[i], filepath.Join(out.Dir, o.Locks[i].Label), r, o.Trial.Repeating); err != nil {
			_ = os.RemoveAll(out.Dir) // there is no card, and nothing was run
			return nil, interruptedOr(ctx, err)
		}
	}
	planned := o.Questions()
	if mine != nil {
		planned = len(cases)
	}
	l.tell(Planned{Pieces: planned})
	follow(&o, l)
	if mine == nil {
		out.Card, out.Err = audit.Run(ctx, o)
	} else {
		err = out.runPart(ctx, l, mine, o, cases)
	}
	l.tell(WorkOver{})
	if err != nil {
		return nil, err
	}
	out.Card.Replay = auditLine(r)
	return out, out.write()
}

// runPart does the shard's part of an audit. The card has what the shard knows.
func (a *AuditResult) runPart(ctx context.Context, l Listener, s *share, o audit.Options, cases []int) error {
	if len(cases) == 0 {
		l.tell(ShardIdle{s.Shard, words.Count(s.work.Units, "case")})
	}
	questions, answers, failed := audit.RunPart(ctx, o, cases)
	questions.Replay = auditLine(a.Request)
	a.Card, a.Err = audit.Settle(questions, answers, ""), failed
	return s.end(ctx, l, &shard.Record{Card: questions, Answers: answers, Errors: failures(split(failed))})
}

// checkAudit refuses what does not fit together.
func checkAudit(r *request.Audit) error {
	providers := slices.DeleteFunc(trial.Providers(r.World), func(p server.Provider) bool { return p == server.External })
	if err := checkNodes(r.World, r.Nodes, r.Redis, providers); err != nil {
		return err
	}
	if r.Jobs < 1 {
		return Usagef("--jobs %d: want at least 1", r.Jobs)
	}
	return nil
}

// realInAudit reports that lock programs or real servers take part in virtual time, and makes sure that they can. All locks of a card then
// meet real servers, so that they can be compared.
func realInAudit(ctx context.Context, r *request.Audit, locks []audit.Lock) (bool, error) {
	if r.World != request.Virtual {
		return false, nil
	}
	list := make([]virtualLock, len(locks))
	for i := range locks {
		list[i] = virtualLock{"--lock " + locks[i].Label, locks[i].Program}
	}
	path, err := serverFor(ctx, r.Nodes, r.Redis, list...)
	if path == "" || err != nil {
		return false, err
	}
	r.Nodes = string(server.Process)
	return true, nil
}

// auditDir is the folder of an audit, or of its share.
func (e *Env) auditDir(r request.Audit, mine *share) (string, error) {
	if mine != nil {
		return filepath.Abs(mine.dir)
	}
	dir, err := runs.Make(r.Out, runs.Audits, e.Now(), r.Seed)
	if err != nil {
		return "", &trial.EnvironmentError{Err: err, Hint: "choose another folder with --out"}
	}
	return dir, nil
}

// auditShare says which pieces of an audit's work are the shard's; nil: there is one machine.
func (e *Env) auditShare(ctx context.Context, r request.Audit, o *audit.Options) (*share, []int, error) {
	if r.Part == nil {
		return nil, nil, nil
	}
	lasts := o.Lengths(ctx)
	asked := request.Shared(r)
	mine, err := e.beginShare(*r.Part, r.Out, &asked, uint64(len(lasts)), slices.Concat(o.Scenarios, o.Costs)...)
	return mine, r.Part.Deal(lasts), err
}

// follow tells of an audit's cases, each with its lock where there are several.
func follow(o *audit.Options, l Listener) {
	several := len(o.Locks) > 1
	name := func(lock, id string) string {
		if several {
			return lock + ": " + id
		}
		return id
	}
	o.Begin = func(lock, id string) { l.tell(PieceBegun{name(lock, id)}) }
	o.End = func(lock, id string) { l.tell(PieceEnded{name(lock, id)}) }
	o.Phase = func(lock, id, variant, phase string) { l.tell(PiecePhase{name(lock, id), variant, phase}) }
}

// costTag marks the scenarios that measure what a lock costs.
const costTag = "cost"

// casesOf are the scenarios that put guarantees to the test, of those that were asked for; and
// those that measure costs.
func casesOf(r request.Audit) (battery, costs []*scenario.Scenario, err error) {
	for _, g := range r.Guarantees {
		if known := words.Texts(scenario.Guarantees()); !slices.Contains(known, g) || g == string(scenario.NoGuarantee) {
			return nil, nil, Usagef("--guarantee: no guarantee %q", g).
				Unknown(g, slices.DeleteFunc(known, func(k string) bool { return k == string(scenario.NoGuarantee) }))
		}
	}
	ids, err := regexp.Compile(r.Case)
	if err != nil {
		return nil, nil, Usagef("--case: %w", err)
	}
	all, err := Load(scenario.All)
	if err != nil {
		return nil, nil, err
	}
	var cases []string // guarantees as they are, with a slash, and with a scenario
	for _, s := range all {
		if s.Guarantee != scenario.NoGuarantee {
			cases = append(cases, string(s.Guarantee), string(s.Guarantee)+"/", audit.ID(s))
		}
	}
	few := r.Case != "" || len(r.Guarantees) > 0
	for _, s := range all {
		switch {
		case s.Guarantee == scenario.NoGuarantee && s.HasTag(costTag) && (!few || r.Case != "" && ids.MatchString("cost/"+s.Name)):
			costs = append(costs, s)
		case s.Guarantee == scenario.NoGuarantee, !ids.MatchString(audit.ID(s)),
			len(r.Guarantees) > 0 && !slices.Contains(r.Guarantees, string(s.Guarantee)):
		default:
			battery = append(battery, s)
		}
	}
	if len(battery)+len(costs) == 0 {
		err := Usagef("no case is left: --guarantee and --case fit none")
		if best := yamlform.Nearest(r.Case, cases); best != "" {
			return nil, nil, err.Hint("did you mean %s?", best)
		}
		return nil, nil, err.Hint("sim list cases lists them; --case is a regular expression")
	}
	return battery, costs, nil
}

// auditLocks are the locks of a request, each with a label of its own.
func (e *Env) auditLocks(r request.Audit) ([]audit.Lock, error) {
	if len(r.Locks) == 0 {
		return nil, Usagef("name a lock").Hint("sim audit --lock redlock, or --lock 'python3 my_lock.py'")
	}
	var list []audit.Lock
	for _, text := range r.Locks {
		label, own, err := e.labelled(text)
		if err != nil {
			return nil, err
		}
		if label = cmp.Or(label, labelOf(own)); strings.HasPrefix(label, "card.") {
			return nil, Usagef("--lock %s: a lock cannot be called %s: files of the card are", text, label)
		}
		if slices.ContainsFunc(list, func(l audit.Lock) bool { return l.Label == label }) {
			return nil, Usagef("two locks are called %q", label).Hint("--lock name='COMMAND'")
		}
		list = append(list, audit.Lock{Label: label, StandIn: own})
	}
	return list, nil
}

func standInsOf(locks []audit.Lock) []*scenario.StandIn {
	list := make([]*scenario.StandIn, len(locks))
	for i := range locks {
		list[i] = locks[i].StandIn
	}
	return list
}

func labelsOf(locks []audit.Lock) []string {
	list := make([]string, len(locks))
	for i := range locks {
		list[i] = locks[i].Label
	}
	return list
}

// auditLine is the command line of an audit.
func auditLine(r request.Audit) string {
	r.Timeout, r.NoShorten, r.Twice, r.AllowUndecided = 0, false, false, false // they change nothing of what is found
	return request.Line([]string{"sim", "audit"}, &r, &request.Audit{Nodes: string(server.Auto)}, "seed")
}

// write writes the card in all its forms into its folder.
func (a *AuditResult) write() error {
	return errors.Join(
		machine.WriteFile(filepath.Join(a.Dir, runs.Card), func(w io.Writer) error { return card.WriteJSON(w, a.Card) }),
		machine.WriteFile(filepath.Join(a.Dir, runs.CardMarkdown), func(w io.Writer) error { return card.WriteMarkdown(w, a.Card) }),
		machine.WriteFile(filepath.Join(a.Dir, runs.CardPage), func(w io.Writer) error { return card.WriteHTML(w, a.Card) }),
	)
}

// Verdict is the exit code that the card stands for: what is unknown never looks like what is kept. changes are the differences from the
// card that was expected; compared says that there is one.
func (a *AuditResult) Verdict(ctx context.Context, changes []card.Change, compared bool) error {
	if ctx.Err() != nil {
		return Interrupted("interrupted; the card has what was found until then")
	}
	if a.Err != nil {
		return a.Err
	}
	red, undecided := a.Card.Has(card.Broken), a.Card.Has(card.Unknown)
	if compared {
		red = slices.ContainsFunc(changes, func(c card.Change) bool { return c.Red })
		undecided = slices.ContainsFunc(changes, func(c card.Change) bool { return c.Cell.State == card.Unknown })
	}
	if red {
		return &ExitError{Code: ExitUnexpected}
	}
	if undecided && !a.Request.AllowUndecided {
		return &ExitError{Code: ExitUndecided}
	}
	return nil
}
