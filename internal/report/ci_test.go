package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
)

func suiteResults() []*report.Result {
	return []*report.Result{reporttest.GCPause(), reporttest.Unexpected(), reporttest.Undecided(), reporttest.Failed()}
}

func write(t *testing.T, f func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func junit(t *testing.T, results []*report.Result, o report.JUnitOptions) string {
	return write(t, func(b *bytes.Buffer) error { return report.WriteJUnit(b, results, o) })
}

func TestJUnitGolden(t *testing.T) {
	reporttest.SameAs(t, "suite.junit.xml", []byte(junit(t, suiteResults(), report.JUnitOptions{})))
}

func TestJUnitCounts(t *testing.T) {
	type totals struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	for _, c := range []struct {
		allow bool
		want  totals
	}{
		{false, totals{Tests: 19, Failures: 2, Errors: 1}},
		{true, totals{Tests: 19, Failures: 1, Errors: 1, Skipped: 1}},
	} {
		var got totals
		if err := xml.Unmarshal([]byte(junit(t, suiteResults(), report.JUnitOptions{AllowUndecided: c.allow})), &got); err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("allow undecided %v: got %+v, want %+v", c.allow, got, c.want)
		}
	}
}

func TestJUnitOfHostileText(t *testing.T) {
	doc := junit(t, []*report.Result{reporttest.Hostile()}, report.JUnitOptions{})
	dec := xml.NewDecoder(strings.NewReader(doc))
	for {
		tok, err := dec.Token()
		if tok == nil {
			if err.Error() != "EOF" {
				t.Fatal(err)
			}
			break
		}
		if start, ok := tok.(xml.StartElement); ok && (start.Name.Local == "img" || start.Name.Local == "b") {
			t.Errorf("element %s got into the file", start.Name.Local)
		}
	}
}

func TestMarkdownGolden(t *testing.T) {
	reporttest.SameAs(t, "suite.md", []byte(write(t, func(b *bytes.Buffer) error { return report.WriteMarkdown(b, suiteResults()) })))
}

func TestMarkdownOfHostileText(t *testing.T) {
	got := write(t, func(b *bytes.Buffer) error { return report.WriteMarkdown(b, []*report.Result{reporttest.Hostile()}) })
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "| ") && strings.Count(line, "|") != 6 {
			t.Errorf("a row with other cells: %s", line)
		}
	}
	inCode := regexp.MustCompile("(?s)(`+) .*? (`+)\n")
	for _, bad := range []string{"<img", "<b>", "](javascript:", "<script"} {
		if strings.Contains(inCode.ReplaceAllString(got, ""), bad) {
			t.Errorf("%q got into the summary:\n%s", bad, got)
		}
	}
}

func github(t *testing.T, results ...*report.Result) []string {
	out := write(t, func(b *bytes.Buffer) error {
		return report.WriteGitHub(b, results, report.GitHubOptions{File: func(r *report.Result) string {
			return "scenarios/" + r.Scenario + ".yaml"
		}})
	})
	return strings.Split(strings.TrimSuffix(out, "\n"), "\n")
}

func TestGitHubAnnotatesOnlyTheUnexpected(t *testing.T) {
	lines := github(t, suiteResults()...)
	if len(lines) != 1 {
		t.Fatalf("%d annotations, want 1: %q", len(lines), lines)
	}
	for _, want := range []string{"::error file=scenarios/leaky-fence.yaml,title=leaky-fence " +
		"/ fenced%3A linearizable-resource is violated%2C expected holds::",
		"one update is lost%0A0.004 s  c1 got the lock", "%0Areplay: sim run"} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("no %q in %s", want, lines[0])
		}
	}
}

func TestGitHubStopsAtTen(t *testing.T) {
	many := make([]*report.Result, 25)
	for i := range many {
		many[i] = reporttest.Unexpected()
	}
	if lines := github(t, many...); len(lines) != 10 ||
		!strings.HasSuffix(lines[9], "16 more verdicts are not as expected; the job summary has them all") {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	if lines := github(t, many[:10]...); len(lines) != 10 || strings.Contains(lines[9], "more verdicts") {
		t.Errorf("ten fit, but the last is %q", lines[9])
	}
	if lines := github(t, reporttest.GCPause()); len(lines) != 1 || lines[0] != "" {
		t.Errorf("nothing is unexpected, but %q", lines)
	}
}

// A name must not begin a workflow command of its own.
func TestGitHubOfHostileText(t *testing.T) {
	for _, line := range github(t, reporttest.Hostile()) {
		head, _, _ := strings.Cut(strings.TrimPrefix(line, "::error "), "::")
		if !strings.HasPrefix(line, "::error file=") || strings.Count(head, ",") != 1 {
			t.Errorf("line %q", line)
		}
		if strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("control characters in %q", line)
		}
	}
}

