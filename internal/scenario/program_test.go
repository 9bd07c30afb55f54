package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	protocol "github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

const mine = `
name: mine
lock: {program: {command: [python3, my lock.py], env: {A: b, N: 1}, keys: ["prefix:{key}"]}, ttl: 1s, switches: {release: delete}}
`

func TestProgramIsTheLock(t *testing.T) {
	s := parse(t, mine+`
variants:
  program:
  other: {lock: {program: {command: [./other]}}}
  ours: {lock: {algorithm: redlock}}
`)
	want := &lock.Program{Command: []string{"python3", "my lock.py"},
		Env: map[string]string{"A": "b", "N": "1"}, Keys: []string{"prefix:{key}"}}
	if got := s.Variants[0].Setup.Lock; got.Algorithm != "" || cmp.Diff(want, got.Program) != "" {
		t.Errorf("%q, %+v", got.Algorithm, got.Program)
	}
	want.Command = []string{"./other"} // the rest of the mapping is merged
	if got := s.Variants[1].Setup.Lock; got.Algorithm != "" || cmp.Diff(want, got.Program) != "" {
		t.Errorf("%q, %+v", got.Algorithm, got.Program)
	}
	if got := s.Variants[2].Setup.Lock; got.Algorithm != "redlock" || got.Program != nil {
		t.Errorf("%q, %+v", got.Algorithm, got.Program)
	}
	text, err := scenario.Encode(nil, s.Head, &s.Variants[0].Setup, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.Variants[0].Setup.Lock, parse(t, text).Variants[0].Setup.Lock); diff != "" {
		t.Errorf("read back from %s: %s", text, diff)
	}
	over := parse(t, small+"variants: {a: {lock: {program: {command: [x]}}}}").Variants[0]
	if over.Setup.Lock.Algorithm != "" || over.Setup.Lock.Program == nil || over.Setup.Lock.TTL != 250e6 {
		t.Errorf("%+v", over.Setup.Lock)
	}
}

// What a program can do is known once it has been started.
func TestPointsOfAProgramAreNotKnown(t *testing.T) {
	s := parse(t, mine+`
faults: [{on: {client: c1, point: anywhere}, pause: {client: c1, for: 1s}}]
`)
	setup := &s.Variants[0].Setup
	ready := &protocol.Ready{Class: protocol.Quorum}
	if got := setup.NotApplicable(ready); got != "fault 1 waits for the point anywhere, which it does not report" {
		t.Error(got)
	}
	ready.Points = []string{"anywhere"}
	if got := setup.NotApplicable(ready); got != "" {
		t.Error(got)
	}
}

func etcd() protocol.Ready {
	return protocol.Ready{Class: protocol.Session, Store: protocol.Etcd}
}

