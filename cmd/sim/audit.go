package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app/audit"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// auditFlags are the flags of sim audit.
type auditFlags struct {
	locks          []string
	allowPrograms  bool
	world, nodes   string
	guarantees     []string
	cases          string
	seed           uint64
	out            string
	jobs           int
	timeout        time.Duration
	expect         string
	card, markdown string
	json           bool
	noShorten      bool
	allowUndecided bool
	shard          string
}

func newAuditCommand(a *app) *cobra.Command {
	var f auditFlags
	c := &cobra.Command{
		Use:   "audit --lock [NAME=]LOCK...",
		Short: "Make the report card of a lock: what can be relied on, and what not",
		Long: `Make the report card of a lock: what can be relied on, and what not. sim puts the lock in the
place of the locks of all shipped scenarios that put a guarantee to the test, and says for
each case whether the guarantee is kept, broken, or lost by design: what no lock of its class
can keep. docs/reference/audit.md says what each cell means; sim list guarantees lists the rows.

LOCK is a lock program, as a command (no shell runs it), or a lock of sim, as in
'redlock --switch quorum'. Several locks stand side by side on one card. Without --lock it
is the lock of sim.yaml.

A lock is said to break a guarantee only if its program speaks the lock protocol, and if
the violation is confirmed by what the nodes saw and shows in three of at most ten runs.
Otherwise the cell is unknown. What sim conform finds counts in the row that it is about.
The shortest scenario that shows a violation is kept beside the card.

--expect takes the card.json of an earlier audit: a guarantee that was kept and is broken is
an error. So is one that was broken and is kept, until the card is renewed. A cell in which
"flaky" is true may be either.

Each audit writes a folder <out>/audit/<stamp>-<seed> with card.json, card.html, card.md and
the runs.

Exit codes: 0 nothing broken, or all as --expect says, 1 broken, or not as expected,
2 something is unknown, or the machine was too slow, 3 bad flags, 4 the machine lacks
something or a lock program does not work, 5 internal error, 130 interrupted.`,
		Example: `  sim audit --lock 'python3 my_lock.py'
  sim audit --lock redlock --world virtual
  sim audit --lock ours=bin/my-lock --lock redsync=bin/adapters/redsync
  sim audit --lock bin/my-lock --expect locks/card.json
  sim audit --lock bin/my-lock --case late-release/
  sim audit --lock bin/my-lock --seed 42 --shard 1/3`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.checkShard(c.Flags().Changed("seed")); err != nil {
				return err
			}
			if !c.Flags().Changed("seed") {
				f.seed = uint64(rand.Uint32())
			}
			if !c.Flags().Changed("jobs") {
				jobs, _ := jobsFor(trial.Live, server.Provider(f.nodes), append(f.locks, a.project.Lock)...)
				f.jobs = cmp.Or(a.project.Jobs, jobs)
			}
			if len(f.locks) == 0 {
				command, err := a.projectLock(f.allowPrograms)
				if err != nil {
					return err
				}
				if command == "" {
					return usageError("name a lock\nhint: sim audit --lock redlock, or --lock 'python3 my_lock.py'")
				}
				f.locks = []string{command}
			}
			return a.audit(c.Context(), f)
		},
	}
	c.Flags().StringArrayVar(&f.locks, "lock", nil,
		"the lock to audit: a command with its arguments, quoted as for a shell, or a lock of sim; NAME=LOCK names its column (repeatable)")
	c.Flags().BoolVar(&f.allowPrograms, "allow-programs", false, "allow the lock program that sim.yaml names; read it first")
	c.Flags().StringVar(&f.world, "world", trial.Live, "where to run: live, or virtual (locks of sim only)")
	registerWords(c, "world", []string{trial.Live, trial.Virtual})
	c.Flags().StringVar(&f.nodes, "nodes", cmp.Or(a.project.Nodes, string(server.Auto)),
		"where the nodes of the live world come from: process, docker or auto")
	registerWords(c, "nodes", []string{string(server.Process), string(server.Docker), string(server.Auto)})
	f.caseFlags(c)
	c.Flags().Uint64Var(&f.seed, "seed", 0, "the seed for everything random (default: a random one, which is printed)")
	c.Flags().StringVar(&f.out, "out", a.project.Out, "folder in which audits are stored, below audit/")
	c.Flags().IntVarP(&f.jobs, "jobs", "j", 0,
		"how many cases to run at once (default: two for each processor; with --nodes docker or --lock image:NAME one for each two processors)")
	c.Flags().DurationVar(&f.timeout, "timeout", 10*time.Minute, "how long one run may take in real time")
	c.Flags().StringVar(&f.expect, "expect", "", "the card that is expected: the card.json of an earlier audit")
	c.Flags().StringVar(&f.card, "card", "", "write card.json also to this file")
	c.Flags().StringVar(&f.markdown, "markdown", "", "write the card as Markdown also to this file")
	c.Flags().BoolVar(&f.json, "json", false, "print the card as JSON on stdout, as in card.json")
	c.Flags().BoolVar(&f.allowUndecided, "allow-undecided", false, "exit with 0, not 2, if a cell is unknown")
	shardFlag(c, &f.shard)
	return c
}

