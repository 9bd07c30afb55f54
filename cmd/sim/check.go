package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/checker/evidence"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// checkFlags are the flags of sim check.
type checkFlags struct {
	model, format, initial, nilRead string
	timeout                         time.Duration
	memory                          int64
	permits, reentrancy             int
	json                            bool
	html                            string
	// again is the command that checks the same again.
	again string
}

func newCheckCommand(a *app) *cobra.Command {
	var f checkFlags
	c := &cobra.Command{
		Use:   "check HISTORY...",
		Short: "Judge histories in files: those of sim, or of other tools",
		Long: `Judge histories in files: histories of sim (JSONL), histories of Jepsen (EDN), and
the etcd and key-value logs of porcupine's tests.

A history of sim is judged by the safety properties of its lock, unless --model names
a model. Any other history needs a model: ` + strings.Join(evidence.Models(), ", ") + `.

Exit codes: 0 every history holds, 1 at least one is violated, 2 undecided, 3 bad
flags or a file that cannot be read as a history.`,
		Example: `  sim check reports/latest/unfenced/history.jsonl
  sim check history.edn --model cas-register --initial 0
  sim check history.edn --model owner-mutex --json
  sim check history.edn --model mutex --html history.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			f.again = checkAgain(c, args)
			return a.check(c.Context(), args, f)
		},
	}
	c.Flags().StringVar(&f.model, "model", "", "the model to judge the history by")
	c.Flags().StringVar(&f.format, "format", "auto", "the format of the files: "+strings.Join(wordsOf(evidence.Formats()), ", "))
	c.Flags().StringVar(&f.initial, "initial", "",
		"the initial value (default: the one that the file gives; otherwise nil for a register, 0 for other models)")
	c.Flags().StringVar(&f.nilRead, "nil-read", "", "the value that a read of nil stands for (default: none, or the initial value)")
	c.Flags().DurationVar(&f.timeout, "timeout", checker.DefaultTimeout, "give up after this time; the verdict is then undecided")
	c.Flags().Int64Var(&f.memory, "memory", checker.DefaultMemory>>20, "give up above this much memory, in MiB; the verdict is then undecided")
	c.Flags().IntVar(&f.permits, "permits", 1, "how many permits the semaphore has")
	c.Flags().IntVar(&f.reentrancy, "reentrancy", 0, "how many times an owner may acquire a re-entrant lock; 0: any number of times")
	c.Flags().BoolVar(&f.json, "json", false, "print one line of JSON for each history")
	c.Flags().StringVar(&f.html, "html", "", "write the result as an HTML page to this file (one history only)")
	registerWords(c, "model", evidence.Models())
	registerWords(c, "format", wordsOf(evidence.Formats()))
	return c
}

// checkAgain is the command with all flags that change what comes of it.
func checkAgain(c *cobra.Command, files []string) string {
	list := append([]string{"sim", "check"}, files...)
	for _, name := range []string{"model", "format", "initial", "nil-read", "permits", "reentrancy", "timeout", "memory"} {
		if flag := c.Flags().Lookup(name); flag.Changed {
			list = append(list, "--"+name, flag.Value.String())
		}
	}
	return shellquote.Join(list...)
}

func wordsOf[T ~string](list []T) []string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return words
}

func (f checkFlags) options() (evidence.Options, error) {
	o := evidence.Options{Format: evidence.Format(f.format), Model: f.model, Timeout: f.timeout, Memory: f.memory << 20,
		Permits: f.permits, Reentrancy: f.reentrancy}
	for flag, v := range map[string]struct {
		text string
		to   *history.Int
	}{"--initial": {f.initial, &o.Initial}, "--nil-read": {f.nilRead, &o.NilRead}} {
		if v.text == "" {
			continue
		}
		n, err := strconv.ParseInt(v.text, 10, 64)
		if err != nil {
			return o, usageError("%s %q: want a whole number", flag, v.text)
		}
		*v.to = history.Some(n)
	}
	return o, nil
}

func (a *app) check(ctx context.Context, files []string, f checkFlags) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	if f.html != "" && len(files) > 1 {
		return usageError("--html takes one history, not %d", len(files))
	}
	worst := checker.Holds
	for _, file := range files {
		verdict, err := a.checkFile(ctx, file, f, o)
		if err != nil {
			return checkError(file, err)
		}
		if verdict == checker.Violated || worst == checker.Holds {
			worst = verdict
		}
	}
	return ended(ctx, "interrupted", worst == checker.Violated, worst == checker.Unknown)
}

// checkError makes what is wrong with a file or a flag the user's to mend.
func checkError(file string, err error) error {
	var option *evidence.OptionError
	if errors.As(err, &option) {
		return usageError("--%s: %s", strings.ToLower(option.Option), option.Problem)
	}
	return usageError("failed to read the history %q: %w", file, err)
}

// checkFile judges one file and prints what came of it.
func (a *app) checkFile(ctx context.Context, file string, f checkFlags, o evidence.Options) (checker.Verdict, error) {
	if f.model == "" {
		verdict, ours, err := a.checkProperties(ctx, file, f, o)
		if ours || err != nil {
			return verdict, err
		}
		return 0, &evidence.OptionError{Option: "model", Problem: "this is not a history of sim, so it needs a model\nhint: name one of " +
			strings.Join(evidence.Models(), ", ")}
	}
	r, err := evidence.CheckFile(ctx, file, o)
	if err != nil {
		return 0, err
	}
	if f.html != "" {
		h := toShow(file, r.Format)
		if err := a.writeCheckPage(f.html, file, f.again, h, []report.PropertyResult{propertyOfModel(r, h)}); err != nil {
			return 0, err
		}
	}
	if f.json {
		return r.Verdict, a.printJSON(struct {
			File string `json:"file"`
			*evidence.Report
		}{file, r})
	}
	fmt.Fprintf(a.stdout, "%s: %s as %s: %s\n", file, r.Verdict, r.Model, r.Why)
	fmt.Fprintf(a.stdout, "  %s, %d with an unknown outcome, on %s; decided by %s\n",
		words.Count(r.Operations, "operation"), r.Unknown, words.Count(r.Keys, "key"), r.Method)
	if r.Truncated {
		fmt.Fprintln(a.stdout, "  the file ends in the middle of a line; the whole lines before it were judged")
	}
	if r.FirstBad != nil {
		fmt.Fprintf(a.stdout, "  impossible from here on: %s\n", describeOp(*r.FirstBad))
	}
	for i, op := range r.Counterexample {
		if i == 0 {
			fmt.Fprintf(a.stdout, "  %d of %s cannot be explained together:\n", len(r.Counterexample), words.Count(r.From, "operation"))
		}
		fmt.Fprintf(a.stdout, "    %s\n", describeOp(op))
	}
	return r.Verdict, nil
}

func describeOp(o evidence.Operation) string {
	text := fmt.Sprintf("%q %s, line %d", o.Process, strconv.Quote(o.What), o.CallLine)
	if o.Key != "" {
		text = fmt.Sprintf("%q on %q %s, line %d", o.Process, o.Key, strconv.Quote(o.What), o.CallLine)
	}
	if o.ReturnLine > 0 {
		return text + fmt.Sprintf(" to %d", o.ReturnLine)
	}
	return text + ", never answered"
}

// checkProperties judges a history of sim by the safety properties of its lock.
func (a *app) checkProperties(
	ctx context.Context, file string, f checkFlags, o evidence.Options,
) (v checker.Verdict, ours bool, err error) {
	h, ours, err := readOurs(file, o.Format)
	if !ours || err != nil {
		return 0, ours, err
	}
	findings := checker.Judge(ctx, h, checker.SafetyProperties(workload.Name(h.Header.Workload), h.Header.Quorum > 0),
		checker.Options{Timeout: o.Timeout, Memory: o.Memory})
	if f.json {
		err = a.printJSON(struct {
			File       string            `json:"file"`
			Truncated  bool              `json:"truncated,omitempty"`
			Properties []checker.Finding `json:"properties"`
		}{file, h.Truncated, findings})
	}
	if f.html != "" {
		var list []report.PropertyResult
		for _, finding := range findings {
			list = append(list, report.Judged(finding, checker.Holds)) // what whoever checks hopes for
		}
		err = errors.Join(err, a.writeCheckPage(f.html, file, f.again, shown{History: h}, list))
	}
	v = checker.Holds
	for _, finding := range findings {
		if !f.json {
			fmt.Fprintf(a.stdout, "%s: %s %s: %s\n", file, finding.Property, finding.Verdict, finding.Why)
			if finding.Counterexample != nil {
				for _, s := range finding.Counterexample.Story {
					fmt.Fprintf(a.stdout, "    %.3f s  %s\n", s.At.Seconds(), s.Text)
				}
			}
		}
		if finding.Verdict == checker.Violated || v == checker.Holds {
			v = finding.Verdict
		}
	}
	return v, true, err
}

// readOurs reads a file that is a history of sim; ours is false where it is not.
func readOurs(file string, format evidence.Format) (h *history.History, ours bool, err error) {
	if format != evidence.Auto && format != evidence.JSONL && format != "" {
		return nil, false, nil
	}
	h, got, err := readHistory(file, format)
	return h, got == evidence.JSONL, err
}

func readHistory(file string, format evidence.Format) (*history.History, evidence.Format, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, format, err
	}
	defer func() { _ = f.Close() }()
	return evidence.FromHistory(f, format, 0)
}

func (a *app) printJSON(v any) error { return a.encode(v, "") }

// printIndented writes JSON for people to read.
func (a *app) printIndented(v any) error { return a.encode(v, "  ") }

func (a *app) encode(v any, indent string) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}
