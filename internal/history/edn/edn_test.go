package edn

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

func readAll(text string) ([]history.Event, error) {
	var list []history.Event
	err := Read(strings.NewReader(text), 0, func(_ int, e *history.Event) error {
		list = append(list, *e)
		return nil
	})
	return list, err
}

const flat = `; a register
{:type :invoke, :f :read, :value nil, :process 0, :time 10, :index 0}
{:type :invoke, :f :cas, :value [1 2], :process 1, :time 11, :index 1} #_{:ignored true}
#jepsen.history.Op{:type :ok, :f :read, :value 7, :process 0, :time 12, :index 2}
{:process :nemesis, :type :info, :f :start, :value "cut \"n1\"", :time 13}
{:type :info, :f :cas, :value [1 2], :process 1, :time 14, :error [:timed-out]}
`

func TestReadBothForms(t *testing.T) {
	want := []history.Event{
		{Index: 0, Time: 10, Process: "0", Type: history.Invoke, F: history.Read},
		{Index: 1, Time: 11, Process: "1", Type: history.Invoke,
			F: history.CAS, Value: history.Value{Extra: &history.Extra{Expected: history.Some(1)}, Number: history.Some(2)}},
		{Index: 2, Time: 12, Process: "0", Type: history.OK, F: history.Read, Value: history.Value{Number: history.Some(7)}},
		{Index: 3, Time: 13, Process: "nemesis", Type: history.Info, F: "start", Value: history.Value{Rare: &history.Rare{Detail: `cut "n1"`}}},
		{Index: 4, Time: 14, Process: "1", Type: history.Info, F: history.CAS, Error: history.SomeText("[timed-out]"),
			Value: history.Value{Extra: &history.Extra{Expected: history.Some(1)}, Number: history.Some(2)}},
	}
	for name, text := range map[string]string{"flat": flat, "vector": "[" + flat + "]", "list": "(" + flat + ") ; end"} {
		got, err := readAll(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestReadValues(t *testing.T) {
	for _, c := range []struct {
		text string
		want history.Value
	}{
		{`:f :write, :value ["x" 3]`, history.Value{Key: "x", Number: history.Some(3)}},
		{`:f :cas, :value [5 [3 4]]`, history.Value{Key: "5", Extra: &history.Extra{Expected: history.Some(3)}, Number: history.Some(4)}},
		{`:f :read, :value [5 nil]`, history.Value{Key: "5"}},
		{`:f :append, :value [5 3]`, history.Value{Key: "5", Number: history.Some(3)}},
		{`:f :add, :value [5 3]`, history.Value{Key: "5", Number: history.Some(3)}},
		{`:f :unlock, :value 9`, history.Value{Token: history.Some(9)}},
		{`:f :acquire, :value {:fence 9, :owner "o"}`, history.Value{Token: history.Some(9), Owner: "o"}},
		{`:f :acquire, :value 9`, history.Value{Token: history.Some(9)}},
		{`:f :put, :key "k", :value "text"`, history.Value{Key: "k", Rare: &history.Rare{Detail: "text"}}},
		{`:f :read, :value #{1 2}`, history.Value{Extra: &history.Extra{List: []int64{1, 2}}}},
		{`:f :read, :value [5 [1 2]]`, history.Value{Key: "5", Extra: &history.Extra{List: []int64{1, 2}}}},
		{`:f :put, :value [5 3]`, history.Value{Key: "5", Number: history.Some(3)}},
		{`:f :lock, :value [5 nil]`, history.Value{Key: "5"}},
		{`:f :read, :value #{1}`, history.Value{Extra: &history.Extra{List: []int64{1}}}},
		{`:f :read, :value 12N`, history.Value{Number: history.Some(12)}},
	} {
		got, err := readAll("{:process 0, :type :invoke, " + c.text + "}")
		if err != nil || len(got) != 1 {
			t.Errorf("%s: %v, %v", c.text, got, err)
			continue
		}
		if d := cmp.Diff(c.want, got[0].Value); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, d)
		}
	}
}

func TestReadNamesTheLine(t *testing.T) {
	const ok = "{:process 0, :type :invoke, :f :read}\n"
	const keyedAdd = "{:process 0, :type :invoke, :f :add, :value [0 1]}\n"
	for _, c := range []struct {
		text string
		line int
		err  string
	}{
		{ok + "{:process 0, :type :invoke", 2, "unexpected EOF"},
		{ok + "\n7", 3, "want a map"},
		{ok + "]", 2, "closing bracket"},
		{"[" + ok + "] x", 2, "something follows"},
		{"[" + ok, 2, "unexpected EOF"},
		{ok + ok + "{:process 0, :type :what, :f :read}", 3, "what"},
		{ok + "{:process 0, :f :read}", 2, "no :type"},
		{ok + "{:type :ok, :f :read}", 2, "no :process"},
		{ok + "{:process 0 :type :ok}", 2, "no :f"},
		{ok + "{:process 0 :type}", 2, "no value"},
		{ok + `{:process 0 :type :ok :f :read :value "\q"}`, 2, "no such escape"},
		{ok + `{:process 0 :type :ok :f :read :value 99999999999999999999}`, 2, "does not fit"},
		{ok + strings.Repeat("[", 100), 2, "nested more than"},
		{ok + `{:process 0 :type :ok :f :read :value "` + strings.Repeat("x", maxForm), 2, "more than"},
		{ok + `{:process 0 :type :ok :f :read :value [1 nil 2]}`, 2, ":value [1 nil 2] of read has nil, which is not supported"},
		{ok + `{:process 0 :type :ok :f :read :value #{:a}}`, 2, ":value #{:a} of read has the keyword :a"},
		{ok + `{:process 0 :type :ok :f :read :value ["a" 2 1.5]}`, 2, `:value ["a" 2 1.5] of read has "a"`},
		{ok + `{:process 0 :type :ok :f :read :value [[1] 2 3]}`, 2, "has the list [1]"},
		{ok + `{:process 0 :type :ok :f :txn :value [[:w 1 2]]}`, 2, "has the step [:w 1 2] of a transaction"},
		{ok + `{:process 0 :type :ok :f :read :value {:a 1}}`, 2, ":value {:a 1} of read: maps are not supported"},
		{ok + `{:process 0 :type :invoke :f :cas :value 3}`, 2, ":value 3 of a cas: want [from to]"},
		{ok + `{:process 0 :type :invoke :f :cas :value [1 :b]}`, 2, ":value [1 :b] of a cas: want [from to]"},
		{ok + `{:process 0 :type :ok :f :read :value [` + strings.Repeat("é ", 40) + `]}`, 2, "..."},
		// With keys every list has one, without keys none.
		{keyedAdd + "{:process 0 :type :ok :f :read :value [1 2 3]}", 2, ":value [1 2 3] of read: want [key value], or [key [1 2]]"},
		{keyedAdd + "{:process 0 :type :ok :f :read :value [[1] 2]}", 2, ":value [[1] 2] of read: want [key value]"},
		{keyedAdd + "{:process 0 :type :ok :f :cas :value [1 2]}", 2, ":value [1 2] of cas: want [key [from to]]"},
		{"{:process 0 :type :invoke :f :cas :value [1 2]}\n{:process 0 :type :invoke :f :cas :value [5 [1 2]]}", 2,
			":value [5 [1 2]] of a cas: want"},
	} {
		_, err := readAll(c.text)
		var le *history.LineError
		if !errors.As(err, &le) || le.Line != c.line || !strings.Contains(err.Error(), c.err) {
			t.Errorf("of %.80q: %v; want line %d, %q", c.text, err, c.line, c.err)
		}
	}
	if err := Read(strings.NewReader(ok+ok), 1, func(int, *history.Event) error { return nil }); err == nil {
		t.Error("more events than allowed are read")
	}
}

func TestWriteReadsBack(t *testing.T) {
	h := &history.History{Header: history.Header{Clients: []string{"c1", "c2"}}}
	add := func(process string, typ history.Type, f history.F, v history.Value) {
		i := len(h.Events)
		h.Events = append(h.Events, history.Event{Index: int32(i), Time: time.Duration(i), Process: process, Type: typ, F: f, Value: v})
	}
	add("c2", history.Invoke, history.Acquire, history.Value{})
	add("c1", history.Invoke, history.Read, history.Value{})
	add("A", history.Info, history.KeySet, history.Value{Key: "lock"})
	add("c2", history.OK, history.Acquire,
		history.Value{Token: history.Some(3), Owner: `o"1`, Grant: &history.Grant{ValidUntil: history.Some(9)}})
	add("nemesis", history.Info, history.FaultBegin, history.Value{Rare: &history.Rare{Fault: "pause", Target: "c1"}})
	add("c1", history.Info, history.Read, history.Value{})
	add("c1", history.Invoke, history.CAS, history.Value{Extra: &history.Extra{Expected: history.Some(1)}, Number: history.Some(2)})
	add("c1", history.OK, history.CAS, history.Value{Extra: &history.Extra{Expected: history.Some(1)}, Number: history.Some(2)})
	add("c2", history.Invoke, history.Read, history.Value{})
	add("c2", history.OK, history.Read, history.Value{Extra: &history.Extra{List: []int64{4, 5}}})
	var b bytes.Buffer
	if err := Write(&b, h); err != nil {
		t.Fatal(err)
	}
	want := `{:index 0, :time 0, :process 1, :type :invoke, :f :acquire, :value nil}
{:index 1, :time 1, :process 0, :type :invoke, :f :read, :value nil}
{:index 2, :time 3, :process 1, :type :ok, :f :acquire, :value {:token 3, :owner "o\"1", :valid-until 9}}
{:index 3, :time 4, :process :nemesis, :type :info, :f :fault-begin, :value {:fault "pause", :target "c1"}}
{:index 4, :time 5, :process 0, :type :info, :f :read, :value nil}
{:index 5, :time 6, :process 2, :type :invoke, :f :cas, :value [1 2]}
{:index 6, :time 7, :process 2, :type :ok, :f :cas, :value [1 2]}
{:index 7, :time 8, :process 1, :type :invoke, :f :read, :value nil}
{:index 8, :time 9, :process 1, :type :ok, :f :read, :value [4 5]}
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	back, err := readAll(b.String())
	if err != nil || len(back) != 9 {
		t.Fatalf("%d events read back, %v", len(back), err)
	}
	if d := cmp.Diff(h.Events[3].Value, back[2].Value); d != "" {
		t.Errorf("a grant read back:\n%s", d)
	}
}

// TestWriteListsBesideKeys: where some operations have a key, a list without one is told
// apart from a key with a value.
func TestWriteListsBesideKeys(t *testing.T) {
	h := &history.History{}
	for i, v := range []history.Value{{Key: "k", Number: history.Some(7)}, {Extra: &history.Extra{List: []int64{1, 2}}},
		{Extra: &history.Extra{List: []int64{1, 2, 3}}}, {Number: history.Some(4)}} {
		h.Events = append(h.Events, history.Event{Index: int32(i), Process: "c1", Type: history.Invoke, F: history.Write, Value: v})
	}
	var b bytes.Buffer
	if err := Write(&b, h); err != nil {
		t.Fatal(err)
	}
	back, err := readAll(b.String())
	if err != nil || len(back) != len(h.Events) {
		t.Fatalf("%d events read back, %v of\n%s", len(back), err, b.String())
	}
	for i := range back {
		if d := cmp.Diff(h.Events[i].Value, back[i].Value); d != "" {
			t.Errorf("event %d read back:\n%s", i, d)
		}
	}
}

// FuzzRead: no input makes Read panic; what it reads it can read again from
// what Write makes of it.
func FuzzRead(f *testing.F) {
	f.Add([]byte(flat))
	f.Add([]byte("[" + flat + "]"))
	f.Add([]byte(`{:process 0, :type :invoke, :f :append, :key "0", :value "x 0 0 y"}`))
	f.Add([]byte("{#_a \\newline ##NaN 1.5 #{1 2} (1 [2 {3 4}])}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h := &history.History{}
		err := Read(bytes.NewReader(text), 1000, func(_ int, e *history.Event) error {
			h.Events = append(h.Events, *e)
			return nil
		})
		var le *history.LineError
		if err != nil && !errors.As(err, &le) {
			t.Fatalf("an error without a line: %v", err)
		}
		var b bytes.Buffer
		if err := Write(&b, h); err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(b.String()); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, b.String())
		}
	})
}
