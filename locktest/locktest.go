// Package locktest searches for schedules of messages, crashes, pauses and clocks under which
// a Redis lock has two holders at once. The lock is Go code as it is: a library on go-redis or
// rueidis, or your own. It runs in virtual time, so that a test of some seconds tries
// thousands of schedules:
//
//	func TestMyLock(t *testing.T) {
//		locktest.Run(t, locktest.Config{Nodes: 3}, func(e locktest.Env) (locktest.Lock, error) {
//			client := redis.NewClient(&redis.Options{Addr: e.Nodes[0].Addr, Dialer: e.Nodes[0].Dial})
//			e.Cleanup(func() { client.Close() })
//			return &myLock{client: client, key: e.Key, ttl: e.TTL}, nil
//		})
//	}
//
// Each run has Config.Clients clients, each with a lock that open made for it, and is one
// bubble of testing/synctest: the clock that the code sees is the bubble's. The connections
// that Env hands out end at models of Redis nodes. What is found is made as small as it can be.
// The test then fails, and prints the story, a line that replays it, and the files with the
// scenario and the report.
//
// See docs/guide/locktest.md for what a run is made of, and for what it cannot show.
package locktest

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
)

// Lock is one client's lock. Its methods are called one at a time.
type Lock interface {
	// Acquire gets the lock, and may try again until ctx ends. An error that is ErrRefused
	// says that the lock is certainly not held; after any other it may be.
	Acquire(ctx context.Context) (Grant, error)
	// Release gives back what the last Acquire got. ErrRefused: it was not ours any more.
	Release(ctx context.Context) error
}

// ErrRefused, or an error that wraps it, says that the lock is certainly not held.
var ErrRefused = errors.New("refused")

// Grant is a lock in hand. What the lock does not tell has its zero value.
type Grant struct {
	// Owner is the value in the lock's keys.
	Owner string
	// Until is when the lock's promise ends, as the lock computed it. Zero: it promises what its
	// commands asked the nodes for.
	Until time.Time
	// Lost is closed when the lock says that it is lost. Renewed carries the new Until when the
	// lock has been renewed.
	Lost    <-chan struct{}
	Renewed <-chan time.Time
	// Token is the fencing token.
	Token *int64
}

// Env is what a client's lock is opened with.
type Env struct {
	// Client is the client's name, and Seed the run's.
	Client string
	Seed   uint64
	// Nodes are those that keep the lock, Key is its key, and TTL how long it lives.
	Nodes []Node
	Key   string
	TTL   time.Duration

	cleanup func(func())
}

// Cleanup lets f be called when the client is killed, or when the run ends; what was added last
// is called first. Close there what was opened: goroutines that are left then fail the test.
func (e Env) Cleanup(f func()) { e.cleanup(f) }

// Node is a Redis node as a client reaches it.
type Node struct {
	Name, Addr string
	// Dial opens a connection to the node, whatever the address says.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
}

// Config says what to try. The zero value of each field stands for its default.
type Config struct {
	// Nodes are independent Redis nodes (1). Clients (3) take the lock at the same time, each
	// Sections times (3).
	Nodes, Clients, Sections int
	// Keys are patterns of the keys that the lock writes, where that is not Env.Key alone: {key}
	// stands for it, and * for anything.
	Keys []string
	// TTL is the time to live that the lock is told (1 s), Think how long a client holds it (a
	// tenth of the TTL; where StaysHeld is asked for, three TTLs and a fifth).
	TTL, Think time.Duration
	// Kinds are the faults to draw (DefaultKinds).
	Kinds []Kind
	// Properties are those whose violation counts (ExclusiveLease, BackedGrant and AsksItsTTL; and ToldWhenLost, if a Grant has Lost
	// or Renewed).
	Properties []Property
	// For bounds the search in real time (30 s; 3 s with -short), Seeds in runs (0: no bound).
	For   time.Duration
	Seeds int
}

// Property is what must hold in every run. docs/reference/properties.md has the definitions.
type Property string

