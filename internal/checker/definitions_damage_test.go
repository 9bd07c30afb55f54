package checker_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// damage is a history to which something was done that no run does: events are dropped,
// moved, doubled and renamed. Who judges it must still know what its page says.
func damage(h *history.History, seed uint64) *history.History {
	r := rand.New(rand.NewPCG(seed, 0x64616d616765))
	less := *h
	less.Events = slices.Clone(h.Events)
	for range 1 + r.IntN(4) {
		if n := len(less.Events); n > 1 {
			less.Events = pick(r, damages)(r, less.Events)
		}
	}
	less.Events = numbered(less.Events)
	if r.IntN(20) == 0 {
		less.Header.Quorum = r.IntN(4)
	}
	switch r.IntN(20) {
	case 0:
		less.Header.Lease = history.LeaseTTL
	case 1:
		less.Header.Lease = history.LeaseClock
	case 2:
		less.Header.Lease, less.Header.TTL = history.LeaseNone, 0
	case 3: // of one that asks for more, of one that nothing is said of
		less.Header.Differ = map[string]history.ClientLock{"c1": {TTL: pick(r, []int64{-1, 0, 3, 5, 20}) * unit,
			TTLExtra: pick(r, []int64{-1, 0, 0, 2}) * unit, TTLStep: pick(r, []int64{0, 0, 3}) * unit, Renews: r.IntN(2) == 0}}
	}
	if n := len(less.Events); n > 0 {
		switch e := &less.Events[r.IntN(n)]; r.IntN(200) {
		case 0:
			e.Index++
		case 1:
			e.Time /= 2
		}
	}
	return &less
}

var damages = []func(*rand.Rand, []history.Event) []history.Event{drop, move, double, rename, rename}

func drop(r *rand.Rand, events []history.Event) []history.Event {
	i := r.IntN(len(events))
	return slices.Delete(events, i, min(len(events), i+1+r.IntN(3)))
}

// move takes an event to another place, and its stamp with it as far as the others let it.
func move(r *rand.Rand, events []history.Event) []history.Event {
	from := r.IntN(len(events))
	e := events[from]
	return put(r, slices.Delete(events, from, from+1), e, from)
}

func double(r *rand.Rand, events []history.Event) []history.Event {
	i := r.IntN(len(events))
	return put(r, events, events[i], i)
}

// put puts an event near a place, or anywhere.
func put(r *rand.Rand, events []history.Event, e history.Event, near int) []history.Event {
	to := r.IntN(len(events) + 1)
	if r.IntN(2) == 0 {
		to = min(len(events), max(0, near+r.IntN(7)-3))
	}
	if to > 0 {
		e.Time = max(e.Time, events[to-1].Time)
	}
	if to < len(events) {
		e.Time = min(e.Time, events[to].Time)
	}
	return slices.Insert(events, to, e)
}

// rename gives an event something of another, or of nobody.
func rename(r *rand.Rand, events []history.Event) []history.Event {
	e, other := &events[r.IntN(len(events))], &events[r.IntN(len(events))]
	v, w := &e.Value, &other.Value
	switch r.IntN(17) {
	case 0, 1:
		e.Process = other.Process
	case 2:
		v.Owner = w.Owner
	case 3:
		v.Client = pick(r, []string{other.Process, ""})
	case 4:
		v.Section = w.Section
	case 5:
		v.Key = w.Key
	case 6:
		v.Token, v.Number = w.Token, w.Number
	case 7:
		v.OwnGrant().ValidUntil = w.ValidUntil()
	case 8:
		v.OwnOutcome().At = w.At()
	case 16:
		v.OwnOutcome().AtError = w.AtError()
	case 9:
		v.OwnExtra().Lock = pick(r, []string{"", "x"})
	case 10:
		rare := v.OwnRare()
		rare.Target, rare.ID, rare.Impact = w.Target(), w.ID(), w.Impact()
	case 11:
		v.OwnRare().Detail, v.OwnGrant().TTL = w.Detail(), w.TTL()
	case 12:
		e.Type = pick(r, []history.Type{history.Invoke, history.OK, history.Fail, history.Info})
	case 13:
		e.F = pick(r, []history.F{other.F, e.F})
	case 14:
		v.OwnOutcome().Accepted = pick(r, []history.Bool{{}, history.SomeBool(true), history.SomeBool(false)})
	case 15:
		v.Extra = &history.Extra{Expected: v.Expected(), List: w.List(), Other: w.Other(), Point: v.Point()}
	}
	return events
}

// TestDefinitionsOnDamagedHistories: the judges say what the page says even of histories
// that no run writes. Where they do not, or one falls over, the page leaves something open.
func TestDefinitionsOnDamagedHistories(t *testing.T) {
	s := newStage(t)
	n, first := suite.Amount(t, 9_000, 900), firstSeed(t)
	for i := range n {
		seed := first + uint64(i)
		p := plots[i%len(plots)]
		h, o, origin := write(seed, p.plot), options(seed), "plot "+p.name
		if i%4 == 3 {
			h, o, origin = s.run(t, seed)
		}
		if i%8 == 7 {
			h, origin = asProgram(h), origin+", as a program"
		}
		for more := range uint64(2) {
			if d := damage(h, 2*seed+more); len(d.Events) <= longest {
				agree(t, d, o, fmt.Sprintf("%s, seed %d, damaged with %d", origin, seed, 2*seed+more))
			}
		}
	}
}
