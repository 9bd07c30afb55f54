package checker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// judgeDeadlock: once the faults are lifted, somebody is granted the lock within
// the bound.
func judgeDeadlock(_ context.Context, j *judge, o Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "grants after healing"}, Method: "time to the next grant"}
	healing := j.healing()
	if healing < 0 {
		return unknown("the run had no healing phase", f.Effort)
	}
	w := j.watch(window{j.At(healing), facts.Forever, healing}, len(j.History.Events), o.GrantWithin)
	f.Effort.Chances = w.granted
	if w.starved == nil {
		w.starved = j.shutOut(j.At(healing), o.GrantWithin)
	}
	if w.starved != nil {
		return j.starvation(f, w.starved, o.GrantWithin, "after healing", healing)
	}
	if w.granted > 0 {
		f.Verdict, f.Why = Holds, fmt.Sprintf("after healing, a client that asked got the lock within %s (bound %s)",
			length(w.slowest), length(o.GrantWithin))
		return f
	}
	f.Verdict, f.Why = Unknown, "no client asked for long enough after healing"
	return f
}

// judgeMinority: while only a minority of the nodes is struck, the lock is still
// granted within the bound.
func judgeMinority(_ context.Context, j *judge, o Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "grants with a minority struck"}, Method: "time to the next grant"}
	windows := j.minorityWindows()
	if len(windows) == 0 {
		return unknown("at no time was only a minority of the nodes struck", f.Effort)
	}
	slowest := time.Duration(0)
	for _, x := range windows {
		w := j.watch(x.window, x.closed, o.GrantWithin)
		f.Effort.Chances += w.granted
		slowest = max(slowest, w.slowest)
		if w.starved != nil {
			return j.starvation(f, w.starved, o.GrantWithin, "with a minority of the nodes struck", x.event)
		}
	}
	return f.tried("no client asked for long enough while a minority was struck",
		"%s with a minority struck, the slowest after %s (bound %s)", plural(f.Effort.Chances, "grant"), length(slowest), length(o.GrantWithin))
}

// healing is the event at which the healing phase began, -1 for none.
func (j *judge) healing() int {
	for i := range j.History.Events {
		if e := j.Event(i); e.F == history.Phase && e.Value.Detail() == history.PhaseHealing {
			return i
		}
	}
	return -1
}

// window is a stretch of the run that began at an event, or a stretch of
// freedom that ended with the grant of that event.
type window struct {
	from, to time.Duration
	event    int
}

// stretchOfEvents is a window that events open and close.
type stretchOfEvents struct {
	window
	closed int
}

