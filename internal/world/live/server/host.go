// Package server is the Redis servers of the live world, and the store for consensus:
// where they run, what they keep, how their clocks go, and how they die. Processes of
// ours, containers and servers of somebody else are behind one narrow interface.
package server

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// Host is where a world's servers run: as processes of ours, in containers, or
// at somebody's who started them before.
type Host interface {
	// launch starts a node's server, or starts it again at the same address,
	// hands it to the node's begin, and returns once it answers.
	launch(ctx context.Context, n *Node) error
	// clock makes the clock of a node that has not been launched movable.
	clock(n *Node) (movableClock, error)
	// Invitation is what a client has to know of a node that it reaches through
	// a link of ours.
	Invitation(node Endpoint, link string) client.Address
	// Ahead is how far the wall clock of a node's machine is ahead of ours, give
	// or take about.
	Ahead(ctx context.Context, n *Node) (ahead, about time.Duration, err error)
	// Reachable is the address under which its servers reach a listener of
	// ours on loopback.
	Reachable(address string) (string, error)
	// Versions name what took part beside the servers.
	Versions() map[string]string
	// Close undoes everything, once the servers have been left.
	Close() error
}

// Party is something with a life of its own that faults can strike.
type Party interface {
	// Stop returns once it certainly stands still.
	Stop() error
	Resume() error
	// Kill returns once it is dead.
	Kill() error
	Dead() bool
}

// server is a Redis server.
type server interface {
	Party
	Door() Door
	// PID is its process on this machine; 0: not to be seen from here.
	PID() int
	// folder has its data; empty: not to be seen from here.
	folder() string
	// checkInfo says why it cannot be this server that answered INFO so; nil: it is.
	checkInfo(info string) error
	// whyEnded says why it ended.
	whyEnded() error
	// leave ends it where it is ours.
	leave()
}

// movableClock is the wall clock of a server, as faults bend it.
type movableClock interface {
	Set(machine.Bend) error
	Reset() error
	// Ahead is how far it is ahead of the machine's.
	Ahead() time.Duration
	// Halt lets it go on by itself, wherever it stands.
	Halt()
}

// Endpoint is a server as clients see it. Dial opens a connection for a link to it.
type Endpoint struct {
	Name, Address string
	Dial          func(context.Context) (net.Conn, error)
}

// lastLine is the last line of what a program has written.
func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// onLoopback is the door of a server of ours.
func onLoopback(port int, password string, process bool) Door {
	return Door{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), password: password, ours: true, process: process}
}

// ownHost is what holds of servers of ours on this machine: behind links they ask for
// nothing, and they have its clock.
type ownHost struct{}

func (ownHost) Ahead(context.Context, *Node) (time.Duration, time.Duration, error) {
	return 0, 0, nil
}

func (ownHost) Invitation(node Endpoint, link string) client.Address {
	return client.Address{Name: node.Name, Address: link}
}
