package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

func newSoakCommand(a *cli) *cobra.Command {
	r := a.soak()
	var html string
	allowPrograms, asJSON := false, false
	c := &cobra.Command{
		Use:   "soak [SCENARIO]",
		Short: "Let a lock live for hours, with other faults every minute",
		Long: `Let a lock live for hours, with other faults every minute. Servers and lock programs stay
as they are from one minute to the next, so a soak finds what an earlier minute left behind.

Each minute is an epoch: its faults are drawn from the seed, and one epoch in four is
calm. At its end everything heals, and each client in turn must be granted the lock
(progress). The epoch's history is judged, and thrown away if nothing was violated. The first
epoch of each kind of violation is kept: its history, the command that repeats it, and
where the epoch shows it alone, a scenario with as few faults as possible, as
sim search writes it.

If a client does not come to rest, dies for good, or another node has become the primary,
the next epoch begins with new servers and clients: a new life.

--seeds names a table of what soaks have found. Its epochs come first: each is new, seen
before, or gone. docs/guide/soak.md says more.

Exit codes: 0 nothing was found, 1 a violation was found, 2 undecided (only the lock
program's own word shows it; or no property was put to the test, or more than a tenth of
the epochs tell nothing), 3 bad scenario or flags, 4 the machine lacks something or the
lock program does not work, 130 interrupted (what was found is kept).`,
		Example: `  sim soak gc-pause --variant fenced --for 24h
  sim soak --lock redlock --for 1h --seed 7
  sim soak --lock 'python3 my_lock.py' --for 24h --html soak.html
  sim soak my-lock.yaml --for 24h --resume
  sim soak my-lock.yaml --for 8h --seeds seeds.jsonl
  sim soak my-lock.yaml --seed 7 --from 120 --epochs 3      repeats the epochs 120 to 122`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: oneScenario,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if err := checkFile("--html", html); err != nil {
				return err
			}
			if len(args) == 1 {
				r.Scenario = args[0]
			}
			if r.Epochs > 0 && !c.Flags().Changed("for") {
				r.For = 0
			}
			env, err := a.permitted(c, r.World, &r.Lock, allowPrograms)
			if err != nil {
				return err
			}
			l := a.listener()
			l.asJSON = asJSON
			result, err := app.Soak(c.Context(), env, r, l.hear)
			if err != nil || result == nil {
				return err
			}
			return a.concludeSoak(c.Context(), result, html, asJSON)
		},
	}
	soakFlags(c, &r)
	allowProgramsFlag(c, &allowPrograms)
	c.Flags().BoolVar(&asJSON, "json", false, "print what came of it as JSON")
	c.Flags().StringVar(&html, "html", "", "also write a summary to this HTML page")
	return c
}

// soak is a soak where no flag says otherwise.
func (a *cli) soak() request.Soak {
	return request.Soak{For: request.Duration(time.Hour), Length: request.Duration(time.Minute), Out: a.search().Out}
}

func soakFlags(c *cobra.Command, r *request.Soak) {
	placeFlags(c, &r.World, &r.Nodes, &r.Redis)
	c.Flags().StringVar(&r.Lock, "lock", "", "the lock that lives, in the place of the scenario's own: "+
		"a command with its arguments, quoted as for a shell, or a lock of sim; empty: none, where sim.yaml names one")
	targetFlags(c, &r.Target, "the properties whose violation counts, the gravest first", app.SearchProperties()...)
	faultFlags(c, &r.Bare, &r.Kinds)
	c.Flags().Uint64Var(&r.Seed, "seed", 0, "the seed of all epochs")
	c.Flags().Uint64Var(&r.From, "from", 0, "the number of the first epoch, with which a life begins")
	c.Flags().Uint64Var(&r.Epochs, "epochs", 0, "how many epochs (default: as many as --for has)")
	durationFlag(c, &r.For, "for", "how long the lock lives, in the time of its world")
	durationFlag(c, &r.Length, "length", "how long an epoch is, about")
	c.Flags().StringVar(&r.Seeds, "seeds", "", "a table of what soaks have found (JSON lines): it is asked first, and kept")
	c.Flags().BoolVar(&r.Resume, "resume", false,
		"go on behind the last epoch of an earlier soak that had the same flags and folder, with a new life")
	c.Flags().StringVar(&r.Out, "out", r.Out, "folder for what is found")
}

