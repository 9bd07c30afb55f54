package virtual

import (
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// awaited reports that the run waits for the message. The message stands then, and goes on
// when all that it sets off has taken effect.
func (k *call) awaited() bool {
	l := k.link
	hook := l.w.hooks.Message
	answer := k.dir == answers
	if len(l.awaits) == 0 || k.handshake || hook == nil || answer && k.noScript || k.batch != nil && len(k.batch.commands) == 0 {
		return false
	}
	list := k.words()
	if answer && k.batch == nil { // of a transaction the answer is that to its last command
		list = list[len(list)-1:]
	}
	var found [][]string
	for _, words := range list {
		if l.awaits.Fit(l.name, answer, words) {
			found = append(found, words)
		}
	}
	if len(found) == 0 {
		return false
	}
	dir, way := k.dir, k.way
	if k.batch != nil {
		k.batch.line.ways[dir].stands = true
	}
	l.w.Go(func() {
		for _, words := range found {
			hook(world.Message{Link: l.name, Answer: answer, Words: words,
				Disturb: func(d world.Disturbance) (func() error, error) { return k.disturb(dir, d) }})
		}
		if k.way == way {
			k.advance()
		}
		if k.batch != nil {
			k.batch.line.pass(dir)
		}
	})
	return true
}

// tell tells the run of the commands that the call carries, where it wants to know.
func (k *call) tell() {
	l := k.link
	if hook := l.w.hooks.Command; l.tells && hook != nil && !k.told {
		k.told = true
		list := [][]string{{"hello"}}
		if !k.handshake {
			list = k.words()
		}
		for _, words := range list {
			c := world.Command{Node: l.name.To, Connection: k.conn.number, Left: int64(k.left)}
			c.Name, c.Opens = world.CommandName(words)
			if k.arrived {
				c.Answered = history.Some(int64(k.answered))
			}
			hook(l.name.From, c)
		}
	}
}

// words are those of the commands that the call carries.
func (k *call) words() [][]string {
	switch {
	case k.batch != nil:
		return k.batch.commands
	case k.cmd.Op == command.EVAL && !k.source:
		return [][]string{k.cmd.ByName()}
	case k.cmd.Op != command.EXEC:
		return [][]string{k.cmd.Words()}
	}
	list := [][]string{{"multi"}}
	for i := range k.cmd.Body {
		list = append(list, k.cmd.Body[i].Words())
	}
	if k.cmd.Discard {
		return append(list, []string{"discard"})
	}
	return append(list, []string{"exec"})
}

// disturb puts a disturbance on what comes from now on over the call's connection.
func (k *call) disturb(dir int, d world.Disturbance) (lift func() error, err error) {
	l, c := k.link, k.conn
	l.w.touchAll()
	if err := d.Check(); err != nil {
		return nil, err
	}
	end := l.lifting(l.ways[dir].BeginOn(&c.flows[dir], d), func() { l.breakOne(c) })
	return func() error {
		l.w.touchAll()
		end()
		return nil
	}, nil
}

// breakOne breaks a connection.
func (l *clientLink) breakOne(c *connection) {
	if c.line != nil {
		c.line.breakLater(l.draw())
		return
	}
	for i, idle := range l.idle {
		if idle == c {
			l.idle = drop(l.idle, i)
			return
		}
	}
	for _, k := range l.pending {
		if k.conn == c {
			k.lost()
			l.breakLater(k, l.draw())
		}
	}
}
