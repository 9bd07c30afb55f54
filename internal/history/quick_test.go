package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var quickLines = []string{
	`{"index":0,"type":"invoke","time":5,"process":"c1","f":"acquire"}`,
	`{"index":3,"type":"info","time":9,"process":"c1",` +
		`"f":"command","value":{"command":{"name":"SET","node":"A","connection":5,"opens":true,"left":0,"answered":8}}}`,
	`{"index":12,"type":"ok","time":4000000,"process":"c1",` +
		`"f":"acquire","value":{"owner":"a1","token":7,"validity":990000000,"valid_until":994000000,"nodes":["A","B"]}}`,
	`{"index":1,"type":"info","time":5,"process":"resource","f":"effect",` +
		`"value":{"token":1,"section":1,"number":-3,"op":"write","client":"c1","at":5,"at_error":2,"accepted":false,"highest":2}}`,
	`{"index":1,"type":"info","time":5,"process":"nemesis",` +
		`"f":"fault-begin","value":{"fault":"pause","id":1,"target":"c1","planned":2,"took":3,"detail":"x"}}`,
	`{"index":1,"type":"ok","time":5,"process":"c1","f":"read","value":{"list":[1,2,-3],"key":"k"},"error":"oops"}`,
	`{"index":1,"type":"ok","time":5,"process":"c1","f":"read","value":{}}`,
	`{"index":1,"type":"ok","time":5,"process":"c1","f":"read","value":{"number":null,"list":[],"nodes":null}}`,
	`{ "Index":1, "time":5,"process":"\u0063","type":"ok","f":"read"}`,
	`{"index":1,"index":2,"type":"ok","time":5,"process":"c","f":"read"}`,
	`{"index":1,"time":5e0,"process":"c","type":"ok","f":"read"}`,
	`{"index":01,"time":-0,"process":"c","type":"ok","f":"read"}`,
	`{"index":1,"type":"ok","time":9223372036854775807,"process":"c","f":"read"}`,
	`{"index":1,"type":"ok","time":99999999999999999999,"process":"c","f":"read"}`,
	`{"index":1,"type":"no","time":1,"process":"c","f":"read"}`,
	`{"index":1,"type":"ok","time":1,"process":"c","f":"read"} `,
	`{"index":1,"type":"ok","time":1,"process":"c","f":"read"}x`,
	`{"index":1,"value":{"number":1,"number":2}}`,
	`{"index":1,"unknown":{"number":1}}`,
	`{}`, `[]`, `null`, ``, `{"index":`, `{"value":{"accepted":tru}}`,
}

// FuzzQuick: where quick reads a line, encoding/json reads the same from it.
func FuzzQuick(f *testing.F) {
	for _, l := range quickLines {
		f.Add([]byte(l))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var q quick
		var got, want Event
		if !q.event(line, &got) {
			return
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatalf("quick reads %q, encoding/json says %v", line, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("of %q (-json +quick):\n%s", line, d)
		}
	})
}

// TestQuickReadsWhatWriterWrites: the lines of the Writer never need
// encoding/json, save where a string needs escapes.
func TestQuickReadsWhatWriterWrites(t *testing.T) {
	for _, line := range quickLines[:7] {
		var e, again Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := NewWriter(&b).WriteEvent(&e); err != nil {
			t.Fatal(err)
		}
		var q quick
		if !q.event(bytes.TrimSuffix(b.Bytes(), []byte("\n")), &again) {
			t.Errorf("quick gives up on %s", b.Bytes())
		}
		if d := cmp.Diff(e, again); d != "" {
			t.Error(d)
		}
	}
}

func TestScanNamesTheLine(t *testing.T) {
	const header = `{"format":"redlock-sim-history","version":1,"seed":0}` + "\n"
	const first = `{"index":0,"type":"invoke","time":5,"process":"c1","f":"read"}` + "\n"
	for _, c := range []struct {
		text string
		line int
		err  string
	}{
		{"", 1, "no complete header"},
		{"{}\n", 1, "format"},
		{header + "nonsense\n", 2, "not an event"},
		{header + first + strings.Replace(first, `"index":0`, `"index":2`, 1), 3, "index 2: want 1"},
		{header + first + `{"index":1,"type":"ok","time":4,"process":"c1","f":"read"}` + "\n", 3, "goes back"},
		{header + strings.Repeat("x", MaxLine+70000), 2, "longer than"},
	} {
		_, err := Decode(strings.NewReader(c.text), 0)
		var le *LineError
		if !errors.As(err, &le) || le.Line != c.line || !strings.Contains(err.Error(), c.err) {
			t.Errorf("of %.60q: %v; want line %d, %q", c.text, err, c.line, c.err)
		}
	}
	h, err := Decode(strings.NewReader(header+first+`{"index":1,"ti`), 0)
	if err != nil || !h.Truncated || len(h.Events) != 1 || h.Events[0].Time != 5*time.Nanosecond {
		t.Errorf("truncated: %+v, %v", h, err)
	}
	if _, err := Decode(strings.NewReader(header+first+strings.Replace(first, "0", "1", 1)), 1); err == nil {
		t.Error("more events than allowed are read")
	}
}

// BenchmarkWrite writes the events of a section: what a grant, a key of a node and a write tell.
func BenchmarkWrite(b *testing.B) {
	events := make([]Event, 4)
	for i, line := range quickLines[1:5] {
		if err := json.Unmarshal([]byte(line), &events[i]); err != nil {
			b.Fatal(err)
		}
	}
	w := NewWriter(io.Discard)
	b.ReportAllocs()
	for b.Loop() {
		for i := range events {
			if err := w.WriteEvent(&events[i]); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkScan(b *testing.B) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	if err := w.WriteHeader(Header{Format: FormatName, Version: FormatVersion}); err != nil {
		b.Fatal(err)
	}
	for i := range 100_000 {
		e := Event{Index: int32(i), Time: time.Duration(i) * 1000, Process: fmt.Sprintf("c%d", i%10), Type: Type(1 + i%2), F: Write,
			Value: Value{Section: i, Number: Some(int64(i)), Token: Some(int64(i / 7))}}
		if err := w.WriteEvent(&e); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(buf.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := Scan(bytes.NewReader(buf.Bytes()), 0, func(int, *Event) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
