package lock

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Env is all that a lock sees of the world. It belongs to one client.
type Env interface {
	// Client is the client's name.
	Client() string
	// Now is the client's monotonic clock, counted from an unknown instant. A
	// fault may stop it, as suspending a virtual machine does.
	Now() time.Duration
	// Wall is the client's wall clock, counted from 1970. A fault may make it
	// jump.
	Wall() time.Duration
	// Sleep waits. A pause of the client lengthens it.
	Sleep(time.Duration)
	// Wait is Sleep for a client that waits for the lock: it ends when the acquire under way is cancelled.
	Wait(time.Duration)
	// Cancelled reports that the acquire under way has been cancelled. A command that is Cancellable is not sent from then on, and if
	// it is on its way, its reply is unknown.
	Cancelled() bool
	// Rand is the client's own source of randomness, drawn from the run's seed.
	Rand() *rand.Rand
	// Nodes are the lock's nodes, in the scenario's order.
	Nodes() []command.Node
	// Consensus is a store that no fault strikes: linearizable, as etcd is. Nil
	// where the run has none; Config.NeedsConsensus says whether it must.
	Consensus() command.Node
	// Fan runs call(0) ... call(n-1) concurrently. It hands each reply to
	// arrived, in the order of arrival, on the caller's own thread of control,
	// and returns when all have arrived or arrived says that it has enough. The
	// calls that are left go on; their replies are dropped.
	Fan(n int, call func(i int) command.Reply, arrived func(i int, r command.Reply) (enough bool))
	// Spawn starts a background activity of the client. f must come to an end
	// by itself soon after the lock has no more use for it.
	Spawn(f func())
	// Point tells the world that the client passes the named point of its code.
	// A fault may strike there before Point returns.
	Point(name string)
	// Process is what the locks of the clients of one process have in common.
	Process() *Process
	// Background records an operation that the client does by itself, such as a
	// watchdog's renewal. remaining tells how long the promise lasts that do
	// brought; it is asked at once after an OK.
	Background(op Operation, do func() (Grant, Result), remaining func(Grant) time.Duration)
}

// Process is the memory that the locks of all clients of a process share, for any of their threads. The zero value is ready.
type Process struct {
	mu    sync.Mutex
	entry entry
}

// afterNode is the point behind the i-th node asked, from 0.
func afterNode(i int) string {
	if i < len(afterNodes) {
		return afterNodes[i]
	}
	return PointAfterNode + strconv.Itoa(i+1)
}

// MostNodes is how many nodes a scenario may have.
const MostNodes = 25

// afterNodes are ready-made: locks pass them often.
var afterNodes = func() (list [MostNodes]string) {
	for i := range list {
		list[i] = PointAfterNode + strconv.Itoa(i+1)
	}
	return list
}()

// Operation names an operation that a lock does in the background.
type Operation string

// Extend renews a grant.
const Extend Operation = "extend"

// Points that locks pass. Point names with a number (after-node:3) count nodes
// from 1 in the order in which they were asked.
const (
	PointQuorum              = "quorum"
	PointBeforeValidityCheck = "before-validity-check"
	PointBeforeExtend        = "before-extend"
	// PointBeforeToken: a token is drawn next from a source beside the lock.
	PointBeforeToken = "before-token"
	// PointToken: a token was drawn from a source beside the lock.
	PointToken     = "token"
	PointAfterNode = "after-node:"
)
