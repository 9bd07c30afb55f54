package locktest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/driver"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world/client/process"
)

// ours is one of the project's locks as a library on go-redis.
type ours struct {
	Env
	lock  lock.Lock
	rand  *rand.Rand
	nodes []command.Node
	// using: a lock's methods are called one at a time.
	using sync.Mutex
	grant lock.Grant
	began time.Time
	// ended is closed when the process ends.
	ended chan struct{}
	// cancelled is closed when the Acquire that is under way is cancelled.
	cancelled chan struct{}
	// renewals are those of the latest grant.
	renewals chan time.Time
}

var _ lock.Env = (*ours)(nil)

// open makes such locks, with settings and mistakes.
func openOurs(c lock.Config) func(Env) (Lock, error) {
	return func(e Env) (Lock, error) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(e.Client))
		o := &ours{Env: e, rand: rand.New(rand.NewPCG(e.Seed, h.Sum64())), began: time.Now(), ended: make(chan struct{})}
		e.Cleanup(func() { close(o.ended) })
		for _, n := range e.Nodes {
			rdb := driver.New(redis.Options{Addr: n.Addr, Dialer: n.Dial, ReadTimeout: -1, WriteTimeout: -1})
			e.Cleanup(func() { _ = rdb.Close() })
			o.nodes = append(o.nodes, overGoRedis{o, n.Name, rdb})
		}
		own := c // each client has its own
		own.Key, own.TTL = e.Key, e.TTL
		var err error
		o.lock, err = lock.New(own, o)
		return o, err
	}
}

func (o *ours) Acquire(ctx context.Context) (Grant, error) {
	o.using.Lock()
	defer o.using.Unlock()
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			close(cancelled)
		}
	})
	o.cancelled = cancelled
	defer func() { stop(); o.cancelled = nil }()
	o.renewals = make(chan time.Time, 1000)
	g, r := o.lock.Acquire()
	if r.Outcome != lock.OK {
		return Grant{}, errorOf(r)
	}
	o.grant = g
	told := Grant{Owner: g.Owner, Renewed: o.renewals}
	if !g.Forever {
		told.Until = time.Now().Add(o.lock.Remaining(g))
	}
	if g.HasToken {
		told.Token = &g.Token
	}
	return told, nil
}

func (o *ours) Release(context.Context) error {
	o.using.Lock()
	defer o.using.Unlock()
	return errorOf(o.lock.Release(o.grant))
}

func errorOf(r lock.Result) error {
	switch r.Outcome {
	case lock.OK:
		return nil
	case lock.Fail:
		return fmt.Errorf("%w: %s", ErrRefused, r.Err)
	}
	return errors.New(r.Err)
}

func (o *ours) Client() string          { return o.Env.Client }
func (o *ours) Now() time.Duration      { return time.Since(o.began) }
func (o *ours) Wall() time.Duration     { return time.Duration(time.Now().UnixNano()) }
func (o *ours) Rand() *rand.Rand        { return o.rand }
func (o *ours) Nodes() []command.Node   { return o.nodes }
func (o *ours) Consensus() command.Node { return nil }
func (o *ours) Process() *lock.Process  { return &lock.Process{} }
func (o *ours) Spawn(f func())          { go f() }
func (o *ours) Point(string)            {}

// Cancelled implements lock.Env.
func (o *ours) Cancelled() bool {
	select {
	case <-o.cancelled:
		return true
	default:
		return false
	}
}

// Wait implements lock.Env.
func (o *ours) Wait(d time.Duration) {
	select {
	case <-o.cancelled:
	case <-time.After(d):
	case <-o.ended:
		runtime.Goexit()
	}
}

// Sleep ends the goroutine with the process: the locks know of no such end.
func (o *ours) Sleep(d time.Duration) {
	select {
	case <-time.After(d):
	case <-o.ended:
		runtime.Goexit()
	}
}

func (o *ours) Fan(n int, call func(int) command.Reply, arrived func(int, command.Reply) bool) {
	process.Fan(n, call, arrived)
}

func (o *ours) Background(_ lock.Operation, do func() (lock.Grant, lock.Result), remaining func(lock.Grant) time.Duration) {
	renewals := o.renewals
	if g, r := do(); r.Outcome == lock.OK {
		renewals <- time.Now().Add(remaining(g))
	}
}

// overGoRedis is a node.
type overGoRedis struct {
	o    *ours
	name string
	rdb  *redis.Client
}

func (n overGoRedis) Name() string { return n.name }

func (n overGoRedis) Do(c command.Command) command.Reply {
	ctx, cancel := context.Background(), func() {}
	if c.Timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
	}
	if !c.Cancellable {
		defer cancel()
		return process.Carry(ctx, n.rdb, c)
	}
	cancelled := n.o.cancelled
	reply := make(chan command.Reply, 1) // go-redis does not end a read when its context is cancelled
	go func() {
		defer cancel()
		reply <- process.Carry(ctx, n.rdb, c)
	}()
	select {
	case r := <-reply:
		return r
	case <-cancelled:
		return command.UnknownReply("the attempt was cancelled")
	}
}

// settings are those of a built-in lock as a scenario has them.
func settings(algorithm string, mistakes ...string) lock.Config {
	c := scenario.StandardLock(algorithm)
	c.Retry.Attempts = attempts
	if algorithm == "set-nx-px" { // its tokens come in a second step, each of which may take longer than a section
		c.Tokens, c.NodeTimeout = lock.SingleCounter, 500*time.Millisecond
	}
	for _, rule := range mistakes {
		c.Mistakes.SwitchOff(rule)
	}
	return c
}
