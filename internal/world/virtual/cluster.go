package virtual

import (
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// clusterClient is the lock's node to a built-in client of a Redis Cluster. It asks the node that it takes for the primary of the lock's
// slot, and goes where MOVED says that this is. Where a node does not answer, or serves nobody, the next command goes to another, as
// with the libraries for clusters.
type clusterClient struct {
	w       *World
	servers []remote
	// at is whom it asks.
	at int
}

var _ command.Node = (*clusterClient)(nil)

// mostRedirections is how often a command is sent on: MaxRedirects of go-redis.
const mostRedirections = 3

// tryAgainAfter is how long a client waits where the keys of a command are at two nodes (TRYAGAIN): MinRetryBackoff of go-redis.
const tryAgainAfter = 8 * time.Millisecond

// notConnected is why a command was not sent.
const notConnected = "no connection in time"

// Name is the node's name in the scenario.
func (c *clusterClient) Name() string { return world.Primary }

// Do carries a command to the primary of the slot. Redirections are followed, and what a node cannot do yet is tried again, as go-redis
// does: MOVED says who has the slot from now on, ASK who has the key for once. A client that stays asks the first node for ever.
func (c *clusterClient) Do(cmd command.Command) (reply command.Reply) {
	if cmd.Stays {
		return c.servers[0].Do(cmd)
	}
	deadline := c.w.s.now + cmd.Timeout
	at := c.at
	for range 1 + mostRedirections {
		reply = c.servers[at].Do(cmd)
		why := reply.Err()
		cmd.Asking = strings.HasPrefix(why, "ASK ")
		switch {
		case cmd.Asking || strings.HasPrefix(why, "MOVED "):
			if at = c.named(why); at < 0 {
				return command.RefusedReply("there is no such node: " + why)
			}
			if !cmd.Asking {
				c.at = at
			}
		case strings.HasPrefix(why, "TRYAGAIN"):
			at = c.at
			c.servers[at].e.Sleep(tryAgainAfter)
		case reply.Outcome == command.Unknown || strings.HasPrefix(why, "CLUSTERDOWN") || why == notConnected:
			if at == c.at {
				c.at = (c.at + 1) % len(c.servers)
			}
			return reply
		default:
			return reply
		}
		if cmd.Timeout > 0 {
			if cmd.Timeout = deadline - c.w.s.now; cmd.Timeout <= 0 {
				return command.RefusedReply(tooLate)
			}
		}
	}
	return reply
}

// named is the server that a redirection names; -1: there is none.
func (c *clusterClient) named(redirection string) int {
	f := strings.Fields(redirection)
	name := c.w.servers.HostAt(f[len(f)-1])
	return slices.IndexFunc(c.servers, func(r remote) bool { return r.Name() == name })
}
