package checker

import (
	"context"
	"fmt"
	"testing"
	"time"

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

// longRun is a legal run of many sections of three clients, of which one waits for the lock while another works.
func longRun(sections int) *script {
	s := newScript()
	s.phase(0, history.PhaseHealing)
	clients := []string{"c1", "c2", "c3"}
	s.add(0, clients[0], history.Invoke, history.Acquire, history.Value{})
	for i := range int64(sections) {
		c := clients[i%3]
		at := i * 20
		s.granted(at+2, c, at+1000, i)
		s.read(at+3, c, int(i)+1, i)
		s.add(at+4, clients[(i+1)%3], history.Invoke, history.Acquire, history.Value{})
		s.write(at+5, c, int(i)+1, i+1, history.OK, i)
		s.release(at+8, at+9, c)
	}
	s.phase(int64(sections)*20, history.PhaseDone)
	return s
}

// BenchmarkPromises reads what a lock program promised to one client that asks again and
// again: the time grows as the grants do.
func BenchmarkPromises(b *testing.B) {
	for _, kind := range []string{"released", "asked again", "re-entered"} {
		for _, lost := range []bool{false, true} {
			for _, grants := range []int{5_000, 50_000} {
				h := &longProgram(grants, kind, lost).h
				b.Run(fmt.Sprintf("%s/lost=%v/grants=%d", kind, lost, grants), func(b *testing.B) {
					for b.Loop() {
						newJudge(h)
					}
				})
			}
		}
	}
}

// longProgram is a run of a lock program with many grants to one client, each with
// three key events; some are seen late, some grants are lost at some time.
func longProgram(grants int, kind string, lost bool) *script {
	s := asked(2)
	owner := ""
	if kind == "re-entered" {
		owner = "c1-owner"
		s.acquire(0, 0, "c1", -1, -1)
	}
	for i := range int64(grants) {
		at := i * 100
		s.add(at, "c1", history.Invoke, history.Acquire, history.Value{})
		s.changes(at+2, "A", history.KeySet, "c1", at+1, at+1000)
		s.changes(at+3, "B", history.KeySet, "c1", at+1, at+1001)
		s.add(at+5, "c1", history.OK, history.Acquire, history.Value{Owner: owner})
		s.changes(at+6, "C", history.KeySet, "c1", at+1, at+1002)
		s.write(at+10, "c1", int(i), i, history.OK, -1)
		if lost {
			s.add(at+60, "c1", history.Info, history.Lost, history.Value{Outcome: &history.Outcome{At: ns(at + 60), AtError: int64(time.Second)}})
		}
		if kind != "asked again" {
			s.release(at+70, at+80, "c1")
			s.changes(at+75, "A", history.KeyDeleted, "c1", at+71, -1)
		}
	}
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
