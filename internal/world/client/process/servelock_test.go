package process_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/client/process"
)

func beginLock(t *testing.T, c lock.Config) *talk {
	t.Helper()
	return beginWith(t, func(in io.Reader, out io.Writer) error {
		return process.ServeLock(in, out, scenario.Describe(c, "1.0"), c, false)
	})
}

// hearLock reads the next message of a lock program.
func (k *talk) hearLock(want program.Type) (m program.Message) {
	k.t.Helper()
	if !k.lines.Scan() {
		k.t.Fatalf("heard the end (%v): want %s", k.lines.Err(), want)
	}
	if err := json.Unmarshal(k.lines.Bytes(), &m); err != nil || m.Type != want {
		k.t.Fatalf("heard %s (%v): want %s", k.lines.Bytes(), err, want)
	}
	return m
}

// openLock greets a lock program and sets it up.
func (k *talk) openLock(setup string) {
	k.t.Helper()
	k.say(hello)
	k.hearLock(program.ReadyType)
	k.say(setup)
	k.hearLock(program.SetUp)
}

const (
	hello       = `{"type":"hello","protocols":[1,2]}`
	options     = `{"type":"setup","client":"c1","seed":1,"lock":{"key":"lock","ttl_ms":1000,"node_timeout_ms":50,"options":%s},"nodes":[%s]}`
	nobodysNode = `{"name":"A","host":"127.0.0.1","port":1,"username":"","password":"","tls":null}`
)

func TestLockSaysWhatItIs(t *testing.T) {
	for _, test := range []struct {
		config       lock.Config
		name, can    string
		class        program.Class
		point, other string
	}{
		{lock.Config{Algorithm: "redlock"}, "redlock", "validity owner sentinel busy cancel clients extend token", program.Quorum,
			"after-node:25", "before-extend"},
		{lock.Config{Algorithm: "watchdog"}, "watchdog", "validity owner sentinel busy cancel clients renew forget token", program.Single,
			"before-extend", "quorum"},
		{lock.Config{Algorithm: "none"}, "none", "validity owner sentinel busy cancel clients", program.Other, "", "token"},
		{lock.Config{Algorithm: "redlock", Mistakes: lock.Mistakes{PlainDelete: true, NoCleanup: true}},
			"redlock without release without clean_up", "validity owner sentinel busy cancel clients extend token", program.Quorum,
			"token", "looked"},
	} {
		k := beginLock(t, test.config)
		k.say(hello)
		k.hearLock(program.ReadyType)
		var m program.Ready
		if err := json.Unmarshal(k.lines.Bytes(), &m); err != nil || m.Name != test.name || strings.Trim(fmt.Sprint(m.Can), "[]") != test.can ||
			m.Class != test.class || m.Version != "1.0" {
			t.Errorf("%+v: %+v, %v", test.config, m, err)
		}
		if test.point != "" && !slices.Contains(m.Points, test.point) || slices.Contains(m.Points, test.other) {
			t.Errorf("%s passes %q", test.name, m.Points)
		}
		_ = k.in.Close()
		if err := k.end(); err != nil {
			t.Errorf("the end of the input is no error: %v", err)
		}
	}
}

// Where the key is there, the lock tries as often as its options say and the wait allows.
func TestLockTriesWithinItsWait(t *testing.T) {
	node := newFakeNode(t, "$-1\r\n")
	k := beginLock(t, lock.Config{Algorithm: "set-nx-px", Retry: lock.Retry{Attempts: 200}})
	k.openLock(fmt.Sprintf(options, `{"retry":{"attempts":3,"delay":1000000}}`, node.place))
	attempts := 0
	for i, test := range []struct {
		wait string
		want int
	}{{"0", 1}, {"0.5", 1}, {"20000", 3}} {
		k.say(fmt.Sprintf(`{"type":"acquire","id":%d,"wait_ms":%s}`, i+1, test.wait))
		if m := k.hearLock(program.Refused); m.ID != uint64(i+1) || m.Why != "taken" {
			t.Errorf("wait %s: %+v", test.wait, m)
		}
		if attempts += test.want; strings.Count(node.asked(), "set lock ") != attempts {
			t.Errorf("wait %s: want %d attempts, asked %s", test.wait, test.want, node.asked())
		}
	}
	k.say(`{"type":"extend","id":8,"grant":1}`)
	if m := k.hearLock(program.Refused); m.ID != 8 || !strings.Contains(m.Why, "no such grant") {
		t.Errorf("%+v", m)
	}
	k.say(`{"type":"release","id":9,"grant":1}`)
	if m := k.hearLock(program.Refused); m.ID != 9 || !strings.Contains(m.Why, "no such grant") {
		t.Errorf("%+v", m)
	}
	k.say(`{"type":"clocks","id":10}`)
	if m := k.hearLock(program.ClocksType); m.ID != 10 || *m.WallMS < 1e12 || *m.MonotonicMS <= 0 {
		t.Errorf("%+v", m)
	}
	_ = k.in.Close()
	if err := k.end(); err != nil {
		t.Error(err)
	}
}

