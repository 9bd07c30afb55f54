package virtual

import (
	"slices"
	"strings"

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

// notConnected is why a command was not sent.
const notConnected = "no connection in time"

// Name is the node's name in the scenario.
func (c *clusterClient) Name() string { return world.Primary }

// Do carries a command to the primary of the slot.
func (c *clusterClient) Do(cmd command.Command) (reply command.Reply) {
	deadline := c.w.s.now + cmd.Timeout
	for range 1 + mostRedirections {
		reply = c.servers[c.at].Do(cmd)
		to, moved := strings.CutPrefix(reply.Err(), "MOVED ")
		if !moved {
			break
		}
		_, address, _ := strings.Cut(to, " ")
		name := c.w.servers.HostAt(address)
		at := slices.IndexFunc(c.servers, func(r remote) bool { return r.Name() == name })
		if at < 0 {
			return command.RefusedReply("there is no node at " + address)
		}
		c.at = at
		if cmd.Timeout > 0 {
			if cmd.Timeout = deadline - c.w.s.now; cmd.Timeout <= 0 {
				return command.RefusedReply(tooLate)
			}
		}
	}
	if reply.Outcome == command.Unknown || strings.HasPrefix(reply.Err(), "CLUSTERDOWN") || reply.Err() == notConnected {
		c.at = (c.at + 1) % len(c.servers)
	}
	return reply
}
