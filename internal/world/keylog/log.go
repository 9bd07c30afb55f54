package keylog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Log records what commands did to one of the lock's keys on one node.
type Log struct {
	Node string
	// Shown is what the history calls the key.
	Shown  string
	Record func(history.Event)
	// Program is nil where the lock is built in.
	Program *Program
	// Replay has what is known of the key.
	Replay command.Replay
	// Unclear: the last that was recorded is that nobody knows the key.
	Unclear bool
	// Now is the line that did it.
	Now Line
	// Doubted is called when nobody knows the key any more. It may be nil.
	Doubted func()
	// fields are those that clients wrote into the key, where it is a hash, or the elements, with who did; empty: several.
	fields map[string]string
	// literals are elements that a script wrote whose caller did not name them: marks, beside those that it named.
	literals map[string]bool
}

// Program is what the keys of a lock program need to be understood.
type Program struct {
	// Leased: the lock keeps its lease in the value of its key.
	Leased bool
	// Permits: the lock is a semaphore. Each element of a sorted set is a permit, and is recorded as a key of its own.
	Permits bool
	// WallOffset is what to subtract from the wall clocks of clients to get run time.
	WallOffset func() time.Duration
	// Served is the client that has waited for a key, and got it; empty: none, or nobody knows.
	Served func(key string) string
}

// Line is a command that a node carried out.
type Line struct {
	// DB is the database that it was carried out in.
	DB   int
	Args []string
	// Caller is the client whose line it is, Span when it was carried out.
	Caller string
	Span   command.Span
	// Left is when it left its client, on the run's clock, where a link has told; Text are
	// the words that the client sent, where those are the words of a script's caller.
	Left history.Int
	Text []string
	// Stranger: the connection is none of those that may change the lock's keys.
	Stranger bool
}

// Executed is a line's command.
func (c *Line) Executed() command.Executed {
	return command.Executed{Words: c.Args, DB: c.DB, At: c.Span}
}

// RecordStep records what a step did to the key in all, and tells that, and what the key was before.
func (k *Log) RecordStep(s *Step) (command.Change, command.Key) {
	change, before := k.changeOf(s)
	k.Now = s.Line
	k.RecordChange(change, before, s.Line.Args[0], s.Line.Caller, s.At)
	if s.fleeting(change, k.Replay.Key) && !s.Line.Stranger {
		k.Replay.Key = s.last
		k.recordWritten(history.KeySet, command.Change{Ends: s.ends}, s.Line.Caller, s.At)
		k.Replay.Key = command.Key{}
		k.RecordKey(history.KeyDeleted, s.last, s.Line.Caller, nil)
	}
	return change, before
}

// changeOf is what a step did to the key in all, and what the key was before. Permits of before are those that it had, also if all were
// removed in between.
func (k *Log) changeOf(s *Step) (command.Change, command.Key) {
	change, before := s.change(k.Replay.Key)
	if k.hasPermits(s.Before) {
		before = s.Before
	}
	return change, before
}

// RecordChange records what a command did to the key, which was as before says.
func (k *Log) RecordChange(change command.Change, before command.Key, name, caller string, at command.Span) {
	if change.Expired {
		k.RecordKey(history.KeyExpired, before, "", nil)
		before = command.Key{}
	}
	if k.hasPermits(before) || k.hasPermits(k.Replay.Key) {
		k.recordPermits(change, before, caller, at)
		return
	}
	if k.hasSeveralOwners(k.Replay.Key) && (change.Did == command.Wrote || change.Did == command.Extended) {
		k.RecordUnknown(name, caller) // who of them holds the lock is not known
		return
	}
	switch change.Did {
	case command.Wrote:
		k.recordWrite(change, before, caller, at)
	case command.Extended:
		k.recordWritten(history.KeyExtended, change, caller, at)
	case command.Deleted:
		if before.Holds == command.Unclear { // what it was is not known, or whether it was
			caller = ""
		}
		k.RecordKey(history.KeyDeleted, before, caller, nil)
	case command.Obscured:
		k.RecordUnknown(name, caller)
	}
}

// recordWrite records that the key was written. Of a hash, which counts how often its owner
// entered, only what its owner sees is told, unless what it counts may be the lease. So it is with elements, but a new score
// may be a lease, too. Who only removes elements of several has not written those that are left.
func (k *Log) recordWrite(change command.Change, before command.Key, caller string, at command.Span) {
	now := k.Replay.Key
	same := now.Holds == before.Holds && now.Holds != command.Text && k.Owner(now) == k.Owner(before)
	if same && change.Ends && !k.leased() {
		k.recordWritten(history.KeyExtended, change, caller, at)
		return
	}
	if same && now.Holds != command.Sorted && !k.leased() {
		return
	}
	if !same && isLess(now, before) {
		k.RecordKey(history.KeySet, now, "", k.ttlAt(at))
		return
	}
	k.recordWritten(history.KeySet, change, caller, at)
	if now.Expires != (command.Span{}) && now.Expires.To < at.From { // written with an end that was past
		k.RecordKey(history.KeyExpired, now, "", nil)
		k.Replay.Key = command.Key{}
	}
}

