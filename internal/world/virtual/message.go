package virtual

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// awaitedByRun hands the message to the run where that waits for it. The message stands then, and goes on
// when all that it sets off has taken effect.
func (k *call) awaitedByRun() bool {
	l := k.link
	hook := l.w.hooks.Message
	answer := k.dir == answers
	empty := k.batch != nil && len(k.batch.commands)+len(k.batch.pushed) == 0
	if len(l.awaits) == 0 || k.handshake || answer && (k.noScript || k.refused != "") || empty {
		return false
	}
	found := k.awaitedMessages(answer) // before the run, too: scripts become known then
	if len(found) == 0 || hook == nil {
		return false
	}
	dir, transit := k.dir, k.transit
	if k.batch != nil {
		k.batch.conn.directions[dir].stands = true
	}
	l.w.Go(func() {
		for _, m := range found {
			hook(m)
		}
		if k.transit == transit {
			k.advance()
		}
		if k.batch != nil {
			k.batch.conn.releaseBehind(dir)
		}
	})
	return true
}

// awaitedMessages are those of the call's messages for which the run waits.
func (k *call) awaitedMessages(answer bool) (found []world.Message) {
	l, t := k.link, &world.Transaction{}
	if k.batch != nil {
		t = &k.conn.transaction
	}
	list := k.commandWords()
	for i, words := range list {
		var can command.Can
		if l.w.abilities != nil {
			can = l.w.canDo(k, t, words, answer)
		}
		if answer && k.batch == nil && i < len(list)-1 { // of a transaction the answer is that to its last command
			continue
		}
		if answer && k.batch != nil && slices.Contains(k.batch.refused, i) {
			continue
		}
		kind := world.Sent
		if answer {
			kind = world.AnswerTo(words, k.brings(i))
		}
		if l.awaits.Fit(l.name, kind, words, can) {
			found = append(found, world.Message{Link: l.name, Kind: kind, Words: words, Can: can, Disturb: k.disturbFunc(i)})
		}
	}
	if k.batch == nil || !answer {
		return found
	}
	for _, words := range k.batch.pushed {
		if l.awaits.Fit(l.name, world.Pushed, words, 0) {
			found = append(found, world.Message{Link: l.name, Kind: world.Pushed, Words: words, Disturb: k.disturbFunc(0)})
		}
	}
	return found
}

// brings reports that the answer to the i-th command that the call carries has what that has waited for.
func (k *call) brings(i int) bool {
	if k.batch == nil {
		return k.reply.OK()
	}
	return !slices.Contains(k.batch.empty, i)
}

// disturbFunc puts disturbances on the i-th command that the call carries, or on the answer to it, and on what comes behind.
func (k *call) disturbFunc(i int) func(world.Disturbance) (func() error, error) {
	dir := k.dir
	return func(d world.Disturbance) (lift func() error, err error) {
		if d.Kind != world.Refuse {
			return k.disturb(dir, d)
		}
		k.refuse(i, d.Error) // this one alone
		return func() error { return nil }, nil
	}
}

// canDo is what a command can do to the lock's key that a call carries, or to which it is the answer.
func (w *World) canDo(k *call, t *world.Transaction, words []string, answer bool) command.Can {
	can := w.abilities.Of(k.link.name.To, words)
	if !answer || k.batch == nil {
		t.Ask(words, can)
	}
	if answer {
		can = t.Answered(words, can)
	}
	return can
}

// reportCommands tells the run of the commands that the call carries, where it wants to know.
func (k *call) reportCommands() {
	l := k.link
	if hook := l.w.hooks.Command; l.tellsCommands && hook != nil && !k.reported {
		k.reported = true
		list := [][]string{{"hello"}}
		if !k.handshake {
			list = k.commandWords()
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

// commandWords are those of the commands that the call carries.
func (k *call) commandWords() (list [][]string) {
	if k.batch == nil && k.cmd.Asking {
		list = [][]string{{"asking"}}
	}
	switch {
	case k.batch != nil:
		return k.batch.commands
	case k.cmd.Op == command.EVAL && !k.source:
		return append(list, k.cmd.ByName())
	case k.cmd.Op != command.EXEC:
		return append(list, k.cmd.Words())
	}
	list = append(list, []string{"multi"})
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
	end := l.liftFunc(l.directions[dir].BeginOn(&c.flows[dir], d), func() { l.breakOne(c) })
	return func() error {
		l.w.touchAll()
		end()
		return nil
	}, nil
}

// breakOne breaks a connection.
func (l *clientLink) breakOne(c *connection) {
	if c.guest != nil {
		c.guest.breakLater(l.drawDelay())
		return
	}
	if line := c.line; line != nil {
		l.w.s.after(l.delay, func() { line.broke(false) })
	}
	for i, idle := range l.idle {
		if idle == c {
			l.idle = drop(l.idle, i)
			return
		}
	}
	for _, k := range l.pending {
		if k.conn == c {
			k.abandon()
			l.breakLater(k, l.drawDelay())
		}
	}
}
