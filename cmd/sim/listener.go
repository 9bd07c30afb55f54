package main

import (
	"fmt"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// listener shows what is going on while a request is carried out: what passes on stderr, what came of something on stdout.
type listener struct {
	*cli
	progress *progress
	// asJSON: results are printed as JSON. told are the surprises of repeated runs that have been shown.
	asJSON bool
	told   report.Told
	// shown is when a meter was shown last.
	shown time.Time
}

func (a *cli) listener() *listener { return &listener{cli: a, told: make(report.Told)} }

// hear is an app.Listener.
func (l *listener) hear(e app.Event) {
	switch e := e.(type) {
	case app.Started:
		l.orderly.Store(true)
	case app.Note:
		fmt.Fprintln(plain.Lines{Writer: l.stderr}, e.Text)
	case app.Phase:
		l.phase(e.Text)
	case app.Planned:
		if e.About > 0 {
			fmt.Fprintf(l.stderr, "%s: about %v\n", words.Count(e.Pieces, "run"), roughly(e.About))
		}
		l.progress = newProgress(l.cli, e.Pieces, e.About)
	case app.PieceBegun:
		l.progress.begin(e.Name)
	case app.PiecePhase:
		l.progress.phase(e.Name, e.Variant, e.Phase)
	case app.PieceEnded:
		l.progress.end(e.Name)
	case app.WorkOver:
		l.progress.stop()
	case app.RunEnded:
		l.runEnded(e)
	case app.ShardEnded:
		fmt.Fprintf(l.stderr, "shard    %v in %s\n", e.Shard, shortPath(e.Dir))
	case app.ShardIdle:
		fmt.Fprintf(l.stderr, "shard %v has nothing to do: there are %s for %s\n", e.Shard, e.Work, words.Count(e.Shard.Of, "shard"))
	case app.Searching:
		l.meter(func() string { return searchLine(e) })
	case app.Searched:
		if !l.asJSON {
			l.printSearch(e.SearchResult)
		}
	case app.FoundOne:
		if !l.asJSON {
			l.printFound(e.Found)
		}
	case app.Soaking:
		l.meter(func() string { return soakLine(e.SoakResult) })
	case app.SoakSaw:
		l.sawInSoak(e.SoakFound)
	case app.Soaked:
		if !l.asJSON {
			l.printSoak(e.SoakResult)
		}
	case app.CorpusProgress:
		l.meter(func() string { return fmt.Sprintf("%d of %s", e.Done, words.Count(e.Of, "history")) })
	case app.ExplainProgress:
		l.meter(func() string { return words.Count(e.Reruns, "rerun") })
	case app.SweepProgress:
		l.meter(func() string { return fmt.Sprintf("%d of %s", e.Done, words.Count(e.Of, "point")) })
	}
}

// meterEvery is how often a meter is shown at most.
const meterEvery = 200 * time.Millisecond

// meter shows at a terminal how far something is. It is asked often.
func (l *listener) meter(line func() string) {
	if now := time.Now(); now.Sub(l.shown) >= meterEvery {
		l.shown = now
		l.phase(line())
	}
}

// runEnded prints a result; of repeated runs those with a surprise that none had before. In a suite what is not as expected comes last, and
// what does not apply is counted then.
func (l *listener) runEnded(e app.RunEnded) {
	if l.progress != nil {
		l.progress.clear()
	}
	if l.asJSON {
		_ = report.WriteJSON(l.stdout, e.Result)
		return
	}
	switch {
	case e.Alone:
		_ = report.WriteText(l.stdout, e.Result, shortPath(e.Report), l.textOptions())
	case e.Request.Repeat > 1 && l.told.News(e.Result), e.Request.Repeat <= 1 && e.Result.Applies() && !e.Result.IsFinding():
		_ = report.WriteSuiteText(l.stdout, e.Result, shortPath(e.Report), l.textOptions())
	}
}
