package keylog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
)

// Journal follows the lock's keys on one server by its journal, where every step of the server is seen: what is new in the journal is what
// the step did, no time passed meanwhile, and it is known whose commands they were. The server must write what a command did before it
// answers: with appendfsync everysec it may not while an fsync is under way.
type Journal struct {
	o    JournalOptions
	file *journal.Follower
	// connections has what commands of before mean for later ones of the same connection.
	connections map[string]*connection
	keys        []*followed
	byName      map[string]*followed
	// fresh are the blocks that have been read and not been recorded, with the keys that they concern.
	fresh []keyBlock
	// read and blocks are how many entries and blocks have been read.
	read, blocks int
	// known: the data are those that the journal tells.
	known bool
	// saidElsewhere: the history says that the lock is kept in another database.
	saidElsewhere bool
	// silent: a script has come that may keep what it does out of the journal.
	silent bool
}

// JournalOptions is what a Journal needs to know.
type JournalOptions struct {
	Node   string
	Record func(history.Event)
	// Keys tells the lock's keys; nil: Key alone is.
	Keys interface{ Fit(key string) bool }
	// Key is the lock's, Shown what the history calls it.
	Key, Shown string
	// Program is nil where the lock is built in.
	Program *Program
	Server  command.Server
	// Payload tells what key a payload of DUMP is, but for its end; nil: nobody knows any.
	Payload func(payload string) (k command.Key, known bool)
}

// Batch are commands that came over one connection in one step.
type Batch struct {
	// Connection is any name of the connection that no other has.
	Connection string
	// Caller is the client; empty: none.
	Caller   string
	Commands [][]string
	// Left is when they left their client, on the run's clock.
	Left history.Int
	// Now is the server's clock, in ms since 1970.
	Now int64
	// Stranger: it is no connection that may change the lock's keys.
	Stranger bool
}

// followed is a key that is followed.
type followed struct {
	Key
	// next is the first unit of the batch that may have done what comes next.
	next int
	// written: the journal has an effect on it.
	written bool
}

// keyBlock is a block of the journal that concerns a key.
type keyBlock struct {
	k      *followed
	number int
}

// NewJournal follows the journal of a server that has its data in a folder.
func NewJournal(dir string, o JournalOptions) *Journal {
	return &Journal{o: o, file: journal.Follow(dir), connections: make(map[string]*connection), byName: make(map[string]*followed)}
}

// Close closes the journal.
func (j *Journal) Close() error { return j.file.Close() }

// Started records the keys that the server has found when it was started, or started again.
func (j *Journal) Started(now int64) error {
	j.file.Restarted()
	clear(j.connections)
	for _, k := range j.keys {
		k.Key = Key{Log: j.logOf(k.Replay.Name)}
	}
	j.silent = false
	if err := j.readNew(); err != nil {
		return err
	}
	j.fresh = nil
	for _, k := range j.keys {
		for _, e := range k.Effects {
			k.Apply(e.Entry)
		}
		k.Effects = nil
		k.RecordFound(command.At(now))
	}
	return nil
}

// Step records what a batch did, and what the server did by itself in the same step. A command that waits, and those behind it on its
// connection, do something in another's step, if at all: nobody knows then whose that is, unless Program.Served does.
func (j *Journal) Step(b Batch) error {
	units := j.connection(b.Connection).units(b.Commands)
	for _, u := range units {
		for i := range u.acts {
			j.note(&u.acts[i], b.Caller)
		}
	}
	if err := j.readNew(); err != nil {
		return err
	}
	j.settle(units, &b)
	if j.silent {
		j.recordSilent(units, b.Caller)
	}
	return nil
}

// Holds is what is known of a key; false: it is not followed.
func (j *Journal) Holds(key string) (k command.Key, followed bool) {
	f := j.byName[key]
	if f == nil {
		return command.Key{}, false
	}
	return f.Replay.Key, true
}

