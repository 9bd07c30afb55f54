package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
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
	*journalReader
	events []string
}

func newRead(is command.Key) *read {
	r := &read{}
	o := &Observation{Record: func(e history.Event) { r.events = append(r.events, told(e)) }}
	w := &nodeWatch{o: o, n: &server.Node{Name: "A"}, redis: command.ParseServer("7.0.15", "")}
	k := &journalKey{Key: keylog.Key{Log: w.logOf("lock")}}
	k.Replay.Key = is
	r.journalReader = &journalReader{w: w, keys: []*journalKey{k}, byName: map[string]*journalKey{"lock": k}}
	return r
}

func (r *read) effects(list ...string) {
	k := r.keys[0]
	for _, e := range list {
		r.blocks++
		entry := journal.Entry{Kind: journal.Effect, Words: strings.Fields(e), First: true, Last: true}
		k.Effects = append(k.Effects, keylog.Effect{Entry: entry, Number: r.blocks, Block: r.blocks})
	}
}

// line adds a line of MONITOR: a client, and its command at a time in ms.
func (r *read) line(at int64, text string) {
	r.seen++
	words := strings.Fields(text)
	r.lines = append(r.lines, numbered{monitored{Line: keylog.Line{Args: words[1:], Caller: words[0], Span: command.At(at)}}, r.seen})
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
			r.handOut(in(db))
		}
		if got := strings.Join(r.events, ";"); got != c.want {
			t.Errorf("%v: got %q, want %q", c.databases, got, c.want)
		}
	}
}

// What stands in one block, or is written down in several entries, is one thing that a command did; what no command did, the node did.
func TestWhatAJournalTells(t *testing.T) {
	hour := time.Hour.Milliseconds()
	end := fmt.Sprint(hour + 300)
	const takesB = "c2 SET lock b NX PX 300"
	has := func(value string, lives int64) command.Key {
		return command.Key{Holds: command.Text, Value: value, Expires: command.At(hour + lives)}
	}
	for name, c := range map[string]struct {
		is    command.Key
		takes string // blocks with ; between them, and their entries with |
		lines string
		want  string
	}{
		"Redis 6.0 writes an end by itself": {command.Key{}, "SET lock a;PEXPIREAT lock " + end, "c1 SET lock a NX PX 300", "set c1 a 300ms"},
		"an end that another gave": {command.Key{}, "SET lock a;PEXPIREAT lock " + end, "c1 SET lock a;c2 PEXPIRE lock 300",
			"set c1 a;extended c2 a 300ms"},
		"a script": {command.Key{}, "HINCRBY lock u 1|PEXPIREAT lock " + end, "c1 hincrby lock u 1;c1 pexpire lock 300",
			"set c1 u 300ms"},
		"a key that had run out": {has("a", -5), "DEL lock|SET lock b PXAT " + end, takesB,
			"expired a;set c2 b 300ms"},
		"one that had run out, behind another key": {has("a", -5), "DEL other|DEL lock|SET other b|SET lock b PXAT " + end, takesB,
			"expired a;set c2 b 300ms"},
		"one that had run out before":    {has("a", -5), "UNLINK lock;SET lock b PXAT " + end, takesB, "expired a;set c2 b 300ms"},
		"one that ran out, to a release": {has("a", -5), "DEL lock", "c1 DEL lock", "expired a"},
		"refused":                        {has("a", 900), "", takesB, ""},
		"refused, then granted": {has("a", 900), "DEL lock;SET lock b PXAT " + end, takesB + ";c1 DEL lock;" + takesB,
			"deleted c1 a;set c2 b 300ms"},
		"evicted":                {command.Key{Holds: command.Text, Value: "a"}, "DEL lock", "", "deleted a"},
		"by nobody":              {command.Key{}, "SET lock z", "", "unclear SET;set z"},
		"what the journal lacks": {command.Key{}, "", "c1 SET lock a", "unclear c1 SET (it is not in the node's journal)"},
		"an unknown command":     {has("a", 900), "SET lock b", "c2 NEWSET lock b", "set c2 b"},
		"the same end again":     {has("a", 300), "PEXPIREAT lock " + end, "c1 PEXPIRE lock 300", "extended c1 a 300ms"},
	} {
		r := newRead(c.is)
		for block := range strings.SplitSeq(c.takes, ";") {
			entries := strings.Split(block, "|")
			for i, e := range entries {
				if e != "" {
					r.handOut(journal.Entry{Kind: journal.Effect, Words: strings.Fields(e), First: i == 0, Last: i == len(entries)-1})
				}
			}
		}
		for line := range strings.SplitSeq(c.lines, ";") {
			if line != "" {
				r.line(hour, line)
			}
		}
		r.file = journal.Follow(t.TempDir())
		r.finish(r.read, r.seen)
		if got := strings.Join(r.events, ";"); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A server that is killed is observed no more, and its journal is closed: a reading that comes later is no error of the run.
func TestAJournalIsNotReadAfterItsStream(t *testing.T) {
	r := newRead(command.Key{})
	r.w.o.Stop = func() { t.Error("the run was stopped") }
	r.file, r.ended, r.begun = journal.Follow(t.TempDir()), make(chan struct{}), true
	r.end()
	_ = r.file.Close()
	r.finish(r.read, r.seen)
	if err := r.w.o.Err(); err != nil || r.readOrFail() {
		t.Errorf("it is read again, with the error %v", err)
	}
}
