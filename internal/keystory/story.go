// Package keystory tells what befell the keys of locks on a server that is in use: who set each, for how long, who ended it, and what was
// wrong with that.
//
// It is told what a server did by the lines of MONITOR (SeeLine) or by the entries of an append-only file (SeeEntry), and, where somebody
// asks the server, by what a key holds (Lock.Found). What a command did to a key, the model of commands says (command.Replay). Nothing is
// guessed: what cannot be known is said to be unknown, and ends with the first command that says what the key is.
//
// A claim goes by the owner's value, which a client writes into the key and names when it gives the lock back. A connection may be one of a
// pool, so what only connections tell is a question.
//
// What it needs of memory is bounded, however many keys, values and connections there are; Left counts what was left out.
package keystory

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	"github.com/redlock-sim/redlock-sim/internal/redis/monitor"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
)

// Keys tells which keys are meant.
type Keys interface{ Fit(key string) bool }

// Options say what is looked at.
type Options struct {
	// Keys are those of the locks, Resource those of what they protect; nil: it is not known.
	Keys, Resource Keys
	// Server is the program that carried the commands out; the zero Server: any.
	Server command.Server
	// Replica: the lines of MONITOR are those of a replica.
	Replica bool
	// Events: it is told by events of keys, and by samples of them.
	Events bool
	// Moments is how many moments are kept of each lock: the latest.
	Moments int
	// Tell is told of each finding when it is found; nil: nobody is.
	Tell func(*Lock, *Finding)
	// Doubted is told of a key of which nobody knows what it holds; nil: nobody is.
	Doubted func(*Lock)
	// Full is told when there are more locks than can be followed; nil: nobody is.
	Full func()
	// Began is told of each hold when it begins, Dropped of each lock that is followed no longer; nil: nobody is.
	Began   func(*Lock, *Hold)
	Dropped func(*Lock)
}

// MostLocks is how many locks are followed.
const MostLocks = 10_000

// The bounds.
const (
	mostLocks   = MostLocks
	mostValues  = 100_000 // of all locks
	mostPast    = 1_000   // values of one lock
	mostScripts = 10_000
	mostNames   = 10_000 // connections
	mostLines   = 64     // of one step
	mostLooked  = 4_096  // bytes of a word in which an owner's value is looked for
)

// Left counts what was left out.
type Left struct {
	// Keys counts commands on keys that were not followed, for there were too many; Values grants whose value is not known any more.
	Keys, Values int
}

// Story is what befell all locks.
type Story struct {
	Left Left
	// Over sums up the locks that were over, and gave way to others.
	Over Over
	// Notes say what the user should know of how it was seen.
	Notes []string
	// Lines counts lines or entries, First and Last are when the first and the last of them were.
	Lines       int
	First, Last Time

	o     Options
	steps monitor.Steps
	// quiet: nothing is found.
	quiet bool
	// caller is the latest line that is not of a script.
	caller monitor.Line
	// absent: a key that has not been seen is not there.
	absent bool
	locks  map[id]*Lock
	order  []*Lock
	// fullUntil is the line before which there is no need to look for room again.
	fullUntil int
	// open are the locks with a step that is not over, step is its number.
	open []*Lock
	step int
	// scripts has what scripts can do, by the names that Redis gives them.
	scripts map[string]command.Can
	// watching are the connections with a WATCH, names what connections call themselves.
	watching map[string]bool
	names    map[string]string
	// values has the latest hold of each value, sources that of each connection.
	values, sources map[string]*Hold
	// others has the one lock that a value has asked for, noLock where it is another than those that are followed, or there are several.
	others map[string]*Lock
}

type id struct {
	db   int
	name string
}

// New begins a story.
func New(o Options) *Story {
	return &Story{o: o, locks: make(map[id]*Lock), scripts: make(map[string]command.Can), watching: make(map[string]bool),
		names: make(map[string]string), values: make(map[string]*Hold), sources: make(map[string]*Hold),
		others: make(map[string]*Lock)}
}

// Locks are those whose keys were seen, in the order in which they were.
func (s *Story) Locks() []*Lock { return s.order }