// Primary records what the server's primary had it do, or another server that gave it a key.
func (j *Journal) Primary(now int64) error {
	err := j.readNew()
	if err == nil {
		j.settle([]unit{{acts: []act{{script: true}}, often: true}}, &Batch{Now: now})
	}
	return err
}

// Own records what the server did by itself.
func (j *Journal) Own(now int64) error {
	err := j.readNew()
	if err == nil {
		j.settle(nil, &Batch{Now: now})
	}
	return err
}

// note takes note of what a command says of keys, whether the server lets it or not.
func (j *Journal) note(a *act, caller string) {
	for _, word := range a.words[1:] {
		if j.fits(word) {
			j.add(word)
		}
	}
	if name := strings.ToUpper(a.words[0]); a.script || name == "SCRIPT" || name == "FUNCTION" {
		j.silent = j.silent || slices.ContainsFunc(a.words[1:], func(word string) bool { return strings.Contains(word, "set_repl") })
		return
	}
	if len(a.words) < 2 {
		return
	}
	if k := j.byName[a.words[1]]; k != nil {
		k.NoteFields(&Line{Args: a.words, Text: a.words, Caller: caller})
	}
}

// fits reports whether a word is the name of one of the lock's keys.
func (j *Journal) fits(word string) bool {
	if j.o.Keys == nil {
		return word == j.o.Key
	}
	return j.o.Keys.Fit(word)
}

// add begins to follow a key, unless it is followed. It has never been written: who writes a key names it.
func (j *Journal) add(key string) {
	if j.byName[key] == nil {
		k := &followed{Key: Key{Log: j.logOf(key)}}
		j.byName[key] = k
		j.keys = append(j.keys, k)
	}
}

// logOf is a key as the history has it.
func (j *Journal) logOf(key string) Log {
	k := Log{Node: j.o.Node, Shown: key, Record: j.o.Record, Program: j.o.Program,
		Replay: command.Replay{Name: key, Server: j.o.Server, Payload: j.o.Payload}}
	if key == j.o.Key {
		k.Shown = j.o.Shown
	}
	return k
}

// keysNamed are the keys that a command may concern.
func (j *Journal) keysNamed(words []string) (list []*followed) {
	if len(words) == 0 || command.NamesNoKey(words) {
		return j.keys
	}
	for i, word := range words[1:] {
		if k := j.byName[word]; k != nil && !slices.Contains(words[1:1+i], word) {
			list = append(list, k)
		}
	}
	return list
}

// readNew reads what is new in the journal.
func (j *Journal) readNew() error {
	for {
		entries, err := j.file.Read()
		if err != nil {
			return fmt.Errorf("failed to read the journal of node %s: %w", j.o.Node, err)
		}
		if entries == nil {
			break
		}
		for _, e := range entries {
			j.handOut(e)
		}
	}
	if !j.known {
		return fmt.Errorf("failed to read the journal of node %s: %w", j.o.Node, errUnknown)
	}
	return nil
}

// errUnknown: the follower tells of a base that it cannot read.
var errUnknown = errors.New("it does not say what the data are (with aof-use-rdb-preamble no it does)")

// handOut hands an entry to the keys that it concerns.
func (j *Journal) handOut(e journal.Entry) {
	j.read++
	if e.First || len(e.Words) == 0 {
		j.blocks++
	}
	if e.Kind != journal.Effect && e.Kind != journal.Base {
		j.known = e.Kind == journal.Known
	}
	e.DB = max(e.DB, 0)
	if len(e.Words) > 0 {
		e.Words = Unconditional(e.Words, e.DB)
		for _, word := range e.Words[1:] {
			if !j.fits(word) {
				continue
			}
			if e.DB == 0 {
				j.add(word)
			} else {
				j.recordElsewhere(word, e)
			}
		}
	}
	for _, k := range j.keysNamed(e.Words) {
		if len(e.Words) > 0 && !k.Replay.Concerns(command.Executed{Words: e.Words, DB: e.DB}) {
			continue
		}
		if n := len(k.Effects); n == 0 || k.Effects[n-1].Block != j.blocks {
			j.fresh = append(j.fresh, keyBlock{k, j.blocks})
		}
		k.written = k.written || e.Kind == journal.Effect
		k.Effects = append(k.Effects, Effect{Entry: e, Number: j.read, Block: j.blocks})
	}
}

