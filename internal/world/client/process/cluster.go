package process

import (
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// clusterNode carries commands to the primary of a Redis Cluster that has the slot.
type clusterNode struct {
	client.Cluster
	nodes []*clusteredNode
}

var _ connected = (*clusterNode)(nil)

// clusteredNode is a node of a cluster. It says so where a command was not sent.
type clusteredNode struct{ *node }

// newClusterNode makes nodes at some addresses one.
func newClusterNode(called string, nodes []command.Node, addresses []client.Address, now func() time.Duration,
	sleep func(time.Duration)) *clusterNode {
	c := &clusterNode{Cluster: client.Cluster{Called: called, Now: now, Sleep: sleep}}
	names := make(map[string]string)
	for i, n := range nodes {
		one := &clusteredNode{n.(*node)}
		one.waits = true
		c.nodes = append(c.nodes, one)
		c.Nodes = append(c.Nodes, one)
		names[addresses[i].Address] = n.Name()
	}
	c.Named = func(address string) string { return names[address] }
	return c
}

// Do implements command.Node.
func (n *clusteredNode) Do(c command.Command) command.Reply {
	r := n.node.Do(c)
	if why := r.Err(); strings.HasPrefix(why, "dial ") {
		return command.RefusedReply(client.NotConnected + ": " + why)
	}
	return r
}

// warm prepares the connection to the node that is asked first. Libraries open those to the others when they need them.
func (c *clusterNode) warm(scripts []*command.Script) { c.nodes[0].warm(scripts) }
func (c *clusterNode) warmOther()                     { c.nodes[0].warmOther() }

func (c *clusterNode) close() {
	for _, n := range c.nodes {
		n.close()
	}
}