func entries() []report.IndexEntry {
	var list []report.IndexEntry
	for _, r := range append(suiteResults(), reporttest.Hostile(), &report.Result{Scenario: "bare"}) {
		link := r.Scenario + "/20261120-204501-42/report.html"
		if r.Scenario == "bare" {
			link = "javascript:alert(1)"
		}
		list = append(list, report.IndexEntry{Result: r, Link: link})
	}
	return list
}

func TestIndexPutsRegressionsFirst(t *testing.T) {
	doc := write(t, func(b *bytes.Buffer) error { return report.WriteIndex(b, entries()) })
	root, err := html.Parse(strings.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	var outcomes, hrefs []string
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			if n.Data == "span" && a.Key == "class" && strings.HasPrefix(a.Val, "badge") && n.Parent.Data == "h2" {
				outcomes = append(outcomes, strings.TrimSpace(n.LastChild.Data))
			}
			if n.Data == "a" && a.Key == "href" {
				hrefs = append(hrefs, a.Val)
			}
			if strings.HasPrefix(a.Key, "on") || strings.Contains(a.Val, "javascript:") && a.Key == "href" {
				t.Errorf("attribute %s=%q", a.Key, a.Val)
			}
		}
	}
	want := "Could not run,Not as expected,Undecided,As expected"
	if got := strings.Join(outcomes, ","); got != want {
		t.Errorf("order %s, want %s", got, want)
	}
	if !strings.Contains(strings.Join(hrefs, "\n"), "gc-pause/20261120-204501-42/report.html#p") {
		t.Errorf("no cell leads to its property: %q", hrefs)
	}
}

// The figures of a suite's page are those of its results, with and without what did not apply.
func TestIndexCounts(t *testing.T) {
	list := entries()
	skipped := reporttest.Program()
	skipped.Scenario = "skipped"
	for i := range skipped.Variants {
		skipped.Variants[i] = report.Variant{Name: skipped.Variants[i].Name, NotApplicable: "the program has no tokens"}
	}
	list = append(list, report.IndexEntry{Result: skipped})
	earlier := reporttest.GCPause()
	earlier.Variants[0].Properties[0].Verdict, earlier.Variants[0].Properties[0].Met, earlier.Met = checker.Unknown, false, false
	list[0].Earlier = []report.IndexEntry{{Result: earlier, Link: "earlier.html"}}
	root, err := html.Parse(strings.NewReader(write(t, func(b *bytes.Buffer) error { return report.WriteIndex(b, list) })))
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]int) // how many scenarios came out how
	for _, e := range list {
		want[outcomeWord(t, e.Result)]++
	}
	got, rows, verdicts := make(map[string]int), make(map[string]int), 0
	for n := range root.Descendants() {
		switch text := strings.Fields(textOf(n)); {
		case n.Data == "li" && classOf(n.Parent) == "parts":
			count, err := strconv.Atoi(text[0])
			if err != nil {
				t.Errorf("a count %q", text)
			}
			got[strings.Join(text[2:], " ")] = count
		case n.Data == "li" && strings.HasPrefix(classOf(n), "case"):
			rows[strings.ReplaceAll(attributeOf(n, "data-outcome"), "-", " ")]++
		case n.Data == "li" && attributeOf(n, "data-verdict") != "":
			verdicts++
		}
	}
	wantVerdicts := 0
	for _, e := range list {
		for _, v := range e.Result.Variants {
			wantVerdicts += len(v.Properties)
		}
	}
	if verdicts != wantVerdicts {
		t.Errorf("%d verdicts on the page, the results have %d", verdicts, wantVerdicts)
	}
	if !maps.Equal(got, want) {
		t.Errorf("the page counts %v, the results are %v", got, want)
	}
	for word, n := range want {
		if rows[strings.ToLower(word)] != n {
			t.Errorf("%d rows are %q, want %d", rows[strings.ToLower(word)], word, n)
		}
	}
	if text := textOf(root); !strings.Contains(text, "as expected, was not as expected") && !strings.Contains(text, "was undecided") {
		t.Error("the page does not say what has changed since the run before")
	}
}

