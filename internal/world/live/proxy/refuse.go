package proxy

import (
	"errors"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// A command that is refused (world.Refuse) never gets to its node: another goes there in its place, which does nothing and is answered with
// an error, and the client is given the refusal in the place of that. So answers stay in order, and a transaction fails as it does when a
// node refuses one of its commands.

// asked is a command that may be refused before it goes on.
type asked struct {
	words []string
	// by is with what it is to be refused alone, refused what is answered in the place of what the node answers; empty: it is not refused.
	by, refused string
	sent        *sentCommand
}

// passUnread passes on what nobody reads, behind what was kept back.
func (c *conn) passUnread(answers bool, data []byte) readResult {
	p := readResult{size: len(data)}
	begun := c.begunOf(answers)
	if len(*begun) > 0 {
		p.replaced, p.instead, *begun = true, append(*begun, data...), nil
	}
	return p
}

func (c *conn) begunOf(answers bool) *[]byte {
	if answers {
		return &c.begun[1]
	}
	return &c.begun[0]
}

// keeps reports that a message is to go on only when it is whole: it may be refused, or answer what is.
func (c *conn) keeps(answers bool) bool {
	if !answers {
		return c.reader.Refuses
	}
	return len(c.begun[1]) > 0 || c.expected.Len() > 0 && c.expected.First().asked.isRefused()
}

// keep keeps the bytes of a message back until it is whole, or forgets what was kept.
func (c *conn) keep(answers, keeps, whole bool, data []byte, p *readResult) {
	begun := c.begunOf(answers)
	switch {
	case keeps && whole:
		p.replaced, p.instead = true, append(*begun, data...)
		*begun = nil
	case keeps:
		p.replaced, *begun = true, append(*begun, data...)
	case whole:
		*begun = nil
	}
}

func (a *asked) isRefused() bool { return a != nil && a.refused != "" }

// refuse lets a command be refused that has not gone on.
func (c *conn) refuse(a *asked, why string) (lift func() error, err error) {
	if a == nil {
		return nil, errors.New("commands of this connection are not read")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a.by = why
	return func() error { return nil }, nil
}

// isBlind reports that the commands of a connection cannot be read; of none, too.
func (c *conn) isBlind() bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests.blind
}

// meet says what a command becomes that goes on now; refusal is the error that it has met. Nil: it stays as it is.
func (c *conn) meet(a *asked, refusal string) (instead []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := world.Refusal{Error: refusal}
	if a.by != "" {
		by = world.Refusal{Error: a.by, Surely: true}
	}
	words, answer := c.refusals.Meet(a.words, by)
	if answer == "" {
		return nil
	}
	a.refused = answer
	if a.sent != nil {
		a.sent.shows = never
		c.forget(0)
	}
	return resp.AppendCommand(nil, words...)
}