// SeeLine takes in a line of MONITOR.
func (s *Story) SeeLine(l monitor.Line) {
	now := Time{At: l.At}
	s.count(now)
	p := s.steps.Place(l)
	if p.Step != s.step {
		s.Settle()
		s.step = p.Step
	}
	if s.o.Replica {
		s.seeReplicated(&l, &p, now)
		return
	}
	if l.Source != monitor.Script {
		s.caller = l
		s.learn(&l)
	}
	for _, key := range s.keysOf(&l) {
		if k := s.lock(key); k != nil {
			k.see(&l, &p)
			if !slices.Contains(s.open, k) {
				s.open = append(s.open, k)
			}
		}
	}
	s.noteCall(&l)
	if !p.More {
		s.Settle()
	}
	switch strings.ToUpper(l.Args[0]) {
	case "EXEC", "DISCARD", "UNWATCH", "RESET":
		delete(s.watching, l.Source)
	}
	if s.writesResource(l.Args) {
		s.seeWrite(l.Args, now, s.caller.Source, &p.Window)
	}
}

// SetReplica says whether lines that come next are those of a replica. It shows what its primary has it do: what changed, as in an
// append-only file, and nothing of which client did it, or what it compared.
func (s *Story) SetReplica(is bool) { s.o.Replica = is }

// seeReplicated takes in a line of a replica.
func (s *Story) seeReplicated(l *monitor.Line, p *monitor.Placed, now Time) {
	l.Args = keylog.Unconditional(l.Args, l.DB)
	s.absent = s.absent || strings.EqualFold(l.Args[0], "flushall")
	for _, key := range s.keysOf(l) {
		if k := s.lock(key); k != nil {
			k.seeEntry(l, now, false)
			if !slices.Contains(s.open, k) {
				s.open = append(s.open, k)
			}
		}
	}
	if !p.More {
		s.Settle()
	}
	if s.writesResource(l.Args) {
		s.seeWrite(l.Args, now, "", nil)
	}
}

// Settle says that the latest step is over.
func (s *Story) Settle() {
	for _, k := range s.open {
		k.finish()
	}
	s.open = s.open[:0]
}

// End says that nothing more comes. now is when the look ended.
func (s *Story) End() {
	s.Settle()
	for _, k := range s.order {
		k.end(s.Last)
	}
}

func (s *Story) count(now Time) {
	if s.Lines++; s.Lines == 1 {
		s.First = now
	}
	s.Last = now
}

// learn takes note of what lines say of connections and scripts.
func (s *Story) learn(l *monitor.Line) {
	second := ""
	if len(l.Args) > 1 {
		second = l.Args[1]
	}
	switch name := strings.ToUpper(l.Args[0]); {
	case name == "FLUSHALL":
		s.absent = true
	case name == "WATCH":
		if len(s.watching) < mostNames {
			s.watching[l.Source] = true
		}
	case name == "CLIENT" && len(l.Args) == 3 && strings.EqualFold(second, "setname"):
		s.Name(l.Source, l.Args[2])
	case name == "SCRIPT" && len(l.Args) == 3 && strings.EqualFold(second, "load"):
		s.learnScript(l.Args[2])
	case strings.HasPrefix(name, "EVAL") && !strings.HasPrefix(name, "EVALSHA"):
		s.learnScript(second)
	}
}

// Name says what a connection calls itself.
func (s *Story) Name(source, name string) {
	if _, known := s.names[source]; known || len(s.names) < mostNames {
		s.names[source] = name
	}
}

func (s *Story) learnScript(text string) {
	if len(s.scripts) < mostScripts {
		s.scripts[command.SHA(text)] = command.ScriptCan(text)
	}
}

// scriptCan is what the script of a line can do; false: its text is not known.
func (s *Story) scriptCan(args []string) (command.Can, bool) {
	if len(args) < 2 {
		return 0, false
	}
	if name := strings.ToUpper(args[0]); name == "EVAL" || name == "EVAL_RO" {
		return command.ScriptCan(args[1]), true
	}
	can, known := s.scripts[strings.ToLower(args[1])]
	return can, known
}

