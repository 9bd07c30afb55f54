package evidence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/linear"
)

// TestNotUnderstood: what the model does not know makes the verdict unknown, and
// the reason names it. The histories are violated as far as the model can see.
func TestNotUnderstood(t *testing.T) {
	leased := `{:process 0, :type :invoke, :f :acquire, :value nil}
		{:process 0, :type :ok, :f :acquire, :value {:owner "a", :valid-until 5}}`
	for name, c := range map[string]struct{ model, text, why string }{
		"an operation of another kind": {"register", lines("0 invoke delete nil\n0 ok delete nil\n" + done(0, "read", "3")), "knows no delete"},
		"two lists at once":            {"append", lines(done(0, "txn", "3") + done(0, "read", "[3]")), "knows no txn"},
		"a theft of the lock": {"mutex",
			lines(done(0, "acquire", "nil") + done(1, "steal", "nil") + done(1, "acquire", "nil")), "knows no steal"},
		"no beginning":         {"register", lines("0 ok write 3\n" + done(0, "read", "4")), "line 1 completes"},
		"a completion twice":   {"register", lines(done(0, "write", "3") + "0 ok write 4\n" + done(0, "read", "5")), "line 3 completes"},
		"leases without times": {"leased-mutex", leased, "no times"},
		"owners that cannot be told": {"owner-mutex", lines("0 invoke acquire nil\n0 info acquire nil\n" + done(1, "release", `{:owner "x"}`)),
			"cannot be told"},
	} {
		r, err := Check(context.Background(), strings.NewReader(c.text), Options{Model: c.model})
		if err != nil || r.Verdict != checker.Unknown || !strings.Contains(r.Why, c.why) {
			t.Errorf("%s: %+v, %v; want unknown, %q", name, r, err, c.why)
		}
	}
	// What a model may pass over: the lock of a resource, the resource of a lock.
	for model, text := range map[string]string{
		"register": done(0, "acquire", "nil") + done(0, "write", "1") + done(0, "extend", "nil") + done(0, "read", "1"),
		"mutex": done(0, "acquire", "nil") + done(0, "append", "1") +
			done(0, "txn", "2") + done(0, "release", "nil") + done(1, "acquire", "nil"),
	} {
		if r, err := Check(context.Background(), strings.NewReader(lines(text)), Options{Model: model}); err != nil ||
			r.Verdict != checker.Holds {
			t.Errorf("%s: %+v, %v; want holds", model, r, err)
		}
	}
}

// TestOutOfRange: the two numbers that stand for what is not known are refused.
func TestOutOfRange(t *testing.T) {
	var le *history.LineError
	_, err := Check(context.Background(), strings.NewReader(lines(done(0, "write", "-9223372036854775807"))), Options{Model: "register"})
	if !errors.As(err, &le) || le.Line != 2 || !strings.Contains(err.Error(), "out of range") {
		t.Errorf("%v, want a line error", err)
	}
}

// TestUnfitValues: a value that the model cannot hold is an error at its line, and no nil,
// no empty list and no step by 1.
func TestUnfitValues(t *testing.T) {
	for _, c := range []struct{ model, f, value, want string }{
		{"register", "read", "[1 2 3]", "a read saw [1 2 3]: the model register wants a whole number"},
		{"register", "read", "true", `a read saw "true": the model register`},
		{"register", "write", ":a", `the value "a" is not supported: want what was written, a whole number`},
		{"counter", "add", "1.5", `the value "1.5" is not supported: want what was added`},
		{"counter", "add", "[1 2 3]", "the value [1 2 3] is not supported: want what was added"},
		{"cas-register", "cas", "[1 2 3]", "the value [1 2 3] is not supported: want [from to]"},
		{"append", "append", `"x"`, `the value "x" is not supported: want an element`},
		{"append", "read", "1", "a read saw 1: the model append wants a list of whole numbers"},
		{"set", "read", `"x"`, `a read saw "x": the model set wants a list`},
		{"set", "add", "nil", "no value: want an element"},
		{"stock", "sell", "#{1}", "the value [1] is not supported: want units"},
		{"jobs", "run", "##NaN", "is not supported: want a tick"},
		{"kv", "get", "[1 2 3]", "the value [1 2 3] is not supported: the model kv wants a text"},
		{"kv", "put", "#{1}", "the value [1] is not supported: the model kv"},
		{"kv", "append", "#{}", "the value [] is not supported: the model kv"},
	} {
		var le *history.LineError
		text := lines("0 invoke " + c.f + " nil\n0 ok " + c.f + " " + c.value)
		r, err := Check(context.Background(), strings.NewReader(text), Options{Model: c.model})
		if !errors.As(err, &le) || le.Line != 2 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s %s: %+v, %v; want line 2: %s", c.model, c.f, c.value, r, err, c.want)
		}
	}
	for _, model := range []string{"set", "append"} { // nil is the empty list, as in Jepsen
		text := lines("0 invoke read nil\n0 ok read nil")
		if r, err := Check(context.Background(), strings.NewReader(text), Options{Model: model}); err != nil || r.Verdict != checker.Holds {
			t.Errorf("%s: a read of nil: %+v, %v", model, r, err)
		}
	}
}

