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
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// ConnReader reads the connections of a run's links.
type ConnReader struct {
	// Names: it names each connection for the node behind it, and remembers when each
	// command left its client, until MONITOR has shown it.
	Names bool
	// Awaits are the messages for which the run waits. Each stands till Message has
	// returned, which Go starts. Unread takes that the messages of a connection cannot
	// be told any more, or its answers alone.
	Awaits  world.Patterns
	Message func(world.Message)
	// Refuses: a fault may let nodes refuse commands. Then each command is a message of its own, and goes on when it is whole.
	Refuses bool
	// RunWords are the words of a command as the run calls them; nil: as they are.
	RunWords func(words []string) []string
	// Abilities say what commands can do to the lock's key; nil: the run does not wait for that.
	Abilities *world.Abilities
	Unread    func(l world.Link, answers bool, why string)
	Go        func(func())
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
	// unreported are open connections whose commands Command takes.
	unreported map[*conn]bool
}

// conn is a connection that is read.
type conn struct {
	reader *ConnReader
	link   world.Link
	// name is what the node knows it by; empty: whatever the client says.
	name string
	// number is its place among the connections of the reader.
	number int
	// awaits are the messages on this link for which the run waits.
	awaits world.Patterns

	mu                sync.Mutex
	requests, answers directionReader
	transaction       world.Transaction
	// refusals are those of the commands that have gone on, where some may be refused. begun are the bytes that are kept back of a message
	// that has not come whole.
	refusals world.Refusals
	begun    [2][]byte
	// expected are the commands whose answers have not come.
	expected resp.Pairing[expected]
	// sent are the commands that MONITOR has not shown, lastBlocking the latest that it has of those that can wait. multi: what
	// is sent now comes behind MULTI; queueing: what is answered now does. forgot: they are not remembered any more.
	sent                    []*sentCommand
	lastBlocking            *blockingCommand
	multi, queueing, forgot bool
	// changed is closed when the next answer comes, where somebody waits for it. late: it took too long.
	changed chan struct{}
	late    bool
	// place is its place among those that have ended; the reader's mu guards it.
	place *list.Element
	// commands are those that Command has not taken yet; over: nothing is answered any more.
	commands []*world.Command
	over     bool
}

// directionReader is what is read of one direction of a connection.
type directionReader struct {
	resp.Scanner
	// inMessage: the beginning of a message has passed.
	inMessage bool
	// blind: nothing is read there any more.
	blind bool
}

