package locklog

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// slew is how much faster or slower than another clock of its host a clock may run without having been set: NTP's most.
const slew = 500e-6

// scatter is how far apart two readings of one clock can be that nobody set: some languages read the time in ms.
const scatter = 2 * time.Millisecond

// merger puts the lines of all processes into one history.
type merger struct {
	*Log
	clocks *history.Clocks
	begin  int64
	events []stamped
	// missing is what is known to be missing first, incomplete how many processes lack lines.
	missing    string
	incomplete int
}

// stamped is an event on its way into the history: events of equal times stay in the order of their lines.
type stamped struct {
	process, place int
	event          history.Event
}

// hold is what a process asked for, was granted and released together.
type hold struct {
	client, lock string
	// When it was asked for last, granted, and last renewed; last is its last line.
	asked, granted, renewed time.Duration
	isAsked, isGranted      bool
	isReleasing, isEnded    bool
	last                    time.Duration
	// ttl is that of its grant, in µs; nil: it told none.
	ttl *int64
	// ends: its grant told when its validity ends.
	ends bool
	// vague: it is not known what its writes were under: renewals overlap, or holds of its client.
	vague bool
	// effects are the places of its writes in events.
	effects []int
}

// History is what the lines tell, by clocks of hosts that differ by at most so much. A hold is a client, but holds of one process and
// lock with the same owner value are one.
func (l *Log) History(clockError time.Duration) (*history.History, error) {
	if len(l.processes) == 0 {
		return nil, errEmpty
	}
	m := &merger{Log: l, clocks: &history.Clocks{Error: clockError, Of: make(map[string]int)}}
	for _, p := range l.processes {
		if err := l.order(p); err != nil {
			return nil, err
		}
	}
	times := make([][]int64, len(l.processes))
	set := make(map[string]bool)
	for i, p := range l.processes {
		step := int64(0)
		times[i], step = onOneClock(p.entries)
		m.clocks.List = append(m.clocks.List, history.Clock{Host: p.host, Step: micros(step)})
		set[p.host] = set[p.host] || micros(step) > scatter
		if i == 0 || times[i][0] < m.begin {
			m.begin = times[i][0]
		}
	}
	for i, p := range l.processes {
		m.clocks.List[i].Set = set[p.host]
		if err := m.addProcess(i, p, times[i]); err != nil {
			return nil, err
		}
	}
	return m.history(), nil
}

