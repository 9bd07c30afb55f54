package live

import (
	"context"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/client"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// host is where a world's servers run: as processes of ours, in containers, or
// at somebody's who started them before.
type host interface {
	// launch starts a node's server, or starts it again at the same address,
	// hands it to the node's begin, and returns once it answers.
	launch(ctx context.Context, n *redisNode) error
	// clock makes the clock of a node that has not been launched movable.
	clock(n *redisNode) (movableClock, error)
	// invitation is what a client has to know of a node that it reaches through
	// a link of ours.
	invitation(node endpoint, link string) client.Address
	// ahead is how far the wall clock of a node's machine is ahead of ours, give
	// or take about.
	ahead(ctx context.Context, n *redisNode) (ahead, about time.Duration, err error)
	// reachable is the address under which its servers reach a listener of
	// ours on loopback.
	reachable(address string) (string, error)
	// versions name what took part beside the servers.
	versions() map[string]string
	// Close undoes everything, once the servers have been left.
	Close() error
}

// party is something with a life of its own that faults can strike.
type party interface {
	// Stop returns once it certainly stands still.
	Stop() error
	Resume() error
	// Kill returns once it is dead.
	Kill() error
	Dead() bool
}

// server is a Redis server.
type server interface {
	party
	door() door
	// PID is its process on this machine; 0: not to be seen from here.
	PID() int
	// wrote reports whether it is this server that answered INFO so.
	wrote(info string) bool
	// lastWords says why it ended.
	lastWords() error
	// leave ends it where it is ours.
	leave()
}

// movableClock is the wall clock of a server, as faults bend it.
type movableClock interface {
	set(world.ClockFault) error
	reset() error
	// error is how far it is ahead of the machine's.
	error() time.Duration
	// halt lets it go on by itself, wherever it stands.
	halt()
}

// plainly is what holds of servers of ours on this machine: they ask for nothing,
// and have its clock.
type plainly struct{}

func (plainly) ahead(context.Context, *redisNode) (time.Duration, time.Duration, error) {
	return 0, 0, nil
}

func (plainly) invitation(node endpoint, link string) client.Address {
	return client.Address{Name: node.name, Address: link}
}
