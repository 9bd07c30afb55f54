package evidence

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/linear"
)

// decide judges all parts. One that is violated decides the whole.
func (b *builder) decide(ctx context.Context) *Report {
	r := &Report{Format: b.o.Format, Model: b.m.name, Unknown: b.unknown, Verdict: checker.Holds}
	if why := b.notUnderstood(); why != "" {
		r.Verdict, r.Why = checker.Unknown, why
		return r
	}
	deadline := time.Now().Add(b.o.Timeout)
	undecided := ""
	var hard []*question
	for _, key := range slices.Sorted(maps.Keys(b.parts)) {
		p := b.parts[key]
		if len(p.h.Ops) == 0 {
			continue
		}
		r.Operations += len(p.h.Ops)
		r.Keys++
		q, why := b.question(p)
		if why != "" {
			undecided = why
			continue
		}
		res, method := q.problem.Glance(ctx, b.bounds(deadline))
		r.Method = method
		if res.Outcome == linear.Illegal {
			b.explain(ctx, r, q, res)
			return r
		}
		if res.Outcome == linear.Undecided {
			hard = append(hard, q)
			continue
		}
		switch known, err := q.problem.Confirm(); {
		case err != nil:
			undecided = "the order that " + method + " found explains nothing: " + err.Error()
		case known:
			r.Method += ", confirmed by its order"
		}
	}
	for i, q := range hard {
		left := b.bounds(deadline)
		left.Timeout /= time.Duration(len(hard) - i)
		res, method := q.problem.Search(ctx, left)
		r.Method = method
		switch res.Outcome {
		case linear.Illegal:
			b.explain(ctx, r, q, res)
			return r
		case linear.Undecided:
			undecided = res.Why
		}
	}
	switch {
	case undecided != "":
		r.Verdict, r.Why = checker.Unknown, undecided
	case r.Operations == 0:
		r.Verdict, r.Why = checker.Unknown, b.nothing()
	case b.m.timed && b.strange[history.Extend] > 0:
		r.Verdict, r.Why = checker.Unknown, "nothing is wrong with the leases as they were granted, and renewals are not looked at"
	default:
		r.Why = words.Count(r.Operations, "operation") + ", explained by one order"
	}
	return r
}

// notUnderstood says why nothing can be said of the history: something in it may
// have changed what the others found, and nobody knows how.
func (b *builder) notUnderstood() string {
	if b.orphan > 0 {
		return fmt.Sprintf("line %d completes an operation that was never invoked: the history has no beginning", b.orphan)
	}
	for f := range b.strange {
		if !b.m.ignores(f) {
			return b.knowsNo()
		}
	}
	if b.m.timed && b.latest == 0 && len(b.parts) > 0 {
		return "the history has no times, and a lease ends at one"
	}
	return ""
}

// nothing says why there is nothing to judge.
func (b *builder) nothing() string {
	if len(b.strange) == 0 {
		return "the history has no operations"
	}
	return b.knowsNo()
}

func (b *builder) knowsNo() string {
	return fmt.Sprintf("the model %s knows no %s (it knows %s)", b.m.name, listed(b.strange), listed(b.m.verbs))
}

