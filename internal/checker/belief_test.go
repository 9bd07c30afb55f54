package checker

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// TestBeliefs: a re-entry is part of what it re-entered, and a belief ends where the
// verdicts say so.
func TestBeliefs(t *testing.T) {
	s := newScript()
	s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
	s.granted(2, "c1", 900, 7)
	s.add(3, "c1", history.Invoke, history.Extend, history.Value{})
	s.add(4, "c1", history.OK, history.Extend, history.Value{Owner: "c1-owner", Grant: &history.Grant{ValidUntil: ns(1000)}})
	s.add(5, "c1", history.Invoke, history.Acquire, history.Value{})
	s.granted(6, "c1", 950, 7)
	s.release(10, 11, "c1")
	s.release(20, 21, "c1")
	s.add(30, "c1", history.Invoke, history.Acquire, history.Value{})
	s.granted(32, "c1", 1900, 8)
	s.add(40, "c2", history.Invoke, history.Acquire, history.Value{})
	s.granted(42, "c2", 1950, 9)
	s.add(50, "c2", history.Invoke, history.Acquire, history.Value{})
	var got []string
	for b := range Beliefs(&s.h, s.h.Ops()) {
		got = append(got, fmt.Sprintf("%s token %s %v to %v, %s, %v, events %d %d",
			b.Client, b.Token, b.During.From, b.During.To, b.End, b.Promises, b.Granted, b.Ended))
	}
	want := []string{
		"c1 token 7 2ms to 20ms, asks to release, [{2ms 900ms} {4ms 1s}], events 1 8",
		"c1 token 8 32ms to 50ms, holds on, [{32ms 1.9s}], events 11 -1",
		"c2 token 9 42ms to 50ms, asks for the lock anew, [{42ms 1.95s}], events 13 14",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestSafetyProperties: what everything with a workload is judged by.
func TestSafetyProperties(t *testing.T) {
	locked := []Property{ExclusiveBelief, ExclusiveLease, BackedGrant, NoLateEffect, LinearizableResource}
	for _, w := range workload.Names() {
		want := locked
		switch w {
		case "transactions":
			want = []Property{Atomic, Isolated, Durable}
		case "jobs":
			want = []Property{ExclusiveBelief, ExclusiveLease, BackedGrant, NoLateEffect, AtMostOnce}
		case "two-cells":
			want = append(slices.Clone(locked), Atomic)
		}
		if got := SafetyProperties(Subject{Workload: w}); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", w, got, want)
		}
	}
	for _, p := range Properties() {
		if p.Distance() >= Property("unheard-of").Distance() {
			t.Errorf("%s is not closer to the cause than what is no property", p)
		}
	}
}