// caseFlags say what is put to the test.
func (f *auditFlags) caseFlags(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.guarantees, "guarantee", nil, "take only the cases of this guarantee (repeatable)")
	_ = c.RegisterFlagCompletionFunc("guarantee", cobra.FixedCompletions(wordsOf(scenario.Guarantees()), cobra.ShellCompDirectiveNoFileComp))
	c.Flags().StringVar(&f.cases, "case", "", "take only the cases whose ID matches this regular expression")
	c.Flags().BoolVar(&f.noShorten, "no-shorten", false,
		"do not look for the shortest scenario that shows a violation, which takes several more runs")
}

func (a *app) audit(ctx context.Context, f auditFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	expected, err := readExpectedCard(f.expect)
	if err != nil {
		return err
	}
	battery, costs, err := f.battery()
	if err != nil {
		return err
	}
	locks, err := auditLocks(f)
	if err != nil {
		return err
	}
	if expected != nil {
		if err := expected.Covers(labelsOf(locks)); err != nil {
			return usageError("--expect %s: %w\nhint: name it as the card does, with --lock NAME='COMMAND'", f.expect, err)
		}
	}
	if f.world == trial.Live {
		leave, err := a.enterLive(false)
		if err != nil {
			return err
		}
		defer leave()
	}
	for i := range locks {
		if locks[i].Programs, err = trial.Greet(ctx, nil, locks[i].StandIn); err != nil {
			return interruptedOr(ctx, err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("failed to find my own program: %w", err)
	}
	o := audit.Options{
		Locks: locks, Scenarios: battery, Costs: costs, Jobs: f.jobs, Shorten: !f.noShorten,
		Trial: trial.Options{Seed: f.seed, Timeout: f.timeout, World: f.world, Nodes: server.Provider(f.nodes),
			ClientCommand: []string{self, "client"}, Now: a.now, Program: map[string]string{"sim": programVersion()}},
	}
	share, mine, err := f.takeShare(ctx, &o)
	if err != nil {
		return err
	}
	dir, err := a.auditDir(&f, share)
	if err != nil {
		return err
	}
	o.Trial.Out = dir
	a.orderly.Store(true)
	for i := range locks {
		if err = a.conformance(ctx, &locks[i], filepath.Join(dir, locks[i].Label)); err != nil {
			_ = os.RemoveAll(dir) // there is no card, and nothing was run
			return interruptedOr(ctx, err)
		}
	}
	questions := o.Questions()
	if share != nil {
		questions = len(mine)
	}
	progress := newProgress(a, questions, 0)
	progress.follow(&o)
	var card *report.Card
	var runErr error
	if share == nil {
		card, runErr = audit.Run(ctx, o)
	} else {
		card, runErr, err = share.audit(ctx, a, o, mine, &f)
	}
	progress.stop()
	if err != nil {
		return err
	}
	card.Replay = f.replay()
	if err := a.publishCard(card, dir, f); err != nil {
		return err
	}
	return a.cardVerdict(ctx, card, expected, dir, f, runErr)
}

// check refuses flags that do not fit together.
func (f *auditFlags) check() error {
	if f.world != trial.Live && f.world != trial.Virtual {
		return usageError("--world %q: want %s or %s", f.world, trial.Live, trial.Virtual)
	}
	if !slices.Contains(wordsOf(server.Providers()), f.nodes) || f.nodes == string(server.External) {
		return usageError("--nodes %q: want process, docker or auto", f.nodes)
	}
	if f.jobs < 1 {
		return usageError("--jobs %d: want at least 1", f.jobs)
	}
	return f.checkOutputs()
}

// auditDir is the folder of an audit, or of its share.
func (a *app) auditDir(f *auditFlags, share *share) (string, error) {
	if share != nil {
		return filepath.Abs(share.dir)
	}
	dir, err := trial.NewRunDir(f.out, "audit", a.now(), f.seed)
	if err != nil {
		return "", &trial.EnvironmentError{Err: err, Hint: "choose another folder with --out"}
	}
	return dir, nil
}

// follow shows an audit's cases, each with its lock where there are several.
func (p *progress) follow(o *audit.Options) {
	several := len(o.Locks) > 1
	name := func(lock, id string) string {
		if several {
			return lock + ": " + id
		}
		return id
	}
	o.Begin = func(lock, id string) { p.begin(name(lock, id)) }
	o.End = func(lock, id string) { p.end(name(lock, id)) }
	o.Phase = func(lock, id, variant, phase string) { p.phase(name(lock, id), variant, phase) }
}

// checkOutputs refuses files that cannot be written before the audit rather than after it.
func (f *auditFlags) checkOutputs() error {
	if f.card != "" && f.card == f.markdown {
		return usageError("--card and --markdown name the same file")
	}
	for flag, path := range map[string]string{"--card": f.card, "--markdown": f.markdown} {
		if path == "" {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return usageError("%s %s: that is a folder", flag, path)
		}
		if info, err := os.Stat(filepath.Dir(path)); err == nil && !info.IsDir() {
			return usageError("%s %s: %s is no folder", flag, path, filepath.Dir(path))
		}
	}
	return nil
}

// costTag marks the scenarios that measure what a lock costs.
const costTag = "cost"

// battery are the scenarios that put guarantees to the test, of those that were asked for; and
// those that measure costs.
func (f *auditFlags) battery() (battery, costs []*scenario.Scenario, err error) {
	for _, g := range f.guarantees {
		if known := wordsOf(scenario.Guarantees()); !slices.Contains(known, g) || g == string(scenario.NoGuarantee) {
			return nil, nil, usageError("--guarantee: no guarantee %q\nhint: sim list guarantees", g)
		}
	}
	ids, err := regexp.Compile(f.cases)
	if err != nil {
		return nil, nil, usageError("--case: %w", err)
	}
	all, err := loadScenarios(scenario.All)
	if err != nil {
		return nil, nil, err
	}
	few := f.cases != "" || len(f.guarantees) > 0
	for _, s := range all {
		switch {
		case s.Guarantee == scenario.NoGuarantee && s.HasTag(costTag) && (!few || f.cases != "" && ids.MatchString("cost/"+s.Name)):
			costs = append(costs, s)
		case s.Guarantee == scenario.NoGuarantee, !ids.MatchString(audit.ID(s)),
			len(f.guarantees) > 0 && !slices.Contains(f.guarantees, string(s.Guarantee)):
		default:
			battery = append(battery, s)
		}
	}
	if len(battery)+len(costs) == 0 {
		return nil, nil, usageError("no case is left: --guarantee and --case fit none\nhint: sim list cases")
	}
	return battery, costs, nil
}

// unfit are the runs of characters that cannot stand in a label.
var unfit = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// auditLocks are the locks of the command line, each with a label of its own.
func auditLocks(f auditFlags) ([]audit.Lock, error) {
	var list []audit.Lock
	for _, text := range f.locks {
		label, own, err := labelledLock(text)
		switch {
		case err != nil:
			return nil, err
		case own.Program != nil && f.world == trial.Virtual:
			return nil, usageError("--lock %s: %w\nhint: --world live", text, trial.ErrNotVirtual)
		case label == "":
			label = labelOf(own)
		}
		if strings.HasPrefix(label, "card.") {
			return nil, usageError("--lock %s: a lock cannot be called %s: files of the card are", text, label)
		}
		if slices.ContainsFunc(list, func(l audit.Lock) bool { return l.Label == label }) {
			return nil, usageError("two locks are called %q\nhint: --lock name='COMMAND'", label)
		}
		list = append(list, audit.Lock{Label: label, StandIn: own})
	}
	return list, nil
}

// labelledLock reads NAME=LOCK ("ours=bin/my-lock"); the label is empty where there is no name.
func labelledLock(text string) (label string, own *scenario.StandIn, err error) {
	command := text
	if name, rest, ok := strings.Cut(text, "="); ok && scenario.IsLockName(name) {
		label, command = name, rest
	}
	if own, err = standIn(command); err == nil && own == nil {
		err = usageError("--lock %s: name a lock", text)
	}
	return label, own, err
}

func labelsOf(locks []audit.Lock) []string {
	list := make([]string, len(locks))
	for i := range locks {
		list[i] = locks[i].Label
	}
	return list
}

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

// interruptedOr is the error of something that an interrupt may have cut short.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exitError{exitInterrupted, errors.New("interrupted before anything was run")}
	}
	return err
}

