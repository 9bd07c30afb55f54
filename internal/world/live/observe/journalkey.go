package observe

import (
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
)

// journalKey is a key that is followed by the journal. Its replay has what the journal says.
type journalKey struct {
	keyLog
	// effects are those of which it is not known yet whose they are.
	effects []effect
	// block is what the entries of a block did so far; nil: none is open.
	block *step
	// late: an answer may leave before its effect stands in the journal.
	late bool
	// aligned explains the effects that have been read by the lines that have come; nil: nobody had to know yet in this round.
	aligned *alignment
	round   int
	// written: the journal has an effect on it.
	written bool
	// copied is what the key was before the node copied the data of another.
	copied command.Key
}

// effect is an entry of the journal that concerns a key, with its place among those that have been read.
type effect struct {
	journal.Entry
	// block is the number of its block.
	number, block int
}

// byItself reports that no command need have done it: the key ran out or was evicted, or the node got the data of another.
func (e *effect) byItself() bool {
	if e.Kind != journal.Effect {
		return true
	}
	return e.First && e.removes()
}

// removes reports that an entry takes one key away.
func (e *effect) removes() bool {
	return len(e.Words) == 2 && (strings.EqualFold(e.Words[0], "del") || strings.EqualFold(e.Words[0], "unlink"))
}

// ranOut reports that it may be a key that had run out when a command came across it. A script that looks at several keys removes
// each where it meets it.
func (e *effect) ranOut(key command.Key, at command.Span) bool {
	return e.byItself() || e.removes() && !isAlive(key, at)
}

// choice is what a line did to a key: it took some of the effects, behind those that the node did by itself.
type choice struct {
	kind   choiceKind
	own, n int
	result command.Result
	how    likeness
	// may: the line may have changed the key.
	may bool
}

type choiceKind uint8

const (
	// nothing: the line did not change the key.
	nothing choiceKind = iota
	// takes: effects are the line's.
	takes
	// waits: more has to come before that is known.
	waits
	// lacks: the line changed the key, and the journal does not say how.
	lacks
)

// choose finds the effects of a line. later are the lines after it. all: no effect that has been read after this many is the line's;
// unread: that is not known yet.
func (k *journalKey) choose(c monitored, later []numbered, all int) choice {
	if !k.replay.Concerns(c.executed()) {
		return choice{}
	}
	alive := k.replay.Outcomes(c.executed(), k.replay.Key)
	may := mayChange(alive) || !isAlive(k.replay.Key, c.span) && mayChange(k.replay.Outcomes(c.executed(), command.Key{}))
	found, sure := k.bestFit(c, alive, all)
	if sure {
		return found
	}
	if found.may = may; found.kind == nothing {
		if mustChange(alive, k.replay.Key, c) {
			if found.kind = waits; all != notAllRead {
				found.kind = lacks
			}
		}
		return found
	}
	switch {
	case found.own > 0 && isAlive(k.replay.Key, c.span):
		found.kind = k.evicted(found, later, all)
	case k.anyFits(later, found, exactly):
		found.kind = nothing
	case all == notAllRead:
		found.kind = waits
	case k.anyFits(later, found, nearly):
		found.kind = nothing // the effects can be those of several lines
	}
	return found
}

// bestFit finds the first effects that fit a line, which leaves the key as alive says if it is there. sure: they fit exactly, and no
// living key need have been removed before.
func (k *journalKey) bestFit(c monitored, alive []command.Result, all int) (found choice, sure bool) {
	base := k.replay.Key
	for own := range k.effects {
		if all != notAllRead && k.effects[own].number > all {
			break
		}
		outcomes := alive
		if own > 0 {
			outcomes = k.replay.Outcomes(c.executed(), base)
		}
		n, result, how := k.fit(base, own, outcomes, c)
		if how == exactly && (own == 0 || !isAlive(k.replay.Key, c.span)) {
			return choice{kind: takes, own: own, n: n, result: result}, true
		}
		if how != differently && found.kind == nothing {
			found.kind, found.own, found.n, found.result, found.how = takes, own, n, result, how
		}
		if !k.effects[own].ranOut(base, c.span) {
			break
		}
		base = k.after(base, own, 1)
	}
	return found, false
}