// outcomeWord is what the report of a result says of it.
func outcomeWord(t *testing.T, r *report.Result) string {
	root, err := html.Parse(bytes.NewReader(page(t, r)))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Data == "p" && strings.HasPrefix(classOf(n), "outcome") {
			return strings.Join(strings.Fields(textOf(n))[1:], " ")
		}
	}
	t.Fatalf("the report of %s has no outcome", r.Scenario)
	return ""
}

func classOf(n *html.Node) string { return attributeOf(n, "class") }

func attributeOf(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data + " ")
		}
	}
	return b.String()
}

// The anchors that the suite's page uses must be in the report.
func TestIndexLinksIntoReports(t *testing.T) {
	d := parse(t, page(t, reporttest.GCPause()))
	doc := write(t, func(b *bytes.Buffer) error {
		return report.WriteIndex(b, []report.IndexEntry{{Result: reporttest.GCPause(), Link: "report.html"}})
	})
	found := regexp.MustCompile(`href="report.html#([^"]+)"`).FindAllStringSubmatch(doc, -1)
	if len(found) != 9 {
		t.Errorf("%d links, want one for each of 9 verdicts", len(found))
	}
	for _, m := range found {
		if d.ids[m[1]] != 1 {
			t.Errorf("the report has no %q", m[1])
		}
	}
}

func TestTrace(t *testing.T) {
	for name, r := range reporttest.All() {
		out := write(t, func(b *bytes.Buffer) error { return report.WriteTrace(b, r) })
		var doc struct {
			TraceEvents []struct {
				Name, Ph string
				Ts, Dur  float64
				Pid, Tid int
			}
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if name != "gc-pause" {
			continue
		}
		var found []string
		for _, e := range doc.TraceEvents {
			found = append(found, fmt.Sprintf("%s %s %g+%g", e.Ph, e.Name, e.Ts, e.Dur))
		}
		for _, want := range []string{"X believes it holds the lock 4000+2.009e+06", "X two holders at once, 803 ms 1.21e+06+803000",
			"i c1 refused: token 1 after 2 2.0104e+06+0", "M process_name 0+0"} {
			if !strings.Contains(strings.Join(found, "\n"), want) {
				t.Errorf("no %q in:\n%s", want, strings.Join(found, "\n"))
			}
		}
	}
}

func TestIndexGolden(t *testing.T) {
	reporttest.SameAs(t, "index.html", []byte(write(t, func(b *bytes.Buffer) error { return report.WriteIndex(b, entries()[:4]) })))
}

// A row that is not opened says all verdicts that were reached and are not the expected ones, before those that are undecided, which have
// the colour of the legend and alone are cut.
func TestIndexRowSaysTheViolatedFirst(t *testing.T) {
	r := reporttest.GCPause()
	r.Met = false
	v := &r.Variants[0]
	v.Met, v.Properties = false, nil
	for i, name := range checker.Properties()[:8] {
		p := report.PropertyResult{Name: name, Verdict: checker.Unknown, Expected: checker.Holds, Why: fmt.Sprint("doubt ", i)}
		if i > 3 {
			p.Verdict, p.Why = checker.Violated, fmt.Sprint("broken ", i)
		}
		v.Properties = append(v.Properties, p)
	}
	row := func() string {
		doc := write(t, func(b *bytes.Buffer) error { return report.WriteIndex(b, []report.IndexEntry{{Result: r}}) })
		_, doc, _ = strings.Cut(doc, `<span class="reasons">`)
		doc, _, _ = strings.Cut(doc, "</summary>")
		return doc
	}
	got := row()
	for i := 4; i < 8; i++ {
		if !strings.Contains(got, fmt.Sprint("broken ", i)) {
			t.Errorf("the row does not say that property %d is violated:\n%s", i, got)
		}
	}
	if strings.Contains(got, "doubt") || !strings.Contains(got, "and 4 more") || strings.Count(got, `class="why unsafe"`) != 4 {
		t.Errorf("what is undecided is not counted alone:\n%s", got)
	}
	for i := 4; i < 7; i++ {
		v.Properties[i].Verdict, v.Properties[i].Met = checker.Holds, true
	}
	got = row()
	if strings.Index(got, "broken 7") > strings.Index(got, "doubt 0") || strings.Count(got, `class="why undecided"`) != 2 ||
		!strings.Contains(got, "and 2 more") {
		t.Errorf("what is violated is not first, or what is undecided is not in its colour:\n%s", got)
	}
}
