package keystory

import (
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/monitor"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
)

// Time is when something was: on the server's clock, counted from 1970, or, where At is 0, by its place among the entries of a file.
type Time struct {
	At    time.Duration
	Entry int
}

// inMs is the time in whole milliseconds, in which ends of keys are.
func (t Time) inMs() Time { return Time{At: t.At.Truncate(time.Millisecond), Entry: t.Entry} }

// since is how long after another time it is; false: nobody knows.
func (t Time) since(o Time) (time.Duration, bool) { return t.At - o.At, t.At > 0 && o.At > 0 }

// Lock is what befell one key.
type Lock struct {
	Key string
	DB  int
	// Totals says what there was in all.
	Totals Totals
	// Moments are the latest, in their order. Earlier counts those that were left out.
	Moments []Moment
	Earlier int
	// Holds are the latest, in their order: as many as there are moments.
	Holds []*Hold
	// Findings are the first of each kind, and Counts how often each kind was found.
	Findings []*Finding
	Counts   map[Kind]int
	// Changes counts the commands that may have changed the key.
	Changes int

	story *Story
	// fromLines: it is told by lines of MONITOR.
	fromLines bool
	log       keylog.Log
	act       *act
	// events are what the log told of the latest step.
	events []history.Event
	// hold is the one that lasts; nil: nobody holds the lock, or nobody knows who does.
	hold *Hold
	// past has the latest hold of each value, tried who asked for it with each value and did not get it.
	past  map[string]*Hold
	tried map[string]try
	// candidates are those who may hold the lock, while nobody knows; complete: it is one of them. doubted held it before.
	candidates []candidate
	complete   bool
	// forgotten: nobody knows who holds it because commands were not seen. paused is who held it when nobody looked any more.
	forgotten bool
	paused    *Hold
	// changed is what events say since the server was asked last. sampled: what was between two samples is not known.
	changed changed
	sampled bool
	doubted *Hold
	// isLock: somebody asked for the key with NX, or it had a TTL. written: something has written it. counted: what it holds is a counter.
	isLock, written, counted bool
	// asks and second count how often it was asked for within the second.
	asks   int
	second time.Duration
}

// Totals counts what befell a lock.
type Totals struct {
	// Holds counts grants; Found those that were there before the look began.
	Holds int `json:"holders"`
	Found int `json:"held_before_the_look,omitempty"`
	// Released, RanOut, Removed and Ended count how they ended: by the owner, by themselves, in other ways, and nobody knows how.
	Released int `json:"released,omitempty"`
	RanOut   int `json:"ran_out,omitempty"`
	Removed  int `json:"removed,omitempty"`
	Ended    int `json:"ended_somehow,omitempty"`
	// Unknown counts how often nobody knew any more who held it.
	Unknown int `json:"times_unknown,omitempty"`
	// Renewals counts renewals; LeastLeft is the least time that was left at one, of TTL.
	Renewals  int           `json:"renewals,omitempty"`
	LeastLeft time.Duration `json:"least_left_ns,omitempty"`
	TTL       time.Duration `json:"ttl_ns,omitempty"`
	// Refused counts how often it was asked for in vain; LongestWait is the longest that one value waited; MostAsked the most in one second.
	Refused     int           `json:"asked_in_vain,omitempty"`
	MostAsked   int           `json:"most_asked_in_a_second,omitempty"`
	LongestWait time.Duration `json:"longest_wait_ns,omitempty"`
	// Waits counts who got it after having asked in vain, and Waited is for how long they waited in all.
	Waits  int           `json:"-"`
	Waited time.Duration `json:"-"`
	// Held is how long it was held in all, LongestHeld the longest that one held it.
	Held        time.Duration `json:"held_ns,omitempty"`
	LongestHeld time.Duration `json:"longest_held_ns,omitempty"`
}

// HeldFor is for how long the present holder has had the lock; 0: there is none, or nobody knows.
func (k *Lock) HeldFor(now Time) time.Duration {
	if k.hold == nil {
		return 0
	}
	d, _ := now.since(k.hold.From)
	return max(d, 0)
}