// evicted decides on effects that fit only if the node had removed a living key before. A line after it may have removed the key:
// a server can be read further than MONITOR, and a client that was refused has asked for what another then got. What explains
// all lines and effects counts.
func (k *journalKey) evicted(found choice, later []numbered, all int) choiceKind {
	if found.how != exactly {
		return nothing
	}
	if all == notAllRead {
		return waits
	}
	if !k.anyFits(later, choice{}, exactly) {
		return takes
	}
	a := k.align(all)
	if i := a.passed(); a.leastRemoved(later, i) <= 1+a.leastRemoved(later, i+found.own+found.n) {
		return nothing
	}
	return takes
}

// alignment explains effects up to a number by lines.
type alignment struct {
	k     *journalKey
	all   int
	after []command.Key // what the key is before each effect, and after the last one
	known map[[2]int]int
}

// align begins to explain the effects that have been read, or goes on with it.
func (k *journalKey) align(all int) *alignment {
	if k.aligned == nil {
		k.aligned = &alignment{k: k, all: all, after: []command.Key{k.replay.Key}, known: make(map[[2]int]int)}
		for i := range k.effects {
			k.aligned.after = append(k.aligned.after, k.after(k.aligned.after[i], i, 1))
		}
	}
	return k.aligned
}

// passed is how many of the effects have been explained since then.
func (a *alignment) passed() int { return len(a.after) - 1 - len(a.k.effects) }

const (
	// impossible is more than any history has.
	impossible = 1 << 30
	// mostQuestions is how many questions an alignment answers. What is longer stays open.
	mostQuestions = 200_000
)

// leastRemoved is how many living keys the node must have removed by itself, if lines and effects from the i-th on are to explain each
// other.
func (a *alignment) leastRemoved(lines []numbered, i int) int {
	question := [2]int{len(lines), i}
	n, found := a.known[question]
	if !found && len(a.known) < mostQuestions {
		a.known[question] = impossible // it counts as a question from now on
		n = a.countRemoved(lines, i)
		a.known[question] = n
	} else if !found {
		n = impossible
	}
	return n
}

func (a *alignment) countRemoved(lines []numbered, i int) int {
	k, passed := a.k, a.passed()
	for len(lines) > 0 && !k.replay.Concerns(lines[0].executed()) {
		lines = lines[1:]
	}
	if len(lines) == 0 {
		n := 0
		for _, e := range k.effects[i-passed:] {
			if e.number > a.all {
				return n
			}
			if !e.byItself() {
				return impossible
			}
			n++
		}
		return n
	}
	c, n := lines[0].monitored, impossible
	if k.late || !mustChange(k.replay.Outcomes(c.executed(), a.after[i]), a.after[i], c) {
		n = a.leastRemoved(lines[1:], i)
	}
	for removed := 0; i-passed < len(k.effects); i++ {
		base := a.after[i]
		if took, _, how := k.fit(base, i-passed, k.replay.Outcomes(c.executed(), base), c); how != differently {
			n = min(n, removed+a.leastRemoved(lines[1:], i+took))
		}
		if !k.effects[i-passed].ranOut(base, c.span) {
			break
		}
		if isAlive(base, c.span) {
			removed++
		}
	}
	return n
}

// skipUnchanging passes over effects that leave the key as it is: no line need wait for them.
func (k *journalKey) skipUnchanging() {
	for len(k.effects) > 0 && k.effects[0].Kind == journal.Effect {
		if r := k.replay; applied(&r, k.effects[0].Entry).Did != command.Kept {
			break
		}
		k.pop()
	}
	if k.block != nil && (len(k.effects) == 0 || k.effects[0].block != k.block.number) {
		k.closeBlock()
	}
}

// mayChange reports that a command may change a key.
func mayChange(outcomes []command.Result) bool {
	return slices.ContainsFunc(outcomes, func(r command.Result) bool { return r.Did != command.Kept })
}

// mustChange reports that a command changes a key whatever happens. One that writes what is there need not show.
func mustChange(outcomes []command.Result, base command.Key, c monitored) bool {
	if len(outcomes) != 1 || outcomes[0].Did == command.Kept || outcomes[0].Did == command.Obscured || outcomes[0].After.Equal(base) {
		return false
	}
	end := outcomes[0].After.Expires
	return end == (command.Span{}) || end.From > c.span.To+near
}

