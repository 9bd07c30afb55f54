package checker

import (
	"context"
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
	effort := Effort{Operations: len(j.Ops), Chances: j.contendedAttempts(holdings) + j.contendedAttempts(others), Of: "contended"}
	f := Finding{Effort: effort, Method: "interval sweep"}
	var first, second *facts.Holding
	for part := range slices.Values(j.splitByLock(holdings)) {
		a, b, ok := firstClash(part)
		if ok && (second == nil || part[b].From < second.From) {
			first, second = &part[a], &part[b]
		}
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
	if effort.Chances == 0 {
		f.Verdict, f.Why = Unknown, fmt.Sprintf("the lock was never contended: %s", words.Count(len(j.Grants), "grant"))
		return f
	}
	f.Verdict = Holds
	if j.brief {
		return f
	}
	f.Why = fmt.Sprintf("no two %s overlapped (%s, %d %s)", what, words.Count(len(j.Grants), "grant"), effort.Chances, effort.What())
	return f
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
