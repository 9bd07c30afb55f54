package play_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/redlock-sim/redlock-sim/internal/app/play"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
)

// root is the folder of this project.
const root = "../../.."

// bundle is the engine of these sources: the one that make play left, where it is of them, or one that is compiled now.
var bundle = sync.OnceValues(func() (*play.Bundle, error) {
	stamp, err := play.SourcesStamp(context.Background(), root)
	if err != nil {
		return nil, err
	}
	b := &play.Bundle{Stamp: stamp}
	made, err := os.ReadFile("built/stamp")
	if err == nil && strings.TrimSpace(string(made)) == stamp {
		if b.Wasm, err = os.ReadFile("built/play.wasm.gz"); err == nil {
			b.Exec, err = os.ReadFile("built/wasm_exec.js")
		}
		if err == nil {
			return b, nil
		}
	}
	return play.Build(context.Background(), play.Source{Dir: root}, stamp)
})

func page(t testing.TB) []byte {
	t.Helper()
	b, err := bundle()
	if err != nil {
		t.Fatal(err)
	}
	html, _, err := b.Page()
	if err != nil {
		t.Fatal(err)
	}
	return html
}

// open shows the playground, from disk, and waits until it has drawn.
func open(t *testing.T, fragment string) (*tab.Tab, string) {
	t.Helper()
	b := tab.New(t)
	b.Size(1400, 1000)
	path := filepath.Join(t.TempDir(), "play.html")
	if err := os.WriteFile(path, page(t), 0o644); err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.Navigate("file://" + path + fragment))
	settled(b)
	return b, "file://" + path
}

// settled waits until the page has drawn all that it was told.
func settled(b *tab.Tab) {
	b.T.Helper()
	tab.Eval[any](b, `new Promise((done) => {
		const look = async () => {
			const p = window.playground, state = document.getElementById("play")?.dataset.state;
			if (!p || !state) return setTimeout(look, 20);
			await p.ready;
			// A page that has another width hears of it after the next layout, and then runs again.
			await new Promise((next) => { requestAnimationFrame(() => setTimeout(next)); setTimeout(next, 500); });
			await p.idle();
			done();
		};
		look();
	})`)
}

// With PAGES set to a folder, pictures of the page are left there to be looked at.
func TestPagesToLookAt(t *testing.T) {
	dir := os.Getenv("PAGES")
	if dir == "" {
		t.Skip("PAGES names no folder")
	}
	b, _ := open(t, "")
	for _, c := range []struct {
		name  string
		width int64
		dark  bool
	}{{"play", 1400, false}, {"play-dark", 1400, true}, {"play-middle", 800, false}, {"play-narrow", 390, false}} {
		b.Size(c.width, 1000)
		b.Dark(c.dark)
		b.Drawn()
		settled(b)
		b.Drawn()
		keep(t, filepath.Join(dir, c.name+".png"), tab.Get(b, chromedp.FullScreenshot(100)))
	}
	t.Logf("redrawn in %.1f ms", tab.Eval[float64](b, `playground.redrawn ?? -1`))
	t.Log(tab.Eval[string](b, `document.body.innerText.slice(0, 600)`))
	t.Log(tab.Eval[string](b, `JSON.stringify({state: playground.state, `+
		`run: playground.answer?.runMicros, draw: playground.answer?.drawMicros, tabs: playground.answer?.tabs})`))
	t.Log(b.Troubles())
}

func keep(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// served serves a folder, and returns its address.
func served(t testing.TB, dir string) string {
	t.Helper()
	s := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(s.Close)
	return s.URL + "/"
}
