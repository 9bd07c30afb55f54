package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// exhaustFlags are the flags of sim exhaust.
type exhaustFlags struct {
	request.Target
	seed  uint64
	late  int
	most  uint64
	lasts time.Duration
	out   string
	jobs  int
	json  bool
}

func newExhaustCommand(a *cli) *cobra.Command {
	var f exhaustFlags
	c := &cobra.Command{
		Use:   "exhaust SCENARIO",
		Short: "Run a small scenario with every order in which its messages can arrive",
		Long: `Run a scenario in the virtual world with every order in which its messages can
arrive, and with the faults that it lists. Orders that differ only in independent
steps are run once (partial-order reduction).

The bounds: messages are faster than timers. So no timeout, retry or end of a fault
comes while a message can still arrive. --late N makes up to N exceptions in each run:
time then passes up to the next timer, and the messages are late. What clients draw
at random, such as the jitter of retries, comes from one seed.

Use it for small scenarios: two clients, up to three nodes, one section each, few
attempts. The number of orders grows very fast with each of these numbers, and
fastest if a client asks all nodes at once.

Exit codes: 0 the properties hold in every schedule within the bounds, 1 a schedule
violates a property, 2 not exhausted or undecided, 3 bad scenario or flags,
130 interrupted.`,
		Example: `  sim exhaust small.yaml
  sim exhaust small.yaml --late 1 --property exclusive-lease`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: oneScenario,
		RunE: func(c *cobra.Command, args []string) error { return a.exhaust(c.Context(), args[0], f) },
	}
	targetFlags(c, &f.Target, "the properties to judge", app.SearchProperties()...)
	c.Flags().Uint64Var(&f.seed, "seed", 0, "the seed for what clients draw at random")
	c.Flags().IntVar(&f.late, "late", 0, "how many times in a run a timer may come before messages that are under way")
	c.Flags().Uint64Var(&f.most, "most", 1_000_000, "give up after this many schedules; 0: never")
	c.Flags().DurationVar(&f.lasts, "for", 0, "give up after this time (default: never)")
	c.Flags().IntVarP(&f.jobs, "jobs", "j", a.project.Jobs, "how many runs at once (default: one for each processor)")
	c.Flags().BoolVar(&f.json, "json", false, "print what came of it as JSON on stdout")
	c.Flags().StringVar(&f.out, "out", filepath.Join(a.project.Out, "found"), "folder for the histories of violations")
	return c
}

func (a *cli) exhaust(ctx context.Context, file string, f exhaustFlags) error {
	f.Scenario = file
	s, v, properties, err := app.LoadTarget(f.Target, app.SearchProperties())
	if err != nil {
		return err
	}
	switch {
	case v.Setup.Faults.Mix != nil:
		return app.Usagef("%s: random faults cannot be exhausted", s.Name).Hint("list the faults, or use sim search")
	case f.late < 0 || f.lasts < 0 || f.jobs < 0:
		return app.Usagef("--late, --for and --jobs: must not be negative")
	}
	x := explore.Exhaust{Scenario: s, Variant: v.Name,
		Seed: f.seed, Late: f.late, Most: f.most, Properties: properties, Workers: cmp.Or(f.jobs, runtime.NumCPU())}
	a.orderly.Store(true)
	began := time.Now()
	l := a.listener()
	x.Progress = func(schedules uint64) {
		l.meter(func() string {
			line := fmt.Sprintf("%s, %.0f/s", words.Count(schedules, "schedule"), float64(schedules)/time.Since(began).Seconds())
			if f.most > 0 {
				line += fmt.Sprintf(", %d at most", f.most)
			}
			return line
		})
	}
	limited, cancel := app.Within(ctx, f.lasts)
	defer cancel()
	out, err := x.Run(limited)
	a.clearLine()
	if err != nil {
		return err
	}
	if f.json {
		if err := a.printExhausted(&x, &v.Setup, &out, f.out); err != nil {
			return err
		}
		return app.Ended(ctx, "interrupted", out.Violated(), leftOpen(&out))
	}
	fmt.Fprintf(a.stdout, "%s   %s   %s of at most %s in %.1f s, %s cut short\n",
		s.Name, v.Name, words.Count(out.Schedules, "schedule"),
		words.Count(out.Steps, "step"), time.Since(began).Seconds(), words.Count(out.Cut, "other"))
	fmt.Fprintf(a.stdout, "  bounds     %s\n", bounds(&v.Setup, f.late))
	if err := a.printVerdicts(s.Name, &out, f.out); err != nil {
		return err
	}
	return app.Ended(ctx, "interrupted", out.Violated(), leftOpen(&out))
}

// leftOpen reports that not every property was decided.
func leftOpen(out *explore.Exhausted) bool {
	return !out.All || out.Unfinished > 0 || slices.ContainsFunc(out.Verdicts, func(v explore.Verdicts) bool { return v.Holds == 0 })
}