func readExpectedCard(path string) (*report.Card, error) {
	if path == "" {
		return nil, nil
	}
	f, err := machine.OpenRegular(path)
	if err != nil {
		return nil, usageError("--expect: %w", err)
	}
	defer func() { _ = f.Close() }()
	card, err := report.ReadCard(f)
	if err != nil {
		return nil, usageError("--expect %s: %w", path, err)
	}
	return card, nil
}

// replay is the command line of the audit.
func (f *auditFlags) replay() string {
	words := []string{"sim", "audit"}
	for _, l := range f.locks {
		words = append(words, "--lock", l)
	}
	if f.world != trial.Live {
		words = append(words, "--world", f.world)
	} else if f.nodes == string(server.Docker) {
		words = append(words, "--nodes", f.nodes)
	}
	for _, g := range f.guarantees {
		words = append(words, "--guarantee", g)
	}
	if f.cases != "" {
		words = append(words, "--case", f.cases)
	}
	return shellquote.Join(append(words, "--seed", fmt.Sprint(f.seed))...)
}

// publishCard writes the card in all its forms.
func (a *app) publishCard(card *report.Card, dir string, f auditFlags) error {
	asJSON := func(w io.Writer) error { return report.WriteCardJSON(w, card) }
	asMarkdown := func(w io.Writer) error { return report.WriteCardMarkdown(w, card) }
	page := filepath.Join(dir, "card.html")
	errs := []error{
		machine.WriteFile(filepath.Join(dir, "card.json"), asJSON),
		machine.WriteFile(filepath.Join(dir, "card.md"), asMarkdown),
		machine.WriteFile(page, func(w io.Writer) error { return report.WriteCardHTML(w, card) }),
	}
	if f.card != "" {
		errs = append(errs, a.toOutput(f.card, asJSON))
	}
	if f.markdown != "" {
		errs = append(errs, a.toOutput(f.markdown, asMarkdown))
	}
	if f.json {
		return errors.Join(append(errs, asJSON(a.stdout))...)
	}
	errs = append(errs, report.WriteCardText(a.stdout, card, shortPath(dir), a.textOptions()))
	fmt.Fprintf(a.stdout, "card     %s\nreplay   %s\n", shortPath(page), card.Replay)
	if slow := card.TooSlow(); slow != "" {
		fmt.Fprintf(a.stdout, "undecided  %s\n", slow)
	}
	return errors.Join(errs...)
}

