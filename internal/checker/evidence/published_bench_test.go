package evidence

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/linear"
)

// published are the histories that porcupine's module ships, by what they are of.
func published(tb testing.TB) map[string][]string {
	tb.Helper()
	dir := porcupineData(tb)
	files := map[string][]string{}
	for n := range 103 {
		path := filepath.Join(dir, "jepsen", fmt.Sprintf("etcd_%03d.log", n))
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			files["etcd"] = append(files["etcd"], path)
		}
	}
	for _, name := range []string{"c01-ok", "c01-bad", "c10-ok", "c10-bad", "c50-ok", "c50-bad"} {
		files["kv-"+name] = []string{filepath.Join(dir, "kv", name+".txt")}
	}
	return files
}

// problemsOf are the questions that a file asks, one for each of its keys, after reading and before any is decided.
func problemsOf(tb testing.TB, path, model string) (list []linear.Problem, operations int) {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	b, _, err := build(f, Options{Model: model})
	if err != nil {
		tb.Fatal(err)
	}
	for _, p := range b.parts {
		q, why := b.question(p)
		if why != "" {
			tb.Fatal(why)
		}
		list, operations = append(list, q.problem), operations+len(p.h.Ops)
	}
	return list, operations
}

// BenchmarkPublished decides the histories that porcupine ships by linear and by porcupine, in turns, each part of a history in the
// same model with the same hash, as porcupine takes them: whole. What is measured is deciding, not reading. It reports how long each took,
// the medians of all rounds, and the quartiles of their ratio. Each has 30 s and 4 GB for each part; what is undecided then is counted.
func BenchmarkPublished(b *testing.B) {
	files := published(b)
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			model := "kv"
			if name == "etcd" {
				model = "cas-register"
			}
			var problems []linear.Problem
			operations := 0
			for _, path := range files[name] {
				list, n := problemsOf(b, path, model)
				problems, operations = append(problems, list...), operations+n
			}
			compareInTurns(b, problems)
			b.ReportMetric(float64(operations), "operations")
		})
	}
}

func compareInTurns(b *testing.B, problems []linear.Problem) {
	ctx, bounds := context.Background(), linear.Bounds{Timeout: 30 * time.Second, Memory: 4 << 30}
	ways := [2]func(p *linear.Problem) linear.Outcome{
		func(p *linear.Problem) linear.Outcome { r, _ := p.Check(ctx, bounds); return r.Outcome },
		func(p *linear.Problem) linear.Outcome {
			whole := p.Model
			whole.Settle = nil // porcupine as it is, without our cuts
			return linear.Reference(ctx, whole, p.History, bounds).Outcome
		},
	}
	var took [2][]float64
	var undecided [2]int
	for round := 0; b.Loop(); round++ {
		outcomes := [2][]linear.Outcome{}
		for turn := range ways {
			way := (turn + round) % len(ways) // who begins changes
			started := time.Now()
			for i := range problems {
				outcomes[way] = append(outcomes[way], ways[way](&problems[i]))
			}
			took[way] = append(took[way], time.Since(started).Seconds())
		}
		for i := range problems {
			mine, other := outcomes[0][i], outcomes[1][i]
			for way, o := range [2]linear.Outcome{mine, other} {
				if o == linear.Undecided {
					undecided[way]++
				}
			}
			if mine != other && mine != linear.Undecided && other != linear.Undecided {
				b.Fatalf("part %d: linear says %v, porcupine %v", i, mine, other)
			}
		}
	}
	var ratios []float64
	for i := range took[0] {
		ratios = append(ratios, took[1][i]/took[0][i])
	}
	for _, list := range [][]float64{took[0], took[1], ratios} {
		slices.Sort(list)
	}
	n := len(ratios)
	b.ReportMetric(0, "ns/op") // it would be both together
	b.ReportMetric(1e3*took[0][n/2], "linear-ms")
	b.ReportMetric(1e3*took[1][n/2], "porcupine-ms")
	b.ReportMetric(ratios[n/4], "ratio-q1")
	b.ReportMetric(ratios[n/2], "ratio-median")
	b.ReportMetric(ratios[3*n/4], "ratio-q3")
	b.ReportMetric(float64(undecided[0])/float64(n), "linear-undecided")
	b.ReportMetric(float64(undecided[1])/float64(n), "porcupine-undecided")
}

// TestPublishedInTurns: both ways decide what is published alike; the short histories only.
func TestPublishedInTurns(t *testing.T) {
	decided := 0
	for name, list := range published(t) {
		model := "kv"
		if name == "etcd" {
			model = "cas-register"
		} else if !strings.HasPrefix(name, "kv-c01") {
			continue
		}
		for _, path := range list {
			problems, _ := problemsOf(t, path, model)
			for _, p := range problems {
				got, _ := p.Check(context.Background(), linear.Bounds{})
				want := linear.Reference(context.Background(), p.Model, p.History, linear.Bounds{Timeout: time.Minute})
				if got.Outcome != want.Outcome || want.Outcome == linear.Undecided {
					t.Errorf("%s: linear says %v (%s), porcupine %v (%s)", path, got.Outcome, got.Why, want.Outcome, want.Why)
				}
				decided++
			}
		}
	}
	if decided < 104 {
		t.Errorf("only %d parts were decided", decided)
	}
}
