package picture_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report/picture"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
)

const ms = time.Millisecond

func TestBeliefAgainstTruth(t *testing.T) {
	s := picture.Build(reporttest.GCPause().Variants[0].History)
	c1 := s.Clients[0].Holds[0]
	if c1.From != 4*ms || c1.To != 2013*ms || c1.Ended < 0 {
		t.Errorf("c1 believed from %v to %v, ended by event %d", c1.From, c1.To, c1.Ended)
	}
	if len(c1.Promises) != 1 || c1.Promises[0].Until != 994*ms {
		t.Errorf("promises %v", c1.Promises)
	}
	// The keys went on from 1.8 ms + 90 us a node and end 1 s later, though
	// the node says so only at 1.002 s: three nodes are a majority until the
	// third key is gone.
	want := []picture.Span{{From: 1980 * time.Microsecond, To: 1001980 * time.Microsecond}}
	if diff := cmp.Diff(want, c1.Truth); diff != "" {
		t.Errorf("truth (-want +got):\n%s", diff)
	}
	if len(c1.Gaps) != 1 || c1.Gaps[0] != (picture.Span{From: want[0].To, To: 2013 * ms}) {
		t.Errorf("belief without truth: %v", c1.Gaps)
	}
	if c2 := s.Clients[1].Holds[0]; len(c2.Gaps) != 0 {
		t.Errorf("c2 held the keys all the while, but has gaps %v", c2.Gaps)
	}
	if len(s.Quorum) != 2 || s.Quorum[0].Client != "c1" || s.Quorum[0].Most != 5 || s.Quorum[1].Client != "c2" {
		t.Errorf("quorum lane %+v", s.Quorum)
	}
}

func TestKeysEnd(t *testing.T) {
	const ttl = 100 * ms
	set := func(at time.Duration, owner string) history.Event {
		return history.Event{Time: at, Process: "A", Type: history.Info, F: history.KeySet,
			Value: history.Value{Owner: owner, Grant: &history.Grant{TTL: history.Some(int64(ttl))}}}
	}
	ev := func(at time.Duration, f history.F, v history.Value) history.Event {
		return history.Event{Time: at, Process: "A", Type: history.Info, F: f, Value: v}
	}
	last := history.Event{Time: 500 * ms, Process: history.RunProcess, Type: history.Info, F: history.Phase}
	jump := ev(50*ms, history.FaultBegin, history.Value{Rare: &history.Rare{Fault: "clock", Target: "A",
		Impact: &history.Impact{Effects: []history.Strike{{Does: history.BendsClock, Nodes: []string{"A"}}}}}})
	for name, c := range map[string]struct {
		events  []history.Event
		to      time.Duration
		expired bool
	}{
		"by itself":            {[]history.Event{set(0, "x")}, 100 * ms, true},
		"deleted":              {[]history.Event{set(0, "x"), ev(40*ms, history.KeyDeleted, history.Value{})}, 40 * ms, false},
		"deleted by its owner": {[]history.Event{set(0, "x"), ev(40*ms, history.KeyDeleted, history.Value{Owner: "x"})}, 40 * ms, false},
		"another's is deleted": {[]history.Event{set(0, "x"), ev(40*ms, history.KeyDeleted, history.Value{Owner: "y"})}, 100 * ms, true},
		"overwritten":          {[]history.Event{set(0, "x"), set(60*ms, "y")}, 60 * ms, false},
		"extended": {[]history.Event{set(0, "x"),
			ev(80*ms, history.KeyExtended, history.Value{Grant: &history.Grant{TTL: history.Some(int64(ttl))}})}, 180 * ms, true},
		"said to be expired late": {[]history.Event{set(0, "x"), ev(130*ms, history.KeyExpired, history.Value{})}, 100 * ms, true},
		"its clock ran back":      {[]history.Event{set(0, "x"), jump, ev(300*ms, history.KeyExpired, history.Value{})}, 300 * ms, true},
		"its clock ran ahead":     {[]history.Event{set(0, "x"), jump, ev(51*ms, history.KeyExpired, history.Value{})}, 51 * ms, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history.History{Header: history.Header{Nodes: []string{"A"}}, Events: append(c.events, last)}
			keys := picture.Build(h).Nodes[0].Keys
			if len(keys) == 0 || keys[0].To != c.to || keys[0].Expired != c.expired {
				t.Errorf("keys %+v, want an end at %v, expired %v", keys, c.to, c.expired)
			}
		})
	}
}

