package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// concludeSearch writes the page of a search, and says how it ended.
func (a *cli) concludeSearch(ctx context.Context, r *app.SearchResult, html string, about ...func(*report.Rates)) error {
	if html != "" {
		if err := a.writeSearchPage(r, html, about...); err != nil {
			return err
		}
	}
	a.printUntold(ctx, r)
	return app.Ended(ctx, "interrupted; what was found is kept", r.Proved, len(r.Found) > 0 || r.Untold != "")
}

// concludeSearchAsJSON is concludeSearch for programs.
func (a *cli) concludeSearchAsJSON(ctx context.Context, r *app.SearchResult, html string) error {
	if html != "" {
		if err := a.writingTo(io.Discard).writeSearchPage(r, html); err != nil {
			return err
		}
	}
	if err := a.printIndented(tellSearch(r)); err != nil {
		return err
	}
	return a.writingTo(io.Discard).concludeSearch(ctx, r, "")
}

// writeSearchPage writes the page of a search; about add to it.
func (a *cli) writeSearchPage(r *app.SearchResult, html string, about ...func(*report.Rates)) error {
	page, err := searchPage(r, html)
	if err != nil {
		return err
	}
	for _, add := range about {
		add(&page)
	}
	if err := a.toOutput(html, func(w io.Writer) error { return report.WriteRates(w, page) }); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "  summary    %s\n", html)
	return nil
}

// printUntold says why a search that found nothing tells nothing, and for how many runs the machine was too slow.
func (a *cli) printUntold(ctx context.Context, r *app.SearchResult) {
	out := plain.Lines{Writer: a.stdout}
	if ctx.Err() != nil {
		return
	}
	if r.Untold != "" && len(r.Found) == 0 {
		fmt.Fprintf(out, "  undecided  %s\n", r.Untold)
	} else if r.Report.Slow > 0 {
		fmt.Fprintf(out, "  too slow   %s\n", app.SlowRuns(&r.Report))
	}
}

// printFound tells of something that was found.
func (a *cli) printFound(k app.Found) {
	out := plain.Lines{Writer: a.stdout}
	fmt.Fprintf(out, "  found      %s   %s\n", k.File, k.Note)
	if k.Report != "" {
		fmt.Fprintf(out, "  report     %s\n", shortPath(k.Report))
	}
	if k.History != "" {
		fmt.Fprintf(out, "  history    %s   of the run that violated it, as the report shows it; for sim check\n", k.History)
	}
	if k.Servers != "" {
		fmt.Fprintf(out, "  servers    %s\n", k.Servers)
	}
	if k.Replay != "" {
		fmt.Fprintf(out, "  replay     %s\n", k.Replay)
	}
}

// searchLine says how far a search is.
func searchLine(e app.Searching) string {
	rate := float64(e.Report.Runs-e.Before) / e.Took.Seconds()
	left := time.Duration(e.Request.For) - e.Took
	if seeds := e.Request.Seeds; seeds > 0 {
		by := time.Duration(float64(seeds-min(e.Report.Runs, seeds)) / rate * float64(time.Second))
		if e.Request.For == 0 || by < left {
			left = by
		}
	}
	return fmt.Sprintf("%s, %s, %s, %s, %v left",
		words.Count(e.Report.Runs, "run"), perSecond(rate), words.Count(e.Report.Behaviours, "behaviour"),
		words.Count(e.Report.Violations(), "violation"), max(left, 0).Round(time.Second))
}

// perSecond is how many runs a second there were: among real servers that is few.
func perSecond(rate float64) string {
	if rate < 9.95 {
		return fmt.Sprintf("%.1f runs/s", rate)
	}
	return words.Grouped(uint64(rate+0.5)) + " runs/s"
}

