package proxy

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

// seed is for the hashes of commands.
var seed = maphash.MakeSeed()

// A server takes the commands of a connection in the order in which they were sent, and MONITOR shows them in that order. But
// it does not show all: a server refuses some before they run (processCommand in Redis' server.c), and hides others (call). So a
// line of MONITOR belongs to the first command with its words that MONITOR did show. Say a client sends SET, is told
// NOREPLICAS, and sends the same SET again: the one line is that of the second.

// sentCommand is a command that left its client, as long as MONITOR has not shown it.
type sentCommand struct {
	words uint64 // their hash
	// at is when it left, answered when the answer came that says what shows is.
	at, answered time.Duration
	// queues: it came behind MULTI. exec is when the EXEC behind both left, 0 where there is none.
	queues bool
	exec   time.Duration
	kind   kind
	// scripts: it is a script, whose commands may be refused; blocking is nil if it cannot wait for others.
	scripts  bool
	blocking *blockingCommand
	// shows says whether MONITOR does. maybeNot: though it says so, MONITOR may not, or it has already.
	shows    visibility
	maybeNot bool
}

// kind is what a command does to transactions.
type kind int

const (
	ordinary kind = iota
	multi
	executes // EXEC
	discards // DISCARD, RESET
	watches  // it is not queued
)

var kindOf = map[string]kind{"MULTI": multi, "EXEC": executes, "DISCARD": discards, "RESET": discards, "WATCH": watches}

// visibility says whether MONITOR shows a command.
type visibility int

const (
	notKnown visibility = iota // its answer will tell
	queued                     // the answer to EXEC will tell
	certainly
	maybe
	never
)

// blockingCommand is a command of a kind that can wait for others. served: its answer is neither null nor an error.
type blockingCommand struct {
	words  []string
	served bool
}

// Bounds of what is remembered: the commands that wait for their line in MONITOR, and how long MONITOR waits for an answer that tells
// which command a line is.
const (
	maxWaiting   = 100_000
	answerWithin = time.Second
)

// Kinds of commands. MONITOR shows no command of the hidden ones in some version from 6.0 on, or not its words: those that
// have the flag admin or skip-monitor there, with all their subcommands, and QUIT. None of them changes a lock's key but
// DEBUG, which says nothing to MONITOR.
var (
	hidden = set("ACL AUTH BGREWRITEAOF BGSAVE CLIENT CLUSTER COMMANDLOG CONFIG DEBUG FAILOVER HELLO LASTSAVE LATENCY MODULE MONITOR " +
		"PFDEBUG PFSELFTEST PSYNC QUIT REPLCONF REPLICAOF ROLE SAVE SENTINEL SHUTDOWN SLAVEOF SLOWLOG SYNC")
	blocking = set("WAIT WAITAOF " + strings.Join(command.Waiting(), " "))
	scripts  = set("EVAL EVALSHA EVALSHA_RO EVAL_RO FCALL FCALL_RO")
	// refusals are the first words of errors with which a server refuses a command before it runs; those of within scripts come
	// from what a script did, too.
	refusals = set("ASK BUSY CLUSTERDOWN CROSSSLOT LOADING MASTERDOWN MISCONF MOVED NOAUTH NOPERM NOREPLICAS NOSUB OOM READONLY " +
		"REDIRECT TRYAGAIN")
	within = set("MASTERDOWN MISCONF NOPERM NOREPLICAS OOM READONLY")
)

func set(names string) map[string]bool {
	all := make(map[string]bool)
	for name := range strings.FieldsSeq(names) {
		all[name] = true
	}
	return all
}

// visibilityOfRefused says whether MONITOR shows a command whose answer is this error.
func (s *sentCommand) visibilityOfRefused(text string) visibility {
	first, rest, _ := strings.Cut(text, " ")
	switch {
	case s.scripts && strings.Contains(rest, " script: "): // so Redis says from 7.0 on where a command of a script has failed
		return certainly
	case refusals[first] && (s.blocking != nil || s.scripts && within[first]): // what has waited can be refused when it goes on
		return maybe
	case refusals[first]:
		return never
	case first != "ERR":
		return certainly
	// Commands that know the number of their words better say the same of it.
	case strings.HasPrefix(rest, "wrong number of arguments"), strings.HasPrefix(rest, "unknown subcommand"):
		return maybe
	case strings.HasPrefix(rest, "unknown command"), strings.HasPrefix(rest, "Can't execute"), strings.HasPrefix(rest, "only (P"),
		strings.HasSuffix(rest, "not allowed inside a transaction"), rest == "no permission":
		return never
	}
	return certainly
}

