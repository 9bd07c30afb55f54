package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/linear"
)

// lines makes an EDN history of short lines: "0 invoke acquire nil".
func lines(text string) string {
	var b strings.Builder
	for _, l := range strings.Split(strings.TrimSpace(text), "\n") {
		p := strings.SplitN(strings.TrimSpace(l), " ", 4)
		fmt.Fprintf(&b, "{:process %s, :type :%s, :f :%s, :value %s}\n", p[0], p[1], p[2], p[3])
	}
	return b.String()
}

// done is an operation that was answered before the next one was asked for.
func done(process int, f, value string) string {
	return fmt.Sprintf("%d invoke %s %s\n%d ok %s %s\n", process, f, value, process, f, value)
}

// modelCases plants a bug in a history of each model, beside a legal one.
var modelCases = []struct {
	model      string
	o          Options
	legal, bad string
}{
	{"register", Options{}, done(0, "write", "1") + done(1, "read", "1"), done(0, "write", "1") + done(1, "read", "nil")},
	{"cas-register", Options{}, done(0, "write", "1") + done(1, "cas", "[1 2]") + "2 invoke cas [7 8]\n2 info cas [7 8]",
		done(0, "write", "1") + done(1, "cas", "[1 2]") + done(2, "cas", "[1 3]")},
	{"counter", Options{}, done(0, "add", "2") + "1 invoke add 5\n1 info add 5\n" + done(2, "read", "7"),
		done(0, "add", "2") + done(1, "read", "3")},
	{"mutex", Options{}, done(0, "acquire", "nil") + done(1, "release", "nil"), done(0, "acquire", "nil") + done(1, "acquire", "nil")},
	{"owner-mutex", Options{}, done(0, "acquire", "nil") + done(0, "release", "nil") + done(1, "lock", "nil"),
		done(0, "acquire", "nil") + done(1, "release", "nil")},
	{"owner-mutex", Options{}, done(0, "acquire", `{:owner "a"}`) + done(0, "release", `{:owner "a"}`) + done(1, "acquire", `{:owner "b"}`),
		done(0, "acquire", `{:owner "a"}`) + done(1, "acquire", `{:owner "b"}`) + done(0, "release", `{:owner "a"}`)},
	{"fenced-mutex", Options{}, done(0, "acquire", "{:fence 1}") + done(0, "release", "nil") + done(1, "acquire", "{:fence 2}"),
		done(0, "acquire", "{:fence 2}") + done(0, "release", "nil") + done(1, "acquire", "{:fence 2}")},
	{"reentrant-mutex", Options{Reentrancy: 2}, done(0, "acquire", "nil") + done(0, "acquire", "nil") + done(0, "release", "nil"),
		done(0, "acquire", "nil") + done(0, "acquire", "nil") + done(0, "acquire", "nil")},
	{"reentrant-fenced-mutex", Options{}, done(0, "acquire", "{:fence 3}") + done(0, "acquire", "{:fence 3}"),
		done(0, "acquire", "{:fence 3}") + done(0, "acquire", "{:fence 4}")},
	{"semaphore", Options{Permits: 2}, done(0, "acquire", "nil") + done(1, "acquire", "nil"),
		done(0, "acquire", "nil") + done(1, "acquire", "nil") + done(2, "acquire", "nil")},
	{"append", Options{}, done(0, "append", "1") + done(1, "append", "2") + done(0, "read", "[1 2]"),
		done(0, "append", "1") + done(1, "append", "2") + done(0, "read", "[2]")},
	{"stock", Options{Initial: history.Some(3)}, done(0, "sell", "2") + "1 invoke sell 2\n1 fail sell 2",
		done(0, "sell", "2") + done(1, "sell", "2")},
	{"jobs", Options{}, done(0, "run", "1") + done(1, "run", "2"), done(0, "run", "1") + done(1, "run", "1")},
	{"set", Options{}, done(0, "add", "1") + done(1, "add", "2") + done(0, "read", "#{1 2}"), done(0, "add", "1") + done(0, "read", "#{}")},
	{"kv", Options{}, done(0, "put", `"a"`) + done(1, "append", `"b"`) + done(0, "get", `"ab"`),
		done(0, "put", `"a"`) + done(0, "get", `"b"`)},
}

func TestModels(t *testing.T) {
	tried := map[string]bool{"leased-mutex": true} // has a test of its own
	for _, c := range modelCases {
		tried[c.model] = true
		for _, text := range []struct {
			name, lines string
			want        checker.Verdict
		}{{"legal", c.legal, checker.Holds}, {"bad", c.bad, checker.Violated}} {
			o := c.o
			o.Model = c.model
			r, err := Check(context.Background(), strings.NewReader(lines(text.lines)), o)
			if err != nil {
				t.Errorf("%s, %s: %v", c.model, text.name, err)
				continue
			}
			if r.Verdict != text.want {
				t.Errorf("%s, %s: %v, %s", c.model, text.name, r.Verdict, r.Why)
			}
			if r.Verdict != checker.Violated {
				continue
			}
			if r.FirstBad == nil || r.FirstBad.ReturnLine != strings.Count(lines(text.lines), "\n") && c.model != "owner-mutex" {
				t.Errorf("%s: first bad %+v", c.model, r.FirstBad)
			}
			if len(r.Counterexample) == 0 || !r.Minimal {
				t.Errorf("%s: counterexample %+v", c.model, r.Counterexample)
			}
		}
	}
	for _, m := range Models() {
		if !tried[m] {
			t.Errorf("the model %s has no planted bug", m)
		}
	}
}

