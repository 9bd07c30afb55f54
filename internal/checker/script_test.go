package checker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// script writes histories by hand. Times are in ms.
type script struct{ h history.History }

func newScript() *script {
	s := &script{}
	s.h.Header = history.Header{Format: history.FormatName, Version: history.FormatVersion, Workload: "increment",
		Clients: []string{"c1", "c2", "c3"}, Nodes: []string{"A", "B", "C", "D", "E"}, TTL: int64(time.Second)}
	return s
}

func (s *script) add(ms int64, process string, t history.Type, f history.F, v history.Value) int {
	i := len(s.h.Events)
	s.h.Events = append(s.h.Events,
		history.Event{Index: int32(i), Time: time.Duration(ms) * time.Millisecond, Process: process, Type: t, F: f, Value: v})
	return i
}

func ns(ms int64) history.Int { return history.Some(ms * int64(time.Millisecond)) }

// acquire is a grant; until < 0 promises no end, token < 0 carries none.
func (s *script) acquire(from, to int64, client string, until, token int64) {
	s.add(from, client, history.Invoke, history.Acquire, history.Value{})
	s.granted(to, client, until, token)
}

// refused is an attempt that failed.
func (s *script) refused(from, to int64, client string) {
	s.add(from, client, history.Invoke, history.Acquire, history.Value{})
	s.add(to, client, history.Fail, history.Acquire, history.Value{})
}

func (s *script) granted(ms int64, client string, until, token int64) {
	v := history.Value{Owner: client + "-owner", Grant: &history.Grant{Nodes: s.h.Header.Nodes}}
	if until >= 0 {
		v.OwnGrant().ValidUntil = ns(until)
	}
	if token >= 0 {
		v.Token = history.Some(token)
	}
	s.add(ms, client, history.OK, history.Acquire, v)
}

func (s *script) release(from, to int64, client string) {
	s.add(from, client, history.Invoke, history.Release, history.Value{})
	s.add(to, client, history.OK, history.Release, history.Value{})
}

func (s *script) forget(ms int64, client string) {
	s.add(ms, client, history.Invoke, history.Forget, history.Value{})
	s.add(ms, client, history.OK, history.Forget, history.Value{})
}

func (s *script) read(ms int64, client string, section int, n int64) {
	s.add(ms, client, history.Invoke, history.Read, history.Value{Section: section})
	s.add(ms+1, client, history.OK, history.Read, history.Value{Section: section, Number: history.Some(n)})
}

func (s *script) readList(ms int64, client string, section int, list []int64) {
	s.add(ms, client, history.Invoke, history.Read, history.Value{Section: section})
	s.add(ms+1, client, history.OK, history.Read, history.Value{Section: section, Extra: &history.Extra{List: list}})
}

// write is answered with t; the resource tells of the effect unless that is
// unknown.
func (s *script) write(ms int64, client string, section int, n int64, t history.Type, token int64) {
	v := history.Value{Section: section, Number: history.Some(n)}
	if token >= 0 {
		v.Token = history.Some(token)
	}
	s.add(ms, client, history.Invoke, history.Write, v)
	if t != history.Info {
		e := v
		e.Client, e.Outcome = client, &history.Outcome{Op: history.Write, At: ns(ms), Accepted: history.SomeBool(t == history.OK)}
		if t == history.Fail {
			e.OwnOutcome().Highest = history.Some(token + 1)
		}
		s.add(ms+1, history.ResourceProcess, history.Info, history.Effect, e)
	}
	s.add(ms+1, client, t, history.Write, v)
}

// cell is a write to a cell, of which the resource tells nothing.
func (s *script) cell(ms int64, client string, section int, cell string, n int64, t history.Type) {
	v := history.Value{Section: section, Key: cell, Number: history.Some(n)}
	s.add(ms, client, history.Invoke, history.Write, v)
	s.add(ms+1, client, t, history.Write, v)
}

// take takes from - to units in one step; the resource tells of it, save where it
// fails.
func (s *script) take(ms int64, client string, section int, from, to int64, t history.Type) {
	s.add(ms, client, history.Invoke, history.CAS, history.Value{Section: section, Number: history.Some(max(from-to, 1))})
	left := history.Value{Section: section, Number: history.Some(to)}
	if t != history.Fail {
		e := left
		e.Client, e.Outcome = client, &history.Outcome{Op: history.CAS, At: ns(ms), Accepted: history.SomeBool(true)}
		s.add(ms+1, history.ResourceProcess, history.Info, history.Effect, e)
	}
	if t == history.OK {
		left.OwnExtra().Expected = history.Some(from)
	}
	s.add(ms+1, client, t, history.CAS, left)
}