// recordElsewhere records once that a lock is kept in another database, so that nobody wonders why its keys are not seen.
func (j *Journal) recordElsewhere(key string, e journal.Entry) {
	if k := j.byName[key]; j.saidElsewhere || k != nil && k.written {
		return
	}
	j.saidElsewhere = true
	k := j.logOf(key)
	k.RecordElsewhere(e.Words[0], e.DB)
}

// settle records what is new, in the order in which it was done.
func (j *Journal) settle(units []unit, b *Batch) {
	for _, f := range j.fresh {
		f.k.next = 0
	}
	for _, f := range j.fresh {
		if len(f.k.Effects) > 0 && f.k.Effects[0].Block == f.number {
			f.k.settle(units, b)
		}
	}
	j.fresh = j.fresh[:0]
}

// settle records what the block at the head did to a key.
func (k *followed) settle(units []unit, b *Batch) {
	at := command.At(b.Now)
	n := 1
	for n < len(k.Effects) && k.Effects[n].Block == k.Effects[0].Block {
		n++
	}
	if parts, _, fit := k.explain(&unit{}, n, at); fit { // no command need have done it
		k.take(parts, Line{Span: at})
		return
	}
	var parts []part
	var text []string
	by, left := -1, b.Left
	for i := k.next; i < len(units); i++ {
		found, end, fit := k.explain(&units[i], n, at)
		switch {
		case !fit:
		case by < 0:
			parts, by, text = found, i, units[i].text()
		case end != 0 && command.NamesInstant(text, end) != command.NamesInstant(units[i].text(), end):
			left = history.Int{} // nobody knows which of the two it was, and so not till when it was asked for
		}
	}
	if by < 0 {
		k.settleAlone(n, at)
		return
	}
	if k.next = by; !units[by].often {
		k.next++
	}
	k.take(parts, Line{Caller: b.Caller, Span: at, Left: left, Text: text, Stranger: b.Stranger})
}

// settleAlone records entries that no command explains: the server did that by itself, or for a client that has waited until now.
func (k *followed) settleAlone(n int, at command.Span) {
	for range n {
		if e := &k.Effects[0]; e.ByItself(k.Replay.Key) || e.removes(k.Replay.Key) && k.ranOut(k.Replay.Key, at) {
			k.RecordOwn(at)
		} else {
			k.RecordUnexplained(at)
		}
	}
}

// take records the parts of a block, which are a client's.
func (k *followed) take(parts []part, line Line) {
	i := 0
	for _, p := range parts {
		if p.by != nil && p.by.script {
			line.Args = k.Effects[i].Words
			k.NoteFields(&line)
		}
		i += p.n
	}
	for _, p := range parts {
		e := k.Effects[0]
		switch {
		case p.kept && k.Block == nil:
			k.pop()
			continue
		case p.by == nil && k.Block == nil:
			k.RecordOwn(line.Span)
			continue
		case p.by == nil || p.by.script:
			line.Args, line.DB = e.Words, e.DB
			r := k.Replay
			p.result = command.Result{Change: applied(&r, e.Entry)}
		default:
			line.Args, line.DB = p.by.words, e.DB
		}
		for i := range p.n {
			k.TakeEffect(p.result, line, i+1 < p.n)
		}
	}
}

// recordSilent records that nobody knows what scripts did.
func (j *Journal) recordSilent(units []unit, caller string) {
	for _, u := range units {
		for _, a := range u.acts {
			if !a.script {
				continue
			}
			for _, k := range j.keysNamed(a.words) {
				k.RecordUnclear(history.Value{Client: caller, Rare: &history.Rare{
					Detail: strings.ToUpper(a.words[0]) + " (it may keep what it does out of the node's journal)"}})
				k.Replay.Key = command.Key{Holds: command.Unclear}
			}
		}
	}
}
