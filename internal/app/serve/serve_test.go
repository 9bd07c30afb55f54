package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/serve"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/report/page"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// put stores a result as a run leaves it behind.
func put(t testing.TB, dir, scenario, run string, r *report.Result) {
	t.Helper()
	at := filepath.Join(dir, scenario, run)
	var b bytes.Buffer
	if err := report.WriteJSON(&b, r); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(at, "result.json"), b.Bytes())
	write(t, filepath.Join(at, "scenario.yaml"), []byte(r.ScenarioText))
	for i := range r.Variants {
		if h := r.Variants[i].History; h != nil && !strings.ContainsAny(r.Variants[i].Name, "/\x00") {
			putHistory(t, filepath.Join(at, r.Variants[i].Name, "history.jsonl"), h)
		}
	}
}

func putHistory(t testing.TB, path string, h *history.History) {
	t.Helper()
	var b bytes.Buffer
	if err := history.Encode(&b, h); err != nil {
		t.Fatal(err)
	}
	write(t, path, b.Bytes())
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// folder holds two runs, one that is in hand, one that was cut short, one that
// cannot be read, and what a list must pass over.
func folder(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "reports")
	put(t, dir, "gc-pause", "20261120-204501-42", reporttest.GCPause())
	put(t, dir, "leaky-fence", "20261120-204601-42", reporttest.Unexpected())
	write(t, filepath.Join(dir, "bad", "20261120-204401-1", "result.json"), []byte("{"))
	long := reporttest.Interrupted().Variants[0].History
	putHistory(t, filepath.Join(dir, "in-hand", "20261120-204701-7", "unfenced", "history.jsonl"), long)
	cut := filepath.Join(dir, "cut", "20261120-100000-7", "unfenced", "history.jsonl")
	putHistory(t, cut, long)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(cut, old, old); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "README.md"), nil)
	write(t, filepath.Join(dir, "gc-pause", ".hidden", "result.json"), []byte("{}"))
	if err := os.Symlink("gc-pause/20261120-204501-42", filepath.Join(dir, "latest")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func handler(t testing.TB, o serve.Options) *serve.Handler {
	t.Helper()
	h, err := serve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func get(t testing.TB, h *serve.Handler, target string) (int, string, http.Header) {
	t.Helper()
	w := answer(h, httptest.NewRequest("GET", target, nil), "127.0.0.1:8137")
	return w.Code, w.Body.String(), w.Header()
}

// answer asks as a browser that has opened the address with the secret.
func answer(h *serve.Handler, r *http.Request, host string) *httptest.ResponseRecorder {
	open := httptest.NewRequest("GET", "/?token="+h.Token(), nil)
	open.Host, r.Host = host, host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, open)
	for _, c := range w.Result().Cookies() {
		r.AddCookie(c)
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func post(h *serve.Handler, target, run, site string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", target, strings.NewReader(url.Values{"run": {run}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", site)
	return answer(h, r, "127.0.0.1")
}

func TestListAndFilter(t *testing.T) {
	h := handler(t, serve.Options{Dir: folder(t)})
	for _, c := range []struct {
		query     string
		want, not []string
	}{
		{"/", []string{"5 runs", "gc-pause", "leaky-fence", "As expected", "Not as expected", "Running", "Cut short", "Unreadable"},
			[]string{"latest", ".hidden", "README"}},
		{"/?outcome=Unreadable", []string{"result.json: not a result"}, []string{">gc-pause<"}},
		{"/?q=leaky+FENCED", []string{"leaky-fence"}, []string{">gc-pause<", ">in-hand<"}},
		{"/?outcome=Running", []string{"in-hand"}, []string{">gc-pause<"}},
		{"/?q=nothing-like-it", []string{"No run matches"}, []string{"<table"}},
	} {
		code, body, _ := get(t, h, c.query)
		if code != 200 {
			t.Fatalf("%s: %d", c.query, code)
		}
		for _, w := range c.want {
			if !strings.Contains(body, w) {
				t.Errorf("%s: no %q", c.query, w)
			}
		}
		for _, n := range c.not {
			if strings.Contains(body, n) {
				t.Errorf("%s: has %q", c.query, n)
			}
		}
	}
	if _, body, _ := get(t, h, "/"); strings.Index(body, ">in-hand<") > strings.Index(body, ">leaky-fence<") {
		t.Error("the newest run does not come first")
	}
}

// Only two runs of one scenario are proposed for a comparison; where there is nothing, there is a way back.
func TestProposedComparison(t *testing.T) {
	dir := folder(t)
	h := handler(t, serve.Options{Dir: dir})
	chosen := func() int {
		_, body, _ := get(t, h, "/")
		reporttest.Sound(t, "list", []byte(body))
		return strings.Count(body, " checked")
	}
	if n := chosen(); n != 0 {
		t.Errorf("%d runs are chosen, but no two are of one scenario", n)
	}
	put(t, dir, "gc-pause", "20261121-204501-43", reporttest.GCPause())
	h = handler(t, serve.Options{Dir: dir})
	if n := chosen(); n != 2 {
		t.Errorf("%d runs are chosen, want the two of gc-pause", n)
	}
	code, body, _ := get(t, h, "/run/gc-pause/no-such-run/")
	if reporttest.Sound(t, "not found", []byte(body)); code != http.StatusNotFound || !strings.Contains(body, `href="/"`) {
		t.Errorf("code %d, or no way back", code)
	}
}

// The first page leads to what else there is: the suite, cards, finds of searches. What it leads to is there, and so is what that leads to.
func TestFirstPageLeadsToAll(t *testing.T) {
	dir := folder(t)
	audit := filepath.Join(dir, "audit", "20261120-204501-1")
	c := reporttest.Card()
	var b bytes.Buffer
	if err := card.WriteJSON(&b, c); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(audit, "card.json"), b.Bytes())
	write(t, filepath.Join(audit, "card.html"), []byte("<script>planted</script>"))
	put(t, filepath.Join(audit, "redlock"), "gc-pause", "20261120-204501-1", reporttest.GCPause())
	put(t, filepath.Join(dir, "found"), "gc-pause-exclusive-lease-7", "20261120-204501-7", reporttest.GCPause())
	for i := range 9 {
		put(t, filepath.Join(dir, "found"), fmt.Sprint("other-", i), "20261120-204501-7", reporttest.GCPause())
	}
	h := handler(t, serve.Options{Dir: dir})
	_, first, _ := get(t, h, "/")
	reporttest.Sound(t, "first page", []byte(first))
	if !regexp.MustCompile(`scenarios</a> <span class="of">(all as expected|[0-9]+ not as expected)<`).MatchString(first) {
		t.Error("the suite's row does not say how many are not as expected")
	}
	two := "a=" + url.QueryEscape("gc-pause/20261120-204501-42") + "&b=" + url.QueryEscape("leaky-fence/20261120-204601-42")
	for _, at := range []string{"/suite", "/stored/audit/20261120-204501-1/", "/run/gc-pause/20261120-204501-42/", "/compare?" + two,
		"/compare/pictures?" + two, "/run/in-hand/20261120-204701-7/"} {
		if code, body, _ := get(t, h, at); code != 200 || !strings.Contains(body, `<p class="brand"><a href="/">`) {
			t.Errorf("%s: %d, or nothing leads back to the list", at, code)
		}
	}
	for link, want := range map[string]string{
		"/suite":                           `href="/run/gc-pause/20261120-204501-42/`,
		"/stored/audit/20261120-204501-1/": "What can be relied on",
		"/stored/found/gc-pause-exclusive-lease-7/20261120-204501-7/": "two holders at once, 803 ms",
	} {
		if !strings.Contains(first, `href="`+link+`"`) {
			t.Errorf("the first page does not lead to %s", link)
		}
		code, body, head := get(t, h, link)
		if code != 200 || !strings.Contains(body, want) || strings.Contains(body, "planted") {
			t.Errorf("%s: %d, or without %q", link, code, want)
		}
		if csp := head.Get("Content-Security-Policy"); !strings.HasPrefix(csp, page.Policy()) {
			t.Errorf("%s: policy %q", link, csp)
		}
	}
	if !strings.Contains(first, "and 4 more") {
		t.Error("ten finds are listed, or it is not said that there are more")
	}
	// The links of a card are relative: a run, as it is called in the folder, and what can be saved of it.
	run := "/stored/audit/20261120-204501-1/redlock/gc-pause/20261120-204501-1/"
	if code, _, head := get(t, h, run+"report.html"); code != http.StatusSeeOther || head.Get("Location") != run {
		t.Errorf("the report of an audit's run: %d to %q", code, head.Get("Location"))
	}
	for _, at := range []string{run, run + "unfenced/history.jsonl"} {
		if code, _, _ := get(t, h, at); code != 200 {
			t.Errorf("%s: %d", at, code)
		}
	}
	for _, at := range []string{"/nowhere", "/stored/", "/stored/gc-pause/20261120-204501-42/", "/stored/audit/", "/stored/audit/none/",
		"/stored/found/none/", "/stored/audit/20261120-204501-1/card.html", "/stored/audit/20261120-204501-1/redlock/x/y/"} {
		code, body, _ := get(t, h, at)
		reporttest.Sound(t, at, []byte(body))
		if code != http.StatusNotFound || !strings.Contains(body, `href="/"`) || strings.Contains(body, dir) {
			t.Errorf("%s: %d, or no way back", at, code)
		}
	}
}

func TestRunShowsItsReport(t *testing.T) {
	dir := folder(t)
	planted := filepath.Join(dir, "gc-pause", "20261120-204501-42", "report.html")
	write(t, planted, []byte("<script>planted</script>"))
	h := handler(t, serve.Options{Dir: dir})
	code, body, head := get(t, h, "/run/gc-pause/20261120-204501-42/")
	if code != 200 || !strings.Contains(body, "two holders at once, 803 ms") || !strings.Contains(body, "node_timeout: 50ms") {
		t.Errorf("%d, without the picture or the scenario", code)
	}
	if strings.Contains(body, "planted") {
		t.Error("a file that lay in the folder was served as a page")
	}
	if csp := head.Get("Content-Security-Policy"); !strings.HasPrefix(csp, page.Policy()) || strings.Contains(csp, "unsafe") {
		t.Errorf("policy %q", csp)
	}
	if code, body, _ := get(t, h, "/run/cut/20261120-100000-7/"); code != 200 ||
		!strings.Contains(body, "The run was interrupted") || !strings.Contains(body, "pause, to the end") {
		t.Errorf("the run that was cut short: %d", code)
	}
}

func TestProgressOfARunInHand(t *testing.T) {
	dir := folder(t)
	h := handler(t, serve.Options{Dir: dir})
	_, body, _ := get(t, h, "/run/in-hand/20261120-204701-7/")
	for _, want := range []string{"Running", "<dd>25</dd>", "1.210 s", "acquire", `http-equiv="refresh"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in %s", want, body)
		}
	}
	put(t, dir, "in-hand", "20261120-204701-7", reporttest.GCPause())
	if _, body, _ = get(t, h, "/run/in-hand/20261120-204701-7/"); !strings.Contains(body, "The picture") {
		t.Error("once the run is done, its page is not its report")
	}
}

func TestForeignNamesAreRefused(t *testing.T) {
	h := handler(t, serve.Options{Dir: folder(t), Hosts: []string{"sim.example"}})
	for host, want := range map[string]int{
		"127.0.0.1:8137": 200, "localhost": 200, "LOCALHOST:1": 200, "[::1]:8137": 200, "sim.example": 200, "127.0.0.2": 200,
		"evil.example": 421, "": 421, "192.168.0.1": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example:80": 421,
	} {
		if w := answer(h, httptest.NewRequest("GET", "/", nil), host); w.Code != want {
			t.Errorf("host %q: %d, want %d", host, w.Code, want)
		}
	}
}

// Nothing outside the folder can be had, by any spelling, and no file that is
// not a run's.
func TestConfinement(t *testing.T) {
	dir := folder(t)
	secret := filepath.Join(filepath.Dir(dir), "secret.json")
	write(t, secret, []byte("secret"))
	write(t, filepath.Join(filepath.Dir(dir), "outside", "x", "result.json"), []byte("secret"))
	run := filepath.Join(dir, "gc-pause", "20261120-204501-42")
	for link, to := range map[string]string{
		filepath.Join(run, "evil.json"):      secret,
		filepath.Join(run, "up.json"):        "../../../secret.json",
		filepath.Join(dir, "linked"):         "../outside",
		filepath.Join(dir, "gc-pause", "ln"): "../../outside/x",
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	h := handler(t, serve.Options{Dir: dir})
	base := "/run/gc-pause/20261120-204501-42/file/"
	for _, target := range []string{
		base + "evil.json", base + "up.json", base + "%2e%2e/%2e%2e/%2e%2e/secret.json", base + "..%2f..%2f..%2fsecret.json",
		base + "%2fetc%2fpasswd", base + "report.html", base + "unfenced", base, "/run/linked/x/", "/run/gc-pause/ln/",
		"/run/%2e%2e/outside/", "/run/..%2foutside/x/", "/run/gc-pause/%2e%2e/", "/run/.hidden/x/", "/run/a%00b/c/",
		"/compare?a=../outside&b=linked/x",
	} {
		code, body, _ := get(t, h, target)
		if code == 200 || strings.Contains(body, "secret") || strings.Contains(body, dir) {
			t.Errorf("%s: %d %q", target, code, body)
		}
	}
	code, body, head := get(t, h, base+"unfenced/history.jsonl")
	if code != 200 || !strings.HasPrefix(body, `{"format"`) ||
		head.Get("Content-Type") != "text/plain; charset=utf-8" || head.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the run's own history: %d, %v", code, head)
	}
}

func TestDelete(t *testing.T) {
	dir := folder(t)
	h := handler(t, serve.Options{Dir: dir})
	const run = "leaky-fence/20261120-204601-42"
	there := func(run string) bool {
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(run)))
		return err == nil
	}
	for _, c := range []struct {
		run, site string
		want      int
	}{
		{run, "cross-site", 403},
		{run, "same-site", 403}, // another server of this machine
		{"in-hand/20261120-204701-7", "same-origin", 409},
		{"gc-pause", "same-origin", 404},
		{"gc-pause/..", "same-origin", 404},
		{"../reports", "same-origin", 404},
		{"latest/unfenced", "same-origin", 404},
		{"gc-pause/no-such-run", "same-origin", 404},
	} {
		if w := post(h, "/delete", c.run, c.site); w.Code != c.want || !there(run) || !there("gc-pause/20261120-204501-42/unfenced") {
			t.Errorf("%+v: got %d", c, w.Code)
		}
	}
	if code, _, _ := get(t, h, "/delete?run="+run); code != 405 || !there(run) {
		t.Errorf("a GET: %d", code)
	}
	ro := handler(t, serve.Options{Dir: dir, ReadOnly: true})
	if _, body, _ := get(t, ro, "/"); strings.Contains(body, "/delete") {
		t.Error("a read-only list offers to delete")
	}
	if w := post(ro, "/delete", run, "same-origin"); w.Code != 403 || !there(run) {
		t.Errorf("a read-only server: %d", w.Code)
	}
	w := post(h, "/delete?q=leaky&page=2", run, "same-origin")
	if w.Code != 303 || w.Header().Get("Location") != "/?q=leaky&page=2" ||
		there(run) || there("leaky-fence") || !there("gc-pause/20261120-204501-42") {
		t.Errorf("deleting: %d, to %s", w.Code, w.Header().Get("Location"))
	}
	if _, body, _ := get(t, h, "/"); strings.Contains(body, "leaky-fence") {
		t.Error("the list has the deleted run")
	}
}

func TestCompareTwoRuns(t *testing.T) {
	dir := folder(t)
	put(t, dir, "gc-pause", "20261121-000000-42", func() *report.Result {
		r := reporttest.Unexpected()
		r.Scenario = "gc-pause"
		return r
	}())
	h := handler(t, serve.Options{Dir: dir})
	query := "?a=gc-pause/20261120-204501-42&b=gc-pause/20261121-000000-42"
	if code, body, _ := get(t, h, "/compare"+query); code != 200 ||
		!strings.Contains(body, "Regression") || !strings.Contains(body, "linearizable-resource") {
		t.Errorf("comparison: %d", code)
	}
	if code, _, head := get(t, h, "/compare"+query+"&show=pictures"); code != 303 ||
		!strings.HasPrefix(head.Get("Location"), "/compare/pictures?a=") {
		t.Errorf("pictures: %d to %s", code, head.Get("Location"))
	}
	if code, body, _ := get(t, h, "/compare/pictures"+query); code != 200 || strings.Count(body, `<svg class="picture"`) != 4 {
		t.Errorf("pictures: %d, %d of them", code, strings.Count(body, `<svg class="picture"`))
	}
}

func TestHostileNamesStayInert(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "reports")
	hostile := reporttest.Hostile()
	hostile.Variants[0].History = nil
	put(t, dir, `"><img src=x onerror=alert(1)>?#`, `20261120 <b>`, hostile)
	h := handler(t, serve.Options{Dir: dir})
	_, body, _ := get(t, h, "/?q="+url.QueryEscape(`"><script>alert(2)</script>`))
	_, all, _ := get(t, h, "/")
	for _, page := range []string{body, all} {
		if strings.Contains(page, "<img") || strings.Contains(page, "<script") || strings.Contains(page, "<b>") {
			t.Errorf("a name got out of its place:\n%s", page)
		}
	}
	link := regexp.MustCompile(`href="(/run/[^"]+)"`).FindStringSubmatch(all)[1]
	if code, page, _ := get(t, h, link); code != 200 || strings.Contains(page, "<img") {
		t.Errorf("%s: %d", link, code)
	}
}

func TestRunListensOnLoopbackOnly(t *testing.T) {
	h := handler(t, serve.Options{Dir: folder(t)})
	if err := serve.Run(t.Context(), "0.0.0.0:0", false, h, nil); err == nil || !strings.Contains(err.Error(), "other machines") {
		t.Errorf("an open address was not refused: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	urls, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- serve.Run(ctx, "127.0.0.1:0", false, h, func(u string, open bool) {
			if open {
				t.Error("the loopback interface is said to be open")
			}
			urls <- u
		})
	}()
	res, err := browser(t).Get(suite.Receive(t, "the address", urls) + "?token=" + h.Token())
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.StatusCode != 200 || !strings.Contains(string(body), "gc-pause") {
		t.Errorf("got %s", res.Status)
	}
	cancel()
	if err := suite.Receive(t, "its end", done); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

func TestNewNeedsAFolder(t *testing.T) {
	if _, err := serve.New(serve.Options{Dir: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a folder that is not there was opened")
	}
}