// expected is a command whose answer is to come.
type expected struct {
	// words are the command's, where the run waits for its answer. can is what it can do to the lock's key.
	words []string
	can   command.Can
	// own: it is ours, and the client does not see the answer.
	own bool
	// command is what Command is to take; nil: nothing.
	command *world.Command
	// sent is what is to learn of the answer; nil: nothing.
	sent *sentCommand
	// asked is the command, where it may be refused.
	asked *asked
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

// readsLink reports whether connections of a link are read.
func (r *ConnReader) readsLink(l world.Link) bool {
	return r.Names || r.Refuses || r.Command != nil || len(r.Awaits.On(l)) > 0
}

// newConn begins to read a connection on a link.
func (r *ConnReader) newConn(l world.Link) *conn {
	number := r.last.Add(1)
	c := &conn{reader: r, link: l, awaits: r.Awaits.On(l), number: int(number)}
	c.requests.Commands = true
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Command != nil {
		if r.unreported == nil {
			r.unreported = make(map[*conn]bool)
		}
		r.unreported[c] = true
	}
	if !r.Names {
		return c
	}
	c.name = l.From + nameMark + strconv.FormatInt(number, 10)
	_ = c.expected.Ask(c.setName(), expected{own: true}) // it has one answer
	if r.conns == nil {
		r.conns = make(map[string]*conn)
	}
	r.conns[c.name] = c
	return c
}

// preface is what goes to the node before anything else.
func (c *conn) preface() []byte {
	if c.name == "" {
		return nil
	}
	return resp.AppendCommand(nil, c.setName()...)
}

func (c *conn) setName() []string { return []string{"CLIENT", "SETNAME", c.name} }

// readResult is what becomes of some bytes.
type readResult struct {
	// size is how many they are. They pass as they are, unless others stand in for them.
	size     int
	instead  []byte
	replaced bool
	// awaited has the words of the message that ends with them, where the run waits for it, and kind is what it is.
	awaited []string
	kind    world.MessageKind
	can     command.Can
	// answered is the command that they answer, where Command is to take it.
	answered *world.Command
	// asked is the command that they are, where it may be refused.
	asked *asked
}

// read reads bytes up to the end of the next message, or all of them.
func (c *conn) read(answers bool, data []byte) readResult {
	p := c.readMessage(answers, data)
	if c.reader.waiting.Load() > maxWaiting {
		c.reader.dropOldest(c)
	}
	return p
}

func (c *conn) readMessage(answers bool, data []byte) readResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.requests
	if answers {
		s = &c.answers
		s.blind = s.blind || c.needsNoAnswers()
	}
	if s.blind {
		return c.passUnread(answers, data)
	}
	n, whole, err := s.Next(data)
	p := readResult{size: n}
	if err != nil {
		c.stopReading(s, err.Error())
		return c.passUnread(answers, data)
	}
	keeps := c.keeps(answers)
	if answers {
		p.replaced = c.expected.Len() > 0 && c.expected.First().own
	}
	if first := !s.inMessage; whole {
		kind, words := s.Message()
		if answers {
			p.awaited, p.kind, p.can, p.answered, p.instead = c.readAnswer(kind, words, s.Null())
			keeps = keeps && p.instead == nil
			p.replaced = p.replaced || p.instead != nil
		} else {
			p.kind = world.Sent
			p.awaited, p.can, p.asked = c.readCommand(words)
			if renamed := (first || keeps) && c.rename(words); renamed {
				p.replaced, p.instead, keeps = true, resp.AppendCommand(nil, words...), false
			}
		}
	}
	c.keep(answers, keeps, whole, data[:n], &p)
	s.inMessage = !whole
	return p
}

// needsNoAnswers reports that no answer needs to be read.
func (c *conn) needsNoAnswers() bool {
	awaitsAnswer := func() bool {
		return slices.ContainsFunc(c.awaits, func(p world.Pattern) bool { return p.Kind.FromNode() })
	}
	return c.expected.Len() == 0 &&
		(c.requests.blind || !c.reader.Names && !c.reader.Refuses && c.reader.Command == nil && !awaitsAnswer())
}

// stopReading says that a direction cannot be read any more, and why.
func (c *conn) stopReading(s *directionReader, why string) {
	s.blind = true
	if s == &c.answers {
		for _, e := range c.expected.Drop() {
			c.report(e.command)
		}
		c.wakeWaiting()
	} else {
		c.forgot = true
		c.forget(len(c.sent))
	}
	if len(c.awaits) > 0 || c.reader.Command != nil {
		c.reader.Go(func() { c.reader.Unread(c.link, s == &c.answers, why) })
	}
}

// readCommand takes in a command, and returns its words where the run waits for it.
func (c *conn) readCommand(words []string) (awaited []string, can command.Can, a *asked) {
	if len(words) == 0 {
		return nil, 0, nil
	}
	name := strings.ToUpper(words[0])
	sent := c.newCommand(words)
	run := c.runWords(words)
	can = c.reader.Abilities.Of(c.link.To, run)
	seen := c.remember(name, words)
	if c.reader.Refuses {
		a = &asked{words: slices.Clone(words), sent: seen}
	}
	c.expect(words, run, can, expected{command: sent, sent: seen, asked: a})
	if c.over || c.answers.blind {
		c.report(sent)
	}
	if !c.awaits.Fit(c.link, world.Sent, run, can) {
		return nil, 0, a
	}
	return run, can, a
}

// runWords are the words of a command as the run calls them, where it may wait for that; else there are none.
func (c *conn) runWords(words []string) []string {
	if len(c.awaits) == 0 {
		return nil
	}
	if c.reader.RunWords == nil {
		return words
	}
	return c.reader.RunWords(words)
}

// newCommand is a command that leaves its client, where Command is to take it.
func (c *conn) newCommand(words []string) *world.Command {
	if c.reader.Command == nil {
		return nil
	}
	command := &world.Command{Node: c.link.To, Connection: c.number, Left: int64(machine.Monotonic())}
	command.Name, command.Opens = world.CommandName(words)
	c.commands = append(c.commands, command)
	return command
}

