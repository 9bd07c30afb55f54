package report_test

import (
	"bytes"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

func TestPagesAreQuietInABrowser(t *testing.T) {
	all := reporttest.All()
	all["long"] = reporttest.Long(20_000)
	for name, r := range all {
		t.Run(name, func(t *testing.T) {
			if name != "gc-pause" && name != "hostile" {
				suite.All(t)
			}
			b := tab.New(t)
			url := b.OpenFile(page(t, r))
			b.Quiet(url)
			if n := tab.Eval[int](b, `document.querySelectorAll("img, [onerror], [onmouseover]").length`); n > 0 {
				t.Errorf("%d foreign elements", n)
			}
		})
	}
}

// A tab that misses an attack is worth nothing: show that it notices.
func TestTheTabNotices(t *testing.T) {
	b := tab.New(t)
	b.OpenFile([]byte(`<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none'"><script>1</script>`))
	if got := strings.Join(b.Troubles(), "\n"); !strings.Contains(got, "Content Security Policy") {
		t.Errorf("a blocked script went unnoticed, troubles: %q", got)
	}
}

func TestKeysStepThroughThePicture(t *testing.T) {
	b := tab.New(t)
	b.Size(1280, 900)
	url := b.OpenFile(page(t, reporttest.GCPause()))
	b.Do(chromedp.Focus(chromedp.CSS(`[data-do="next"]`)))
	readout := func() string {
		return tab.Eval[string](b, `[...document.querySelectorAll(".readout")].map(r => r.textContent).join(" | ")`)
	}
	var said []string
	for range 30 {
		b.Do(chromedp.KeyEvent(kb.ArrowRight))
		if r := readout(); len(said) == 0 || said[len(said)-1] != r {
			said = append(said, r)
		}
	}
	story := strings.Join(said, "\n")
	for _, want := range []string{"c1 got the lock on 5 nodes", "pause, 2.00 s", "the validity promised to c1 ends",
		"c2 got the lock", "applied a write of 1 by c1, after its promise had ended", "refused a write of 1 by c1, token 1 after 2"} {
		if !strings.Contains(story, want) {
			t.Errorf("stepping never said %q:\n%s", want, story)
		}
	}
	if !slices.IsSortedFunc(said, func(a, b string) int { return strings.Compare(a[:5], b[:5]) }) {
		t.Errorf("stepping goes back in time:\n%s", story)
	}
	cursors := tab.Eval[[]string](b, `[...document.querySelectorAll(".cursor")].map(c => c.getAttribute("visibility") + c.getAttribute("x"))`)
	if len(cursors) != 2 || cursors[0] != cursors[1] || !strings.HasPrefix(cursors[0], "visible") {
		t.Errorf("the pictures do not share one cursor: %q", cursors)
	}
	// Beside each picture its moments are listed, and the one that was stepped to is marked and in sight.
	marked := tab.Eval[[]string](b, `[...document.querySelectorAll(".moments [aria-current]")].map((li) => {
		const list = li.parentElement.getBoundingClientRect(), box = li.getBoundingClientRect();
		return li.querySelector("button").textContent + (box.top < list.top - 1 || box.bottom > list.bottom + 1 ? " out of sight" : "");
	})`)
	if len(marked) == 0 || slices.ContainsFunc(marked, func(m string) bool {
		at, text, _ := strings.Cut(m, " s ")
		return !strings.HasPrefix(said[len(said)-1], at) || !strings.Contains(said[len(said)-1], text)
	}) {
		t.Errorf("the last moment %q is listed as %q", said[len(said)-1], marked)
	}
	beside := tab.Eval[float64](b, `(() => {
		const [list, picture] = [".moments", "svg.picture"].map((sel) => document.querySelector(sel).getBoundingClientRect());
		return list.left >= picture.right && list.top < picture.bottom ? 1 : 0;
	})()`)
	if beside != 1 {
		t.Error("the moments do not stand beside the picture")
	}
	b.Do(chromedp.Click(chromedp.CSS(`.moments li:nth-child(2) button`)))
	if got := readout(); got == said[len(said)-1] || !strings.HasPrefix(got, said[1][:5]) && !strings.HasPrefix(got, said[0][:5]) {
		t.Errorf("a click on the second moment gives %q", got)
	}
	if n := tab.Eval[int](b, `[...document.querySelectorAll(".moments li a")]
		.filter((a) => !document.querySelector(a.getAttribute("href"))).length`); n > 0 {
		t.Errorf("%d moments lead to no event", n)
	}
	b.Do(chromedp.Focus(chromedp.CSS(`[data-do="next"]`)), chromedp.KeyEvent(kb.ArrowLeft))
	if readout() == said[len(said)-1] {
		t.Error("the left arrow does not step back")
	}
	b.Quiet(url)
}

func TestZoomingAndHiding(t *testing.T) {
	b := tab.New(t)
	b.Size(1280, 900)
	url := b.OpenFile(page(t, reporttest.GCPause()))
	width := func() float64 { // from the end of a promise to the overlap
		return tab.Eval[float64](b, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
			const x = (el) => parseFloat(document.querySelector(el).getAttribute("x"));
			done(x(".overlap") - x(".promise.broken"));
		})))`)
	}
	height := func() float64 {
		return tab.Eval[float64](b, `document.querySelector("svg.picture").getBoundingClientRect().height`)
	}
	wide, tall := width(), height()
	b.Do(chromedp.Focus(chromedp.CSS(`[data-do="in"]`)), chromedp.KeyEvent("+"))
	if w := width(); w < wide*1.9 || w > wide*2.1 {
		t.Errorf("zooming in took the distance from %v to %v %%", wide, w)
	}
	b.Do(chromedp.KeyEvent("0"))
	if w := width(); w < wide*0.999 || w > wide*1.001 {
		t.Errorf("zooming back took the distance from %v to %v %%", wide, w)
	}
	b.Do(chromedp.KeyEvent("u"))
	if h := height(); h != tall-4*20 {
		t.Errorf("hiding four nodes that only repeat took the picture from %v to %v %%", tall, h)
	}
	b.Do(chromedp.KeyEvent("u"))
	if h := height(); h != tall {
		t.Errorf("showing them again gives %v px, not %v", h, tall)
	}
	b.Quiet(url)
}

func TestFilterOfTheHistory(t *testing.T) {
	b := tab.New(t)
	url := b.OpenFile(page(t, reporttest.GCPause()))
	b.Do(chromedp.SendKeys(chromedp.CSS("#filter"), "c2 write invoke"))
	rows := tab.Eval[[]string](b, `[...document.querySelectorAll(".events tbody tr")].filter(r => !r.hidden).map(r => r.textContent)`)
	if len(rows) != 2 {
		t.Errorf("%d rows, want one a variant: %q", len(rows), rows)
	}
	b.Quiet(url)
}

// Without scripts the page is complete: nothing waits for one, and what only a
// script can serve is not shown.
func TestWithoutScripts(t *testing.T) {
	b := tab.New(t)
	b.Size(1280, 900)
	b.WithoutScripts()
	b.OpenFile(page(t, reporttest.GCPause()))
	for selector, want := range map[string]bool{"svg.picture": true,
		"#history .events": true, "#story li": true, ".toolbar": false, ".filter": false} {
		box := tab.Eval[float64](b, `document.querySelector("`+selector+`").getBoundingClientRect().height`)
		if (box > 0) != want {
			t.Errorf("%s is %v px high, shown should be %v", selector, box, want)
		}
	}
}

func TestDarkAndPaper(t *testing.T) {
	b := tab.New(t)
	doc := page(t, reporttest.GCPause())
	ground := func() string {
		return tab.Eval[string](b, `getComputedStyle(document.documentElement).backgroundColor`)
	}
	b.OpenFile(doc)
	if got := ground(); got != "rgb(255, 255, 255)" {
		t.Errorf("light ground %s", got)
	}
	b.Dark(true)
	if got := ground(); got != "rgb(15, 20, 25)" {
		t.Errorf("dark ground %s", got)
	}
	for name, paper := range map[string]chromedp.PaperSize{"A4": chromedp.PaperA4, "Letter": chromedp.PaperLetter} {
		pdf := b.Print(paper)
		if n := b.Pages(pdf); n < 3 || n > 6 {
			t.Errorf("%s: %d pages, want about five", name, n)
		}
	}
	b.Print(chromedp.PaperA4)
}

// The menu stays in sight. What is wider than it, as the moments beside a picture, does not run past beside it.
func TestNothingRunsBesideTheMenu(t *testing.T) {
	b := tab.New(t)
	b.Size(1400, 900)
	b.OpenFile(page(t, reporttest.GCPause()))
	menu := tab.Eval[[2]int](b, `(document.documentElement.style.scrollBehavior = "auto",
		scrollTo(0, document.querySelector(".moments").getBoundingClientRect().top + 60),
		[Math.ceil(document.querySelector("nav").getBoundingClientRect().right),
			Math.floor(document.querySelector(".toolbar").getBoundingClientRect().bottom)])`)
	if beside := tab.Eval[int](b, `Math.floor(document.querySelector(".moments").getBoundingClientRect().right)`); beside <= menu[0]+20 {
		t.Fatalf("no moments beside the menu: they end at %d, the menu at %d", beside, menu[0])
	}
	picture, err := png.Decode(bytes.NewReader(tab.Get(b, chromedp.CaptureScreenshot())))
	if err != nil {
		t.Fatal(err)
	}
	for y := range menu[1] - 2 {
		for x := menu[0] + 2; x < 1380; x++ {
			if r, g, bl, _ := picture.At(x, y).RGBA(); r+g+bl != 3*0xffff {
				t.Fatalf("something is painted beside the menu, at %d, %d", x, y)
			}
		}
	}
}

// Nothing may stick out of a small screen: what is wide scrolls in its place.
func TestNothingSticksOut(t *testing.T) {
	for _, width := range []int64{400, 1280} {
		b := tab.New(t)
		b.Size(width, 900)
		for name, r := range reporttest.All() {
			b.OpenFile(page(t, r))
			if got := tab.Eval[int64](b, `document.documentElement.scrollWidth`); got > width {
				t.Errorf("%s at %d px is %d px wide", name, width, got)
			}
		}
	}
}

// A long run's page must open at once, whatever else the machine does.
func TestLongPageOpensAtOnce(t *testing.T) {
	b := tab.New(t)
	b.Size(1280, 900)
	b.OpenFile(page(t, reporttest.Long(100_000)))
	took := tab.Eval[float64](b, `performance.getEntriesByType("navigation")[0].loadEventEnd`)
	t.Logf("loaded after %.0f ms", took)
	if took > 5000 {
		t.Errorf("loaded after %.0f ms", took)
	}
}