// Hold is the time for which one owner had the lock.
type Hold struct {
	// Owner is the value, as text.
	Owner string
	// Source is the connection that set it; empty: nobody knows.
	Source string
	From   Time
	// expires is when its TTL runs out; zero: never, or nobody knows.
	expires Time
	// Over: it is over, since End, in the way that How says. By is who ended it.
	Over bool
	End  Time
	How  Ending
	By   string

	lock *Lock
	// values are what an owner may name: the value, or the fields that have it.
	values []string
	// exclusively: it was taken by a command that takes no lock that is held.
	exclusively bool
	// hasBare: it has had no TTL since bare. bareTold: that was said.
	bare              Time
	hasBare, bareTold bool
	// reads has which connections read the key.
	reads map[string]Time
	// told: it was said that the lock was lost.
	told bool
	// shared: another connection asked for the lock with the same value, so it says nothing of who it is.
	shared bool
	// renewers are other connections over which it was renewed.
	renewers []string
	// isWritten: its owner wrote its value while it lasted, so others may find it there, and write it again.
	isWritten bool
	// perhaps: it may have been its owner who wrote another value over it.
	perhaps bool
}

// mostRenewers bounds the connections that are kept of a hold.
const mostRenewers = 64

// Ending says how a hold ended.
type Ending uint8

const (
	// Released: a command that names the owner ended it.
	Released Ending = iota + 1
	// RanOut: its TTL did.
	RanOut
	// Removed: a command did that does not name the owner.
	Removed
	// Overwritten: another value was written over it.
	Overwritten
	// Evicted: the server needed the memory.
	Evicted
	// Vanished: it was gone, and nothing that was seen has done it.
	Vanished
	// Lost: a server took over that had it not.
	Lost
	// Unknown: it was removed or ran out: nobody knows which.
	Unknown
)

// try is how somebody asked in vain.
type try struct {
	first, last Time
	source      string
}

// candidate may hold the lock.
type candidate struct {
	key    command.Key
	at     Time
	source string
	// hold is the one that lasts if it is; nil: it would be a new one.
	hold *Hold
	nx   bool
}

// act is a step, as far as it is about one key.
type act struct {
	number int
	at     Time
	source string
	// lines are its commands that name the key: first that of the caller.
	lines [][]string
	// script and queued: it is a script, or a transaction. entry: it is of an append-only file.
	script, queued, entry, base bool
	// compared: what is in the key was read, or looked at, in the step before it was changed.
	compared bool
	// would is what a command would have made of no key; Absent: nothing.
	would   command.Key
	wouldNX bool
	before  command.Key
	open    *keylog.Step
	// changed is the command that changed the key first.
	changed []string
	// unclear: nobody knows what it did.
	unclear bool
}

// see takes in a line that is about the key.
func (k *Lock) see(l *monitor.Line, p *monitor.Placed) {
	a := k.act
	if k.fromLines = true; a == nil {
		k.overdue(p.Window)
		a = &act{number: p.Step, at: Time{At: l.At}, source: k.story.caller.Source, before: k.log.Replay.Key,
			script: l.Source == monitor.Script || isScript(l.Args)}
		if l.Source == monitor.Script && len(k.story.caller.Args) > 0 {
			a.lines = append(a.lines, k.story.caller.Args)
		}
		k.act = a
	}
	a.queued = a.queued || p.Queued
	if len(a.lines) < mostLines {
		a.lines = append(a.lines, l.Args)
	}
	k.replay(a, l, p.Window)
}

// seeEntry takes in an entry that is about the key.
func (k *Lock) seeEntry(l *monitor.Line, now Time, base bool) {
	if k.act == nil {
		k.act = &act{at: now, entry: true, base: base, before: k.log.Replay.Key}
	}
	k.act.lines = append(k.act.lines, l.Args)
	if strings.EqualFold(l.Args[0], "setnx") && k.Unclear() {
		k.log.Replay.Key = command.Key{} // it stands in the file because there was no key
	}
	k.replay(k.act, l, command.Span{}) // the file says itself when a key has run out, and has no times but absolute ones
}

// replay replays a command.
func (k *Lock) replay(a *act, l *monitor.Line, at command.Span) {
	r := &k.log.Replay
	done := command.Executed{Words: l.Args, DB: l.DB, At: at}
	if !r.Concerns(done) {
		k.read(a, l)
		return
	}
	k.Changes++
	before := r.Key
	a.compared = a.compared || a.open == nil && comparing(l.Args)
	if after := r.Outcomes(done, command.Key{})[0].After; after.Holds != command.Absent && after.Holds != command.Unclear {
		a.would, a.wouldNX = after, a.script || a.queued || refusesHeld(r, done)
		k.story.noteAsks(valuesOf(after), k)
	}
	k.noteUse(a, l)
	change := r.See(done, false)
	k.log.Now = keylog.Line{DB: l.DB, Args: l.Args, Caller: a.source, Span: at, Text: a.lines[0]}
	k.log.NoteFields(&k.log.Now)
	switch {
	case change.Lasting || change.Did == command.Obscured:
		k.doubt(a, before, change, done)
		return
	case change.Did == command.Kept && !change.Expired:
		return
	}
	if a.open == nil {
		a.open = &keylog.Step{Number: a.number, Before: before, Expired: change.Expired, Line: k.log.Now, At: at}
		a.changed = l.Args
	}
	a.open.Add(change, r.Key)
}

