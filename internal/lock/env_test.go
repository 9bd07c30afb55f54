package lock_test

import (
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/commandtest"
)

// outlives is how far behind its expiry a key may live: through that millisecond.
const outlives = time.Millisecond

// table is where clients and nodes sit together, on one clock that moves only as
// they say.
type table struct {
	*commandtest.Clock
	etcd    *commandtest.Node
	nodes   []*commandtest.Node
	process lock.Process
}

func newTable(n int) *table {
	clock := &commandtest.Clock{T: time.Hour} // not 0, as a clock of the world
	return &table{Clock: clock, etcd: commandtest.NewNode("consensus", clock), nodes: commandtest.NewNodes(n, clock)}
}

// ways puts something between the clients and the nodes, from A on.
func (tb *table) ways(list ...way) {
	for i, n := range tb.nodes {
		n.Way = nil
		if i < len(list) {
			n.Way = list[i]
		}
	}
}

type way = func(command.Command, func() command.Reply) command.Reply

// slow is a way that takes a while to the node, and a while back.
func (tb *table) slow(there, back time.Duration) way {
	return func(_ command.Command, carry func() command.Reply) command.Reply {
		tb.T += there
		r := carry()
		tb.T += back
		return r
	}
}

// holders are the values of the key "lock" on the nodes; "" where there is none.
func (tb *table) holders() []string {
	var list []string
	for _, n := range tb.nodes {
		v, m := "", n.Memory()
		if i := m.Find("lock"); i >= 0 {
			v = m.Items[i].Owner()
		}
		list = append(list, v)
	}
	return list
}

// held counts the nodes that keep the key under this value.
func (tb *table) held(owner string) (n int) {
	for _, v := range tb.holders() {
		if v == owner {
			n++
		}
	}
	return n
}

// env is one client at the table.
type env struct {
	*table
	name  string
	wall  time.Duration // ahead of the clock
	rnd   *rand.Rand
	slept []time.Duration
	// onSleep and onPoint happen while the client sleeps, or stands at a point.
	onSleep   func(n int)
	onPoint   map[string]func()
	spawned   []func()
	cancelled bool
	// background are the outcomes of what it did by itself.
	background []lock.Result
}

var _ lock.Env = (*env)(nil)

func (e *env) Consensus() command.Node { return e.etcd }

// Process is that of the table: its clients are in one process.
func (e *env) Process() *lock.Process { return &e.process }

// sit makes a client and its lock.
func (tb *table) sit(t *testing.T, name string, c lock.Config) (*env, lock.Lock) {
	t.Helper()
	e := &env{table: tb, name: name, rnd: rand.New(rand.NewPCG(1, uint64(len(name))+uint64(name[len(name)-1]))),
		onPoint: make(map[string]func())}
	if c.Key = "lock"; c.Algorithm == "" {
		c.Algorithm = "redlock"
	}
	l, err := lock.New(c, e)
	if err != nil {
		t.Fatal(err)
	}
	return e, l
}

func (e *env) Client() string      { return e.name }
func (e *env) Now() time.Duration  { return e.T }
func (e *env) Wall() time.Duration { return e.T + e.wall }
func (e *env) Rand() *rand.Rand    { return e.rnd }
func (e *env) Spawn(f func())      { e.spawned = append(e.spawned, f) }

func (e *env) Wait(d time.Duration) { e.Sleep(d) }
func (e *env) Cancelled() bool      { return e.cancelled }

func (e *env) Sleep(d time.Duration) {
	e.T += d
	if e.slept = append(e.slept, d); len(e.slept) > 10_000 {
		panic("it would wait for ever")
	}
	if e.onSleep != nil {
		e.onSleep(len(e.slept))
	}
}

func (e *env) Nodes() []command.Node {
	var list []command.Node
	for _, n := range e.nodes {
		list = append(list, n)
	}
	return list
}

// Fan lets all calls begin at the same time, and hands over what they brought in
// the order in which they ended.
func (e *env) Fan(n int, call func(int) command.Reply, arrived func(int, command.Reply) bool) {
	type answer struct {
		i  int
		r  command.Reply
		at time.Duration
	}
	start, answers := e.T, make([]answer, n)
	for i := range n {
		e.T = start
		answers[i] = answer{i, call(i), 0}
		answers[i].at = e.T
	}
	sort.SliceStable(answers, func(i, j int) bool { return answers[i].at < answers[j].at })
	for _, a := range answers {
		e.T = a.at
		if arrived(a.i, a.r) {
			return
		}
	}
}

func (e *env) Point(name string) {
	if f := e.onPoint[name]; f != nil {
		f()
	}
}

func (e *env) Background(_ lock.Operation, do func() (lock.Grant, lock.Result), _ func(lock.Grant) time.Duration) {
	_, r := do()
	e.background = append(e.background, r)
}