// hasPermits reports that the elements of a key are permits.
func (k *Log) hasPermits(key command.Key) bool {
	return key.Holds == command.Sorted && k.Program != nil && k.Program.Permits
}

// recordPermits records what a command did to the permits: it has set those to which it gave a score, or another one.
func (k *Log) recordPermits(change command.Change, before command.Key, caller string, at command.Span) {
	now := k.Replay.Key
	if change.Did == command.Obscured || now.Holds != command.Absent && !k.hasPermits(now) {
		k.RecordUnknown(k.Now.Args[0], caller)
		return
	}
	k.Unclear = false
	for _, e := range before.Elements() {
		if _, left := now.Fields[e]; !left {
			permit, gone := k.permit(e)
			permit.RecordKey(history.KeyDeleted, gone, caller, nil)
		}
	}
	for _, e := range now.Elements() {
		if score, had := before.Fields[e]; had && score == now.Fields[e] {
			continue
		}
		permit, set := k.permit(e)
		if permit.Replay.Key = set; change.Ends {
			permit.Replay.Expires = now.Expires
		}
		permit.recordWritten(history.KeySet, change, caller, at)
	}
}

// permit is an element of the key, as a key of its own that has no end.
func (k *Log) permit(element string) (*Log, command.Key) {
	one := *k
	one.Shown += " " + history.OwnerText(element)
	return &one, command.Key{Holds: command.Text, Value: element}
}

// leased reports that the lock keeps its lease in the value of its key.
func (k *Log) leased() bool { return k.Program != nil && k.Program.Leased }

// isLess reports that a key has some of the elements that it had before, and no others.
func isLess(now, before command.Key) bool {
	had := before.Elements()
	return len(now.Elements()) > 0 && len(now.Elements()) < len(had) &&
		!slices.ContainsFunc(now.Elements(), func(e string) bool { return !slices.Contains(had, e) })
}

// hasSeveralOwners reports that a key has elements of several clients, apart from those that each of them writes.
func (k *Log) hasSeveralOwners(key command.Key) bool {
	first, some := "", false
	isMark := k.marksOf(key)
	for _, e := range key.Elements() {
		if isMark(e) {
			continue
		}
		by := k.fields[e]
		if some && by != first {
			return true
		}
		first, some = by, true
	}
	return false
}

// marksOf tells the elements of a key, or fields of a hash, that say nothing of its owner: those that several clients write, and, where
// there are others, those that no client named.
func (k *Log) marksOf(key command.Key) func(string) bool {
	shared := func(e string) bool { by, written := k.fields[e]; return written && by == "" }
	mark := func(e string) bool { return shared(e) || k.literals[e] }
	if all := key.Elements(); slices.ContainsFunc(all, func(e string) bool { return !mark(e) }) {
		return mark
	}
	return shared
}

// recordWritten records that a command of a caller gave the key its end, or a new one, and,
// where a link told, when it left its client and till when it asked for the key.
func (k *Log) recordWritten(f history.F, change command.Change, caller string, at command.Span) {
	v := history.Value{Key: k.Shown, Owner: history.OwnerText(k.Owner(k.Replay.Key)), Client: caller, Grant: k.ttlAt(at)}
	end := k.Replay.Expires
	if end == (command.Span{}) || change.Ends || k.leased() {
		if k.Now.Left.IsSet() {
			v.Outcome = &history.Outcome{At: k.Now.Left}
			if end != (command.Span{}) && change.Ends {
				v.OwnGrant().ValidUntil = k.askedTill(end, at)
			}
		} else if k.Program != nil && caller != "" {
			k.Record(history.Event{Process: k.Node, Type: history.Info, F: history.KeyUnclear, Value: history.Value{
				Key: k.Shown, Client: caller, Rare: &history.Rare{Detail: strings.ToUpper(k.Now.Args[0]) + ", sent nobody knows when,"}}})
		}
	}
	k.Unclear = false
	k.Record(history.Event{Process: k.Node, Type: history.Info, F: f, Value: v})
}

// askedTill is the run time till which the line's command asked for the key: by the clocks of
// clients where it names that instant, and else from when it left its client. How the
// node's clock went after that is of no matter.
func (k *Log) askedTill(end, at command.Span) history.Int {
	if k.Program != nil && end.From == end.To && command.NamesInstant(k.Now.Text, end.From) {
		return history.Some(int64(time.Duration(end.From)*time.Millisecond - k.Program.WallOffset()))
	}
	return history.Some(k.Now.Left.V() + int64(time.Duration(min(end.From-at.From, end.To-at.To))*time.Millisecond))
}

