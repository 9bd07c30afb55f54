package observe

import (
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// strange watches a node of a lock program, whose wall clock is that of the run and an
// hour, and where every command left its client at 50 ms.
func strange(keys ...string) (*nodeWatch, *[]history.Event) {
	var events []history.Event
	o := &Observation{Key: "lock", Shown: "lock", Record: func(e history.Event) { events = append(events, e) },
		Left: func(string, []string, time.Duration) (time.Duration, bool) { return 50 * time.Millisecond, true },
		Strangers: &Strangers{Keys: program.PatternsFor("lock", keys), Fresh: true,
			NameAt:     func(from string, n *server.Node) string { return map[string]string{"h:4": "c4#4"}[from] },
			Primary:    func(address string) bool { return address == "h:9" },
			WallOffset: func() (time.Duration, time.Duration) { return time.Hour, 0 }}}
	w := &nodeWatch{o: o, n: &server.Node{Name: "A"}, names: connectionNames{"h:1": "c1#1", "h:2": "c2#2"},
		redis: command.ParseServer("7.0.15", "")}
	reader := newReplayReader(w)
	w.keys = reader
	for _, key := range o.keys("A") {
		reader.follow(key, false)
	}
	for _, k := range reader.watches {
		k.ask, k.begun, k.Replay.Key = nil, true, command.Key{}
	}
	return w, &events
}

// shows has lines seen as if each had left its client at 50 ms.
func (w *nodeWatch) shows(lines ...string) {
	for i, line := range lines {
		source, words, _ := strings.Cut(line, " ")
		c := monitored{Line: keylog.Line{Args: strings.Fields(words)}, at: time.Hour + time.Duration(100+i)*time.Millisecond, source: source}
		w.see(c)
	}
	w.keys.marked()
}

func TestWhatStrangersAskedFor(t *testing.T) {
	hour := "3600"
	for name, c := range map[string]struct {
		lines []string
		until int64 // ms; -1: for ever
	}{
		"a TTL counts from when the command left": {[]string{"h:1 SET lock a NX PX 500"}, 550},
		"and so it does in a script":              {[]string{"h:1 EVALSHA abc 1 lock a 500", "lua SET lock a NX PX 500"}, 550},
		"an instant is that of clients' clocks":   {[]string{"h:1 SET lock a NX PXAT " + hour + "700"}, 700},
		"in a script, too": {[]string{"h:1 EVALSHA abc 1 lock a " + hour + "700",
			"lua SET lock a NX PXAT " + hour + "700"}, 700},
		"but not one that the script computed": {[]string{"h:1 EVALSHA abc 1 lock a", "lua SET lock a NX PXAT " + hour + "701"}, 650},
		"no TTL":                               {[]string{"h:1 SET lock a NX"}, -1},
		"a renewal":                            {[]string{"h:1 SET lock a NX PX 500", "h:1 PEXPIRE lock 900"}, 950},
	} {
		w, events := strange("lock")
		w.shows(c.lines...)
		if len(*events) == 0 {
			t.Errorf("%s: nothing was seen", name)
			continue
		}
		v := (*events)[len(*events)-1].Value
		if v.Client != "c1" || v.At() != history.Some(int64(50*time.Millisecond)) || v.ValidUntil().IsSet() != (c.until >= 0) ||
			v.ValidUntil().IsSet() && v.ValidUntil().V() != c.until*int64(time.Millisecond) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestKeysOfStrangersAreFoundByPattern(t *testing.T) {
	w, events := strange("pre:*:lock", "lock")
	w.shows("h:1 SET pre:0:lock a NX PX 500", "h:2 SET pre:1:lock b NX PX 500", "h:1 SET pre:0:other x", "h:1 DEL pre:0:lock")
	var got []string
	for _, e := range *events {
		got = append(got, strings.TrimPrefix(string(e.F), "key-")+" "+e.Value.Key+" "+e.Value.Client)
	}
	if text := strings.Join(got, ", "); text != "set pre:0:lock c1, set pre:1:lock c2, deleted pre:0:lock c1" {
		t.Error(text)
	}
	if keys := len(w.keys.names()); keys != 3 {
		t.Errorf("%d keys are followed", keys)
	}
}

// TestEachKeyThatAPatternFitsIsFound: a star stands for anything, and no other character for anything but itself.
func TestEachKeyThatAPatternFitsIsFound(t *testing.T) {
	w, events := strange("{key}*", "[a]?*", `\*`)
	w.shows("h:1 SET lock/x/y a NX PX 500", "h:2 SET [a]?/z b NX PX 500", `h:1 SET \ c PX 500`,
		"h:1 SET a1 d PX 500", "h:1 SET x/lock e PX 500")
	var got []string
	for _, e := range *events {
		got = append(got, string(e.F)+" "+e.Value.Key)
	}
	if text := strings.Join(got, ", "); text != `key-set lock/x/y, key-set [a]?/z, key-set \` {
		t.Error(text)
	}
}

func TestConnectionsThatNoLinkHasNamedAreStrange(t *testing.T) {
	w, events := strange("lock")
	w.shows("h:5 CLIENT SETNAME c1", "h:1 CLIENT SETNAME c2", "h:5 GET lock", "h:5 SET lock a PX 500")
	if len(*events) != 1 || (*events)[0].F != history.KeyUnclear ||
		!(*events)[0].Value.Stranger() || !strings.Contains((*events)[0].Value.Detail(), "SET over a connection that is no") {
		t.Errorf("%+v", *events)
	}
	if w.names.client("h:1", true) != "c1" {
		t.Error("a client took another's name")
	}

	w, events = strange("lock")
	w.shows("h:5 EVAL script 0", "lua SET lock a PX 500")
	if len(*events) != 1 || (*events)[0].F != history.KeyUnclear {
		t.Errorf("a script: %+v", *events)
	}

	// A replica does what its primary tells it.
	w, events = strange("lock")
	w.shows("h:9 SET lock a PX 500")
	if len(*events) != 1 || (*events)[0].F != history.KeySet {
		t.Errorf("a replica: %+v", *events)
	}
}

func TestConnectionsAreKnownBeforeTheirKeys(t *testing.T) {
	w, events := strange("pre:*:lock")
	w.shows("h:3 CLIENT SETNAME c3#3", "h:3 SET pre:0:lock a PX 500")
	if len(*events) != 1 || (*events)[0].F != history.KeySet || (*events)[0].Value.Client != "c3" {
		t.Errorf("%+v", *events)
	}
}

// TestConnectionsAreKnownByTheirAddress: a server that runs a long script refuses the name that a link gives.
func TestConnectionsAreKnownByTheirAddress(t *testing.T) {
	w, events := strange("lock")
	w.shows("h:4 SET lock a PX 500")
	if len(*events) != 1 || (*events)[0].F != history.KeySet || (*events)[0].Value.Client != "c4" {
		t.Errorf("%+v", *events)
	}
}

// TestWAITAOFNeedsAnAppendOnlyFile: where a node has none by its scenario, the one that sim keeps must not answer.
func TestWAITAOFNeedsAnAppendOnlyFile(t *testing.T) {
	for p, ends := range map[world.Persistence]bool{world.NoPersistence: true, world.RDB: true, world.AOFNo: false, world.AOFEverysec: false,
		world.AOFAlways: false} {
		for what, lines := range map[string][]string{"a client": {"h:1 waitaof 1 0 100"},
			"a script": {"h:1 EVAL script 0", "lua WAITAOF 0 1 0"}} {
			w, _ := strange("lock")
			w.n.Persistence, w.o.Stop = p, func() {}
			if w.shows(lines...); ends != (w.o.Err() != nil) {
				t.Errorf("%s, persistence %s: %v", what, p, w.o.Err())
			} else if want := "the lock program of c1 sent WAITAOF to node A"; ends && !strings.Contains(w.o.Err().Error(), want) {
				t.Error(w.o.Err())
			}
		}
	}
	for what, line := range map[string]string{"a stranger": "h:5 WAITAOF 1 0 0", "a primary": "h:9 WAITAOF 1 0 0", "WAIT": "h:1 WAIT 1 0"} {
		w, _ := strange("lock")
		if w.shows(line); w.o.Err() != nil {
			t.Errorf("%s: %v", what, w.o.Err())
		}
	}
	w, _ := strange("lock") // what servers of others keep is theirs to say
	w.o.Strangers.Fresh = false
	if w.shows("h:1 WAITAOF 1 0 0"); w.o.Err() != nil {
		t.Error(w.o.Err())
	}
}

// The wall clock is measured again and again, and never quite alike.
func TestSteady(t *testing.T) {
	measured := time.Hour
	offset := Steady(func() (time.Duration, time.Duration) { measured += 20; return measured, 5 })
	first, uncertain := offset()
	if again, _ := offset(); again != first || uncertain != 5 {
		t.Errorf("%v, then %v; uncertain by %v", first, again, uncertain)
	}
	measured += time.Second // somebody has set it
	if moved, _ := offset(); moved != measured {
		t.Errorf("after the clock was set: %v", moved)
	}
}

// Where nobody knows when a command was sent, nobody knows what it asked for.
func TestACommandThatWasSentNobodyKnowsWhen(t *testing.T) {
	w, events := strange("lock")
	w.o.Left = func(_ string, words []string, _ time.Duration) (time.Duration, bool) {
		return 50 * time.Millisecond, words[0] != "PEXPIRE"
	}
	w.shows("h:1 SET lock a NX PX 500", "h:1 PEXPIRE lock 900", "h:1 DEL lock")
	var got []string
	for _, e := range *events {
		got = append(got, told(e))
	}
	want := "set c1 a 500ms, unclear c1 PEXPIRE, sent nobody knows when,, extended c1 a 900ms, deleted c1 a"
	if text := strings.Join(got, ", "); text != want {
		t.Error(text)
	}
	if v := (*events)[2].Value; v.At().IsSet() || v.ValidUntil().IsSet() {
		t.Errorf("%+v", v)
	}
}