// printSearch sums a search up, of which so many runs were made before.
func (a *cli) printSearch(result *app.SearchResult) {
	s, r, before, took := result.Of, result.Report, result.Before, result.Took
	about := ""
	if r.Estimated {
		about = "about "
	}
	fmt.Fprintf(a.stdout, "%s   %s   %s", s.Scenario.Name, s.Variant, words.Count(r.Runs, "run"))
	if before > 0 {
		fmt.Fprintf(a.stdout, ", %s of them before;", words.Grouped(before))
	}
	fmt.Fprintf(a.stdout, " in %.1f s (%s)   %s%s\n",
		took.Seconds(), perSecond(float64(r.Runs-min(before, r.Runs))/took.Seconds()), about, words.Count(r.Behaviours, "distinct behaviour"))
	if r.Runs < result.Seeds {
		defer fmt.Fprintf(a.stdout, "  searched   %s of %s\n", words.Grouped(r.Runs), words.Count(result.Seeds, "seed"))
	}
	if text := judgedFew(s.Properties, &r); text != "" {
		fmt.Fprintf(a.stdout, "  judged     %s; the other runs gave it no chance to fail, or could not be judged\n", text)
	}
	a.printLooked(lookedAt(result))
	if r.Failed > 0 {
		why, _, _ := strings.Cut(r.Failure, "\n") // then comes what a program printed
		fmt.Fprintf(plain.Lines{Writer: a.stdout}, "  failed     %s could not be carried out, the last: %s\n",
			words.Count(r.Failed, "run"), why)
	}
	if r.Unjudged > 0 {
		fmt.Fprintf(plain.Lines{Writer: a.stdout}, "  in doubt   %s could not be judged, the last: %s\n",
			words.Count(r.Unjudged, "run"), r.Doubt)
	}
	if r.Unfinished > 0 {
		fmt.Fprintf(a.stdout, "  unfinished %s came to the time limit\n", words.Count(r.Unfinished, "run"))
	}
	if len(r.Classes) == 0 && !app.LostMany(&r) {
		for _, line := range app.Worth(s.Properties, &r) {
			fmt.Fprintf(a.stdout, "  nothing found   %s\n", line)
		}
	}
	for _, c := range r.Classes {
		fmt.Fprintf(a.stdout, "  violated   %-60s %s\n", c.Name, howOften(c, &r))
	}
}

// mostNever is how many lines say what a search never reached.
const mostNever = 8

// printLooked says what a search looked at, and what it never reached.
func (a *cli) printLooked(l *report.Looked) {
	out := plain.Lines{Writer: a.stdout}
	var seen, never, left []string
	for _, s := range l.Sights() {
		seen = append(seen, s.Words())
		if text := s.NotDrawn(); text != "" {
			left = append(left, s.What[0]+" "+text)
		}
		for _, one := range s.Never {
			never = append(never, s.One+" "+one)
		}
	}
	if l.Runs == 0 || len(seen) == 0 {
		return
	}
	fmt.Fprintf(out, "  looked at  %s\n", strings.Join(seen, ", "))
	for _, line := range never[:min(len(never), mostNever)] {
		fmt.Fprintf(out, "  never      %s\n", line)
	}
	if more := len(never) - mostNever; more > 0 {
		fmt.Fprintf(out, "  never      and %d more: --html FILE writes a page with all of them\n", more)
	}
	for _, line := range left {
		fmt.Fprintf(out, "  never      %s\n", line)
	}
}

// howOften says how many runs violated a class. How frequent that is, the schedules drawn afresh tell alone: the others change what led to
// something new.
func howOften(c explore.Class, r *explore.Report) string {
	rate := app.ShareOf(c, r)
	return fmt.Sprintf("%s: %s with schedules drawn afresh, %.3g %% (%.3g to %.3g) of the %s judged; %s with changed ones",
		words.Count(c.Runs, "run"), words.Grouped(c.Drawn), 100*rate.Share(), 100*rate.Low, 100*rate.High, words.Grouped(rate.Judged),
		words.Grouped(c.Runs-c.Drawn))
}

// judgedFew says how many runs were judged, of the properties of which some were not.
func judgedFew(properties []checker.Property, r *explore.Report) string {
	var list []string
	for _, p := range properties {
		if runs, _ := r.JudgedOn(string(p)); runs < r.Runs {
			list = append(list, fmt.Sprintf("%s %s", p, words.Grouped(runs)))
		}
	}
	return strings.Join(list, ", ")
}