// keysOf are the keys of locks that a line is about.
func (s *Story) keysOf(l *monitor.Line) (list []id) {
	add := func(word string) {
		if key := (id{l.DB, word}); s.o.Keys.Fit(word) && !slices.Contains(list, key) {
			list = append(list, key)
		}
	}
	if isScript(l.Args) {
		for _, key := range scriptKeys(l.Args) {
			add(key)
		}
		return list
	}
	if command.NamesNoKey(l.Args) {
		for _, k := range s.order {
			if reaches(l, k.DB) {
				list = append(list, id{k.DB, k.Key})
			}
		}
		return list
	}
	for i, word := range l.Args[1:] {
		r := command.Replay{Name: word, DB: l.DB}
		reads := i == 0 && s.locks[id{l.DB, word}] != nil && command.CanDoByName(l.Args[0]) == 0
		if reads || r.Concerns(command.Executed{Words: l.Args, DB: l.DB}) {
			add(word)
		}
	}
	return list
}

// reaches reports that a command which names no key may do something to those of a database.
func reaches(l *monitor.Line, db int) bool {
	switch strings.ToUpper(l.Args[0]) {
	case "FLUSHDB":
		return l.DB == db
	case "SWAPDB":
		return slices.Contains(l.Args[1:], strconv.Itoa(db))
	}
	return true
}

// SeeElsewhere takes in a line of a database that is not looked at: its script may go on in one that is.
func (s *Story) SeeElsewhere(l monitor.Line) {
	if p := s.steps.Place(l); p.Step != s.step {
		s.Settle()
		s.step = p.Step
	}
	if l.Source != monitor.Script && !s.o.Replica {
		s.caller = l
		s.learn(&l)
	}
}

func isScript(args []string) bool {
	name := strings.ToUpper(args[0])
	return strings.HasPrefix(name, "EVAL") || strings.HasPrefix(name, "FCALL")
}

// scriptKeys are the keys that a script is called with.
func scriptKeys(args []string) []string {
	if len(args) < 3 {
		return nil
	}
	n, err := strconv.Atoi(args[2])
	if err != nil || n < 0 || n > len(args)-3 {
		return nil
	}
	return args[3 : 3+n]
}

// lock finds a lock, or begins to follow it; nil: there are too many.
func (s *Story) lock(i id) *Lock {
	if k := s.locks[i]; k != nil {
		return k
	}
	if len(s.order) == mostLocks && !s.makeRoom() {
		if s.Left.Keys++; s.Left.Keys == 1 && s.o.Full != nil {
			s.o.Full()
		}
		return nil
	}
	k := &Lock{Key: i.name, DB: i.db, story: s, past: make(map[string]*Hold), tried: make(map[string]try)}
	k.log = keylog.Log{Shown: i.name, Record: k.record, Unclear: true,
		Replay: command.Replay{Name: i.name, DB: i.db, Server: s.o.Server, Key: command.Key{Holds: command.Unclear}}}
	if s.absent {
		k.log.Replay.Key, k.log.Unclear = command.Key{}, false
	}
	s.locks[i], s.order = k, append(s.order, k)
	return k
}

// SeeEntry takes in an entry of an append-only file.
func (s *Story) SeeEntry(e journal.Entry) {
	now := Time{At: time.Duration(e.Second) * time.Second, Entry: s.Lines + 1}
	switch e.Kind {
	case journal.Gap, journal.Known:
		s.Settle()
		s.absent = e.Kind == journal.Known
		for _, k := range s.order {
			k.mark(e.Kind == journal.Known)
		}
		return
	case journal.Base:
	case journal.Effect:
		s.count(now)
	}
	if e.First {
		s.Settle()
	}
	conditional := strings.EqualFold(e.Words[0], "set") && takesNX(e.Words)
	words := keylog.Unconditional(e.Words, max(e.DB, 0))
	s.absent = s.absent || strings.EqualFold(words[0], "flushall")
	l := monitor.Line{DB: max(e.DB, 0), Args: words}
	for _, key := range s.keysOf(&l) {
		if k := s.lock(key); k != nil {
			k.isLock = k.isLock || conditional
			k.seeEntry(&l, now, e.Kind == journal.Base)
			if !slices.Contains(s.open, k) {
				s.open = append(s.open, k)
			}
		}
	}
	if e.Last {
		s.Settle()
	}
	if e.Kind == journal.Effect && s.writesResource(words) {
		s.seeWrite(words, now, "", nil)
	}
}

