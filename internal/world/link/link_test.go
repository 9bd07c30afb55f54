package link_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/link"
)

const ms = time.Millisecond

// message is one of a test.
type message struct {
	name  string
	flow  *link.Flow
	place link.Place
	size  int64
	// due is till when it stands; -1: it stands nowhere.
	due time.Duration
}

func (m *message) Flow() *link.Flow   { return m.flow }
func (m *message) Place() *link.Place { return &m.place }
func (m *message) Size() int64        { return m.size }

// driver carries out what a Way says, and writes down what becomes of the messages.
type driver struct {
	way      link.Direction[*message]
	now      time.Duration
	standing []*message // in the order in which they came
	said     []string
}

// until lets time pass.
func (d *driver) until(at time.Duration) {
	for {
		var next *message
		for _, m := range d.standing {
			if m.due <= at && (next == nil || m.due < next.due) {
				next = m
			}
		}
		if next == nil {
			d.now = at
			return
		}
		d.now = max(d.now, next.due)
		d.pass(next)
	}
}

func (d *driver) pass(m *message) {
	d.standing = slices.DeleteFunc(d.standing, func(o *message) bool { return o == m })
	fate, until := d.way.Pass(m, d.now)
	words := map[link.Fate]string{link.Passes: "passes",
		link.Lost: "lost", link.Breaks: "breaks", link.Ends: fmt.Sprintf("ends after %d", m.place.Part),
		link.Refused: "is refused with " + m.place.Refusal}
	if fate == link.Stands {
		m.due = until
		d.standing = append(d.standing, m)
		return
	}
	d.said = append(d.said, fmt.Sprintf("%s %s %v", m.name, words[fate], d.now))
}

func (d *driver) send(name string, f *link.Flow, size int64) {
	d.pass(&message{name: name, flow: f, size: size})
}

// begin puts a disturbance in force, till end.
func (d *driver) begin(what world.Disturbance) (end func()) { return d.beginOn(nil, what) }

// beginOn does so for one flow; nil: for all.
func (d *driver) beginOn(f *link.Flow, what world.Disturbance) (end func()) {
	over := d.way.BeginOn(f, what)
	return func() {
		freed, breaks := over()
		for _, m := range freed {
			d.pass(m)
		}
		if breaks {
			d.said = append(d.said, fmt.Sprintf("all break %v", d.now))
		}
	}
}