func TestNotApplicable(t *testing.T) {
	one := "nodes: {count: 1}\n"
	owned := one + "resource: {store: lock-node}\nfencing: {check: lock-owner}\n"
	can := func(list ...protocol.Ability) protocol.Ready {
		return protocol.Ready{Class: protocol.Quorum, Can: list}
	}
	for name, test := range map[string]struct {
		text  string
		ready protocol.Ready
		want  string
	}{
		"nothing special":        {"", can(), ""},
		"no lock":                {"workload: {kind: transactions}\n", can(), "the workload transactions takes no lock"},
		"five nodes, one wanted": {"", protocol.Ready{Class: protocol.Single}, "there are 5 independent nodes, and it locks on one"},
		"one node":               {one, protocol.Ready{Class: protocol.Single}, ""},
		"one primary":            {"nodes: {count: 2, topology: replicated}\n", protocol.Ready{Class: protocol.Single}, ""},
		"a session has its own":  {"", protocol.Ready{Class: protocol.Session}, ""},
		"others know themselves": {"", protocol.Ready{Class: protocol.Other}, ""},
		"the shortest ttl":       {"", protocol.Ready{Class: protocol.Quorum, TTLMin: 1000.5}, "the ttl is 1s, and its shortest is 1.0005s"},
		"a long enough ttl":      {"", protocol.Ready{Class: protocol.Quorum, TTLMin: 1000}, ""},
		"whole seconds": {"lock: {program: {command: [x]}, ttl: 1500ms}\n",
			protocol.Ready{Class: protocol.Quorum, TTLStep: 1000}, "the ttl is 1.5s, and its own are multiples of 1s"},
		"a whole second":   {"", protocol.Ready{Class: protocol.Quorum, TTLStep: 1000}, ""},
		"tokens":           {"fencing: {tokens: consensus}\n", can(), "fencing tokens are wanted, and it tells none"},
		"its tokens":       {"fencing: {tokens: consensus}\n", can(protocol.TellsToken), ""},
		"unchecked tokens": {"fencing: {tokens: random-value, check: none}\n", can(), "fencing tokens are wanted, and it tells none"},
		"the lock's owner": {owned, can(), "the fence compares the lock's value, and it does not tell its own"},
		"its owner":        {owned, can(protocol.TellsOwner), ""},
		"no key on the node": {owned, protocol.Ready{Class: protocol.Session, Can: []protocol.Ability{protocol.TellsOwner}},
			"the fence looks at the lock's key on the node, and it keeps none there"},
		"another key": {owned, protocol.Ready{Class: protocol.Single, Can: []protocol.Ability{protocol.TellsOwner},
			Keys: []string{"my:{key}"}}, `the fence looks at the key "lock", and it writes my:{key}`},
		"the key itself": {owned,
			protocol.Ready{Class: protocol.Single, Can: []protocol.Ability{protocol.TellsOwner}, Keys: []string{"lock"}}, ""},
		"that key": {owned,
			protocol.Ready{Class: protocol.Single, Can: []protocol.Ability{protocol.TellsOwner}, Keys: []string{"{key}", "{key}:x"}}, ""},
		"it must renew":         {"needs: [renew]\n", can(), `the scenario needs "renew", which it cannot do`},
		"it renews":             {"needs: [renew, lost]\n", can(protocol.Renews, protocol.TellsLoss), ""},
		"a client that extends": {"workload: {extend: 1s, think: 3s}\n", can(), "its client extends the lock, and it cannot be extended"},
		"a client that asks again": {"workload: {sections: 2, leave: held}\n", can(protocol.Renews),
			"its client does not release the lock, and waits until the lease is over, which the lock renews"},
		"it asks again, and waits": {"workload: {sections: 2, leave: held}\n", can(), ""},
		"a client that forgets, and it renews": {"workload: {leave: forgotten}\n", can(protocol.Renews),
			"its client forgets the lock, and the program cannot say that it drops it"},
		"a client that forgets a session": {"nodes: {count: 1}\nworkload: {leave: forgotten}\n",
			protocol.Ready{Class: protocol.Session, Store: protocol.Etcd},
			"its client forgets the lock, and the program cannot say that it drops it"},
		"it drops what is forgotten": {"workload: {leave: forgotten}\n", can(protocol.Renews, protocol.Forgets), ""},
		"a lease that runs out":      {"workload: {leave: forgotten}\n", can(), ""},
		"a busy program":             {"workload: {busy: 2s}\n", can(), "the lock program is to be busy, and it cannot keep itself so"},
		"it makes a new object": {"workload: {object: one}\n", can(protocol.KeepsBusy),
			"its client uses one lock object for all that it asks, and the program makes a new one each time, or knows none"},
		"it keeps one object": {"workload: {object: one}\n", can(protocol.KeepsOneObject), ""},
		"no permits": {one + "lock: {algorithm: semaphore, permits: 2}\n", can(protocol.TellsOwner),
			"the lock is to have 2 permits, and one client holds it at a time"},
		"permits":        {one + "lock: {algorithm: semaphore, permits: 2}\n", can(protocol.HasPermits), ""},
		"it can be busy": {"workload: {busy: 2s}\n", can(protocol.KeepsBusy), ""},
		"long sections":  {"workload: {think: 2s}\n", can(), ""},
		"a client's clock": {"faults: [{at: 0s, kill: {node: B}}, {at: 0s, clock: {client: c1, jump: 1s}}]\n",
			protocol.Ready{Class: protocol.Quorum, ClockStays: "it is late"},
			"fault 2 moves the clock of a client, and the program's cannot be moved: it is late"},
		"a client's clock that moves": {"faults: [{at: 0s, clock: {client: c1, jump: 1s}}]\n", can(), ""},
		"a client's monotonic clock": {"faults: [{at: 0s, clock: {client: c1, which: monotonic, jump: 1s}}]\n",
			can(), "fault 1 moves the monotonic clock of a client, which cannot be done to a program in real time"},
		"another store":          {"nodes: {count: 1}\nfaults: [{at: 0s, cut: {nodes: [A]}}, {at: 0s, pause: {client: c1}}]\n", etcd(), ""},
		"nodes of another store": {"", etcd(), "there are 5 independent nodes, and it locks on one server of etcd"},
		"replicas of another store": {"nodes: {topology: replicated, count: 2}\n",
			etcd(), "there is a primary with replicas, and it locks on one server of etcd"},
		"a shared store": {"nodes: {count: 1}\n" +
			"resource: {store: lock-node}\n", etcd(), "the resource is on the lock's node, and it locks on etcd"},
		"a dead store": {"nodes: {count: 1}\nfaults: [{at: 0s, kill: {node: A}}]\n",
			etcd(), "fault 1 (kill of node A) strikes the server, which cannot be done to etcd in real time"},
		"a dead store in virtual time": {"nodes: {count: 1}\nfaults: [{at: 0s, kill: {node: A}}]\n",
			protocol.Ready{Class: protocol.Session, Store: protocol.Etcd, AllServers: true}, ""},
		"a dead database": {"nodes: {count: 1}\nfaults: [{at: 0s, kill: {node: A}}]\n",
			protocol.Ready{Class: protocol.Session, Store: protocol.Postgres, AllServers: true},
			"fault 1 (kill of node A) strikes the server, which cannot be done to postgres yet"},
		"ZooKeeper in real time": {"nodes: {count: 1}\n", protocol.Ready{Class: protocol.Session, Store: protocol.Zookeeper},
			"zookeeper runs in virtual time: --world virtual"},
		"a dead ZooKeeper": {"nodes: {count: 1}\nfaults: [{at: 0s, kill: {node: A}}]\n",
			protocol.Ready{Class: protocol.Session, Store: protocol.Zookeeper, AllServers: true}, ""},
		"a mix upon a store": {"nodes: {count: 1}\nfaults: {mix: {kinds: {cut: {}, kill: {}}}}\n",
			etcd(), "the mix (kill of node A) strikes the server, which cannot be done to etcd in real time"},
		"a node's clock": {"faults: [{at: 0s, clock: {node: A, jump: 1s}}]\n", can(), ""},
		"a drawn clock":  {"faults: {mix: {kinds: {clock: {}}}}\n", can(), ""},
		"the client's points": {"fencing: {tokens: consensus, check: check-then-write}\nfaults: [{on: {point: " +
			"after-fence-check, and: {point: before-read}}, pause: {client: c1}, until: {point: released}}]\n", can(protocol.TellsToken), ""},
		"the lock's points": {"faults: [{on: {point: acquired, and: {point: 'after-node:5'}}, pause: {client: c1}}]\n",
			can(), "fault 1 waits for the point after-node:5, which it does not report"},
		"until the lock's point": {"faults: [{at: 0s, pause: {client: c1}, until: {point: quorum}}]\n",
			can(), "fault 1 waits for the point quorum, which it does not report"},
		"points of nodes": {"faults: [{on: {point: 'after-node:5'}, pause: {client: c1}}]\n",
			protocol.Ready{Class: protocol.Quorum, Points: []string{"after-node:"}}, ""},
		"points of other nodes": {"faults: [{on: {point: 'after-node:6'}, pause: {client: c1}}]\n", protocol.Ready{Class: protocol.Quorum,
			Points: []string{"after-node:"}}, "fault 1 waits for the point after-node:6, which it does not report"},
		"a token's point": {"fencing: {tokens: consensus}\nfaults: [{on: {point: token}, pause: {client: c1}}]\n",
			can(protocol.TellsToken), "fault 1 waits for the point token, which it does not report"},
	} {
		text := "name: x\n" + test.text
		if !strings.Contains(text, "\nlock: {") {
			text += "lock: {program: {command: [x]}}\n"
		}
		if got := parse(t, text).Variants[0].Setup.NotApplicable(&test.ready); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A session that tells no end of its grants has nothing that can be late. One that tells it is asked for what any other lock is.
func TestLateWritesOfSessions(t *testing.T) {
	v := parse(t, "name: x\nlock: {algorithm: redlock}\n").Variants[0]
	for want, ready := range map[checker.Verdict]protocol.Ready{
		0:             {Class: protocol.Session},
		checker.Holds: {Class: protocol.Session, Can: []protocol.Ability{protocol.TellsValidity}},
	} {
		other := v.With(&scenario.StandIn{Program: &lock.Program{Command: []string{"x"}}, Ready: ready})
		if got := other.Expected(checker.NoLateEffect); got != want || other.ByDesign(checker.NoLateEffect) != (want == 0) {
			t.Errorf("a session that can %q: no-late-effect is expected to be %v: want %v", ready.Can, got, want)
		}
	}
}

// A session whose store loses its data is as good as one on the node: what is demanded of sessions is not demanded of it.
func TestSessionsWithoutTheirStore(t *testing.T) {
	for keep, want := range map[string]checker.Verdict{"nothing": 0, "synced": checker.Holds} {
		v := parse(t, "name: x\nlock: {algorithm: redlock}\nnodes: {count: 1}\nfaults: [{at: 0s, kill: {node: A, keep: "+keep+"}}]\n"+
			"expect: {exclusive-lease: violated}\ndemands: {exclusive-lease: [session]}\n").Variants[0]
		elsewhere := protocol.Ready{Class: protocol.Session, Store: protocol.Etcd}
		if of := v.Demanding(&elsewhere); of.Expected(checker.ExclusiveLease) != want || of.ByDesign(checker.ExclusiveLease) != (want == 0) {
			t.Errorf("keep: %s: exclusive-lease is expected to be %v, want %v", keep, of.Expected(checker.ExclusiveLease), want)
		}
		if of := v.Demanding(&protocol.Ready{Class: protocol.Session}); of.Expected(checker.ExclusiveLease) != checker.Holds {
			t.Errorf("keep: %s: exclusive-lease is expected to be %v of a session without a store in the run", keep,
				of.Expected(checker.ExclusiveLease))
		}
	}
}

// With another lock the scenario's demands count, not what it expects of its own.
func TestDemandsCountForOtherLocks(t *testing.T) {
	v := parse(t, `
name: x
lock: {algorithm: setnx-del}
nodes: {count: 1}
variants:
  mistaken: {lock: {algorithm: setnx-del, ttl: 2s}}
expect:
  mistaken: {exclusive-belief: holds, exclusive-lease: violated, no-late-effect: unknown, owner-release: violated,
    holder-served: anything, ordered-tokens: holds, no-orphan-lock: holds}
demands:
  mistaken: {exclusive-lease: holds, owner-release: [single, quorum], ordered-tokens: anything, deadlock-free: holds}
`).Variants[0]
	for class, want := range map[protocol.Class]string{
		protocol.Single: "exclusive-belief: holds, exclusive-lease: holds, backed-grant: holds, " +
			"no-late-effect: anything, " +
			"linearizable-resource: holds, holder-served: anything, ordered-tokens: anything, " +
			"owner-release: holds, deadlock-free: holds, no-orphan-lock: holds",
		protocol.Session: "exclusive-belief: holds, exclusive-lease: holds, backed-grant: anything, " +
			"no-late-effect: anything, " +
			"linearizable-resource: holds, holder-served: anything, ordered-tokens: anything, " +
			"owner-release: by design, deadlock-free: holds, no-orphan-lock: holds",
	} {
		other := v.With(&scenario.StandIn{Program: &lock.Program{Command: []string{"x"}}, Ready: protocol.Ready{Class: class}})
		var got []string
		for _, e := range other.Expect {
			word := map[checker.Verdict]string{0: "anything", checker.Holds: "holds"}[e.Verdict]
			if e.ByDesign {
				word = "by design"
			}
			got = append(got, fmt.Sprintf("%s: %s", e.Property, word))
			if other.Expected(e.Property) != e.Verdict {
				t.Errorf("%s: of %s is expected %v", class, e.Property, other.Expected(e.Property))
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: %s", class, diff)
		}
		if l := other.Setup.Lock; l.Algorithm != "" || l.Program.Command[0] != "x" || !other.AsksForLiveness() {
			t.Errorf("%+v", l)
		}
		if diff := cmp.Diff([]string{"lock.ttl: 2s"}, other.Settings); diff != "" {
			t.Error(diff)
		}
	}
	if v.Setup.Lock.Algorithm != "setnx-del" || v.Expected(checker.ExclusiveLease) != checker.Violated {
		t.Errorf("the scenario itself has changed: %+v", v)
	}
}