// TestNil: nil is one and the same to a read, a compare-and-set and the read of a
// section.
func TestNil(t *testing.T) {
	section := []history.Event{
		event(0, "c1", history.Invoke, history.Read, history.Value{Section: 1}),
		event(1, "c1", history.OK, history.Read, history.Value{Section: 1}),
		event(2, "c1", history.Invoke, history.Write, history.Value{Section: 1, Number: history.Some(5)}),
		event(3, "c1", history.OK, history.Write, history.Value{Section: 1, Number: history.Some(5)}),
	}
	cas := lines(done(0, "cas", "[nil 5]") + done(0, "read", "5"))
	zero := Options{Model: "register", Initial: history.Some(0), NilRead: history.Some(0)}
	for name, c := range map[string]struct {
		text string
		o    Options
		want checker.Verdict
	}{
		"a section that found nothing, the header says what was there": {jsonl(t, history.Header{Initial: history.Some(4)}, section...),
			Options{Model: "counter"}, checker.Holds},
		"a section that found nothing, nobody says": {jsonl(t, history.Header{}, section...),
			Options{Model: "counter"}, checker.Holds},
		"a cas from nil, which is 0": {cas, zero, checker.Holds},
		"a cas from nil":             {cas, Options{Model: "register"}, checker.Holds},
		"a cas from nil, though it was 1": {cas,
			Options{Model: "register", Initial: history.Some(1), NilRead: history.Some(0)}, checker.Violated},
	} {
		if r, err := Check(context.Background(), strings.NewReader(c.text), c.o); err != nil || r.Verdict != c.want {
			t.Errorf("%s: %+v, %v; want %v", name, r, err, c.want)
		}
	}
}

// TestReleaseThatFailed: a client that is told that the lock is not its own any
// more holds it no longer. In EDN a failure only says that nothing was done.
func TestReleaseThatFailed(t *testing.T) {
	own := jsonl(t, history.Header{},
		event(0, "c1", history.Invoke, history.Acquire, history.Value{}),
		event(1, "c1", history.OK, history.Acquire, history.Value{Owner: "a", Grant: &history.Grant{ValidUntil: history.Some(50e6)}}),
		event(2, "c1", history.Invoke, history.Release, history.Value{}),
		event(3, "c1", history.Fail, history.Release, history.Value{}),
		event(4, "c2", history.Invoke, history.Acquire, history.Value{}),
		event(5, "c2", history.OK, history.Acquire, history.Value{Owner: "b", Grant: &history.Grant{ValidUntil: history.Some(90e6)}}))
	foreign := lines(done(0, "acquire", "nil") + "0 invoke release nil\n0 fail release nil\n" + done(1, "acquire", "nil"))
	for model, want := range map[string]checker.Verdict{"owner-mutex": checker.Holds, "leased-mutex": checker.Holds, "mutex": checker.Holds} {
		if r, err := Check(context.Background(), strings.NewReader(own), Options{Model: model}); err != nil || r.Verdict != want {
			t.Errorf("%s: %+v, %v; want %v", model, r, err, want)
		}
	}
	for _, model := range []string{"owner-mutex", "mutex"} {
		if r, err := Check(context.Background(), strings.NewReader(foreign), Options{Model: model}); err != nil || r.Verdict != checker.Violated {
			t.Errorf("%s: %+v, %v; want violated", model, r, err)
		}
	}
}