// soakLine says how far a soak is.
func soakLine(r *app.SoakResult) string {
	violated := uint64(0)
	for _, p := range r.ByProperty {
		violated += p.Violated
	}
	line := fmt.Sprintf("%s of the world's time, %s, %s, %s, %.0f times as fast as real time", inHours(r.Virtual),
		words.Count(r.Epochs, "epoch"), words.Count(r.Granted, "section"), words.Count(violated+r.Progress.Violated, "violation"), r.Speed())
	if left := time.Duration(r.Request.For) - r.Virtual; r.Request.For > 0 && left > 0 && r.Speed() > 0 {
		line += fmt.Sprintf(", %v left", time.Duration(left.Seconds()/r.Speed()*float64(time.Second)).Round(time.Second))
	}
	return line
}

// inHours is a long time for a person.
func inHours(d time.Duration) string {
	if d < time.Hour {
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// sawInSoak tells of an epoch that showed something new.
func (l *listener) sawInSoak(f *app.SoakFound) {
	l.phase("")
	out := plain.Lines{Writer: l.stderr}
	fmt.Fprintf(out, "epoch %d: %s violated", f.Epoch, f.What)
	if !f.Confirmed {
		fmt.Fprint(out, ", by the lock's word alone")
	}
	fmt.Fprintf(out, "   %s\n", f.History)
}

// printSoak sums a soak up.
func (a *cli) printSoak(r *app.SoakResult) {
	out := plain.Lines{Writer: a.stdout}
	fmt.Fprintf(out, "%s   %s   %s", r.Scenario, r.Variant, words.Count(r.Epochs, "epoch"))
	if r.Before > 0 {
		fmt.Fprintf(out, ", %d of them before;", r.Before)
	}
	fmt.Fprintf(out, " in %s of the world's time, %.1f s of real time (%.0f times as fast)\n", inHours(r.Virtual), r.Took.Seconds(), r.Speed())
	fmt.Fprintf(out, "  sections   %d, %d of them with the lock; %s calm, %s\n",
		r.Sections, r.Granted, words.Count(r.Calm, "epoch"), lives(r.Lives))
	fmt.Fprintf(out, "  faults     %s\n", cmp.Or(strings.Join(struckWords(r.Struck), ", "), "none took effect"))
	for _, p := range append(slices.Clone(r.ByProperty), &r.Progress) {
		fmt.Fprintf(out, "  %-10s %-22s %s\n", verdictWord(p), p.Property, propertyWords(p))
		for _, why := range p.Undecided {
			fmt.Fprintf(out, "             %-22s not judged in %s: %s\n", "", words.Count(why.Epochs, "epoch"), why.Why)
		}
	}
	for _, lost := range []struct {
		epochs uint64
		what   string
	}{{r.Failed, "failed"}, {r.Slow, "too slow"}, {r.Unfinished, "unfinished"}} {
		if lost.epochs > 0 {
			fmt.Fprintf(out, "  %-10s %s, the last: %s\n", lost.what, words.Count(lost.epochs, "epoch"), r.Failure)
		}
	}
	if r.Carried > 0 {
		fmt.Fprintf(out, "  carried    %s began with keys of an earlier one\n", words.Count(r.Carried, "epoch"))
	}
	for _, e := range r.Ends {
		fmt.Fprintf(out, "  new life   %s: %s\n", words.Count(e.Epochs, "time"), e.Why)
	}
	if r.Start.Own > 0 {
		fmt.Fprintf(out, "  memory     sim %s after the first epoch, %s after the last (in use %s, %s)",
			mebibytes(r.Start.Own), mebibytes(r.End.Own), mebibytes(r.Start.Heap), mebibytes(r.End.Heap))
		if r.Start.Children+r.End.Children > 0 {
			fmt.Fprintf(out, "; servers and clients %s, %s", mebibytes(r.Start.Children), mebibytes(r.End.Children))
		}
		fmt.Fprintln(out)
	}
}

func lives(n uint64) string {
	if n == 1 {
		return "1 life"
	}
	return fmt.Sprintf("%d lives", n)
}

func verdictWord(p *app.SoakProperty) string {
	switch {
	case p.Violated > p.Doubted:
		return "violated"
	case p.Violated > 0:
		return "doubtful"
	case p.Judged > 0:
		return "holds"
	}
	return "unknown"
}

// propertyWords say how often a property was violated: in so many of a million sections at least.
func propertyWords(p *app.SoakProperty) string {
	if p.Judged == 0 {
		return "in no epoch put to the test"
	}
	r := p.Rate()
	text := fmt.Sprintf("in %d of %s: ", p.Violated, words.Count(p.Judged, "judged epoch"))
	if p.Violated == 0 {
		text += "at most " + perMillion(r.High) + " per million sections"
	} else {
		text += fmt.Sprintf("%s per million sections (%s to %s)", perMillion(r.Share()), perMillion(r.Low), perMillion(r.High))
	}
	if p.Doubted > 0 {
		text += fmt.Sprintf("; %d by the lock's word alone", p.Doubted)
	}
	return text
}

// perMillion is a share of a million, with three digits that matter.
func perMillion(share float64) string {
	n := 1e6 * share
	if n < 100 {
		return fmt.Sprintf("%.3g", n)
	}
	step := math.Pow(10, math.Floor(math.Log10(n))-2)
	return words.Grouped(uint64(math.Round(n/step) * step))
}

func struckWords(struck map[string]uint64) (list []string) {
	for _, kind := range slices.Sorted(maps.Keys(struck)) {
		list = append(list, fmt.Sprintf("%s %d", kind, struck[kind]))
	}
	return list
}

func mebibytes(n int64) string { return fmt.Sprintf("%.0f MiB", float64(n)/(1<<20)) }

// printSoakFound tells of what was found, when it is known what it needs.
func (a *cli) printSoakFound(r *app.SoakResult) {
	out := plain.Lines{Writer: a.stdout}
	for _, f := range r.Found {
		fmt.Fprintf(out, "  found      epoch %d: %s\n", f.Epoch, f.What)
		if f.Waited != "" {
			fmt.Fprintf(out, "             %s\n", f.Waited)
		}
		if f.Note != "" {
			fmt.Fprintf(out, "             %s\n", f.Note)
		}
		fmt.Fprintf(out, "  history    %s\n", f.History)
		fmt.Fprintf(out, "  repeat     %s\n", f.Again)
		if f.Found != nil {
			a.printFound(*f.Found)
		}
	}
	for _, k := range append(slices.Clone(r.Known), r.Gained...) {
		fmt.Fprintf(out, "  seed       %-11s %s: seed %d, epoch %d\n", k.State, k.What, k.Seed, k.Epoch)
	}
}

// concludeSoak tells what was found, and says how a soak ended.
func (a *cli) concludeSoak(ctx context.Context, r *app.SoakResult, html string, asJSON bool) error {
	if html != "" {
		page, err := soakPage(r, html)
		if err != nil {
			return err
		}
		if err := a.toOutput(html, func(w io.Writer) error { return report.WriteRates(w, page) }); err != nil {
			return err
		}
	}
	undecided := len(r.Found) > 0 || r.Untold != ""
	if asJSON {
		if err := a.printIndented(tellSoak(r)); err != nil {
			return err
		}
		return app.Ended(ctx, "interrupted; what was found is kept", r.Proved, undecided)
	}
	a.printSoakFound(r)
	if html != "" {
		fmt.Fprintf(a.stdout, "  summary    %s\n", html)
	}
	if r.Untold != "" && len(r.Found) == 0 && ctx.Err() == nil {
		fmt.Fprintf(plain.Lines{Writer: a.stdout}, "  undecided  %s\n", r.Untold)
	}
	return app.Ended(ctx, "interrupted; what was found is kept, and --resume goes on", r.Proved, undecided)
}

// soakPage is what came of a soak, as a page shows it.
func soakPage(r *app.SoakResult, html string) (page report.Rates, err error) {
	page = report.Rates{
		Heading: r.Scenario + ": a soak", Runs: runsOf(r.Request.World, r.Servers),
		Lead: fmt.Sprintf("Variant %s: %s in %s of the world's time, %s, %s calm. The shares are those of the epochs that were judged. "+
			"Memory of sim: %s after the first epoch, %s after the last.", r.Variant, words.Count(r.Epochs, "epoch"), inHours(r.Virtual),
			words.Count(r.Granted, "section"), words.Count(r.Calm, "epoch"), mebibytes(r.Start.Own), mebibytes(r.End.Own)),
		Replay: r.Again,
	}
	for _, p := range append(slices.Clone(r.ByProperty), &r.Progress) {
		page.Classes = append(page.Classes, report.RateLine{Name: fmt.Sprintf("%s: %s", p.Property, propertyWords(p)), All: p.Violated,
			Rate: report.RateOf(p.Violated, p.Judged, r.Epochs)})
	}
	for _, f := range r.Found {
		item := report.FoundScenario{Path: f.History, Note: strings.TrimSuffix(f.What+"; "+f.Note, "; "), Replay: f.Again}
		if f.Found != nil {
			item.Path, item.Replay = f.Found.File, f.Found.Replay
			item.Note += "; " + f.Found.Note
		}
		if item.Link, err = app.LinkFrom(html, item.Path); err != nil {
			return page, err
		}
		if f.Found != nil && f.Found.Report != "" {
			if item.Report, err = app.LinkFrom(html, f.Found.Report); err != nil {
				return page, err
			}
		}
		page.Found = append(page.Found, item)
	}
	return page, nil
}

// soakOut is what sim soak --json prints.
type soakOut struct {
	Scenario   string            `json:"scenario"`
	Variant    string            `json:"variant"`
	Outcome    string            `json:"outcome"`
	Undecided  string            `json:"undecided,omitempty"`
	Epochs     uint64            `json:"epochs"`
	Calm       uint64            `json:"calm"`
	Lives      uint64            `json:"lives"`
	VirtualS   float64           `json:"virtual_s"`
	TookS      float64           `json:"took_s"`
	Sections   uint64            `json:"sections"`
	Granted    uint64            `json:"granted"`
	Struck     map[string]uint64 `json:"struck,omitempty"`
	Properties []soakProperty    `json:"properties"`
	Carried    uint64            `json:"carried,omitempty"`
	Failed     uint64            `json:"failed,omitempty"`
	Slow       uint64            `json:"slow,omitempty"`
	Unfinished uint64            `json:"unfinished,omitempty"`
	Failure    string            `json:"failure,omitempty"`
	Ends       []app.SoakReason  `json:"ends,omitempty"`
	Found      []soakFound       `json:"found,omitempty"`
	Seeds      []soakSeed        `json:"seeds,omitempty"`
	Start      app.SoakMemory    `json:"memory_start"`
	End        app.SoakMemory    `json:"memory_end"`
	Replay     string            `json:"replay"`
}

type soakProperty struct {
	Property  string           `json:"property"`
	Judged    uint64           `json:"judged"`
	Violated  uint64           `json:"violated"`
	Doubted   uint64           `json:"doubted,omitempty"`
	Sections  uint64           `json:"sections"`
	Rate      float64          `json:"per_million"`
	Low       float64          `json:"per_million_low"`
	High      float64          `json:"per_million_high"`
	Undecided []app.SoakReason `json:"undecided,omitempty"`
}

type soakFound struct {
	What      string `json:"what"`
	Epoch     uint64 `json:"epoch"`
	Epochs    uint64 `json:"epochs"`
	Alone     bool   `json:"alone,omitempty"`
	Confirmed bool   `json:"confirmed"`
	Waited    string `json:"waited,omitempty"`
	Note      string `json:"note,omitempty"`
	History   string `json:"history"`
	Scenario  string `json:"scenario,omitempty"`
	Report    string `json:"report,omitempty"`
	Replay    string `json:"replay"`
}

type soakSeed struct {
	State string `json:"state"`
	What  string `json:"what"`
	Seed  uint64 `json:"seed"`
	Epoch uint64 `json:"epoch"`
}

func tellSoak(r *app.SoakResult) soakOut {
	out := soakOut{Scenario: r.Scenario, Variant: r.Variant, Outcome: "nothing found", Epochs: r.Epochs, Calm: r.Calm, Lives: r.Lives,
		VirtualS: r.Virtual.Seconds(), TookS: r.Took.Seconds(), Sections: r.Sections, Granted: r.Granted, Struck: r.Struck, Carried: r.Carried,
		Failed: r.Failed, Slow: r.Slow, Unfinished: r.Unfinished, Failure: r.Failure, Ends: r.Ends, Start: r.Start, End: r.End, Replay: r.Again}
	switch {
	case r.Proved:
		out.Outcome = checker.Violated.String()
	case len(r.Found) > 0 || r.Untold != "":
		out.Outcome, out.Undecided = outcomes[app.ExitUndecided], cmp.Or(r.Untold, "only the lock's own word shows what was found")
	}
	for _, p := range append(slices.Clone(r.ByProperty), &r.Progress) {
		rate := p.Rate()
		out.Properties = append(out.Properties, soakProperty{string(p.Property), p.Judged, p.Violated, p.Doubted, p.Sections,
			1e6 * rate.Share(), 1e6 * rate.Low, 1e6 * rate.High, p.Undecided})
	}
	for _, f := range r.Found {
		one := soakFound{What: f.What, Epoch: f.Epoch, Epochs: f.Epochs, Alone: f.Alone, Confirmed: f.Confirmed, Waited: f.Waited, Note: f.Note,
			History: f.History, Replay: f.Again}
		if f.Found != nil {
			one.Scenario, one.Report = f.Found.File, shortPath(f.Found.Report)
		}
		out.Found = append(out.Found, one)
	}
	for _, k := range append(slices.Clone(r.Known), r.Gained...) {
		out.Seeds = append(out.Seeds, soakSeed{string(k.State), k.What, k.Seed, k.Epoch})
	}
	return out
}
