package node

import "github.com/redlock-sim/redlock-sim/internal/redis/command"

var transactionRows = []row{
	{name: "multi", arity: 1, flags: noScript | atOnce, do: multi},
	{name: "exec", arity: 1, flags: noScript | atOnce, do: exec},
	{name: "discard", arity: 1, flags: noScript | atOnce, do: discard},
	{name: "watch", arity: -2, flags: noScript | atOnce, do: watch},
	{name: "unwatch", arity: 1, flags: noScript, do: func(x *call, _ []string) {
		x.n.Memory.Unwatch(&x.c.watcher)
		x.ok()
	}},
}

func multi(x *call, _ []string) {
	if x.c.multi {
		x.fail("ERR MULTI calls can not be nested")
		return
	}
	x.c.multi = true
	x.ok()
}

func watch(x *call, w []string) {
	if x.c.multi {
		x.fail("ERR WATCH inside MULTI is not allowed")
		return
	}
	x.n.Memory.Watch(&x.c.watcher, w[1:]...)
	x.ok()
}

func discard(x *call, _ []string) {
	if !x.c.multi {
		x.fail("ERR DISCARD without MULTI")
		return
	}
	x.c.endTransaction()
	x.ok()
}

// endTransaction forgets what was queued and what is watched, and says whether that was
// changed meanwhile.
func (c *Conn) endTransaction() (dirty bool) {
	c.multi, c.spoilt, c.queue = false, false, nil
	return c.n.Memory.Unwatch(&c.watcher)
}

func exec(x *call, _ []string) {
	c := x.c
	if !c.multi {
		x.fail("ERR EXEC without MULTI")
		return
	}
	queue, spoilt := c.queue, c.spoilt
	dirty := c.endTransaction()
	switch {
	case spoilt:
		x.fail(command.ExecAbort)
	case dirty:
		x.nullArray()
	default:
		x.array(len(queue))
		x.inExec = true
		for _, q := range queue {
			x.run(q.row, q.words)
		}
		x.inExec = false
	}
}
