package observe

import (
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// keyLog records what commands did to one of the lock's keys on one node.
type keyLog struct {
	node string
	// shown is what the history calls the key.
	shown     string
	record    func(history.Event)
	strangers *Strangers
	// replay has what is known of the key.
	replay command.Replay
	// unclear: the last that was recorded is that nobody knows the key.
	unclear bool
	// now is the line that did it.
	now monitored
	// fields are those that clients wrote into the key, where it is a hash, or the elements, with who did; empty: several.
	fields map[string]string
	// literals are elements that a script wrote whose caller did not name them: marks, beside those that it named.
	literals map[string]bool
	// doubted is called when nobody knows the key any more. It may be nil.
	doubted func()
}

// recordChange records what a command did to the key, which was as before says.
func (k *keyLog) recordChange(change command.Change, before command.Key, name, caller string, at command.Span) {
	if change.Expired {
		k.recordKey(history.KeyExpired, k.owner(before), "", nil)
		before = command.Key{}
	}
	if k.hasSeveralOwners(k.replay.Key) && (change.Did == command.Wrote || change.Did == command.Extended) {
		k.recordUnknown(name, caller) // who of them holds the lock is not known
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
		k.recordKey(history.KeyDeleted, k.owner(before), caller, nil)
	case command.Obscured:
		k.recordUnknown(name, caller)
	}
}

// recordWrite records that the key was written. Of a hash, which counts how often its owner
// entered, only what its owner sees is told, unless what it counts may be the lease. So it is with elements, but a new score
// may be a lease, too. Who only removes elements of several has not written those that are left.
func (k *keyLog) recordWrite(change command.Change, before command.Key, caller string, at command.Span) {
	now := k.replay.Key
	same := now.Holds == before.Holds && now.Holds != command.Text && k.owner(now) == k.owner(before)
	if same && change.Ends && !k.leased() {
		k.recordWritten(history.KeyExtended, change, caller, at)
		return
	}
	if same && now.Holds != command.Sorted && !k.leased() {
		return
	}
	if !same && isLess(now, before) {
		k.recordKey(history.KeySet, k.owner(now), "", k.ttlAt(at))
		return
	}
	k.recordWritten(history.KeySet, change, caller, at)
	if now.Expires != (command.Span{}) && now.Expires.To < at.From { // written with an end that was past
		k.recordKey(history.KeyExpired, k.owner(now), "", nil)
		k.replay.Key = command.Key{}
	}
}

// leased reports that the lock keeps its lease in the value of its key.
func (k *keyLog) leased() bool { return k.strangers != nil && k.strangers.Leased }

// isLess reports that a key has some of the elements that it had before, and no others.
func isLess(now, before command.Key) bool {
	had := before.Elements()
	return len(now.Elements()) > 0 && len(now.Elements()) < len(had) &&
		!slices.ContainsFunc(now.Elements(), func(e string) bool { return !slices.Contains(had, e) })
}

// hasSeveralOwners reports that a key has elements of several clients, apart from those that each of them writes.
func (k *keyLog) hasSeveralOwners(key command.Key) bool {
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
func (k *keyLog) marksOf(key command.Key) func(string) bool {
	shared := func(e string) bool { by, written := k.fields[e]; return written && by == "" }
	mark := func(e string) bool { return shared(e) || k.literals[e] }
	if all := key.Elements(); slices.ContainsFunc(all, func(e string) bool { return !mark(e) }) {
		return mark
	}
	return shared
}

// recordWritten records that a command of a caller gave the key its end, or a new one, and,
// where a link told, when it left its client and till when it asked for the key.
func (k *keyLog) recordWritten(f history.F, change command.Change, caller string, at command.Span) {
	v := history.Value{Key: k.shown, Owner: history.OwnerText(k.owner(k.replay.Key)), Client: caller, Grant: k.ttlAt(at)}
	end := k.replay.Expires
	if end == (command.Span{}) || change.Ends || k.leased() {
		if k.now.left.IsSet() {
			v.Outcome = &history.Outcome{At: k.now.left}
			if end != (command.Span{}) && change.Ends {
				v.OwnGrant().ValidUntil = k.askedTill(end, at)
			}
		} else if k.strangers != nil && caller != "" {
			k.record(history.Event{Process: k.node, Type: history.Info, F: history.KeyUnclear, Value: history.Value{
				Key: k.shown, Client: caller, Rare: &history.Rare{Detail: strings.ToUpper(k.now.args[0]) + ", sent nobody knows when,"}}})
		}
	}
	k.unclear = false
	k.record(history.Event{Process: k.node, Type: history.Info, F: f, Value: v})
}

// askedTill is the run time till which the line's command asked for the key: by the clocks of
// clients where it names that instant, and else from when it left its client. How the
// node's clock went after that is of no matter.
func (k *keyLog) askedTill(end, at command.Span) history.Int {
	if k.strangers != nil && end.From == end.To && command.NamesInstant(k.now.text, end.From) {
		offset, _ := k.strangers.WallOffset()
		return history.Some(int64(time.Duration(end.From)*time.Millisecond - offset))
	}
	return history.Some(k.now.left.V() + int64(time.Duration(min(end.From-at.From, end.To-at.To))*time.Millisecond))
}

// ttlAt says how long the key still lives at an instant.
func (k *keyLog) ttlAt(at command.Span) *history.Grant {
	end := k.replay.Expires
	if end == (command.Span{}) {
		return nil
	}
	return &history.Grant{TTL: history.Some(int64(time.Duration(max(end.To-at.To, 0)) * time.Millisecond))}
}

func grantOfTTL(ttl history.Int) *history.Grant {
	if !ttl.IsSet() {
		return nil
	}
	return &history.Grant{TTL: ttl}
}

// recordUnknown records that from here on nobody knows what the key holds, for a
// command of a caller.
func (k *keyLog) recordUnknown(name, caller string) {
	k.recordUnclear(history.Value{Client: caller, Rare: &history.Rare{Detail: strings.ToUpper(name)}})
}

func (k *keyLog) recordUnclear(v history.Value) {
	if v.Key = k.shown; !k.unclear || v.Stranger() {
		k.record(history.Event{Process: k.node, Type: history.Info, F: history.KeyUnclear, Value: v})
	}
	k.unclear = true
	if k.doubted != nil {
		k.doubted()
	}
}

// recordStranger records that a line changed the key whose connection is no client's.
func (k *keyLog) recordStranger(c *monitored) {
	k.recordUnclear(history.Value{Rare: &history.Rare{Stranger: true,
		Detail: strings.ToUpper(c.args[0]) + " over a connection that is no client's link"}})
}

func (k *keyLog) recordKey(f history.F, owner, caller string, lives *history.Grant) {
	k.unclear = false
	k.record(history.Event{Process: k.node, Type: history.Info, F: f, Value: history.Value{
		Key: k.shown, Owner: history.OwnerText(owner), Client: caller, Grant: lives,
	}})
}

// owner is the value of a lock's client that a key has.
func (k *keyLog) owner(key command.Key) string {
	return key.Owner(k.marksOf(key))
}

// noteFields takes note of the fields that a client writes into a hash, and of elements, whether the node lets it or not.
func (k *keyLog) noteFields(c *monitored) {
	if c.caller == "" || len(c.args) < 3 || c.args[1] != k.replay.Name {
		return
	}
	from, step := writtenFields(c.args)
	if step == 0 {
		return
	}
	if k.fields == nil {
		k.fields = make(map[string]string)
	}
	if !strings.HasPrefix(strings.ToUpper(c.args[0]), "H") {
		k.noteLiterals(c.args[from:], c.text)
	}
	for i := from; i < len(c.args) && len(k.fields) < maxFields; i += step {
		if by, known := k.fields[c.args[i]]; !known {
			k.fields[c.args[i]] = c.caller
		} else if by != c.caller {
			k.fields[c.args[i]] = ""
		}
	}
}

// writtenFields says where in a command the fields or elements stand that it writes: the first, and how many words on the next one.
// A step of 0: it writes none.
func writtenFields(args []string) (from, step int) {
	switch strings.ToUpper(args[0]) {
	case "HSET", "HMSET", "HSETNX":
		return 2, 2
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
func (k *keyLog) noteLiterals(elements, named []string) {
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
