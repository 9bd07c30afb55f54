package serve_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/serve"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// What would take too much memory is refused with the way to read it elsewhere.
func TestRunThatIsTooLarge(t *testing.T) {
	dir := folder(t)
	put(t, dir, "long-run", "it's long", reporttest.Long(4000))
	h := handler(t, serve.Options{Dir: dir, Memory: 64 << 20})
	for _, target := range []string{"/run/long-run/it%27s%20long/", "/compare/pictures?a=gc-pause/20261120-204501-42&b=long-run/it%27s+long"} {
		code, body, _ := get(t, h, target)
		for _, want := range []string{"Too large", "may take 64 MiB", "/run/long-run/it%27s%20long/file/unfenced/history.jsonl",
			"sim report", `/long-run/it&#39;\&#39;&#39;s long&#39;`} {
			if code != 413 || !strings.Contains(body, want) {
				t.Errorf("%s: %d, no %q\n%s", target, code, want, body)
			}
		}
	}
	for _, target := range []string{"/", "/run/gc-pause/20261120-204501-42/", "/compare?a=gc-pause/20261120-204501-42&b=long-run/it%27s+long",
		"/run/long-run/it%27s%20long/file/unfenced/history.jsonl"} {
		if code, body, _ := get(t, h, target); code != 200 {
			t.Errorf("%s: %d\n%s", target, code, body)
		}
	}
}

// Pages for which the memory does not suffice at once are made one after the other.
func TestManyRequestsAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "reports")
	put(t, dir, "long-run", "20261120-204501-42", reporttest.Long(80))
	h := handler(t, serve.Options{Dir: dir, Memory: 20 << 20})
	_, want, _ := get(t, h, "/run/long-run/20261120-204501-42/")
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if code, body, _ := get(t, h, "/run/long-run/20261120-204501-42/"); code != 200 || body != want {
				t.Errorf("%d", code)
			}
		})
	}
	all.Wait()
}

// How much memory a server takes that shows large runs: the peak is that of the whole
// process, with the pages for the requests that come at once.
func BenchmarkBigRun(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "reports")
	const run = "20261120-204501-42"
	put(b, dir, "long-run", run, reporttest.Long(40_000))
	put(b, dir, "longer-run", run, reporttest.Long(40))
	if err := os.Truncate(filepath.Join(dir, "longer-run", run, "fenced", "history.jsonl"), 200<<20); err != nil {
		b.Fatal(err)
	}
	size := func(scenario string) (n int64) {
		for _, variant := range []string{"unfenced", "fenced"} {
			info, err := os.Stat(filepath.Join(dir, scenario, run, variant, "history.jsonl"))
			if err != nil {
				b.Fatal(err)
			}
			n += info.Size() >> 20
		}
		return n
	}
	h := handler(b, serve.Options{Dir: dir, Memory: 1 << 30})
	for _, scenario := range []string{"long-run", "longer-run"} {
		for _, requests := range []int{1, 4, 16} {
			b.Run(fmt.Sprintf("%dMiB/%d", size(scenario), requests), func(b *testing.B) {
				debug.FreeOSMemory() // what others took
				if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil {
					suite.Lacks(b, "Linux's count of the memory in use: "+err.Error())
				}
				for b.Loop() {
					var all sync.WaitGroup
					for range requests {
						all.Go(func() { get(b, h, "/run/"+scenario+"/"+run+"/") })
					}
					all.Wait()
				}
				b.ReportMetric(peak(b), "peak-MiB")
			})
		}
	}
}

func peak(t testing.TB) float64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(data, []byte("VmHWM:"))
	var kib float64
	if _, err := fmt.Sscan(string(rest), &kib); err != nil {
		t.Fatal(err)
	}
	return kib / 1024
}
