package process

import (
	"context"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// transact carries out WATCH, UNWATCH and EXEC. What is watched belongs to a
// connection, so that one is kept until the transaction. Should it break in
// between, the driver answers the transaction with an error instead of sending it
// over another one, where nothing is watched.
func (n *node) transact(ctx context.Context, c command.Command) command.Reply {
	conn := n.watching
	if conn == nil {
		conn = n.rdb.Conn()
	}
	if c.Op == command.WATCH {
		n.watching = conn
		r := Carry(ctx, conn, c)
		if r.Outcome == command.Unknown { // a broken connection watches nothing
			n.watching = nil
			_ = conn.Close()
		}
		return r
	}
	n.watching = nil
	defer func() { _ = conn.Close() }()
	return Carry(ctx, conn, c)
}

// exec sends MULTI, the commands and EXEC or DISCARD in one go.
func exec(ctx context.Context, to sender, c command.Command) command.Reply {
	pipe := to.Pipeline()
	pipe.Do(ctx, "multi")
	for _, b := range c.Body {
		pipe.Do(ctx, arguments(b.Words())...)
	}
	end := "exec"
	if c.Discard {
		end = "discard"
	}
	last := pipe.Do(ctx, end)
	_, _ = pipe.Exec(ctx) // each command has its own outcome
	v, err := last.Result()
	if err != nil {
		return reply(v, err)
	}
	return client.TransactionReplyOf(v)
}
