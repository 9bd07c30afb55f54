package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
)

// With PAGES set to a folder, the pages of all fixtures and pictures of them
// are left there to be looked at.
func TestPagesToLookAt(t *testing.T) {
	dir := os.Getenv("PAGES")
	if dir == "" {
		t.Skip("PAGES names no folder")
	}
	b := tab.New(t)
	for name, c := range reporttest.Cards() {
		html := []byte(write(t, func(w *bytes.Buffer) error { return card.WriteHTML(w, c) }))
		keep(t, filepath.Join(dir, name+".html"), html)
		look(b, dir, name, html)
	}
	pages := otherPages(t)
	pages["suite"] = suitePage(t)
	for name, html := range pages {
		keep(t, filepath.Join(dir, name+".html"), html)
		look(b, dir, name, html)
	}
	all := reporttest.All()
	all["long"] = reporttest.Long(100_000)
	for name, r := range all {
		html := page(t, r)
		keep(t, filepath.Join(dir, name+".html"), html)
		look(b, dir, name, html)
	}
}

func look(b *tab.Tab, dir, name string, html []byte) {
	for _, c := range []struct {
		suffix string
		width  int64
		dark   bool
	}{{"", 1400, false}, {"-dark", 1400, true}, {"-middle", 800, false}, {"-narrow", 390, false}} {
		b.Size(c.width, 1000)
		b.Dark(c.dark)
		b.OpenFile(html)
		keep(b.T, filepath.Join(dir, name+c.suffix+".png"), tab.Get(b, chromedp.FullScreenshot(100)))
		if tab.Eval[bool](b, `document.querySelector('#stage') !== null`) && c.width > 1000 {
			keep(b.T, filepath.Join(dir, name+c.suffix+"-picture.png"), tab.Get(b, chromedp.ScreenshotScale(chromedp.CSS("#stage"), 1.5)))
		}
	}
	for _, id := range []string{"story", "picture", "example", "properties", "history"} {
		if name == "gc-pause" {
			keep(b.T, filepath.Join(dir, name+"-narrow-"+id+".png"), tab.Get(b, chromedp.ScreenshotScale(chromedp.CSS("#"+id), 1)))
		}
	}
	keep(b.T, filepath.Join(dir, name+".pdf"), b.Print(chromedp.PaperA4))
}

func keep(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
