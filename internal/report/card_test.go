package report_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/chromedp/chromedp"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
	"github.com/redlock-sim/redlock-sim/internal/report/terminal"
)

func cardPage(t testing.TB, c *report.Card) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := report.WriteCardHTML(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func cardText(t *testing.T, c *report.Card, o terminal.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.WriteCardText(&b, c, "reports/audit/20261120-204501-42", o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func cardMarkdown(t *testing.T, c *report.Card) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.WriteCardMarkdown(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A cell in each state, before and now: when is a job red?
func TestCompareCards(t *testing.T) {
	const kept, broken, unknown = report.CellKept, report.CellBroken, report.CellUnknown
	const design, never = report.CellByDesign, report.CellNotApplicable
	const red, note, silent = "red", "note", ""
	for _, c := range []struct {
		before report.CellState
		flaky  bool
		now    report.CellState
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
			expected := &report.Card{Locks: []report.CardLock{{Label: "other"}}}
			if c.before != "" {
				expected.Locks[0].Cells = []report.Cell{{ID: "a/b", State: c.before, Flaky: c.flaky}}
			}
			got := &report.Card{Locks: []report.CardLock{{Label: "mine", Cells: []report.Cell{{ID: "a/b", State: c.now}}}}}
			changes := report.CompareCards(expected, got)
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
			for _, s := range []report.CellState{broken, kept} { // whether the new cell is flaky makes no difference
				got.Locks[0].Cells[0].Flaky = s == broken
				if again := report.CompareCards(expected, got); again[0].Red != changes[0].Red {
					t.Errorf("flaky now: %+v", again[0])
				}
			}
		})
	}
}

func TestCompareCardsOfSeveralLocks(t *testing.T) {
	cells := func(s ...report.CellState) (list []report.Cell) {
		for i, state := range s {
			list = append(list, report.Cell{ID: fmt.Sprintf("a/%d", i), State: state, Why: "so it is"})
		}
		return list
	}
	expected := &report.Card{Locks: []report.CardLock{{Label: "one", Cells: cells(report.CellKept, report.CellKept)},
		{Label: "two", Cells: cells(report.CellKept, report.CellBroken)}}}
	got := &report.Card{Locks: []report.CardLock{{Label: "two", Cells: cells(report.CellUnknown, report.CellBroken)},
		{Label: "one", Cells: cells(report.CellKept, report.CellBroken)}}}
	changes := report.CompareCards(expected, got)
	if len(changes) != 2 || !changes[0].Red || changes[0].Lock != "one" || changes[1].Red || changes[1].Lock != "two" {
		t.Errorf("the red one comes first, and locks go by their labels: %+v", changes)
	}
	for _, o := range []terminal.Options{{}, {Color: true, Unicode: true}} {
		var b bytes.Buffer
		if err := report.WriteCardChanges(&b, changes, o); err != nil {
			t.Fatal(err)
		}
		if first, _, _ := strings.Cut(b.String(), "\n"); !strings.Contains(first, "NOT AS EXPECTED") ||
			!strings.Contains(first, "one: a/1: lost: it was kept.") {
			t.Errorf("%s", b.String())
		}
	}
}

func TestCardCovers(t *testing.T) {
	one := &report.Card{Locks: []report.CardLock{{Label: "one"}}}
	two := &report.Card{Locks: []report.CardLock{{Label: "one"}, {Label: "two"}}}
	for _, c := range []struct {
		card    *report.Card
		labels  []string
		missing string
	}{
		{one, []string{"one"}, ""},
		{one, []string{"any"}, ""}, // one lock each: it is that one
		{one, []string{"one", "two"}, "two"},
		{two, []string{"two"}, ""},
		{two, []string{"three"}, "three"},
		{two, []string{"two", "one"}, ""},
		{&report.Card{}, []string{"one"}, "one"},
	} {
		switch err := c.card.Covers(c.labels); {
		case c.missing == "" && err != nil:
			t.Errorf("%q: %v", c.labels, err)
		case c.missing != "" && (err == nil || !strings.Contains(err.Error(), fmt.Sprintf("no lock %q", c.missing))):
			t.Errorf("%q: %v", c.labels, err)
		}
	}
}

func TestReadCard(t *testing.T) {
	for name, card := range reporttest.Cards() {
		var b, again bytes.Buffer
		if err := report.WriteCardJSON(&b, card); err != nil {
			t.Fatal(err)
		}
		for i, r := range b.String() {
			if r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf) {
				t.Errorf("%s: %U at byte %d", name, r, i)
			}
		}
		read, err := report.ReadCard(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := report.WriteCardJSON(&again, read); err != nil || again.String() != b.String() {
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
		c, err := report.ReadCard(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %+v, %v: want %q", text, c, err, want)
		}
	}
}

func TestCardTextGolden(t *testing.T) {
	for name, o := range map[string]terminal.Options{
		"card.txt":         {},
		"card-narrow.txt":  {Unicode: true, Width: 60},
		"card-colored.txt": {Unicode: true, Color: true},
	} {
		t.Run(name, func(t *testing.T) { sameAs(t, name, []byte(cardText(t, reporttest.Card(), o))) })
	}
	sameAs(t, "card-several.txt", []byte(cardText(t, reporttest.SeveralLocks(), terminal.Options{})))
}

func TestCardTextEmitsNoForeignEscapes(t *testing.T) {
	ours := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, color := range []bool{false, true} {
		got := cardText(t, reporttest.HostileCard(), terminal.Options{Color: color, Unicode: true})
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

func TestCardMarkdownGolden(t *testing.T) {
	sameAs(t, "card.md", []byte(cardMarkdown(t, reporttest.Card())))
	sameAs(t, "card-several.md", []byte(cardMarkdown(t, reporttest.SeveralLocks())))
	sameAs(t, "card-hostile.md", []byte(cardMarkdown(t, reporttest.HostileCard())))
}

// What others wrote cannot leave its place in a table, and is no link and no HTML.
func TestCardMarkdownEscapes(t *testing.T) {
	got := cardMarkdown(t, reporttest.HostileCard())
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

func TestCardsAreQuietInABrowser(t *testing.T) {
	for name, c := range reporttest.Cards() {
		t.Run(name, func(t *testing.T) {
			b := tab.New(t)
			url := b.OpenFile(cardPage(t, c))
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
func TestCardFitsItsScreen(t *testing.T) {
	b := tab.New(t)
	for name, c := range reporttest.Cards() {
		html := cardPage(t, c)
		for _, width := range []int64{1400, 800, 390} {
			for _, dark := range []bool{false, true} {
				b.Size(width, 900)
				b.Dark(dark)
				b.OpenFile(html)
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
func TestCardOnPaper(t *testing.T) {
	b := tab.New(t)
	b.OpenFile(cardPage(t, reporttest.Card()))
	if n := pdfPages(t, b.Print(chromedp.PaperA4)); n > 2 {
		t.Errorf("%d pages, want two at most", n)
	}
}