func TestKeysOfANodeThatDies(t *testing.T) {
	at := func(at time.Duration, f history.F, v history.Value) history.Event {
		return history.Event{Time: at * ms, Process: "A", Type: history.Info, F: f, Value: v}
	}
	set := at(0, history.KeySet, history.Value{Owner: "x", Grant: &history.Grant{TTL: history.Some(int64(100 * ms))}})
	down := at(20, history.NodeDown, history.Value{})
	up := func(kept string) history.Event {
		return at(40, history.NodeUp, history.Value{Rare: &history.Rare{Detail: kept}})
	}
	gone := at(101, history.KeyExpired, history.Value{Owner: "x"})
	other := at(60, history.KeySet, history.Value{Owner: "y", Grant: &history.Grant{TTL: history.Some(int64(20 * ms))}})
	end := at(500, history.Phase, history.Value{})
	span := func(from, to time.Duration) picture.Span { return picture.Span{From: from * ms, To: to * ms} }
	for name, c := range map[string]struct {
		events []history.Event
		want   []picture.Span
	}{
		"stays dead":              {[]history.Event{set, down}, []picture.Span{span(0, 20)}},
		"comes back with its key": {[]history.Event{set, down, up("data"), gone}, []picture.Span{span(0, 20), span(40, 100)}},
		"comes back empty":        {[]history.Event{set, down, up("nothing"), gone}, []picture.Span{span(0, 20)}},
		"had lost it":             {[]history.Event{set, down, up("synced"), other}, []picture.Span{span(0, 20), span(60, 80)}},
		"never tells":             {[]history.Event{set, down, up("data")}, []picture.Span{span(0, 20)}},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history.History{Header: history.Header{Nodes: []string{"A"}}, Events: append(c.events, end)}
			lane := picture.Build(h).Nodes[0]
			var got []picture.Span
			for _, k := range lane.Keys {
				got = append(got, k.Span)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			down := span(20, 40)
			if name == "stays dead" {
				down.To = 500 * ms
			}
			if len(lane.Down) != 1 || lane.Down[0] != down {
				t.Errorf("down %v, want %v", lane.Down, down)
			}
		})
	}
}

// What nobody knows is drawn as neither a key nor a gap in what the client believed.
func TestKeysThatNobodyKnows(t *testing.T) {
	at := func(at time.Duration, process string, y history.Type, f history.F, v history.Value) history.Event {
		return history.Event{Time: at * ms, Process: process, Type: y, F: f, Value: v}
	}
	h := &history.History{Header: history.Header{Clients: []string{"c1"}, Nodes: []string{"A"}}, Events: []history.Event{
		at(1, "A", history.Info, history.KeySet, history.Value{Owner: "x", Grant: &history.Grant{TTL: history.Some(int64(time.Second))}}),
		at(1, "c1", history.Invoke, history.Acquire, history.Value{}),
		at(2, "c1", history.OK, history.Acquire, history.Value{Owner: "x", Grant: &history.Grant{Nodes: []string{"A"}}}),
		at(10, "A", history.Info, history.KeyUnclear, history.Value{Rare: &history.Rare{Detail: "SETBIT"}}),
		at(30, "A", history.Info, history.KeyDeleted, history.Value{}),
		at(40, "A", history.Info, history.KeyUnclear, history.Value{Rare: &history.Rare{Detail: "SETBIT"}}),
		at(50, "c1", history.Invoke, history.Release, history.Value{Owner: "x"}),
	}}
	scene := picture.Build(h)
	lane := scene.Nodes[0]
	if want := []picture.Span{{From: 10 * ms, To: 30 * ms}, {From: 40 * ms, To: 50 * ms}}; !slices.Equal(lane.Unclear, want) {
		t.Errorf("unclear %v, want %v", lane.Unclear, want)
	}
	if len(lane.Keys) != 1 || lane.Keys[0].To != 10*ms {
		t.Errorf("keys %+v, want one that ends where it is unclear", lane.Keys)
	}
	if gaps := scene.Clients[0].Holds[0].Gaps; len(gaps) != 1 || gaps[0] != (picture.Span{From: 30 * ms, To: 40 * ms}) {
		t.Errorf("gaps %v", gaps)
	}
}

