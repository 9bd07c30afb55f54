package guests

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// changes are what happened to the key on node A, as words: "set x c1 10" is set by c1 to x at 10 ms; "-" is nobody.
func changes(t *testing.T, list ...string) *history.History {
	t.Helper()
	h := &history.History{}
	for _, text := range list {
		w := strings.Fields(text)
		at, err := time.ParseDuration(w[3] + "ms")
		if err != nil {
			t.Fatal(err)
		}
		e := history.Event{Process: "A", F: history.F(w[0]), Time: at}
		if strings.HasPrefix(w[0], "key-") {
			e.Value = history.Value{Key: "lock", Owner: w[1]}
		}
		if w[2] != "-" {
			e.Value.Client = w[2]
		}
		h.Events = append(h.Events, e)
	}
	return h
}

// TestAlike: owners may have other names, and times be apart; nothing else may differ.
func TestAlike(t *testing.T) {
	const one = `{"index":0,"time":12345,"value":{"owner":"a"}}` + "\n" + `{"index":1,"time":20000,"value":{"owner":"b"}}` + "\n"
	for other, want := range map[string]struct {
		apart time.Duration
		alike bool
	}{
		one: {0, true},
		strings.NewReplacer(`"a"`, `"b"`, `"b"`, `"a"`).Replace(one):         {0, true},
		strings.NewReplacer("12345", "12340", "20000", "20009").Replace(one): {9, true},
		strings.Replace(one, `"b"`, `"b\"b"`, 1):                             {0, true},
		strings.Replace(one, `"b"`, `"a"`, 1):                                {0, false},
		strings.Replace(one, `"index":1`, `"index":2`, 1):                    {0, false},
		one + one: {0, false},
	} {
		apart, differs, err := Alike([]byte(one), []byte(other))
		if err != nil || (differs == nil) != want.alike || apart != want.apart {
			t.Errorf("%s: %v apart, differs: %v, %v", other, apart, differs, err)
		}
	}
}

