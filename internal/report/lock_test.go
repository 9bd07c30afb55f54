package report_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/compare"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
)

func TestProgramGolden(t *testing.T) {
	reporttest.SameAs(t, "program.txt", []byte(text(t, reporttest.Program())))
	reporttest.SameAs(t, "program.junit.xml", []byte(junit(t, []*report.Result{reporttest.Program()}, report.JUnitOptions{})))
	reporttest.SameAs(t, "program.md", []byte(write(t, func(b *bytes.Buffer) error {
		return report.WriteMarkdown(b, []*report.Result{reporttest.Program()})
	})))
}

// aside is a run none of whose variants applies.
func aside() *report.Result {
	r := reporttest.Program()
	r.Variants[0].NotApplicable, r.Variants[0].Properties, r.Variants[0].History =
		"there are 5 independent nodes, and it locks on one", nil, nil
	return r
}

// other is the result as one of another scenario.
func other(r *report.Result) *report.Result {
	r.Scenario = "other"
	return r
}

// What was not run is neither kept nor failed, wherever it is counted.
func TestNotApplicableCountsForNothing(t *testing.T) {
	for _, c := range []struct {
		results []*report.Result
		want    string
	}{
		{[]*report.Result{reporttest.Program()}, "DONE 1 scenario, 2 variants, 0 unexpected, 0 undecided, 1 not applicable in 1.0 s\n"},
		{[]*report.Result{aside()}, "UNDECIDED 1 scenario, 2 variants, 0 unexpected, 0 undecided, 2 not applicable in 1.0 s\n"},
		{[]*report.Result{other(aside()), reporttest.GCPause()},
			"DONE 2 scenarios, 4 variants, 0 unexpected, 0 undecided, 2 not applicable in 1.0 s\n"},
	} {
		got := write(t, func(b *bytes.Buffer) error {
			return report.WriteSummaryLine(b, c.results, 0, time.Second, terminal.Options{})
		})
		if got != c.want {
			t.Errorf("got %swant %s", got, c.want)
		}
	}
	if class, _, word := report.Outcome(aside()); class != "aside" || word != "Not applicable" {
		t.Errorf("%s, %s", class, word)
	}
	if _, _, word := report.Outcome(reporttest.Program()); word != "As expected" {
		t.Errorf("the variant that applies is %s", word)
	}
	if github(t, aside())[0] != "" {
		t.Error("annotated")
	}
	c := compare.Results([]*report.Result{reporttest.GCPause()}, []*report.Result{aside()})
	if c.Regression || len(c.Timings) > 0 {
		t.Errorf("%+v", c)
	}
}

func TestPagesSayWhatDoesNotApply(t *testing.T) {
	d := parse(t, page(t, reporttest.Program()))
	for _, want := range []string{"my-lock 1.2 (https://example.com/my-lock)", "class quorum", "its promise: told by the lock", "by design",
		"fencing tokens are wanted, and it tells none", "Not applicable", "fenced does not apply", "anything: not demanded of its class"} {
		if !strings.Contains(d.text.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	index := write(t, func(b *bytes.Buffer) error {
		return report.WriteIndex(b, []report.IndexEntry{{Result: other(aside())}, {Result: reporttest.Program(), Link: "a.html"}})
	})
	for _, want := range []string{"Not applicable", "fencing tokens are wanted, and it tells none",
		"my-lock 1.2", "3 not applicable", "by design"} {
		if !strings.Contains(index, want) {
			t.Errorf("the suite has no %q", want)
		}
	}
	if strings.Contains(index, `class="loud"`) {
		t.Error("a row is loud, and nothing is wrong")
	}
}

// Different programs are told apart: each with its own verdicts.
func TestEachVariantNamesItsProgram(t *testing.T) {
	r := reporttest.Program()
	other := *r.Variants[0].Lock
	other.Version = "2.0"
	r.Variants[1].Lock, r.Variants[1].NotApplicable = &other, ""
	got := text(t, r)
	if !strings.Contains(got, "\n  unfenced\n    lock: my-lock 1.2 ") || !strings.Contains(got, "\n  fenced\n    lock: my-lock 2.0 ") {
		t.Error(got)
	}
}

// The logs are files beside the page; a link leads nowhere else.
func TestLogsAreLinked(t *testing.T) {
	r := reporttest.Program()
	l := *r.Variants[0].Lock
	l.Logs = []string{"unfenced/client-c1.log", "../../secret.log", "/etc/passwd", "javascript:alert(6)", "//evil.example/x.log"}
	r.Variants[0].Lock = &l
	d := parse(t, page(t, r))
	var got []string
	for _, href := range d.hrefs {
		if !strings.HasPrefix(href, "#") && href != "data:," {
			got = append(got, href)
		}
	}
	want := []string{"./unfenced/client-c1.log", "./etc/passwd", "./javascript:alert%286%29", "./evil.example/x.log"}
	if !slices.Equal(got, want) {
		t.Errorf("links %q, want %q", got, want)
	}
}

func TestProgramInJSON(t *testing.T) {
	var b bytes.Buffer
	if err := report.WriteJSON(&b, reporttest.Program()); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Variants []struct {
			NotApplicable string `json:"not_applicable"`
			Lock          struct{ Name, Version, Homepage, Class, Promise string }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if v := got.Variants[1]; v.NotApplicable == "" || v.Lock.Name != "my-lock" ||
		v.Lock.Class != "quorum" || v.Lock.Promise != "told by the lock" {
		t.Errorf("%+v", got)
	}
	if back, err := report.ReadJSON(&b); err != nil || !back.Applies() || back.Variants[1].Lock.Version != "1.2" {
		t.Errorf("%v, %v", back, err)
	}
}