// writesResource reports that a command writes what locks protect.
func (s *Story) writesResource(words []string) bool {
	resource := s.o.Resource
	return resource != nil && !isScript(words) && slices.ContainsFunc(words[1:], resource.Fit) && command.CanDo(words, resource.Fit) != 0
}

// seeWrite looks whether whoever writes what locks protect has its lock. source is its connection; empty: nobody knows. window is when the
// command was carried out; nil: the story itself says when keys have run out.
func (s *Story) seeWrite(words []string, now Time, source string, window *command.Span) {
	named := s.ownerNamed(words[1:])
	byConnection := named == nil
	if byConnection {
		named = s.sources[source]
	}
	if named == nil || named == ofSeveral {
		return
	}
	if window != nil && named.lock.act == nil {
		named.lock.overdue(*window)
	}
	if h := named.lock.hold; h != nil && !byConnection &&
		slices.ContainsFunc(words[1:], func(word string) bool { return has(word, h.values) }) {
		h.isWritten = true
		return
	}
	named.lock.wrote(named, words, now, source, byConnection)
}

// ownerNamed is the hold whose owner some words name, a hold that lasts before one that is over; nil: there is none.
func (s *Story) ownerNamed(words []string) (named *Hold) {
	for _, word := range words {
		for part := range partsOf(word) {
			h := s.values[part]
			if h != nil && s.others[part] != nil && s.others[part] != h.lock {
				h = ofSeveral
			}
			switch {
			case h == ofSeveral || h != nil && !h.Over:
				return h
			case named == nil:
				named = h
			}
		}
	}
	return named
}

// partsOf are a word and its parts, as in JSON.
func partsOf(word string) iter.Seq[string] {
	apart := func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'{}[](),;=|", r) }
	return func(yield func(string) bool) {
		if !yield(word) {
			return
		}
		for part := range strings.FieldsFuncSeq(word[:min(len(word), mostLooked)], apart) {
			if !yield(part) {
				return
			}
		}
	}
}

// has reports that a word or a part of it is one of some values.
func has(word string, values []string) bool {
	for part := range partsOf(word) {
		if slices.Contains(values, part) {
			return true
		}
	}
	return false
}

// noLock is in the place of a lock that is not followed.
var noLock = &Lock{}

// noteAsks takes note of the values with which a command asks for a lock, whether it gets it or not: k; nil: it is not followed.
// A value that may have several locks says nothing of which of them its owner needs.
func (s *Story) noteAsks(values []string, k *Lock) {
	if s.o.Resource == nil {
		return
	}
	if k == nil {
		k = noLock
	}
	for _, v := range values {
		if len(v) < shortest {
			continue
		}
		switch before, known := s.others[v]; {
		case !known && len(s.others) < mostValues:
			s.others[v] = k
		case known && before != k:
			s.others[v] = noLock
		}
	}
}

// noteCall takes note of whom a script names, and of who asks for a lock that is not followed.
func (s *Story) noteCall(l *monitor.Line) {
	switch name := strings.ToUpper(l.Args[0]); {
	case s.o.Resource == nil || s.writesResource(l.Args):
	case isScript(l.Args):
		followed := slices.ContainsFunc(scriptKeys(l.Args), s.o.Resource.Fit)
		for _, key := range scriptKeys(l.Args) {
			if k := s.locks[id{l.DB, key}]; k != nil {
				s.noteAsks(named(l.Args), k)
				followed = true
			}
		}
		if !followed {
			s.noteAsks(named(l.Args), nil)
		}
	case name == "SETNX" || name == "HSETNX" || name == "SET" && takesNX(l.Args):
		if len(l.Args) > 2 && !s.o.Keys.Fit(l.Args[1]) {
			s.noteAsks(l.Args[2:], nil)
		}
	}
}

// takesNX reports that a SET takes no key that is there.
func takesNX(args []string) bool {
	return slices.ContainsFunc(args[min(3, len(args)):], func(word string) bool { return strings.EqualFold(word, "NX") })
}

// connection names a connection for a person.
func (s *Story) connection(source string) string {
	if name := s.names[source]; name != "" {
		return source + " (" + short(name) + ")"
	}
	return source
}
