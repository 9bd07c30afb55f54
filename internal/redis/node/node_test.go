package node_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/redis/node"
	"github.com/redlock-sim/redlock-sim/internal/redis/node/nodetest"
)

// epoch is where the clocks of the tests begin, in s since 1970.
const epoch = int64(1_700_000_000)

// client is a connection of a test.
type client struct {
	*node.Conn
	pushed string
}

func connect(n *node.Node) *client {
	c := &client{}
	c.Conn = n.Open(func(b []byte) { c.pushed += string(b) })
	return c
}

// want sends a command, of words with spaces between, and wants an answer.
func (c *client) want(t *testing.T, command, answer string) {
	t.Helper()
	if got, _ := c.Do(nil, strings.Fields(command)); string(got) != answer {
		t.Errorf("%s: %q, not %q", command, got, answer)
	}
}

func newNode() (*node.Node, *model.Memory, *[]string) {
	var told []string
	m := &model.Memory{Now: epoch * 1e6}
	return node.New(m, node.Config{Unknown: func(what string) { told = append(told, what) }}), m, &told
}

func TestConnectionsEnd(t *testing.T) {
	n, _, _ := newNode()
	a, b := connect(n), connect(n)
	a.want(t, "CLIENT ID", ":1\r\n")
	b.want(t, "CLIENT ID", ":2\r\n")
	a.want(t, "SUBSCRIBE ch", "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n")
	b.want(t, "PUBLISH ch x", ":1\r\n")
	if want := "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$1\r\nx\r\n"; a.pushed != want {
		t.Errorf("pushed %q", a.pushed)
	}
	a.want(t, "QUIT", "+OK\r\n")
	if !a.Closed() || b.Closed() {
		t.Error("QUIT ends its own connection")
	}
	a.want(t, "PING", "")
	b.want(t, "PUBLISH ch x", ":0\r\n")
	c := connect(n)
	b.want(t, "CLIENT KILL ID 3", ":1\r\n")
	if !c.Closed() {
		t.Error("a killed connection is open")
	}
	n.Restart()
	if !b.Closed() {
		t.Error("a restart ends connections")
	}
	connect(n).want(t, "CLIENT ID", ":1\r\n")
}

func answerOf(c *client, command string) string {
	b, _ := c.Do(nil, strings.Fields(command))
	return string(b)
}

// WAIT for replicas that are not there ends with its timeout, or never, but at once in a
// transaction.
func TestWaitTakesItsTime(t *testing.T) {
	n, _, _ := newNode()
	c := connect(n)
	for command, want := range map[string]time.Duration{"WAIT 0 100": 0, "WAIT 1 100": 100 * time.Millisecond, "WAIT 2 0": node.Forever} {
		if _, delay := c.Do(nil, strings.Fields(command)); delay != want {
			t.Errorf("%s: %v, not %v", command, delay, want)
		}
	}
	c.want(t, "MULTI", "+OK\r\n")
	c.want(t, "WAIT 1 100", "+QUEUED\r\n")
	if b, delay := c.Do(nil, []string{"EXEC"}); string(b) != "*1\r\n:0\r\n" || delay != 0 {
		t.Errorf("in a transaction: %q after %v", b, delay)
	}
}

// An expiry tells subscribers and readers, even if nobody asks for the key.
func TestExpiriesAreTold(t *testing.T) {
	n, m, _ := newNode()
	a, b := connect(n), connect(n)
	a.want(t, "CONFIG SET notify-keyspace-events Ex", "+OK\r\n")
	a.want(t, "SUBSCRIBE __keyevent@0__:expired", "*3\r\n$9\r\nsubscribe\r\n$22\r\n__keyevent@0__:expired\r\n:1\r\n")
	answerOf(b, "HELLO 3")
	b.want(t, "CLIENT TRACKING ON", "+OK\r\n")
	b.want(t, "SET lock x PX 10", "+OK\r\n")
	b.want(t, "GET lock", "$1\r\nx\r\n")
	m.Now += 11_000
	m.Sweep()
	if want := "*3\r\n$7\r\nmessage\r\n$22\r\n__keyevent@0__:expired\r\n$4\r\nlock\r\n"; a.pushed != want {
		t.Errorf("the subscriber got %q", a.pushed)
	}
	if want := ">2\r\n$10\r\ninvalidate\r\n*1\r\n$4\r\nlock\r\n"; b.pushed != want {
		t.Errorf("the reader got %q", b.pushed)
	}
}

// What the model has not is answered with an error, and told; what Redis has not, either, is
// only answered.
func TestUnknownIsTold(t *testing.T) {
	n, _, told := newNode()
	c := connect(n)
	for command, want := range map[string]string{"XADD s * a b": "XADD",
		"client pause 1": "CLIENT PAUSE", "SELECT 1": "SELECT 1", "CONFIG GET hz": "CONFIG GET hz",
		"COMMAND DOCS": "COMMAND DOCS", "CLIENT SETINFO lib-name x": "", "NOSUCH": "", "GET": "", "SET a b IFEQ c": "", "MSETEX 1 a b": ""} {
		*told = nil
		answerOf(c, command)
		if got := strings.Join(*told, ", "); got != want {
			t.Errorf("%s: told %q, not %q", command, got, want)
		}
	}
}

// Commands leave copies of items as they are.
func TestItemsAreCopied(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m, _ := newNode()
		c := connect(n)
		var copied, deep []model.Item
		for range 60 {
			if rapid.IntRange(0, 5).Draw(t, "copy") == 0 {
				copied, deep = slices.Clone(m.Items), nil
				for _, it := range copied {
					it.List = slices.Clone(it.List)
					if it.Members != nil {
						it.Members = &model.Members{Kind: it.Members.Kind, List: slices.Clone(it.Members.List)}
					}
					deep = append(deep, it)
				}
			}
			pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
			c.Do(nil, nodetest.Words{Pick: pick, Now: epoch * 1000}.Draw(nodetest.Names()))
			if len(copied) > 0 && !reflect.DeepEqual(copied, deep) {
				t.Fatalf("a copy has become %+v, and was %+v", copied, deep)
			}
		}
	})
}

func TestOwners(t *testing.T) {
	n, m, _ := newNode()
	c := connect(n)
	answerOf(c, "HSET lock b 1 a 2")
	answerOf(c, "SET other x")
	if a, b := m.Items[0].Owner(), m.Items[1].Owner(); a != "a,b" || b != "x" {
		t.Errorf("owners %q, %q", a, b)
	}
}