// isAlive reports that a key is there, and for longer than a command takes.
func isAlive(k command.Key, at command.Span) bool {
	return k.Holds != command.Absent && (k.Expires == (command.Span{}) || k.Expires.From > at.To+near)
}

// near is how many ms may lie between when a command was carried out and the time that MONITOR shows. On a busy machine there
// can be more; then the effects are not the line's before all others have been looked at.
const near = 2

// likeness is how effects fit a command.
type likeness uint8

const (
	differently likeness = iota
	nearly
	exactly
)

// anyFits reports that one of several lines may as well have had the effects of another.
func (k *journalKey) anyFits(lines []numbered, taken choice, least likeness) bool {
	base := k.after(k.replay.Key, 0, taken.own)
	return slices.ContainsFunc(lines, func(l numbered) bool {
		if !k.replay.Concerns(l.executed()) {
			return false
		}
		_, _, how := k.fit(base, taken.own, k.replay.Outcomes(l.executed(), base), l.monitored)
		return how >= least
	})
}

// fit compares the effects from one on with what a command can have done to a key.
func (k *journalKey) fit(base command.Key, from int, outcomes []command.Result, c monitored) (n int, best command.Result, how likeness) {
	if k.effects[from].Kind != journal.Effect {
		return 0, best, differently
	}
	for _, o := range outcomes {
		if o.Did == command.Kept {
			continue
		}
		for some := 1; some <= k.together(from); some++ {
			if l := compareKeys(o.After, k.after(base, from, some), k.effects[from].Words, c); l > how {
				n, best, how = some, o, l
			}
		}
	}
	return n, best, how
}

// together is how many entries from one on may be the effect of one command. Redis 6 writes a SET with an end as two.
func (k *journalKey) together(from int) int {
	if from+1 == len(k.effects) {
		return 1
	}
	one, next := &k.effects[from], &k.effects[from+1]
	if next.Kind == journal.Effect && strings.EqualFold(one.Words[0], "set") && strings.EqualFold(next.Words[0], "pexpireat") &&
		(next.block == one.block || one.First && one.Last && next.First && next.Last) {
		return 2
	}
	return 1
}

// compareKeys compares what a command made of a key, by its words, with what the journal says.
func compareKeys(predicted, is command.Key, words []string, c monitored) likeness {
	if predicted.Holds == command.Unclear {
		return compareWords(words, unconditional(c.args, c.db))
	}
	expected, end, none := predicted.Expires, is.Expires, command.Span{}
	predicted.Expires = end
	if !predicted.Equal(is) || (expected == none) != (end == none) {
		return differently
	}
	if expected == none || end.From >= expected.From-near && end.To <= expected.To+near {
		return exactly
	}
	return nearly
}

// compareWords compares the words of an effect with those of a command of which only these are known. A server writes many commands down
// as they came: then other words are another's.
func compareWords(effect, sent []string) likeness {
	if slices.EqualFunc(effect, sent, strings.EqualFold) {
		return exactly
	}
	if slices.Contains(asTheyCame, effect[0]) && strings.EqualFold(effect[0], sent[0]) {
		return differently
	}
	return nearly
}

// asTheyCame are commands that stand in a journal with the words that their clients sent.
var asTheyCame = []string{"MSET", "RENAME", "COPY", "RESTORE", "LPUSH", "RPUSH", "SADD", "ZADD", "ZINCRBY", "LREM", "ZREM"}

// after is what a key becomes by some effects.
func (k *journalKey) after(key command.Key, from, n int) command.Key {
	r := k.replay
	r.Key = key
	for _, e := range k.effects[from : from+n] {
		applied(&r, e.Entry)
	}
	return r.Key
}

// apply lets the key become what an entry of the journal says.
func (k *journalKey) apply(e journal.Entry) command.Change { return applied(&k.replay, e) }

// applied lets a key become what an entry says. All its times are absolute, and it stands there because it was done.
func applied(r *command.Replay, e journal.Entry) command.Change {
	if e.Kind == journal.Effect || e.Kind == journal.Base {
		return r.See(command.Executed{Words: e.Words, DB: e.DB}, false)
	}
	if e.Kind == journal.Gap {
		r.Key = command.Key{} // what Base does not bring back is gone
	}
	return command.Change{}
}