// A lock whose mistake it is to enter when its wait is over tries as often as any, and then says that it has the lock.
func TestLockEntersWhenItsWaitIsOver(t *testing.T) {
	node := newFakeNode(t, "$-1\r\n")
	k := beginLock(t, lock.Config{Algorithm: "set-nx-px", Mistakes: lock.Mistakes{EnterUnheld: true}})
	k.openLock(fmt.Sprintf(options, `{"retry":{"attempts":3,"delay":1000000}}`, node.place))
	k.say(`{"type":"acquire","id":1,"wait_ms":20000}`)
	m := k.hearLock(program.Acquired)
	if m.ID != 1 || *m.ValidityMS <= 0 || len(m.Owner) == 0 || strings.Count(node.asked(), "set lock ") != 3 {
		t.Errorf("%+v after %s", m, node.asked())
	}
	k.say(`{"type":"release","id":2,"grant":1}`)
	if m := k.hearLock(program.Refused); m.ID != 2 || m.Why != "not ours any more" {
		t.Errorf("%+v", m)
	}
	_ = k.in.Close()
	if err := k.end(); err != nil {
		t.Error(err)
	}
}

// A client that is cancelled is answered at once, though it would wait for a minute: unknown, if its command was on its way. A cancel of
// what has been answered is ignored.
func TestLockIsCancelled(t *testing.T) {
	node := newFakeNode(t, "$-1\r\n")
	k := beginLock(t, lock.Config{Algorithm: "set-nx-px"})
	k.openLock(fmt.Sprintf(options, `{"retry":{"attempts":2,"delay":60000000000}}`, node.place))
	for id := 1; id <= 2; id++ {
		k.say(fmt.Sprintf(`{"type":"acquire","id":%d,"wait_ms":100000}`, id))
		k.say(fmt.Sprintf(`{"type":"cancel","id":%d}`, id))
		k.say(fmt.Sprintf(`{"type":"cancel","id":%d}`, id))
		var m program.Message
		if !k.lines.Scan() || json.Unmarshal(k.lines.Bytes(), &m) != nil || m.ID != uint64(id) || !strings.Contains(m.Why, "cancelled") ||
			m.Type != program.Refused && m.Type != program.Unknown {
			t.Errorf("%+v", m)
		}
		k.say(fmt.Sprintf(`{"type":"cancel","id":%d}`, id))
	}
	_ = k.in.Close()
	if err := k.end(); err != nil {
		t.Error(err)
	}
}

// Options change the settings, but neither the algorithm nor the rules that are off, nor
// what the message itself says.
func TestLockIsSetUpByItsMessage(t *testing.T) {
	node := newFakeNode(t, "+OK\r\n")
	k := beginLock(t, lock.Config{Algorithm: "set-nx-px", Mistakes: lock.Mistakes{PlainDelete: true}})
	k.openLock(fmt.Sprintf(strings.Replace(options, `"seed":1`, `"seed":1,"points":["token"]`, 1),
		`{"algorithm":"redlock","key":"other","ttl":5,"tokens":"random-value","mistakes":{}}`, node.place))
	k.say(`{"type":"acquire","id":1,"wait_ms":0}`)
	at := k.hearLock(program.Point)
	if at.Name != lock.PointToken {
		t.Errorf("%+v", at)
	}
	k.say(fmt.Sprintf(`{"type":"go","id":%d}`, at.ID))
	m := k.hearLock(program.Acquired)
	if m.ID != 1 || m.ValidityMS == nil || *m.ValidityMS <= 900 ||
		*m.ValidityMS > 1000 || m.AtNS == 0 || m.Token == nil || !strings.HasPrefix(string(m.Owner), "c1-") {
		t.Errorf("%+v", m)
	}
	k.say(`{"type":"release","id":2,"grant":1}`)
	k.hearLock(program.Released)
	_ = k.in.Close()
	if err := k.end(); err != nil {
		t.Error(err)
	}
	if asked := node.asked(); !strings.Contains(asked, "set lock c1-") ||
		!strings.Contains(asked, "px 1000") || !strings.Contains(asked, "del lock") || strings.Contains(asked, "setname") {
		t.Errorf("the node was asked %s", asked)
	}
}

