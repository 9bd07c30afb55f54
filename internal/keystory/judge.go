package keystory

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// judge tells what a step that changed the key did. The key was as before says.
func (k *Lock) judge(a *act, before command.Key) {
	for _, e := range k.events {
		switch e.F {
		case history.KeyExpired:
			k.ended(RanOut, endOf(before), "")
			before = command.Key{}
		case history.KeySet:
			k.set(a, before)
		case history.KeyExtended:
			k.renewed(a, before)
		case history.KeyDeleted:
			k.removed(a, before)
		case history.KeyUnclear:
			k.log.Replay.Key = before
			k.forget(a.name() + ", after which it has several owners, or none that can be told")
		}
	}
	if len(k.events) == 0 && a.open != nil && k.hold == nil && a.base && k.log.Replay.Holds != command.Absent {
		k.begins(k.log.Replay.Key, Time{}, "", false, "before the file begins")
	}
}

// set tells that the key was written.
func (k *Lock) set(a *act, before command.Key) {
	is := k.log.Replay.Key
	if a.base {
		k.hold = nil
		k.begins(is, Time{}, "", false, "before the file begins")
		return
	}
	if k.hold != nil && k.hold.Owner == k.owner(is) {
		k.renewed(a, before)
		return
	}
	if k.hold != nil {
		k.overwritten(a, before, is)
	}
	back := k.pastOf(is)
	k.begins(is, a.at, a.source, a.wouldNX, "")
	if back == nil || back.shared || a.wouldNX || a.entry || !plainSet(a.changed) {
		return
	}
	k.find(BroughtBack, !back.exclusively || !back.isOver(a.source), a.at, "%s sets the key anew for %s, whose lock had ended%s (%s)",
		a.name(), back.Owner, earlier(a.at, back.End), back.How)
}

// plainSet reports that a command writes a string whatever there is.
func plainSet(args []string) bool {
	switch strings.ToUpper(args[0]) {
	case "SET", "SETEX", "PSETEX", "GETSET", "MSET":
		return true
	}
	return false
}

// overwritten tells that another value was written over that of the holder.
func (k *Lock) overwritten(a *act, before, is command.Key) {
	h := k.hold
	k.bare(h, a.at, true)
	switch {
	case !plainSet(a.changed) || before.Holds != command.Text || is.Holds != command.Text:
		k.ended(Unknown, a.at, a.source)
		return
	case leaseOver(before.Value, a.at): // the value says itself until when it counts
		k.ended(RanOut, a.at, "")
		return
	}
	renews := len(a.changed) > 3 && slices.ContainsFunc(a.changed[3:], func(word string) bool { return strings.EqualFold(word, "XX") })
	h.told = true
	// An append-only file has neither XX nor what a script compared: an owner may have renewed its lock with a new value.
	h.perhaps = a.entry || renews || (a.script || a.queued) && a.compared
	k.find(OverwrittenKey, h.perhaps, a.at, "%s%s writes %s in the place of %s, which held the lock%s",
		a.name(), k.over(a.source), k.owner(is), h.Owner, left(before, a.at))
	k.ended(Overwritten, a.at, a.source)
}

// leaseOver reports that a value is an instant that is past.
func leaseOver(value string, now Time) bool {
	at, ok := instantIn(value)
	return ok && isInstant(value, now) && at <= now.At
}

// isInstant reports that a value is an instant that is not long ago, and comes soon.
func isInstant(value string, now Time) bool {
	at, ok := instantIn(value)
	return ok && now.At > 0 && (now.At-at).Abs() < 30*24*time.Hour
}

// instantIn reads an instant, in s or ms since 1970.
func instantIn(value string) (time.Duration, bool) {
	number, _, _ := strings.Cut(value, ".")
	n, ok := command.Integer(number)
	switch {
	case ok && len(number) == 10:
		return time.Duration(n) * time.Second, true
	case ok && len(number) == 13:
		return time.Duration(n) * time.Millisecond, true
	}
	return 0, false
}

