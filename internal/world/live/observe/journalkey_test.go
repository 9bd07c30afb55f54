package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/command"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/journal"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// A journal can be read further than MONITOR. Then the effects of lines that have not come are not those of earlier ones, which
// asked for the same and were refused.
func TestAJournalThatIsReadAhead(t *testing.T) {
	hour := time.Hour.Milliseconds()
	const setNX, all = "SETNX lock x", 99
	for _, c := range []struct {
		name    string
		effects []string
		lines   string
		final   int // the lines of which all effects have come, as many as this
		read    int
		want    string
	}{
		{"a waiter is refused, the holder's line has not come", []string{"DEL lock", setNX}, "c2 " + setNX, 0, 0, ""},
		{"it has come", []string{"DEL lock", setNX}, "c2 " + setNX + ";c1 DEL lock;c1 " + setNX, 3, all, "deleted c1 x;set c1 x"},
		{"several wait", []string{"DEL lock", setNX}, "c2 " + setNX + ";c1 DEL lock;c2 " + setNX + ";c1 " + setNX, 4, all,
			"deleted c1 x;set c2 x"},
		{"an eviction, which no line explains", []string{"DEL lock", setNX}, "c2 " + setNX, 1, all, "deleted x;set c2 x"},
		{"an eviction, and a later release", []string{"DEL lock", setNX, "DEL lock"}, "c2 " + setNX + ";c2 DEL lock", 2, all,
			"deleted x;set c2 x;deleted c2 x"},
		{"an eviction, and a takeover", []string{"DEL lock", setNX, "DEL lock", setNX}, "c2 " + setNX + ";c2 DEL lock;c3 " + setNX, 3, all,
			"deleted x;set c2 x;deleted c2 x;set c3 x"},
		{"an effect that changes nothing", []string{"PERSIST lock", "DEL lock"}, "c2 " + setNX + ";c1 DEL lock", 0, 0, "deleted c1 x"},
		{"effects that came later are no line's of before", []string{"DEL lock", setNX}, "c2 " + setNX, 1, 1, ""},
		{"all keys are set or none", []string{"DEL lock l", "MSET lock y l y"}, "c2 MSETNX lock z l z;c1 DEL lock l;c1 MSETNX lock y l y",
			0, 0, "deleted c1 x;set c1 y"},
		{"the first is granted", []string{"DEL lock l", "MSET lock y l y"}, "c1 DEL lock l;c1 MSETNX lock y l y;c2 MSETNX lock z l z",
			0, 0, "deleted c1 x;set c1 y"},
	} {
		r := newRead(command.Key{Holds: command.Text, Value: "x"})
		r.effects(c.effects...)
		for line := range strings.SplitSeq(c.lines, ";") {
			r.line(hour, line)
		}
		r.resolve(c.final, c.read)
		if got := strings.Join(r.events, ";"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// Where effects are written late, a command that found its key run out has one that is still to come.
func TestAJournalThatIsWrittenLate(t *testing.T) {
	hour := time.Hour.Milliseconds()
	r := newRead(command.Key{Holds: command.Text, Value: "x", Expires: command.At(hour)})
	r.late = true
	r.line(hour-500, "c2 SET lock y NX PX 300") // refused: nothing is to come
	r.line(hour+1, "c2 SET lock z NX PX 300")
	r.resolve(0, 0)
	if len(r.lines) != 1 {
		t.Errorf("%d lines wait for their effects, want that of z", len(r.lines))
	}
	r.effects("DEL lock", fmt.Sprint("SET lock z PXAT ", hour+301))
	r.resolve(0, 0)
	if got, want := strings.Join(r.events, ";"), "expired x;set c2 z 300ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// read is the reader of a key's journal, which a test writes.
type read struct {
	*journalled
	events []string
}

func newRead(is command.Key) *read {
	r := &read{}
	o := &Observation{Record: func(e history.Event) { r.events = append(r.events, told(e)) }}
	w := &nodeWatch{o: o, n: &server.Node{Name: "A"}, redis: command.ParseServer("7.0.15", "")}
	k := &journalKey{keyLog: w.logOf("lock")}
	k.replay.Key = is
	r.journalled = &journalled{w: w, keys: []*journalKey{k}, byName: map[string]bool{"lock": true}}
	return r
}

func (r *read) effects(list ...string) {
	k := r.keys[0]
	for _, e := range list {
		r.blocks++
		entry := journal.Entry{Kind: journal.Effect, Words: strings.Fields(e), First: true, Last: true}
		k.effects = append(k.effects, effect{Entry: entry, number: r.blocks, block: r.blocks})
	}
}

// line adds a line of MONITOR: a client, and its command at a time in ms.
func (r *read) line(at int64, text string) {
	r.seen++
	words := strings.Fields(text)
	r.lines = append(r.lines, numbered{monitored{args: words[1:], caller: words[0], span: command.At(at)}, r.seen})
}

// named are keys that have one name.
type named string

func (n named) Fit(key string) bool { return key == string(n) }
func (n named) Names() []string     { return []string{string(n)} }

func TestALockInAnotherDatabase(t *testing.T) {
	in := func(db int) journal.Entry {
		return journal.Entry{Kind: journal.Effect, Words: []string{"set", "lock", "x"}, DB: db, First: true, Last: true}
	}
	for _, c := range []struct {
		databases []int
		want      string
	}{
		{[]int{1, 1}, "unclear SET in database 1, of which nothing is observed,"},
		{[]int{0, 1}, ""}, // what is in the other one is something else
	} {
		r := newRead(command.Key{})
		r.w.o.Strangers = &Strangers{Keys: named("lock")}
		for _, db := range c.databases {
			r.take(in(db))
		}
		if got := strings.Join(r.events, ";"); got != c.want {
			t.Errorf("%v: got %q, want %q", c.databases, got, c.want)
		}
	}
}
