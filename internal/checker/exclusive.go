package checker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/linear"
)

// judgeBelief: no two clients believe at once that they hold the lock.
func judgeBelief(ctx context.Context, j *judge, o Options) Finding {
	return j.judgeExclusive(ctx, o, j.Beliefs(), nil, "beliefs")
}

// judgeLease: no two clients are inside the validity that their own lock
// promised them at once.
func judgeLease(ctx context.Context, j *judge, o Options) Finding {
	return j.judgeExclusive(ctx, o, j.Leases(), j.LeasesOfKilled(), "promises")
}

// judgeExclusive decides whether holdings exclude each other. Others are stretches in which an attempt is put to the test, too.
func (j *judge) judgeExclusive(ctx context.Context, o Options, holdings, others []facts.Holding, what string) Finding {
	if j.History.Clocks != nil {
		others = nil // of a process that writes no more, nothing is known
	}
	effort := Effort{Operations: len(j.Ops), Chances: j.contendedAttempts(holdings) + j.contendedAttempts(others), Of: "contended"}
	f := Finding{Effort: effort, Method: "interval sweep"}
	first, second := j.firstTwo(holdings, firstClash)
	if j.History.Clocks != nil {
		return j.judgeExclusiveByClocks(ctx, f, holdings, first, second, what)
	}
	if !o.Fast && len(holdings)*2 <= ConfirmUpTo {
		r := j.confirmByPorcupine(ctx, o, holdings)
		if r.Outcome != linear.Undecided {
			if (r.Outcome == linear.Illegal) != (second != nil) {
				return unknown(fmt.Sprintf("the interval sweep and porcupine disagree: porcupine says %v", r.Outcome), effort)
			}
			f.Method = "interval sweep, confirmed by porcupine (owner-aware mutex)"
		}
	}
	if second != nil {
		return j.twoHoldersFinding(f, *first, *second, holdings)
	}
	if !o.Fast && len(holdings)*2 > ConfirmUpTo {
		if err := j.confirmByOrder(holdings); err != nil {
			return unknown(fmt.Sprintf("the order that the interval sweep found explains nothing: %v", err), effort)
		}
		f.Method += ", confirmed by its order"
	}
	return j.exclusive(f, what)
}

// confirmByOrder checks the order in which the holdings of each lock come one after the other.
func (j *judge) confirmByOrder(holdings []facts.Holding) error {
	for _, part := range j.splitByLock(holdings) {
		ops := make([]linear.Op, 0, 2*len(part))
		for tag, h := range part {
			ops = append(ops, linear.Op{Kind: linear.Acquire, A: linear.None, B: int64(tag), Call: int64(h.Asked), Return: int64(h.From)})
			if h.To != facts.Forever {
				ops = append(ops, linear.Op{Kind: linear.Release, A: linear.None, B: int64(tag), Call: int64(h.To), Return: int64(h.Over)})
			}
		}
		p := linear.MutexProblem(linear.History{Ops: ops})
		known, err := p.Confirm()
		if err == nil && !known {
			err = errors.New("it found none")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exclusive is the finding that holdings exclude each other, if they were put to the test.
func (j *judge) exclusive(f Finding, what string) Finding {
	if f.Effort.Chances == 0 {
		f.Verdict, f.Why = Unknown, fmt.Sprintf("the lock was never contended: %s", words.Count(len(j.Grants), "grant"))
		return f
	}
	f.Verdict = Holds
	if j.brief {
		return f
	}
	f.Why = fmt.Sprintf("no two %s overlapped (%s, %d %s)", what, words.Count(len(j.Grants), "grant"), f.Effort.Chances, f.Effort.What())
	return f
}

// firstTwo are, of the pairs that a search finds for each lock, that whose second holding begins first; nil: it finds none.
func (j *judge) firstTwo(holdings []facts.Holding, search func([]facts.Holding) (int, int, bool)) (first, second *facts.Holding) {
	for part := range slices.Values(j.splitByLock(holdings)) {
		a, b, ok := search(part)
		if ok && (second == nil || part[b].From < second.From) {
			first, second = &part[a], &part[b]
		}
	}
	return first, second
}

// judgeExclusiveByClocks decides it where several clocks stamped the history; first and second are a pair that overlaps by their stamps.
func (j *judge) judgeExclusiveByClocks(ctx context.Context, f Finding, holdings []facts.Holding, first, second *facts.Holding,
	what string) Finding {
	f.Method = "interval sweep with the errors of the clocks"
	a, b := j.firstTwo(holdings, func(part []facts.Holding) (int, int, bool) { return j.clashByClocks(ctx, part) })
	switch {
	case ctx.Err() != nil:
		return unknown(cancelled, f.Effort)
	case b != nil:
		return j.twoHoldersFinding(f, *a, *b, holdings)
	case second != nil:
		x, y := &j.Grants[first.Grant], &j.Grants[second.Grant]
		return j.inDoubt(f, x, y, "%s and %s held at once for %s", x.Client, y.Client, length(min(first.To, second.To, j.End)-second.From))
	}
	return j.exclusive(f, what)
}

// splitByLock cuts sorted holdings where the lock changes.
func (j *judge) splitByLock(holdings []facts.Holding) [][]facts.Holding {
	var parts [][]facts.Holding
	for from := 0; from < len(holdings); {
		to := from
		for to < len(holdings) && j.Grants[holdings[to].Grant].Lock == j.Grants[holdings[from].Grant].Lock {
			to++
		}
		parts = append(parts, holdings[from:to])
		from = to
	}
	return parts
}

func firstClash(holdings []facts.Holding) (first, second int, found bool) {
	zones := make([]linear.Zone, len(holdings))
	for i, h := range holdings {
		zones[i] = linear.Zone{From: int64(h.From), To: int64(h.To), ID: int32(i)}
	}
	a, b, found := linear.Clash(zones)
	return int(a), int(b), found
}

// confirmByPorcupine asks porcupine the same question: each holding as an acquire that was
// asked for and answered, and a release asked for at its end.
func (j *judge) confirmByPorcupine(ctx context.Context, o Options, holdings []facts.Holding) linear.Result {
	clients := make(map[string]int32)
	r := linear.Result{Outcome: linear.Legal}
	for _, part := range j.splitByLock(holdings) {
		ops := make([]linear.Op, 0, 2*len(part))
		for _, h := range part {
			g := &j.Grants[h.Grant]
			if _, ok := clients[g.Client]; !ok {
				clients[g.Client] = int32(len(clients))
			}
			p := clients[g.Client]
			ops = append(ops, linear.Op{Kind: linear.Acquire, Process: p, Call: int64(h.Asked), Return: int64(h.From)})
			if h.To != facts.Forever {
				ops = append(ops, linear.Op{Kind: linear.Release, Process: p, Call: int64(h.To), Return: int64(h.Over)})
			}
		}
		r = linear.Reference(ctx, linear.OwnerMutex(), linear.History{Ops: ops}, linear.Bounds{Timeout: o.Timeout, Memory: o.Memory})
		if r.Outcome != linear.Legal {
			return r
		}
	}
	return r
}