// begins tells that somebody has the lock from now on.
func (k *Lock) begins(is command.Key, at Time, source string, nx bool, why string) {
	h := &Hold{Owner: k.owner(is), Source: source, From: at, lock: k, values: valuesOf(is), exclusively: nx}
	if is.Expires != (command.Span{}) {
		h.expires = endOf(is)
		k.isLock = k.isLock || !k.counted
	}
	k.hold = h
	k.keepHold(h)
	now, text := at, h.Owner+" gets it"+k.over(source)
	switch again := k.paused != nil && k.paused.Owner == h.Owner; {
	case at == Time{} && again:
		now, text = k.story.Last, h.Owner+" has it again, or still"
		h.From = now
	case at == Time{}:
		k.Totals.Holds++
		k.Totals.Found++
		now, text = k.story.Last, h.Owner+" has it"
	default:
		k.Totals.Holds++
	}
	k.paused = nil
	if ttl, ok := h.expires.since(now.inMs()); ok {
		k.Totals.TTL = max(k.Totals.TTL, ttl)
		text += until(h.expires, now)
	} else if is.Expires == (command.Span{}) && !isInstant(is.Value, now) {
		h.hasBare, h.bare = true, now
		text += ", without a TTL"
	}
	if why != "" {
		text += " (" + why + ")"
	}
	if old := k.pastOf(is); old != nil {
		h.shared = old.shared
	}
	for _, v := range h.values {
		if t, waited := k.tried[v]; waited {
			if d, ok := now.since(t.first); ok && at != (Time{}) {
				k.Totals.Waits++
				k.Totals.Waited += d
				k.Totals.LongestWait = max(k.Totals.LongestWait, d)
			}
		}
		delete(k.tried, v)
		delete(k.past, v)
	}
	k.tell(now, "%s", text)
	k.story.remember(h)
	if k.story.o.Began != nil {
		k.story.o.Began(k, h)
	}
}

// remember keeps a hold by its values and its connection. A value, or a connection, that has had several locks says nothing of which of
// them somebody needs who writes.
func (s *Story) remember(h *Hold) {
	for _, v := range h.values {
		if len(v) >= shortest && !keep(s.values, v, h, mostValues) {
			s.Left.Values++
		}
	}
	if h.Source != "" {
		keep(s.sources, h.Source, h, mostNames)
	}
}

// ofSeveral is in the place of the hold of a value, or a connection, that has had several locks.
var ofSeveral = &Hold{}

// keep keeps a hold under a name; false: there are too many.
func keep(holds map[string]*Hold, name string, h *Hold, most int) bool {
	switch before, known := holds[name]; {
	case !known && len(holds) >= most:
		return false
	case known && before.lock != h.lock:
		holds[name] = ofSeveral
	default:
		holds[name] = h
	}
	return true
}

// shortest is how long a value is, at least, that is known again in what clients write.
const shortest = 4

// ended tells that the hold is over.
func (k *Lock) ended(how Ending, at Time, by string) {
	h := k.hold
	if h == nil {
		return
	}
	k.hold = nil
	h.Over, h.End, h.How, h.By = true, at, how, by
	switch how {
	case Released:
		k.Totals.Released++
	case RanOut:
		k.Totals.RanOut++
		k.tell(at, "the TTL of %s runs out", h.Owner)
	case Unknown:
		k.Totals.Ended++
	case Removed, Overwritten, Evicted, Vanished, Lost:
		k.Totals.Removed++
	}
	k.countHeld(h, at)
	if len(k.past) >= mostPast {
		for v, old := range k.past { // any of them: which is of no matter, as long as there are not more and more
			if old.End.At <= at.At {
				delete(k.past, v)
				break
			}
		}
	}
	for _, v := range h.values {
		k.past[v] = h
	}
}

// isOver reports that what comes over a connection and names the owner of a hold comes from that owner: it took or renewed the lock over
// it, or its value is one that nobody else writes. Every client may write a value such as "1" or "locked".
func (h *Hold) isOver(source string) bool {
	return h.Source == source || slices.Contains(h.renewers, source) || slices.ContainsFunc(h.values, unique)
}

// unique reports that a value looks as if it was made for one owner alone: it is long, and has what a random one has.
func unique(value string) bool {
	const long, differ = 16, 8
	seen := make(map[rune]bool)
	digit := false
	for _, r := range value {
		seen[r] = true
		digit = digit || unicode.IsDigit(r)
	}
	return len(value) >= long && digit && len(seen) >= differ
}

// pastOf is the latest hold that had the value of a key; nil: there is none.
func (k *Lock) pastOf(is command.Key) *Hold {
	for _, v := range valuesOf(is) {
		if h := k.past[v]; h != nil {
			return h
		}
	}
	return nil
}

// mayBeBare is how long a lock may have no TTL, for those that set it in a second step.
const mayBeBare = time.Second

