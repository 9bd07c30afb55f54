package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
)

// Direction says where a line comes from.
type Direction string

// Directions.
const (
	// To the program.
	To Direction = ">"
	// From the program, a message.
	From Direction = "<"
	// Printed by the program, and no message.
	Printed Direction = "|"
)

// Line is a line of a conversation.
type Line struct {
	Client    string
	Direction Direction
	Text      string
	// Wrong is what the schema says against it; empty: nothing.
	Wrong string
}

// kind is the type of a message.
func (l Line) kind() program.Type {
	var m program.Message
	_ = json.Unmarshal([]byte(l.Text), &m)
	return m.Type
}

func (l Line) String() string { return fmt.Sprintf("%s %s %s", l.Client, l.Direction, l.Text) }

// client is a lock program that runs.
type client struct {
	running
	name  string
	suite *suite
	// process are the clients that the program is, if it is several; name is the one that asks.
	process []string
	// path is the file that log and conversation go to.
	path string
	file *os.File
	log  *program.Log

	mu sync.Mutex
	// events are what it said by itself.
	events []event
	// sent are all lines to the program, got the last ones from it.
	sent [][]byte
	got  []Line
}

// Bounds of what is kept.
const (
	maxEvents = 1000
	maxLines  = 32
	maxShown  = 500 // of the bytes of a line
)

// event is what a program says by itself.
type event struct {
	kind  program.Type
	grant uint64
	point string
}

var _ program.Events = (*client)(nil)

func (c *client) Renewed(_ string, grant uint64, _ time.Duration) {
	c.tell(event{program.Renewed, grant, ""})
}
func (c *client) Lost(_ string, grant uint64, _, _ time.Duration, _ string) {
	c.tell(event{program.Lost, grant, ""})
}

func (c *client) AtPoint(_, name string, done func()) {
	c.tell(event{program.Point, 0, name})
	done()
}

// tell drops what is too much: nobody waits for it.
func (c *client) tell(e event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.events) < maxEvents {
		c.events = append(c.events, e)
	}
}

func (c *client) forgetEvents() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = nil
}

// hears waits for an event; false: it did not come.
func (c *client) hears(ctx context.Context, kind program.Type, grant uint64, within time.Duration) (bool, error) {
	return c.suite.eventually(ctx, within, func() (bool, error) {
		c.mu.Lock()
		said := slices.ContainsFunc(c.events, func(e event) bool { return e.kind == kind && e.grant == grant })
		c.mu.Unlock()
		if why := c.why(); !said && why != nil {
			return false, c.failed(ctx, "", why)
		}
		return said, nil
	})
}

// trace takes note of a line of the conversation.
func (c *client) trace(sent bool, text []byte) {
	l := Line{Client: c.name, Direction: To, Text: clip(text)}
	err := CheckLine(sent, text)
	if !sent {
		l.Direction = From
	}
	if errors.Is(err, errNoMessage) {
		l.Direction, err = Printed, nil
	}
	if err != nil {
		l.Wrong = err.Error()
	}
	c.mu.Lock()
	if sent {
		c.sent = append(c.sent, bytes.Clone(text))
	} else {
		c.got = append(c.got, l)[max(0, len(c.got)+1-maxLines):]
	}
	c.mu.Unlock()
	if l.Direction != Printed { // the log has those
		c.suite.heard(c, l, unknownFields(sent, text))
	}
}

func clip(text []byte) string {
	if len(text) > maxShown {
		return string(text[:maxShown]) + "..."
	}
	return string(text)
}

// printed takes what a program prints that is no message, line by line.
type printed struct{ c *client }

func (p printed) Write(text []byte) (int, error) {
	p.c.suite.heard(p.c, Line{Client: p.c.name, Direction: Printed, Text: clip(bytes.TrimSuffix(text, []byte("\n")))}, nil)
	return len(text), nil
}

// heard hands a line on, and writes it down.
func (s *suite) heard(c *client, l Line, unknown []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintln(c.file, l.Direction, l.Text)
	if l.Direction == From && l.Wrong != "" && len(s.bad) < maxLines {
		s.bad = append(s.bad, l)
	}
	for _, field := range unknown {
		s.odd[field] = l
	}
	s.Line(l)
}

// lastLine is the last message from the program; empty: there is none.
func (c *client) lastLine() (last Line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.got {
		if l.Direction == From {
			last = l
		}
	}
	return last
}

// request makes a request, whose answer must come in time.
func (c *client) request(ctx context.Context, m program.Message, wait time.Duration) (program.Answer, error) {
	began := c.suite.place.now()
	m.Client = c.whose()
	a, err := c.ask(ctx, m, wait+c.suite.patience())
	c.suite.took(m.Type, wait, c.suite.place.now()-began)
	if err != nil {
		return a, c.failed(ctx, m.Type, err)
	}
	return a, nil
}
