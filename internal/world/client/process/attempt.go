package process

import (
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// attempt is the acquire of a client that is under way, which can be cancelled.
type attempt struct {
	mu sync.Mutex
	id uint64
	// done is closed when it is cancelled; nil: none is under way.
	done chan struct{}
}

// begin says under which id an acquire is under way.
func (a *attempt) begin(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.id, a.done = id, make(chan struct{})
}

// end says that the acquire with this id is over. Another may have begun.
func (a *attempt) end(id uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.id == id {
		a.done = nil
	}
}

// cancel cancels the acquire with this id; false: it is not under way, or has been cancelled.
func (a *attempt) cancel(id uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done == nil || a.id != id || isClosed(a.done) {
		return false
	}
	close(a.done)
	return true
}

// isDone is closed when the attempt under way is cancelled; nil: there is none.
func (a *attempt) isDone() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done
}

// Cancelled implements lock.Env.
func (a *attempt) Cancelled() bool { return isClosed(a.isDone()) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Wait implements lock.Env.
func (a *attempt) Wait(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-a.isDone():
	}
}

// orCancelled waits for what do brings, but no longer than until the attempt is cancelled.
func (a *attempt) orCancelled(do func() command.Reply) command.Reply {
	const why = "the attempt was cancelled"
	done := a.isDone()
	if isClosed(done) {
		return command.RefusedReply(why)
	}
	reply := make(chan command.Reply, 1)
	go func() { reply <- do() }()
	select {
	case r := <-reply:
		return r
	case <-done:
		return command.UnknownReply(why)
	}
}