// bare tells that a lock has no TTL: where that is over, or after some time.
func (k *Lock) bare(h *Hold, now Time, over bool) {
	if !h.hasBare || h.bareTold {
		return
	}
	d, known := now.since(h.bare)
	if !over && (!known || d < mayBeBare || now.Entry > 0 && d < mayBeBare+inSecond) {
		return
	}
	h.bareTold = true
	lasted := ""
	if known {
		lasted = " for " + now.length(d)
	}
	question := k.sampled && !slices.ContainsFunc(h.values, unique) // it may have been another each time
	k.find(WithoutTTL, question, now, "%s has had the lock%s without a TTL: if its client dies, nobody gets it any more", h.Owner, lasted)
}

// renewed tells that the key got another end.
func (k *Lock) renewed(a *act, before command.Key) {
	is, h := k.log.Replay.Key, k.hold
	if h == nil {
		return
	}
	h.reads = nil
	k.isLock = k.isLock || !k.counted && is.Expires != (command.Span{})
	if is.Expires == (command.Span{}) {
		if !h.hasBare {
			h.hasBare, h.bare = true, a.at
			k.tell(a.at, "%s takes the TTL away%s", a.name(), k.over(a.source))
		}
		return
	}
	h.expires = endOf(is)
	if h.hasBare {
		k.bare(h, a.at, false)
		if d, _ := a.at.since(h.bare); !a.entry && !h.bareTold {
			k.find(TTLApart, false, a.at, "%s gets its TTL %s after the lock, in a step of its own (%s): "+
				"a client that dies between the two keeps the lock for ever", h.Owner, durationText(d), a.name())
		}
		h.hasBare = false
		k.tell(a.at, "%s gets a TTL%s", h.Owner, until(h.expires, a.at))
		return
	}
	k.Totals.Renewals++
	if a.source != h.Source && len(h.renewers) < mostRenewers && !slices.Contains(h.renewers, a.source) {
		h.renewers = append(h.renewers, a.source)
	}
	text := h.Owner + " renews it" + k.over(a.source)
	if ttl, ok := h.expires.since(a.at.inMs()); ok {
		k.Totals.TTL = max(k.Totals.TTL, ttl)
		text += until(h.expires, a.at)
	}
	if d, ok := endOf(before).since(a.at); ok && !a.entry && before.Expires != (command.Span{}) {
		if k.Totals.LeastLeft == 0 || d < k.Totals.LeastLeft {
			k.Totals.LeastLeft = max(d, time.Nanosecond)
		}
		text += fmt.Sprintf(" (%s were left)", durationText(d))
	}
	k.tellRenewal(a.at, text, h)
}

// removed tells that the key was removed, and whether its holder did it.
func (k *Lock) removed(a *act, before command.Key) {
	h := k.hold
	if h != nil {
		k.bare(h, a.at, true)
	}
	switch {
	case h == nil && (a.entry || a.compared):
		k.tell(a.at, "%s removes it%s; who had it is not known", a.name(), k.over(a.source))
		return
	case h == nil:
		k.find(NotCompared, true, a.at, "%s removes it%s, and compares nothing; who had the lock, if anybody, is not known", a.name(),
			k.over(a.source))
		return
	}
	if a.entry {
		k.removedInFile(a, before)
		return
	}
	named := a.names(h.values)
	switch {
	case a.compared && named, slices.ContainsFunc(h.values, func(v string) bool { return slices.Contains(a.changed, v) }):
		k.tell(a.at, "%s gives it back%s%s", h.Owner, k.over(a.source), after(h, a.at))
		k.ended(Released, a.at, a.source)
		return
	case !named && k.namesAnother(a) != nil:
		o := k.namesAnother(a)
		h.told = true
		k.find(ByAnother, !o.isOver(a.source), a.at, "%s of %s ended the lock of %s%s%s", a.name(), o.Owner, h.Owner,
			k.over(a.source), left(before, a.at))
		k.ended(Removed, a.at, a.source)
		return
	case a.compared:
		k.tell(a.at, "%s reads it and removes it%s, and names no owner: whose it is nobody can tell", a.name(), k.over(a.source))
		k.ended(Unknown, a.at, a.source)
		return
	}
	text := fmt.Sprintf("%s ended the lock of %s%s%s, and compares nothing", a.name(), h.Owner, k.over(a.source), left(before, a.at))
	if at, read := h.reads[a.source]; read {
		if d, ok := a.at.since(at); ok {
			text += fmt.Sprintf(" (the connection had read the key %s before: the lock can pass on between the two)", durationText(d))
		}
	}
	k.find(NotCompared, false, a.at, "%s", text)
	if h.Source != "" && h.Source != a.source {
		k.find(ByAnother, true, a.at, "%s was set over %s, and ended over %s: by somebody else, or by the same client with several connections?",
			h.Owner, k.story.connection(h.Source), k.story.connection(a.source))
	}
	k.ended(Removed, a.at, a.source)
}