// remember takes note of a command that leaves its client now. The caller holds mu.
func (c *conn) remember(name string, words []string) *sentCommand {
	if !c.reader.Names || c.forgot || hidden[name] {
		return nil
	}
	s := &sentCommand{words: hash(words), at: machine.Monotonic(), kind: kindOf[name], scripts: scripts[name],
		maybeNot: name == "MIGRATE"} // MONITOR hides the password in its words
	s.queues = c.multi && s.kind == ordinary
	if blocking[name] {
		s.blocking = &blockingCommand{words: words}
	}
	if s.kind == multi {
		c.multi = true
	}
	if s.kind == executes || s.kind == discards {
		c.multi = false
	}
	for i := len(c.sent) - 1; s.kind == executes && i >= 0 && c.sent[i].kind != executes && c.sent[i].kind != discards; i-- {
		c.sent[i].exec = s.at
	}
	c.sent = append(c.sent, s)
	c.reader.waiting.Add(1)
	return s
}

// learnAnswer takes in the answer to a command. The caller holds mu.
func (c *conn) learnAnswer(s *sentCommand, kind resp.Kind, words []string, null bool) {
	failed := kind == resp.Error || kind == resp.BulkError
	text := ""
	if len(words) > 0 {
		text = words[0]
	}
	s.shows = c.visibilityAfter(s, failed, text)
	if c.queueing && failed && (s.kind == multi || s.kind == watches) {
		c.moveBeforeQueued(s)
	}
	s.answered = machine.Monotonic()
	if s.blocking != nil {
		s.blocking.served = !failed && !null
	}
	if s.kind == multi && !failed {
		c.queueing = true
	} else if s.kind == executes || s.kind == discards && !failed {
		c.queueing = false
		c.settleQueued(s, s.kind == executes && !failed && !null, words)
	}
	c.forget(0)
	c.wakeWaiting()
}

// visibilityAfter says whether MONITOR shows a command that has been answered; of one that failed, text is the error.
func (c *conn) visibilityAfter(s *sentCommand, failed bool, text string) visibility {
	if c.queueing && s.kind == ordinary {
		if failed {
			return never
		}
		return queued
	}
	if failed {
		return s.visibilityOfRefused(text)
	}
	return certainly
}

// moveBeforeQueued puts a command that is not queued before those that are: MONITOR shows it first.
func (c *conn) moveBeforeQueued(s *sentCommand) {
	i := slices.Index(c.sent, s)
	for ; i > 0 && (c.sent[i-1].shows == queued || c.sent[i-1].shows == never); i-- {
		c.sent[i-1], c.sent[i] = c.sent[i], c.sent[i-1]
	}
}

// settleQueued says whether MONITOR shows the commands that were queued before one: if they have run.
func (c *conn) settleQueued(by *sentCommand, ran bool, answers []string) {
	shows := never
	if ran {
		shows = certainly
		if slices.ContainsFunc(answers, func(a string) bool { return strings.HasPrefix(a, "NOPERM ") }) { // as of then it may not run
			shows = maybe
		}
	}
	for _, s := range c.sent[:max(slices.Index(c.sent, by), 0)] {
		if s.shows == queued {
			s.shows, s.at, s.answered = shows, by.at, by.answered
		}
	}
}

// wakeWaiting lets those go on who wait for answers. The caller holds mu.
func (c *conn) wakeWaiting() {
	c.late = false
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// LeftAt is when the command that MONITOR shows with these words left its client over the connection of this name, on the machine's
// monotonic clock; of a queued one, when EXEC did. It is to be called for each line of the connection, in order. since is when the
// stream began: it may lack what left before. It is not known where the line may be that of several commands, or where one before it
// ought to have shown. If answers that will tell have not come, Left waits for them.
func (r *ConnReader) LeftAt(name string, words []string, since time.Duration) (at time.Duration, known bool) {
	c := r.named(name)
	if c == nil {
		return 0, false
	}
	defer r.dropEnded(c)
	h := hash(words)
	var late <-chan time.Time
	for {
		at, known, changed := c.findLeft(h, since)
		if changed == nil {
			return at, known
		}
		if late == nil {
			late = time.After(answerWithin)
		}
		select {
		case <-changed:
		case <-late:
			c.mu.Lock()
			c.late = true
			c.mu.Unlock()
		}
	}
}

func (r *ConnReader) named(name string) *conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conns[name]
}

