package lock

import "time"

// Outcome says what the client knows of an operation; the meanings are those
// of history.OK, history.Fail and history.Info.
type Outcome uint8

const (
	// OK: it took effect.
	OK Outcome = iota + 1
	// Fail: it certainly did not.
	Fail
	// Info: nobody knows.
	Info
)

// Result is the outcome of an operation, with the reason where it is not OK.
type Result struct {
	Outcome Outcome
	Err     string
	// Final: whoever asks again is told the same.
	Final bool
}

// Grant is a lock in hand.
type Grant struct {
	// Owner is the value written into the lock's keys.
	Owner string
	// Token is the fencing token, where HasToken.
	Token    int64
	HasToken bool
	// Until is the instant on the lock's clock (see Config.Clock) at which the
	// promise ends; Forever where the lock promised no end.
	Until   time.Duration
	Forever bool
	// Asked is when it was asked for on the lock's clock, where the lock may stay after its release (Config.AtLeast).
	Asked time.Duration
	// Nodes are the indices of the nodes that granted, in the order asked.
	Nodes []int
	// Reader is the value of the reader's grant in the place of which an upgrade stands.
	Reader string
	// Local marks a re-entry that asked no node.
	Local bool
	// ID names the grant where the lock is a program.
	ID uint64
}

// Lock is one client's instance of a lock. Its methods are called one at a
// time, on the client's own thread of control.
type Lock interface {
	// Acquire tries to get the lock, with as many attempts as the
	// configuration allows. OK: held, and Grant is set. Fail: not held, and no
	// node keeps a key of this attempt as far as the lock knows. Info: unknown. It may be cancelled (Env.Cancelled); if it is, and not
	// granted all the same, it takes back what it has set.
	Acquire() (Grant, Result)
	// Release gives the grant back. Fail: it was not ours any more.
	Release(Grant) Result
	// Remaining is how long the promise still lasts on the lock's own clock;
	// negative after its end.
	Remaining(Grant) time.Duration
}

// Extender is a lock whose user can make a grant last longer.
type Extender interface {
	// Extend asks for a whole TTL from now on. OK: the grant lasts longer, and is returned as it is now. Fail: the lock was not ours any
	// more. Info: unknown.
	Extend(Grant) (Grant, Result)
}

// Upgrader is a lock whose reader can ask to write before it has left.
type Upgrader interface {
	// Upgrade asks to write beside a reader's grant, which stays. Its release leaves the reader's. Fail: the client goes on as a reader.
	Upgrade(reader Grant) (Grant, Result)
}

// Canceller is a lock whose acquire is carried out elsewhere. Cancel may be called while Acquire is under way, from another activity.
type Canceller interface {
	Cancel()
}

// Attempter is a lock of which one try can be asked for. Who is refused keeps its place in the line, where there is one.
type Attempter interface {
	Attempt() (Grant, Result)
}

// Waiter is a lock for which clients wait in a line. Acquire makes attempts, and leaves the line if none succeeds.
type Waiter interface {
	Lock
	Attempter
	// Leave gives the place up.
	Leave()
}

// Waker is a lock of which a release wakes those who wait.
type Waker interface {
	Lock
	Attempter
	// Await waits until the client is woken, but no longer than most.
	Await(most time.Duration)
}

// Forgetter is a lock that notices when its client drops a grant without releasing it, as a finalizer or a weak reference would: from then
// on it does nothing more for the grant, and the lease runs out.
type Forgetter interface {
	Forget(Grant) Result
}