// where says where runs were made.
func where(r *app.SearchResult) string {
	switch {
	case r.Request.World == request.Live:
		return "among real servers"
	case r.Of.Real != nil:
		return "with real servers in virtual time"
	}
	return "in the virtual world"
}

// runsOf says on a page what the runs were; empty: of models.
func runsOf(world string, servers bool) string {
	switch {
	case world == request.Live:
		return "runs among real servers, on one machine"
	case servers:
		return "runs with real servers, in virtual time; the network is a model"
	}
	return ""
}

// searched names what was searched: the scenario; without one, the lock.
func searched(r *app.SearchResult) string {
	switch {
	case r.Request.Scenario != "" || r.Request.Lock == "":
		return r.Of.Scenario.Name
	case r.Of.Ready != nil && r.Of.Ready.Name != "":
		return r.Of.Ready.Name
	}
	return r.Request.Lock
}

// searchPage is what came of a search, as a page shows it.
func searchPage(result *app.SearchResult, html string) (page report.Rates, err error) {
	search, r := result.Of, result.Report
	page = report.Rates{
		Heading: searched(result) + ": a search", Runs: runsOf(result.Request.World, result.Of.Real != nil),
		Lead: fmt.Sprintf("Variant %s: %s %s, %s. The shares are those of the %s drawn afresh.",
			search.Variant, words.Count(r.Runs, "run"), where(result),
			words.Count(r.Behaviours, "distinct behaviour"), words.Count(r.Drawn, "schedule")),
		Replay: result.Again,
	}
	switch {
	case app.LostMany(&r):
		page.Lead += " " + result.Untold + "."
	case len(r.Classes) == 0:
		page.Worth = app.Worth(search.Properties, &r)
	}
	for _, c := range r.Classes {
		page.Classes = append(page.Classes, report.RateLine{Name: c.Name, All: c.Runs, Rate: app.ShareOf(c, &r)})
	}
	for _, k := range result.Found {
		item := report.FoundScenario{Path: k.File, Note: k.Note, Replay: k.Replay}
		if item.Link, err = app.LinkFrom(html, k.File); err != nil {
			return page, err
		}
		if k.Report != "" {
			if item.Report, err = app.LinkFrom(html, k.Report); err != nil {
				return page, err
			}
		}
		if k.Report != "" {
			showFound(&item, filepath.Dir(k.Report), len(page.Found) < mostPictures)
		}
		page.Found = append(page.Found, item)
	}
	page.Search = lookedAt(result)
	page.Result = foundWords(result, page.Search)
	return page, nil
}

// mostPictures is how many of what was found have a picture on the page of a search.
const mostPictures = 4

// showFound says in a sentence what happened in the run that shows what was found, and draws it. What cannot be read has its report.
func showFound(item *report.FoundScenario, folder string, drawn bool) {
	r, err := trial.Load(folder)
	if err != nil || len(r.Variants) == 0 {
		return
	}
	if t := report.Tell(&r.Variants[0]); t.Broke != "" {
		item.Happened = fmt.Sprintf("%s violated: %s", t.Property, t.Broke)
		if len(t.By) > 0 {
			item.Happened += ". Before: " + strings.Join(t.By, "; ")
		}
	}
	var svg bytes.Buffer
	if !drawn {
		return
	}
	if width, height, err := report.WriteThumb(&svg, r, ""); err == nil {
		item.Picture, item.Width, item.Height = svg.Bytes(), width, height
	}
}

