package explore

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Events of a history, in short.
func does(client string, f history.F, kind history.Type) history.Event {
	return history.Event{Process: client, Type: kind, F: f}
}

func asks(client string) history.Event { return does(client, history.Acquire, history.Invoke) }
func gets(client string) history.Event { return does(client, history.Acquire, history.OK) }

func node(name string, f history.F, client string) history.Event {
	e := history.Event{Process: name, Type: history.Info, F: f, Value: history.Value{Client: client}}
	if client != "" {
		e.Value.Owner = client + "-1"
	}
	return e
}

func strikes(id int, f history.F, effect history.Does, client string) history.Event {
	rare := &history.Rare{Fault: "pause", ID: id}
	if f == history.FaultBegin {
		rare.Impact = &history.Impact{Effects: []history.Strike{{Does: effect, Clients: []string{client}}}}
	}
	return history.Event{Process: history.NemesisProcess, Type: history.Info, F: f, Value: history.Value{Rare: rare}}
}

// TestWaypointsOfAHistory: each state is told from what comes closest to it.
func TestWaypointsOfAHistory(t *testing.T) {
	set, pause := history.KeySet, history.Stops
	found := node("A", set, "c1") // after a restart: no client has set it
	found.Value.Client = ""
	for name, c := range map[string]struct {
		reached []int
		events  []history.Event
	}{
		"one after the other": {nil, []history.Event{asks("c1"), gets("c1"), asks("c2")}},
		"both ask":            {[]int{contended}, []history.Event{asks("c1"), asks("c2")}},
		"it gives up":         {[]int{gaveUp}, []history.Event{asks("c1"), does("c1", history.Acquire, history.Fail)}},
		"nobody knows":        {nil, []history.Event{asks("c1"), does("c1", history.Acquire, history.Info)}},
		"the answer was lost": {[]int{answerLost}, []history.Event{
			asks("c1"), node("A", set, "c1"), does("c1", history.Acquire, history.Info),
		}},
		"who waits is paused": {[]int{overtook, contended}, []history.Event{
			asks("c1"), strikes(1, history.FaultBegin, pause, "c1"), asks("c2"), gets("c2"),
		}},
		"its pause is over": {[]int{contended}, []history.Event{
			asks("c1"), strikes(1, history.FaultBegin, pause, "c1"), strikes(1, history.FaultEnd, "", ""), asks("c2"), gets("c2"),
		}},
		"another pause is over": {[]int{overtook, contended}, []history.Event{
			asks("c1"), strikes(1, history.FaultBegin, pause, "c1"), strikes(2, history.FaultEnd, "", ""), asks("c2"), gets("c2"),
		}},
		"the holder is killed": {[]int{stoppedHolding}, []history.Event{
			asks("c1"), gets("c1"), strikes(1, history.FaultBegin, history.Kills, "c1"),
		}},
		"the holder is slow": {nil, []history.Event{asks("c1"), gets("c1"), strikes(1, history.FaultBegin, history.Delays, "c1")}},
		"renewed after a release": {[]int{renewedReleased}, []history.Event{
			node("A", set, "c1"), does("c1", history.Release, history.Invoke), node("A", history.KeyExtended, "c1"),
		}},
		"renewed, and asked again": {nil, []history.Event{
			does("c1", history.Release, history.Invoke), asks("c1"), node("A", set, "c1"), node("A", history.KeyExtended, "c1"),
		}},
		"expired amid an extension": {[]int{expiredRenewing}, []history.Event{
			node("A", set, "c1"), does("c1", history.Extend, history.Invoke), node("A", history.KeyExpired, ""),
		}},
		"expired after an extension": {nil, []history.Event{
			node("A", set, "c1"), does("c1", history.Extend, history.Invoke),
			does("c1", history.Extend, history.OK), node("A", history.KeyExpired, ""),
		}},
		"an extension failed": {[]int{learnedLoss}, []history.Event{
			does("c1", history.Extend, history.Invoke), does("c1", history.Extend, history.Fail),
		}},
		"the lock told of its loss":  {[]int{learnedLoss}, []history.Event{does("c1", history.Lost, history.Info)}},
		"another deletes the key":    {[]int{keyTaken}, []history.Event{node("A", set, "c1"), gets("c1"), node("A", history.KeyDeleted, "c2")}},
		"its client deletes the key": {nil, []history.Event{node("A", set, "c1"), gets("c1"), node("A", history.KeyDeleted, "c1")}},
		"the key expires": {[]int{endsWhileHeld}, []history.Event{
			node("A", set, "c1"), gets("c1"), node("A", history.KeyExpired, ""),
		}},
		"a restart": {[]int{restartedHeld}, []history.Event{
			gets("c1"), node("A", history.NodeDown, ""), node("A", history.NodeUp, ""),
		}},
		"a restart, nobody has it":    {nil, []history.Event{node("A", history.NodeDown, ""), node("A", history.NodeUp, "")}},
		"a promotion":                 {[]int{promotedHeld}, []history.Event{gets("c1"), node("B", history.NodePromoted, "")}},
		"a promotion, nobody has it":  {nil, []history.Event{node("A", set, "c1"), node("B", history.NodePromoted, ""), node("B", set, "c1")}},
		"an old primary":              {[]int{twoPrimaries}, []history.Event{node("B", history.NodePromoted, ""), node("A", set, "c1")}},
		"by one node of two":          {[]int{grantedByPart}, []history.Event{node("A", set, "c1"), gets("c1")}},
		"by both nodes":               {nil, []history.Event{node("A", set, "c1"), node("B", set, "c1"), gets("c1")}},
		"keys of two":                 {[]int{split}, []history.Event{node("A", set, "c1"), node("B", set, "c2")}},
		"keys of two, then the other": {nil, []history.Event{node("A", set, "c1"), node("A", history.KeyDeleted, "c1"), node("B", set, "c2")}},
		"a release leaves a key": {[]int{releaseLeft}, []history.Event{
			node("A", set, "c1"), does("c1", history.Release, history.Invoke), does("c1", history.Release, history.OK),
		}},
		"a restart forgets the key": {nil, []history.Event{
			node("A", set, "c1"), node("A", history.NodeDown, ""), node("A", history.NodeUp, ""), does("c1", history.Release, history.OK),
		}},
		"a restart keeps the key": {[]int{releaseLeft}, []history.Event{
			node("A", set, "c1"), node("A", history.NodeDown, ""), node("A", history.NodeUp, ""), found, does("c1", history.Release, history.OK),
		}},
		"nobody can tell of the key": {nil, []history.Event{
			node("A", set, "c1"), node("A", history.KeyUnclear, "c1"), does("c1", history.Release, history.OK),
		}},
	} {
		want := uint(0)
		for _, n := range c.reached {
			want |= 1 << n
		}
		h := &history.History{Header: history.Header{Clients: []string{"c1", "c2"}, Nodes: []string{"A", "B"}}, Events: c.events}
		got := observe(h, nil, true).waypoints
		if slices.ContainsFunc(c.events, func(e history.Event) bool { return e.F == history.Acquire && e.Type == history.OK }) &&
			want>>grantedByPart&1 == 0 {
			got &^= 1 << grantedByPart // no case but that one is about how many nodes granted the lock
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, wordsOf(got), wordsOf(want))
		}
	}
}

