package locktest

import (
	"context"
	"errors"
	"math"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// guest is the lock of a client, for one life of its process.
type guest struct {
	g      *guests
	m      *virtual.Machine
	number int
	// ctx ends with the process.
	ctx    context.Context //nolint:containedctx // of a process
	cancel context.CancelFunc

	lock   Lock
	opened bool
	failed error
	// waiting are called when it has been opened.
	waiting []func()

	// asked is what the library is to do, one after the other, and doing the name of that.
	asked chan func()
	doing atomic.Value

	mu sync.Mutex
	// asking ends the context of the Acquire that is under way; nil: there is none.
	asking context.CancelFunc
	// cleanups are to be called at the end; ended says that it has come.
	cleanups []func()
	ended    bool
	// latest is the latest grant.
	latest uint64
	grants map[uint64]*held
	// dialled counts the connections to each node.
	dialled []uint64
}

// held is a grant in hand.
type held struct {
	owner string
	// until is the end that the latest renewal told; gone: the lock told that it is lost.
	until time.Duration
	gone  bool
	over  chan struct{}
}

var (
	_ lock.Lock      = (*guest)(nil)
	_ lock.Canceller = (*guest)(nil)
	_ client.Loser   = (*guest)(nil)
)

// tell lets the world do something for the client.
func (l *guest) tell(do func()) {
	l.g.want(wish{client: l.number, node: -1, do: do})
}

// begin opens the lock.
func (l *guest) begin() {
	l.opened, l.failed = false, nil
	l.g.stirred = true
	env := l.env()
	l.asked <- func() {
		got, err := l.g.open(env)
		if got == nil && err == nil {
			err = errors.New("open returned no lock")
		}
		l.tell(func() {
			l.lock, l.failed, l.opened = got, err, true
			l.g.opened()
			waiting := l.waiting
			l.waiting = nil
			for _, f := range waiting {
				f()
			}
		})
	}
}

// work does what is asked until the process ends.
func (l *guest) work() {
	for {
		select {
		case f := <-l.asked:
			f()
		case <-l.ctx.Done():
			return
		}
	}
}

func (l *guest) env() Env {
	c := l.m.Config()
	e := Env{Client: l.m.Client(), Key: c.Key, TTL: c.TTL, Seed: l.m.Seed(), cleanup: l.cleanup}
	names := l.m.Nodes()
	l.dialled = make([]uint64, len(names))
	for i, name := range names {
		e.Nodes = append(e.Nodes, Node{Name: name, Addr: address(i), Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return l.dial(ctx, network, i)
		}})
	}
	return e
}

// cleanup lets f be called at the end; at once, where that has come while the lock was being
// opened.
func (l *guest) cleanup(f func()) {
	l.mu.Lock()
	late := l.ended
	if !late {
		l.cleanups = append(l.cleanups, f)
	}
	l.mu.Unlock()
	if late {
		f()
	}
}

// end is called when the process ends.
func (l *guest) end() {
	l.g.stirred = true
	l.cancel()
	l.mu.Lock()
	list := l.cleanups
	l.cleanups, l.ended = nil, true
	l.mu.Unlock()
	go func() {
		for _, f := range slices.Backward(list) {
			f()
		}
	}()
}

// call has the library do something, within the time that an acquire has, while the client's
// own activity stands.
func (l *guest) call(name string, f func(context.Context)) {
	wait := l.m.Config().Retry.Longest()
	l.m.Stand(func(wake func()) {
		l.g.stirred = true
		l.asked <- func() {
			l.doing.Store(name)
			ctx, cancel := context.WithTimeout(l.ctx, wait)
			l.ask(cancel)
			f(ctx)
			l.ask(nil)
			cancel()
			l.doing.Store("")
			l.tell(wake)
		}
	})
}

// ask says how what is under way can be cancelled; nil: nothing is under way.
func (l *guest) ask(cancel context.CancelFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asking = cancel
}