// Properties.
const (
	// ExclusiveLease: no two clients are at once inside the validity that their lock promised.
	ExclusiveLease = Property(checker.ExclusiveLease)
	// BackedGrant: before a client is told that it has the lock, its own commands have set its keys on enough nodes.
	BackedGrant = Property(checker.BackedGrant)
	// AsksItsTTL: the lock asks its nodes for the TTL that it was given.
	AsksItsTTL = Property(checker.AsksItsTTL)
	// NoLateEffect: nothing a client does takes effect after its validity ended. A lock alone
	// cannot keep it where clients pause.
	NoLateEffect = Property(checker.NoLateEffect)
	// LinearizableResource: no update of the guarded resource is lost. A lock alone cannot keep
	// it where clients pause.
	LinearizableResource = Property(checker.LinearizableResource)
	// OwnerRelease: nobody's release or renewal touches another owner's key.
	OwnerRelease = Property(checker.OwnerRelease)
	// NoOrphanLock: no key stays for longer than the TTL after its owner no longer wants it.
	NoOrphanLock = Property(checker.NoOrphanLock)
	// NothingStays: without a fault no key of an attempt stays once the attempt is over.
	NothingStays = Property(checker.NothingStays)
	// NoResurrection: no renewal brings back a lock that was gone from the nodes.
	NoResurrection = Property(checker.NoResurrection)
	// ToldWhenLost: a holder whose lock is gone from the nodes is told so, by Grant.Lost, within one TTL.
	ToldWhenLost = Property(checker.ToldWhenLost)
	// ToldAtRelease: a release whose lock was gone from the nodes does not end without an error.
	ToldAtRelease = Property(checker.ToldAtRelease)
	// NoFalseAlarm: a holder that has its lock is not told that it has lost it, by Grant.Lost.
	NoFalseAlarm = Property(checker.NoFalseAlarm)
	// StaysHeld: a lock that renews itself is kept for as long as its holder works and its nodes answer. Whoever names
	// it says that the lock renews.
	StaysHeld = Property(checker.StaysHeld)
	// MinorityTolerant: with a minority of nodes down, hung or slow, the lock is still granted.
	MinorityTolerant = Property(checker.MinorityTolerant)
	// DeadlockFree: once the faults are lifted, somebody gets the lock.
	DeadlockFree = Property(checker.DeadlockFree)
	// OrderedTokens: a later grant has a larger fencing token.
	OrderedTokens = Property(checker.OrderedTokens)
	// HolderServed: a resource that checks the tokens refuses nothing that a client does inside its own validity. Where it counts,
	// the resource of the run checks them.
	HolderServed = Property(checker.HolderServed)
)

// Kind is a kind of fault.
type Kind string

// Kinds of faults. DefaultKinds are all but Wipe and NodeClock: what a lock on Redis is meant to
// survive.
const (
	// Pause stops a client's traffic and its next step, or a node.
	Pause Kind = "pause"
	// Kill kills a client, or a node that finds its data again; Wipe a node that does not.
	Kill Kind = "kill"
	Wipe Kind = "wipe"
	// NodeClock moves the clock of a node, by which keys expire.
	NodeClock Kind = "clock"
	// HoldMessage and LoseAnswer strike a single message between a client and a node.
	HoldMessage Kind = "hold-message"
	LoseAnswer  Kind = "lose-answer"
	// Cancel cancels the context of an Acquire that is under way.
	Cancel Kind = "cancel"
	// The others disturb links.
	Latency   Kind = "latency"
	Bandwidth Kind = "bandwidth"
	Cut       Kind = "cut"
	Hold      Kind = "hold"
	Stall     Kind = "stall"
	Reset     Kind = "reset"
	LimitData Kind = "limit-data"
	SlowClose Kind = "slow-close"
)

// Kinds are all kinds of faults.
func Kinds() []Kind { return append(DefaultKinds(), Wipe, NodeClock) }

// DefaultKinds are the kinds of faults that are drawn where Config names none.
func DefaultKinds() []Kind {
	return []Kind{Pause, Kill, Cancel, HoldMessage, LoseAnswer, Latency, Bandwidth, Cut, Hold, Stall, Reset, LimitData, SlowClose}
}
