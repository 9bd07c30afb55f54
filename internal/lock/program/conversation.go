package program

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Conversation is what is said with a lock program: which answer belongs to which request, and what the program says by itself. It has
// no clock, sends nothing, and is for one caller at a time.
type Conversation struct {
	// Ready is what the program says of itself.
	Ready Ready
	// Log takes what it prints that is no message.
	Log *Log
	// On takes what it says by itself; nil: nobody.
	On Events

	last    uint64
	waiting map[uint64]*request
	grants  map[uint64]*hold
	events  int
}

// request is one whose answer has not come.
type request struct {
	kind Type
	// grant is that which it is about; 0: none. client is who asks, where there are several.
	grant  uint64
	client string
	answer func(Message)
}

// hold is a grant that the program has not given back.
type hold struct {
	// last is when the program last spoke of it. client is whose it is, where there are several.
	last   time.Duration
	client string
	lost   bool
}

// maxEvents is how much a program may say by itself.
const maxEvents = 100_000

// Greet is the first message, SetupMessage the second.
func Greet() Message { return Message{Type: Hello, Protocols: []int{Version}} }

// SetupMessage is the message that tells the program what to lock.
type SetupMessage struct {
	Type Type `json:"type"`
	Setup
}

// Message is the setup as it is sent.
func (s Setup) Message() SetupMessage {
	for _, list := range []*[]Node{&s.Nodes, &s.Sentinels} {
		if *list == nil {
			*list = []Node{}
		}
	}
	if s.Points == nil {
		s.Points = []string{}
	}
	return SetupMessage{SetupType, s}
}

// Expect lets answer be called with the answer to Greet or SetupMessage, which have no number.
func (c *Conversation) Expect(answer func(Message)) { c.await(0, &request{answer: answer}) }

// Ask numbers a request and lets answer be called with the answer to it.
func (c *Conversation) Ask(m *Message, answer func(Message)) {
	c.last++
	m.ID = c.last
	if m.Type == ReleaseType || m.Type == ForgetType {
		delete(c.grants, m.Grant)
	}
	c.await(m.ID, &request{m.Type, m.Grant, m.Client, answer})
}

// Cancel is the message that cancels the open acquire of a client; false: it has none, or the program cannot do that. It has no answer of
// its own.
func (c *Conversation) Cancel(client string) (m Message, open bool) {
	for id, r := range c.waiting {
		if c.Ready.Has(Cancels) && r.kind == AcquireType && r.client == client {
			return Message{Type: CancelType, Client: client, ID: id}, true
		}
	}
	return m, false
}

func (c *Conversation) await(id uint64, r *request) {
	if c.waiting == nil {
		c.waiting, c.grants = make(map[uint64]*request), make(map[uint64]*hold)
	}
	c.waiting[id] = r
}

// Idle reports that nothing is asked of the program, and that it does nothing for what it has not given back.
func (c *Conversation) Idle() bool {
	return len(c.waiting) == 0 && (len(c.grants) == 0 || !c.Ready.Keeps())
}

// AnswerTo is what came of a request that was sent at one time and answered at another: it is of the type that is wanted, refused or
// unknown.
func AnswerTo(m, got Message, sent, now time.Duration) (Answer, error) {
	if got.Type == Error {
		return Answer{}, saysError(got)
	}
	want := map[Type]Type{AcquireType: Acquired, ReleaseType: Released, ExtendType: Extended,
		ForgetType: Forgotten, ClocksType: ClocksType}[m.Type]
	if got.Type != want && got.Type != Refused && got.Type != Unknown {
		return Answer{}, fmt.Errorf("the lock program answered %q to %q: want %q, %q or %q", got.Type, m.Type, want, Refused, Unknown)
	}
	a := Answer{Message: got, Grant: m.ID}
	if got.ValidityMS != nil {
		a.Valid, a.Validity, a.From = true, Duration(*got.ValidityMS), instant(got.AtNS, sent, now)
	}
	return a, nil
}

// instant is what a program says of an instant, where that can be true: between two
// others. Otherwise it is the first of them, so that no promise is lengthened.
func instant(ns int64, from, to time.Duration) time.Duration {
	if at := time.Duration(ns); at >= from && at <= to {
		return at
	}
	return from
}

