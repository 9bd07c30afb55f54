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

// The page has a picture before its engine runs, and within a second. An address that names another experiment has none: it would be the
// wrong one.
func TestFirstPicture(t *testing.T) {
	b := tab.New(t)
	b.Size(1400, 1000)
	path := filepath.Join(t.TempDir(), "play.html")
	if err := os.WriteFile(path, page(t), 0o644); err != nil {
		t.Fatal(err)
	}
	// What is seen is kept as it was before the engine answered.
	watch := `new Promise((done) => {
		const seen = { first: null, ready: null, both: false };
		const look = () => {
			const first = document.getElementById("first"), root = document.getElementById("play");
			const shown = first?.querySelector("svg.picture")?.getBoundingClientRect().height > 0;
			if (shown && seen.first === null) seen.first = performance.now();
			if (root?.dataset.state === "ready" && !first) return done({ ...seen, ready: performance.now(),
				paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1 });
			setTimeout(look, 5);
		};
		look();
	})`
	type seen struct{ First, Ready, Paint float64 }
	b.Do(chromedp.Navigate("file://" + path))
	got := tab.Eval[seen](b, watch)
	t.Logf("painted after %.0f ms, the engine was ready after %.0f ms", got.Paint, got.Ready)
	if got.First == 0 {
		t.Error("nothing was drawn before the engine was ready")
	}
	if got.Paint < 0 || got.Paint > 1000 && got.Paint > got.Ready/2 {
		t.Errorf("the first picture came after %.0f ms, the engine's after %.0f ms", got.Paint, got.Ready)
	}
	settled(b)
	if got := outcome(b); !strings.Contains(got, "violated") {
		t.Errorf("the engine then shows %q", got)
	}
	b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate("file://"+path+"#scenario=clock-jump&seed=3"))
	if other := tab.Eval[seen](b, watch); other.First != 0 {
		t.Errorf("the picture of another experiment was shown after %.0f ms", other.First)
	}
	if got := tab.Eval[string](b, `playground.answer.name`); got != "clock-jump" {
		t.Errorf("the address shows %q", got)
	}
}

// The first click on "Measure how often" gives a map, with scenarios of different kinds. Package engine tries all that there are.
func TestFirstClickMeasures(t *testing.T) {
	names := []string{"gc-pause", "sentinel-paused-primary", "multi-exec", "semaphore-counter"}
	b, _ := open(t, "#scenario="+names[0])
	for _, name := range names {
		tab.Eval[any](b, `playground.load({ yaml: playground.offer.scenarios.find((s) => s.name === "`+name+`").yaml,
			variant: "", seed: "1", window: null })`)
		settled(b)
		got := tab.Eval[string](b, `new Promise((done) => {
			const panel = document.querySelector('.panel[aria-label="How often"]'), button = panel.querySelector("button.main");
			const [steps, runs] = panel.querySelectorAll("select");
			[steps.value, runs.value] = [5, 20];
			button.click();
			const look = () => button.textContent === "Stop" ? setTimeout(look, 20)
				: done(panel.querySelectorAll(".tile").length + " tiles; " + panel.querySelector(".progress").textContent);
			look();
		})`)
		if n, _, _ := strings.Cut(got, " "); len(n) < 1 || n == "0" || strings.Contains(got, "hint:") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
