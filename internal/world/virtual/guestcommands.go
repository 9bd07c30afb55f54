package virtual

import (
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// commandTeller tells the run of the commands on a guest's connection, and when each was answered.
type commandTeller struct {
	g       *GuestConn
	scanner resp.Scanner
	pairing resp.Pairing[world.Command]
	// blind: it is not known which answer is whose any more.
	blind bool
}

// sent takes in commands that leave the guest.
func (t *commandTeller) sent(commands [][]string) {
	l := t.g.link()
	if !l.tellsCommands || l.w.hooks.Command == nil {
		return
	}
	for _, words := range commands {
		c := world.Command{Node: l.to.name, Connection: t.g.conn.number, Left: int64(l.w.s.now)}
		c.Name, c.Opens = world.CommandName(words)
		if t.blind || t.pairing.Ask(words, c) != nil {
			t.blind = true
			t.tell(c)
		}
	}
}

// arrived takes in bytes that have come to the guest.
func (t *commandTeller) arrived(b []byte) {
	for len(b) > 0 && !t.blind && t.pairing.Len() > 0 {
		n, whole, err := t.scanner.Next(b)
		if err != nil {
			t.blind = true
			break
		}
		b = b[n:]
		if !whole {
			continue
		}
		if c, ok := t.pairing.Answer(t.scanner.Message()); ok {
			c.Answered = history.Some(int64(t.g.m.Now()))
			t.tell(c)
		}
	}
	if t.blind {
		t.over()
	}
}

// over tells of the commands that are not answered: it is not known of them, or never will be.
func (t *commandTeller) over() {
	for _, c := range t.pairing.Drop() {
		t.tell(c)
	}
}

func (t *commandTeller) tell(c world.Command) {
	if hook := t.g.link().w.hooks.Command; hook != nil {
		hook(t.g.m.Client(), c)
	}
}
