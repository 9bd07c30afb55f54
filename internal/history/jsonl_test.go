package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

var word = rapid.StringMatching(`[a-z][a-z0-9-]{0,8}`)

func optional(t *rapid.T, label string) history.Int {
	if !rapid.Bool().Draw(t, label+" set") {
		return history.Int{}
	}
	return history.Some(rapid.Int64().Draw(t, label))
}

// drawHistory draws a history with every kind of field set now and then.
func drawHistory(t *rapid.T) *history.History {
	h := &history.History{Header: history.Header{
		Format: history.FormatName, Version: history.FormatVersion,
		Scenario: word.Draw(t, "scenario"), Seed: rapid.Uint64().Draw(t, "seed"), Initial: optional(t, "initial"),
		Clients: rapid.SliceOfN(word, 1, 3).Draw(t, "clients"),
	}}
	fs := []history.F{history.Acquire, history.Release, history.Read, history.Write, history.KeySet, history.Effect, history.FaultBegin}
	var now time.Duration
	for range rapid.IntRange(0, 20).Draw(t, "events") {
		now += time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "pause"))
		e := history.Event{
			Index: int32(len(h.Events)), Time: now, Process: word.Draw(t, "process"),
			Type: history.Type(rapid.IntRange(1, 4).Draw(t, "type")), F: rapid.SampledFrom(fs).Draw(t, "f"),
			Error: history.SomeText(rapid.String().Draw(t, "error")),
		}
		e.Value = history.Value{
			Owner: rapid.String().Draw(t, "owner"), Token: optional(t, "token"), Number: optional(t, "number"),
			Section: rapid.IntRange(0, 9).Draw(t, "section"),
		}
		if until := optional(t, "until"); until.IsSet() {
			e.Value.Grant = &history.Grant{ValidUntil: until}
		}
		if list := rapid.SliceOfN(rapid.Int64(), 0, 3).Draw(t, "list"); len(list) > 0 {
			e.Value.Extra = &history.Extra{Lock: rapid.SampledFrom([]string{"", "a"}).Draw(t, "lock"), List: list}
		}
		if rapid.Bool().Draw(t, "command") {
			e.Value.Rare = &history.Rare{Command: &history.Command{Name: word.Draw(t, "name"),
				Connection: rapid.IntRange(0, 9).Draw(t, "connection"),
				Opens:      rapid.Bool().Draw(t, "opens"), Left: rapid.Int64().Draw(t, "left"), Answered: optional(t, "answered")},
				Unread: &history.UnreadCommand{Node: word.Draw(t, "node"), Answers: rapid.Bool().Draw(t, "answers")}}
		}
		if rapid.Bool().Draw(t, "judged") {
			e.Value.OwnOutcome().Accepted = history.SomeBool(rapid.Bool().Draw(t, "accepted"))
		}
		// JSON has no other way for text that is not UTF-8.
		e.Error, e.Value.Owner = history.SomeText(strings.ToValidUTF8(e.Error.String(), "?")), strings.ToValidUTF8(e.Value.Owner, "?")
		h.Events = append(h.Events, e)
	}
	return h
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		var b bytes.Buffer
		if err := history.Encode(&b, h); err != nil {
			t.Fatal(err)
		}
		got, err := history.Decode(&b, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h, got); diff != "" {
			t.Fatalf("read back with a difference (-wrote +read):\n%s", diff)
		}
	})
}

// A run that is killed leaves a file that ends anywhere. What is whole is read;
// what is cut off is said.
func TestACutOffFileIsReadUpToTheCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		var b bytes.Buffer
		if err := history.Encode(&b, h); err != nil {
			t.Fatal(err)
		}
		header := bytes.IndexByte(b.Bytes(), '\n') + 1
		cut := rapid.IntRange(header, b.Len()).Draw(t, "cut")
		whole := bytes.Count(b.Bytes()[:cut], []byte("\n")) - 1
		got, err := history.Decode(bytes.NewReader(b.Bytes()[:cut]), 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Events) != whole {
			t.Fatalf("read %d events, want %d", len(got.Events), whole)
		}
		if want := b.Bytes()[cut-1] != '\n'; got.Truncated != want {
			t.Fatalf("truncated: %v, want %v", got.Truncated, want)
		}
	})
}

const goodHeader = `{"format":"redlock-sim-history","version":1,"seed":1}` + "\n"

