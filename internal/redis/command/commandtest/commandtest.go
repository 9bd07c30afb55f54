package commandtest

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
)

// Clock is a time that only a test moves.
type Clock struct{ T time.Duration }

// epoch is what the nodes' clocks show when the test's is at 0, in microseconds since
// 1970.
const epoch = 1_700_000_000_000_000

// Node is a command.Node. It is not safe for concurrent use.
type Node struct {
	// Way stands between the caller and the node; nil: nothing does. It calls
	// carry for the command to arrive, if it does.
	Way func(c command.Command, carry func() command.Reply) command.Reply
	// Asked are the commands sent, in words: "set lock".
	Asked []string

	name   string
	clock  *Clock
	memory model.Memory
}

var _ command.Node = (*Node)(nil)

// NewNode makes an empty node.
func NewNode(name string, clock *Clock) *Node { return &Node{name: name, clock: clock} }

// NewNodes makes n nodes, named A, B, C ...
func NewNodes(n int, clock *Clock) []*Node {
	var list []*Node
	for i := range n {
		list = append(list, NewNode(string(rune('A'+i)), clock))
	}
	return list
}

// Name implements command.Node.
func (n *Node) Name() string { return n.name }

// Memory is what the node has, at the time that the clock shows.
func (n *Node) Memory() *model.Memory {
	n.memory.Now = epoch + n.clock.T.Microseconds()
	return &n.memory
}

// Do implements command.Node.
func (n *Node) Do(c command.Command) command.Reply {
	n.Asked = append(n.Asked, words(c))
	carry := func() command.Reply {
		if c.Op == command.WAIT { // there are no replicas
			return command.IntReply(0)
		}
		if c.Op == command.WAITAOF { // there is no disk
			return command.ListReply("0", "0")
		}
		return n.Memory().Do(&c)
	}
	if n.Way != nil {
		return n.Way(c, carry)
	}
	return carry()
}

func words(c command.Command) string {
	if c.Op == command.EVAL {
		return c.Script.Name + " " + c.Keys[0]
	}
	return c.Op.String() + " " + c.Key
}

// Dead is a Way on which nothing arrives.
func Dead(command.Command, func() command.Reply) command.Reply {
	return command.RefusedReply("connection refused")
}

// Mute is a Way on which commands arrive and no answer does.
func Mute(_ command.Command, carry func() command.Reply) command.Reply {
	carry()
	return command.UnknownReply("timeout")
}
