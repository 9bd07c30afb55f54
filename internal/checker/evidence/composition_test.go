package evidence

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/linear"
)

// request is what a client asks for: the words of the file, and the operation
// that porcupine is told of.
type request struct {
	f, value string
	op       linear.Op
	// see says what the operation found in a state, where it looks; nil where the
	// answer repeats the request.
	see func(state any, a *actor, o *linear.Op) string
}

// subject is a model of `sim check` with a way to make random histories of it.
type subject struct {
	model string
	o     Options
	// start is the value at the beginning.
	start int64
	// of makes porcupine's model, for acting out and for judging.
	of  func(s *subject, h linear.History, texts []string) linear.Model
	ask func(r *rand.Rand, a *actor, process int) request
}

const isNil = int64(-1 << 62) // what porcupine is told of a register without a value

func cellOf(s *subject, _ linear.History, _ []string) linear.Model { return linear.Cell(s.start) }

func fixed(m linear.Model) func(*subject, linear.History, []string) linear.Model {
	return func(*subject, linear.History, []string) linear.Model { return m }
}

func number(v int64) string {
	if v == isNil {
		return "nil"
	}
	return strconv.FormatInt(v, 10)
}

func seeNumber(state any, _ *actor, o *linear.Op) string {
	o.A = state.(int64)
	return number(o.A)
}

func seeList(kind string) func(any, *actor, *linear.Op) string {
	return func(state any, a *actor, o *linear.Op) string {
		list := []int64{}
		for s := state.(string); s != ""; s = s[8:] {
			list = append(list, int64(s[7])) // small numbers: the last byte tells
		}
		o.A = int64(len(a.h.Lists))
		a.h.Lists = append(a.h.Lists, list)
		return kind + strings.Trim(fmt.Sprint(list), "[]") + map[string]string{"[": "]", "#{": "}"}[kind]
	}
}

// askCell draws from few values: some are written twice, the first one among
// them, and plain writes stand beside steps.
func askCell(r *rand.Rand, a *actor, _ int) request {
	v := a.state.(int64)
	small := r.Int64N(4)
	if r.IntN(5) == 0 && v != isNil {
		small = v + 1
	}
	switch n := r.IntN(9); {
	case n < 3:
		return request{"read", "nil", linear.Op{Kind: linear.Read}, seeNumber}
	case n < 5:
		return request{"write", number(small), linear.Op{Kind: linear.Write, A: small}, nil}
	case n < 7 && a.s.model == "counter":
		by := 1 + r.Int64N(2)
		return request{"add", number(by), linear.Op{Kind: linear.Add, A: by}, nil}
	}
	if r.IntN(3) > 0 && v != isNil {
		small = v + 1
	}
	return request{"cas", fmt.Sprintf("[%s %d]", number(v), small), linear.Op{Kind: linear.CAS, A: v, B: small}, nil}
}

func askLock(r *rand.Rand, a *actor, process int) request {
	o := linear.Op{Kind: linear.Acquire, A: linear.None}
	if a.holding[process] > 0 && r.IntN(5) > 0 || r.IntN(12) == 0 {
		o.Kind = linear.Release
		return request{"release", "nil", o, nil}
	}
	if strings.Contains(a.s.model, "fenced") && r.IntN(4) > 0 {
		a.token += r.Int64N(3)
		o.A = a.token
		return request{"acquire", fmt.Sprintf("{:fence %d}", o.A), o, nil}
	}
	return request{"acquire", "nil", o, nil}
}

// askOwner names every grant by an owner value; some are used again.
func askOwner(r *rand.Rand, a *actor, process int) request {
	q := askLock(r, a, process)
	if q.op.Kind == linear.Acquire {
		a.grants++
		a.owner[process] = a.grants
		if r.IntN(6) == 0 {
			a.owner[process] = 1 + r.Int64N(a.grants)
		}
	}
	q.op.B = a.owner[process]
	q.value = fmt.Sprintf("{:owner \"o%d\"}", q.op.B)
	return q
}

func askText(r *rand.Rand, a *actor, _ int) request {
	n := r.Int64N(int64(len(pieces)))
	value := strconv.Quote(pieces[n])
	switch r.IntN(7) {
	case 0, 1:
		return request{"get", "nil", linear.Op{Kind: linear.Read}, func(state any, a *actor, o *linear.Op) string {
			o.A = int64(len(a.texts))
			a.texts = append(a.texts, state.(string))
			return strconv.Quote(state.(string))
		}}
	case 2:
		return request{"put", value, linear.Op{Kind: linear.Write, A: n}, nil}
	}
	return request{"append", value, linear.Op{Kind: linear.Append, A: n}, nil}
}

