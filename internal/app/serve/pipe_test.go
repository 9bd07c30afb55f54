//go:build unix

package serve_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/serve"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// A pipe would be waited for without end: the test ends, or runs into its time limit.
func TestPipesAreNotOpened(t *testing.T) {
	dir := folder(t)
	const run = "20261119-000000-1"
	pipe := func(path ...string) {
		t.Helper()
		at := filepath.Join(append([]string{dir}, path...)...)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(at)
		if err := syscall.Mkfifo(at, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(t, dir, "parts", run, reporttest.GCPause())
	pipe("result", run, "result.json")
	pipe("history", run, "unfenced", "history.jsonl")
	pipe("parts", run, "scenario.yaml")
	pipe("parts", run, "unfenced", "history.jsonl")
	pipe("parts", run, "node-A.log")
	pipe("variant", run, "unfenced")
	pipe("run", run)
	pipe("scenario")
	putHistory(t, filepath.Join(dir, "live", run, "unfenced", "history.jsonl"), reporttest.Interrupted().Variants[0].History)
	pipe("live", run, "fenced", "history.jsonl")
	h := handler(t, serve.Options{Dir: dir})
	for target, want := range map[string]int{
		"/": 200, "/?q=result+regular": 200,
		"/run/result/" + run + "/": 422, "/run/history/" + run + "/": 404, "/run/parts/" + run + "/": 200, "/run/live/" + run + "/": 200,
		"/run/variant/" + run + "/": 404, "/run/run/" + run + "/": 404, "/run/scenario/" + run + "/": 404,
		"/run/parts/" + run + "/file/scenario.yaml": 404, "/run/parts/" + run + "/file/node-A.log": 404,
		"/run/parts/" + run + "/file/unfenced/history.jsonl": 404,
		"/compare?a=parts/" + run + "&b=result/" + run:       422, "/compare/pictures?a=parts/" + run + "&b=live/" + run: 200,
	} {
		if code, body, _ := get(t, h, target); code != want {
			t.Errorf("%s: %d, want %d\n%s", target, code, want, body)
		}
	}
	if w := post(h, "/delete", "result/"+run, "same-origin"); w.Code != 303 {
		t.Errorf("deleting: %d", w.Code)
	}
}

// A file that becomes a pipe, a link or a folder between two looks at it.
func TestFileThatIsSwapped(t *testing.T) {
	dir := folder(t)
	const run = "20261120-204501-42"
	at := filepath.Join(dir, "gc-pause", run)
	outside := filepath.Join(filepath.Dir(dir), "secret.json")
	write(t, outside, []byte(`{"version": 1, "title": "from-outside"}`))
	original, err := os.ReadFile(filepath.Join(at, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		next := filepath.Join(dir, ".next")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			var err error
			switch i % 3 {
			case 0:
				err = syscall.Mkfifo(next, 0o644)
			case 1:
				err = os.Symlink(outside, next)
			case 2:
				err = os.WriteFile(next, original, 0o644)
			}
			for _, name := range []string{"result.json", "unfenced/history.jsonl"}[i%2 : i%2+1] {
				if err == nil {
					err = os.Rename(next, filepath.Join(at, name))
				}
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	h := handler(t, serve.Options{Dir: dir})
	for range 100 {
		for _, target := range []string{"/", "/run/gc-pause/" + run + "/",
			"/run/gc-pause/" + run + "/file/result.json", "/compare?a=gc-pause/" + run + "&b=cut/20261120-100000-7"} {
			if code, body, _ := get(t, h, target); strings.Contains(body, "from-outside") {
				t.Errorf("%s: %d\n%s", target, code, body)
			}
		}
	}
	close(stop)
	suite.Returns(t, "the end of the swaps", swapping.Wait)
}
