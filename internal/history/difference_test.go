package history

import (
	"strings"
	"testing"
)

// TestFirstDifference: a reader learns which event differs, who did what there, and how.
func TestFirstDifference(t *testing.T) {
	const header = `{"format":"redlock-sim-history","version":1,"seed":7,"lock_key":"a"}` + "\n"
	const asked = `{"index":0,"type":"invoke","time":1000000,"process":"c1","f":"acquire"}` + "\n"
	const got = `{"index":1,"type":"ok","time":1200000,"process":"c1","f":"acquire","value":{"owner":"x-1","validity":2000000000}}` + "\n"
	const first = `{"index":0,"type":"info","time":5,`
	const sent = first + `"process":"c1","f":"command","value":{"command":{"name":"SET","node":"A","connection":1,`
	change := func(text, from, to string) string {
		if !strings.Contains(text, from) {
			t.Fatalf("%s has no %s", text, from)
		}
		return strings.Replace(text, from, to, 1)
	}
	all := header + asked + got
	for name, c := range map[string]struct{ one, other, want string }{
		"the same":     {all, all, ""},
		"nothing":      {"", "", ""},
		"both cut off": {header + asked + got[:20], header + asked + got[:20], ""},
		"the time": {all, change(all, "1200000", "1270000"),
			"event 1 differs in time\nfirst: at 1.2ms c1 got the lock\nagain: at 1.27ms c1 got the lock"},
		"a value": {all, change(all, "x-1", "x-2"),
			"event 1 differs in owner\nfirst: at 1.2ms c1 got the lock, owner \"x-1\"\nagain: at 1.2ms c1 got the lock, owner \"x-2\""},
		"two things": {all, change(change(all, `"time":1200000`, `"time":1200001`), "2000000000", "1990000000"),
			"event 1 differs in time, validity\nfirst: at 1.2ms c1 got the lock, validity 2s\n" +
				"again: at 1.200001ms c1 got the lock, validity 1.99s"},
		"a value is missing": {all, change(all, `,"validity":2000000000`, ""),
			"event 1 differs in validity\nfirst: at 1.2ms c1 got the lock, validity 2s\nagain: at 1.2ms c1 got the lock"},
		"another event": {all, header + asked +
			`{"index":1,"type":"info","time":1100000,"process":"A","f":"key-set","value":{"key":"lock"}}` + "\n",
			"event 1 is another one\nfirst: at 1.2ms c1 got the lock, owner \"x-1\", validity 2s\nagain: at 1.1ms A had its key set, key \"lock\""},
		"one has ended": {all, header + asked,
			"event 1 is another one\nfirst: at 1.2ms c1 got the lock, owner \"x-1\", validity 2s\nagain: nothing, it has ended by then"},
		"a fault": {header + first +
			`"process":"nemesis","f":"fault-begin","value":{"fault":"pause","id":2,"target":"client c1"}}` + "\n", header,
			"event 0 is another one\nfirst: at 5ns fault 2 (pause client c1) began, fault \"pause\", id 2, target \"client c1\"\n" +
				"again: nothing, it has ended by then"},
		"a command": {header + sent + `"left":3}}}` + "\n", header + sent + `"left":4}}}` + "\n",
			"event 0 differs in command left\nfirst: at 5ns c1 sent SET to A, command left 3ns\nagain: at 5ns c1 sent SET to A, command left 4ns"},
		"the header": {all, change(all, `"lock_key":"a"`, `"lock_key":"b"`),
			"the header differs in lock key\nfirst: lock key \"a\"\nagain: lock key \"b\""},
		"what cannot be read": {header + "x\n", header + asked,
			"event 0 is another one\nfirst: \"x\", which cannot be read\nagain: at 1ms c1 asked for the lock"},
	} {
		d, err := FirstDifference(strings.NewReader(c.one), strings.NewReader(c.other))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d == nil {
			d = &Difference{}
		} else if c.want == "" {
			t.Errorf("%s: %s", name, d)
		}
		if c.want != "" && d.String() != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, d, c.want)
		}
	}
}

// Whatever an event is about, there are words for it, and they are no longer than a few lines.
func TestEveryEventHasWords(t *testing.T) {
	for _, f := range []F{Acquire, Extend, Release, Forget, Read, Write, CAS, Transact, Snapshot} {
		for _, kind := range []Type{Invoke, OK, Fail, Info} {
			words := (&Event{Process: "c1", F: f, Type: kind}).words()
			if strings.TrimPrefix(words, "c1 ") == "" || strings.Contains(words, string(f)+":") {
				t.Errorf("%s, %v: %q", f, kind, words)
			}
		}
	}
	for _, f := range []F{Point, KeySet, KeyExtended, KeyDeleted, KeyExpired, KeyUnclear, Lost, Effect, FaultBegin, FaultEnd, FaultFailed,
		NodeDown, NodeUp, NodePromoted, NodeDemoted, Sentinel, Sent, Unread, Stalled, Phase} {
		if words := (&Event{Process: "p", F: f, Type: Info}).words(); words == "" || strings.HasPrefix(words, "p: ") && f != Sent {
			t.Errorf("%s: %q", f, words)
		}
	}
	if text := clip(strings.Repeat("é", 1000)); len([]rune(text)) != mostTold+3 {
		t.Errorf("%d characters", len([]rune(text)))
	}
}