func wordsOf(set uint) (list []string) {
	for set != 0 {
		list = append(list, fmt.Sprintf("%q", waypoints[bits.TrailingZeros(set)].words))
		set &= set - 1
	}
	return list
}

// TestWaypointsAreReached: searches come by each of the states, and say only those of which their runs could come by.
func TestWaypointsAreReached(t *testing.T) {
	reached := make(map[string]bool)
	for text, impossible := range map[string][]int{
		"nodes: {count: 3}\nlock: {algorithm: redlock-extend, ttl: 300ms}": {twoPrimaries, promotedHeld},
		"nodes: {count: 1}\nlock: {algorithm: setnx-del}": {
			twoPrimaries, renewedReleased, expiredRenewing, learnedLoss,
		},
		"nodes: {count: 2, topology: replicated}\nlock: {algorithm: watchdog, ttl: 300ms}":    {grantedByPart, split},
		"nodes: {count: 1}\nlock: {algorithm: linearizable, ttl: 300ms}":                      {answerLost, endsWhileHeld, keyTaken, releaseLeft},
		"nodes: {count: 1}\nlock: {algorithm: set-nx-px, ttl: 300ms}\nworkload: {clients: 1}": {contended, overtook, lateRelease},
		"nodes: {count: 1}\nlock: {algorithm: semaphore, permits: 2, ttl: 300ms}":             {endsWhileHeld, keyTaken, releaseLeft},
	} {
		sc, err := scenario.Parse("x.yaml", []byte("name: x\n"+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		s := Search{Scenario: sc, Variant: scenario.DefaultVariant, Seeds: 3000, Workers: 2, Properties: checker.Demanded(checker.Subject{})}
		r, err := s.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		can := s.Waypoints()
		for _, n := range impossible {
			if slices.Contains(can, waypoints[n].words) {
				t.Errorf("%s: it is said that runs can come by %q", text, waypoints[n].words)
			}
		}
		for _, w := range r.Waypoints {
			reached[w.Name] = reached[w.Name] || slices.Contains(can, w.Name)
			if w.Runs > r.Runs {
				t.Errorf("%s: %+v of %d runs", text, w, r.Runs)
			}
		}
		for _, kind := range s.KindsDrawn() {
			at := slices.IndexFunc(r.Faults, func(k KindRuns) bool { return k.Kind == kind })
			if at < 0 && strings.Contains(text, "linearizable") && slices.Contains(nemesis.MessageKinds(), kind) {
				continue // its clients send the nodes nothing
			}
			if at < 0 || r.Faults[at].Planned == 0 || r.Faults[at].Planned > r.Runs {
				t.Errorf("%s: %s was not drawn: %+v", text, kind, r.Faults)
			}
		}
	}
	for _, w := range Waypoints() {
		if !reached[w] {
			t.Errorf("no search came by %q", w)
		}
	}
}

// TestFaultsAreCounted: of each kind it is counted in how many runs it was drawn, and in how many it took effect; those of the scenario do
// not count.
func TestFaultsAreCounted(t *testing.T) {
	sc, err := scenario.Parse("x.yaml", []byte("name: x\nnodes: {count: 1}\nlock: {algorithm: set-nx-px}\n"+
		"faults: [{at: 0s, pause: {client: c1, for: 1ms}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := Search{Scenario: sc, Variant: scenario.DefaultVariant, Seeds: 400, Properties: []checker.Property{checker.ExclusiveLease}}
	s.Kinds = []string{"cut", "hold", "hold-message"}
	p, err := s.RunPart(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, k := range p.Faults {
		kinds = append(kinds, k.Kind)
		if k.Began == 0 || k.Began >= k.Planned || k.Planned >= p.Runs {
			t.Errorf("%+v of %d runs", k, p.Runs)
		}
	}
	if !slices.Equal(kinds, s.Kinds) {
		t.Errorf("counted %v, want %v", kinds, s.Kinds)
	}
}