// Cancel implements lock.Canceller.
func (l *guest) Cancel() {
	l.mu.Lock()
	cancel := l.asking
	l.mu.Unlock()
	if cancel != nil {
		l.g.stirred = true
		cancel()
	}
}

// awaitOpen lets the client stand until the lock has been opened.
func (l *guest) awaitOpen() error {
	if l.opened && l.failed != nil {
		l.begin() // once more: it was a node that failed, perhaps
	}
	for !l.opened {
		l.m.Stand(func(wake func()) { l.waiting = append(l.waiting, wake) })
	}
	return l.failed
}

// Acquire implements lock.Lock.
func (l *guest) Acquire() (lock.Grant, lock.Result) {
	if err := l.awaitOpen(); err != nil {
		return lock.Grant{}, lock.Result{Outcome: lock.Fail, Err: err.Error()}
	}
	if l.m.Cancelled(l.m.Client()) { // before it was asked
		return lock.Grant{}, lock.Result{Outcome: lock.Fail, Err: context.Canceled.Error()}
	}
	var got Grant
	var err error
	l.call("Acquire", func(ctx context.Context) { got, err = l.lock.Acquire(ctx) })
	if err != nil {
		l.g.tally.Refusal = err.Error()
		return lock.Grant{}, resultOf(err)
	}
	l.g.tally.Granted++
	if !got.Until.IsZero() && !got.Until.After(time.Now()) {
		l.g.tally.Ended++
	}
	l.latest++
	grant := lock.Grant{ID: l.latest, Owner: history.OwnerText(got.Owner), Forever: got.Until.IsZero(), Until: got.Until.Sub(l.g.began)}
	if got.Token != nil {
		grant.Token, grant.HasToken = *got.Token, true
	}
	h := &held{owner: grant.Owner, over: make(chan struct{})}
	l.grants[grant.ID] = h
	if got.Lost != nil || got.Renewed != nil {
		l.g.tally.Tells = true
		l.g.stirred = true
		go l.watch(h, got)
	}
	return grant, resultOf(nil)
}

// watch waits for what the lock tells of a grant.
func (l *guest) watch(h *held, got Grant) {
	for {
		select {
		case <-h.over:
			return
		case <-l.ctx.Done():
			return
		case until, ok := <-got.Renewed:
			if !ok {
				got.Renewed = nil
				continue
			}
			l.tell(func() { l.m.Do(func() { l.renewed(h, until.Sub(l.g.began)) }) })
		case <-got.Lost:
			l.tell(func() { l.m.Do(func() { l.lost(h) }) })
			return
		}
	}
}

func (l *guest) renewed(h *held, until time.Duration) {
	h.until = until
	l.m.Renewed(l.m.Client(), h.owner, until)
}

func (l *guest) lost(h *held) {
	h.gone = true
	l.m.Lost(l.m.Client(), h.owner)
}

// Release implements lock.Lock.
func (l *guest) Release(g lock.Grant) lock.Result {
	h := l.grants[g.ID]
	delete(l.grants, g.ID)
	close(h.over)
	var err error
	l.call("Release", func(ctx context.Context) { err = l.lock.Release(ctx) })
	return resultOf(err)
}

// Remaining implements lock.Lock.
func (l *guest) Remaining(g lock.Grant) time.Duration {
	if g.Forever {
		return math.MaxInt64
	}
	until := g.Until
	if h, held := l.grants[g.ID]; held {
		until = max(until, h.until)
	}
	return until - l.m.Now()
}

// Lost implements client.Loser.
func (l *guest) Lost(g lock.Grant) bool {
	h, held := l.grants[g.ID]
	return held && h.gone
}

// resultOf is what the client knows then.
func resultOf(err error) lock.Result {
	switch {
	case err == nil:
		return lock.Result{Outcome: lock.OK}
	case errors.Is(err, ErrRefused):
		return lock.Result{Outcome: lock.Fail, Err: err.Error()}
	}
	return lock.Result{Outcome: lock.Info, Err: err.Error()}
}