// noteUse takes note of what says whether the key is that of a lock.
func (k *Lock) noteUse(a *act, l *monitor.Line) {
	name := strings.ToUpper(l.Args[0])
	switch name {
	case "INCR", "INCRBY", "INCRBYFLOAT", "DECR", "DECRBY":
		k.counted = true
	case "SETNX", "HSETNX", "MSETNX":
		k.isLock = true
	case "SET":
		k.isLock = k.isLock || takesNX(l.Args) || a.script
		k.counted = k.counted && !k.isLock
	}
	k.written = k.written || a.would.Holds != command.Absent || k.counted
}

// besideLocks are how the keys begin that libraries keep beside their locks: Redisson the answer to a release, who waits and since when,
// and
// python-redis-lock what wakes up who waits.
var besideLocks = []string{"redisson_unlock_latch:", "redisson_lock_queue:", "redisson_lock_timeout:", "redisson_lock__channel:",
	"lock-signal:"}

// NoLock reports that a key is no lock, whatever --keys says: it is written, and neither asked for with NX nor given a TTL; it is a
// counter; or a library keeps it beside its locks.
func (k *Lock) NoLock() bool {
	return !k.isLock && k.written || slices.ContainsFunc(besideLocks, func(prefix string) bool { return strings.HasPrefix(k.Key, prefix) })
}

// refusesHeld reports that a command takes no lock that is held, whoever holds it.
func refusesHeld(r *command.Replay, done command.Executed) bool {
	const nobodys = "\x00"
	return r.Outcomes(done, command.Key{Holds: command.Text, Value: nobodys})[0].Did == command.Kept
}

// unlooking are commands that read a key, and not whose it is.
const unlooking = " EXISTS TTL PTTL TYPE EXPIRETIME PEXPIRETIME OBJECT STRLEN HLEN LLEN SCARD ZCARD MEMORY TOUCH WATCH PUBLISH "

// read takes note of a command that reads the key.
func (k *Lock) read(a *act, l *monitor.Line) {
	name := strings.ToUpper(l.Args[0])
	if isScript(l.Args) || strings.Contains(unlooking, " "+name+" ") {
		return
	}
	if l.Source == monitor.Script || k.story.watching[a.source] {
		a.compared = a.compared || a.open == nil
	}
	if k.hold != nil && l.Source != monitor.Script && len(k.hold.reads) < mostPast {
		if k.hold.reads == nil {
			k.hold.reads = make(map[string]Time)
		}
		k.hold.reads[a.source] = a.at
	}
}

// comparing reports that a command itself compares what is in the key.
func comparing(args []string) bool {
	switch strings.ToUpper(args[0]) {
	case "DELIFEQ":
		return true
	case "DELEX":
		return len(args) > 2
	case "SET":
		return slices.ContainsFunc(args[min(3, len(args)):], func(word string) bool { return strings.HasPrefix(strings.ToUpper(word), "IF") })
	}
	return false
}

// finish tells what the step did.
func (k *Lock) finish() {
	a := k.act
	if a == nil {
		return
	}
	k.act = nil
	if k.story.watching[a.source] && a.queued {
		a.compared = true // what has changed since the WATCH would have let it do nothing
	}
	switch {
	case a.open != nil:
		if a.open.Before.Holds == command.Unclear && a.compared {
			k.settleBy(a)
		}
		k.events = k.events[:0]
		_, before := k.log.RecordStep(a.open)
		k.judge(a, before)
	case a.unclear:
		if a.would.Holds != command.Absent && a.wouldNX && !a.entry {
			k.countAsk(a)
		}
		if a.compared && a.script {
			k.settleBy(a)
		}
	case !a.entry:
		k.attempted(a)
	}
}

// record takes what the log of the key tells of a step.
func (k *Lock) record(e history.Event) { k.events = append(k.events, e) }