// Take deals with a line that came at a time. then is to be called next, with what sends a message to the program.
func (c *Conversation) Take(line []byte, now time.Duration) (then func(send func(Message)), err error) {
	var m Message
	if !strings.HasPrefix(strings.TrimSpace(string(line)), "{") ||
		json.Unmarshal(line, &struct{ Type *Type }{&m.Type}) != nil || m.Type == "" {
		c.Log.line(line)
		return ignore, nil
	}
	into := any(&m)
	if m.Type == ReadyType {
		into = &c.Ready
	}
	if err := json.Unmarshal(line, into); err != nil {
		return nil, fmt.Errorf("the lock program's message %q cannot be read: %w", m.Type, err)
	}
	switch {
	case slices.Contains(answers, m.Type):
		return c.deliver(m, now)
	case slices.Contains(events, m.Type):
		return c.event(m, now)
	}
	return nil, fmt.Errorf("the lock program sent a message of an unknown type %q", m.Type)
}

func ignore(func(Message)) {}

// deliver hands an answer to who waits for it.
func (c *Conversation) deliver(m Message, now time.Duration) (func(func(Message)), error) {
	r := c.waiting[m.ID]
	if m.Type == Error && r == nil { // it may not know which request it is about
		for id := range c.waiting {
			r, m.ID = c.waiting[id], id
		}
	}
	delete(c.waiting, m.ID)
	if m.Type == Acquired {
		c.grants[m.ID] = &hold{last: now}
		if r != nil {
			c.grants[m.ID].client = r.client
		}
	}
	if r != nil && c.grants[r.grant] != nil {
		c.grants[r.grant].last = now
	}
	switch {
	case r != nil:
		return func(func(Message)) { r.answer(m) }, nil
	case m.Type == Error:
		return nil, saysError(m)
	case m.ID == 0 && m.Type != ReadyType && m.Type != SetUp:
		return nil, fmt.Errorf("the lock program sent %q without the id of the request that it answers", m.Type)
	}
	return nil, fmt.Errorf("the lock program sent %q with the id %d, which no open request has", m.Type, m.ID)
}

func saysError(m Message) error { return fmt.Errorf("the lock program says: %s", m.Why) }

// CheckReady is what is wrong with the answer to Greet.
func (c *Conversation) CheckReady(got Message) error {
	if got.Type == Error {
		return saysError(got)
	}
	if got.Type != ReadyType {
		return fmt.Errorf("the lock program answered %q to %q: want %q", got.Type, Hello, ReadyType)
	}
	if err := c.Ready.check(); err != nil {
		return fmt.Errorf("the lock program cannot be used: %w", err)
	}
	return nil
}

// UnsupportedError says that the lock refuses by design what it is asked for. That is nobody's fault: a trial that needs it is not
// applicable.
type UnsupportedError struct{ Why string }

func (e *UnsupportedError) Error() string { return "the lock program does not support this: " + e.Why }

// CheckSetUp is what is wrong with the answer to a SetupMessage.
func CheckSetUp(got Message) error {
	if got.Type == Error {
		return saysError(got)
	}
	if got.Type == Unsupported {
		return &UnsupportedError{got.Why}
	}
	if got.Type != SetUp {
		return fmt.Errorf("the lock program answered %q to %q: want %q", got.Type, SetupType, SetUp)
	}
	return nil
}

// event deals with what the program says by itself.
func (c *Conversation) event(m Message, now time.Duration) (func(func(Message)), error) {
	if c.events++; c.events > maxEvents {
		return nil, fmt.Errorf("the lock program sent more than %d events", maxEvents)
	}
	if m.Type == Point {
		if !slices.Contains(c.Ready.Points, m.Name) {
			return nil, fmt.Errorf("the lock program reports the point %q, which its message ready does not name", m.Name)
		}
		return func(send func(Message)) {
			if done := func() { send(Message{Type: Go, ID: m.ID}) }; c.On != nil {
				c.On.AtPoint(m.Client, m.Name, done)
			} else {
				done()
			}
		}, nil
	}
	h := c.grants[m.Grant]
	if h == nil || h.lost {
		c.Log.line(fmt.Appendf(nil, "%s of the grant %d, which has ended", m.Type, m.Grant))
		return ignore, nil
	}
	last := h.last
	h.last, h.lost = now, m.Type == Lost
	switch {
	case c.On == nil:
	case m.Type == Lost && m.AtNS != 0:
		at := instant(m.AtNS, last, now)
		return func(func(Message)) { c.On.Lost(h.client, m.Grant, at, at, m.Why) }, nil
	case m.Type == Lost:
		return func(func(Message)) { c.On.Lost(h.client, m.Grant, last, now, m.Why) }, nil
	case m.ValidityMS != nil:
		until := instant(m.AtNS, last, now) + Duration(*m.ValidityMS)
		return func(func(Message)) { c.On.Renewed(h.client, m.Grant, until) }, nil
	}
	return ignore, nil
}
