package client

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Cluster is the lock's node to a built-in client of a Redis Cluster, in both worlds. It asks the node that it takes for the primary of the
// lock's slot, and goes where MOVED says that this is. Where a node does not answer, or serves nobody, the next command goes to another, as
// with the libraries for clusters.
type Cluster struct {
	// Called is its name.
	Called string
	Nodes  []command.Node
	// Named is the name of the node at an address that a redirection tells; empty: there is none.
	Named func(address string) string
	Now   func() time.Duration
	Sleep func(time.Duration)

	mu sync.Mutex
	// at is whom it asks.
	at int
}

var _ command.Node = (*Cluster)(nil)

// mostRedirections is how often a command is sent on: MaxRedirects of go-redis.
const mostRedirections = 3

// tryAgainAfter is how long a client waits where the keys of a command are at two nodes (TRYAGAIN): MinRetryBackoff of go-redis.
const tryAgainAfter = 8 * time.Millisecond

// NotConnected is how a refusal begins where a command was not sent, for no connection could be opened. tooLate is why it was not sent on.
const (
	NotConnected = "no connection in time"
	tooLate      = "no answer in time"
)

// Name is the node's name in the scenario.
func (c *Cluster) Name() string { return c.Called }

// asked is whom it asks. change says whom it asks from now on; nil: nobody else.
func (c *Cluster) asked(change func(at int) int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if change != nil {
		c.at = change(c.at)
	}
	return c.at
}

// Do carries a command to the primary of the slot. Redirections are followed, and what a node cannot do yet is tried again, as go-redis
// does: MOVED says who has the slot from now on, ASK who has the key for once. A client that stays asks the first node for ever.
func (c *Cluster) Do(cmd command.Command) (reply command.Reply) {
	if cmd.Stays {
		return c.Nodes[0].Do(cmd)
	}
	deadline := c.Now() + cmd.Timeout
	at := c.asked(nil)
	for range 1 + mostRedirections {
		reply = c.Nodes[at].Do(cmd)
		why := reply.Err()
		cmd.Asking = strings.HasPrefix(why, "ASK ")
		switch {
		case cmd.Asking || strings.HasPrefix(why, "MOVED "):
			if at = c.redirected(why); at < 0 {
				return command.RefusedReply("there is no such node: " + why)
			}
			if !cmd.Asking {
				c.asked(func(int) int { return at })
			}
		case strings.HasPrefix(why, "TRYAGAIN"):
			at = c.asked(nil)
			c.Sleep(tryAgainAfter)
		case reply.Outcome == command.Unknown || strings.HasPrefix(why, "CLUSTERDOWN") || strings.HasPrefix(why, NotConnected):
			c.asked(func(now int) int {
				if now == at {
					return (at + 1) % len(c.Nodes)
				}
				return now
			})
			return reply
		default:
			return reply
		}
		if cmd.Timeout > 0 {
			if cmd.Timeout = deadline - c.Now(); cmd.Timeout <= 0 {
				return command.RefusedReply(tooLate)
			}
		}
	}
	return reply
}

// redirected is the place of the node that a redirection names; -1: there is none.
func (c *Cluster) redirected(redirection string) int {
	f := strings.Fields(redirection)
	name := c.Named(f[len(f)-1])
	return slices.IndexFunc(c.Nodes, func(n command.Node) bool { return n.Name() == name })
}
