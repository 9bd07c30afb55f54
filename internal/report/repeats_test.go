package report_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
)

// repeats are 20 runs of a scenario, of which two did not show what is expected, and one
// that could not be judged; and three of another, all as expected.
func repeats() (list []report.IndexEntry) {
	add := func(r *report.Result, seed int) *report.Result {
		r.Seed, r.Replay = uint64(seed), fmt.Sprintf("sim run scenarios/gc-pause.yaml --seed %d", seed)
		list = append(list, report.IndexEntry{Result: r, Link: fmt.Sprintf("%s/%d/report.html", r.Scenario, seed)})
		return r
	}
	for i := range 3 {
		add(other(reporttest.GCPause()), 5+i)
	}
	for i := range 20 {
		r := add(reporttest.GCPause(), 42+i)
		verdict, why := checker.Verdict(0), ""
		switch i {
		case 7, 9:
			verdict, why = checker.Holds, "every section is explained"
		case 12:
			verdict, why = checker.Unknown, "nobody asked for the lock"
		default:
			continue
		}
		v := &r.Variants[0]
		for j := range v.Properties {
			if p := &v.Properties[j]; p.Name == checker.LinearizableResource {
				p.Verdict, p.Why, p.Met, p.Counterexample = verdict, why, false, nil
				v.Met, r.Met = false, false
			}
		}
	}
	return list
}

func TestRepeatsGolden(t *testing.T) {
	entries := repeats()
	var results []*report.Result
	for _, e := range entries {
		results = append(results, e.Result)
	}
	reporttest.SameAs(t, "repeats.txt", []byte(write(t, func(b *bytes.Buffer) error {
		if err := report.WriteRepeats(b, results, terminal.Options{}); err != nil {
			return err
		}
		return report.WriteSummaryLine(b, results, 0, 2*time.Second, terminal.Options{})
	})))
	reporttest.SameAs(t, "repeats.md", []byte(write(t, func(b *bytes.Buffer) error { return report.WriteMarkdown(b, results) })))
	reporttest.SameAs(t, "repeats.html", []byte(write(t, func(b *bytes.Buffer) error { return report.WriteIndex(b, entries) })))
}

// A scenario that was run once is not summed up.
func TestOneRunIsNoRepeat(t *testing.T) {
	got := write(t, func(b *bytes.Buffer) error {
		return report.WriteRepeats(b, []*report.Result{reporttest.GCPause(), other(reporttest.GCPause())}, terminal.Options{})
	})
	if got != "" {
		t.Error(got)
	}
}

// The story of a surprise is told once, and that of each other surprise, too.
func TestEachSurpriseIsNewsOnce(t *testing.T) {
	var news []string
	told := make(report.Told)
	for _, e := range repeats() {
		if told.News(e.Result) {
			news = append(news, fmt.Sprint(e.Result.Seed))
		}
	}
	if got := strings.Join(news, " "); got != "49 54" {
		t.Errorf("told of the seeds %s, want 49 and 54", got)
	}
}