// settle records what a line did.
func (k *journalKey) settle(c choice, line monitored, now func() command.Span) {
	if c.kind == lacks {
		if k.block != nil {
			k.closeBlock()
		}
		k.recordUnclear(history.Value{Client: line.caller, Rare: &history.Rare{
			Detail: strings.ToUpper(line.args[0]) + " (it is not in the node's journal)"}})
		k.replay.Key = command.Key{Holds: command.Unclear}
	}
	if c.kind == takes {
		for range c.own {
			k.recordOwnEffect(now())
		}
		for i := range c.n {
			k.takeEffect(c.result, line, i+1 < c.n)
		}
	}
}

func (k *journalKey) pop() effect {
	e := k.effects[0]
	k.effects = k.effects[1:]
	return e
}

// takeEffect lets a line take the effect at the head; more: and the next one.
func (k *journalKey) takeEffect(r command.Result, line monitored, more bool) {
	e := k.pop()
	if k.block == nil {
		k.block = &step{number: e.block, before: k.replay.Key, extended: true, line: line, at: line.span}
	}
	b := k.block
	change := k.apply(e.Entry)
	change.Ends = r.Ends
	b.add(change, k.replay.Key)
	if end := k.replay.Expires; r.Ends && end != (command.Span{}) && r.After.Expires != (command.Span{}) {
		// The end is exact, and so is for how long the command asked. So it is known when it was carried out.
		b.at = command.At(end.From - (r.After.Expires.From - line.span.From))
	}
	if !more && (len(k.effects) == 0 || k.effects[0].block != e.block) {
		k.closeBlock()
	}
}

// closeBlock records what a block did in all.
func (k *journalKey) closeBlock() {
	b, now := k.block, k.replay.Key
	k.block = nil
	b.expired = now.Holds == command.Absent && b.before.Expires != (command.Span{}) && b.before.Expires.From < b.at.To
	change, before := b.change(now)
	k.now = b.line
	if change.Did != command.Kept && b.line.stranger {
		k.recordStranger(&b.line)
		k.recordFound(b.at)
		return
	}
	k.recordChange(change, before, b.line.args[0], b.line.caller, b.at)
}

// recordOwnEffect records what the node did by itself.
func (k *journalKey) recordOwnEffect(now command.Span) {
	before, e := k.replay.Key, k.pop()
	k.apply(e.Entry)
	if e.Kind == journal.Gap {
		k.copied = before
	}
	if e.Kind == journal.Known && !k.replay.Equal(k.copied) {
		k.recordUnclear(history.Value{Rare: &history.Rare{Detail: "a copy of another node's data"}})
		k.recordFound(now)
	}
	if e.Kind == journal.Effect {
		k.removed(before, now)
	}
}

// removed records that the node removed the key, if it was there.
func (k *journalKey) removed(before command.Key, now command.Span) {
	if before.Holds == command.Absent {
		return
	}
	if before.Expires != (command.Span{}) && before.Expires.From <= now.To {
		k.recordKey(history.KeyExpired, k.owner(before), "", nil)
		return
	}
	k.recordKey(history.KeyDeleted, k.owner(before), "", nil)
}

// recordUnexplained records an effect that no line fits: of a command that has waited until another's woke it, or nobody knows whose.
func (k *journalKey) recordUnexplained(now command.Span) {
	e, waiter := k.pop(), ""
	if change := k.apply(e.Entry); change.Did == command.Kept {
		return
	}
	if k.strangers != nil {
		waiter = k.strangers.Served(k.node, k.replay.Name)
	}
	k.recordUnknown(e.Words[0], waiter)
	k.recordFound(now)
}

// recordFound records what the key is, where nobody knows who did it.
func (k *journalKey) recordFound(now command.Span) {
	end := k.replay.Expires
	switch {
	case k.replay.Holds == command.Absent:
		if k.unclear {
			k.recordKey(history.KeyDeleted, "", "", nil)
		}
	case k.replay.Holds == command.Unclear:
		if !k.unclear {
			k.recordUnclear(history.Value{Rare: &history.Rare{Detail: "a key found that is a stream, or has more than 1000 elements,"}})
		}
	case end != (command.Span{}) && end.To < now.From:
		k.replay.Key = command.Key{}
	default:
		k.recordKey(history.KeySet, k.owner(k.replay.Key), "", k.ttlAt(now))
	}
}
