package conform

import (
	"context"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
)

// place is where programs are checked: this machine in its own time (live), or virtual time (virtual).
type place interface {
	// now is CLOCK_MONOTONIC as programs read it, wall the time of day for programs and nodes.
	now() time.Duration
	wall() time.Time
	// latest is the last that they can have read by now.
	latest() time.Duration
	// sleep lets time pass.
	sleep(ctx context.Context, d time.Duration) error
	// start starts the program of a client and greets it, which may take so long.
	start(ctx context.Context, c *client, within time.Duration) (running, error)
	// probe starts the program once more, sends it lines, and then ends its input. It returns what the program writes before and after that.
	probe(ctx context.Context, sent [][]byte) (before, after string, err error)
	// startNodes starts the servers that a program needs: three for a quorum, else one, or another one in the place of that.
	startNodes(ctx context.Context, r *program.Ready) (*nodes, error)
	// movesClock moves the program's wall clock: nil, if it tells the time so moved. errStays says why this cannot be tried.
	movesClock(ctx context.Context, c *client) error
	// loseAnswers resets the connection in the place of an answer of a node for which lose says so; nil: of none any more. In real time it
	// does nothing.
	loseAnswers(lose func(node string) bool)
	// leftRunning are processes that programs have left behind.
	leftRunning() []string
	// unknown is why what was seen tells nothing; nil: it does.
	unknown() error
	// close ends all programs and servers.
	close()
}

// running is a lock program that runs. Where an answer does not come in time, that is context.DeadlineExceeded.
type running interface {
	describes() *program.Ready
	setUp(ctx context.Context, s program.Setup, within time.Duration) error
	ask(ctx context.Context, m program.Message, within time.Duration) (program.Answer, error)
	// open sends a request. answer says what came of it, if done; cancel cancels the acquire that is open.
	open(m program.Message) (answer func() (a program.Answer, done bool, err error))
	cancel()
	// post sends a request whose answer nobody waits for.
	post(m program.Message)
	// why is why the conversation has ended; nil: it goes on.
	why() error
	// computed is how long it has computed; unseen: that cannot be told.
	computed() (d time.Duration, unseen bool)
	// close ends its input, and the program where that does not end it. It reports whether the program ended by itself.
	close() bool
	kill()
}

// node is a Redis server on which the program locks.
type node interface {
	name() string
	dead() bool
	kill() error
	// restart starts it again, without its data.
	restart(ctx context.Context) error
	// do carries out commands at one instant. What one of them cannot do is an error among the answers.
	do(ctx context.Context, commands ...[]string) ([]any, error)
	// journal tells what it did; nil: nobody can.
	journal() *journal.Follower
}