// namesAnother is an owner of before whom a step names, and not the holder.
func (k *Lock) namesAnother(a *act) *Hold {
	if !isScript(a.lines[0]) {
		return nil // its other words are numbers and keys
	}
	for _, word := range named(a.lines[0]) {
		if o := k.past[word]; o != nil && !o.shared {
			return o
		}
	}
	return nil
}

// removedInFile tells that an entry of a file removes the key: the server writes the same where a client did it and where the TTL ran out.
func (k *Lock) removedInFile(a *act, before command.Key) {
	h := k.hold
	end := endOf(before)
	switch {
	case before.Expires == (command.Span{}):
		k.tell(a.at, "it is removed; the file does not say by whom")
		k.ended(Unknown, a.at, "")
	case a.at.At == 0:
		k.tell(a.at, "it is removed, or the TTL of %s runs out: without times the file does not say which", h.Owner)
		k.ended(Unknown, a.at, "")
	case a.at.At >= end.At:
		k.ended(RanOut, end, "")
	case a.at.At+inSecond < end.At:
		k.tell(a.at, "it is removed%s; the file does not say by whom", left(before, a.at))
		k.ended(Unknown, a.at, "")
	default:
		k.tell(a.at, "it is removed, or the TTL of %s runs out: both fit the second", h.Owner)
		k.ended(Unknown, a.at, "")
	}
}

// inSecond is how long after its second an entry may have been written: the server's clock of seconds can be late.
const inSecond = 2 * time.Second

// tooOften is how often in one second a lock may be asked for in vain.
const tooOften = 1000

// attempted tells of a step that changed nothing.
func (k *Lock) attempted(a *act) {
	var owner []string
	asks := a.would.Holds != command.Absent && a.wouldNX
	if asks {
		owner = valuesOf(a.would)
	} else if a.script {
		can, known := k.story.scriptCan(a.lines[0])
		if !known {
			return
		}
		if asks = can&command.CanSet != 0; asks {
			for _, word := range named(a.lines[0]) {
				k.asked(word, a)
			}
		}
	}
	switch {
	case asks && k.hold != nil:
		k.refused(a, owner)
	case !asks && !k.Unclear():
		k.cameLate(a)
	}
}

func (k *Lock) refused(a *act, owner []string) {
	for _, v := range owner {
		k.asked(v, a)
		if slices.Contains(k.hold.values, v) && a.source != k.hold.Source {
			k.hold.shared = true
		}
	}
	k.Totals.Refused++
	k.countAsk(a)
}

// countAsk counts how often the lock is asked for within a second.
func (k *Lock) countAsk(a *act) {
	if second := a.at.At.Truncate(time.Second); second != k.second {
		k.second, k.asks = second, 0
	}
	k.asks++
	k.Totals.MostAsked = max(k.Totals.MostAsked, k.asks)
	if k.asks == tooOften {
		k.find(AskedTooOften, false, a.at, "the lock was asked for %d times within one second", tooOften)
	}
}

// asked takes note that a value asked for the lock in vain.
func (k *Lock) asked(value string, a *act) {
	t, known := k.tried[value]
	if !known {
		if len(k.tried) >= mostPast {
			return
		}
		t = try{first: a.at, source: a.source}
	}
	t.last = a.at
	k.tried[value] = t
}

