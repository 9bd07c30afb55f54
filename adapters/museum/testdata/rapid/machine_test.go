package rapid

import (
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"pgregory.net/rapid"
)

const (
	key = "lock"
	ttl = 4 * time.Second
	// most is after how long a lock has surely ended: go-zero adds half a second.
	most = ttl + 500*time.Millisecond
)

// client is one that uses the lock.
type client interface {
	acquire() bool // once, without waiting
	release() bool
}

// extender is a client whose lock can be lengthened to a whole TTL.
type extender interface{ extend() bool }

// machine is what is known of the lock, beside what is there.
type machine struct {
	nodes []*miniredis.Miniredis
	down  []bool
	// missed are the nodes that were down at some time since the lock was taken.
	missed  []bool
	clients []client
	// clean says that no node had anything left of earlier attempts when it was taken.
	clean bool
	// holder is who has the lock, -1: nobody. It has taken it so many times.
	holder, times int
	// clock is how much time has passed, until is when the lock ends, and rest when whatever failed attempts have left is gone.
	clock, until, rest time.Duration
	sleep              func(time.Duration)
}

// check draws runs. open makes clients on the addresses of nodes.
func check(t *testing.T, nodes []*miniredis.Miniredis, sleep func(time.Duration), open func() []client) {
	rapid.Check(hidden{t}, func(rt *rapid.T) {
		for _, n := range nodes {
			n.SetError("")
			n.FlushAll()
		}
		m := &machine{nodes: nodes, down: make([]bool, len(nodes)), missed: make([]bool, len(nodes)), clients: open(), holder: -1, sleep: sleep}
		rt.Repeat(map[string]func(*rapid.T){"acquire": m.acquire, "release": m.release, "extend": m.extend, "wait": m.wait,
			"fail": m.fail, "heal": m.heal})
	})
}

// hidden hides Deadline, which panics in a bubble of synctest.
type hidden struct{ rapid.TB }

func (m *machine) any(t *rapid.T) int { return rapid.IntRange(0, len(m.clients)-1).Draw(t, "client") }

func (m *machine) held() bool { return m.holder >= 0 && m.clock < m.until }

// majority says whether most nodes have the lock, and have answered since it was taken.
func (m *machine) majority() bool { return m.clean && 2*count(m.missed) < len(m.nodes) }

func count(list []bool) (n int) {
	for _, b := range list {
		if b {
			n++
		}
	}
	return n
}

// took notes that a client has taken the lock.
func (m *machine) took(c int, clean bool) {
	m.holder, m.times, m.clean, m.missed = c, 1, clean, slices.Clone(m.down)
	m.until, m.rest = m.clock+ttl, m.clock+most
}

func (m *machine) acquire(t *rapid.T) {
	c := m.any(t)
	ok := m.clients[c].acquire()
	clean := m.clock >= m.rest
	m.rest = m.clock + most
	switch {
	case ok && m.held() && m.holder != c:
		t.Fatalf("client %d has got the lock that client %d has", c, m.holder)
	case ok && m.held():
		m.times++
		m.until = m.clock + ttl
	case ok:
		m.took(c, clean)
	}
}

// release gives the lock back as often as it was taken.
func (m *machine) release(t *rapid.T) {
	c := m.any(t)
	if !m.held() || m.holder != c {
		t.Skip("it has no lock")
	}
	if ok := m.clients[c].release(); !ok && m.majority() {
		t.Fatalf("client %d cannot release its lock, and most nodes have answered since it was taken", c)
	}
	if m.times--; m.times == 0 {
		m.holder = -1
	}
}

func (m *machine) extend(t *rapid.T) {
	c := m.any(t)
	e, can := m.clients[c].(extender)
	if !can || !m.held() || m.holder != c {
		t.Skip("it has no lock that can be lengthened")
	}
	ok := e.extend()
	m.rest = m.clock + most
	switch {
	case ok:
		m.until = m.clock + ttl
	case m.majority():
		t.Fatalf("client %d cannot lengthen its lock, and most nodes have answered since it was taken", c)
	default:
		m.holder = -1 // it knows that it may have lost it
	}
}

// wait lets time pass. When nothing can be left of earlier attempts and all nodes answer, the lock can be taken.
func (m *machine) wait(t *rapid.T) {
	d := time.Duration(rapid.IntRange(1, int(2*ttl/time.Millisecond)).Draw(t, "ms")) * time.Millisecond
	m.sleep(d)
	for _, n := range m.nodes {
		n.FastForward(d)
	}
	m.clock += d
	if m.clock <= m.rest || count(m.down) > 0 || m.held() {
		return
	}
	c := m.any(t)
	if !m.clients[c].acquire() {
		t.Fatalf("client %d cannot take a lock that nobody can have", c)
	}
	m.took(c, true)
}

func (m *machine) fail(t *rapid.T) {
	i := rapid.IntRange(0, len(m.nodes)-1).Draw(t, "node")
	m.down[i], m.missed[i] = true, true
	m.nodes[i].SetError("LOADING the node is down")
}

func (m *machine) heal(t *rapid.T) {
	i := rapid.IntRange(0, len(m.nodes)-1).Draw(t, "node")
	m.down[i] = false
	m.nodes[i].SetError("")
}

func start(t *testing.T, n int) (nodes []*miniredis.Miniredis) {
	for range n {
		nodes = append(nodes, miniredis.RunT(t))
	}
	return nodes
}