// findLeft is LeftAt. It returns a channel where an answer has to come first, which closes it.
func (c *conn) findLeft(words uint64, since time.Duration) (at time.Duration, known bool, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.findCandidates(words, since)
	if f.first < 0 {
		return 0, false, nil
	}
	if f.open && !c.late && !c.over && !c.answers.blind {
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		return 0, false, c.changed
	}
	s := c.sent[f.first]
	for _, other := range c.sent[f.first+1 : f.last+1] {
		other.maybeNot = true // it may have been this one
	}
	if s.blocking != nil {
		c.lastBlocking = s.blocking
	}
	if at = s.at; s.shows == queued {
		at = s.exec
	}
	c.forget(f.first + 1)
	return at, !f.open && !f.passed && f.first == f.last, nil
}

// candidates are the commands that a line of MONITOR may be.
type candidates struct {
	first, last int // -1: none
	// open: answers that have not come can tell more.
	open bool
	// passed: one before them ought to have shown.
	passed bool
}

// add takes the i-th command in. undecided: the line may have passed over one before it, or not.
func (f *candidates) add(i int, s *sentCommand, undecided bool) {
	f.last = i
	if f.first < 0 {
		f.first = i
		f.open = undecided || s.queues && s.shows == notKnown // when it left depends on what its answer is
		return
	}
	f.open = f.open || undecided || s.shows == notKnown || s.shows == queued
}

// findCandidates looks for what a line with these words may be, up to the first command that it cannot have passed over.
func (c *conn) findCandidates(words uint64, since time.Duration) candidates {
	f := candidates{first: -1, last: -1}
	undecided := false // one that the line may have passed over, or not
	for i, s := range c.sent {
		shows, open := s.shows, s.shows == notKnown || s.shows == queued
		doubtful := s.maybeNot || s.at < since
		if !open && s.answered < since || doubtful && s.words != words {
			continue // MONITOR did not see it, or need not have
		}
		if doubtful && shows == certainly {
			shows = maybe
		}
		if s.words == words && shows != never && (shows != queued || s.exec > 0) {
			f.add(i, s, undecided)
		} else if shows == certainly && f.first < 0 {
			f.passed = true
		}
		undecided = undecided || open
		if f.first >= 0 && (f.passed || shows == certainly) {
			break
		}
	}
	f.open = f.open && !f.passed
	return f
}

// forget drops the first commands, and those behind them that MONITOR does not show. The caller holds mu.
func (c *conn) forget(n int) {
	for n < len(c.sent) && c.sent[n].shows == never {
		n++
	}
	clear(c.sent[:n])
	c.sent = c.sent[n:]
	c.reader.waiting.Add(-int64(n))
}

// dropEnded lets go of a connection that has ended, once nothing is to be asked of it.
func (r *ConnReader) dropEnded(c *conn) {
	c.mu.Lock()
	over, empty := c.over, len(c.sent) == 0 && c.lastBlocking == nil
	c.mu.Unlock()
	if !over {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns[c.name] != c {
		return
	}
	if empty {
		r.remove(c)
	} else if c.place == nil {
		c.place = r.ended.PushBack(c)
		r.waiting.Add(1)
	}
}

// remove forgets a connection. The caller holds mu.
func (r *ConnReader) remove(c *conn) {
	delete(r.conns, c.name)
	if c.place != nil {
		r.ended.Remove(c.place)
		r.waiting.Add(-1)
	}
}

// dropOldest forgets the commands of a connection where too many wait: of one that has ended, else of that on which one more came. Nothing
// is known of its commands any more.
func (r *ConnReader) dropOldest(c *conn) {
	r.mu.Lock()
	if e := r.ended.Front(); e != nil {
		c = e.Value.(*conn)
		r.remove(c)
	}
	r.mu.Unlock()
	c.mu.Lock()
	c.forgot = true
	c.forget(len(c.sent))
	c.wakeWaiting()
	c.mu.Unlock()
}

// Served is the client that waited on a node for a key, and got it: MONITOR does not show what another's command gave it. Empty: there is
// none, or there are several.
func (r *ConnReader) Served(node, key string) (client string) {
	r.mu.Lock()
	conns := slices.Collect(maps.Values(r.conns))
	r.mu.Unlock()
	for _, c := range conns {
		c.mu.Lock()
		got := c.link.To == node && c.lastBlocking != nil && c.lastBlocking.served && slices.Contains(c.lastBlocking.words, key)
		c.mu.Unlock()
		if got && client != "" && client != c.link.From {
			return ""
		}
		if got {
			client = c.link.From
		}
	}
	return client
}

// hash is that of the words that are kept of a command.
func hash(words []string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	var size [8]byte
	for _, word := range resp.Kept(words) {
		binary.LittleEndian.PutUint64(size[:], uint64(len(word)))
		_, _ = h.Write(size[:])
		_, _ = h.WriteString(word)
	}
	return h.Sum64()
}