var pieces = []string{"a", "b", "ab", "c", "d", "e"}

func ask(f string, kind linear.Kind, most int64) func(*rand.Rand, *actor, int) request {
	return func(r *rand.Rand, a *actor, _ int) request {
		n := r.Int64N(most)
		reads := r.IntN(3) == 0
		switch {
		case reads && kind == linear.Append:
			return request{"read", "nil", linear.Op{Kind: linear.ReadList}, seeList("[")}
		case reads && kind == linear.Insert:
			return request{"read", "nil", linear.Op{Kind: linear.ReadSet}, seeList("#{")}
		}
		return request{f, number(n), linear.Op{Kind: kind, A: n, B: linear.None}, nil}
	}
}

func askStock(r *rand.Rand, a *actor, _ int) request {
	n := 1 + r.Int64N(3)
	switch r.IntN(6) {
	case 0:
		return request{"read", "nil", linear.Op{Kind: linear.Read}, seeNumber}
	case 1:
		return request{"add", number(n), linear.Op{Kind: linear.Add, A: n}, nil}
	case 2:
		return request{"write", number(n), linear.Op{Kind: linear.Write, A: n}, nil}
	}
	return request{"sell", number(n), linear.Op{Kind: linear.Sell, A: n}, nil}
}

var subjects = []subject{
	{"register", Options{}, isNil, cellOf, askCell},
	{"register", Options{Initial: history.Some(1)}, 1, cellOf, askCell},
	{"cas-register", Options{}, isNil, cellOf, askCell},
	{"cas-register", Options{Initial: history.Some(0)}, 0, cellOf, askCell},
	{"counter", Options{}, 0, cellOf, askCell},
	{"counter", Options{Initial: history.Some(2)}, 2, cellOf, askCell},
	{"mutex", Options{}, 0, fixed(linear.PlainMutex()), askLock},
	{"owner-mutex", Options{}, 0, fixed(linear.OwnerMutex()), askLock},
	{"owner-mutex", Options{}, 0, fixed(linear.TaggedMutex()), askOwner},
	{"fenced-mutex", Options{}, 0, fixed(linear.Fenced()), askLock},
	{"reentrant-mutex", Options{Reentrancy: 2}, 0, fixed(linear.Reentrant(2)), askLock},
	{"reentrant-fenced-mutex", Options{}, 0, fixed(linear.ReentrantFenced(0)), askLock},
	{"semaphore", Options{Permits: 2}, 0,
		func(_ *subject, h linear.History, _ []string) linear.Model { return linear.Semaphore(2, h) }, askLock},
	{"append", Options{}, 0, func(_ *subject, h linear.History, _ []string) linear.Model { return linear.List(h.Lists) },
		ask("append", linear.Append, 8)},
	{"stock", Options{Initial: history.Some(4)}, 4,
		func(s *subject, _ linear.History, _ []string) linear.Model { return linear.Stock(s.start) }, askStock},
	{"stock", Options{}, 0, func(s *subject, _ linear.History, _ []string) linear.Model { return linear.Stock(s.start) }, askStock},
	{"jobs", Options{}, 0, fixed(linear.Jobs()), ask("run", linear.Run, 8)},
	{"set", Options{}, 0, func(_ *subject, h linear.History, _ []string) linear.Model { return linear.Set(h.Lists) },
		ask("add", linear.Insert, 3)},
	{"kv", Options{}, 0, func(_ *subject, _ linear.History, texts []string) linear.Model { return linear.Text(texts) }, askText},
}

// clients is how many processes work at a time. One whose outcome stays unknown
// is followed by another process.
const clients = 3

// actor acts out one history: clients that ask, a server that does it at some
// instant between, and sometimes something wrong.
type actor struct {
	s       *subject
	r       *rand.Rand
	m       linear.Model
	h       linear.History
	texts   []string
	text    strings.Builder
	n       int64 // events so far
	state   any
	old     any // some state before
	process [clients]int
	open    [clients]*request
	done    [clients]bool
	called  [clients]int64
	holding map[int]int
	owner   map[int]int64
	grants  int64
	token   int64
}

