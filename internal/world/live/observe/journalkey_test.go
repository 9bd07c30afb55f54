package observe

import (
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
		{"it has come", []string{"DEL lock", setNX}, "c2 " + setNX + ";c1 DEL lock;c1 " + setNX, 0, 0, "deleted c1 x;set c1 x"},
		{"several wait", []string{"DEL lock", setNX}, "c2 " + setNX + ";c1 DEL lock;c2 " + setNX + ";c1 " + setNX, 0, 0, "deleted c1 x;set c2 x"},
		{"an eviction, which no line explains", []string{"DEL lock", setNX}, "c2 " + setNX, 1, all, "deleted x;set c2 x"},
		{"effects that came later are no line's of before", []string{"DEL lock", setNX}, "c2 " + setNX, 1, 1, ""},
		{"all keys are set or none", []string{"DEL lock more", "MSET lock y more y"}, "c2 MSETNX lock z more z;c1 DEL lock more;c1 MSETNX lock y more y",
			0, 0, "deleted c1 x;set c1 y"},
		{"the first is granted", []string{"DEL lock more", "MSET lock y more y"}, "c1 DEL lock more;c1 MSETNX lock y more y;c2 MSETNX lock z more z",
			0, 0, "deleted c1 x;set c1 y"},
	} {
		var events []string
		o := &Observation{Record: func(e history.Event) { events = append(events, told(e)) }}
		w := &nodeWatch{o: o, n: &server.Node{Name: "A"}, redis: command.ParseServer("7.0.15", "")}
		k := &journalKey{keyLog: w.logOf("lock")}
		k.replay.Key = command.Key{Holds: command.Text, Value: "x"}
		j := &journalled{w: w, keys: []*journalKey{k}, byName: map[string]bool{"lock": true}}
		for i, e := range c.effects {
			entry := journal.Entry{Kind: journal.Effect, Words: strings.Fields(e), First: true, Last: true}
			k.effects = append(k.effects, effect{Entry: entry, number: i + 1, block: i + 1})
		}
		for i, l := range strings.Split(c.lines, ";") {
			words := strings.Fields(l)
			line := monitored{args: words[1:], caller: words[0], span: command.At(hour + int64(i))}
			j.lines = append(j.lines, numbered{line, i + 1})
		}
		j.resolve(c.final, c.read)
		if got := strings.Join(events, ";"); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
