package scenario_test

import (
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// TestMessagesThatNeverCome: what can never happen is refused where it stands, and what looks like it and can happen is not.
func TestMessagesThatNeverCome(t *testing.T) {
	const ours, theirs = "{algorithm: set-nx-px}", "{program: {command: [x]}}"
	for _, c := range []struct{ on, want string }{
		{"{node: A, answers: PUBLISH, to: c2}", "6:42: faults[0].on.to: the answer to PUBLISH goes to the client that publishes"},
		{"{answers: spublish, to: c1}", "faults[0].on.to: the answer to SPUBLISH"},
		{"{client: c1, point: acquired, and: {answers: publish, to: c1}}", "faults[0].on.and.to: the answer to PUBLISH"},
		{"{answers: PUBLISH}", ""},
		{"{answers: PUBLISH, key: channel, nth: 2}", ""},
		{"{client: c2, sends: PUBLISH, to: A}", ""},
		{"{answers: PUBSUB, to: c1}", ""},
		{"{answers: message, to: c2}", "6:20: faults[0].on.answers: never happens: MESSAGE is no command"},
		{"{answers: Pmessage}", "PMESSAGE is no command"},
		{"{answers: smessage}", "SMESSAGE is no command"},
		{"{sends: INVALIDATE}", "6:18: faults[0].on.sends: never happens: INVALIDATE is no command"},
		{"{answers: SUBSCRIBE, to: c1}", ""},
		{"{answers: SSUBSCRIBE, to: c1}", ""},
		{"{answers: UNSUBSCRIBE, key: channel}", ""},
		{"{answers: MONITOR}", "faults[0].on.answers: never happens: no answer can be told"},
		{"{answers: psync, to: c1}", "after PSYNC"},
		{"{answers: SYNC}", "after SYNC"},
		{"{sends: MONITOR}", ""},
		{"{answers: EXEC, key: lock}", "6:31: faults[0].on.key: never happens: EXEC has no word behind its name"},
		{"{sends: multi, contains: a}", "faults[0].on.contains: never happens: MULTI has no word"},
		{"{sends: DISCARD, key: lock}", "DISCARD has no word"},
		{"{sends: UNWATCH, key: lock}", "UNWATCH has no word"},
		{"{answers: EXEC, to: c1}", ""},
		{"{sends: WATCH, key: lock}", ""},
		{"{sends: any, can: end}", ""},
		{"{answers: evalsha, to: c1, can: lengthen, nth: 2}", ""},
		{"{answers: EXEC, can: set}", ""},
		{"{sends: DEL, can: end}", ""},
		{"{sends: DEL, can: set}", "6:28: faults[0].on.can: never happens: DEL cannot set a key"},
		{"{answers: get, can: end}", "faults[0].on.can: never happens: GET cannot end a key"},
		{"{sends: any, can: steal}", "faults[0].on.can: \"steal\""},
		{"{client: c1, point: acquired, can: end}", "faults[0].on.can: can does not go with point"},
		{"{sends: SET, and: {sends: SET, nth: 2}}", "6:46: faults[0].on.and.nth: never happens before"},
		{"{sends: SET, nth: 2, and: {sends: SET, nth: 2}}", ""},
		{"{sends: SET, nth: 2, and: {sends: SET}}", ""},
		{"{sends: SET, and: {sends: SET, client: c2, nth: 2}}", ""},
	} {
		for _, lock := range []string{ours, theirs} {
			holds(t, lock, "increment", c.on, c.want)
		}
	}
}

// TestWAITAOFNeedsPersistence: on servers of others nodes.persistence says nothing.
func TestWAITAOFNeedsPersistence(t *testing.T) {
	for nodes, want := range map[string]string{
		"":                   "faults[0].on.sends: WAITAOF is for nodes that keep an append-only file, and nodes.persistence is none",
		", persistence: rdb": "and nodes.persistence is rdb", ", persistence: aof-no": "", ", persistence: aof-everysec": "",
		", persistence: aof-always": "", `, addresses: ["h:1"]`: "",
	} {
		text := "name: x\nnodes: {count: 1" + nodes + "}\nlock: {program: {command: [x]}}\n" +
			"faults:\n  - {on: {sends: waitaof}, pause: {client: c1}}\n"
		switch _, err := scenario.Parse("test.yaml", []byte(text)); {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: got %v, want %q", nodes, err, want)
		}
	}
}

// TestMessagesOfNobody: where no client asks a node, nothing waits for a message.
func TestMessagesOfNobody(t *testing.T) {
	for _, c := range []struct{ lock, workload, want string }{
		{"{algorithm: none}", "increment", "6:18: faults[0].on.sends: never happens: no client sends anything to a node, because the lock none"},
		{"{algorithm: linearizable}", "increment", "because the lock linearizable is kept in another store"},
		{"{algorithm: linearizable}\nfencing: {tokens: single-counter}", "increment", ""},
		{"{algorithm: set-nx-px}", "transactions", "because the workload transactions takes no lock"},
		{"{program: {command: [x]}}", "transactions", "because the workload transactions takes no lock"},
	} {
		holds(t, c.lock, c.workload, "{sends: any}", c.want)
	}
}

// holds reads a scenario with a fault, and looks for what is wrong with it; empty: nothing is.
func holds(t *testing.T, lock, workload, on, want string) {
	t.Helper()
	text := "name: x\nnodes: {count: 1}\nworkload: {clients: 2, kind: " + workload + "}\nlock: " + lock +
		"\nfaults:\n  - {on: " + on + ", pause: {client: c1}}\n"
	_, err := scenario.Parse("test.yaml", []byte(text))
	switch {
	case want == "" && err != nil:
		t.Errorf("%s with the lock %s is refused: %v", on, lock, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "test.yaml:") != 1):
		t.Errorf("%s with the lock %s: got\n%v\nwant %q and nothing else", on, lock, err, want)
	}
}