func TestWay(t *testing.T) {
	for name, test := range map[string]struct {
		act  func(d *driver, f *link.Flow)
		want string
	}{
		"nothing is in force": {func(d *driver, f *link.Flow) {
			d.send("a", f, 1)
		}, "a passes 0s"},
		"latency, and what it delays goes on when it ends": {func(d *driver, f *link.Flow) {
			end := d.begin(world.Disturbance{Kind: world.Latency, Latency: 50 * ms})
			d.send("a", f, 1)
			d.until(20 * ms)
			d.send("b", f, 1)
			d.until(55 * ms)
			end()
		}, "a passes 50ms, b passes 55ms"},
		"latencies add up": {func(d *driver, f *link.Flow) {
			d.begin(world.Disturbance{Kind: world.Latency, Latency: 50 * ms})
			d.begin(world.Disturbance{Kind: world.Latency, Latency: 30 * ms})
			d.send("a", f, 1)
		}, "a passes 80ms"},
		"bandwidth, for each connection": {func(d *driver, f *link.Flow) {
			d.begin(world.Disturbance{Kind: world.Bandwidth, Rate: 1000})
			g := d.way.NewFlow()
			d.send("a", f, 10)
			d.send("b", f, 10)
			d.send("c", &g, 15)
		}, "a passes 10ms, c passes 15ms, b passes 20ms"},
		"of bandwidths the slowest counts": {func(d *driver, f *link.Flow) {
			d.begin(world.Disturbance{Kind: world.Bandwidth, Rate: 1000})
			d.begin(world.Disturbance{Kind: world.Bandwidth, Rate: 500})
			d.begin(world.Disturbance{Kind: world.Bandwidth, Rate: 1000})
			d.send("a", f, 10)
			d.send("b", f, 10)
		}, "a passes 20ms, b passes 40ms"},
		"bandwidth behind a latency begins when the message comes there": {func(d *driver, f *link.Flow) {
			d.begin(world.Disturbance{Kind: world.Latency, Latency: 50 * ms})
			d.begin(world.Disturbance{Kind: world.Bandwidth, Rate: 1000})
			d.send("a", f, 10)
		}, "a passes 60ms"},
		"a cut loses, and breaks when it ends; once": {func(d *driver, f *link.Flow) {
			end := d.begin(world.Disturbance{Kind: world.Cut})
			d.send("a", f, 1)
			d.until(ms)
			end()
			end()
			d.send("b", f, 1)
		}, "a lost 0s, all break 1ms, b passes 1ms"},
		"a hold": {func(d *driver, f *link.Flow) {
			end := d.begin(world.Disturbance{Kind: world.Hold})
			d.send("a", f, 1)
			d.send("b", f, 1)
			d.until(ms)
			end()
		}, "a passes 1ms, b passes 1ms"},
		"what goes on from a hold meets what has begun since": {func(d *driver, f *link.Flow) {
			end := d.begin(world.Disturbance{Kind: world.Hold})
			d.send("a", f, 1)
			d.begin(world.Disturbance{Kind: world.Cut})
			d.until(ms)
			end()
		}, "a lost 1ms"},
		"a message does not meet twice what it has passed": {func(d *driver, f *link.Flow) {
			d.begin(world.Disturbance{Kind: world.Latency, Latency: 5 * ms})
			end := d.begin(world.Disturbance{Kind: world.Hold})
			d.send("a", f, 1)
			d.until(7 * ms)
			end()
		}, "a passes 7ms"},
		"a stall spares connections opened later, and the next does not": {func(d *driver, f *link.Flow) {
			end := d.begin(world.Disturbance{Kind: world.Stall})
			g := d.way.NewFlow()
			d.send("a", f, 1)
			d.send("b", &g, 1)
			again := d.begin(world.Disturbance{Kind: world.Stall})
			d.send("c", &g, 1)
			d.until(ms)
			end() // a meets the second
			d.until(2 * ms)
			again()
		}, "b passes 0s, c passes 2ms, a passes 2ms"},
		"a reset": {func(d *driver, f *link.Flow) {
			d.begin(world.Disturbance{Kind: world.Reset})
			d.send("a", f, 1)
		}, "a breaks 0s"},
		"limited data, for each connection, from when it began": {func(d *driver, f *link.Flow) {
			d.send("before", f, 100)
			d.begin(world.Disturbance{Kind: world.LimitData, Bytes: 5})
			g := d.way.NewFlow()
			d.send("a", f, 3)
			d.send("b", &g, 5)
			d.send("c", f, 3)
			d.send("d", f, 3)
		}, "before passes 0s, a passes 0s, b ends after 5 0s, c ends after 2 0s, d ends after 0 0s"},
		"the least of two limits, and late": {func(d *driver, f *link.Flow) {
			d.begin(world.Disturbance{Kind: world.LimitData, Bytes: 5})
			d.begin(world.Disturbance{Kind: world.LimitData, Bytes: 4})
			d.begin(world.Disturbance{Kind: world.Bandwidth, Rate: 1000})
			d.send("a", f, 10)
		}, "a ends after 4 4ms"},
		"a slow close lets messages pass": {func(d *driver, f *link.Flow) {
			d.begin(world.Disturbance{Kind: world.SlowClose, Delay: time.Second})
			d.send("a", f, 1)
		}, "a passes 0s"},
		"what a closed connection sent is forgotten": {func(d *driver, f *link.Flow) {
			end := d.begin(world.Disturbance{Kind: world.Hold})
			g := d.way.NewFlow()
			d.send("a", f, 1)
			d.send("b", &g, 1)
			d.way.Close(f)
			end()
		}, "b passes 0s"},
		"a hold of one message, and of all behind it": {func(d *driver, f *link.Flow) {
			g := d.way.NewFlow()
			d.begin(world.Disturbance{Kind: world.Latency, Latency: 50 * ms})
			d.send("a", f, 1)
			end := d.beginOn(f, world.Disturbance{Kind: world.Hold})
			d.send("b", f, 1)
			d.send("other", &g, 1)
			d.until(80 * ms)
			d.send("c", f, 1)
			end()
		}, "a passes 50ms, other passes 50ms, b passes 80ms, c passes 130ms"},
		"a cut of one message": {func(d *driver, f *link.Flow) {
			g := d.way.NewFlow()
			end := d.beginOn(f, world.Disturbance{Kind: world.Cut})
			d.send("a", f, 1)
			d.send("b", f, 1)
			d.send("other", &g, 1)
			end()
		}, "a lost 0s, b lost 0s, other passes 0s, all break 0s"},
		"a reset by one message": {func(d *driver, f *link.Flow) {
			g := d.way.NewFlow()
			d.beginOn(f, world.Disturbance{Kind: world.Reset})
			d.send("other", &g, 1)
			d.send("a", f, 1)
		}, "other passes 0s, a breaks 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			var d driver
			f := d.way.NewFlow()
			test.act(&d, &f)
			d.until(time.Hour)
			if got := strings.Join(d.said, ", "); got != test.want {
				t.Errorf("said: %s\nwant: %s", got, test.want)
			}
		})
	}
}

