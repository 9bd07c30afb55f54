package serve_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/serve"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// A report leads to the playground where there is one, with its own scenario; else it names the command.
func TestPlayground(t *testing.T) {
	dir := folder(t)
	with := func() ([]byte, string, error) { return []byte("<title>here</title>"), "default-src 'none'", nil }
	h := handler(t, serve.Options{Dir: dir, Playground: with})
	code, body, head := get(t, h, "/play")
	if code != 200 || !strings.Contains(body, "here") ||
		!strings.HasPrefix(head.Get("Content-Security-Policy"), "default-src 'none'; frame-ancestors") {
		t.Errorf("the playground: %d %s %v", code, body, head)
	}
	without := func() ([]byte, string, error) { return nil, "", errors.New("it was not built") }
	h = handler(t, serve.Options{Dir: dir, Playground: without})
	if code, body, _ := get(t, h, "/play"); code != 503 || !strings.Contains(body, "it was not built") {
		t.Errorf("without a playground: %d %s", code, body)
	}
	hinted := func() ([]byte, string, error) {
		return nil, "", words.WithHint(errors.New("it was not built"), "sim play compiles it once")
	}
	h = handler(t, serve.Options{Dir: dir, Playground: hinted})
	if _, body, _ := get(t, h, "/play"); !strings.Contains(body, "It was not built. What to do: sim play compiles it once.") ||
		!strings.Contains(body, `<a href="/">`) {
		t.Errorf("without a playground: %s", body)
	}
	h = handler(t, serve.Options{Dir: dir})
	if code, _, _ := get(t, h, "/play"); code != 404 {
		t.Errorf("no playground: %d", code)
	}
}

// The playground alone is served to whoever is on this machine, under no other name, and nothing else is.
func TestPlay(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	address, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- serve.Play(ctx, "127.0.0.1:0", []byte("<title>here</title>"), "default-src 'none'", func(url string) { address <- url })
	}()
	url := suite.Receive(t, "the address", address)
	for _, c := range []struct {
		path, host string
		code       int
	}{{"", "", 200}, {"style.css", "", 404}, {"", "evil.example", 421}} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = c.host
		res, err := (&http.Client{Timeout: suite.Patience}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != c.code || (c.code == 200) != strings.Contains(string(body), "here") {
			t.Errorf("%s of %q: %d %s %v", c.path, c.host, res.StatusCode, body, err)
		}
		_ = res.Body.Close()
	}
	cancel()
	if err := suite.Receive(t, "its end", done); err != nil {
		t.Error(err)
	}
	if err := serve.Play(context.Background(), "0.0.0.0:0", nil, "", nil); err == nil {
		t.Error("it can be reached from other machines")
	}
}