// jsonl writes a history of our own.
func jsonl(t *testing.T, h history.Header, events ...history.Event) string {
	t.Helper()
	h.Format, h.Version = history.FormatName, history.FormatVersion
	for i := range events {
		events[i].Index = int32(i)
	}
	var b bytes.Buffer
	if err := history.Encode(&b, &history.History{Header: h, Events: events}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func event(ms int, process string, typ history.Type, f history.F, v history.Value) history.Event {
	return history.Event{Time: time.Duration(ms) * time.Millisecond, Process: process, Type: typ, F: f, Value: v}
}

func TestLeasedMutex(t *testing.T) {
	for _, c := range []struct {
		until int64
		want  checker.Verdict
	}{{5, checker.Holds}, {50, checker.Violated}} {
		owner := func(o string) history.Value { return history.Value{Owner: o} }
		text := jsonl(t, history.Header{},
			event(0, "c1", history.Invoke, history.Acquire, history.Value{}),
			event(1, "c1", history.OK, history.Acquire, history.Value{Owner: "a", Grant: &history.Grant{ValidUntil: history.Some(c.until * 1e6)}}),
			event(6, "c2", history.Invoke, history.Acquire, history.Value{}),
			event(7, "c2", history.OK, history.Acquire, history.Value{Owner: "b", Grant: &history.Grant{ValidUntil: history.Some(90e6)}}),
			event(8, "c2", history.Invoke, history.Release, owner("b")),
			event(9, "c2", history.OK, history.Release, owner("b")),
			event(70, "c1", history.Invoke, history.Release, owner("a")),
			event(71, "c1", history.OK, history.Release, owner("a")))
		r, err := Check(context.Background(), strings.NewReader(text), Options{Model: "leased-mutex"})
		if err != nil || r.Verdict != c.want {
			t.Errorf("until %d ms: %+v, %v", c.until, r, err)
		}
	}
}

// TestSections: in our own histories a read and a write of one guarded section
// are one operation.
func TestSections(t *testing.T) {
	step := func(ms int, client string, section int, from int64) []history.Event {
		r, w := history.Value{Section: section, Number: history.Some(from)}, history.Value{Section: section, Number: history.Some(from + 1)}
		return []history.Event{event(ms, client, history.Invoke, history.Read, history.Value{Section: section}),
			event(ms+1, client, history.OK, history.Read, r),
			event(ms+2, client, history.Invoke, history.Write, w), event(ms+3, client, history.OK, history.Write, w)}
	}
	good := jsonl(t, history.Header{Initial: history.Some(4)}, append(step(0, "c1", 1, 4), step(10, "c2", 1, 5)...)...)
	bad := jsonl(t, history.Header{Initial: history.Some(4)}, append(step(0, "c1", 1, 4), step(10, "c2", 1, 4)...)...)
	for text, want := range map[string]checker.Verdict{good: checker.Holds, bad: checker.Violated} {
		r, err := Check(context.Background(), strings.NewReader(text), Options{Model: "counter"})
		if err != nil || r.Verdict != want || r.Operations != 2 {
			t.Errorf("%+v, %v", r, err)
		}
		if want == checker.Violated && (len(r.Counterexample) != 2 || r.FirstBad.ReturnLine != 9 || r.FirstBad.CallLine != 6) {
			t.Errorf("counterexample %+v, first bad %+v", r.Counterexample, r.FirstBad)
		}
	}
}

func TestOptions(t *testing.T) {
	text := lines(done(0, "read", "1"))
	var oe *OptionError
	for _, o := range []Options{{}, {Model: "chess"}, {Model: "semaphore"},
		{Model: "reentrant-mutex", Reentrancy: -1}, {Model: "register", Format: "xml"}} {
		if _, err := Check(context.Background(), strings.NewReader(text), o); !errors.As(err, &oe) {
			t.Errorf("%+v: %v, want an option error", o, err)
		}
	}
	var le *history.LineError
	for _, bad := range []string{"", "what is this", `{"format":"other"}` + "\n", "{:process 0"} {
		if _, err := Check(context.Background(), strings.NewReader(bad), Options{Model: "register"}); !errors.As(err, &le) {
			t.Errorf("%q: %v, want a line error", bad, err)
		}
	}
	for _, c := range []struct {
		o    Options
		text string
		want checker.Verdict
	}{
		{Options{Model: "register", Initial: history.Some(1)}, text, checker.Holds},
		{Options{Model: "register"}, text, checker.Violated},
		{Options{Model: "register", Initial: history.Some(0), NilRead: history.Some(0)}, lines(done(0, "read", "nil")), checker.Holds},
		{Options{Model: "register", Initial: history.Some(1), NilRead: history.Some(0)}, lines(done(0, "read", "nil")), checker.Violated},
		{Options{Model: "mutex"}, text, checker.Unknown},
	} {
		r, err := Check(context.Background(), strings.NewReader(c.text), c.o)
		if err != nil || r.Verdict != c.want {
			t.Errorf("%+v: %+v, %v", c.o, r, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := Check(ctx, strings.NewReader(lines(done(0, "acquire", "nil"))), Options{Model: "mutex"})
	if err != nil || r.Verdict != checker.Unknown {
		t.Errorf("cancelled: %+v, %v", r, err)
	}
}

// TestKeys: independent things are judged apart.
func TestKeys(t *testing.T) {
	legal := done(0, "write", "[1 5]") + done(1, "write", "[2 6]") + done(0, "read", "[1 5]") + done(1, "read", "[2 6]")
	r, err := Check(context.Background(), strings.NewReader(lines(legal)), Options{Model: "register"})
	if err != nil || r.Verdict != checker.Holds || r.Keys != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = Check(context.Background(), strings.NewReader(lines(legal+done(0, "read", "[2 5]"))), Options{Model: "register"})
	if err != nil || r.Verdict != checker.Violated || r.FirstBad.Key != "2" {
		t.Errorf("%+v, %v", r, err)
	}
}

// FuzzCheck: no file makes Check panic.
func FuzzCheck(f *testing.F) {
	for i, c := range modelCases {
		f.Add(byte(i), []byte(lines(c.bad)))
	}
	f.Add(byte(0), []byte("INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\n"))
	f.Add(byte(3), []byte(`{"format":"redlock-sim-history","version":1,"seed":0}`+
		"\n"+`{"index":0,"type":"invoke","time":5,"process":"c1","f":"acquire"}`+"\n"))
	f.Fuzz(func(t *testing.T, model byte, text []byte) {
		m := Models()[int(model)%len(Models())]
		o := Options{Model: m, Permits: 2, MaxEvents: 100, Timeout: 200 * time.Millisecond, Memory: 1 << 24}
		r, err := Check(context.Background(), bytes.NewReader(text), o)
		if err == nil && r.Verdict == 0 {
			t.Fatalf("no verdict: %+v", r)
		}
	})
}

// million writes a history of the increment workload with n guarded sections.
func million(n int) []byte {
	var b bytes.Buffer
	w := history.NewWriter(&b)
	if err := w.WriteHeader(history.Header{Format: history.FormatName, Version: history.FormatVersion, Workload: "increment"}); err != nil {
		panic(err)
	}
	index := 0
	write := func(process string, typ history.Type, f history.F, v history.Value) {
		if err := w.WriteEvent(&history.Event{Index: int32(index),
			Time: time.Duration(index) * 1000, Process: process, Type: typ, F: f, Value: v}); err != nil {
			panic(err)
		}
		index++
	}
	for i := range n / 2 {
		c := fmt.Sprintf("c%d", i%10)
		write(c, history.Invoke, history.Read, history.Value{Section: i + 1, Key: "counter"})
		write(c, history.OK, history.Read, history.Value{Section: i + 1, Key: "counter", Number: history.Some(int64(i))})
		write(c, history.Invoke, history.Write,
			history.Value{Section: i + 1, Key: "counter", Number: history.Some(int64(i + 1)), Token: history.Some(int64(i))})
		write(c, history.OK, history.Write, history.Value{Section: i + 1, Key: "counter", Number: history.Some(int64(i + 1))})
	}
	return b.Bytes()
}

// BenchmarkCheckMillion checks a file of a million operations, parsing included.
func BenchmarkCheckMillion(b *testing.B) {
	text := million(1_000_000)
	b.SetBytes(int64(len(text)))
	for _, model := range []string{"counter", "register"} {
		b.Run(model, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := Check(context.Background(), bytes.NewReader(text), Options{Model: model})
				if err != nil || r.Verdict != checker.Holds {
					b.Fatalf("%+v, %v", r, err)
				}
			}
		})
	}
}

// TestNoTimeToExplain: what was found violated stays so if there is no time to explain it.
func TestNoTimeToExplain(t *testing.T) {
	m := models["mutex"]
	b := newBuilder(m, Options{Format: EDN, Memory: 1 << 24, Timeout: time.Second})
	for i, typ := range []history.Type{history.Invoke, history.OK, history.Invoke, history.OK} {
		if err := b.event(i+1, &history.Event{Process: "0", Type: typ, F: history.Acquire}); err != nil {
			t.Fatal(err)
		}
	}
	q, _ := b.question(b.parts[""])
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	var r Report
	if b.explain(cancelled, &r, q, linear.Result{Outcome: linear.Illegal, Why: "it was found"}); r.Verdict != checker.Violated ||
		r.FirstBad != nil || len(r.Counterexample) > 0 || r.Why != "it was found" {
		t.Errorf("%+v", r)
	}
	if b.explain(context.Background(), &r, q, linear.Result{}); r.FirstBad == nil || len(r.Counterexample) != 2 {
		t.Errorf("with time: %+v", r)
	}
}
