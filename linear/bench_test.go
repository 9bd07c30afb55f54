package linear

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"
)

// load makes big histories: clients work one operation after the other, a
// share of the outcomes is unknown, and the last operations may be wrong.
type load struct {
	kind         string
	ops, clients int
	unknown      float64
	late         bool
}

func (l load) String() string {
	s := fmt.Sprintf("%s/ops=%d/clients=%d/unknown=%g%%", l.kind, l.ops, l.clients, 100*l.unknown)
	if l.late {
		s += "/late-violation"
	}
	return s
}

func (l load) make() History {
	r := rand.New(rand.NewPCG(uint64(l.ops), uint64(l.clients)))
	var h History
	switch l.kind {
	case "lock":
		h = l.lock(r)
	case "increment":
		h = l.cell(r, func(v, n int64) Op { return Op{Kind: CAS, A: v, B: v + 1} })
	case "register":
		h = l.cell(r, func(v, n int64) Op {
			switch r.IntN(4) {
			case 0:
				return Op{Kind: CAS, A: v, B: n}
			case 1, 2:
				return Op{Kind: Read, A: v}
			}
			return Op{Kind: Write, A: n}
		})
	}
	return h
}

// lock: a client acquires when the lock is free and releases a little later,
// while the others wait with their acquires under way.
func (l load) lock(r *rand.Rand) History {
	h := History{Ops: make([]Op, 0, l.ops)}
	waiting := make([]int64, l.clients) // since when each client has been asking
	t := int64(0)
	for tag := int64(0); len(h.Ops)+1 < l.ops; tag++ {
		p := r.IntN(l.clients)
		t += 10
		held := t
		t += 10
		acquire := Op{Kind: Acquire, Process: int32(p), A: None, B: tag, Call: waiting[p], Return: held + r.Int64N(5)}
		release := Op{Kind: Release, Process: int32(p), A: None, B: tag, Call: t, Return: t + 1 + r.Int64N(5)}
		waiting[p] = release.Return + 1
		if r.Float64() < l.unknown {
			release.Return = Never
		}
		if l.late && len(h.Ops)+4 >= l.ops && tag > 0 {
			acquire.Call, acquire.Return = held-19, held-18 // inside the grant before
			release.Call, release.Return = held, held+1
			h.Ops[len(h.Ops)-1].Call, h.Ops[len(h.Ops)-1].Return = held-12, held-11
			l.late = false
		}
		h.Ops = append(h.Ops, acquire, release)
	}
	return h
}

// cell: operations take effect one every 10 time units; each is under way for as
// long as its client has nothing else to do.
func (l load) cell(r *rand.Rand, propose func(v, n int64) Op) History {
	h := History{Ops: make([]Op, 0, l.ops)}
	last := make([]int64, l.clients)
	value := int64(0)
	for n := int64(1); len(h.Ops) < l.ops; n++ {
		t := n * 10
		o := propose(value, n)
		o.Process = int32(r.IntN(l.clients))
		o.Call = max(last[o.Process]+1, t-r.Int64N(20*int64(l.clients)))
		o.Return = max(t, o.Call) + r.Int64N(10)
		o.Call = min(o.Call, t)
		last[o.Process] = o.Return
		if r.Float64() < l.unknown {
			o.Return = Never
		}
		switch o.Kind {
		case CAS:
			value = o.B
		case Write:
			value = o.A
		}
		h.Ops = append(h.Ops, o)
	}
	if l.late {
		t := int64(l.ops+1) * 10
		h.Ops = append(h.Ops, Op{Kind: Read, A: value - 3, Call: t + 300, Return: t + 301})
	}
	return h
}

func (l load) problem(h History) Problem {
	switch l.kind {
	case "lock":
		return MutexProblem(h)
	default:
		return CounterProblem(h)
	}
}

// loads are what is measured. Porcupine's share is bounded: what would take it
// longer than porcupineLimit or more than its memory is reported as such.
func loads() []load {
	var list []load
	for _, kind := range []string{"lock", "increment", "register"} {
		for _, ops := range []int{1_000, 10_000, 100_000, 1_000_000} {
			for _, clients := range []int{5, 10} {
				for _, unknown := range []float64{0, 0.01} {
					for _, late := range []bool{false, true} {
						list = append(list, load{kind, ops, clients, unknown, late})
					}
				}
			}
		}
	}
	return list
}

// peak watches the heap while f runs, and gives its growth in bytes.
func peak(f func()) uint64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	var top atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(s)
			if v := s[0].Value.Uint64(); v > top.Load() {
				top.Store(v)
			}
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return max(top.Load(), before) - before
}

// BenchmarkCheck measures the direct algorithms, and in the same run porcupine
// on the same history, once, with at most 3 s and 2 GB.
func BenchmarkCheck(b *testing.B) {
	for _, l := range loads() {
		b.Run(l.String(), func(b *testing.B) {
			h := l.make()
			p := l.problem(h)
			want := Legal
			if l.late {
				want = Illegal
			}
			b.ReportAllocs()
			var r Result
			for b.Loop() {
				if r = p.Direct(h); r.Outcome != want || len(r.Witness) > 4 {
					b.Fatalf("%v (%s), witness %v", r.Outcome, r.Why, r.Witness)
				}
			}
			mine := b.Elapsed().Seconds() / float64(b.N)
			b.ReportMetric(float64(peak(func() { p.Direct(h) }))/1e6, "peak-MB")
			compareWithPorcupine(b, p, h, want, mine)
		})
	}
}

func compareWithPorcupine(b *testing.B, p Problem, h History, want Outcome, mine float64) {
	if testing.Short() {
		return
	}
	m := p.Model
	m.Settle = nil // porcupine as it is, without our cuts
	var r Result
	started := time.Now()
	top := peak(func() {
		r = Reference(context.Background(), m, h, Bounds{Timeout: 3 * time.Second, Memory: 2 << 30})
	})
	took := time.Since(started).Seconds()
	switch r.Outcome {
	case want:
		b.ReportMetric(took/mine, "x-porcupine")
		b.ReportMetric(float64(top)/1e6, "porcupine-MB")
	case Undecided:
		b.Logf("porcupine: %s", r.Why)
	default:
		b.Fatalf("porcupine says %v", r.Outcome)
	}
}

// BenchmarkFrontier measures the frontier search, which needs no direct
// algorithm, on the same histories.
func BenchmarkFrontier(b *testing.B) {
	for _, l := range []load{
		{"lock", 100_000, 10, 0, false}, {"lock", 1_000_000, 10, 0, false}, {"increment", 100_000, 10, 0, false},
		{"register", 100_000, 10, 0, true}, {"register", 1_000_000, 10, 0, false},
	} {
		b.Run(l.String(), func(b *testing.B) {
			h := l.make()
			p := l.problem(h)
			b.ReportAllocs()
			for b.Loop() {
				if r := searchFrontier(context.Background(), p.Model, h, Bounds{}); r.Outcome == Undecided {
					b.Fatal(r.Why)
				}
			}
			b.ReportMetric(float64(peak(func() { searchFrontier(context.Background(), p.Model, h, Bounds{}) }))/1e6, "peak-MB")
		})
	}
}