// ttlAt says how long the key still lives at an instant.
func (k *Log) ttlAt(at command.Span) *history.Grant {
	end := k.Replay.Expires
	if end == (command.Span{}) {
		return nil
	}
	return &history.Grant{TTL: history.Some(int64(time.Duration(max(end.To-at.To, 0)) * time.Millisecond))}
}

// RecordUnknown records that from here on nobody knows what the key holds, for a
// command of a caller.
func (k *Log) RecordUnknown(name, caller string) {
	k.RecordUnclear(history.Value{Client: caller, Rare: &history.Rare{Detail: strings.ToUpper(name)}})
}

func (k *Log) RecordUnclear(v history.Value) {
	if v.Key = k.Shown; !k.Unclear || v.Stranger() {
		k.Record(history.Event{Process: k.Node, Type: history.Info, F: history.KeyUnclear, Value: v})
	}
	k.Unclear = true
	if k.Doubted != nil {
		k.Doubted()
	}
}

// RecordElsewhere records that a key of that name is in another database.
func (k *Log) RecordElsewhere(name string, db int) {
	k.RecordUnclear(history.Value{Rare: &history.Rare{
		Detail: fmt.Sprintf("%s in database %d, of which nothing is observed,", strings.ToUpper(name), db)}})
}

// RecordStranger records that a line changed the key whose connection is no client's.
func (k *Log) RecordStranger(c *Line) {
	k.RecordUnclear(history.Value{Rare: &history.Rare{Stranger: true,
		Detail: strings.ToUpper(c.Args[0]) + " over a connection that is no client's link"}})
}

// RecordKey records what became of a key, which is, or was, as it says.
func (k *Log) RecordKey(f history.F, key command.Key, caller string, lives *history.Grant) {
	k.Unclear = false
	if k.hasPermits(key) {
		for _, e := range key.Elements() {
			permit, is := k.permit(e)
			permit.RecordKey(f, is, caller, lives)
		}
		return
	}
	k.Record(history.Event{Process: k.Node, Type: history.Info, F: f, Value: history.Value{
		Key: k.Shown, Owner: history.OwnerText(k.Owner(key)), Client: caller, Grant: lives,
	}})
}

// Owner is the value of a lock's client that a key has.
func (k *Log) Owner(key command.Key) string {
	return key.Owner(k.marksOf(key))
}

// NoteFields takes note of the fields that a client writes into a hash, and of elements, whether the node lets it or not.
func (k *Log) NoteFields(c *Line) {
	if c.Caller == "" || len(c.Args) < 3 || c.Args[1] != k.Replay.Name {
		return
	}
	from, step := writtenFields(c.Args)
	if step == 0 {
		return
	}
	if k.fields == nil {
		k.fields = make(map[string]string)
	}
	if !strings.HasPrefix(strings.ToUpper(c.Args[0]), "H") {
		k.noteLiterals(c.Args[from:], c.Text)
	}
	for i := from; i < len(c.Args) && len(k.fields) < maxFields; i += step {
		if by, known := k.fields[c.Args[i]]; !known {
			k.fields[c.Args[i]] = c.Caller
		} else if by != c.Caller {
			k.fields[c.Args[i]] = ""
		}
	}
}

// writtenFields says where in a command the fields or elements stand that it writes: the first, and how many words on the next one.
// A step of 0: it writes none.
func writtenFields(args []string) (from, step int) {
	switch strings.ToUpper(args[0]) {
	case "HSET", "HMSET", "HSETNX":
		return 2, 2
	case "HSETEX":
		i := slices.IndexFunc(args, func(word string) bool { return strings.EqualFold(word, "FIELDS") })
		if i > 0 {
			return i + 2, 2
		}
	case "HINCRBY", "HINCRBYFLOAT":
		return 2, len(args)
	case "LPUSH", "RPUSH", "LPUSHX", "RPUSHX", "SADD":
		return 2, 1
	case "ZADD", "ZINCRBY": // a number that is no member, and an option, is nobody's
		return 3, 1
	}
	return 0, 0
}

// noteLiterals takes note of elements that the caller of a script did not name.
func (k *Log) noteLiterals(elements, named []string) {
	for _, e := range elements {
		if slices.Contains(named, e) || len(k.literals) == maxFields {
			continue
		}
		if k.literals == nil {
			k.literals = make(map[string]bool)
		}
		k.literals[e] = true
	}
}

// maxFields bounds how many fields of a hash are told apart by who wrote them.
const maxFields = 10_000