func TestEndsOfConnections(t *testing.T) {
	var w link.Direction[*message]
	f := w.NewFlow()
	want := func(what string, late time.Duration, opens bool) {
		t.Helper()
		if got, o := w.EndDelay(&f), w.CanOpen(100); got != late || o != opens {
			t.Errorf("%s: ends are %v late, want %v; it opens: %v, want %v", what, got, late, o, opens)
		}
	}
	want("nothing", 0, true)
	for _, test := range []struct {
		d     world.Disturbance
		late  time.Duration
		opens bool
	}{
		{world.Disturbance{Kind: world.SlowClose, Delay: time.Second}, time.Second, true},
		{world.Disturbance{Kind: world.Hold}, link.Never, false},
		{world.Disturbance{Kind: world.Stall}, link.Never, true},
		{world.Disturbance{Kind: world.Cut}, 0, false},
		{world.Disturbance{Kind: world.Reset}, 0, false},
		{world.Disturbance{Kind: world.LimitData, Bytes: 99}, 0, false},
		{world.Disturbance{Kind: world.LimitData, Bytes: 100}, 0, true},
		{world.Disturbance{Kind: world.Latency, Latency: time.Second}, 0, true},
		{world.Disturbance{Kind: world.Bandwidth, Rate: 1}, 0, true},
	} {
		end := w.Begin(test.d)
		want(test.d.Kind.String(), test.late, test.opens)
		_, _ = end()
	}
	for _, other := range []world.DisturbanceKind{world.Hold, world.Cut, world.Reset} {
		g := w.NewFlow()
		w.BeginOn(&g, world.Disturbance{Kind: other})
		want("a disturbance of another connection", 0, true)
	}
	w.Begin(world.Disturbance{Kind: world.SlowClose, Delay: time.Minute})
	w.Begin(world.Disturbance{Kind: world.SlowClose, Delay: time.Second})
	want("the longest counts", time.Minute, true)
	w.Begin(world.Disturbance{Kind: world.Stall})
	if later := w.NewFlow(); w.EndDelay(&later) != time.Minute {
		t.Error("a stall keeps back the end of a connection opened later")
	}
}

// draws is a source that repeats a number.
type draws uint64

func (d draws) Uint64() uint64 { return uint64(d) }

func TestJitter(t *testing.T) {
	for draw, want := range map[draws]string{0: "a passes 2ms", 2 * draws(5*ms): "a passes 7ms", 2*draws(10*ms) - 2: "a passes 11.999999ms"} {
		d := driver{way: link.Direction[*message]{Rand: draw}}
		d.begin(world.Disturbance{Kind: world.Latency, Latency: 7 * ms, Jitter: 5 * ms})
		f := d.way.NewFlow()
		d.send("a", &f, 1)
		d.until(time.Hour)
		if d.said[0] != want {
			t.Errorf("%d: %s, want %s", draw, d.said[0], want)
		}
	}
}

// sequence is a source that gives one number after the other.
type sequence []uint64

func (s *sequence) Uint64() uint64 {
	n := (*s)[0]
	*s = (*s)[1:]
	return n
}

// TestJitterKeepsTheOrder of a connection, and of it alone.
func TestJitterKeepsTheOrder(t *testing.T) {
	early, late := uint64(0), uint64(2*(20*ms-1))
	d := driver{way: link.Direction[*message]{Rand: &sequence{late, early, early, early}}}
	d.begin(world.Disturbance{Kind: world.Latency, Latency: 10*ms + 1, Jitter: 10 * ms})
	f, g := d.way.NewFlow(), d.way.NewFlow()
	d.send("a", &f, 1)
	d.send("b", &f, 1)
	d.send("c", &g, 1)
	d.until(20 * ms) // a is due
	d.send("d", &f, 1)
	d.until(time.Hour)
	if got, want := strings.Join(d.said, ", "), "c passes 1ns, a passes 20ms, b passes 20ms, d passes 20.000001ms"; got != want {
		t.Errorf("said: %s\nwant: %s", got, want)
	}
}

// spell is a disturbance with its times.
type spell struct {
	world.Disturbance
	begin, end time.Duration
}

