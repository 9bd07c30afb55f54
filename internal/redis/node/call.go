package node

import (
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
)

// call is a command that is carried out: for a connection, or for a script that a connection
// runs.
type call struct {
	reply
	n *Node
	c *Conn
	// script: a script sends it. readOnly: one that may not write.
	script, readOnly bool
	// declared are the keys that a script was called with: where it reads any key, Redis takes
	// all of these for read.
	declared []string
	// inExec: it is part of a transaction.
	inExec bool
	delay  time.Duration
}

// queued is a command in a transaction.
type queued struct {
	row   *row
	words []string
}

// process carries out a command that came on the connection, or queues it. It says whether
// that was one of CLIENT's.
func (c *Conn) process(words []string) (isClient bool) {
	r := c.lookup(words)
	switch {
	case r == nil:
		return false
	case c.subscribed() && !c.v3 && r.flags&subscriber == 0:
		c.reject(r, "Can't execute '"+r.name+"': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
	case c.multi && r.flags&atOnce == 0:
		c.queue = append(c.queue, queued{r, append([]string(nil), words...)})
		c.text("QUEUED")
	default:
		c.run(r, words)
	}
	return r.flags&client != 0
}

// lookup finds a command's row; nil: it has been refused.
func (x *call) lookup(words []string) *row {
	r := find(words[0])
	if r != nil && r.since != nil && !x.n.config.Server.Knows(*r.since) {
		r = nil
	}
	if r != nil && r.subs != nil && len(words) > 1 {
		sub := r.subs[strings.ToLower(words[1])]
		if sub == nil {
			if among(r.others, words[1]) {
				x.n.unknown(strings.ToUpper(r.name + " " + words[1]))
			}
			if x.script {
				x.fail(errUnknownInScript)
				return nil
			}
			x.spoil()
			x.refuse("unknown subcommand '" + cut(words[1], 128) + "'. Try " + strings.ToUpper(r.name) + " HELP.")
			return nil
		}
		r = sub
	}
	switch {
	case r == nil:
		x.notFound(words)
	case r.arity > 0 && len(words) != r.arity, len(words) < -r.arity:
		if x.script {
			x.fail("ERR Wrong number of args calling Redis command from script")
			return nil
		}
		x.reject(r, "wrong number of arguments for '"+r.name+"' command")
	default:
		return r
	}
	return nil
}

const errUnknownInScript = "ERR Unknown Redis command called from script"

func (x *call) notFound(words []string) {
	if known(words[0]) {
		x.n.unknown(strings.ToUpper(words[0]))
	}
	if x.script {
		x.fail(errUnknownInScript)
		return
	}
	x.spoil()
	var args strings.Builder
	for _, w := range words[1:] {
		if args.Len() >= 128 {
			break
		}
		args.WriteString("'" + cut(w, 128-args.Len()) + "' ")
	}
	x.refuse("unknown command '" + cut(words[0], 128) + "', with args beginning with: " + args.String())
}

// refuse answers an error that repeats words of the client's.
func (x *call) refuse(why string) {
	x.fail("ERR " + strings.NewReplacer("\r", " ", "\n", " ").Replace(why))
}

// reject answers that a command is not carried out. A transaction then is not, either; where
// it was EXEC that was rejected, it has ended.
func (x *call) reject(r *row, why string) {
	if r == find("exec") {
		x.c.endTransaction()
		x.fail("EXECABORT Transaction discarded because of: " + why)
	} else {
		x.spoil()
		x.fail("ERR " + why)
	}
}

// spoil takes note that a command is missing in a transaction.
func (x *call) spoil() { x.c.spoilt = x.c.spoilt || x.c.multi }

// cut is a word as C's strings have it, and no longer than n.
func cut(s string, n int) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s[:min(len(s), n)]
}

// run carries a command out.
func (x *call) run(r *row, words []string) {
	r.do(x, words)
	if r.flags&write != 0 || r.last == 0 {
		return
	}
	if x.script {
		x.remember(x.declared)
	} else {
		x.remember(r.keysOf(words))
	}
}

// item finds a key of a kind; nil: there is none. ok is false where it holds something else,
// which has been answered.
func (x *call) item(key string, kind model.Kind) (it *model.Item, ok bool) {
	it = x.any(key)
	if it != nil && it.Kind() != kind {
		x.fail(model.ErrWrongType)
		return nil, false
	}
	return it, true
}

// any finds a key of whatever kind; nil: there is none.
func (x *call) any(key string) *model.Item {
	if i := x.n.Memory.Find(key); i >= 0 {
		return &x.n.Memory.Items[i]
	}
	return nil
}

// put writes a key, and publishes what happened to it.
func (x *call) put(it model.Item, c class, event string) {
	x.n.Memory.Put(it)
	x.n.notify(c, event, it.Key)
}

// drop removes a key.
func (x *call) drop(key string) bool {
	if !x.n.Memory.Del(key) {
		return false
	}
	x.n.notify(generic, "del", key)
	return true
}
