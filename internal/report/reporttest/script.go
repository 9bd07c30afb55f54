// Package reporttest makes results and histories to draw in tests: what a run
// would have left behind, written down by hand.
package reporttest

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// script collects events in any order and sorts them into a history.
type script struct {
	header history.Header
	events []history.Event
}

const (
	us = time.Microsecond
	ms = time.Millisecond
)

func newScript(variant string, clients, nodes []string) *script {
	return &script{header: history.Header{
		Format: history.FormatName, Version: history.FormatVersion,
		Scenario: "gc-pause", Variant: variant, World: "live", Seed: 42,
		Lock: "redlock", Workload: "increment", Clients: clients, Nodes: nodes,
		LockKey: "lock", Initial: history.Some(0), TTL: int64(time.Second),
	}}
}

func (s *script) add(at time.Duration, process string, t history.Type, f history.F, v history.Value) {
	s.events = append(s.events, history.Event{Time: at, Process: process, Type: t, F: f, Value: v})
}

// op adds an operation that is answered.
func (s *script) op(client string, f history.F, from, to time.Duration, ask, answer history.Value) {
	s.add(from, client, history.Invoke, f, ask)
	s.add(to, client, history.OK, f, answer)
}

// observe adds an observation.
func (s *script) observe(at time.Duration, process string, f history.F, v history.Value) {
	s.add(at, process, history.Info, f, v)
}

func (s *script) phase(at time.Duration, name string) {
	s.observe(at, history.RunProcess, history.Phase, history.Value{Rare: &history.Rare{Detail: name}})
}

// set puts an owner's key on nodes, a little later on each.
func (s *script) set(at time.Duration, owner string, ttl time.Duration, nodes ...string) {
	for i, node := range nodes {
		s.observe(at+time.Duration(i)*90*us, node, history.KeySet,
			history.Value{Key: "lock", Owner: owner, Grant: &history.Grant{TTL: history.Some(int64(ttl))}})
	}
}

func (s *script) gone(f history.F, at time.Duration, owner string, nodes ...string) {
	for i, node := range nodes {
		s.observe(at+time.Duration(i)*90*us, node, f, history.Value{Key: "lock", Owner: owner})
	}
}

// effect adds what the resource logged.
func (s *script) effect(
	at time.Duration, client string, op history.F, number int64, token history.Int, highest history.Int, accepted bool,
) {
	s.observe(at, history.ResourceProcess, history.Effect, history.Value{
		Client: client, Number: history.Some(number), Token: token,
		Outcome: &history.Outcome{Op: op, Highest: highest,
			Accepted: history.SomeBool(accepted), At: history.Some(int64(at)), AtError: int64(40 * us)},
	})
}

// fault adds a fault that begins and ends.
func (s *script) fault(id int, kind, target string, from, to time.Duration, planned time.Duration, detail string) {
	begin := history.Rare{Fault: kind, Target: target, ID: id, Planned: history.Some(int64(planned)), Detail: detail}
	end := begin
	begin.Impact, end.Took = s.impact(kind, target), history.Some(int64(to-from))
	s.observe(from, history.NemesisProcess, history.FaultBegin, history.Value{Rare: &begin})
	s.observe(to, history.NemesisProcess, history.FaultEnd, history.Value{Rare: &end})
}

// impact is what the faults of the fixtures do to their target.
func (s *script) impact(kind, target string) *history.Impact {
	strike := history.Strike{Does: map[string]history.Does{"pause": history.Stops, "clock-jump": history.BendsClock,
		"restart": history.Kills, "partition": history.Drops}[kind]}
	switch {
	case slices.Contains(s.header.Nodes, target):
		strike.Nodes = []string{target}
	case strike.Does == history.Drops:
		for _, n := range s.header.Nodes {
			strike.Links = append(strike.Links, history.Link{From: target, To: n})
		}
	default:
		strike.Clients = []string{target}
	}
	return &history.Impact{Words: target + " suffered " + kind, Effects: []history.Strike{strike}}
}

// history sorts the events by time and numbers them.
func (s *script) history() *history.History {
	events := slices.Clone(s.events)
	slices.SortStableFunc(events, func(a, b history.Event) int { return int(a.Time - b.Time) })
	for i := range events {
		events[i].Index = int32(i)
	}
	return &history.History{Header: s.header, Events: events}
}

// find returns the index of the nth event (from 0) of a kind in h; a fixture
// that asks for one that is not there is a mistake in the fixture.
func find(h *history.History, process string, t history.Type, f history.F, nth int) int {
	for i := range h.Events {
		if e := &h.Events[i]; e.Process == process && e.Type == t && e.F == f {
			if nth == 0 {
				return i
			}
			nth--
		}
	}
	panic(fmt.Sprintf("no event %s %s %s %d", process, t, f, nth))
}