// TestRenewedLease: renewals are not looked at, so nothing is said to hold.
func TestRenewedLease(t *testing.T) {
	for until, want := range map[int64]checker.Verdict{5: checker.Unknown, 50: checker.Violated} {
		text := jsonl(t, history.Header{},
			event(0, "c1", history.Invoke, history.Acquire, history.Value{}),
			event(1, "c1", history.OK, history.Acquire, history.Value{Owner: "a", Grant: &history.Grant{ValidUntil: history.Some(until * 1e6)}}),
			event(2, "c1", history.Invoke, history.Extend, history.Value{}),
			event(3, "c1", history.OK, history.Extend, history.Value{Grant: &history.Grant{ValidUntil: history.Some(60e6)}}),
			event(7, "c2", history.Invoke, history.Acquire, history.Value{}),
			event(8, "c2", history.OK, history.Acquire, history.Value{Owner: "b", Grant: &history.Grant{ValidUntil: history.Some(90e6)}}))
		if r, err := Check(context.Background(), strings.NewReader(text), Options{Model: "leased-mutex"}); err != nil || r.Verdict != want {
			t.Errorf("until %d ms: %+v, %v; want %v", until, r, err, want)
		}
	}
}

// TestSectionsArePorcupine: the read and the write of a section are one
// operation, whatever came of them and whatever stands beside them.
func TestSectionsArePorcupine(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	tally := map[string]int{}
	for range rounds(t) {
		model := []string{"counter", "stock"}[r.IntN(2)]
		start := history.Some(3)
		if r.IntN(3) == 0 {
			start = history.Int{}
		}
		events, h := actSections(r, model, start.V())
		m := linear.Cell(start.V())
		if model == "stock" {
			m = linear.Stock(start.V())
		}
		ref := linear.Reference(context.Background(), m, h, linear.Bounds{})
		text := jsonl(t, history.Header{Initial: start}, events...)
		got, err := Check(context.Background(), strings.NewReader(text), Options{Model: model})
		want := map[linear.Outcome]checker.Verdict{linear.Legal: checker.Holds, linear.Illegal: checker.Violated}[ref.Outcome]
		if len(h.Ops) == 0 {
			want = checker.Unknown
		}
		if err != nil || got.Verdict != want {
			t.Fatalf("%s: %+v, %v; porcupine: %v of\n%s", model, got, err, ref.Outcome, text)
		}
		tally[fmt.Sprint(model, got.Verdict)]++
	}
	for _, k := range []string{"counterholds", "counterviolated", "stockholds", "stockviolated"} {
		if tally[k] < rounds(t)/20 {
			t.Errorf("one-sided: %v", tally)
		}
	}
}

// actSections has three clients read a number and write the next one, mostly one
// after the other. Events share instants.
func actSections(r *rand.Rand, model string, value int64) (events []history.Event, h linear.History) {
	now, section, start := 0, 0, value
	step := int64(1)
	if model == "stock" {
		step = -1
	}
	add := func(client string, typ history.Type, f history.F, n history.Int, s int) time.Duration {
		now += r.IntN(2)
		e := event(now, client, typ, f, history.Value{Section: s, Number: n})
		events = append(events, e)
		return e.Time
	}
	type running struct {
		stage int
		read  int64
		known history.Int
		call  time.Duration
		n     int
	}
	var run [3]running
	for range 8 + r.IntN(24) {
		c := r.IntN(len(run))
		x, client := &run[c], fmt.Sprintf("c%d", c)
		if x.stage == 0 && r.IntN(3) > 0 && (run[(c+1)%3].stage > 0 || run[(c+2)%3].stage > 0) {
			continue // the lock keeps most of them apart
		}
		switch x.stage {
		case 0:
			section++
			*x = running{stage: 1, n: section}
			x.call = add(client, history.Invoke, history.Read, history.Int{}, x.n)
		case 1:
			x.read, x.known, x.stage = value, history.Some(value), 2
			if value == start && r.IntN(2) == 0 {
				x.known = history.Int{} // it found nothing, so what was there at the beginning
			}
			add(client, history.OK, history.Read, x.known, x.n)
		case 2:
			add(client, history.Invoke, history.Write, history.Some(x.read+step), x.n)
			x.stage = 3
		case 3:
			o := linear.Op{Kind: linear.CAS, A: x.read, B: x.read + step, Call: int64(x.call), Return: linear.Never, Process: int32(c)}
			x.stage = 0
			switch r.IntN(7) {
			case 0:
				add(client, history.Fail, history.Write, history.Int{}, x.n)
				continue
			case 1:
				add(client, history.Info, history.Write, history.Int{}, x.n)
				if r.IntN(2) == 0 {
					value = o.B
				}
			default:
				value = o.B
				o.Return = int64(add(client, history.OK, history.Write, history.Some(o.B), x.n))
			}
			h.Ops = append(h.Ops, o)
		}
	}
	for c := range run {
		if x := &run[c]; x.stage == 3 {
			h.Ops = append(h.Ops, linear.Op{Kind: linear.CAS, A: x.read,
				B: x.read + step, Call: int64(x.call), Return: linear.Never, Process: int32(c)})
		}
	}
	return events, h
}