// exhausted is what sim exhaust prints with --json.
type exhausted struct {
	Scenario   string             `json:"scenario"`
	Variant    string             `json:"variant"`
	Bounds     string             `json:"bounds"`
	All        bool               `json:"all"`
	Schedules  uint64             `json:"schedules"`
	Cut        uint64             `json:"cut"`
	Unfinished uint64             `json:"unfinished"`
	Steps      int                `json:"steps"`
	Properties []exhaustedVerdict `json:"properties"`
}

type exhaustedVerdict struct {
	Property string          `json:"property"`
	Verdict  checker.Verdict `json:"verdict"`
	Why      string          `json:"why"`
	Holds    uint64          `json:"holds"`
	Violated uint64          `json:"violated"`
	Unknown  uint64          `json:"unknown"`
	// First is the finding of the first violation, History the file with its history.
	First   *checker.Finding `json:"first,omitempty"`
	History string           `json:"history,omitempty"`
}

// printExhausted prints it for programs.
func (a *cli) printExhausted(x *explore.Exhaust, s *scenario.Setup, out *explore.Exhausted, dir string) error {
	told := exhausted{Scenario: x.Scenario.Name, Variant: x.Variant, Bounds: bounds(s, x.Late), All: out.All, Schedules: out.Schedules,
		Cut: out.Cut, Unfinished: out.Unfinished, Steps: out.Steps}
	for _, v := range out.Verdicts {
		one := exhaustedVerdict{Property: string(v.Property), Verdict: checker.Unknown, Why: verdictOfAll(out, &v),
			Holds: v.Holds, Violated: v.Violated, Unknown: v.Unknown}
		switch {
		case v.Violated > 0:
			var err error
			if one.History, err = keepFirst(x.Scenario.Name, dir, &v); err != nil {
				return err
			}
			one.Verdict, one.First = checker.Violated, v.First
		case out.All && out.Unfinished == 0 && v.Holds > 0:
			one.Verdict = checker.Holds
		}
		told.Properties = append(told.Properties, one)
	}
	return a.printIndented(told)
}

// keepFirst writes the history of the first violation to a file.
func keepFirst(name, dir string, v *explore.Verdicts) (file string, err error) {
	file = filepath.Join(dir, fmt.Sprintf("%.40s-exhaust-%s.jsonl", name, v.Property))
	return file, machine.WriteFile(file, func(w io.Writer) error { return history.Encode(w, v.History) })
}

// bounds says within what everything was tried.
func bounds(s *scenario.Setup, late int) string {
	list := []string{words.Count(s.Workload.Clients, "client"), words.Count(s.Nodes.Count, "node"),
		words.Count(s.Workload.Sections, "section") + " each",
		words.Count(s.Lock.Retry.Attempts, "attempt") + " for the lock", words.Count(len(s.Faults.List), "fault")}
	if s.Nodes.Watched() {
		list = append(list, "one time for each message between servers and sentinels")
	}
	if late == 0 {
		return strings.Join(list, ", ") + "; no message slower than a timer"
	}
	return strings.Join(list, ", ") + fmt.Sprintf("; up to %s in a run at which messages are slower than a timer", words.Count(late, "time"))
}

// printVerdicts says of each property what every schedule came to, and keeps the
// history of the first that violated it.
func (a *cli) printVerdicts(name string, out *explore.Exhausted, dir string) error {
	for _, v := range out.Verdicts {
		fmt.Fprintf(a.stdout, "  %-24s %s\n", v.Property, verdictOfAll(out, &v))
		if v.Violated == 0 {
			continue
		}
		fmt.Fprintf(a.stdout, "    %s\n", v.First.Why)
		if c := v.First.Counterexample; c != nil {
			for _, sentence := range c.Story {
				fmt.Fprintf(a.stdout, "      %.6f s  %s\n", sentence.At.Seconds(), sentence.Text)
			}
		}
		file, err := keepFirst(name, dir, &v)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "    history  %s\n", file)
	}
	return nil
}

// verdictOfAll says what the schedules together came to. What is undecided is
// never said to hold.
func verdictOfAll(out *explore.Exhausted, v *explore.Verdicts) string {
	switch {
	case v.Violated > 0:
		return fmt.Sprintf("violated in %s of %s", words.Grouped(v.Violated), words.Count(out.Schedules, "schedule"))
	case !out.All:
		return fmt.Sprintf("not exhausted: %s seen, no violation", words.Count(out.Schedules, "schedule"))
	case out.Unfinished > 0:
		return fmt.Sprintf("undecided: %d of %s reached the time limit", out.Unfinished, words.Count(out.Schedules, "schedule"))
	case v.Holds == 0:
		return "undecided: no schedule put it to the test"
	case v.Unknown > 0:
		return fmt.Sprintf("every schedule within these bounds: holds (%s of %s put it to the test)",
			words.Grouped(v.Holds), words.Grouped(out.Schedules))
	}
	return "every schedule within these bounds: holds"
}