func TestLockRefusesWhatBreaksTheProtocol(t *testing.T) {
	setup := fmt.Sprintf(options, "{}", nobodysNode)
	for want, lines := range map[string][]string{
		`the message "setup" came instead of "hello"`:   {setup},
		"versions [7] of the protocol are spoken":       {`{"type":"hello","protocols":[7]}`},
		"failed to read a message":                      {"rubbish"},
		`the message "acquire" came instead of "setup"`: {hello, `{"type":"acquire","id":1,"wait_ms":0}`},
		"cannot use 0 nodes":                            {hello, fmt.Sprintf(options, "{}", "")},
		"failed to read the lock's options":             {hello, fmt.Sprintf(options, `{"retry":7}`, nobodysNode)},
		`tokens "consensus" come from`:                  {hello, fmt.Sprintf(options, `{"tokens":"consensus"}`, nobodysNode)},
		`has no tokens "quorum-counter"`:                {hello, fmt.Sprintf(options, `{"tokens":"quorum-counter"}`, nobodysNode)},
		`the message "acquire" has no id`:               {hello, setup, `{"type":"acquire","wait_ms":0}`},
		`the message "acquire" has no wait_ms`:          {hello, setup, `{"type":"acquire","id":1}`},
		`unexpected message "released"`:                 {hello, setup, `{"type":"released","id":1}`},
		"token too long":                                {`{"type":"` + strings.Repeat("x", program.MaxLine)},
	} {
		k := beginLock(t, lock.Config{Algorithm: "set-nx-px"})
		for i, line := range lines {
			if i > 0 {
				k.hearLock([]program.Type{program.ReadyType, program.SetUp}[i-1])
			}
			go func() { _, _ = fmt.Fprintln(k.in, line) }()
		}
		if m := k.hearLock(program.Error); !strings.Contains(m.Why, want) {
			t.Errorf("told %q, want %q", m.Why, want)
		}
		if err := k.end(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ended with %v, want %q", err, want)
		}
	}
}

func TestLocksOfAConsensusStoreAreNoPrograms(t *testing.T) {
	for _, name := range []string{"linearizable", "magic"} {
		if err := process.ServeLock(strings.NewReader(""), io.Discard, program.Ready{}, lock.Config{Algorithm: name}, false); err == nil {
			t.Errorf("%s runs as a lock program", name)
		}
	}
}

// fakeNode agrees to everything but SET, and writes down what it is asked.
type fakeNode struct {
	// set is its answer to SET.
	set string
	// place is the node in a message setup.
	place string
	mu    sync.Mutex
	words []string
}

func newFakeNode(t *testing.T, set string) *fakeNode {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &fakeNode{set: set, place: fmt.Sprintf(`{"name":"A","host":"127.0.0.1","port":%d,"tls":null}`, l.Addr().(*net.TCPAddr).Port)}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { n.serve(c) })
		}
	})
	t.Cleanup(func() { suite.Returns(t, "the end of the node's connections", serving.Wait) })
	t.Cleanup(func() { _ = l.Close() })
	return n
}

func (n *fakeNode) serve(c net.Conn) {
	defer c.Close()
	var all []byte
	for part := make([]byte, 1<<16); ; {
		got, err := c.Read(part)
		if err != nil {
			return
		}
		for all = append(all, part[:got]...); ; {
			v, size, err := resp.Parse(all)
			if err != nil {
				break
			}
			all = all[size:]
			var words []string
			for _, word := range v.List {
				words = append(words, word.Text)
			}
			answer := "+OK\r\n"
			switch words[0] {
			case "hello":
				answer = "-ERR unknown command\r\n"
			case "set":
				answer = n.set
			case "del":
				answer = ":1\r\n"
			}
			n.mu.Lock()
			n.words = append(n.words, strings.Join(words, " "))
			n.mu.Unlock()
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	}
}

func (n *fakeNode) asked() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.words, "\n")
}