// cardVerdict is the exit code that a card stands for: what is unknown never looks like what is kept.
func (a *app) cardVerdict(ctx context.Context, card, expected *report.Card, dir string, f auditFlags, runErr error) error {
	if ctx.Err() != nil {
		return &exitError{exitInterrupted, errors.New("interrupted; the card has what was found until then")}
	}
	if runErr != nil {
		return runErr
	}
	red, undecided := card.Has(report.CellBroken), card.Has(report.CellUnknown)
	if expected != nil {
		changes := report.CompareCards(expected, card)
		out := a.stdout
		if f.json {
			out = a.stderr
		}
		if err := report.WriteCardChanges(out, changes, a.textOptions()); err != nil {
			return err
		}
		red = slices.ContainsFunc(changes, func(c report.CardChange) bool { return c.Red })
		undecided = slices.ContainsFunc(changes, func(c report.CardChange) bool { return c.Cell.State == report.CellUnknown })
		switch {
		case red && expected.HasMore(card):
			fmt.Fprintf(out, "hint: to accept it, audit all cases with --card %s\n", shellquote.Join(f.expect))
		case red:
			fmt.Fprintf(out, "hint: to accept the new card: cp %s %s\n",
				shellquote.Join(shortPath(filepath.Join(dir, "card.json"))), shellquote.Join(f.expect))
		}
	}
	switch {
	case red:
		return &exitError{exitUnexpected, nil}
	case undecided && !f.allowUndecided:
		return &exitError{exitUndecided, nil}
	}
	return nil
}
