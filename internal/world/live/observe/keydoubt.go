package observe

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// doubt is about a command that came so near the key's end that either may have been
// first, or that did something else if the node had forgotten the key, and about those that came after it. Nothing is recorded
// of them until the node has told.
type doubt struct {
	command, caller string
	possibilities   []possibility
	// replicated is the question whose answer alone counts, where replication may have changed the key beside all possibilities; nil:
	// any answer counts.
	replicated *keyQuery
}

// possibility is one way in which it may have gone, and what the key is after it.
type possibility struct {
	after command.Key
	deeds []deed
	// evicted: the node had evicted the key.
	evicted bool
}

// deed is what a command did.
type deed struct {
	line   monitored
	before command.Key
	command.Result
}

// mostPossibilities bounds the possibilities that a doubt can have.
const mostPossibilities = 100

// andThen are the possibilities from this one on, after one more command.
func (w possibility) andThen(d deed, results ...command.Result) (list []possibility) {
	for _, r := range results {
		next := possibility{r.After, w.deeds, w.evicted}
		if d.Result = r; r.Did != command.Kept || r.Expired {
			next.deeds = append(slices.Clip(w.deeds), d)
		}
		list = append(list, next)
	}
	return list
}

// ifEvicted are the possibilities from one on if the node had evicted the key before a command, and the command did something else for that
// than the change says. Nothing is evicted within a step.
func (k *keyWatch) ifEvicted(w possibility, d deed, change command.Change) []possibility {
	there := w.after.Holds != command.Absent && w.after.Holds != command.Unclear
	if !k.evicts || w.evicted || d.line.step == k.touched || !k.Replay.Concerns(d.line.Executed()) || !there {
		return nil
	}
	alive := command.Result{Change: change, After: k.Replay.Key}
	if change.Either != nil {
		alive = change.Either[0]
	}
	k.Replay.Key = command.Key{}
	gone := command.Result{Change: k.Replay.See(d.line.Executed(), false)}
	gone.After = k.Replay.Key
	same := gone.Did == alive.Did && (gone.Did == command.Kept || gone.After.Equal(alive.After))
	if same || gone.Did == command.Obscured || alive.Did == command.Obscured {
		return nil
	}
	went := deed{line: d.line, before: w.after, Result: command.Result{Change: command.Change{Did: command.Deleted}}}
	went.line.Caller = ""
	d.before = command.Key{}
	return possibility{deeds: append(slices.Clip(w.deeds), went), evicted: true}.andThen(d, gone)
}

// followPossibilities takes a command into a doubt; false: nobody could tell what it did.
func (k *keyWatch) followPossibilities(c monitored) bool {
	defer func() { k.Replay.Key = command.Key{Holds: command.Unclear} }()
	var possibilities []possibility
	for _, w := range k.doubt.possibilities {
		k.Replay.Key = w.after
		change := k.Replay.See(c.Executed(), k.behind)
		d := deed{line: c, before: w.after}
		switch {
		case change.Lasting, change.Did != command.Kept && c.Stranger, change.Did == command.Obscured && change.Either == nil:
			return false
		case change.Either != nil:
			possibilities = append(possibilities, w.andThen(d, change.Either...)...)
		default:
			possibilities = append(possibilities, w.andThen(d, command.Result{Change: change, After: k.Replay.Key})...)
		}
		possibilities = append(possibilities, k.ifEvicted(w, d, change)...)
	}
	if len(possibilities) > mostPossibilities {
		return false
	}
	k.doubt.possibilities = possibilities
	return true
}

// decide ends a doubt where what the node says of the key fits one possibility alone. evicted: it has evicted keys since it was asked last.
func (k *keyWatch) decide(d *doubt, seen command.Key, at command.Span, evicted bool) bool {
	var found []*possibility
	forgotten := 0 // possibilities in which the node had forgotten the key, and no client did anything
	for i := range d.possibilities {
		w := &d.possibilities[i]
		if !evicted && w.evicted || !fits(w.after, seen, at) {
			continue
		}
		found = append(found, w)
		if w.evicted && !slices.ContainsFunc(w.deeds, func(d deed) bool { return d.line.Caller != "" }) {
			forgotten++
		}
	}
	if len(found) == 0 {
		return false
	}
	// The possibility without an eviction comes first. A client that removes what it set is accused of nothing, if the node was quicker.
	own := !slices.ContainsFunc(found[0].deeds, func(d deed) bool { return d.line.Caller != k.setBy })
	if others := len(found) - 1; others > 0 && (found[0].evicted || others != forgotten || !own) {
		return false
	}
	k.recordPossibility(found[0])
	return true
}

// recordPossibility records what happened in a possibility that was the case.
func (k *keyWatch) recordPossibility(w *possibility) {
	for _, one := range w.deeds {
		if k.open != nil && (k.open.Number != one.line.step || k.open.Line.Caller != one.line.Caller) {
			k.finish()
		}
		k.Replay.Key = one.After
		k.addToStep(one.Change, one.before, one.line)
	}
	k.finish()
	k.Replay.Key = w.after
}

// giveUp ends a doubt about which the node says nothing: what was done if it forgot nothing was done if it has never been seen to.
func (k *keyWatch) giveUp() {
	if d := k.doubt; d != nil && k.evicts && k.evicted == k.evictedFirst {
		plain := slices.DeleteFunc(slices.Clone(d.possibilities), func(w possibility) bool { return w.evicted })
		if len(plain) == 1 {
			k.doubt = nil
			k.recordPossibility(&plain[0])
		}
	}
	k.recordDoubt()
}

// recordDoubt records that nobody knows what happened.
func (k *keyWatch) recordDoubt() {
	if d := k.doubt; d != nil {
		k.doubt = nil
		k.RecordUnknown(d.command, d.caller)
	}
}
