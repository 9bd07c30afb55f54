package observe

import (
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
)

// journalKey is a key that is followed by the journal, whose lines MONITOR shows.
type journalKey struct {
	keylog.Key
	// late: an answer may leave before its effect stands in the journal.
	late bool
	// aligned explains the effects that have been read by the lines that have come; nil: nobody had to know yet in this round.
	aligned *alignment
	round   int
	// written: the journal has an effect on it.
	written bool
}

// choice is what a line did to a key: it took some of the effects, behind those that the node did by itself.
type choice struct {
	kind   choiceKind
	own, n int
	result command.Result
	how    keylog.Likeness
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
	if !k.Replay.Concerns(c.Executed()) {
		return choice{}
	}
	alive := k.Replay.Outcomes(c.Executed(), k.Replay.Key)
	may := mayChange(alive) || !keylog.IsAlive(k.Replay.Key, c.Span) && mayChange(k.Replay.Outcomes(c.Executed(), command.Key{}))
	found, sure := k.bestFit(c, alive, all)
	if sure {
		return found
	}
	if found.may = may; found.kind == nothing {
		if mustChange(alive, k.Replay.Key, c) {
			if found.kind = waits; all != notAllRead {
				found.kind = lacks
			}
		}
		return found
	}
	switch {
	case found.own > 0 && keylog.IsAlive(k.Replay.Key, c.Span):
		found.kind = k.evicted(found, later, all)
	case k.anyFits(later, found, keylog.Exactly):
		found.kind = nothing
	case all == notAllRead:
		found.kind = waits
	case k.anyFits(later, found, keylog.Nearly):
		found.kind = nothing // the effects can be those of several lines
	}
	return found
}

// bestFit finds the first effects that fit a line, which leaves the key as alive says if it is there. sure: they fit exactly, and no
// living key need have been removed before.
func (k *journalKey) bestFit(c monitored, alive []command.Result, all int) (found choice, sure bool) {
	base := k.Replay.Key
	for own := range k.Effects {
		if all != notAllRead && k.Effects[own].Number > all {
			break
		}
		outcomes := alive
		if own > 0 {
			outcomes = k.Replay.Outcomes(c.Executed(), base)
		}
		n, result, how := k.Fit(base, own, outcomes, c.Line)
		if how == keylog.Exactly && (own == 0 || !keylog.IsAlive(k.Replay.Key, c.Span)) {
			return choice{kind: takes, own: own, n: n, result: result}, true
		}
		if how != keylog.Differently && found.kind == nothing {
			found.kind, found.own, found.n, found.result, found.how = takes, own, n, result, how
		}
		if !k.Effects[own].RanOut(base, c.Span) {
			break
		}
		base = k.After(base, own, 1)
	}
	return found, false
}

// evicted decides on effects that fit only if the node had removed a living key before. A line after it may have removed the key:
// a server can be read further than MONITOR, and a client that was refused has asked for what another then got. What explains
// all lines and effects counts.
func (k *journalKey) evicted(found choice, later []numbered, all int) choiceKind {
	if found.how != keylog.Exactly {
		return nothing
	}
	if all == notAllRead {
		return waits
	}
	if !k.anyFits(later, choice{}, keylog.Exactly) {
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
		k.aligned = &alignment{k: k, all: all, after: []command.Key{k.Replay.Key}, known: make(map[[2]int]int)}
		for i := range k.Effects {
			k.aligned.after = append(k.aligned.after, k.After(k.aligned.after[i], i, 1))
		}
	}
	return k.aligned
}

// passed is how many of the effects have been explained since then.
func (a *alignment) passed() int { return len(a.after) - 1 - len(a.k.Effects) }

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
	for len(lines) > 0 && !k.Replay.Concerns(lines[0].Executed()) {
		lines = lines[1:]
	}
	if len(lines) == 0 {
		n := 0
		for _, e := range k.Effects[i-passed:] {
			if e.Number > a.all {
				return n
			}
			if !e.ByItself(a.after[i+n]) {
				return impossible
			}
			n++
		}
		return n
	}
	c, n := lines[0].monitored, impossible
	if k.late || !mustChange(k.Replay.Outcomes(c.Executed(), a.after[i]), a.after[i], c) {
		n = a.leastRemoved(lines[1:], i)
	}
	for removed := 0; i-passed < len(k.Effects); i++ {
		base := a.after[i]
		if took, _, how := k.Fit(base, i-passed, k.Replay.Outcomes(c.Executed(), base), c.Line); how != keylog.Differently {
			n = min(n, removed+a.leastRemoved(lines[1:], i+took))
		}
		if !k.Effects[i-passed].RanOut(base, c.Span) {
			break
		}
		if keylog.IsAlive(base, c.Span) {
			removed++
		}
	}
	return n
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
	return end == (command.Span{}) || end.From > c.Span.To+keylog.Near
}

// anyFits reports that one of several lines may as well have had the effects of another.
func (k *journalKey) anyFits(lines []numbered, taken choice, least keylog.Likeness) bool {
	base := k.After(k.Replay.Key, 0, taken.own)
	return slices.ContainsFunc(lines, func(l numbered) bool {
		if !k.Replay.Concerns(l.Executed()) {
			return false
		}
		_, _, how := k.Fit(base, taken.own, k.Replay.Outcomes(l.Executed(), base), l.Line)
		return how >= least
	})
}

// settle records what a line did.
func (k *journalKey) settle(c choice, line monitored, now func() command.Span) {
	if c.kind == lacks {
		if k.Block != nil {
			k.CloseBlock()
		}
		k.RecordUnclear(history.Value{Client: line.Caller, Rare: &history.Rare{
			Detail: strings.ToUpper(line.Args[0]) + " (it is not in the node's journal)"}})
		k.Replay.Key = command.Key{Holds: command.Unclear}
	}
	if c.kind == takes {
		for range c.own {
			k.RecordOwn(now())
		}
		for i := range c.n {
			k.TakeEffect(c.result, line.Line, i+1 < c.n)
		}
	}
}
