package checker

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// queue is who waits for which lock, in the order of the invocations.
type queue struct {
	*judge
	disturbances *facts.Disturbances
	// allowance is by how much later somebody has to ask to be later for sure.
	allowance time.Duration
	waits     []wait
}

// wait is an attempt, which is going on from its invocation to its end.
type wait struct {
	op         int
	client     string
	lock       string
	asked, end time.Duration
}

// judgeFairness: nobody who waits is overtaken by more grants than the bound says.
func judgeFairness(_ context.Context, j *judge, o Options) Finding {
	f := Finding{Method: "comparison of waits", Effort: Effort{Operations: len(j.Ops), Of: "waits with others behind"}}
	h := &j.History.Header
	if !h.InOrder() {
		return unknown("the lock does not say that it serves clients in the order in which they ask (fair), "+
			"and no bound is set on overtaking (most_overtakes)", f.Effort)
	}
	q := j.newQueue(cmp.Or(j.LongestTTL(), o.GrantWithin) / 10)
	var first *overtaken
	for i := range q.waits {
		if !q.hasBehind(i) {
			continue // nor is it overtaken
		}
		w := &q.waits[i]
		over := q.overtaking(w)
		if h.MostOvertakes == 0 || len(over) > h.MostOvertakes {
			f.Effort.Chances++
		}
		over = over[:sort.Search(len(over), func(n int) bool { return j.At(over[n].Return) >= w.end })]
		if len(over) > h.MostOvertakes && (first == nil || j.At(over[h.MostOvertakes].Return) < j.At(first.by[h.MostOvertakes].Return)) {
			first = &overtaken{w, over}
		}
	}
	if first != nil {
		return q.overtakenFinding(f, first)
	}
	if h.MostOvertakes > 0 {
		return f.noViolation("too few clients asked while another one waited",
			"nobody who waited bore more than %s to clients that asked later (%d %s)",
			words.Count(h.MostOvertakes, "grant"), f.Effort.Chances, f.Effort.What())
	}
	return f.noViolation("no client asked while another one waited",
		"nobody who waited was overtaken (%d %s)", f.Effort.Chances, f.Effort.What())
}

func (j *judge) newQueue(allowance time.Duration) *queue {
	q := &queue{judge: j, disturbances: j.NewDisturbances(), allowance: allowance}
	for client, acquires := range j.Attempts {
		for n, op := range acquires {
			if !j.IsInner(op) {
				q.waits = append(q.waits, wait{op, client, j.HolderOf(op).Lock, j.At(j.Ops[op].Call), j.AskedUntil(acquires, n)})
			}
		}
	}
	slices.SortFunc(q.waits, func(a, b wait) int {
		return cmp.Or(cmp.Compare(a.asked, b.asked), cmp.Compare(a.op, b.op))
	})
	return q
}

// hasBehind reports that another client asked later than one, before its attempt ended, while it had been quiet.
func (q *queue) hasBehind(i int) bool {
	w := &q.waits[i]
	for k := i + 1; k < len(q.waits) && q.waits[k].asked < w.end; k++ {
		later := &q.waits[k]
		if later.client != w.client && later.lock == w.lock && later.asked-w.asked > q.allowance {
			return q.quiet(w, later.asked) // if it is not, it is not later, either
		}
	}
	return false
}

// overtaking are the grants that would overtake an attempt if it never ended, in the order of their answers: no more than show that there
// are too many.
func (q *queue) overtaking(w *wait) (list []*facts.Grant) {
	from := sort.Search(len(q.Grants), func(n int) bool { return q.At(q.Grants[n].Return) > w.asked })
	for n := from; n < len(q.Grants) && len(list) <= q.History.Header.MostOvertakes; n++ {
		g := &q.Grants[n]
		if g.Client == w.client || g.Lock != w.lock || q.At(g.Call)-w.asked <= q.allowance || g.Outer >= 0 || q.IsInner(int(q.OpAt[g.Call])) {
			continue
		}
		if !q.quiet(w, q.At(g.Return)) {
			break
		}
		list = append(list, g)
	}
	return list
}

// quiet reports that nothing kept an attempt's client and the nodes from one another up to an instant.
func (q *queue) quiet(w *wait, to time.Duration) bool {
	return q.disturbances.Stalled(w.asked, to) < q.allowance && !q.disturbances.Struck(w.client, w.asked, to) &&
		!q.disturbances.BetweenAny(w.client, w.asked, to)
}

// overtaken is an attempt, and the grants that overtook it.
type overtaken struct {
	*wait
	by []*facts.Grant
}

func (q *queue) overtakenFinding(f Finding, o *overtaken) Finding {
	if q.brief {
		return violatedBriefly(f)
	}
	bound := q.History.Header.MostOvertakes
	decides := o.by[bound]
	lock := q.theLock()
	f.Verdict = Violated
	f.Why = o.client + " waited for " + lock + " when " + decides.Client + " got it, which had asked " +
		length(q.At(decides.Call)-o.asked) + " later"
	if bound > 0 {
		f.Why = o.client + " waited for " + lock + ", and more than " + words.Count(bound, "grant") + " went to clients that had asked later"
	}
	call, back := q.Ops[o.op].Call, q.Ops[o.op].Return
	assumption := servesInOrder
	if !q.History.Header.Fair {
		assumption = servesAll
	}
	c := &Counterexample{From: f.Effort.Chances, Impossible: decides.Return, Assumption: string(assumption)}
	c.Operations = []CounterOp{{Client: o.client, Op: "waits for " + lock, Events: sortedEvents(call, back),
		From: o.asked, To: min(o.end, q.End),
		Believed: "whoever asks first gets " + lock + " first", True: "others that asked later got it"}}
	s := q.newStory()
	s.decidedBy(decides.Return)
	s.tell(turning, call, "%s asked for %s", o.client, lock)
	for _, g := range o.by[:bound+1] {
		s.tell(turning, g.Call, "%s asked for %s, %s later", g.Client, lock, length(q.At(g.Call)-o.asked))
		s.tell(turning, g.Return, "%s, while %s still waited", q.grantWords(g), o.client)
		c.Operations = append(c.Operations, CounterOp{Client: g.Client, Op: "holds " + lock, Events: sortedEvents(g.Call, g.Return, g.End),
			From: q.At(g.Return), To: min(q.At(g.End), q.End), Believed: q.promiseWords(g), True: o.client + " had asked before"})
	}
	if back >= 0 && q.Ops[o.op].Type == history.OK {
		s.tell(turning, back, "%s got %s, %s after it had asked", o.client, lock, length(q.At(back)-o.asked))
	}
	c.setStory(s)
	return f.withCounterexample(c)
}
