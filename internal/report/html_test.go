package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

func page(t testing.TB, r *report.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.WriteHTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestHTMLGolden(t *testing.T) {
	for _, name := range []string{"gc-pause", "clock-jump", "interrupted", "empty"} {
		t.Run(name, func(t *testing.T) { reporttest.SameAs(t, name+".html", page(t, reporttest.All()[name])) })
	}
}

// dom is what the tests want to know of a page.
type dom struct {
	ids        map[string]int
	hrefs      []string
	elements   map[string]int
	attributes []html.Attribute
	text       strings.Builder
	style      string
	scripts    []string
	policy     string
}

func parse(t *testing.T, doc []byte) *dom {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	d := &dom{ids: map[string]int{}, elements: map[string]int{}}
	for n := range root.Descendants() {
		switch n.Type {
		case html.TextNode:
			switch n.Parent.Data {
			case "style":
				d.style = n.Data
			case "script":
				d.scripts = append(d.scripts, n.Data)
			default:
				d.text.WriteString(n.Data + "\n")
			}
		case html.ElementNode:
			d.element(n)
		}
	}
	return d
}

func (d *dom) element(n *html.Node) {
	d.elements[n.Data]++
	csp := false
	for _, a := range n.Attr {
		d.attributes = append(d.attributes, a)
		switch {
		case a.Key == "id":
			d.ids[a.Val]++
		case a.Key == "href":
			d.hrefs = append(d.hrefs, a.Val)
		case a.Val == "Content-Security-Policy":
			csp = true
		case a.Key == "content" && csp:
			d.policy = a.Val
		}
	}
}

func everyPage(t *testing.T, check func(t *testing.T, doc []byte, d *dom)) {
	all := reporttest.All()
	all["nil history, no variants"] = &report.Result{}
	all["long"] = reporttest.Long(4000)
	for name, r := range all {
		t.Run(name, func(t *testing.T) {
			doc := page(t, r)
			check(t, doc, parse(t, doc))
		})
	}
}

func TestEveryLinkResolves(t *testing.T) {
	everyPage(t, func(t *testing.T, _ []byte, d *dom) {
		for id, n := range d.ids {
			if n > 1 {
				t.Errorf("%d elements have the id %q", n, id)
			}
		}
		for _, href := range d.hrefs {
			id, local := strings.CutPrefix(href, "#")
			if href == "data:," {
				continue
			}
			if !local || d.ids[id] == 0 {
				t.Errorf("href %q leads nowhere", href)
			}
		}
	})
}

var urlRef = regexp.MustCompile(`url\(#([^)]*)\)`)

func TestEveryReferenceResolves(t *testing.T) {
	everyPage(t, func(t *testing.T, _ []byte, d *dom) {
		for _, a := range d.attributes {
			refs := strings.Fields(a.Val)
			if m := urlRef.FindStringSubmatch(a.Val); m != nil {
				refs = m[1:]
			} else if a.Key != "aria-labelledby" && a.Key != "for" {
				continue
			}
			for _, id := range refs {
				if d.ids[id] == 0 {
					t.Errorf("%s=%q refers to nothing", a.Key, a.Val)
				}
			}
		}
	})
}

// The policy allows our style and our script, by what they are, and no other.
func TestPolicyAllowsOurCodeAlone(t *testing.T) {
	hash := func(code string) string {
		sum := sha256.Sum256([]byte(code))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	everyPage(t, func(t *testing.T, doc []byte, d *dom) {
		allowed := strings.Fields(strings.Split(d.policy, ";")[2])[1:]
		want := "default-src 'none'; style-src " + hash(d.style) + "; script-src " + strings.Join(allowed, " ") +
			"; img-src data:; base-uri 'none'; form-action 'none'"
		if d.policy != want {
			t.Errorf("policy %q, want %q", d.policy, want)
		}
		for _, s := range d.scripts {
			if !slices.Contains(allowed, hash(s)) {
				t.Error("a script of the page is not allowed")
			}
		}
		if len(allowed) != 2 || len(d.scripts) < 1 || len(d.scripts) > 2 || d.elements["style"] != 1 {
			t.Errorf("%d scripts allowed, %d there, %d styles", len(allowed), len(d.scripts), d.elements["style"])
		}
		for _, a := range d.attributes {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" {
				t.Errorf("attribute %s=%q", a.Key, a.Val)
			}
		}
		if d.elements["img"]+d.elements["iframe"]+d.elements["object"]+d.elements["b"] > 0 {
			t.Error("foreign elements got into the page")
		}
		if bytes.Contains(doc, []byte("ZgotmplZ")) {
			t.Error("html/template refused a value")
		}
	})
}

// What a reader sees must be what is there.
func TestPageHidesNothing(t *testing.T) {
	doc := page(t, reporttest.Hostile())
	for i, r := range string(doc) {
		if r != '\n' && r != '\t' && r != '\r' && unicode.In(r, unicode.Cc, unicode.Cf) {
			t.Fatalf("rune %U at byte %d", r, i)
		}
	}
	if !strings.Contains(parse(t, doc).text.String(), reporttest.BreakOut) {
		t.Error("the hostile name is not shown as it is")
	}
}

func TestPageSpeaksOfEverything(t *testing.T) {
	for name, want := range map[string][]string{
		"gc-pause": {"As expected", "two holders at once, 803 ms", "believes without keys", "c1 refused: token 1 after 2",
			"promise ended 0.994 s", "pause, 2.00 s", "the update of c2 is lost", "two clients still held the lock at once",
			"sim run scenarios/gc-pause.yaml --seed 42", "SHA-256", "Limits of this evidence", "1 late write, 8 operations, 1 fault"},
		"clock-jump": {"clock-jump, ahead by 20 s", "c1  3 of 5", "never", "partition", "restart, 250 ms",
			"E is down, until 2.449 s", "did not take effect: c3 never was at before-write"},
		"interrupted": {"Interrupted", "The run was interrupted",
			"ends in the middle of a line", "pause, to the end", "ends before the run was done"},
		"undecided":  {"Undecided", "never fired, so it tested nothing", "undecided: linearizable-resource"},
		"failed":     {"Could not run", "no redis-server was found", "No variant was run."},
		"unexpected": {"Not as expected", "expected holds"},
		"empty":      {"Nothing was judged", "there is no history to draw"},
	} {
		d := parse(t, page(t, reporttest.All()[name]))
		for _, w := range want {
			if !strings.Contains(d.text.String(), w) {
				t.Errorf("%s: no %q", name, w)
			}
		}
	}
}

func TestLongRunGivesASmallPage(t *testing.T) {
	r := reporttest.Long(100_000)
	start := time.Now()
	doc := page(t, r)
	if took := time.Since(start); took > suite.Patience {
		t.Errorf("took %v", took)
	}
	if len(doc) > 1_000_000 {
		t.Errorf("%d bytes", len(doc))
	}
	text := parse(t, doc).text.String()
	for _, want := range []string{"The whole run: 100,000 operations", "of 475,002 events", "two holders at once, 5 ms", "clients not drawn"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}

// A violation that spans a whole long run must not make the page as long.
func TestWideViolationGivesASmallPage(t *testing.T) {
	r := reporttest.Long(40_000)
	for i := range r.Variants {
		v := &r.Variants[i]
		c := v.Properties[0].Counterexample
		c.Operations[0].From, c.Operations[1].To = 0, v.History.End()
	}
	doc := page(t, r)
	if len(doc) > 1_000_000 {
		t.Errorf("%d bytes", len(doc))
	}
	if !strings.Contains(string(doc), "two holders at once, 5 ms") {
		t.Error("the picture misses the moment it is about")
	}
}

// Histories that no runner would write must still give a page.
func TestPageOfNonsense(t *testing.T) {
	r := reporttest.GCPause()
	v := &r.Variants[0]
	v.History.Header = history.Header{}
	for i := range v.History.Events {
		e := &v.History.Events[i]
		e.Value.OwnOutcome().At, e.Value.OwnGrant().ValidUntil = history.Some(-1<<62), history.Some(1<<62)
		e.Value.Grant.TTL = history.Some(-5)
		e.Process = "same"
	}
	for i := range v.Properties {
		p := &v.Properties[i]
		p.Events = []int{-4, 1 << 40}
		if c := p.Counterexample; c != nil {
			c.Impossible, c.Overlap = 1<<40, &checker.Interval{From: 5, To: -1}
			c.Operations[0].To, c.Story[0].Event = -1, 1<<40
		}
	}
	r.Variants[1].History.Events = r.Variants[1].History.Events[:1]
	page(t, r)
}

func TestPagesAreStable(t *testing.T) {
	for name, r := range reporttest.All() {
		if !bytes.Equal(page(t, r), page(t, r)) {
			t.Errorf("%s differs from one writing to the next", name)
		}
	}
}

// What is not as expected comes first: which variant, which property, what was expected and what was seen. That is so also where nothing
// is violated that should not be.
func TestPageBeginsWithWhatIsUnexpected(t *testing.T) {
	r := reporttest.GCPause() // of which "unfenced" comes first, and violates more
	p := r.Variants[1].Property(checker.LinearizableResource)
	p.Expected, p.Met, r.Met, r.Variants[1].Met = checker.Violated, false, false, false
	doc := string(page(t, r))
	at := strings.Index(doc, `<p class="lead">linearizable-resource is not as expected, in fenced.</p>`)
	row := strings.Index(doc, `<tr><th scope="row">fenced</th><td><a href="#p6">linearizable-resource</a></td>`+
		`<td><span class="lab">Expected</span>violated</td>`)
	first := strings.Index(doc, "fenced violates exclusive-belief <span class=\"of\">as expected")
	second := strings.Index(doc, "<h3>unfenced violates")
	if at < 0 || row < at || first < row || second < first {
		t.Errorf("not in this order: %d %d %d %d", at, row, first, second)
	}
	if pics := regexp.MustCompile(`<figcaption id="v\d-name"><span class="name">(\w+)`).FindAllStringSubmatch(doc, -1); len(pics) < 2 ||
		pics[0][1] != "fenced" {
		t.Errorf("the first picture is not of fenced: %q", pics)
	}
	if sound := string(page(t, reporttest.GCPause())); strings.Contains(sound, "surprises\">") {
		t.Error("a run that is as expected has surprises")
	}
}

var frames = regexp.MustCompile(`data-from="(-?\d+)" data-to="(-?\d+)" data-lo`)

// Variants are compared by eye, so a second must be as long in all of them.
func TestVariantsShareOneScale(t *testing.T) {
	short := reporttest.GCPause()
	short.Variants[1].History.Events = short.Variants[1].History.Events[:20]
	apart := reporttest.Long(8000)
	for i := range apart.Variants[1].Properties {
		// The second variant's violation lies far from the first one's.
		c := apart.Variants[1].Properties[i].Counterexample
		shift := -c.Story[0].At / 2
		c.Overlap.From, c.Overlap.To = c.Overlap.From+shift, c.Overlap.To+shift
		for j := range c.Story {
			c.Story[j].At += shift
		}
		for j := range c.Operations {
			c.Operations[j].From, c.Operations[j].To = c.Operations[j].From+shift, c.Operations[j].To+shift
		}
	}
	for name, r := range map[string]*report.Result{"as it is": reporttest.GCPause(), "one is shorter": short, "far apart": apart} {
		found := frames.FindAllStringSubmatch(string(page(t, r)), -1)
		if len(found) != 2 {
			t.Fatalf("%s: %d pictures", name, len(found))
		}
		length := func(m []string) int {
			from, _ := strconv.Atoi(m[1])
			to, _ := strconv.Atoi(m[2])
			return to - from
		}
		if a, b := length(found[0]), length(found[1]); a != b || a <= 0 {
			t.Errorf("%s: %d and %d ns long", name, a, b)
		}
		if far := found[0][1] != found[1][1]; far != (name == "far apart") {
			t.Errorf("%s: pictures begin at %s and %s", name, found[0][1], found[1][1])
		}
	}
}

// The cause of a violation without one decisive event has an instant too, a mistake that is switched on is named, and the lead counts the
// verdicts that are not as expected, not all violations.
func TestCauseHasAnInstantAndNamesTheMistake(t *testing.T) {
	r := reporttest.GCPause()
	v := &r.Variants[0]
	r.Variants = r.Variants[:1]
	v.Settings = []string{"lock.switches.value: constant"}
	violated := 0
	for i := range v.Properties {
		p := &v.Properties[i]
		if p.Counterexample = nil; p.Verdict == checker.Violated {
			p.Events = []int{1, 3}
			if violated++; violated == 1 {
				p.Expected, p.Met, v.Met, r.Met = checker.Holds, false, false, false
			}
		}
	}
	page := write(t, func(b *bytes.Buffer) error { return report.WriteHTML(b, r) })
	_, cause, _ := strings.Cut(page, `class="broke"`)
	cause, _, _ = strings.Cut(cause, "</p>")
	if at := words.Seconds(v.History.Events[3].Time); !strings.Contains(cause, at) {
		t.Errorf("the cause has no instant %s: %s", at, cause)
	}
	if !strings.Contains(page, "<dd><code>value: constant</code></dd>") {
		t.Error("the mistake that is switched on is not named")
	}
	if want := fmt.Sprintf("unfenced violates %d of %d properties; 1 verdict not as expected.", violated, len(v.Properties)); violated < 2 ||
		!strings.Contains(page, want) {
		t.Errorf("the lead is not %q", want)
	}
}