// cameLate tells that an owner came back to a lock that it had lost.
func (k *Lock) cameLate(a *act) {
	for _, word := range named(a.lines[0]) {
		h := k.past[word]
		if h == nil || !h.Over || h.told || h.shared || k.hold != nil && k.hold.Owner == h.Owner {
			continue
		}
		if t, again := k.tried[word]; again && t.last.At >= h.End.At {
			continue // it has asked for it again, and gives up
		}
		switch h.How {
		case RanOut:
			h.told = true
			k.find(NotRenewed, !h.isOver(a.source), a.at, "%s came back to its lock%s (%s): its TTL had run out%s%s", h.Owner,
				k.over(a.source), a.name(), earlier(a.at, h.End), k.holder())
		case Removed, Evicted, Vanished:
			if h.Source != "" && h.Source == h.By {
				continue // whoever took it ended it, and makes sure
			}
			h.told = true
			k.find(ByAnother, !h.isOver(a.source), a.at, "%s came back to its lock%s (%s), so it had not given it back: "+
				"it had been ended%s%s%s", h.Owner, k.over(a.source), a.name(), earlier(a.at, h.End), k.over(h.By), k.holder())
		case Lost:
			h.told = true
			k.cameBack(h, a)
		case Released, Overwritten, Unknown:
		}
	}
}

// holder says who has the lock now.
func (k *Lock) holder() string {
	if k.hold == nil {
		return ""
	}
	return ", and " + k.hold.Owner + " has it"
}

// wrote tells that somebody wrote what the lock protects, over a connection. byConnection: nothing but its connection says who it was.
func (k *Lock) wrote(h *Hold, words []string, now Time, source string, byConnection bool) {
	if !h.Over || h.shared || byConnection && (h.How == Released || h.How == Unknown) {
		return
	}
	what, ended := strings.ToUpper(words[0])+" of "+quote(words[1]), fmt.Sprintf("had ended%s (%s)%s", earlier(now, h.End), h.How, k.holder())
	if byConnection {
		k.find(WroteWithout, true, now, "%s over %s, over which %s had set its lock, which %s: is it the same client?", what,
			k.story.connection(h.Source), h.Owner, ended)
		return
	}
	holders := k.hold != nil && source != "" && k.hold.Source == source
	copies := h.isWritten && (source == "" || source != h.Source && !slices.Contains(h.renewers, source))
	k.find(WroteWithout, holders || copies || h.perhaps || k.mayBeLegal(h, now), now, "%s names %s, whose lock %s", what, h.Owner, ended)
}

// onTheWay is how long a write may have been on its way over another connection while the owner gave the lock back.
const onTheWay = 50 * time.Millisecond

// mayBeLegal reports that an owner that gave its lock back may write: the write was on its way before, or, where the value is a name, the
// same owner may have another lock that was not seen. A file says only that the lock was removed.
func (k *Lock) mayBeLegal(h *Hold, now Time) bool {
	d, known := now.since(h.End)
	if h.How == Unknown {
		return k.hold == nil && (!known || d < inSecond)
	}
	return h.How == Released && (d < onTheWay || !slices.ContainsFunc(h.values, unique))
}

// Tick says what time it is, for what is found by time alone.
func (s *Story) Tick(now Time) {
	for _, k := range s.order {
		if k.hold != nil {
			k.bare(k.hold, now, false)
		}
	}
}

// end tells what is so at the end of the look.
func (k *Lock) end(now Time) {
	if now.At > 0 && k.act == nil && !k.log.Replay.OfField && ranOut(k.log.Replay.Key, command.At(now.At.Milliseconds())) && k.fromLines {
		end := endOf(k.log.Replay.Key)
		k.log.Replay.Key = command.Key{}
		k.ended(RanOut, end, "")
	}
	h := k.hold
	if h == nil {
		return
	}
	k.bare(h, now, now.At == 0)
	k.countHeld(h, now)
	k.tell(now, "%s still has it at the end of the look", h.Owner)
}

// names reports that a step names one of some values.
func (a *act) names(values []string) bool {
	return slices.ContainsFunc(a.lines, func(words []string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return slices.Contains(named(words), v) })
	})
}

// named are the words of a command that can be an owner's value: those of a script behind its keys, and of others behind the first key.
func named(words []string) []string {
	from := 2
	if isScript(words) {
		from = 3 + len(scriptKeys(words))
	}
	return words[min(from, len(words)):]
}

// valuesOf are what the owner of a key may name.
func valuesOf(k command.Key) (list []string) {
	switch k.Holds {
	case command.Text:
		return []string{k.Value}
	case command.Hash:
		for field, value := range k.Fields {
			list = append(list, field)
			if _, number := command.Integer(value); !number {
				list = append(list, value)
			}
		}
		return list
	}
	return k.Elements()
}

func (k *Lock) owner(is command.Key) string { return quote(history.OwnerText(k.log.Owner(is))) }
