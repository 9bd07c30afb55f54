//go:build linux && amd64

package supervisor_test

import (
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// used is the processor time of this process and of its children that have ended.
func used(b *testing.B) time.Duration {
	b.Helper()
	var all time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		all += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return all
}

// report says how much processor time one of many took, all included: a busy machine is no reason for more.
func report(b *testing.B, before time.Duration, n uint64, what string) {
	b.Helper()
	b.ReportMetric(float64((used(b)-before).Nanoseconds())/1000/float64(n), "cpu-us/"+what)
}

// BenchmarkCall is a call of a program that sleeps again and again, all included.
func BenchmarkCall(b *testing.B) {
	for _, language := range []string{"C", "Go"} {
		b.Run(language, func(b *testing.B) {
			args := command(b, language, "sleeps", strconv.Itoa(b.N))
			w := newWorld(b, 1)
			p := w.start(w.a, "p", args)
			before, began := w.Calls(), used(b)
			b.ResetTimer()
			w.ends(p)
			b.StopTimer()
			report(b, began, w.Calls()-before, "call")
		})
	}
}

// BenchmarkStart is the start of a program that ends at once.
func BenchmarkStart(b *testing.B) {
	for _, language := range []string{"C", "static C", "Python"} {
		b.Run(language, func(b *testing.B) {
			args := command(b, language, "sleeps", "0")
			if language == "Python" {
				args = []string{args[0], "-c", ""}
			}
			w := newWorld(b, 1)
			began := used(b)
			for b.Loop() {
				w.ends(w.start(w.a, "p", args))
			}
			report(b, began, uint64(b.N), "start")
		})
	}
}

// BenchmarkRequest is a request to a program on another host, and its answer.
func BenchmarkRequest(b *testing.B) {
	server, client := command(b, "C", "pong", "7000"), command(b, "C", "pingpong", "127.0.1.2", "7000", strconv.Itoa(b.N))
	w := newWorld(b, 1)
	w.start(w.b, "server", server)
	p := w.start(w.a, "client", client)
	w.run(15 * time.Millisecond)
	began := used(b)
	b.ResetTimer()
	for !p.HasEnded() && w.Doubt() == "" {
		w.step(w.Now() + time.Hour)
	}
	b.StopTimer()
	w.ends(p)
	report(b, began, uint64(b.N), "request")
}