// Of replicated nodes only the primary's key counts, and after a failover the
// new primary's.
func TestTruthOfReplicatedNodes(t *testing.T) {
	ev := func(at time.Duration, p string, y history.Type, f history.F, v history.Value) history.Event {
		return history.Event{Time: at * ms, Process: p, Type: y, F: f, Value: v}
	}
	key := history.Value{Owner: "x", Grant: &history.Grant{TTL: history.Some(int64(time.Second))}}
	h := &history.History{Header: history.Header{Clients: []string{"c1"}, Nodes: []string{"A", "B"}}, Events: []history.Event{
		ev(1, "A", history.Info, history.KeySet, key),
		ev(1, "c1", history.Invoke, history.Acquire, history.Value{}),
		ev(2, "c1", history.OK, history.Acquire, history.Value{Owner: "x", Grant: &history.Grant{Nodes: []string{"primary"}}}),
		ev(50, "B", history.Info, history.NodePromoted, history.Value{}),
		ev(90, "c1", history.Invoke, history.Release, history.Value{}),
	}}
	s := picture.Build(h)
	if !s.Replicated || s.Majority != 1 {
		t.Errorf("replicated %v, majority %d", s.Replicated, s.Majority)
	}
	want := []picture.Span{{From: 50 * ms, To: 90 * ms}}
	if diff := cmp.Diff(want, s.Clients[0].Holds[0].Gaps); diff != "" {
		t.Errorf("belief without truth (-want +got):\n%s", diff)
	}
}

