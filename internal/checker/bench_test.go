package checker

import (
	"context"
	"fmt"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// BenchmarkJudge judges the properties of a run: a short one, as the search
// makes them by the thousand, and long ones.
func BenchmarkJudge(b *testing.B) {
	safety := []Property{ExclusiveBelief, ExclusiveLease, NoLateEffect, LinearizableResource, OrderedTokens}
	for _, fast := range []bool{true, false} {
		h := &gcPause(true).h
		b.Run(fmt.Sprintf("gc-pause/fast=%v", fast), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Judge(context.Background(), h, safety, Options{Fast: fast})
			}
		})
	}
	for _, sections := range []int{1_000, 100_000} {
		h := &longRun(sections).h
		b.Run(fmt.Sprintf("sections=%d", sections), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, f := range Judge(context.Background(), h, Properties(), Options{}) {
					if f.Verdict == Violated {
						b.Fatalf("%s: %s", f.Property, f.Why)
					}
				}
			}
		})
	}
}

// longRun is a legal run of many sections of three clients.
func longRun(sections int) *script {
	s := newScript()
	s.phase(0, history.PhaseHealing)
	for i := range int64(sections) {
		c := []string{"c1", "c2", "c3"}[i%3]
		at := i * 20
		s.acquire(at, at+2, c, at+1000, i)
		s.read(at+3, c, int(i)+1, i)
		s.write(at+5, c, int(i)+1, i+1, history.OK, i)
		s.release(at+8, at+9, c)
	}
	s.phase(int64(sections)*20, history.PhaseDone)
	return s
}

// TestLongRun: a long legal run is judged, and judged soon.
func TestLongRun(t *testing.T) {
	s := longRun(20_000)
	for _, p := range []Property{ExclusiveBelief, ExclusiveLease, NoLateEffect, LinearizableResource, OrderedTokens, DeadlockFree} {
		if f := judgeOne(t, &s.h, p, Options{}); f.Verdict != Holds {
			t.Errorf("%s: %v, %s", p, f.Verdict, f.Why)
		}
	}
}
