package checker

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// randomScript makes a history that nobody would call sensible: any event may
// follow any other.
func randomScript(r *rand.Rand) *script {
	s := newScript()
	cells := []string{""}
	switch r.IntN(7) {
	case 0:
		s.h.Header.Workload, cells = "two-cells", []string{"a", "b"}
	case 1:
		s.h.Header.Workload, cells = "side-effect", []string{"sent", "mail"}
	case 2:
		return randomPairs(r, s)
	case 3:
		s.h.Header.Workload = []string{"stock", "jobs", "append"}[r.IntN(3)]
	}
	clients := []string{"c1", "c2", "c3"}
	nodes := []string{"A", "B", "C", "D", "E", ""}
	locks := []string{"", "", "x"}
	owners, alone := []string{"o1", "o2", ""}, r.IntN(2) == 0
	if alone { // one lock on one node
		owners[1] = "o1"
		s.h.Header.Nodes, nodes, locks = nodes[:1], []string{"A", "A", "A", "A", "B", ""}, []string{"", "", ""}
	}
	types := []history.Type{history.Invoke, history.Invoke, history.OK, history.OK, history.Fail, history.Info}
	ops := []history.F{history.Acquire, history.Acquire, history.Extend, history.Release, history.Read, history.Write}
	if r.IntN(4) == 0 {
		ops[2] = history.CAS
	}
	if r.IntN(4) == 0 {
		ops[3] = history.Forget
	}
	kinds := []string{"pause", "kill", "stop", "clock-jump", "something"}
	pending := map[string]history.F{}
	s.drawHeader(r)
	ms := s.begins(r, alone)
	silent := r.IntN(4) == 0
	if silent { // and no other fault
		s.fault(ms, true, 9, "stall", "all clients to A")
	}
	for range r.IntN(60) {
		ms += int64(r.IntN(3)) * int64(r.IntN(300))
		c := clients[r.IntN(3)]
		what := r.IntN(11)
		if alone && r.IntN(3) == 0 {
			what = 1
		}
		switch what {
		case 10:
			if s.h.Header.Quorum == 0 {
				break
			}
			s.add(ms, c, history.Info, []history.F{history.Lost, history.Lost, history.Lost, history.ProgramEnded}[r.IntN(4)],
				history.Value{Owner: []string{"o1", ""}[r.IntN(2)],
					Outcome: &history.Outcome{At: randomInt(r, ms*1e6), AtError: int64(r.IntN(2)) * 100e6}})
		case 0:
			if silent {
				break
			}
			s.fault(ms, r.IntN(2) == 0, r.IntN(3), kinds[r.IntN(5)], append(nodes, clients...)[r.IntN(9)])
		case 1:
			s.key(ms, []history.F{history.KeySet, history.KeyDeleted, history.KeyExtended, history.KeyExpired}[r.IntN(4)],
				nodes[r.IntN(6)], append(clients, "")[r.IntN(4)], owners[r.IntN(3)], int64(r.IntN(3)*500-500))
			if v := &s.h.Events[len(s.h.Events)-1].Value; s.h.Header.Quorum > 0 {
				v.OwnOutcome().At, v.OwnGrant().ValidUntil = randomInt(r, (ms-int64(r.IntN(100)))*1e6), randomInt(r, (ms+int64(r.IntN(900)))*1e6)
			}
		case 2:
			s.phase(ms, []string{history.PhaseHealing, history.PhaseDone, history.PhaseSafety}[r.IntN(3)])
		case 3:
			s.add(ms, history.ResourceProcess, history.Info, history.Effect, history.Value{Client: c,
				Section: r.IntN(3), Key: cells[r.IntN(len(cells))], Token: randomInt(r, 3),
				Outcome: &history.Outcome{Op: ops[r.IntN(6)], At: randomInt(r, ms*1e6), Accepted: history.SomeBool(r.IntN(3) > 0)}})
		default:
			// Most of the time a client does what a client can do.
			typ, f := types[r.IntN(6)], ops[r.IntN(6)]
			if before, ok := pending[c]; ok && r.IntN(8) > 0 {
				typ, f = types[2+r.IntN(4)], before
				delete(pending, c)
			} else if r.IntN(8) > 0 {
				typ, pending[c] = history.Invoke, f
			}
			s.add(ms, c, typ, f, history.Value{Section: r.IntN(3), Key: cells[r.IntN(len(cells))], Number: randomInt(r, int64(r.IntN(3))),
				Extra: &history.Extra{Expected: randomInt(r, int64(r.IntN(3))), Lock: locks[r.IntN(3)], Inner: asksInside(r, f),
					Shared: asksFor(r, s.h.Header.Modes && f == history.Acquire, 2)},
				Grant: &history.Grant{ValidUntil: randomInt(r, (ms+int64(r.IntN(900)))*1e6)}, Token: randomInt(r, int64(r.IntN(5))),
				Owner: []string{"o1", "o2", ""}[r.IntN(3)]})
		}
	}
	if r.IntN(4) > 0 {
		s.phase(ms, history.PhaseDone)
	}
	return s
}

