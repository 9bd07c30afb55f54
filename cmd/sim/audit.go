package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// cardFiles are those to which a card is written beside its folder, and the one with which it is compared.
type cardFiles struct {
	card, markdown, expect string
	json                   bool
}

func newAuditCommand(a *cli) *cobra.Command {
	r := request.Audit{Timeout: request.Duration(10 * time.Minute), Place: request.Place{Out: a.project.Out}}
	var files cardFiles
	var shard string
	var allowPrograms bool
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
the violation is confirmed by what the nodes saw and shows in three of at most ten runs; in
virtual time one is enough, for it shows again for ever. Otherwise the cell is unknown. What
sim conform finds counts in the row that it is about. The shortest scenario that shows a
violation is kept beside the card.

A lock program is audited in virtual time where it can be had, as of sim run: the same seed
makes the same card. --world live audits it in real time.

--expect takes the card.json of an earlier audit: a guarantee that was kept and is broken is
an error. So is one that was broken and is kept, until the card is renewed. A cell in which
"flaky" is true may be either.

Each audit writes a folder <out>/audit/<stamp>-<seed> with card.json, card.html, card.md and
the runs.

Exit codes: 0 nothing broken, or all as --expect says, 1 broken, or not as expected,
2 something is unknown, or the machine was too slow, 3 bad flags, 4 the machine lacks
something or a lock program does not work, 5 internal error, 130 interrupted.`,
		Example: `  sim audit --lock 'python3 my_lock.py'
  sim audit --lock 'python3 my_lock.py' --world live
  sim audit --lock redlock --world virtual
  sim audit --lock ours=bin/my-lock --lock redsync=bin/adapters/redsync
  sim audit --lock bin/my-lock --expect locks/card.json
  sim audit --lock bin/my-lock --case late-release/
  sim audit --lock bin/my-lock --seed 42 --shard 1/3`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.audit(c.Context(), r, files, shard, allowPrograms, c.Flags().Changed)
		},
	}
	c.Flags().StringArrayVar(&r.Locks, "lock", nil,
		"the lock to audit: a command with its arguments, quoted as for a shell, or a lock of sim; NAME=LOCK names its column (repeatable)")
	c.Flags().BoolVar(&allowPrograms, "allow-programs", false, "allow the lock program that sim.yaml names; read it first")
	worldFlag(c, &r.World, "lock programs virtual where this machine lets sim, locks of sim alone live")
	c.Flags().StringVar(&r.Nodes, "nodes", cmp.Or(a.project.Nodes, string(server.Auto)),
		"what the nodes are: process, docker or auto in the live world; model, process or auto in the virtual world (see sim run --help)")
	registerWords(c, "nodes", slices.DeleteFunc(nodesWords(), func(w string) bool { return w == string(server.External) }))
	redisFlag(c, &r.Redis)
	caseFlags(c, &r)
	c.Flags().Uint64Var(&r.Seed, "seed", 1, "the seed for everything random; in virtual time it makes the same card each time")
	c.Flags().StringVar(&r.Out, "out", r.Out, "folder in which audits are stored, below audit/")
	c.Flags().IntVarP(&r.Jobs, "jobs", "j", 0,
		"how many cases to run at once (default: two for each processor; with real servers in virtual time one; "+
			"with --nodes docker or --lock image:NAME one for each two processors)")
	durationFlag(c, &r.Timeout, "timeout", "how long one run may take in real time")
	c.Flags().StringVar(&files.expect, "expect", "", "the card that is expected: the card.json of an earlier audit")
	c.Flags().StringVar(&files.card, "card", "", "write card.json also to this file")
	c.Flags().StringVar(&files.markdown, "markdown", "", "write the card as Markdown also to this file")
	c.Flags().BoolVar(&files.json, "json", false, "print the card as JSON on stdout, as in card.json")
	twiceFlag(c, &r.Twice)
	c.Flags().BoolVar(&r.AllowUndecided, "allow-undecided", false, "exit with 0, not 2, if a cell is unknown")
	shardFlag(c, &shard)
	return c
}

// caseFlags say what is put to the test.
func caseFlags(c *cobra.Command, r *request.Audit) {
	c.Flags().StringSliceVar(&r.Guarantees, "guarantee", nil, "take only the cases of this guarantee (repeatable)")
	completions := cobra.FixedCompletions(words.Texts(scenario.Guarantees()), cobra.ShellCompDirectiveNoFileComp)
	_ = c.RegisterFlagCompletionFunc("guarantee", completions)
	c.Flags().StringVar(&r.Case, "case", "", "take only the cases whose ID matches this regular expression")
	c.Flags().BoolVar(&r.NoShorten, "no-shorten", false,
		"do not look for the shortest scenario that shows a violation, which takes several more runs")
}

// audit completes what is asked with what follows from other flags and from sim.yaml, and audits.
func (a *cli) audit(
	ctx context.Context, r request.Audit, files cardFiles, shard string, allowPrograms bool, changed func(flag string) bool,
) (err error) {
	if r.Part, err = partOf(shard, changed("seed")); err != nil {
		return err
	}
	if r.Part != nil && files.expect != "" {
		return app.Usagef("--shard does not go with --expect: a shard has a part of the card").
			Hint("sim merge --expect %s", files.expect)
	}
	if !changed("nodes") {
		r.Nodes = "" // what sim.yaml says is for the live world alone
	}
	if changed("jobs") && r.Jobs < 1 {
		return app.Usagef("--jobs %d: want at least 1", r.Jobs)
	}
	if r.Jobs == 0 {
		r.Jobs = a.project.Jobs
	}
	if len(r.Locks) == 0 {
		command, err := a.projectLock(allowPrograms)
		if err != nil {
			return err
		}
		if command != "" {
			r.Locks = []string{command}
		}
	}
	if err := files.check(); err != nil {
		return err
	}
	expected, err := app.ReadExpectation(files.expect)
	if err != nil {
		return err
	}
	env := a.env()
	env.Permit.Lock = true // it was named with --lock, or sim.yaml's was allowed
	result, err := app.Audit(ctx, env, r, expected, a.listener().hear)
	if err != nil {
		return err
	}
	return a.concludeAudit(ctx, result, expected, files)
}

// checkOutputs refuses files that cannot be written before the audit rather than after it.
func (f *cardFiles) check() error {
	if f.card != "" && f.card == f.markdown {
		return app.Usagef("--card and --markdown name the same file")
	}
	return errors.Join(checkFile("--card", f.card), checkFile("--markdown", f.markdown))
}

// concludeAudit writes the card, compares it with the expected one, and says how the audit ended.
func (a *cli) concludeAudit(ctx context.Context, r *app.AuditResult, expected *app.Expectation, files cardFiles) error {
	if err := a.publishCard(r, files); err != nil {
		return err
	}
	var changes []card.Change
	if expected != nil && ctx.Err() == nil && r.Err == nil {
		changes = card.Compare(expected.Card, r.Card)
		if err := a.tellChanges(r, expected, changes, files.json); err != nil {
			return err
		}
	}
	return r.Verdict(ctx, changes, expected != nil)
}

// publishCard prints the card, and writes it to the files that are named.
func (a *cli) publishCard(r *app.AuditResult, files cardFiles) error {
	asJSON := func(w io.Writer) error { return card.WriteJSON(w, r.Card) }
	var errs []error
	if files.card != "" {
		errs = append(errs, a.toOutput(files.card, asJSON))
	}
	if files.markdown != "" {
		errs = append(errs, a.toOutput(files.markdown, func(w io.Writer) error { return card.WriteMarkdown(w, r.Card) }))
	}
	if files.json {
		return errors.Join(append(errs, asJSON(a.stdout))...)
	}
	errs = append(errs, card.WriteText(a.stdout, r.Card, shortPath(r.Dir), a.textOptions()))
	fmt.Fprintf(a.stdout, "card     %s\nreplay   %s\n", shortPath(filepath.Join(r.Dir, runs.CardPage)), r.Card.Replay)
	if slow := r.Card.TooSlow(); slow != "" {
		fmt.Fprintf(a.stdout, "undecided  %s\n", slow)
	}
	return errors.Join(errs...)
}

// tellChanges says in what a card differs from the expected one, and how to accept that.
func (a *cli) tellChanges(r *app.AuditResult, expected *app.Expectation, changes []card.Change, asJSON bool) error {
	out := a.stdout
	if asJSON {
		out = a.stderr
	}
	if err := card.WriteChanges(out, changes, a.textOptions()); err != nil {
		return err
	}
	if !slices.ContainsFunc(changes, func(c card.Change) bool { return c.Red }) {
		return nil
	}
	if expected.Card.HasMore(r.Card) {
		fmt.Fprintf(out, "hint: to accept it, audit all cases with --card %s\n", shellquote.Join(expected.File))
		return nil
	}
	fmt.Fprintf(out, "hint: to accept the new card: cp %s %s\n",
		shellquote.Join(shortPath(filepath.Join(r.Dir, runs.Card))), shellquote.Join(expected.File))
	return nil
}
