package serve_test

import (
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/serve"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// browser keeps cookies as browsers do: by the host, whatever the port.
func browser(t testing.TB) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, Timeout: suite.Patience}
}

func visit(t testing.TB, b *http.Client, target string) (status int, at *url.URL) {
	t.Helper()
	res, err := b.Get(target)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode, res.Request.URL
}

func TestNothingWithoutTheSecret(t *testing.T) {
	dir := folder(t)
	h, other := handler(t, serve.Options{Dir: dir}), handler(t, serve.Options{Dir: dir})
	ask := func(method, target string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, target, nil)
		r.Host = "127.0.0.1:8137"
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	const run = "/run/gc-pause/20261120-204501-42/"
	for _, c := range []struct{ method, target string }{
		{"GET", "/"}, {"HEAD", "/"}, {"GET", run}, {"GET", run + "file/result.json"}, {"GET", "/style.css"}, {"GET", "/no-such-page"},
		{"GET", "/compare?a=gc-pause/20261120-204501-42&b=leaky-fence/20261120-204601-42"}, {"POST", "/delete"}, {"OPTIONS", "/"},
		{"GET", "/?token="}, {"GET", "/?token=guessed"}, {"GET", "/?token=" + other.Token()}, {"GET", "/?token=" + h.Token()[1:]},
		{"GET", "/?Token=" + h.Token()}, {"GET", "/?q=&token=guessed&token=" + h.Token()},
		{"POST", "/delete?token=" + h.Token()}, {"PUT", "/?token=" + h.Token()},
	} {
		w := ask(c.method, c.target)
		if body := w.Body.String(); w.Code != 403 || strings.Contains(body, "gc-pause") ||
			c.method == "GET" && !strings.Contains(body, "open the address that sim printed") {
			t.Errorf("%s %s: %d\n%s", c.method, c.target, w.Code, body)
		}
		if len(w.Result().Cookies()) > 0 {
			t.Errorf("%s %s: a cookie", c.method, c.target)
		}
	}
	w := ask("GET", run+"?a=1&token="+h.Token()+"&b=%2F")
	cookies := w.Result().Cookies()
	if w.Code != 303 || w.Header().Get("Location") != run+"?a=1&b=%2F" || len(cookies) != 1 {
		t.Fatalf("the address with the secret: %d, %v", w.Code, w.Header())
	}
	c := cookies[0]
	if c.Name != "sim-8137" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode ||
		c.Path != "/" || c.Domain != "" || strings.Contains(c.String(), h.Token()) {
		t.Errorf("the cookie: %s", c)
	}
	if w := ask("GET", "/", c); w.Code != 200 || !strings.Contains(w.Body.String(), "gc-pause") {
		t.Errorf("with the cookie: %d", w.Code)
	}
	if w := ask("GET", "/?token=old", c); w.Code != 303 || w.Header().Get("Location") != "/" {
		t.Errorf("with the cookie and an old secret: %d", w.Code)
	}
	for _, bad := range []*http.Cookie{
		{Name: "sim-8138", Value: c.Value}, {Name: "sim-8137", Value: h.Token()}, {Name: "sim-8137", Value: ""},
	} {
		if w := ask("GET", "/", bad); w.Code != 403 {
			t.Errorf("cookie %s: %d", bad, w.Code)
		}
	}
}

// The secret is taken out of the address by a redirect, which must not lead to another host.
func TestSecretLeadsToNoOtherHost(t *testing.T) {
	h := handler(t, serve.Options{Dir: folder(t)})
	for _, target := range []string{"//evil.example/", "/%5Cevil.example/", "/\\evil.example/", "///evil.example"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.URL, r.Host = &url.URL{Path: target, RawQuery: "token=" + h.Token()}, "127.0.0.1"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if to := w.Header().Get("Location"); !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.Contains(to, `\`) {
			t.Errorf("%s leads to %s", target, to)
		}
	}
}

// A browser sends no such cookie when another site's link leads here, and says so.
func TestLinkOfAnotherSite(t *testing.T) {
	h := handler(t, serve.Options{Dir: folder(t)})
	for site, want := range map[string]bool{"cross-site": true, "none": false, "same-origin": false} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = "localhost:8137"
		r.Header.Set("Sec-Fetch-Site", site)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 403 || strings.Contains(w.Body.String(), "Open this page again") != want {
			t.Errorf("%s: %d %s", site, w.Code, w.Body)
		}
	}
}

func TestTwoServersInOneBrowser(t *testing.T) {
	b := browser(t)
	var urls []string
	for range 2 {
		h := handler(t, serve.Options{Dir: folder(t)})
		srv := httptest.NewServer(h)
		defer srv.Close()
		urls = append(urls, srv.URL)
		if code, at := visit(t, b, srv.URL+"/?token="+h.Token()); code != 200 || at.RawQuery != "" {
			t.Fatalf("%d at %s", code, at)
		}
	}
	for _, u := range append(urls, urls...) {
		if code, _ := visit(t, b, u+"/style.css"); code != 200 {
			t.Errorf("%s: %d", u, code)
		}
	}
}

func TestChosenSecret(t *testing.T) {
	dir := folder(t)
	for token, good := range map[string]bool{
		"0123456789abcdef": true, strings.Repeat("x", 256): true, "0123456789-._~AZ": true,
		"0123456789abcde": false, strings.Repeat("x", 257): false,
		"0123456789 abcdef": false, "0123456789abcdef\n": false, "0123456789abcd&e=f": false,
	} {
		h, err := serve.New(serve.Options{Dir: dir, Token: token})
		if good == errors.Is(err, serve.ErrToken) {
			t.Errorf("%q: %v", token, err)
		}
		if err == nil {
			if h.Token() != token {
				t.Errorf("%q became %q", token, h.Token())
			}
			_ = h.Close()
		}
	}
	if a, b := handler(t, serve.Options{Dir: dir}).Token(), handler(t, serve.Options{Dir: dir}).Token(); a == b || len(a) < 26 {
		t.Errorf("secrets %q and %q", a, b)
	}
}
