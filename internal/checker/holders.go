package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// twoHolders makes the finding that two clients were inside at once.
func (v *view) twoHolders(f Finding, a, b hold, holds []hold) Finding {
	if v.brief {
		return violatedBriefly(f)
	}
	first, second := &v.grants[a.grant], &v.grants[b.grant]
	overlap := Interval{From: b.from, To: min(a.to, b.to, v.end)}
	many, times := crowd(v.sameLock(holds, first.lock))
	f.Verdict = Violated
	f.Why = fmt.Sprintf("%d holders at once for %s", many, length(overlap.To-overlap.From))
	if times > 1 {
		f.Why = fmt.Sprintf("%s and %s held at once for %s; %d such overlaps, up to %d holders",
			first.client, second.client, length(overlap.To-overlap.From), times, many)
	}
	// Neither hold alone is impossible, so the two are a smallest set.
	f.Counterexample = &Counterexample{
		Operations: []CounterOp{v.holdOp(a, second, b.from), v.holdOp(b, first, b.from)},
		From:       len(holds),
		Impossible: second.ret,
		Overlap:    &overlap,
		Assumption: v.whyTwoHolders(first, second),
	}
	slices.SortStableFunc(f.Counterexample.Operations, func(x, y CounterOp) int { return cmp.Compare(x.Events[0], y.Events[0]) })
	f.Events = sortedEvents(first.call, first.ret, first.ends, second.call, second.ret, second.ends)
	f.Counterexample.Story = v.holdersStory(a, b, overlap)
	return f
}

func (v *view) sameLock(holds []hold, lock string) []hold {
	return slices.DeleteFunc(slices.Clone(holds), func(h hold) bool { return v.grants[h.grant].lock != lock })
}

// crowd counts how many holds stood side by side at most, and how often one
// began inside another.
func crowd(holds []hold) (most, times int) {
	var open []time.Duration // the ends of the holds that are open
	for _, h := range holds {
		open = slices.DeleteFunc(open, func(end time.Duration) bool { return end <= h.from })
		if len(open) > 0 {
			times++
		}
		open = append(open, h.to)
		most = max(most, len(open))
	}
	return max(most, 2), max(times, 1)
}

// holdOp is a hold as an operation of a counterexample.
func (v *view) holdOp(h hold, other *grant, overlap time.Duration) CounterOp {
	g := &v.grants[h.grant]
	op := CounterOp{Client: g.client, Op: "holds the lock", Events: sortedEvents(g.call, g.ret, g.ends),
		From: h.from, To: h.to, Believed: promiseWords(g)}
	if h.to == forever {
		op.To = -1
	}
	if last := g.lastPromise(); last.over(overlap) {
		op.True = fmt.Sprintf("the validity had ended %s before %s got the lock", length(overlap-last.end), other.client)
	} else {
		op.True = fmt.Sprintf("%s held it too", other.client)
	}
	return op
}

func (v *view) holdersStory(a, b hold, overlap Interval) []Sentence {
	first, second := &v.grants[a.grant], &v.grants[b.grant]
	s := v.newStory()
	began, words, from := second.ret, v.grantWords(second), v.at(first.call)
	s.tell(filler, second.call, "%s asked for the lock", second.client)
	if i := slices.IndexFunc(second.extends, func(e extension) bool { return b.from > v.at(second.ret) && v.at(e.ret) == b.from }); i >= 0 {
		s.tell(filler, second.ret, "%s", words)
		began, words, from = second.extends[i].ret, second.client+" renewed its lock", min(from, v.at(second.call))
	}
	s.grant(first, v.at(began))
	s.faults(from, v.at(began), first.client, second.client)
	if i := v.dropped(first, second); i >= 0 { // that can be seen late
		s.tellAt(turning, min(v.at(i), v.at(began)), i, "node %s dropped the key of %s, which no client had deleted and which had not run out",
			v.event(i).Process, first.client)
	}
	s.tell(turning, began, "%s, while %s still held it", words, first.client)
	s.writes(overlap.From, overlap.To, first.client, second.client)
	both := fmt.Sprintf(": both had held the lock for %s", length(overlap.To-overlap.From))
	ended, g := a, first
	if b.to < a.to {
		ended, g = b, second
	}
	if ended.ends < 0 && ended.to != forever {
		s.tellAt(turning, ended.to, g.ret, "the validity of %s ended%s", g.client, both)
	} else {
		s.end(g, both)
	}
	return s.sentences()
}
