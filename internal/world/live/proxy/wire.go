package proxy

import (
	"container/list"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Wire reads the connections of a run's links.
type Wire struct {
	// Names: it names each connection for the node behind it, and remembers when each
	// command left its client, until MONITOR has shown it.
	Names bool
	// Awaits are the messages for which the run waits. Each stands till Message has
	// returned, which Go starts. Unread takes that the messages of a connection cannot
	// be told any more, or its answers alone.
	Awaits  world.Patterns
	Message func(world.Message)
	// Called are the words of a command as the run calls them; nil: as they are.
	Called func(words []string) []string
	Unread func(l world.Link, answers bool, why string)
	Go     func(func())
	// Command takes each command with when it left and when it was answered, on the machine's
	// monotonic clock: when that is known, or its connection ends, or Flush is called. Nil:
	// nobody wants to know.
	Command func(l world.Link, c world.Command)

	last    atomic.Int64 // the number of the latest connection
	waiting atomic.Int64 // how many commands wait for their line in MONITOR, and how many connections have ended
	mu      sync.Mutex
	conns   map[string]*conn // that have names
	names   map[ends]string
	ended   list.List // of those that have ended, the first first
	// untold are open connections whose commands Command takes.
	untold map[*conn]bool
}

// conn is a connection that is read.
type conn struct {
	wire *Wire
	link world.Link
	// name is what the node knows it by; empty: whatever the client says.
	name string
	// number is its place among the connections of the wire.
	number int
	// awaits are the messages on this link for which the run waits.
	awaits world.Patterns

	mu                sync.Mutex
	requests, answers side
	// expected are the commands whose answers have not come.
	expected []expected
	// subscribed: messages may come that answer nothing.
	subscribed bool
	// sent are the commands that MONITOR has not shown, waited the latest that it has of those that can wait. multi: what
	// is sent now comes behind MULTI; queueing: what is answered now does. forgot: they are not remembered any more.
	sent                    []*sent
	waited                  *waited
	multi, queueing, forgot bool
	// changed is closed when the next answer comes, where somebody waits for it. late: it took too long.
	changed chan struct{}
	late    bool
	// place is its place among those that have ended; the wire's mu guards it.
	place *list.Element
	// commands are those that Command has not taken yet; over: nothing is answered any more.
	commands []*world.Command
	over     bool
}

// side is what is read of a direction.
type side struct {
	resp.Scanner
	// partly: the beginning of a message has passed.
	partly bool
	// blind: nothing is read there any more.
	blind bool
}

// expected is a command whose answer is to come.
type expected struct {
	// words are the command's, where the run may wait for its answer.
	words []string
	// own: it is ours, and the client does not see the answer.
	own bool
	// replies are how many there are to be.
	replies int
	// command is what Command is to take; nil: nothing.
	command *world.Command
	// sent is what is to learn of the answer; nil: nothing.
	sent *sent
}

// maxExpected bounds the commands of a connection that have no answer.
const maxExpected = 100_000

// nameMark stands in the name of a connection between its client and its number.
const nameMark = "#"

// ClientOf is the client that a connection belongs to by its name; false: no link has
// given it that name.
func ClientOf(name string) (client string, link bool) {
	client, number, found := strings.Cut(name, nameMark)
	_, err := strconv.ParseUint(number, 10, 63)
	return client, found && err == nil
}

// reads reports whether connections of a link are read.
func (w *Wire) reads(l world.Link) bool {
	return w.Names || w.Command != nil || len(w.Awaits.On(l)) > 0
}

func (w *Wire) open(l world.Link) *conn {
	number := w.last.Add(1)
	c := &conn{wire: w, link: l, awaits: w.Awaits.On(l), number: int(number)}
	c.requests.Commands = true
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Command != nil {
		if w.untold == nil {
			w.untold = make(map[*conn]bool)
		}
		w.untold[c] = true
	}
	if !w.Names {
		return c
	}
	c.name = l.From + nameMark + strconv.FormatInt(number, 10)
	c.expected = []expected{{own: true, replies: 1}}
	if w.conns == nil {
		w.conns = make(map[string]*conn)
	}
	w.conns[c.name] = c
	return c
}

// preface is what goes to the node before anything else.
func (c *conn) preface() []byte {
	if c.name == "" {
		return nil
	}
	return resp.AppendCommand(nil, "CLIENT", "SETNAME", c.name)
}

// piece is what becomes of some bytes.
type piece struct {
	// size is how many they are. They pass as they are, unless others stand in for them.
	size    int
	instead []byte
	other   bool
	// awaited has the words of the message that ends with them, where the run waits for it.
	awaited []string
	// answers is the command that they answer, where Command is to take it.
	answers *world.Command
}

// read reads bytes up to the end of the next message, or all of them.
func (c *conn) read(answers bool, data []byte) piece {
	p := c.next(answers, data)
	if c.wire.waiting.Load() > maxWaiting {
		c.wire.bound(c)
	}
	return p
}

func (c *conn) next(answers bool, data []byte) piece {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.requests
	if answers {
		s = &c.answers
		if s.blind = s.blind || c.idle(); s.blind {
			return piece{size: len(data)}
		}
	}
	if s.blind {
		return piece{size: len(data)}
	}
	n, whole, err := s.Next(data)
	p := piece{size: n}
	switch {
	case err != nil:
		c.loses(s, err.Error())
		return piece{size: len(data)}
	case answers:
		p.other = len(c.expected) > 0 && c.expected[0].own
	}
	if first := !s.partly; whole {
		kind, words := s.Message()
		if answers {
			p.awaited, p.answers = c.answered(kind, words, s.Null())
		} else {
			p.awaited = c.asked(words)
			if p.other = first && c.rename(words); p.other {
				p.instead = resp.AppendCommand(nil, words...)
			}
		}
	}
	s.partly = !whole
	return p
}

// idle reports that no answer needs to be read.
func (c *conn) idle() bool {
	awaitsAnswer := func() bool { return slices.ContainsFunc(c.awaits, func(p world.Pattern) bool { return p.Answer }) }
	return len(c.expected) == 0 && (c.requests.blind || !c.wire.Names && c.wire.Command == nil && !awaitsAnswer())
}

// loses says that a direction cannot be read any more.
func (c *conn) loses(s *side, why string) {
	s.blind = true
	if s == &c.answers {
		for i := range c.expected {
			c.tell(c.expected[i].command)
			c.expected[i].command = nil
		}
		c.wake()
	} else {
		c.forgot = true
		c.forget(len(c.sent))
	}
	if len(c.awaits) > 0 || c.wire.Command != nil {
		c.wire.Go(func() { c.wire.Unread(c.link, s == &c.answers, why) })
	}
}

// asked takes in a command, and returns its words where the run waits for it.
func (c *conn) asked(words []string) (awaited []string) {
	if len(words) == 0 {
		return nil
	}
	name := strings.ToUpper(words[0])
	command := c.leaves(words)
	c.expect(name, words, command, c.remember(name, words))
	if c.over || c.answers.blind {
		c.tell(command)
	}
	return c.awaited(false, words)
}

// awaited are the words of a message for which the run waits, as the run calls them; nil: it does
// not.
func (c *conn) awaited(answer bool, words []string) []string {
	if len(c.awaits) == 0 {
		return nil
	}
	if c.wire.Called != nil {
		words = c.wire.Called(words)
	}
	if !c.awaits.Fit(c.link, answer, words) {
		return nil
	}
	return words
}

// leaves is a command that leaves its client, where Command is to take it.
func (c *conn) leaves(words []string) *world.Command {
	if c.wire.Command == nil {
		return nil
	}
	command := &world.Command{Node: c.link.To, Connection: c.number, Left: int64(machine.Monotonic())}
	command.Name, command.Opens = world.CommandName(words)
	c.commands = append(c.commands, command)
	return command
}

// tell lets Command take a command, once; nil: none. The caller holds mu.
func (c *conn) tell(command *world.Command) {
	if i := slices.Index(c.commands, command); i == 0 {
		c.commands = c.commands[1:]
	} else if i > 0 {
		c.commands = slices.Delete(c.commands, i, i+1)
	} else {
		return
	}
	c.wire.Command(c.link, *command)
}

// delivered says that answers have gone on to the client, or that they never will (at 0).
func (c *conn) delivered(answered []*world.Command, at time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, command := range answered {
		if at > 0 {
			command.AnsweredAt(at)
		}
		c.tell(command)
	}
}

// tellAll lets Command take what it has not taken yet.
func (c *conn) tellAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.commands) > 0 {
		c.tell(c.commands[0])
	}
}