// report lets Command take a command, once; nil: none. The caller holds mu.
func (c *conn) report(command *world.Command) {
	if i := slices.Index(c.commands, command); i == 0 {
		c.commands = c.commands[1:]
	} else if i > 0 {
		c.commands = slices.Delete(c.commands, i, i+1)
	} else {
		return
	}
	c.reader.Command(c.link, *command)
}

// delivered says that answers have gone on to the client, or that they never will (at 0).
func (c *conn) delivered(answered []*world.Command, at time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, command := range answered {
		if at > 0 {
			command.AnsweredAt(at)
		}
		c.report(command)
	}
}

// reportAll lets Command take what it has not taken yet.
func (c *conn) reportAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.commands) > 0 {
		c.report(c.commands[0])
	}
}

// end says that nothing more can be answered.
func (c *conn) end() {
	c.mu.Lock()
	c.over = true
	c.wakeWaiting()
	c.mu.Unlock()
	c.reader.dropEnded(c)
	c.reportAll()
	c.reader.mu.Lock()
	delete(c.reader.unreported, c)
	c.reader.mu.Unlock()
}

// Flush lets Command take all commands that have left.
func (r *ConnReader) Flush() {
	r.mu.Lock()
	open := slices.Collect(maps.Keys(r.unreported))
	r.mu.Unlock()
	for _, c := range open {
		c.reportAll()
	}
}

// expect takes note that the answer to a command is to come. The run calls it by its own words.
func (c *conn) expect(words, run []string, can command.Can, e expected) {
	if c.answers.blind || c.needsNoAnswers() {
		return
	}
	if c.expected.Len() >= maxExpected {
		c.stopReading(&c.answers, fmt.Sprintf("more than %d commands have no answer", maxExpected))
		return
	}
	c.transaction.Ask(words, can)
	if can = c.transaction.Answered(words, can); !c.awaits.Fit(c.link, world.AnswerTo(words, true), run, can) {
		run = nil
	}
	e.words, e.can = run, can
	if err := c.expected.Ask(words, e); err != nil {
		c.stopReading(&c.answers, err.Error())
	}
}

// readAnswer takes in what a node sends, and returns the words of the command that it answers
// where the run waits for it. What a refused command is answered with stands in instead.
func (c *conn) readAnswer(kind resp.Kind, words []string, null bool) (
	awaited []string, is world.MessageKind, can command.Can, answered *world.Command, instead []byte,
) {
	head, answers := c.expected.Answer(kind, words)
	if !answers {
		if run := c.runWords(words); world.IsPushed(words) && c.awaits.Fit(c.link, world.Pushed, run, 0) {
			return run, world.Pushed, 0, nil, nil
		}
		return nil, 0, 0, nil, nil
	}
	if head.asked.isRefused() {
		if head.sent != nil {
			c.learnAnswer(head.sent, resp.Error, []string{head.asked.refused}, false)
			head.sent.shows = never
			c.forget(0)
		}
		return nil, 0, 0, head.command, resp.AppendLine(nil, resp.Error, head.asked.refused)
	}
	if head.sent != nil {
		c.learnAnswer(head.sent, kind, words, null)
	}
	is = world.AnswerTo(head.words, !null && kind != resp.Error)
	if !resp.PutsOff(kind, words) && c.awaits.Fit(c.link, is, head.words, head.can) {
		awaited = head.words
	}
	return awaited, is, head.can, head.command, nil
}

// rename puts the link's name in the place of that which a command gives the connection,
// and reports whether it gives one.
func (c *conn) rename(words []string) bool {
	if c.name == "" || len(words) == 0 {
		return false
	}
	at := -1
	if len(words) == 3 && strings.EqualFold(words[0], "client") && strings.EqualFold(words[1], "setname") {
		at = 2
	} else if strings.EqualFold(words[0], "hello") {
		// HELLO 3 AUTH user password SETNAME name
		at = slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, "setname") }) + 1
	}
	if at <= 0 || at >= len(words) {
		return false
	}
	words[at] = c.name
	return true
}
