package checker

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// window is a stretch of the run that began at an event, or a stretch of
// freedom that ended with the grant of that event.
type window struct {
	from, to time.Duration
	event    int
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
	// attempts is how often it asked; first and last are operations in Facts.Ops.
	attempts, first, last int
	// lockKept: somebody had the lock all the while; otherwise it was free.
	lockKept bool
	// upgrade: the client read, and asked to write; whoever else had the lock read, and asked the same.
	upgrade bool
}

// watchGrants follows the lock through a stretch of the run that ends with an event. Time counts from when
// the lock was free and somebody asked for it. A client that asks again and again
// counts as asking all the time, save where it was granted the lock, or made a break of half the bound.
func (j *judge) watchGrants(within window, closed int, bound time.Duration) watched {
	var w watched
	clients := slices.Sorted(maps.Keys(j.Attempts))
	for _, free := range j.freeStretches(within.from, min(within.to, j.End)) {
		list := j.clientsAsking(clients, free, bound/2)
		longest := time.Duration(0)
		for i := range list {
			s := &list[i]
			longest = max(longest, s.to-s.from)
			if s.to-s.from > bound && (w.starved == nil || s.from < w.starved.from) {
				w.starved = s
			}
		}
		if free.event > within.event && free.event < closed && len(list) > 0 && !j.IsInner(int(j.OpAt[free.event])) {
			w.granted++
			w.slowest = max(w.slowest, longest)
		}
	}
	return w
}

// freeStretches are the parts of a stretch during which the lock could be had for
// all that is known: nobody had it, or fewer than a semaphore has permits. Each ends with the next grant.
func (j *judge) freeStretches(from, to time.Duration) []window {
	var list []window
	taken := taken{permits: j.permits()}
	for i := range j.Grants {
		g := &j.Grants[i]
		at := j.At(g.Return)
		if at > to {
			break
		}
		if from <= at {
			list = append(list, window{from, at, g.Return})
		}
		from = max(from, at, taken.until(j.FreeFrom(g)))
		if from > to {
			return list
		}
	}
	return append(list, window{from, to, -1})
}

// permits is how many grants there may be at once.
func (j *judge) permits() int { return max(j.History.Header.Permits, 1) }

// taken has the latest instants at which grants were given back, as many as there are permits.
type taken struct {
	permits int
	last    []time.Duration
}

// until takes in when a further grant is given back. It tells from when on the lock is free.
func (t *taken) until(back time.Duration) time.Duration {
	at, _ := slices.BinarySearch(t.last, back)
	t.last = slices.Insert(t.last, at, back)
	if len(t.last) > t.permits {
		t.last = t.last[1:]
	}
	if len(t.last) < t.permits {
		return math.MinInt64
	}
	return t.last[0]
}

// clientsAsking lists which of some clients asked for the lock during a free stretch, and how long.
func (j *judge) clientsAsking(clients []string, free window, breakAt time.Duration) []starving {
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
			if begin > end || j.IsInner(i) {
				continue
			}
			if s == nil || begin-s.to > breakAt || j.Ops[s.last].Type == history.OK {
				list = append(list, starving{client: client, from: begin, to: end, first: i})
				s = &list[len(list)-1]
			}
			s.to = max(s.to, end)
			s.attempts, s.last = s.attempts+1, i
		}
	}
	return list
}

func (j *judge) starvationFinding(f Finding, s *starving, bound time.Duration, when string, since int) Finding {
	what, asked, free := "a free lock", "the lock", "nobody held it"
	if permits := j.History.Header.Permits; permits > 0 {
		what, asked, free = "a free permit", "a permit", fmt.Sprintf("fewer than %s were taken", words.Count(permits, "permit"))
	}
	switch at := j.At(j.Ops[s.first].Call); {
	case at < s.from && s.from == j.At(since):
		free = "then, at " + words.Instant(s.from) + ", " + free
	case at < s.from: // it asked when somebody may have held it
		free = "from " + words.Instant(s.from) + " on " + free
	}
	switch {
	case s.lockKept:
		what = "the lock, which somebody kept,"
	case s.upgrade:
		what = "the lock to write, which it held to read,"
	}
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%s asked for %s for %s %s and did not get it (bound %s)", s.client, what, length(s.to-s.from), when, length(bound))
	first, last := &j.Ops[s.first], &j.Ops[s.last]
	f.Events = sortedEvents(since, first.Call, last.Call, last.Return)
	c := &Counterexample{From: len(j.Ops), Impossible: -1, Bound: bound}
	op := CounterOp{Client: s.client, Op: fmt.Sprintf("asks for %s (%s)", j.theLock(), words.Count(s.attempts, "time")),
		Events: sortedEvents(first.Call, last.Call, last.Return), From: s.from, To: s.to,
		Believed: "it can get " + j.theLock(), True: "nobody was granted " + j.theLock()}
	c.Operations = []CounterOp{op}
	story := j.newStory()
	for i := range j.Grants {
		g := &j.Grants[i]
		if j.At(g.Return) > s.from || i+1 < len(j.Grants) && j.At(j.Grants[i+1].Return) <= s.from {
			continue
		}
		story.tellGrant(g, s.from)
		if g.Ending != facts.Killed && g.End >= 0 {
			story.tellEnd(g, "")
		}
	}
	c.Assumption = string(j.whyInVain(story, s, since, bound))
	if j.Event(since).F == history.Phase {
		story.tell(setting, since, "the faults were lifted")
	}
	switch {
	case s.lockKept:
		story.tell(turning, first.Call, "%s asked for the lock, which somebody held", s.client)
	case s.upgrade:
		j.tellUpgrades(story, s)
	default:
		story.tell(turning, first.Call, "%s asked for %s; %s", s.client, asked, free)
	}
	end := last.Return
	if end < 0 {
		end = len(j.History.Events) - 1
	}
	story.tell(turning, end, "%s had asked %s in %s and did not get %s", s.client, words.Count(s.attempts, "time"), length(s.to-s.from),
		j.theLock())
	c.setStory(story)
	f.Counterexample = c
	return f
}