// end says that nothing more can be answered.
func (c *conn) end() {
	c.mu.Lock()
	c.over = true
	c.wake()
	c.mu.Unlock()
	c.wire.drop(c)
	c.tellAll()
	c.wire.mu.Lock()
	delete(c.wire.untold, c)
	c.wire.mu.Unlock()
}

// Flush lets Command take all commands that have left.
func (w *Wire) Flush() {
	w.mu.Lock()
	open := slices.Collect(maps.Keys(w.untold))
	w.mu.Unlock()
	for _, c := range open {
		c.tellAll()
	}
}

// expect takes note that the answer to a command is to come.
func (c *conn) expect(name string, words []string, command *world.Command, sent *sent) {
	if c.answers.blind || c.idle() {
		return
	}
	e := expected{replies: 1, command: command, sent: sent}
	switch {
	case len(c.expected) >= maxExpected:
		c.loses(&c.answers, fmt.Sprintf("more than %d commands have no answer", maxExpected))
		return
	case name == "MONITOR", name == "SYNC", name == "PSYNC", strings.HasSuffix(name, "UNSUBSCRIBE") && len(words) == 1,
		name == "CLIENT" && len(words) > 2 && strings.EqualFold(words[1], "reply") && !strings.EqualFold(words[2], "on"):
		c.loses(&c.answers, "how many answers come to "+strings.Join(words[:min(len(words), 3)], " ")+" is not known")
		return
	case strings.HasSuffix(name, "SUBSCRIBE"):
		e.replies, c.subscribed = max(len(words)-1, 1), true
	}
	e.words = c.awaited(true, words)
	c.expected = append(c.expected, e)
}