// lookedAt is what a search looked at.
func lookedAt(result *app.SearchResult) *report.Looked {
	r := &result.Report
	l := &report.Looked{Runs: r.Runs, Curve: result.Curve}
	for _, p := range result.Of.Properties {
		one := report.LookedProperty{Name: string(p)}
		one.Judged, _ = r.JudgedOn(string(p))
		for _, c := range r.Classes {
			if slices.Contains(c.Properties(), p) {
				one.Violated += c.Runs
			}
		}
		one.Why = whyNot(r, p, r.Runs-min(one.Judged, r.Runs))
		l.Properties = append(l.Properties, one)
	}
	for _, o := range result.Of.KindsNotDrawn(len(result.Request.Kinds) > 0) {
		l.LeftOut = append(l.LeftOut, report.LeftOut(o))
	}
	for _, kind := range result.Of.KindsDrawn() {
		one := report.LookedFault{Kind: kind}
		if i := slices.IndexFunc(r.Faults, func(f explore.KindRuns) bool { return f.Kind == kind }); i >= 0 {
			one.Planned, one.Began = r.Faults[i].Planned, r.Faults[i].Began
		}
		l.Faults = append(l.Faults, one)
	}
	possible := result.Of.Waypoints()
	for _, name := range explore.Waypoints() {
		one := report.Waypoint{Name: name}
		if i := slices.IndexFunc(r.Waypoints, func(w explore.Class) bool { return w.Name == name }); i >= 0 {
			one.Runs = r.Waypoints[i].Runs
		}
		if one.Runs > 0 || slices.Contains(possible, name) {
			l.Waypoints = append(l.Waypoints, one)
		}
	}
	return l
}

// mostReasons is how many reasons a property has on the page of a search.
const mostReasons = 3

// whyNot says why so many runs did not judge a property: the most frequent reasons, and how many runs have others.
func whyNot(r *explore.Report, p checker.Property, runs uint64) (list []string) {
	type alike struct {
		explore.Reason
		most   uint64
		others bool
	}
	var found []alike
	at := make(map[string]int)
	for _, reason := range r.Reasons {
		if reason.Property != p {
			continue
		}
		key := withoutFigures(reason.Why)
		i, ok := at[key]
		if !ok {
			at[key] = len(found)
			found = append(found, alike{Reason: reason, most: reason.Runs})
			continue
		}
		one := &found[i]
		one.Runs += reason.Runs
		one.others = one.others || one.Why != reason.Why
		if reason.Runs > one.most {
			one.most, one.Why = reason.Runs, reason.Why
		}
	}
	slices.SortStableFunc(found, func(x, y alike) int { return cmp.Compare(y.Runs, x.Runs) })
	for _, one := range found[:min(len(found), mostReasons)] {
		often := words.Count(one.Runs, "run")
		if one.others {
			often += ", some with other figures"
		}
		list = append(list, fmt.Sprintf("%s (%s)", one.Why, often))
		runs -= min(one.Runs, runs)
	}
	if runs > 0 {
		list = append(list, fmt.Sprintf("other reasons (%s)", words.Count(runs, "run")))
	}
	return list
}

// Of the words of a reason: names in quotation marks; a number, with its unit; and what is counted by it, in singular or plural.
var (
	aName   = regexp.MustCompile(`"[^"]*"`)
	aFigure = regexp.MustCompile(`\b[a-z]*[0-9][0-9.,]*( (ns|µs|us|ms|s)\b)?`)
	counted = regexp.MustCompile(`# ([a-z]+?)s?\b`)
)

// withoutFigures is what reasons have in common that differ in numbers and names alone.
func withoutFigures(why string) string {
	return counted.ReplaceAllString(aFigure.ReplaceAllString(aName.ReplaceAllString(why, "#"), "#"), "# $1")
}

// foundWords say in a sentence what a search found, and what it put to the test; empty: nothing was to be looked at.
func foundWords(result *app.SearchResult, l *report.Looked) string {
	if len(l.Properties) == 0 {
		return ""
	}
	text := "Nothing was found"
	if n := result.Report.Violations(); n > 0 {
		byRuns := func(x, y report.LookedProperty) int { return cmp.Compare(y.Violated, x.Violated) }
		var list []string
		for _, p := range slices.SortedStableFunc(slices.Values(l.Properties), byRuns) {
			if p.Violated > 0 {
				list = append(list, fmt.Sprintf("%s %s", p.Name, words.Grouped(p.Violated)))
			}
		}
		text = fmt.Sprintf("%s of %s violated something: %s", words.Grouped(n), words.Count(l.Runs, "run"), strings.Join(list, ", "))
	}
	var seen []string
	for _, sight := range l.Sights() {
		seen = append(seen, sight.Words()+" "+sight.Reached)
	}
	return text + "; " + strings.Join(seen, ", ") + "."
}
