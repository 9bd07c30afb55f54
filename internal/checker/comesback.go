package checker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// judgeComesBack: a client whose connections went silent, while new ones work, gets the lock again within
// the bound.
func judgeComesBack(_ context.Context, j *judge, o Options) Finding {
	f := Finding{Method: "time to the next grant",
		Effort: Effort{Operations: len(j.Ops), Of: "grants to clients whose connections had gone silent"}}
	slowest, whose := time.Duration(-1), ""
	for _, client := range j.History.Header.Clients {
		for _, s := range j.silences(client) {
			w := j.watchSilence(client, s, o.GrantWithin)
			if w.starved != nil {
				return j.silentFinding(f, w.starved, o.GrantWithin, s.event)
			}
			if f.Effort.Chances += w.granted; w.granted > 0 && w.slowest > slowest {
				slowest, whose = w.slowest, client
			}
		}
	}
	return f.noViolation("no client asked for its lock over a connection that had gone silent",
		"when its open connections had gone silent, %s had the lock again after %s (bound %s)", whose, length(slowest), length(o.GrantWithin))
}

// silences are the stretches in which open connections of a client to nodes were silent, and nothing else was wrong.
func (j *judge) silences(client string) (list []stretchOfEvents) {
	silent := func(f *facts.Fault) bool {
		return slices.ContainsFunc(f.Strikes, func(s history.Strike) bool {
			return slices.ContainsFunc(s.Links, func(l history.Link) bool {
				return l.From == client && slices.Contains(j.History.Header.Nodes, l.To)
			})
		})
	}
	other := func(f *facts.Fault) bool {
		return slices.ContainsFunc(f.Strikes, func(s history.Strike) bool { return s.Does != history.Silences })
	}
	for i := range j.Faults {
		f := &j.Faults[i]
		if other(f) || !silent(f) {
			continue
		}
		s := stretchOfEvents{window{j.At(f.Begin), facts.Forever, f.Begin}, len(j.History.Events)}
		if f.End >= 0 {
			s.closed = f.End
		}
		for k := range j.Faults {
			g := &j.Faults[k]
			switch ends := g.End < 0 || g.End > f.Begin; {
			case other(g) && g.Begin < f.Begin && ends:
				s.closed = -1
			case g.Begin > f.Begin && (other(g) || silent(g)):
				s.closed = min(s.closed, g.Begin)
			}
		}
		if s.closed < 0 {
			continue
		}
		if s.closed < len(j.History.Events) {
			s.to = j.At(s.closed)
		}
		list = append(list, s)
	}
	return list
}

// watchSilence follows a client through a silence.
func (j *judge) watchSilence(client string, s stretchOfEvents, bound time.Duration) watched {
	var w watched
	from, since := s.from, s.event // since: the silence's begin, or the client's latest grant in it
	look := func(to time.Duration, before int) (waited time.Duration) {
		waited = -1
		for _, x := range j.clientWaiting(client, since, before, window{from: from, to: to}, bound/2) {
			if waited = x.to - x.from; waited > bound && w.starved == nil {
				w.starved = &x
			}
		}
		return waited
	}
	taken := taken{permits: j.permits()}
	for i := range j.Grants {
		g := &j.Grants[i]
		if g.Return >= s.closed {
			break
		}
		at, mine, inside := j.At(g.Return), g.Client == client, g.Return > s.event
		if inside && from <= at {
			if waited := look(at, g.Return); mine && waited >= 0 {
				w.granted++
				w.slowest = max(w.slowest, waited)
			}
		}
		if !mine {
			from = max(from, taken.until(max(at, j.FreeFrom(g))))
		} else if inside {
			from, since = max(from, at), g.Return
		}
	}
	if to := min(s.to, j.End); from <= to {
		look(to, s.closed)
	}
	return w
}

// clientWaiting are the times in which a client waited for an acquire or a release in a stretch of the run, without
// those requests that were completed by an event, or called after another: in virtual time both may be in one instant.
func (j *judge) clientWaiting(client string, since, before int, within window, breakAt time.Duration) (list []starving) {
	var last *starving
	open := -1 // a request that is not completed yet
	add := func(i int, until time.Duration) {
		begin, end := max(j.At(j.Ops[i].Call), within.from), min(until, within.to)
		if begin > end || j.Ops[i].Call > before {
			return
		}
		if last == nil || begin-last.to > breakAt {
			list = append(list, starving{client: client, from: begin, to: end, first: i})
			last = &list[len(list)-1]
		}
		last.to = max(last.to, end)
		last.attempts, last.last = last.attempts+1, i
	}
	for i := range j.Ops {
		o := &j.Ops[i]
		if o.Process != client || (o.F != history.Acquire || j.IsInner(i)) && o.F != history.Release {
			continue
		}
		if open >= 0 {
			add(open, j.At(o.Call))
			open = -1
		}
		switch {
		case o.Return < 0:
			open = i
		case o.Return > since:
			add(i, j.At(o.Return))
		}
	}
	if open >= 0 {
		add(open, facts.Forever)
	}
	return list
}

func (j *judge) silentFinding(f Finding, s *starving, bound time.Duration, since int) Finding {
	waited := length(s.to - s.from)
	f.Verdict = Violated
	first, last := &j.Ops[s.first], &j.Ops[s.last]
	again := last.F == history.Acquire && last.Type == history.OK && j.At(last.Return) <= s.to
	had := "never had " + j.theLock() + " again within"
	if again {
		had = "had " + j.theLock() + " again only after"
	}
	had = fmt.Sprintf("%s %s %s, in %s", s.client, had, waited, words.Count(s.attempts, "request"))
	f.Why = fmt.Sprintf("when its open connections had gone silent, %s, though new connections worked (bound %s)", had, length(bound))
	f.Events = sortedEvents(since, first.Call, last.Call, last.Return)
	story := j.newStory()
	for i := range j.Grants {
		if g := &j.Grants[i]; g.Client == s.client && j.At(g.Return) <= s.from &&
			(i+1 == len(j.Grants) || j.At(j.Grants[i+1].Return) > s.from) {
			story.tellGrant(g, s.from)
		}
	}
	asks := "asked for " + j.theLock()
	if first.F == history.Release {
		asks = "asked to release " + j.theLock()
	}
	story.tell(turning, first.Call, "%s %s", s.client, asks)
	end := last.Return
	if end < 0 || j.At(end) > s.to {
		end = len(j.History.Events) - 1
	}
	story.tell(turning, end, "%s", had)
	story.decidedBy(since)
	c := &Counterexample{From: len(j.Ops), Impossible: -1, Bound: bound, Assumption: string(reconnects)}
	c.Operations = []CounterOp{{Client: s.client, Op: fmt.Sprintf("waits for %s (%s)", j.itsLock(), words.Count(s.attempts, "request")),
		Events: sortedEvents(first.Call, last.Call, last.Return), From: s.from, To: s.to,
		Believed: "the nodes will answer", True: "nothing passes on its open connections"}}
	c.setStory(story)
	f.Counterexample = c
	return f
}
