package history

import (
	"slices"
	"testing"
	"time"
)

// Each line is an event, 1 ms after the one before it: who, what came of it, what, the owner value, and of an event of a node
// whose it is.
type toldLine struct {
	who   string
	t     Type
	f     F
	owner string
	by    string
}

func TestClientsOfAProcessAreToldApart(t *testing.T) {
	const first = "c1"
	set, gone := toldLine{"A", Info, KeySet, "x", first}, toldLine{"A", Info, KeyDeleted, "x", first}
	asks := func(c string) toldLine { return toldLine{who: c, t: Invoke, f: Acquire} }
	got := func(c, owner string) toldLine { return toldLine{who: c, t: OK, f: Acquire, owner: owner} }
	leaves := func(c string) toldLine { return toldLine{who: c, t: Invoke, f: Release} }
	left := func(c string) toldLine { return toldLine{who: c, t: OK, f: Release} }
	for name, c := range map[string]struct {
		lines []toldLine
		want  []string // of the events of keys
	}{
		"the value was told": {[]toldLine{asks("c1"), asks("c2"), set, got("c2", "x"), leaves("c2"), gone, left("c2")},
			[]string{"c2", "c2"}},
		"one asks": {[]toldLine{asks("c2"), set, got("c2", ""), leaves("c2"), gone, left("c2")},
			[]string{"c2", "c2"}},
		"two ask, and one is answered":     {[]toldLine{asks("c1"), asks("c2"), set, got("c2", "")}, []string{"c2"}},
		"it is set again before an answer": {[]toldLine{asks("c1"), asks("c2"), set, set, got("c2", "")}, []string{"", "c2"}},
		"the holder renews":                {[]toldLine{asks("c2"), got("c2", ""), set}, []string{"c2"}},
		"a late clean-up, while another asks": {[]toldLine{asks("c1"), set, {who: "c1", t: Info, f: Acquire}, asks("c2"), gone},
			[]string{"c1", "c1"}},
		"the holder renews while another asks": {[]toldLine{asks("c1"), set, got("c1", ""), asks("c2"), {"A", Info, KeyExtended, "x", first}},
			[]string{"c1", "c1"}},
		"nobody has to do with it":     {[]toldLine{set, gone}, []string{"", ""}},
		"another thread takes it away": {[]toldLine{asks("c1"), set, got("c1", "x"), leaves("c2"), gone}, []string{"c1", "c2"}},
		"both were told the value": {[]toldLine{asks("c1"), set, got("c1", "x"), asks("c2"), got("c2", "x"), leaves("c2"), gone, left("c2")},
			[]string{"c1", "c2"}},
		"another process": {[]toldLine{asks("c3"), {"A", Info, KeySet, "y", "c3"}, got("c3", "y")},
			[]string{"c3"}},
	} {
		h := &History{Header: Header{Program: "1.0", Clients: []string{"c1", "c2", "c3"}, Processes: [][]string{{"c1", "c2"}}}}
		for i, l := range c.lines {
			h.Events = append(h.Events, Event{Index: int32(i), Time: time.Duration(i) * time.Millisecond, Process: l.who, Type: l.t, F: l.f,
				Value: Value{Owner: l.owner, Client: l.by}})
		}
		for range 2 { // what is told apart stays so
			h.tellApart()
			var whose []string
			for i := range h.Events {
				if e := &h.Events[i]; e.F == KeySet || e.F == KeyDeleted || e.F == KeyExtended {
					whose = append(whose, e.Value.Client)
				}
			}
			if !slices.Equal(whose, c.want) {
				t.Errorf("%s: %q, want %q", name, whose, c.want)
			}
		}
	}
}