// pairLook is a snapshot of two lists.
func (s *script) pairLook(ms int64, client string, section int, a, b []int64) {
	s.add(ms, client, history.Invoke, history.Snapshot, history.Value{Section: section})
	s.add(ms+1, client, history.OK, history.Snapshot,
		history.Value{Section: section, Extra: &history.Extra{List: slices.Clone(a), Other: slices.Clone(b)}})
}

func (s *script) pairAppend(ms int64, client string, n int64, t history.Type) {
	v := history.Value{Section: 1, Number: history.Some(n)}
	s.add(ms, client, history.Invoke, history.Transact, v)
	s.add(ms+2, client, t, history.Transact, v)
}

func (s *script) fault(ms int64, begin bool, id int, kind, target string) {
	f := history.FaultBegin
	if !begin {
		f = history.FaultEnd
	}
	v := history.Value{Rare: &history.Rare{Fault: kind, Target: target, ID: id}}
	if begin {
		v.OwnRare().Impact = s.impact(kind, target)
	}
	s.add(ms, history.NemesisProcess, history.Info, f, v)
}

// impact is what the faults of these tests do.
func (s *script) impact(kind, target string) *history.Impact {
	does, known := map[string]history.Strike{
		"pause": {Does: history.Stops}, "kill": {Does: history.Kills}, "clock": {Does: history.BendsClock},
		"cut": {Does: history.Drops}, "promote": {Does: history.Promotes}, "stall": {Does: history.Silences},
	}[kind]
	if !known {
		return nil // it does not say
	}
	switch {
	case slices.Contains(s.h.Header.Clients, target):
		does.Clients = []string{target}
	case slices.Contains(s.h.Header.Nodes, target):
		does.Nodes = []string{target}
	default:
		for _, n := range strings.Split(strings.TrimPrefix(target, "all clients to "), ",") {
			for _, c := range s.h.Header.Clients {
				does.Links = append(does.Links, history.Link{From: c, To: n})
			}
		}
	}
	verb := map[string]string{"pause": "was paused", "kill": "was killed"}[kind]
	return &history.Impact{Words: target + " " + cmp.Or(verb, "suffered "+kind), Effects: []history.Strike{does}}
}

// ends lets a lock program end by itself.
func (s *script) ends(ms int64, client, how string, printed ...string) {
	s.add(ms, client, history.Info, history.ProgramEnded, history.Value{Rare: &history.Rare{Detail: how}})
	s.h.Events[len(s.h.Events)-1].Error = history.SomeText(strings.Join(printed, "\n"))
}

func (s *script) phase(ms int64, name string) {
	s.add(ms, history.RunProcess, history.Info, history.Phase, history.Value{Rare: &history.Rare{Detail: name}})
}

func (s *script) unclear(ms int64, node, client, command string) {
	s.add(ms, node, history.Info, history.KeyUnclear, history.Value{Key: "lock", Client: client, Rare: &history.Rare{Detail: command}})
}

func (s *script) key(ms int64, f history.F, node, client, owner string, ttl int64) {
	v := history.Value{Key: "lock", Owner: owner, Client: client}
	if ttl >= 0 {
		v.OwnGrant().TTL = ns(ttl)
	}
	s.add(ms, node, history.Info, f, v)
}

// gcPause is Kleppmann's schedule: c1 stalls past its lease, then writes.
func gcPause(fenced bool) *script {
	s := newScript()
	t1, t2, last := int64(-1), int64(-1), history.OK
	if fenced {
		t1, t2, last = 1, 2, history.Fail
	}
	s.phase(0, history.PhaseSafety)
	s.acquire(0, 4, "c1", 994, t1)
	s.read(5, "c1", 1, 0)
	s.add(7, "c1", history.Info, history.Point, history.Value{Extra: &history.Extra{Point: "before-write"}})
	s.fault(8, true, 1, "pause", "c1")
	s.add(10, "c2", history.Invoke, history.Acquire, history.Value{})
	s.add(900, "c2", history.Fail, history.Acquire, history.Value{})
	s.acquire(1001, 1005, "c2", 1995, t2)
	s.read(1006, "c2", 1, 0)
	s.write(1010, "c2", 1, 1, history.OK, t2)
	s.fault(2008, false, 1, "pause", "c1")
	s.write(2009, "c1", 1, 1, last, t1)
	s.release(2020, 2021, "c1")
	s.release(2022, 2023, "c2")
	s.phase(2030, history.PhaseHealing)
	s.acquire(2031, 2040, "c3", 3030, 3)
	s.release(2041, 2042, "c3")
	s.phase(2100, history.PhaseDone)
	return s
}
