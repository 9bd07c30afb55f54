package card_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/chromedp/chromedp"
	"golang.org/x/net/html"

	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
)

func pageOf(t testing.TB, c *card.Card) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := card.WriteHTML(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func textOf(t *testing.T, c *card.Card, o terminal.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := card.WriteText(&b, c, "reports/audit/20261120-204501-42", o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func markdownOf(t *testing.T, c *card.Card) string {
	t.Helper()
	var b bytes.Buffer
	if err := card.WriteMarkdown(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A cell in each state, before and now: when is a job red?
func TestCompare(t *testing.T) {
	const kept, broken, unknown = card.Kept, card.Broken, card.Unknown
	const design, never = card.ByDesign, card.NotApplicable
	const red, note, silent = "red", "note", ""
	for _, c := range []struct {
		before card.State
		flaky  bool
		now    card.State
		want   string
		why    string
	}{
		{kept, false, kept, silent, ""},
		{kept, false, broken, red, "lost: it was kept"},
		{design, false, broken, red, "lost: it was by design"},
		{unknown, false, broken, red, "lost: it was unknown"},
		{never, false, broken, red, "lost: it was not applicable"},
		{broken, false, broken, silent, ""},
		{broken, true, broken, silent, ""},
		{broken, false, kept, red, "mended: it was broken, and is kept. Renew the card"},
		{broken, false, design, red, "mended: it was broken, and is by design. Renew the card"},
		{broken, true, kept, note, "kept, and was broken: it may be either"},
		{unknown, true, broken, note, "broken, and was unknown: it may be either"},
		{unknown, true, kept, note, "kept, and was unknown: it may be either"},
		{broken, false, never, note, "not applicable, and was broken"},
		{kept, false, never, note, "not applicable, and was kept"},
		{never, false, kept, note, "kept, and was not applicable"},
		{never, false, design, note, "by design, and was not applicable"},
		{kept, false, unknown, note, "unknown, and was kept"},
		{broken, false, unknown, note, "unknown, and was broken"},
		{unknown, false, kept, note, "kept, and was unknown"},
		{kept, false, design, note, "by design, and was kept"},
		{"", false, broken, red, "broken, and the expected card does not have it"},
		{"", false, kept, note, "kept, and the expected card does not have it: renew the card"},
		{"", false, unknown, note, "unknown, and the expected card does not have it: renew the card"},
	} {
		t.Run(fmt.Sprintf("%s %t to %s", c.before, c.flaky, c.now), func(t *testing.T) {
			expected := &card.Card{Locks: []card.Lock{{Label: "other"}}}
			if c.before != "" {
				expected.Locks[0].Cells = []card.Cell{{ID: "a/b", State: c.before, Flaky: c.flaky}}
			}
			got := &card.Card{Locks: []card.Lock{{Label: "mine", Cells: []card.Cell{{ID: "a/b", State: c.now}}}}}
			changes := card.Compare(expected, got)
			if c.want == silent {
				if len(changes) > 0 {
					t.Errorf("%+v", changes[0])
				}
				return
			}
			if len(changes) != 1 {
				t.Fatalf("%d changes", len(changes))
			}
			if g := changes[0]; g.Red != (c.want == red) || g.Why != c.why || g.Before != c.before || g.Lock != "mine" || g.Cell.ID != "a/b" {
				t.Errorf("%+v", g)
			}
			for _, s := range []card.State{broken, kept} { // whether the new cell is flaky makes no difference
				got.Locks[0].Cells[0].Flaky = s == broken
				if again := card.Compare(expected, got); again[0].Red != changes[0].Red {
					t.Errorf("flaky now: %+v", again[0])
				}
			}
		})
	}
}

func TestCompareOfSeveralLocks(t *testing.T) {
	cells := func(s ...card.State) (list []card.Cell) {
		for i, state := range s {
			list = append(list, card.Cell{ID: fmt.Sprintf("a/%d", i), State: state, Why: "so it is"})
		}
		return list
	}
	expected := &card.Card{Locks: []card.Lock{{Label: "one", Cells: cells(card.Kept, card.Kept)},
		{Label: "two", Cells: cells(card.Kept, card.Broken)}}}
	got := &card.Card{Locks: []card.Lock{{Label: "two", Cells: cells(card.Unknown, card.Broken)},
		{Label: "one", Cells: cells(card.Kept, card.Broken)}}}
	changes := card.Compare(expected, got)
	if len(changes) != 2 || !changes[0].Red || changes[0].Lock != "one" || changes[1].Red || changes[1].Lock != "two" {
		t.Errorf("the red one comes first, and locks go by their labels: %+v", changes)
	}
	for _, o := range []terminal.Options{{}, {Color: true, Unicode: true}} {
		var b bytes.Buffer
		if err := card.WriteChanges(&b, changes, o); err != nil {
			t.Fatal(err)
		}
		if first, _, _ := strings.Cut(b.String(), "\n"); !strings.Contains(first, "NOT AS EXPECTED") ||
			!strings.Contains(first, "one: a/1: lost: it was kept.") {
			t.Errorf("%s", b.String())
		}
	}
}

func TestCovers(t *testing.T) {
	one := &card.Card{Locks: []card.Lock{{Label: "one"}}}
	two := &card.Card{Locks: []card.Lock{{Label: "one"}, {Label: "two"}}}
	for _, c := range []struct {
		card    *card.Card
		labels  []string
		missing string
	}{
		{one, []string{"one"}, ""},
		{one, []string{"any"}, ""}, // one lock each: it is that one
		{one, []string{"one", "two"}, "two"},
		{two, []string{"two"}, ""},
		{two, []string{"three"}, "three"},
		{two, []string{"two", "one"}, ""},
		{&card.Card{}, []string{"one"}, "one"},
	} {
		switch err := c.card.Covers(c.labels); {
		case c.missing == "" && err != nil:
			t.Errorf("%q: %v", c.labels, err)
		case c.missing != "" && (err == nil || !strings.Contains(err.Error(), fmt.Sprintf("no lock %q", c.missing))):
			t.Errorf("%q: %v", c.labels, err)
		}
	}
}

func TestRead(t *testing.T) {
	for name, c := range reporttest.Cards() {
		var b, again bytes.Buffer
		if err := card.WriteJSON(&b, c); err != nil {
			t.Fatal(err)
		}
		for i, r := range b.String() {
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf) {
				t.Errorf("%s: %U at byte %d", name, r, i)
			}
		}
		read, err := card.Read(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := card.WriteJSON(&again, read); err != nil || again.String() != b.String() {
			t.Errorf("%s: not what was written (%v)", name, err)
		}
	}
	for text, want := range map[string]string{
		"":                     "not a card: ",
		"card":                 "not a card: ",
		"[]":                   "not a card: ",
		"{}":                   "no card_version",
		"null":                 "no card_version",
		`{"version":1}`:        "no card_version",
		`{"card_version":-1}`:  "no card_version",
		`{"card_version":2}`:   "card version 2: this program reads version 1",
		`{"card_version":"1"}`: "not a card: ",
		`{"card_version":1,"locks":[{"label":"l","cells":[{"id":"a/b","state":"fine"}]}]}`: `"a/b" of "l" is "fine"`,
		`{"card_version":1,"locks":[{"label":"l","cells":[{"id":"a/b"}]}]}`:                `"a/b" of "l" is ""`,
		`{"card_version":1,"locks":[{"cells":{}}]}`:                                        "not a card: ",
		strings.Repeat(" ", 64<<20+1):                                                      "more than",
	} {
		c, err := card.Read(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %+v, %v: want %q", text, c, err, want)
		}
	}
}

func TestTextGolden(t *testing.T) {
	for name, o := range map[string]terminal.Options{
		"card.txt":         {},
		"card-narrow.txt":  {Unicode: true, Width: 60},
		"card-colored.txt": {Unicode: true, Color: true},
	} {
		t.Run(name, func(t *testing.T) { reporttest.SameAs(t, name, []byte(textOf(t, reporttest.Card(), o))) })
	}
	reporttest.SameAs(t, "card-several.txt", []byte(textOf(t, reporttest.SeveralLocks(), terminal.Options{})))
}

func TestTextEmitsNoForeignEscapes(t *testing.T) {
	ours := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, color := range []bool{false, true} {
		got := textOf(t, reporttest.HostileCard(), terminal.Options{Color: color, Unicode: true})
		if color {
			got = ours.ReplaceAllString(got, "")
		}
		for i, r := range got {
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf) {
				t.Fatalf("color %v: rune %U at byte %d of:\n%q", color, r, i, got)
			}
		}
		if strings.Contains(got, "\n::error") {
			t.Error("a line is a command of GitHub")
		}
	}
}

func TestMarkdownGolden(t *testing.T) {
	reporttest.SameAs(t, "card.md", []byte(markdownOf(t, reporttest.Card())))
	reporttest.SameAs(t, "card-several.md", []byte(markdownOf(t, reporttest.SeveralLocks())))
	reporttest.SameAs(t, "card-hostile.md", []byte(markdownOf(t, reporttest.HostileCard())))
}

// What others wrote cannot leave its place in a table, and is no link and no HTML.
func TestMarkdownEscapes(t *testing.T) {
	got := markdownOf(t, reporttest.HostileCard())
	unescaped := regexp.MustCompile(`(^|[^\\])(<[a-z/!]|\[x\]\(|` + "`tick`" + `)`)
	if m := unescaped.FindString(got); m != "" {
		t.Errorf("%q stands in the Markdown:\n%s", m, got)
	}
	columns := 0
	for line := range strings.Lines(got) {
		switch bars := len(regexp.MustCompile(`(^|[^\\])\|`).FindAllString(strings.TrimSpace(line), -1)); {
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case columns == 0:
			columns = bars
		case bars != columns:
			t.Errorf("%d bars, want %d: %s", bars, columns, line)
		}
	}
}

// What is broken leads to its finding on the page, and from there to the picture of the run.
func TestBrokenLeadsToItsFinding(t *testing.T) {
	for _, name := range []string{"card", "card-several"} {
		root, err := html.Parse(bytes.NewReader(pageOf(t, reporttest.Cards()[name])))
		if err != nil {
			t.Fatal(err)
		}
		ids, pictures, broken := make(map[string]bool), make(map[string]bool), 0
		for n := range root.Descendants() {
			if id := attributeOf(n, "id"); id != "" {
				ids[id] = true
				for d := range n.Descendants() {
					pictures[id] = pictures[id] || strings.HasSuffix(attributeOf(d, "href"), "/report.html#picture")
				}
			}
		}
		for n := range root.Descendants() {
			if n.Data != "span" || attributeOf(n, "class") != "badge unsafe" {
				continue
			}
			in := func(tag string) *html.Node {
				for p := n.Parent; p != nil; p = p.Parent {
					if p.Data == tag {
						return p
					}
				}
				return nil
			}
			if in("dl") != nil || in("ul") != nil || in("article") != nil || in("tr") != nil && attributeOf(in("tr"), "id") != "" {
				continue // the legend, the counts, the finding itself, the list of all cases
			}
			broken++
			link := ""
			if a := in("a"); a != nil {
				link = strings.TrimPrefix(attributeOf(a, "href"), "#")
			}
			if !ids[link] || !pictures[link] {
				t.Errorf("%s: a broken cell leads to %q, which is no finding with a picture", name, link)
			}
		}
		if broken < 2 {
			t.Errorf("%s: %d broken cells, want at least 2", name, broken)
		}
	}
}

// Where nothing is broken, the page says so first, and what is unknown beside it. What is by design leads to a picture of it.
func TestSaysThatNothingIsBroken(t *testing.T) {
	c := reporttest.Card()
	if got := string(pageOf(t, c)); strings.Contains(got, "Nothing is broken") || strings.Contains(got, "Nothing was found to be broken") {
		t.Error("something is broken, and the page says that nothing is")
	}
	l := &c.Locks[0]
	l.Conform, l.Misbehaves = nil, ""
	become := func(from card.State) {
		for i := range l.Cells {
			if l.Cells[i].State == from {
				l.Cells[i].State, l.Cells[i].Deployments = card.Kept, nil
			}
		}
	}
	become(card.Broken)
	if got := string(pageOf(t, c)); !strings.Contains(got, `<p class="lead sum">Nothing was found to be broken, but of `) {
		t.Error("some are unknown, and the page does not say that the others are not broken")
	}
	become(card.Unknown)
	root, err := html.Parse(bytes.NewReader(pageOf(t, c)))
	if err != nil {
		t.Fatal(err)
	}
	said, designed := false, 0
	for n := range root.Descendants() {
		said = said || n.Type == html.TextNode && n.Data == "Nothing is broken in the runs that were made."
		if n.Data != "a" || n.FirstChild == nil || attributeOf(n.FirstChild, "class") != "badge limit" {
			continue
		}
		designed++
		if link := attributeOf(n, "href"); !strings.HasSuffix(link, "/report.html#picture") {
			t.Errorf("what is by design leads to %q, which is no picture", link)
		}
	}
	if !said || designed == 0 {
		t.Errorf("said %v, %d marks by design", said, designed)
	}
}

// A lock that was named by its command alone is called by its own name.
func TestNamesOfLocks(t *testing.T) {
	c := reporttest.Card()
	c.Locks[0].Label, c.Locks[0].Name = "python3-my_lock.py", "my lock"
	if got := string(pageOf(t, c)); !strings.Contains(got, "relied on with my lock?") {
		t.Error("the page does not have the lock's own name")
	}
	c.Locks[0].Label = "ours"
	if got := string(pageOf(t, c)); !strings.Contains(got, "relied on with ours?") {
		t.Error("the page does not have the name that the user gave")
	}
}

func attributeOf(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func TestPagesAreQuietInABrowser(t *testing.T) {
	for name, c := range reporttest.Cards() {
		t.Run(name, func(t *testing.T) {
			b := tab.New(t)
			url := b.OpenFile(pageOf(t, c))
			b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details").forEach(d => d.open = true)`))
			b.Quiet(url)
			if n := tab.Eval[int](b, `document.querySelectorAll("img, [onerror], [onmouseover]").length`); n > 0 {
				t.Errorf("%d foreign elements", n)
			}
			// A link of a cell leads below the card's folder, whatever the card says.
			folder := url[:strings.LastIndex(url, "/")+1]
			for _, link := range tab.Eval[[]string](b, `[...document.querySelectorAll("main a[href]")].map(a => a.href)`) {
				if !strings.HasPrefix(link, folder) {
					t.Errorf("a link leads to %q, out of %s", link, folder)
				}
			}
			for _, link := range tab.Eval[[]string](b, `[...document.querySelectorAll("a[href]")].map(a => a.protocol)`) {
				if !slices.Contains([]string{"file:", "https:", "http:"}, link) {
					t.Errorf("a link of %s", link)
				}
			}
		})
	}
}

// The page of a card scrolls down and never sideways, with all cases open, in the light and in the dark. Locks side
// by side are all in sight, or scroll in their place.
func TestPageFitsItsScreen(t *testing.T) {
	b := tab.New(t)
	for name, c := range reporttest.Cards() {
		doc := pageOf(t, c)
		for _, width := range []int64{1400, 800, 390} {
			for _, dark := range []bool{false, true} {
				b.Size(width, 900)
				b.Dark(dark)
				b.OpenFile(doc)
				for _, open := range []string{"false", "true"} {
					if got := tab.Eval[int64](b, `(document.querySelectorAll("details").forEach(d => d.open = `+
						open+`), document.documentElement.scrollWidth)`); got > width {
						t.Errorf("%s at %d px is %d px wide", name, width, got)
					}
				}
			}
		}
	}
}

// A card of one lock is to be handed round a table: two sheets of paper.
func TestPageOnPaper(t *testing.T) {
	b := tab.New(t)
	b.OpenFile(pageOf(t, reporttest.Card()))
	if n := b.Pages(b.Print(chromedp.PaperA4)); n > 2 {
		t.Errorf("%d pages, want two at most", n)
	}
}

func TestPagesAreReadable(t *testing.T) {
	b := tab.New(t)
	for name, c := range reporttest.Cards() {
		if name != "card-hostile" { // no page is made for its words
			b.Readable(name, func() { b.OpenFile(pageOf(t, c)) })
		}
	}
}

func TestPagesAreSound(t *testing.T) {
	for name, c := range reporttest.Cards() {
		if name != "card-hostile" { // its cells have one ID
			reporttest.Sound(t, name, pageOf(t, c))
		}
	}
}