func TestCompare(t *testing.T) {
	models := []string{"key-set x c1 10", "key-expired x - 20", "key-set y c2 30", "key-deleted y c2 40"}
	for name, test := range map[string]struct {
		servers []string
		differs bool
		changes int
		apart   time.Duration
	}{
		"the same": {models, false, 3, 0},
		"later": {[]string{"key-set x c1 10", "key-expired x - 25", "key-set y c2 33", "key-deleted y c2 41"},
			false, 3, 3 * time.Millisecond},
		"an expiry that nobody saw": {append([]string{"key-expired w - 5"}, models...), false, 3, 0},
		"deleted by the primary":    {[]string{"key-set x c1 10", "key-deleted x - 20", "key-set y c2 30", "key-deleted y c2 40"}, false, 3, 0},
		"another order":             {[]string{"key-set y c2 10", "key-expired y - 20", "key-set x c1 30", "key-deleted x c1 40"}, true, 0, 0},
		"another client":            {[]string{"key-set x c2 10"}, true, 0, 0},
		"one less":                  {models[:3], true, 2, 0},
		"one more":                  {append(append([]string{}, models...), "key-set z c1 50"), true, 3, 0},
	} {
		got := Compare(changes(t, models...), changes(t, test.servers...), true)
		if (got.Differs != "") != test.differs || got.Changes != test.changes || got.Apart != test.apart {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// What a primary has done may be on its way to a replica when a run ends, and a key that has run out is gone and set at once.
func TestCompareReplicas(t *testing.T) {
	set, deleted, next, later := "key-set x - 10", "key-deleted x - 40", "key-set y - 40", "key-set y - 140"
	end := func(at string) string { return "phase x - " + at }
	for name, test := range map[string]struct {
		models, servers []string
		same            bool
	}{
		"under way on servers":        {[]string{set, deleted, end("41")}, []string{set, end("41")}, true},
		"under way on a model":        {[]string{set, end("41")}, []string{set, deleted, end("41")}, true},
		"it had time on servers":      {[]string{set, deleted, end("160")}, []string{set, end("160")}, false},
		"it had time on a model":      {[]string{set, end("160")}, []string{set, deleted, end("160")}, false},
		"of a client":                 {[]string{set, "key-deleted x c1 40", end("41")}, []string{set, end("41")}, false},
		"a node":                      {[]string{set, "node-down - - 40", end("41")}, []string{set, end("41")}, false},
		"gone and set at once":        {[]string{set, deleted, next}, []string{set, next}, true},
		"gone and set by a client":    {[]string{set, deleted, "key-set y c2 40"}, []string{set, "key-set y c2 40"}, false},
		"gone and set on servers":     {[]string{set, next}, []string{set, deleted, next}, true},
		"both are under way":          {[]string{set, deleted, end("41")}, []string{set, next, end("41")}, true},
		"one of two is under way":     {[]string{set, "key-deleted x - 20", end("140")}, []string{set, next, end("140")}, false},
		"gone, and set later":         {[]string{set, "key-deleted x - 20", later, end("300")}, []string{set, later, end("300")}, false},
		"gone and set at once: twice": {[]string{set, deleted, next}, []string{set, deleted, next}, true},
	} {
		if got := Compare(changes(t, test.models...), changes(t, test.servers...), true); (got.Differs == "") != test.same || got.Drawn != "" {
			t.Errorf("%s: %+v", name, got)
		}
		if got := Compare(changes(t, test.models...), changes(t, test.servers...), false); (got.Differs == "") !=
			slices.Equal(test.models, test.servers) {
			t.Errorf("%s, on independent nodes: %+v", name, got)
		}
	}
}

// Whom sentinels elect, and when a replica connects again, is drawn: changes that differ then are not compared.
func TestCompareWhatIsDrawn(t *testing.T) {
	begins := func(does history.Does, nodes []string, links ...history.Link) history.Event {
		return history.Event{Process: history.NemesisProcess, F: history.FaultBegin, Value: history.Value{Rare: &history.Rare{
			Impact: &history.Impact{Effects: []history.Strike{{Does: does, Nodes: nodes, Links: links}}}}}}
	}
	between, client := history.Link{From: "B", To: "A"}, history.Link{From: "c1", To: "A"}
	for name, test := range map[string]struct {
		event       history.Event
		independent bool
		want        string
	}{
		"an election":               {event: history.ToldBySentinel("s1", "+elected-leader", "B", 1), want: drawsElected},
		"no election":               {event: history.ToldBySentinel("s1", "+sdown", "B", 1)},
		"a node is killed":          {event: begins(history.Kills, []string{"A"}), want: drawsAgain},
		"a node is promoted":        {event: begins(history.Promotes, []string{"B"})},
		"a client is killed":        {event: begins(history.Kills, nil)},
		"independent nodes":         {event: begins(history.Kills, []string{"A"}), independent: true},
		"servers lose messages":     {event: begins(history.Drops, nil, between), want: drawsAgain},
		"a connection of them ends": {event: begins(history.Breaks, nil, client, between), want: drawsAgain},
		"a client's ends":           {event: begins(history.Breaks, nil, client)},
		"servers are slow":          {event: begins(history.Delays, nil, between)},
		"anything":                  {event: history.Event{F: history.FaultBegin}, want: drawsAgain},
	} {
		one, other := changes(t, "key-set x c1 10"), changes(t, "key-set x c2 10")
		one.Header.Nodes, other.Header.Nodes = []string{"A", "B"}, []string{"A", "B"}
		alone := Compare(one, other, !test.independent)
		one.Events = append(one.Events, test.event)
		for _, got := range []Agreement{Compare(one, other, !test.independent), Compare(other, one, !test.independent)} {
			if got.Drawn != test.want || (got.Differs == "") != (test.want != "") || alone.Differs == "" {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if got := Compare(one, one, !test.independent); got.Changes != 1 || got.Differs != "" {
			t.Errorf("%s, and the same came of it: %+v", name, got)
		}
	}
}