// TestWayIsTheModel: what a Way says step by step is what somebody says who knows
// all disturbances with their beginnings and ends beforehand, and follows one message
// after the other through them.
func TestWayIsTheModel(t *testing.T) {
	kinds := []world.Disturbance{
		{Kind: world.Latency, Latency: 50 * ms}, {Kind: world.Latency, Latency: 7 * ms},
		{Kind: world.Bandwidth, Rate: 1000}, {Kind: world.Bandwidth, Rate: 2000},
		{Kind: world.Cut}, {Kind: world.Hold}, {Kind: world.Stall},
		{Kind: world.Reset}, {Kind: world.SlowClose, Delay: time.Second}, {Kind: world.LimitData, Bytes: 60},
		{Kind: world.Refuse, Error: "one"}, {Kind: world.Refuse, Error: "two"},
	}
	rapid.Check(t, func(rt *rapid.T) {
		var times int
		// at draws a time of its own: no two things happen at once.
		at := func(least time.Duration, name string) time.Duration {
			times++
			drawn := time.Duration(rapid.IntRange(0, 300).Draw(rt, name)) * ms
			return max(drawn, least.Truncate(ms)+ms) + time.Duration(times)
		}
		type act struct {
			at time.Duration
			do func(d *driver)
		}
		var acts []act
		var spells []spell
		for range rapid.IntRange(0, 6).Draw(rt, "disturbances") {
			what := rapid.SampledFrom(kinds).Draw(rt, "kind")
			begin := at(-ms, "begin")
			s := spell{what, begin, at(begin, "end")}
			spells = append(spells, s)
			var end func()
			acts = append(acts, act{s.begin, func(d *driver) { end = d.begin(s.Disturbance) }}, act{s.end, func(*driver) { end() }})
		}
		flows, opened := make([]link.Flow, 3), make([]time.Duration, 3)
		for i := range flows {
			opened[i] = at(-ms, "open")
			acts = append(acts, act{opened[i], func(d *driver) { flows[i] = d.way.NewFlow() }})
		}
		slices.SortFunc(spells, func(a, b spell) int { return int(a.begin - b.begin) })
		n := naive{spells: spells, free: make(map[[2]int]time.Duration), left: make(map[[2]int]time.Duration), bytes: make(map[[2]int]int64)}
		var sent []sending
		for i := range rapid.IntRange(1, 12).Draw(rt, "messages") {
			flow := rapid.IntRange(0, 2).Draw(rt, "flow")
			m := sending{fmt.Sprint(i), flow, rapid.Int64Range(1, 40).Draw(rt, "size"), at(opened[flow], "send")}
			sent = append(sent, m)
			acts = append(acts, act{m.at, func(d *driver) { d.send(m.name, &flows[m.flow], m.size) }})
		}
		slices.SortFunc(sent, func(a, b sending) int { return int(a.at - b.at) })
		var want []string
		for _, m := range sent {
			want = append(want, n.fate(m, opened[m.flow]))
		}
		var d driver
		slices.SortFunc(acts, func(a, b act) int { return int(a.at - b.at) })
		for _, a := range acts {
			d.until(a.at)
			a.do(&d)
		}
		d.until(time.Hour)
		got := slices.DeleteFunc(d.said, func(s string) bool { return strings.HasPrefix(s, "all break") })
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			rt.Errorf("said %v\nwant %v", got, want)
		}
	})
}

// sending is a message of the model.
type sending struct {
	name string
	flow int
	size int64
	at   time.Duration
}

// naive follows one message after the other, in the order in which they were sent,
// through all disturbances that there ever are.
type naive struct {
	spells []spell
	// By disturbance and flow: when the line is free, when the message before left, and
	// how many bytes have passed.
	free, left map[[2]int]time.Duration
	bytes      map[[2]int]int64
}

func (n *naive) fate(m sending, opened time.Duration) string {
	now, base, limited, refused := m.at, m.at, false, ""
	for i, s := range n.spells {
		if now < s.begin || now >= s.end {
			continue
		}
		at := [2]int{i, m.flow}
		switch s.Kind {
		case world.Latency:
			base += s.Latency
			now = min(s.end, max(now+s.Latency, n.left[at]))
			n.left[at] = now
		case world.Bandwidth:
			n.free[at] = max(n.free[at], base) + time.Duration(m.size)*time.Second/time.Duration(s.Rate)
			now = min(s.end, max(now, n.free[at], n.left[at]))
			n.left[at] = now
		case world.Cut:
			return fmt.Sprintf("%s lost %v", m.name, now)
		case world.Reset:
			return fmt.Sprintf("%s breaks %v", m.name, now)
		case world.Hold:
			now = s.end
		case world.Stall:
			if opened < s.begin {
				now = s.end
			}
		case world.LimitData:
			n.bytes[at] += m.size
			if over := n.bytes[at] - s.Bytes; over >= 0 {
				m.size, limited = max(m.size-over, 0), true
			}
		case world.SlowClose:
		case world.Refuse:
			refused = cmp.Or(refused, s.Error)
		}
	}
	if limited && refused != "" {
		return fmt.Sprintf("%s ends after 0 %v", m.name, now)
	}
	if refused != "" {
		return fmt.Sprintf("%s is refused with %s %v", m.name, refused, now)
	}
	if limited {
		return fmt.Sprintf("%s ends after %d %v", m.name, m.size, now)
	}
	return fmt.Sprintf("%s passes %v", m.name, now)
}