// Of several clusters the keys of their primaries count, each cluster once. Each has a primary of its own.
func TestTruthOfSeveralClusters(t *testing.T) {
	ev := func(at time.Duration, p string, f history.F, v history.Value) history.Event {
		return history.Event{Time: at * ms, Process: p, Type: history.Info, F: f, Value: v}
	}
	key := history.Value{Owner: "x", Grant: &history.Grant{TTL: history.Some(int64(time.Second))}}
	sees := func(target string) history.Value {
		return history.Value{Rare: &history.Rare{Detail: history.ClusterSlot, Target: target}}
	}
	build := func(later ...history.Event) *picture.Scene {
		asks := ev(1, "c1", history.Acquire, history.Value{})
		got := ev(2, "c1", history.Acquire, history.Value{Owner: "x", Grant: &history.Grant{Nodes: []string{"cluster1", "cluster2"}}})
		asks.Type, got.Type = history.Invoke, history.OK
		ends := ev(90, "c1", history.Release, history.Value{})
		ends.Type = history.Invoke
		h := &history.History{Header: history.Header{Clients: []string{"c1"}, Nodes: []string{"A", "B", "C", "D", "E", "F"},
			Clusters: []history.ClusterNodes{{Name: "cluster1", Nodes: []string{"A", "B"}}, {Name: "cluster2", Nodes: []string{"C", "D"}},
				{Name: "cluster3", Nodes: []string{"E", "F"}}}}}
		h.Events = append(h.Events, ev(1, "A", history.KeySet, key), asks, ev(1, "C", history.KeySet, key), ev(1, "D", history.KeySet, key), got)
		h.Events = append(append(h.Events, later...), ends)
		for i := range h.Events {
			h.Events[i].Index = int32(i)
		}
		return picture.Build(h)
	}
	s := build()
	if gaps := s.Clients[0].Holds[0].Gaps; len(gaps) > 0 || s.Majority != 2 || s.Nodes[2].Cluster != "cluster2" {
		t.Errorf("gaps %v, majority %d, nodes %+v", gaps, s.Majority, s.Nodes)
	}
	// D, which has the key, leads the second cluster beside C for a while. B, which has none, leads the first.
	s = build(ev(20, "D", history.NodePromoted, history.Value{}), ev(20, "D", history.Cluster, sees("D")),
		ev(30, "C", history.NodeDemoted, history.Value{}), ev(50, "B", history.NodePromoted, history.Value{}),
		ev(50, "A", history.NodeDemoted, history.Value{}))
	if diff := cmp.Diff([]picture.Span{{From: 50 * ms, To: 90 * ms}}, s.Clients[0].Holds[0].Gaps); diff != "" {
		t.Errorf("belief without truth (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]picture.Span{{From: 20 * ms, To: 30 * ms}}, s.Splits); diff != "" {
		t.Errorf("two primaries (-want +got):\n%s", diff)
	}
	if w := s.Witnesses; len(w) != 2 || w[0].Name != "C" || w[1].Sees[0].Primary != "C" {
		t.Errorf("witnesses %+v", w)
	}
}

// Sentinels make a second node the primary while the first one is cut off: till it is demoted, both serve.
func TestTwoPrimaries(t *testing.T) {
	ev := func(at time.Duration, p string, f history.F, v history.Value) history.Event {
		return history.Event{Time: at * ms, Process: p, Type: history.Info, F: f, Value: v}
	}
	told := func(word, about string) history.Value {
		return history.Value{Rare: &history.Rare{Detail: word, Target: about}}
	}
	h := &history.History{Header: history.Header{Nodes: []string{"A", "B"}}, Events: []history.Event{
		ev(1, "A", history.KeySet, history.Value{Owner: "x"}),
		ev(10, "s2", history.Sentinel, told("+sdown", "A")),
		ev(12, "s1", history.Sentinel, told("+tilt", "")),
		ev(15, "s1", history.Sentinel, told("-tilt", "")),
		ev(20, "B", history.NodePromoted, history.Value{}),
		ev(22, "s2", history.Sentinel, told("+switch-master", "B")),
		ev(25, "B", history.KeySet, history.Value{Owner: "y"}),
		ev(30, "B", history.NodeDown, history.Value{}),
		ev(35, "B", history.NodeUp, history.Value{Rare: &history.Rare{Detail: "data"}}),
		ev(40, "A", history.NodeDemoted, history.Value{}),
		ev(50, "run", history.Phase, told("done", "")),
	}}
	s := picture.Build(h)
	if diff := cmp.Diff([]picture.Span{{From: 20 * ms, To: 30 * ms}, {From: 35 * ms, To: 40 * ms}}, s.Splits); diff != "" {
		t.Errorf("two primaries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]picture.Span{{From: 0, To: 40 * ms}}, s.Nodes[0].Primary); diff != "" {
		t.Errorf("A (-want +got):\n%s", diff)
	}
	want := []picture.WitnessLane{
		{Name: "s1", Sees: []picture.Sight{{Span: picture.Span{From: 0, To: 50 * ms}, Primary: "A", Event: -1}},
			Idle: []picture.Span{{From: 12 * ms, To: 15 * ms}}},
		{Name: "s2", Sees: []picture.Sight{{Span: picture.Span{From: 0, To: 22 * ms}, Primary: "A", Event: -1},
			{Span: picture.Span{From: 22 * ms, To: 50 * ms}, Primary: "B", Event: 5}},
			Deeds: []picture.Deed{{At: 10 * ms, Word: "+sdown", About: "A", Event: 1}}},
	}
	if diff := cmp.Diff(want, s.Witnesses); diff != "" {
		t.Errorf("witnesses (-want +got):\n%s", diff)
	}
}

// A node of a cluster is no primary while it refuses all commands, and is one until it hears of another: two serve where one took
// over by force.
func TestPrimariesOfACluster(t *testing.T) {
	ev := func(at time.Duration, p string, f history.F, word, about string) history.Event {
		return history.Event{Time: at * ms, Process: p, Type: history.Info, F: f,
			Value: history.Value{Rare: &history.Rare{Detail: word, Target: about}}}
	}
	h := &history.History{Header: history.Header{Nodes: []string{"A", "B"}}, Events: []history.Event{
		ev(10, "B", history.NodePromoted, "", ""),
		ev(10, "B", history.Cluster, history.ClusterSlot, "B"),
		ev(15, "A", history.Cluster, history.ClusterRefuses, ""),
		ev(20, "A", history.Cluster, history.ClusterServes, ""),
		ev(25, "B", history.Cluster, history.ClusterFailed, "A"),
		ev(30, "A", history.NodeDemoted, "", ""),
		ev(30, "A", history.Cluster, history.ClusterSlot, "B"),
		ev(35, "A", history.Cluster, history.ClusterRefuses, ""),
		ev(40, "A", history.Cluster, history.ClusterServes, ""),
		ev(50, "run", history.Phase, "done", ""),
	}}
	s := picture.Build(h)
	if diff := cmp.Diff([]picture.Span{{From: 10 * ms, To: 15 * ms}, {From: 20 * ms, To: 30 * ms}}, s.Splits); diff != "" {
		t.Errorf("two primaries (-want +got):\n%s", diff)
	}
	want := []picture.WitnessLane{
		{Name: "A", OfCluster: true, Idle: []picture.Span{{From: 15 * ms, To: 20 * ms}, {From: 35 * ms, To: 40 * ms}},
			Sees: []picture.Sight{{Span: picture.Span{From: 0, To: 30 * ms}, Primary: "A", Event: -1},
				{Span: picture.Span{From: 30 * ms, To: 50 * ms}, Primary: "B", Event: 6}}},
		{Name: "B", OfCluster: true, Deeds: []picture.Deed{{At: 25 * ms, Word: "failed", About: "A", Event: 4}},
			Sees: []picture.Sight{{Span: picture.Span{From: 0, To: 10 * ms}, Primary: "A", Event: -1},
				{Span: picture.Span{From: 10 * ms, To: 50 * ms}, Primary: "B", Event: 1}}},
	}
	if diff := cmp.Diff(want, s.Witnesses); diff != "" {
		t.Errorf("witnesses (-want +got):\n%s", diff)
	}
}

// While a slot moves, the old primary sends clients on, and the keys that the new one takes count.
func TestASlotMoves(t *testing.T) {
	ev := func(at time.Duration, p string, f history.F, word, about string) history.Event {
		return history.Event{Time: at * ms, Process: p, Type: history.Info, F: f,
			Value: history.Value{Rare: &history.Rare{Detail: word, Target: about}}}
	}
	key := ev(12, "B", history.KeySet, "", "")
	key.Value = history.Value{Key: "lock", Owner: "x"}
	h := &history.History{Header: history.Header{Nodes: []string{"A", "B"}}, Events: []history.Event{
		ev(10, "B", history.Cluster, history.ClusterTakes, "A"),
		ev(10, "A", history.Cluster, history.ClusterSends, "B"),
		key,
		ev(30, "B", history.NodePromoted, "", ""),
		ev(30, "B", history.Cluster, history.ClusterSlot, "B"),
		ev(30, "A", history.NodeDemoted, "", ""),
		ev(30, "A", history.Cluster, history.ClusterSlot, "B"),
		ev(50, "run", history.Phase, "done", ""),
	}}
	s := picture.Build(h)
	want := []picture.Sight{{Span: picture.Span{From: 0, To: 10 * ms}, Primary: "A", Event: -1},
		{Span: picture.Span{From: 10 * ms, To: 30 * ms}, Primary: "A", Sends: "B", Event: 1},
		{Span: picture.Span{From: 30 * ms, To: 50 * ms}, Primary: "B", Event: 6}}
	if diff := cmp.Diff(want, s.Witnesses[0].Sees); diff != "" {
		t.Errorf("what A saw (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]picture.Span{{From: 10 * ms, To: 30 * ms}}, s.Nodes[1].Takes); diff != "" {
		t.Errorf("what B took (-want +got):\n%s", diff)
	}
	if len(s.Quorum) == 0 || s.Quorum[0].From != 12*ms {
		t.Errorf("the key at B does not count: %v", s.Quorum)
	}
	if len(s.Splits) > 0 {
		t.Errorf("two primaries: %v", s.Splits)
	}
}

// Without observations from the nodes nobody knows what was true.
func TestNoTruthWithoutObservations(t *testing.T) {
	h := &history.History{Events: []history.Event{
		{Time: ms, Process: "c1", Type: history.Invoke, F: history.Acquire},
		{Time: 2 * ms, Process: "c1", Type: history.OK, F: history.Acquire, Value: history.Value{Owner: "x"}},
		{Time: 9 * ms, Process: "c1", Type: history.Invoke, F: history.Read},
	}}
	s := picture.Build(h)
	hold := s.Clients[0].Holds[0]
	if s.KeysSeen || len(hold.Gaps) != 0 || hold.Ended >= 0 || hold.To != 9*ms {
		t.Errorf("keys seen %v, hold %+v", s.KeysSeen, hold)
	}
}

func TestFaultsFindTheirLanes(t *testing.T) {
	begin := func(target string, links ...history.Link) history.Event {
		e := history.Event{Process: history.NemesisProcess, Type: history.Info, F: history.FaultBegin,
			Value: history.Value{Rare: &history.Rare{Fault: "cut", Target: target}}}
		if len(links) > 0 {
			e.Value.OwnRare().Impact = &history.Impact{Effects: []history.Strike{{Does: history.Drops, Links: links}}}
		}
		return e
	}
	h := &history.History{Header: history.Header{Clients: []string{"c1", "c11"}, Nodes: []string{"A", "D", "E"}},
		Events: []history.Event{begin("c1 to D,E", history.Link{From: "c1", To: "D"}, history.Link{From: "c1", To: "E"}),
			begin("A"), begin("everything")}}
	var got [][]string
	for _, b := range picture.Build(h).Bands {
		got = append(got, b.Lanes)
		if !b.Open {
			t.Error("a fault without an end must stay open")
		}
	}
	if diff := cmp.Diff([][]string{{"c1", "D", "E"}, {"A"}, nil}, got); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
}

func TestFrameZoomsOnTheFocus(t *testing.T) {
	h := &history.History{}
	for i := range 10_000 {
		h.Events = append(h.Events, history.Event{Index: int32(i), Time: time.Duration(i) * ms})
	}
	end := 9999 * ms
	if v := picture.Frame(h, end, picture.Span{From: 5000 * ms, To: 5100 * ms}, 0, 1000); v.From > 5000*ms ||
		v.To < 5100*ms || v.Length() > 200*ms {
		t.Errorf("view %v", v)
	}
	if v := picture.Frame(h, end, picture.Span{}, 0, 20_000); v != (picture.Span{From: 0, To: end}) {
		t.Errorf("a short run without a focus is shown whole, got %v", v)
	}
	core := 7777 * ms
	if v := picture.Frame(h, end, picture.Span{From: 10 * ms, To: 9900 * ms}, core, 1000); v.From > core ||
		v.To < core || v.Length() > 1010*ms {
		t.Errorf("a focus that is too wide: %v", v)
	}
	if v := picture.Frame(nil, 0, picture.Span{}, 0, 10); v.Length() <= 0 {
		t.Errorf("an empty run still needs a time axis: %v", v)
	}
}

func TestCastKeepsThoseOfTheViolation(t *testing.T) {
	lane := func(name string, at ...time.Duration) picture.ClientLane {
		c := picture.ClientLane{Name: name}
		for _, t := range at {
			c.Marks = append(c.Marks, picture.Mark{Span: picture.Span{From: t, To: t}})
		}
		return c
	}
	s := &picture.Scene{Clients: []picture.ClientLane{lane("c1"), lane("c2", 1, 2, 50, 51, 52), lane("c3", 5), lane("c4", 6, 7), lane("c5")}}
	dropped := s.Cast([]string{"c1"}, picture.Span{From: 4, To: 9}, 3)
	var names []string
	for _, c := range s.Clients {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([][]string{{"c1", "c3", "c4"}, {"c2", "c5"}}, [][]string{names, dropped}); diff != "" {
		t.Errorf("kept and dropped (-want +got):\n%s", diff)
	}
}

// Whether an effect was late does not hang on what a picture has room for.
func TestLateEffects(t *testing.T) {
	ev := func(at time.Duration, y history.Type, f history.F, v history.Value) history.Event {
		return history.Event{Time: at * ms, Process: "c1", Type: y, F: f, Value: v}
	}
	promise := func(until time.Duration) history.Value {
		return history.Value{Owner: fmt.Sprint(until), Grant: &history.Grant{ValidUntil: history.Some(int64(until * ms))}}
	}
	write := func(at time.Duration) history.Event {
		e := ev(at, history.Info, history.Effect, history.Value{Client: "c1", Outcome: &history.Outcome{Op: history.Write}})
		e.Process = "resource"
		return e
	}
	s := picture.Build(&history.History{Header: history.Header{Clients: []string{"c1"}}, Events: []history.Event{
		ev(0, history.Invoke, history.Acquire, history.Value{}), ev(1, history.OK, history.Acquire, promise(50)),
		write(40), ev(41, history.Invoke, history.Release, promise(50)), ev(42, history.OK, history.Release, promise(50)),
		ev(60, history.Invoke, history.Acquire, history.Value{}), ev(61, history.OK, history.Acquire, promise(90)), write(80), write(95),
	}})
	s.Thin(picture.Span{From: -2, To: -1}, 1)
	s.Clients[0].Holds = nil
	for _, f := range s.Effects {
		if f.Late != (f.At == 95*ms) {
			t.Errorf("the write at %v is late: %v", f.At, f.Late)
		}
	}
	s = picture.Build(&history.History{Header: history.Header{Clients: []string{"c1"}}, Events: []history.Event{write(80)}})
	if s.Effects[0].Late {
		t.Error("a write without any grant has no promise that ended")
	}
}

func TestThinKeepsWhatIsInView(t *testing.T) {
	scene := func() *picture.Scene {
		var marks []picture.Mark
		for i := range 1000 {
			at := time.Duration(i) * ms
			marks = append(marks, picture.Mark{Span: picture.Span{From: at, To: at}})
		}
		marks[500].To += 100 * ms
		return &picture.Scene{End: 1000 * ms, Clients: []picture.ClientLane{{Marks: marks}}}
	}
	view := picture.Span{From: 800 * ms, To: 840 * ms}
	s := scene()
	if n := s.Thin(view, 2000); n != 0 || len(s.Clients[0].Marks) != 1000 {
		t.Errorf("%d of 1,000 things are left, though 2,000 are allowed", len(s.Clients[0].Marks))
	}
	apart := s.Thin(view, 200)
	marks := s.Clients[0].Marks
	if len(marks) > 200 || apart <= 0 {
		t.Errorf("%d things are left, %v apart", len(marks), apart)
	}
	seen, long := 0, false
	for i, m := range marks {
		if m.Touches(view) {
			seen++
		}
		long = long || m.Length() == 100*ms
		if i > 0 && m.From-marks[i-1].From > 2*apart {
			t.Errorf("nothing is left between %v and %v", marks[i-1].From, m.From)
		}
	}
	if seen != 41 || !long {
		t.Errorf("%d of 41 things in view are left, and the long one: %v", seen, long)
	}
	// A view that has too much by itself is thinned, too.
	s = scene()
	if s.Thin(picture.Span{From: 0, To: 1000 * ms}, 200); len(s.Clients[0].Marks) > 200 {
		t.Errorf("%d things are left", len(s.Clients[0].Marks))
	}
}

// A client that re-enters goes on believing until it has given the lock back as often
// as it took it, and one that is killed believes nothing.
func TestBeliefsAreThoseOfTheVerdict(t *testing.T) {
	value := history.Value{Owner: "x"}
	kill := history.Value{Rare: &history.Rare{Fault: "kill",
		Target: "c2", Impact: &history.Impact{Effects: []history.Strike{{Does: history.Kills, Clients: []string{"c2"}}}}}}
	h := &history.History{Header: history.Header{Clients: []string{"c1", "c2"}}, Events: []history.Event{
		{Time: 1 * ms, Process: "c1", Type: history.Invoke, F: history.Acquire},
		{Time: 2 * ms, Process: "c1", Type: history.OK, F: history.Acquire, Value: value},
		{Time: 3 * ms, Process: "c1", Type: history.Invoke, F: history.Acquire},
		{Time: 4 * ms, Process: "c1", Type: history.OK, F: history.Acquire, Value: value},
		{Time: 5 * ms, Process: "c1", Type: history.Invoke, F: history.Release, Value: value},
		{Time: 6 * ms, Process: "c1", Type: history.OK, F: history.Release, Value: value},
		{Time: 7 * ms, Process: "c1", Type: history.Invoke, F: history.Release, Value: value},
		{Time: 8 * ms, Process: "c1", Type: history.OK, F: history.Release, Value: value},
		{Time: 9 * ms, Process: "c2", Type: history.Invoke, F: history.Acquire},
		{Time: 10 * ms, Process: "c2", Type: history.OK, F: history.Acquire, Value: history.Value{Owner: "y"}},
		{Time: 12 * ms, Process: history.NemesisProcess, Type: history.Info, F: history.FaultBegin, Value: kill},
		{Time: 20 * ms, Process: "run", Type: history.Info, F: history.Phase, Value: history.Value{Rare: &history.Rare{Detail: "done"}}},
	}}
	s := picture.Build(h)
	var got []string
	for _, c := range s.Clients {
		for _, b := range c.Holds {
			got = append(got, fmt.Sprintf("%s %v-%v %s", c.Name, b.From, b.To, b.End))
		}
	}
	want := []string{"c1 2ms-7ms asks to release", "c2 10ms-12ms is killed"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("beliefs (-want +got):\n%s", diff)
	}
}

// What clients send to nodes is not drawn.
func TestCommandsAreNotDrawn(t *testing.T) {
	h := reporttest.GCPause().Variants[0].History
	want := picture.Build(h)
	with := *h
	with.Events = slices.Clone(h.Events)
	last := with.End()
	for _, e := range []history.Event{
		{Process: "c1", F: history.Sent, Value: history.Value{Rare: &history.Rare{Command: &history.Command{Name: "SET", Node: "A"}}}},
		{Process: "c9", F: history.Unread, Value: history.Value{Rare: &history.Rare{Unread: &history.UnreadCommand{Node: "A"}}}},
	} {
		e.Index, e.Time, e.Type = int32(len(with.Events)), last, history.Info
		with.Events = append(with.Events, e)
	}
	if diff := cmp.Diff(want, picture.Build(&with)); diff != "" {
		t.Errorf("with commands (-without +with):\n%s", diff)
	}
}

// TestBuildForAPicture: what is left out early changes neither what a picture shows nor what is said of it.
func TestBuildForAPicture(t *testing.T) {
	h := &history.History{Header: history.Header{Clients: []string{"c1"}, Nodes: []string{"A"}}}
	now := time.Duration(0)
	add := func(process string, typ history.Type, f history.F, v history.Value) {
		now += 10 * time.Microsecond
		h.Events = append(h.Events, history.Event{Index: int32(len(h.Events)), Time: now, Process: process, Type: typ, F: f, Value: v})
	}
	for i := range 2000 {
		owner := history.Value{Owner: fmt.Sprint("c1-", i), Client: "c1"}
		add("c1", history.Invoke, history.Acquire, history.Value{})
		add("A", history.Info, history.KeySet, owner)
		add("c1", history.OK, history.Acquire, owner)
		add(history.ResourceProcess, history.Info, history.Effect,
			history.Value{Client: "c1", Outcome: &history.Outcome{Op: history.Write, Accepted: history.SomeBool(i%4 > 0)}})
		add("c1", history.Invoke, history.Release, owner)
		add("A", history.Info, history.KeyDeleted, owner)
		add("c1", history.OK, history.Release, owner)
	}
	view := picture.Span{From: now / 2, To: now/2 + 100*time.Microsecond}
	now += 20 * time.Second // so that all of it is a small part of the run
	add(history.RunProcess, history.Info, history.Phase, history.Value{})
	whole, early := picture.Build(h), picture.BuildFor(h, view, 100)
	if n := len(early.Nodes[0].Keys); n >= 2000 || len(early.Clients[0].Marks) >= len(whole.Clients[0].Marks) || early.Refused != 500 {
		t.Errorf("%d keys and %d marks are there, %d effects refused", n, len(early.Clients[0].Marks), early.Refused)
	}
	for _, limit := range []int{100, 60} {
		a, b := whole.Thin(view, limit), early.Thin(view, limit)
		early.Apart = 0
		if diff := cmp.Diff(whole, early); diff != "" || a != b {
			t.Errorf("thinned to %d: %v and %v apart, and (-whole +early):\n%s", limit, a, b, diff)
		}
	}
}

// Of two writes that are close together at the right edge of a picture, both are named.
func TestWritesAtTheEdgeAreNamedTogether(t *testing.T) {
	h := &history.History{Header: history.Header{Clients: []string{"c1", "c2"}, Nodes: []string{"A"}}}
	add := func(at time.Duration, process string, typ history.Type, f history.F, v history.Value) {
		h.Events = append(h.Events, history.Event{Index: int32(len(h.Events)), Time: at, Process: process, Type: typ, F: f, Value: v})
	}
	for i, client := range h.Header.Clients {
		add(time.Duration(i)*ms, client, history.Invoke, history.Acquire, history.Value{})
		add(time.Duration(i)*ms, client, history.OK, history.Acquire, history.Value{Owner: client})
	}
	for i, client := range h.Header.Clients {
		add(time.Second+time.Duration(2*i)*ms, history.ResourceProcess, history.Info, history.Effect, history.Value{Client: client,
			Outcome: &history.Outcome{Op: history.Write, Accepted: history.SomeBool(true)}, Number: history.Some(1)})
	}
	add(time.Second+5*ms, history.RunProcess, history.Info, history.Phase, history.Value{})
	drawn := picture.DrawAll([]*picture.Subject{{ID: "v1", Name: "x", History: h}})
	if got := drawn[0].Pic.Markup(); !strings.Contains(got, ">c1 w 1 · c2 w 1</text>") {
		t.Errorf("the two writes are not named together: %s", got)
	}
	late := &h.Events[len(h.Events)-2] // it is told in another colour
	late.Value.Outcome = &history.Outcome{Op: history.Write, Accepted: history.SomeBool(false)}
	drawn = picture.DrawAll([]*picture.Subject{{ID: "v1", Name: "x", History: h}})
	if got := drawn[0].Pic.Markup(); strings.Contains(got, " · c1 w 1</text>") || strings.Contains(got, ">c1 w 1 · c2") {
		t.Errorf("a write that was refused and one that was not have one name: %s", got)
	}
}