// drawHeader draws what the history says of the lock.
func (s *script) drawHeader(r *rand.Rand) {
	s.h.Header.Quorum, s.h.Header.Renews = max(0, r.IntN(8)-4), true
	s.h.Header.Permits = max(0, r.IntN(10)-7)
	s.h.Header.Modes = asksFor(r, s.h.Header.Permits == 0, 5)
	s.h.Header.Fair, s.h.Header.MostOvertakes = r.IntN(3) == 0, max(0, r.IntN(8)-5)
	s.h.Header.AtLeast = max(0, r.Int64N(10)-8)
	if r.IntN(8) == 0 {
		s.h.Header.TTL, s.h.Header.Lease = 0, history.LeaseNone
	}
}

// asksFor draws, with a chance of one in n, whether something is so that can be.
func asksFor(r *rand.Rand, can bool, n int) bool { return can && r.IntN(n) == 0 }

// asksInside says of some acquires that their clients have the lock.
func asksInside(r *rand.Rand, f history.F) bool { return f == history.Acquire && r.IntN(4) == 0 }

// begins gives c1 the lock now and then, if there is one node, and tells it maybe that it is lost. It returns when.
func (s *script) begins(r *rand.Rand, alone bool) (ms int64) {
	if !alone || r.IntN(4) > 0 {
		return 0
	}
	s.add(0, "c1", history.Invoke, history.Acquire, history.Value{})
	s.key(5, history.KeySet, "A", "c1", "o1", -1)
	s.add(10, "c1", history.OK, history.Acquire, history.Value{Owner: "o1"})
	if ms = 100 + int64(r.IntN(500)); r.IntN(2) == 0 {
		s.lost(ms, "c1")
	}
	return ms
}

// randomPairs appends to two lists, and looks at them, without much sense.
func randomPairs(r *rand.Rand, s *script) *script {
	s.h.Header.Workload = "transactions"
	var a, b []int64
	for i := range r.IntN(6) {
		n := history.Value{Section: 1, Number: history.Some(int64(i))}
		c := []string{"c1", "c2"}[r.IntN(2)]
		s.add(int64(10*i), c, history.Invoke, history.Transact, n)
		if r.IntN(8) > 0 {
			a = append(a, int64(i))
		}
		s.pairLook(int64(10*i+1), "c3", 1+r.IntN(2), a, b)
		if r.IntN(8) > 0 {
			b = append(b, int64(i))
		}
		s.add(int64(10*i+3), c, []history.Type{history.OK, history.OK, history.Fail, history.Info}[r.IntN(4)], history.Transact, n)
		s.pairLook(int64(10*i+4), "c3", 1+r.IntN(2), a, b)
	}
	if r.IntN(2) > 0 {
		s.add(90, history.ResourceProcess, history.Info, history.NodeDown, history.Value{})
	}
	if r.IntN(4) > 0 {
		s.pairLook(100, "c3", 0, a, b)
	}
	s.phase(101, history.PhaseDone)
	return s
}

func randomInt(r *rand.Rand, v int64) history.Int {
	if r.IntN(4) == 0 {
		return history.Int{}
	}
	return history.Some(v)
}

// TestJudgeAnything: no history, however odd, makes Judge panic, break the
// shape of a finding, or find its two methods at odds.
func TestJudgeAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	verdicts := map[Property]map[Verdict]int{}
	for range 20000 {
		s := randomScript(r)
		for _, f := range Judge(context.Background(), &s.h, Properties(), Options{}) {
			checkShape(t, &s.h, f)
			if strings.Contains(f.Why, "disagree") {
				t.Errorf("%s: %s", f.Property, f.Why)
			}
			if verdicts[f.Property] == nil {
				verdicts[f.Property] = map[Verdict]int{}
			}
			verdicts[f.Property][f.Verdict]++
		}
		if t.Failed() {
			var b strings.Builder
			_ = history.Encode(&b, &s.h)
			t.Log(b.String())
			return
		}
	}
	for _, p := range Properties() {
		if verdicts[p][Violated] == 0 || verdicts[p][Holds] == 0 {
			t.Errorf("%s was never both held and violated: %v", p, verdicts[p])
		}
	}
}