func (s *subject) act(r *rand.Rand, events int64) *actor {
	a := &actor{s: s, r: r, texts: pieces[:len(pieces):len(pieces)], holding: map[int]int{}, owner: map[int]int64{}}
	everybody := linear.History{}
	for p := range int32(64) {
		everybody.Ops = append(everybody.Ops, linear.Op{Process: p})
	}
	a.m = s.of(s, everybody, a.texts)
	a.state, a.old = a.m.Init, a.m.Init
	for c := range clients {
		a.process[c] = c
	}
	for a.n < events {
		c := r.IntN(clients)
		switch {
		case a.open[c] == nil:
			q := s.ask(r, a, a.process[c])
			q.op.Process = int32(a.process[c])
			a.open[c], a.done[c], a.called[c] = &q, false, a.event(c, "invoke", &q)
		case !a.done[c]:
			a.take(c)
		default:
			a.answer(c)
		}
	}
	for c := range clients {
		if a.open[c] != nil {
			a.note(c, linear.Never)
		}
	}
	return a
}

func (a *actor) event(c int, typ string, q *request) int64 {
	a.n++
	fmt.Fprintf(&a.text, "{:process %d, :type :%s, :f :%s, :value %s}\n", a.process[c], typ, q.f, q.value)
	return a.n
}

// take lets an operation take effect, or refuses it.
func (a *actor) take(c int) {
	q := a.open[c]
	if q.see != nil {
		state := a.state
		if a.r.IntN(10) == 0 {
			state = a.old
		}
		q.value, a.done[c] = q.see(state, a, &q.op), true
		return
	}
	ok, next := a.m.Step(a.state, &q.op)
	if !ok && a.r.IntN(8) > 0 {
		if a.r.IntN(3) == 0 {
			a.event(c, "fail", q)
			a.open[c] = nil
		}
		return
	}
	if a.r.IntN(4) == 0 {
		a.old = a.state
	}
	if a.r.IntN(20) > 0 { // else it is lost
		a.state = next
	}
	a.done[c] = true
}

// answer tells the client, or does not.
func (a *actor) answer(c int) {
	q := a.open[c]
	if a.r.IntN(6) > 0 {
		switch q.op.Kind {
		case linear.Acquire:
			a.holding[a.process[c]]++
		case linear.Release:
			a.holding[a.process[c]]--
		}
		a.note(c, a.event(c, "ok", q))
		return
	}
	if a.r.IntN(2) == 0 {
		a.event(c, "info", q)
	}
	a.note(c, linear.Never)
	a.process[c] += clients
}

// note tells porcupine.
func (a *actor) note(c int, ret int64) {
	o := a.open[c].op
	o.Call, o.Return = a.called[c], ret
	if a.open[c].see == nil || ret != linear.Never {
		a.h.Ops = append(a.h.Ops, o)
	}
	a.open[c] = nil
}

func rounds(t *testing.T) int { return suite.Amount(t, 1500, 1500) }

// TestCheckIsPorcupine: what `sim check` says of a file is what porcupine says of
// the operations in it, for every model, whatever the file is made of.
func TestCheckIsPorcupine(t *testing.T) {
	for n := range subjects {
		s := &subjects[n]
		t.Run(fmt.Sprintf("%s from %s", s.model, number(s.start)), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(n), 3))
			tally := map[linear.Outcome]int{}
			n := rounds(t)
			for range n {
				a := s.act(r, 6+r.Int64N(14))
				ref := linear.Reference(context.Background(), s.of(s, a.h, a.texts), a.h, linear.Bounds{})
				tally[ref.Outcome]++
				o := s.o
				o.Model, o.Format = s.model, EDN
				got, err := Check(context.Background(), strings.NewReader(a.text.String()), o)
				want := map[linear.Outcome]checker.Verdict{linear.Legal: checker.Holds, linear.Illegal: checker.Violated}[ref.Outcome]
				if len(a.h.Ops) == 0 {
					want = checker.Unknown
				}
				if err != nil || got.Verdict != want {
					t.Fatalf("%v, %v; porcupine: %v of\n%s", got, err, ref.Outcome, a.text.String())
				}
			}
			if tally[linear.Legal] < n/20 || tally[linear.Illegal] < n/20 {
				t.Errorf("the histories are one-sided: %v", tally)
			}
		})
	}
}