// listed are the keys of a map, in order.
func listed[V any](of map[history.F]V) string {
	var names []string
	for _, f := range slices.Sorted(maps.Keys(of)) {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// bounds are what is left for the check.
func (b *builder) bounds(deadline time.Time) linear.Bounds {
	return linear.Bounds{Timeout: max(time.Until(deadline), time.Millisecond), Memory: b.o.Memory}
}

// question is what is asked about one part, with its history as the model wants it,
// and the operation of the part that each of the operations there is; nil where they
// are the same.
type question struct {
	part    *part
	problem linear.Problem
	places  []int
}

func (b *builder) question(p *part) (q *question, why string) {
	q = &question{part: p}
	h := p.h
	switch {
	case b.m.name == "kv":
		if list, ok := asList(h, b.texts); ok {
			q.problem = linear.ListProblem(list)
			return q, ""
		}
		q.problem = linear.Problem{History: h, Model: linear.Text(b.texts)}
		return q, ""
	case b.m.timed && ambiguous(p):
		return nil, "it cannot be told which release belongs to which leased grant"
	case b.m.timed:
		leased, r := linear.Lease(h, p.until)
		if r.Outcome != 0 {
			return nil, r.Why
		}
		h, q.places = leased, leasePlaces(h, leased)
	case b.m.tagged && ambiguous(p) && !p.nameless:
		// The owner value tells who holds the lock, though not which grant it is.
		q.problem = linear.Problem{History: h, Model: linear.TaggedMutex()}
		return q, ""
	case b.m.tagged && ambiguous(p):
		if crossed(p) {
			return nil, "it cannot be told which release belongs to which grant"
		}
		// Only the process tells.
		q.problem = linear.Problem{History: h, Model: linear.OwnerMutex()}
		return q, ""
	}
	q.problem = b.m.problem(h, b.o)
	return q, ""
}

// ambiguous reports whether it cannot be told by tags which release belongs to
// which grant: an owner value belongs to several grants, or to none while some
// grant did not name its owner.
func ambiguous(p *part) bool {
	type end struct {
		tag     int64
		release bool
	}
	seen := make(map[end]bool, len(p.h.Ops))
	for i := range p.h.Ops {
		e := end{p.h.Ops[i].B, p.h.Ops[i].Kind == linear.Release}
		if seen[e] {
			return true
		}
		seen[e] = true
	}
	for e := range seen {
		if e.release && p.nameless && !seen[end{e.tag, false}] {
			return true
		}
	}
	return p.untagged
}

// crossed reports whether an owner value was given back by a process that is not
// known to have acquired it: then the process does not tell the owner.
func crossed(p *part) bool {
	type holder struct {
		tag     int64
		process int32
	}
	acquired := make(map[holder]bool, len(p.h.Ops))
	for i := range p.h.Ops {
		if o := &p.h.Ops[i]; o.Kind == linear.Acquire {
			acquired[holder{o.B, o.Process}] = true
		}
	}
	named := make(map[int64]bool, len(p.tags))
	for _, tag := range p.tags {
		named[tag] = true
	}
	for i := range p.h.Ops {
		if o := &p.h.Ops[i]; o.Kind == linear.Release && named[o.B] && !acquired[holder{o.B, o.Process}] {
			return true
		}
	}
	return false
}

// leasePlaces finds the operations of a leased history in the one it was made
// from. The end of a promise belongs to its acquire.
func leasePlaces(h, leased linear.History) []int {
	at := make(map[[2]int64]int, len(h.Ops))
	for i := range h.Ops {
		at[[2]int64{h.Ops[i].B, int64(h.Ops[i].Kind)}] = i
	}
	places := make([]int, len(leased.Ops))
	for i := range leased.Ops {
		kind := leased.Ops[i].Kind
		if kind == linear.Expire {
			kind = linear.Acquire
		}
		places[i] = at[[2]int64{leased.Ops[i].B, int64(kind)}]
	}
	return places
}

// shrinkFor is how long a counterexample is made smaller.
const shrinkFor = 2 * time.Second

// explain finds the first impossible operation and a small set of operations
// that cannot be explained, if it is quick enough.
func (b *builder) explain(ctx context.Context, r *Report, q *question, res linear.Result) {
	c := linear.Explain(ctx, q.problem, linear.Bounds{Timeout: shrinkFor, Memory: b.o.Memory})
	place := func(i int) int {
		if q.places != nil {
			return q.places[i]
		}
		return i
	}
	r.Verdict, r.Why = checker.Violated, res.Why
	if c.At < 0 {
		return // it could not be decided again in so short a time
	}
	bad := b.describe(q.part, place(c.At))
	r.FirstBad, r.Minimal, r.From = &bad, c.Minimal, len(q.problem.History.Ops)
	for _, i := range c.Operations {
		r.Counterexample = append(r.Counterexample, b.describe(q.part, place(i)))
	}
	slices.SortStableFunc(r.Counterexample, func(x, y Operation) int { return cmp.Compare(x.CallLine, y.CallLine) })
	if len(c.Operations) > 0 && c.Why != "" {
		r.Why = c.Why
	}
	r.Why += fmt.Sprintf(": line %d, %s by %s", bad.ReturnLine, bad.What, bad.Process)
}

func (b *builder) describe(p *part, i int) Operation {
	o := &p.h.Ops[i]
	return Operation{Process: b.names[o.Process], Key: p.key, What: b.words(p, o),
		CallLine: int(p.calls[i]), ReturnLine: int(p.returns[i])}
}

func (b *builder) words(p *part, o *linear.Op) string {
	text := func(n int64) string {
		switch {
		case n == nilValue:
			return "nil"
		case b.m.name == "kv":
			return fmt.Sprintf("%q", clip(b.texts[n]))
		}
		return fmt.Sprint(n)
	}
	switch {
	case o.Kind == linear.Acquire && o.A != linear.None:
		return fmt.Sprintf("acquire with token %d", o.A)
	case o.Kind == linear.ReadList || o.Kind == linear.ReadSet:
		return clip(fmt.Sprintf("read %v", p.h.Lists[o.A]))
	case o.Kind == linear.CAS:
		return fmt.Sprintf("cas %s to %s", text(o.A), text(o.B))
	}
	if words, one := opWords[o.Kind]; one {
		return words + text(o.A)
	}
	return o.Kind.String()
}

// opWords tell of operations with one argument.
var opWords = map[linear.Kind]string{linear.Read: "read ", linear.Write: "write ", linear.CASFailed: "failed cas from ", linear.Add: "add ",
	linear.Append: "append ", linear.Sell: "sell ", linear.Run: "run tick ", linear.Insert: "insert "}

// clip keeps long values from filling a screen.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