// minorityWindows are the stretches of the run during which some nodes, but
// fewer than half, were struck, themselves or on a client's link to them, and
// nothing else was: a paused client or a cut link to the resource would be an excuse
// of its own.
func (j *judge) minorityWindows() []stretchOfEvents {
	type change struct {
		event, fault, by int
	}
	var changes []change
	for i := range j.Faults {
		changes = append(changes, change{j.Faults[i].Begin, i, 1})
		if j.Faults[i].End >= 0 {
			changes = append(changes, change{j.Faults[i].End, i, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return a.event - b.event })
	struck, others := make(map[string]int), 0
	var list []stretchOfEvents
	open := -1
	for _, c := range changes {
		nodes, other := j.nodesStruck(&j.Faults[c.fault])
		for _, n := range nodes {
			if struck[n] += c.by; struck[n] == 0 {
				delete(struck, n)
			}
		}
		if other {
			others += c.by
		}
		switch clean := len(struck) > 0 && 2*len(struck) < len(j.History.Header.Nodes) && others == 0; {
		case clean && open < 0:
			open = len(list)
			list = append(list, stretchOfEvents{window{j.At(c.event), facts.Forever, c.event}, len(j.History.Events)})
		case !clean && open >= 0:
			list[open].to, list[open].closed = j.At(c.event), c.event
			open = -1
		}
	}
	return list
}

// nodesStruck are the nodes that a fault strikes; other says that it strikes something
// else as well.
func (j *judge) nodesStruck(f *facts.Fault) (nodes []string, other bool) {
	for _, s := range f.Strikes {
		nodes = append(nodes, s.Nodes...)
		other = other || s.Resource || len(s.Clients) > 0
		for _, l := range s.Links {
			if slices.Contains(j.History.Header.Nodes, l.To) && !slices.Contains(j.History.Header.Nodes, l.From) {
				nodes = append(nodes, l.To)
			} else {
				other = true
			}
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), other
}

// watched is what was seen of the way from wanting the lock to getting it.
type watched struct {
	granted int
	slowest time.Duration
	starved *starving
}

// starving is a client that kept asking for a lock in vain.
type starving struct {
	client   string
	from, to time.Duration
	// attempts is how often it asked; first and last are operations in view.ops.
	attempts, first, last int
	// kept: somebody had the lock all the while; otherwise it was free.
	kept bool
}

// watch follows the lock through a stretch of the run that ends with an event. Time counts from when
// the lock was free and somebody asked for it. A client that asks again and again
// counts as asking all the time, save where it made a break of half the bound.
func (j *judge) watch(within window, closed int, bound time.Duration) watched {
	var w watched
	clients := slices.Sorted(maps.Keys(j.Attempts))
	for _, free := range j.freeStretches(within.from, min(within.to, j.End)) {
		asked, list := facts.Forever, j.asking(clients, free, bound/2)
		for i := range list {
			s := &list[i]
			asked = min(asked, s.from)
			if s.to-s.from > bound && (w.starved == nil || s.from < w.starved.from) {
				w.starved = s
			}
		}
		if free.event > within.event && free.event < closed && asked != facts.Forever {
			w.granted++
			w.slowest = max(w.slowest, free.to-asked)
		}
	}
	return w
}

// shutOut is who asked for the lock from an instant on for longer than the bound
// while nobody was granted it: not because it was free and could not be had, but
// because a holder kept it.
func (j *judge) shutOut(from, bound time.Duration) *starving {
	to := j.End
	for i := range j.Grants {
		if at := j.At(j.Grants[i].Return); at >= from {
			to = at
			break
		}
	}
	var longest *starving
	for _, s := range j.asking(slices.Sorted(maps.Keys(j.Attempts)), window{from: from, to: to}, bound/2) {
		if s.to-s.from > bound && (longest == nil || s.from < longest.from) {
			s.kept = true
			longest = &s
		}
	}
	return longest
}

// freeStretches are the parts of a stretch during which nobody had the lock for
// all that is known. Each ends with the next grant.
func (j *judge) freeStretches(from, to time.Duration) []window {
	var list []window
	for i := range j.Grants {
		g := &j.Grants[i]
		at := j.At(g.Return)
		if at > to {
			break
		}
		if from <= at {
			list = append(list, window{from, at, g.Return})
		}
		from = max(from, at, j.FreeFrom(g))
		if from > to {
			return list
		}
	}
	return append(list, window{from, to, -1})
}

// asking lists which of some clients asked for the lock during a free stretch, and how long.
func (j *judge) asking(clients []string, free window, breakAt time.Duration) []starving {
	var list []starving
	for _, client := range clients {
		var s *starving
		acquires := j.Attempts[client]
		// A client asks one thing at a time, so its answers are in order, too.
		first := sort.Search(len(acquires), func(i int) bool { return j.AskedUntil(acquires, i) >= free.from })
		for n := first; n < len(acquires); n++ {
			i := acquires[n]
			o := &j.Ops[i]
			if j.At(o.Call) > free.to {
				break
			}
			begin, end := max(j.At(o.Call), free.from), min(j.AskedUntil(acquires, n), free.to)
			if kill := j.KilledBetween(client, o.Call, o.Return); kill >= 0 {
				end = min(end, j.At(kill))
			}
			if begin > end {
				continue
			}
			if s == nil || begin-s.to > breakAt {
				list = append(list, starving{client: client, from: begin, to: end, first: i})
				s = &list[len(list)-1]
			}
			s.to = max(s.to, end)
			s.attempts, s.last = s.attempts+1, i
		}
	}
	return list
}

func (j *judge) starvation(f Finding, s *starving, bound time.Duration, when string, since int) Finding {
	what := "a free lock"
	if s.kept {
		what = "the lock, which somebody kept,"
	}
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%s asked for %s for %s %s and did not get it (bound %s)", s.client, what, length(s.to-s.from), when, length(bound))
	first, last := &j.Ops[s.first], &j.Ops[s.last]
	f.Events = sortedEvents(since, first.Call, last.Call, last.Return)
	c := &Counterexample{From: len(j.Ops), Impossible: -1, Bound: bound}
	op := CounterOp{Client: s.client, Op: fmt.Sprintf("asks for the lock (%s)", plural(s.attempts, "time")),
		Events: sortedEvents(first.Call, last.Call, last.Return), From: s.from, To: s.to,
		Believed: "it can get the lock", True: "nobody was granted the lock"}
	c.Operations = []CounterOp{op}
	story := j.newStory()
	for i := range j.Grants {
		g := &j.Grants[i]
		if j.At(g.Return) > s.from || i+1 < len(j.Grants) && j.At(j.Grants[i+1].Return) <= s.from {
			continue
		}
		story.grant(g, s.from)
		if g.Ending != facts.Killed && g.End >= 0 {
			story.end(g, "")
		}
	}
	c.Assumption = string(j.tellOfWait(story, s, since, bound))
	if j.Event(since).F == history.Phase {
		story.tell(setting, since, "the faults were lifted")
	}
	if s.kept {
		story.tell(turning, first.Call, "%s asked for the lock, which somebody held", s.client)
	} else {
		story.tell(turning, first.Call, "%s asked for the lock, which nobody held", s.client)
	}
	end := last.Return
	if end < 0 {
		end = len(j.History.Events) - 1
	}
	story.tell(turning, end, "%s had asked %s in %s and did not get the lock", s.client, plural(s.attempts, "time"), length(s.to-s.from))
	c.tells(story)
	f.Counterexample = c
	return f
}

// tellOfWait tells what stood in the way of a client that asked in vain: faults that struck it, its ways or the nodes, or
// killed somebody, and the keys that stood for the bound. The keys are what it rests on, or else the faults that lasted,
// or else the attempts.
func (j *judge) tellOfWait(story *story, s *starving, since int, bound time.Duration) cause {
	var lasting, standing []int
	for i := range j.Faults {
		f := &j.Faults[i]
		other := func(c string) bool { return c != s.client }
		if j.At(f.Begin) > s.to || !f.Does(history.Kills) && f.Begin != since && slices.ContainsFunc(f.Clients(), other) {
			continue
		}
		story.tell(setting, f.Begin, "%s", j.faultWords(f))
		if j.At(f.Begin) <= s.from && j.At(f.End) >= s.to {
			lasting = append(lasting, f.Begin)
		}
	}
	lives := j.KeyLives()
	for i := range lives {
		k := &lives[i]
		until := min(k.Expires, j.At(k.End), j.End)
		if j.At(k.Set) > s.from+bound/2 || until < s.from+bound {
			continue
		}
		node := j.Event(k.Set).Process
		standing = append(standing, k.Set)
		story.tell(turning, k.Set, "%s set the key on node %s%s: it stood until %s",
			cmp.Or(k.Client, "somebody"), node, j.setForWords(k.Set), words.Instant(until))
		if k.Renewed >= 0 {
			by := cmp.Or(j.Event(k.Renewed).Value.Client, k.Client)
			story.tell(turning, k.Renewed, "%s renewed the key on node %s%s", by, node, j.setForWords(k.Renewed))
		}
	}
	switch {
	case j.Event(since).F == history.FaultBegin:
		story.rests(since)
	case len(standing) > 0:
		story.rests(standing...)
	case len(lasting) > 0:
		story.rests(lasting...)
	default:
		story.rests(j.Ops[s.first].Call, j.Ops[s.last].Call)
	}
	switch {
	case s.kept:
		return keptLock
	case j.Event(since).F == history.FaultBegin:
		return goesOn
	case len(standing) > 0:
		return keyGoes
	}
	return givesWay
}
