package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/corpus"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

func newCorpusCommand(a *cli) *cobra.Command {
	r := request.Corpus{Seed: 1, Histories: 1000}
	c := &cobra.Command{
		Use:   "corpus --out FOLDER",
		Short: "Write lock histories with labels, for makers of checkers",
		Long: `Write lock histories of which it is known what is wrong with them, for makers of
checkers: JSON Lines and EDN, an index with the verdict on each property and the reason, and
a README that says what all of it means.

Half of them are runs in the model of Redis, of the scenarios that sim ships as they are,
and with clients, sections and faults that are drawn. A quarter are such runs with a real
redis-server in virtual time; where this machine has none, they are left out. A quarter
are correct histories in which one thing was changed.

The same seed writes the same bytes. The labels come from how a history was made, from a
judge that follows the definitions word by word, and from porcupine. The folder appears
once it is whole.

Exit codes: 0 it was written, 3 bad flags, 4 the folder cannot be written, 130 interrupted.`,
		Example: `  sim corpus --out corpus
  sim corpus --out small --histories 40 --seed 7
  sim corpus check corpus`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.makeCorpus(c.Context(), r) },
	}
	c.Flags().StringVar(&r.Out, "out", "", "the folder to write; it is not there yet, or empty")
	c.Flags().Uint64Var(&r.Seed, "seed", r.Seed, "draws all that is random")
	c.Flags().IntVar(&r.Histories, "histories", r.Histories, "how many histories to write")
	c.Flags().StringVar(&r.Redis, "redis", "", "the redis-server or valkey-server for the real ones (default: that of this machine)")
	c.AddCommand(newCorpusCheckCommand(a))
	return c
}

func newCorpusCheckCommand(a *cli) *cobra.Command {
	var asJSON bool
	var answers string
	c := &cobra.Command{
		Use:   "check FOLDER",
		Short: "Judge a corpus anew, or compare the answers of another checker with its labels",
		Long: `Judge the histories of a corpus by sim's checker, by the judge that follows the
definitions word by word, and by porcupine where it can decide, and print where one of them
says something else than a label.

--answers compares what another checker says with the labels instead. The file has a line
of JSON for each: {"id":"virtual-0001","about":"owner-mutex","verdict":"violated"}, where
about is a property or a model. Of a file that is to be refused, about is left out and the
verdict is refused.

Exit codes: 0 no difference, or no wrong answer; 1 there are some; 3 bad flags, or a folder
that is no corpus. An answer that is only undecided, or missing, is not wrong.`,
		Example: `  sim corpus check corpus
  sim corpus check corpus --answers answers.jsonl
  sim corpus check corpus --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.checkCorpus(c.Context(), args[0], answers, asJSON)
		},
	}
	c.Flags().StringVar(&answers, "answers", "", "a file with the answers of another checker")
	c.Flags().BoolVar(&asJSON, "json", false, "print what came of it as JSON on stdout")
	return c
}

func (a *cli) makeCorpus(ctx context.Context, r request.Corpus) error {
	l := a.listener()
	began := a.now()
	index, err := a.env().MakeCorpus(ctx, r, l.hear)
	l.phase("")
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "%s in %s: %d virtual, %d real, %d damaged, in %v\n", words.Count(index.Histories, "history"), r.Out,
		index.Sources[corpus.Virtual], index.Sources[corpus.Real], index.Sources[corpus.Damaged], roughly(a.now().Sub(began)))
	if o := index.LeftOut; o != nil {
		fmt.Fprintf(a.stdout, "left out: %d %s, because %s\n", o.Histories, o.Source, o.Why)
	}
	fmt.Fprintf(a.stdout, "%s/%s says what they are; sim corpus check %s judges them\n", r.Out, corpus.ReadmeFile, r.Out)
	return nil
}

// mostDifferences is how many a person is shown.
const mostDifferences = 50

func (a *cli) checkCorpus(ctx context.Context, dir, answers string, asJSON bool) error {
	l := a.listener()
	tally, score, err := a.env().CheckCorpus(ctx, dir, answers, l.hear)
	l.phase("")
	if err != nil {
		return err
	}
	if score != nil {
		return a.tellScore(score, asJSON)
	}
	if asJSON {
		if err := a.printIndented(tally); err != nil {
			return err
		}
		return app.Ended(ctx, "interrupted", len(tally.Differences) > 0, false)
	}
	a.tellDifferences(tally.Differences)
	fmt.Fprintf(a.stdout, "%s, of which %d are to be refused: %s\n", words.Count(tally.Histories, "history"), tally.Refused,
		words.Count(len(tally.Differences), "difference"))
	for _, j := range []corpus.Judge{corpus.Checker, corpus.Definitions, corpus.Porcupine} {
		fmt.Fprintf(a.stdout, "  %-16s %s compared\n", j, words.Count(tally.Compared[j], "label"))
	}
	if tally.TooLong > 0 {
		fmt.Fprintf(a.stdout, "  %s too long for the definitions\n", words.Count(tally.TooLong, "history"))
	}
	return app.Ended(ctx, "interrupted", len(tally.Differences) > 0, false)
}

func (a *cli) tellDifferences(list []corpus.Difference) {
	for n, d := range list {
		if n == mostDifferences {
			fmt.Fprintf(a.stdout, "... and %d more\n", len(list)-n)
			return
		}
		about := ""
		if d.About != "" {
			about = " " + d.About
		}
		fmt.Fprintf(a.stdout, "%s%s: the label is %s; %s: %s", d.ID, about, d.Label, d.Judge, d.Says)
		if d.Why != "" {
			fmt.Fprintf(a.stdout, " (%s)", d.Why)
		}
		fmt.Fprintln(a.stdout)
	}
}

func (a *cli) tellScore(s *corpus.Score, asJSON bool) error {
	if asJSON {
		if err := a.printIndented(s); err != nil {
			return err
		}
	} else {
		a.tellDifferences(s.Wrong)
		fmt.Fprintf(a.stdout, "%s: %d right\n", words.Count(s.Labels, "label"), s.Right)
		for _, line := range []struct {
			n    int
			text string
		}{
			{s.FalseAlarms, "false alarms: violated, which is not so"}, {s.Missed, "missed: holds, which is violated"},
			{s.Rash, "rash: holds, which cannot be known"}, {s.Undecided, "undecided, though it is known"},
			{s.NotRefused, "read, and to be refused"}, {s.WronglyRefused, "refused, and to be read"},
			{s.NotAnswered, "not answered"}, {s.Unasked, "answers to what has no label"},
		} {
			if line.n > 0 {
				fmt.Fprintf(a.stdout, "  %d %s\n", line.n, line.text)
			}
		}
	}
	if s.Dangerous() {
		return &app.ExitError{Code: app.ExitUnexpected}
	}
	return nil
}