func TestFaultyFilesAreNamedByLine(t *testing.T) {
	const first = `{"index":0,"type":"invoke","time":5,"process":"c1","f":"acquire"}` + "\n"
	for name, c := range map[string]struct {
		text, want string
		line       int
	}{
		"nothing":         {"", "no complete header line", 1},
		"no header":       {first, "format \"\"", 1},
		"another format":  {`{"format":"x","version":1}` + "\n", `format "x"`, 1},
		"a later version": {`{"format":"redlock-sim-history","version":2}` + "\n", "version 2", 1},
		"no JSON":         {goodHeader + "oops\n", "not an event", 2},
		"an unknown type": {goodHeader + `{"index":0,"type":"huh","time":1,"process":"c1","f":"read"}` + "\n",
			"want invoke, ok, fail or info", 2},
		"a gap":          {goodHeader + strings.Replace(first, `"index":0`, `"index":1`, 1), "index 1: want 0", 2},
		"time goes back": {goodHeader + first + `{"index":1,"type":"ok","time":4,"process":"c1","f":"acquire"}` + "\n", "time 4 goes back", 3},
		"negative time":  {goodHeader + strings.Replace(first, `"time":5`, `"time":-5`, 1), "negative", 2},
		"no process":     {goodHeader + `{"index":0,"time":1,"type":"ok","f":"read"}` + "\n", "no process", 2},
		"too many events": {goodHeader + first + strings.Replace(first,
			`"index":0`, `"index":1`, 1) + strings.Replace(first, `"index":0`, `"index":2`, 1), "more than 2 events", 4},
		"an endless line": {goodHeader + strings.Repeat("x", history.MaxLine+1<<17), "longer than", 2},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := history.Decode(strings.NewReader(c.text), 2)
			var at *history.LineError
			if !errors.As(err, &at) {
				t.Fatalf("error %v: want a LineError", err)
			}
			if at.Line != c.line || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want line %d and %q", err, c.line, c.want)
			}
		})
	}
}

func TestOpsPairInvocationsWithCompletions(t *testing.T) {
	h := &history.History{}
	add := func(process string, ty history.Type, f history.F) {
		h.Events = append(h.Events, history.Event{Index: int32(len(h.Events)), Process: process, Type: ty, F: f})
	}
	add("c1", history.Invoke, history.Acquire) // 0
	add("c2", history.Invoke, history.Acquire) // 1
	add("A", history.Info, history.KeySet)     // 2
	add("c2", history.Fail, history.Acquire)   // 3
	add("c1", history.OK, history.Acquire)     // 4
	add("c1", history.Invoke, history.Write)   // 5
	add("c1", history.Invoke, history.Extend)  // 6, by the watchdog beside the write
	add("c1", history.OK, history.Extend)      // 7
	want := []history.Op{
		{Process: "c1", F: history.Acquire, Type: history.OK, Call: 0, Return: 4},
		{Process: "c2", F: history.Acquire, Type: history.Fail, Call: 1, Return: 3},
		{Process: "c1", F: history.Write, Type: history.Info, Call: 5, Return: -1},
		{Process: "c1", F: history.Extend, Type: history.OK, Call: 6, Return: 7},
	}
	if diff := cmp.Diff(want, h.Ops()); diff != "" {
		t.Error(diff)
	}
}

// FuzzDecode: no input makes the decoder panic, and what it accepts it writes
// back in a form that it accepts again as the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(goodHeader + `{"index":0,"type":"ok","time":5,"process":"c1","f":"read","value":{"number":3,"accepted":false}}` + "\n"))
	f.Add([]byte(goodHeader))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := history.Decode(bytes.NewReader(text), 1000)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := history.Encode(&b, h); err != nil {
			t.Fatal(err)
		}
		again, err := history.Decode(&b, 1000)
		if err != nil {
			t.Fatalf("does not read what it wrote: %v", err)
		}
		h.Truncated = false
		a, _ := json.Marshal(h)
		if b, _ := json.Marshal(again); !bytes.Equal(a, b) {
			t.Fatalf("changed on the way:\n%s\n%s", a, b)
		}
	})
}

// TestRecorderForesees: of a run of which it is known how much is over, the events are moved once, when there are many.
func TestRecorderForesees(t *testing.T) {
	const whole = 100_000
	r := history.NewRecorder(history.Header{}, func() time.Duration { return 0 }, nil)
	recorded := 0
	r.Foresee(func() float64 { return float64(recorded) / whole })
	for recorded < whole {
		recorded = r.Record(history.Event{}) + 1
	}
	h, err := r.Seal()
	if err != nil || len(h.Events) != whole || h.Events[whole-1].Index != int32(whole-1) ||
		cap(h.Events) < whole*11/10 || cap(h.Events) > whole*12/10 {
		t.Errorf("%d events are kept, with room for %d; %v", len(h.Events), cap(h.Events), err)
	}
}

func TestRecorderStampsInOrderAndStopsWhenSealed(t *testing.T) {
	now := time.Duration(0)
	var b bytes.Buffer
	r := history.NewRecorder(history.Header{Scenario: "s"}, func() time.Duration { now++; return now }, &b)
	for range 3 {
		r.Record(history.Event{Process: "c1", Type: history.Info, F: history.Point})
	}
	h, err := r.Seal()
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Record(history.Event{}); got != -1 {
		t.Errorf("recorded as %d after Seal", got)
	}
	read, err := history.Decode(&b, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, read); diff != "" {
		t.Error(diff)
	}
	if len(h.Events) != 3 || h.Events[2].Index != 2 || h.Events[2].Time != 3 {
		t.Errorf("events: %+v", h.Events)
	}
}