// answered takes in what a node sends, and returns the words of the command that it answers
// where the run waits for it.
func (c *conn) answered(kind resp.Kind, words []string, null bool) (awaited []string, command *world.Command) {
	first := ""
	if len(words) > 0 {
		first = words[0]
	}
	subscription := c.subscribed && (kind == resp.Push || kind == resp.Array) && strings.HasSuffix(first, "subscribe")
	switch {
	case kind == resp.Push && !subscription,
		c.subscribed && kind == resp.Array && (first == "message" || first == "pmessage" || first == "smessage"),
		len(c.expected) == 0:
		return nil, nil
	}
	head := c.expected[0]
	if c.expected[0].replies--; c.expected[0].replies > 0 && subscription {
		return nil, nil
	}
	c.expected, awaited = c.expected[1:], head.words
	if head.sent != nil {
		c.learn(head.sent, kind, words, null)
	}
	if kind == resp.Error && strings.HasPrefix(first, "NOSCRIPT ") || kind == resp.Text && first == "QUEUED" {
		awaited = nil // the command has not been carried out
	}
	return awaited, head.command
}

// rename puts the link's name in the place of that which a command gives the connection,
// and reports whether it gives one.
func (c *conn) rename(words []string) bool {
	at := -1
	switch {
	case c.name == "" || len(words) == 0:
		return false
	case len(words) == 3 && strings.EqualFold(words[0], "client") && strings.EqualFold(words[1], "setname"):
		at = 2
	case strings.EqualFold(words[0], "hello"):
		// HELLO 3 AUTH user password SETNAME name
		at = slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, "setname") }) + 1
	}
	if at <= 0 || at >= len(words) {
		return false
	}
	words[at] = c.name
	return true
}
