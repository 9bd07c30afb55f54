package serve_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/redlock-sim/redlock-sim/internal/app/serve"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
)

// A reader's way through the server, in a real browser: the policies must let
// our own pages work.
func TestInABrowser(t *testing.T) {
	b := tab.New(t)
	dir := folder(t)
	h := handler(t, serve.Options{Dir: dir})
	srv := httptest.NewServer(h)
	defer srv.Close()
	b.Size(1280, 900)
	b.Do(chromedp.Navigate(srv.URL+"/?q=fence&token="+h.Token()), chromedp.WaitReady(chromedp.CSS("table.runs")))
	if got := tab.Eval[string](b, `location.search + document.cookie`); got != "?q=fence" {
		t.Errorf("the secret stays in the address or can be read: %s", got)
	}
	b.Do(chromedp.WaitReady(chromedp.CSS("table.runs")))
	if got := tab.Eval[string](b, `getComputedStyle(document.querySelector(".badge.unsafe")).color`); got != "rgb(179, 38, 30)" {
		t.Errorf("the style sheet does not apply: %s", got)
	}
	if out := os.Getenv("PAGES"); out != "" {
		b.Do(chromedp.Navigate(srv.URL))
		if err := os.WriteFile(filepath.Join(out, "serve.png"), tab.Get(b, chromedp.FullScreenshot(100)), 0o644); err != nil {
			t.Fatal(err)
		}
		b.Do(chromedp.Navigate(srv.URL + "/?q=fence"))
	}
	for _, address := range []string{"/", "/run/in-hand/20261120-204701-7/",
		"/compare?a=gc-pause/20261120-204501-42&b=leaky-fence/20261120-204601-42"} {
		b.Readable(address, func() { b.Do(chromedp.Navigate(srv.URL + address)) })
	}
	b.Size(1280, 900)
	b.Dark(false)
	b.Do(chromedp.Navigate(srv.URL + "/?q=fence"))
	b.Do(chromedp.Click(chromedp.CSS("table.runs a")), chromedp.WaitReady(chromedp.CSS("svg.picture")),
		// The report's script shows it.
		chromedp.WaitVisible(chromedp.CSS(".toolbar")))
	b.Do(chromedp.Navigate(srv.URL+"/?q=leaky"), chromedp.Click(chromedp.CSS("details summary")),
		chromedp.Click(chromedp.CSS("details button")), chromedp.WaitReady(chromedp.CSS("p.none")))
	if _, err := os.Stat(filepath.Join(dir, "leaky-fence")); !os.IsNotExist(err) {
		t.Errorf("the run was not deleted: %v", err)
	}
	b.Do(chromedp.Navigate(srv.URL+"/?outcome=Running"), chromedp.Click(chromedp.CSS("table.runs a")), chromedp.WaitReady(chromedp.CSS("dl")))
	if got := tab.Eval[string](b, `document.body.innerText`); !strings.Contains(got, "Running") {
		t.Errorf("the run in progress: %s", got)
	}
	b.Quiet(srv.URL)
}