// BenchmarkRecord is the cost of one recorded operation, invocation and
// completion, written out as it happens.
func BenchmarkRecord(b *testing.B) {
	for name, w := range map[string]io.Writer{"memory": nil, "encoded": io.Discard} {
		b.Run(name, func(b *testing.B) {
			start := time.Now()
			r := history.NewRecorder(history.Header{}, func() time.Duration { return time.Since(start) }, w)
			e := history.Event{Process: "c1", Type: history.Invoke, F: history.Acquire, Value: history.Value{Section: 7}}
			done := history.Event{Process: "c1", Type: history.OK, F: history.Acquire,
				Value: history.Value{Section: 7, Owner: "c1-0123456789abcdef",
					Grant: &history.Grant{ValidUntil: history.Some(1e9), Nodes: []string{"A", "B", "C"}}}}
			for b.Loop() {
				r.Record(e)
				r.Record(done)
			}
		})
	}
}

// fill sets some of the fields of a struct, whatever they are.
func fill(t *rapid.T, v reflect.Value) {
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if !rapid.Bool().Draw(t, name+" set") {
			continue
		}
		switch to := f.Addr().Interface().(type) {
		case *history.Int:
			*to = history.Some(rapid.Int64().Draw(t, name))
			continue
		case *history.Text:
			*to = history.SomeText(rapid.OneOf(word, rapid.String()).Draw(t, name))
			continue
		}
		switch f.Kind() {
		case reflect.String:
			f.SetString(rapid.OneOf(word, rapid.String()).Draw(t, name))
		case reflect.Int, reflect.Int32, reflect.Int64:
			f.SetInt(rapid.Int64().Draw(t, name))
		case reflect.Bool:
			f.SetBool(rapid.Bool().Draw(t, name))
		case reflect.Uint8:
			f.SetUint(rapid.Uint64Range(1, 4).Draw(t, name))
		case reflect.Struct:
			fill(t, f)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			fill(t, f.Elem())
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), rapid.IntRange(0, 2).Draw(t, name), 2))
			for i := range f.Len() {
				switch item := f.Index(i); item.Kind() {
				case reflect.String:
					item.SetString(rapid.OneOf(word, rapid.String()).Draw(t, name))
				case reflect.Int64:
					item.SetInt(rapid.Int64().Draw(t, name))
				default:
					fill(t, item)
				}
			}
		default:
			t.Fatalf("%s is of a kind that nobody thought of: %v", name, f.Kind())
		}
	}
}

// TestEventsAreWrittenAsJSON: a Writer writes what encoding/json does, whatever an event has.
func TestEventsAreWrittenAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := history.Event{Type: history.OK}
		fill(t, reflect.ValueOf(&e).Elem())
		var got, want bytes.Buffer
		if err := history.NewWriter(&got).WriteEvent(&e); err != nil {
			t.Fatal(err)
		}
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(&e); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Fatalf("encoding/json writes %swe write    %s", want.String(), got.String())
		}
	})
}

// TestRecorderWritesLater: what is written beside the run is what is written at once, and an error of it is told.
func TestRecorderWritesLater(t *testing.T) {
	record := func(w io.Writer, later bool) error {
		r := history.NewRecorder(history.Header{}, func() time.Duration { return 0 }, w)
		if later {
			r.WriteLater()
		}
		for i := range 10_000 {
			r.Record(history.Event{Process: "c1", Type: history.OK, F: history.Read, Value: history.Value{Section: i}})
		}
		_, err := r.Seal()
		r.Seal() // twice does no harm
		return err
	}
	var atOnce, later bytes.Buffer
	if err := errors.Join(record(&atOnce, false), record(&later, true)); err != nil {
		t.Fatal(err)
	}
	if got := bytes.Count(later.Bytes(), []byte("\n")); got != 10_001 || !bytes.Equal(later.Bytes(), atOnce.Bytes()) {
		t.Errorf("%d lines were written later, and the same as at once: %v", got, bytes.Equal(later.Bytes(), atOnce.Bytes()))
	}
	full := errors.New("the disk is full")
	if err := record(failsAfter{&bytes.Buffer{}, full}, true); !errors.Is(err, full) {
		t.Errorf("the error is %v", err)
	}
	if err := record(nil, true); err != nil {
		t.Errorf("without a file the error is %v", err)
	}
}

// failsAfter takes some of what is written, and then fails.
type failsAfter struct {
	*bytes.Buffer
	err error
}

func (w failsAfter) Write(b []byte) (int, error) {
	if w.Len() > 100_000 {
		return 0, w.err
	}
	return w.Buffer.Write(b)
}
