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
	ways            []way
	// replicated is the question whose answer alone counts, where replication may have changed the key beside all ways; nil:
	// any answer counts.
	replicated *look
}

// way is one way in which it may have gone, and what the key is after it.
type way struct {
	after command.Key
	deeds []deed
	// forgot: the node had evicted the key.
	forgot bool
}

// deed is what a command did.
type deed struct {
	line   monitored
	before command.Key
	command.Result
}

// mostWays bounds the ways that a doubt can have.
const mostWays = 100

// then are the ways on from this one, after one more command.
func (w way) then(d deed, results ...command.Result) (list []way) {
	for _, r := range results {
		next := way{r.After, w.deeds, w.forgot}
		if d.Result = r; r.Did != command.Kept || r.Expired {
			next.deeds = append(slices.Clip(w.deeds), d)
		}
		list = append(list, next)
	}
	return list
}

// forgotten are the ways on from one if the node had evicted the key before a command, and the command did something else for that
// than the change says. Nothing is evicted within a step.
func (k *keyWatch) forgotten(w way, d deed, change command.Change) []way {
	there := w.after.Holds != command.Absent && w.after.Holds != command.Unclear
	if !k.evicts || w.forgot || d.line.step == k.touched || !k.replay.Concerns(d.line.executed()) || !there {
		return nil
	}
	alive := command.Result{Change: change, After: k.replay.Key}
	if change.Either != nil {
		alive = change.Either[0]
	}
	k.replay.Key = command.Key{}
	gone := command.Result{Change: k.replay.See(d.line.executed(), false)}
	gone.After = k.replay.Key
	same := gone.Did == alive.Did && (gone.Did == command.Kept || gone.After.Equal(alive.After))
	if same || gone.Did == command.Obscured || alive.Did == command.Obscured {
		return nil
	}
	went := deed{line: d.line, before: w.after, Result: command.Result{Change: command.Change{Did: command.Deleted}}}
	went.line.caller = ""
	d.before = command.Key{}
	return way{deeds: append(slices.Clip(w.deeds), went), forgot: true}.then(d, gone)
}

// branches takes a command into a doubt; false: nobody could tell what it did.
func (k *keyWatch) branches(c monitored) bool {
	defer func() { k.replay.Key = command.Key{Holds: command.Unclear} }()
	var ways []way
	for _, w := range k.doubt.ways {
		k.replay.Key = w.after
		change := k.replay.See(c.executed(), k.behind)
		d := deed{line: c, before: w.after}
		switch {
		case change.Lasting, change.Did != command.Kept && c.stranger, change.Did == command.Obscured && change.Either == nil:
			return false
		case change.Either != nil:
			ways = append(ways, w.then(d, change.Either...)...)
		default:
			ways = append(ways, w.then(d, command.Result{Change: change, After: k.replay.Key})...)
		}
		ways = append(ways, k.forgotten(w, d, change)...)
	}
	if len(ways) > mostWays {
		return false
	}
	k.doubt.ways = ways
	return true
}

// decide ends a doubt where what the node says of the key fits one way alone. evicted: it has evicted keys since it was asked last.
func (k *keyWatch) decide(d *doubt, seen command.Key, at command.Span, evicted bool) bool {
	var found []*way
	forgotten := 0 // ways in which the node had forgotten the key, and no client did anything
	for i := range d.ways {
		w := &d.ways[i]
		if !evicted && w.forgot || !fits(w.after, seen, at) {
			continue
		}
		found = append(found, w)
		if w.forgot && !slices.ContainsFunc(w.deeds, func(d deed) bool { return d.line.caller != "" }) {
			forgotten++
		}
	}
	if len(found) == 0 {
		return false
	}
	// The way without forgetting comes first. A client that removes what it set is accused of nothing, if the node was quicker.
	own := !slices.ContainsFunc(found[0].deeds, func(d deed) bool { return d.line.caller != k.setBy })
	if others := len(found) - 1; others > 0 && (found[0].forgot || others != forgotten || !own) {
		return false
	}
	k.went(found[0])
	return true
}

// went records what happened in a way.
func (k *keyWatch) went(w *way) {
	for _, one := range w.deeds {
		if k.open != nil && (k.open.number != one.line.step || k.open.line.caller != one.line.caller) {
			k.finish()
		}
		k.replay.Key = one.After
		k.tell(one.Change, one.before, one.line)
	}
	k.finish()
	k.replay.Key = w.after
}

// giveUp ends a doubt about which the node says nothing: what was done if it forgot nothing was done if it has never been seen to.
func (k *keyWatch) giveUp() {
	if d := k.doubt; d != nil && k.evicts && k.evicted == k.evictedFirst {
		plain := slices.DeleteFunc(slices.Clone(d.ways), func(w way) bool { return w.forgot })
		if len(plain) == 1 {
			k.doubt = nil
			k.went(&plain[0])
		}
	}
	k.doubtStays()
}

// doubtStays records that nobody knows what happened.
func (k *keyWatch) doubtStays() {
	if d := k.doubt; d != nil {
		k.doubt = nil
		k.obscured(d.command, d.caller)
	}
}
