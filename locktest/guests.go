package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// guests are the locks of a run. Their goroutines run while the world's stand, in Await; what
// they want of the world waits until all of them stand.
type guests struct {
	open  func(Env) (Lock, error)
	began time.Time
	timer *time.Timer
	// wanted tells that inbox has something.
	wanted chan struct{}
	// stirred: goroutines may be running that did not wait for time.
	stirred bool
	// all are the locks of the run.
	all   []*guest
	tally *tally
	// unknown is what nodes were asked and do not know.
	unknown []string
	// ready is called when all have been opened.
	ready func(error)

	mu    sync.Mutex
	inbox []wish
	over  bool
}

// tally counts what tells whether runs can be judged.
type tally struct {
	// Granted are the grants, Ended those among them whose promise was over when it was told.
	Granted, Ended int
	// Tells: a grant had a channel on which the lock tells of losses, or of renewals.
	Tells bool
	// Refusal is why an Acquire failed last.
	Refusal string
}

// wish is something that a guest wants of the world. What is wanted at the same instant is done
// in the order of who wants it: which goroutine ran first is the Go scheduler's choice.
type wish struct {
	client, node int
	line, number uint64
	do           func()
}

func (w wish) compare(o wish) int {
	return cmp.Or(cmp.Compare(w.client, o.client), cmp.Compare(w.node, o.node), cmp.Compare(w.line, o.line), cmp.Compare(w.number, o.number))
}

var (
	_ virtual.Guests = (*guests)(nil)
	_ virtual.Locks  = (*guests)(nil)
)

func newGuests(open func(Env) (Lock, error), t *tally) *guests {
	g := &guests{open: open, tally: t, began: time.Now(), wanted: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	g.timer.Stop()
	return g
}

// want puts a wish to the world.
func (g *guests) want(w wish) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return
	}
	if g.inbox = append(g.inbox, w); len(g.inbox) == 1 {
		g.wanted <- struct{}{}
	}
}

// Grant implements virtual.Guests.
func (g *guests) Grant() bool {
	g.mu.Lock()
	list := g.inbox
	if g.inbox = nil; len(list) > 0 {
		<-g.wanted
	}
	g.mu.Unlock()
	slices.SortStableFunc(list, wish.compare)
	for _, w := range list {
		w.do()
	}
	return len(list) > 0
}

// Await implements virtual.Guests.
func (g *guests) Await(until time.Duration) time.Duration {
	for {
		if g.stirred {
			g.stirred = false
			synctest.Wait()
		}
		now := time.Since(g.began)
		g.mu.Lock()
		wishes := len(g.inbox)
		g.mu.Unlock()
		if wishes > 0 || now >= until {
			return now
		}
		g.timer.Reset(until - now)
		select {
		case <-g.timer.C:
		case <-g.wanted:
			g.timer.Stop()
			g.wanted <- struct{}{}
			g.stirred = true
		}
	}
}

// Unknown implements virtual.Locks.
func (g *guests) Unknown(what string) {
	if !slices.Contains(g.unknown, what) {
		g.unknown = append(g.unknown, what)
	}
}

// Lock implements virtual.Locks. Each client has a process of its own.
func (g *guests) Lock(m *virtual.Machine, _ string) (lock.Lock, error) {
	l := &guest{g: g, m: m, grants: make(map[uint64]*held), asked: make(chan func(), 1)}
	l.number = slices.Index(m.Clients(), m.Client())
	l.ctx, l.cancel = context.WithCancel(context.Background())
	m.OnEnd(l.end)
	g.all = append(g.all, l)
	go l.work()
	l.begin()
	return l, nil
}

// Ready implements virtual.Locks.
func (g *guests) Ready(then func(error)) {
	g.ready = then
	g.opened()
}

// Late implements virtual.Locks: none begins anew.
func (g *guests) Late() bool { return false }

// opened looks whether all are.
func (g *guests) opened() {
	if g.ready == nil || slices.ContainsFunc(g.all, func(l *guest) bool { return !l.opened }) {
		return
	}
	var err error
	for _, l := range g.all {
		if l.failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: failed to open the lock: %w", l.m.Client(), l.failed))
		}
	}
	then := g.ready
	g.ready = nil
	then(err)
}

// busy names what did not return though its context has ended.
func (g *guests) busy() (list []string) {
	for _, l := range g.all {
		if name, _ := l.doing.Load().(string); name != "" {
			list = append(list, fmt.Sprintf("%s of %s did not return after its context had ended", name, l.m.Client()))
		}
	}
	return list
}

// leftAfter is how long goroutines may go on after the end of a run, in its time.
const leftAfter = time.Minute

// finish lets what guests began come to its end.
func (g *guests) finish() {
	g.mu.Lock()
	g.over = true
	g.mu.Unlock()
	time.Sleep(leftAfter)
	synctest.Wait()
}

// Begin implements virtual.Guests.
func (g *guests) Begin() {}