// tellUpgrades tells of all that asked to write while they read, and waited for one another.
func (j *judge) tellUpgrades(story *story, s *starving) {
	for _, op := range j.Upgrades {
		if asked := j.upgradeAsked(op); asked.from < s.to && asked.to > s.from {
			story.tell(turning, j.Ops[op].Call, "%s, which had the lock to read, asked to write", j.Ops[op].Process)
		}
	}
}

// permitsOfDead are the events that had killed holders of a semaphore before an instant.
func (j *judge) permitsOfDead(before time.Duration) (killed []int) {
	for i := range j.Grants {
		g := &j.Grants[i]
		if j.History.Header.Shares() && g.Ending == facts.Killed && j.At(g.End) <= before && j.Event(g.End).F == history.FaultBegin {
			killed = append(killed, g.End)
		}
	}
	return killed
}

// deadInLine are the events before an instant that killed clients which waited for a lock that serves in order.
func (j *judge) deadInLine(before time.Duration) (killed []int) {
	for i := range j.Ops {
		if o := &j.Ops[i]; j.History.Header.Fair && o.F == history.Acquire {
			if k := j.KilledBetween(o.Process, o.Call, o.Return); k >= 0 && j.At(k) <= before {
				killed = append(killed, k)
			}
		}
	}
	return killed
}

// stoodWords say until when a key stood.
func (j *judge) stoodWords(until time.Duration) string {
	if until == j.End {
		return "it still stood at the end of the run, at " + words.Instant(until)
	}
	return "it stood until " + words.Instant(until)
}

// tellOfWait tells what stood in the way of a client that asked in vain: faults that struck it, its ways or the nodes, or
// killed somebody, and the keys that stood for the bound. The keys are what it rests on, or else the faults that lasted,
// or else the attempts.
func (j *judge) tellOfWait(story *story, s *starving, since int, bound time.Duration) cause {
	var lasting, standing []int
	orphaned := j.Endless()
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
		_, _, dead := j.NoLongerWanted(k)
		orphaned = orphaned && dead
		story.tell(turning, k.Set, "%s set the key on node %s%s: %s",
			cmp.Or(k.Client, "somebody"), node, j.setForWords(k.Set), j.stoodWords(until))
		if k.Renewed >= 0 {
			by := cmp.Or(j.Event(k.Renewed).Value.Client, k.Client, "somebody")
			story.tell(turning, k.Renewed, "%s renewed the key on node %s%s", by, node, j.setForWords(k.Renewed))
		}
	}
	died, inLine := j.permitsOfDead(s.from), j.deadInLine(s.to)
	switch {
	case j.Event(since).F == history.FaultBegin:
		story.decidedBy(since)
	case len(died) > 0 && !s.lockKept:
		story.decidedBy(died...)
		return permitReturns
	case len(standing) > 0:
		story.decidedBy(standing...)
	case len(lasting) > 0:
		story.decidedBy(lasting...)
	case len(inLine) > 0:
		story.decidedBy(inLine...)
		return placeEnds
	default:
		story.decidedBy(j.Ops[s.first].Call, j.Ops[s.last].Call)
	}
	switch {
	case s.lockKept:
		return keptLock
	case j.Event(since).F == history.FaultBegin:
		return goesOn
	case len(standing) > 0 && orphaned:
		return releasedAlive
	case len(standing) > 0:
		return keyGoes
	}
	if j.asksAlone(s) {
		return asksAgain
	}
	return givesWay
}

// whyInVain tells why a client asked in vain.
func (j *judge) whyInVain(story *story, s *starving, since int, bound time.Duration) cause {
	if s.upgrade {
		story.decidedBy(j.Ops[s.first].Call)
		return upgradeAnswered
	}
	return j.tellOfWait(story, s, since, bound)
}

// asksAlone reports that nobody else asked for the lock while the client did in vain.
func (j *judge) asksAlone(s *starving) bool {
	return !slices.ContainsFunc(j.Ops, func(o history.Op) bool {
		return o.F == history.Acquire && o.Process != s.client && j.At(o.Call) < s.to && (o.Return < 0 || j.At(o.Return) > s.from)
	})
}