func (m *merger) history() *history.History {
	slices.SortStableFunc(m.events, func(a, b stamped) int {
		return cmp.Or(cmp.Compare(a.event.Time, b.event.Time), cmp.Compare(a.process, b.process), cmp.Compare(a.place, b.place))
	})
	h := &history.History{Clocks: m.clocks, Truncated: m.Truncated, Header: history.Header{Format: history.FormatName,
		Version: history.FormatVersion, Started: time.UnixMicro(m.begin).UTC().Format(time.RFC3339Nano)}}
	h.Events = make([]history.Event, 0, len(m.events)+1)
	for i := range m.events {
		e := m.events[i].event
		e.Index = int32(i)
		h.Events = append(h.Events, e)
	}
	h.Events = append(h.Events, history.Event{Index: int32(len(h.Events)), Type: history.Info, Time: h.End(), Process: history.RunProcess,
		F: history.Phase, Value: history.Value{Rare: &history.Rare{Detail: history.PhaseDone}}})
	if m.clocks.Missing = m.missing; m.incomplete > 1 {
		m.clocks.Missing += fmt.Sprintf(", and lines of %d other processes", m.incomplete-1)
	}
	return h
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// onOneClock are the times of a process's lines, in µs since 1970, as if nobody had set the clock while it ran, and by how much it was
// set. They are in the middle of what the clock said before and after.
func onOneClock(entries []entry) (times []int64, step int64) {
	times = make([]int64, len(entries))
	set, least, most := int64(0), int64(0), int64(0)
	for i := range entries {
		if i > 0 {
			mono := entries[i].Mono - entries[i-1].Mono
			off := entries[i].Wall - entries[i-1].Wall - mono
			if may := int64(float64(mono) * slew); off < -may || off > may {
				set += off
			}
			least, most = min(least, set), max(most, set)
		}
		times[i] = entries[i].Wall - set
	}
	for i := range times {
		times[i] += least + (most-least)/2
	}
	return times, most - least
}

// addProcess tells what the lines of a process tell. Where lines are missing, nobody knows what became of the holds before.
func (m *merger) addProcess(at int, p *process, times []int64) error {
	holds := make(map[int64]*hold)
	inside := make(map[string]*hold) // the latest hold of each client
	var open []*hold                 // in their order
	owners := p.clientsByOwner(m.clocks, at)
	lost := m.noteMissing(p)
	for i := range p.entries {
		e := &p.entries[i]
		now := micros(times[i] - m.begin)
		if lost && (i == 0 || e.Line.Line != p.entries[i-1].Line.Line+1) && e.Line.Line > 0 {
			if i > 0 {
				m.endAll(at, i-1, open, micros(times[i-1]-m.begin), "lines of its log are missing from here on")
			}
			holds, open = make(map[int64]*hold), nil
		}
		x := holds[e.Hold]
		if x == nil {
			if e.Event != Asked && lost {
				continue // its first lines are missing
			}
			if e.Event != Asked {
				return m.errorAt(e, "hold %d of process %q: %s, but it was never asked for", e.Hold, p.process, e.Event)
			}
			x = &hold{client: owners(e.Hold, e.Lock), lock: e.Lock}
			holds[e.Hold], open = x, append(open, x)
		}
		if e.Lock != x.lock {
			return m.errorAt(e, "hold %d of process %q is of lock %q, not of %q", e.Hold, p.process, x.lock, e.Lock)
		}
		if before := inside[x.client]; e.Event == Granted && before != nil && before != x && (before.vague || !before.isEnded) {
			before.vague, x.vague = true, true // it is not known under which of the two a write was
		}
		if e.Event == Granted {
			inside[x.client] = x
		}
		if problem := m.add(at, i, x, &e.Line, now); problem != "" {
			return m.errorAt(e, "hold %d of process %q: %s", e.Hold, p.process, problem)
		}
		x.last = now
	}
	last := len(p.entries) - 1
	m.endAll(at, last, open, micros(times[last]-m.begin), "its log ends here")
	return nil
}

// noteMissing takes note of lines that are not there.
func (m *merger) noteMissing(p *process) bool {
	first := p.entries[0].Line.Line
	missing := p.entries[len(p.entries)-1].Line.Line + 1 - int64(len(p.entries))
	if missing == 0 {
		return false
	}
	if m.incomplete++; m.incomplete == 1 {
		m.missing = fmt.Sprintf("%d of the lines of process %s on host %s are missing", missing, history.OwnerText(p.process),
			history.OwnerText(p.host))
		if first == missing {
			m.missing = fmt.Sprintf("the first %d lines of process %s on host %s are missing", missing, history.OwnerText(p.process),
				history.OwnerText(p.host))
		}
	}
	return true
}

// clientsByOwner names the client of each hold: who has the same owner value for the same lock is one.
func (p *process) clientsByOwner(clocks *history.Clocks, clock int) func(hold int64, lock string) string {
	type owned struct{ lock, owner string }
	first := make(map[owned]int64)
	same := make(map[int64]int64)
	for i := range p.entries {
		if e := &p.entries[i]; e.Event == Granted && e.Owner != "" {
			k := owned{e.Lock, e.Owner}
			if _, some := first[k]; !some {
				first[k] = e.Hold
			}
			same[e.Hold] = first[k]
		}
	}
	prefix := history.OwnerText(p.host) + "/" + history.OwnerText(p.process) + "#"
	return func(hold int64, _ string) string {
		if other, some := same[hold]; some {
			hold = other
		}
		client := prefix + fmt.Sprint(hold)
		clocks.Of[client] = clock
		return client
	}
}

// endAll ends what is known of holds.
func (m *merger) endAll(at, place int, open []*hold, now time.Duration, why string) {
	for _, x := range open {
		if x.isAsked || x.isGranted && !x.isEnded {
			m.tell(at, place, now, history.Event{Process: x.client, Type: history.Info, F: history.ProgramEnded,
				Value: history.Value{Rare: &history.Rare{Detail: why}}})
		}
		m.settleEffects(x)
	}
}

// settleEffects forgets when a hold's writes came if it is not known what they were under.
func (m *merger) settleEffects(x *hold) {
	for _, i := range x.effects {
		if o := m.events[i].event.Value.Outcome; x.vague {
			o.At, o.AtError = history.Int{}, 0
		}
	}
}

func (m *merger) tell(at, place int, now time.Duration, e history.Event) {
	e.Time = now
	m.events = append(m.events, stamped{at, place, e})
}

// add tells what a line tells of a hold. It returns what is wrong with the line.
func (m *merger) add(at, place int, x *hold, l *Line, now time.Duration) (problem string) {
	extra := &history.Extra{Lock: history.OwnerText(x.lock)}
	op := func(when time.Duration, f history.F, t history.Type, v history.Value) {
		v.Extra = extra
		m.tell(at, place, when, history.Event{Process: x.client, Type: t, F: f, Value: v})
	}
	switch l.Event {
	case Asked:
		if x.isGranted {
			return "asked for again, though it was granted: a new hold needs a new number"
		}
		x.isAsked, x.asked = true, now
		op(now, history.Acquire, history.Invoke, history.Value{})
	case NotGranted:
		if !x.isAsked {
			return "not granted, and not asked for before"
		}
		x.isAsked = false
		op(now, history.Acquire, history.Fail, history.Value{})
	case Granted:
		if !x.isAsked {
			return "granted, and not asked for before"
		}
		x.isAsked, x.isGranted, x.granted, x.renewed, x.ttl = false, true, now, now, l.TTL
		v := history.Value{Owner: history.OwnerText(l.Owner), Grant: m.promise(x, l, x.asked, now)}
		if l.Token != nil {
			v.Token = history.Some(*l.Token)
		}
		op(now, history.Acquire, history.OK, v)
	case Renewed, Lost, Releasing, Released, ReleasedInVain, WriteDone, WriteRefused:
		if !x.isGranted {
			return fmt.Sprintf("%s, and not granted before", l.Event)
		}
		return m.addToGrant(at, place, x, l, now, op)
	}
	return ""
}

func (m *merger) addToGrant(at, place int, x *hold, l *Line, now time.Duration,
	op func(time.Duration, history.F, history.Type, history.Value)) (problem string) {
	switch l.Event {
	case Asked, Granted, NotGranted: // they come before a grant
	case Renewed:
		asked := x.granted
		if l.Took != nil {
			asked = max(asked, now-micros(*l.Took))
		}
		// Operations of one kind do not overlap in a history.
		x.vague = x.vague || asked < x.renewed
		op(max(asked, x.renewed), history.Extend, history.Invoke, history.Value{})
		g := m.promise(x, l, asked, now)
		if x.ends && !g.ValidUntil.IsSet() {
			return "renewed without a ttl or a validity, though its grant told one"
		}
		op(now, history.Extend, history.OK, history.Value{Grant: g})
		x.renewed = now
	case Lost:
		op(now, history.Lost, history.Info, history.Value{Outcome: &history.Outcome{At: history.Some(int64(now))}})
	case Releasing:
		x.isReleasing, x.isEnded = true, true
		op(now, history.Release, history.Invoke, history.Value{})
	case Released, ReleasedInVain:
		if !x.isReleasing { // it can have been asked for since the line before
			op(x.last, history.Release, history.Invoke, history.Value{})
		}
		x.isReleasing, x.isEnded = false, true
		t := history.OK
		if l.Event == ReleasedInVain {
			t = history.Fail
		}
		op(now, history.Release, t, history.Value{})
	case WriteDone, WriteRefused:
		o := &history.Outcome{Op: history.Write, Accepted: history.SomeBool(l.Event == WriteDone)}
		if l.Took != nil {
			from := max(now-micros(*l.Took), x.granted)
			o.At, o.AtError = history.Some(int64(from+now)/2), int64(now-from+1)/2
		}
		v := history.Value{Client: x.client, Outcome: o}
		if l.Token != nil {
			v.Token = history.Some(*l.Token)
		}
		x.effects = append(x.effects, len(m.events))
		m.tell(at, place, now, history.Event{Process: history.ResourceProcess, Type: history.Info, F: history.Effect, Value: v})
	}
	return ""
}

// promise is what a grant or a renewal that was asked for and answered then promises: ValidUntil is when it is over at the latest,
// Validity for how long it surely is not.
func (m *merger) promise(x *hold, l *Line, asked, now time.Duration) *history.Grant {
	g := &history.Grant{}
	ttl := cmp.Or(l.TTL, x.ttl)
	if ttl != nil {
		g.TTL = history.Some(int64(micros(*ttl)))
	}
	switch {
	case l.Renews:
		x.ttl = nil
	case l.Validity != nil:
		g.Validity = history.Some(int64(micros(*l.Validity)))
		g.ValidUntil = history.Some(int64(now + micros(*l.Validity)))
	case ttl != nil:
		g.Validity = history.Some(int64(asked + micros(*ttl) - now))
		g.ValidUntil = history.Some(int64(now + micros(*ttl)))
	}
	x.ends = x.ends || g.ValidUntil.IsSet()
	return g
}
