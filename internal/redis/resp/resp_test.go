package resp

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Value{
		"+OK\r\n":         {Kind: Text, Text: "OK"},
		"-ERR no\r\n":     {Kind: Error, Text: "ERR no"},
		":-12\r\n":        {Kind: Integer, Text: "-12"},
		"$3\r\na\r\n\r\n": {Kind: Bulk, Text: "a\r\n"},
		"$0\r\n\r\n":      {Kind: Bulk},
		"$-1\r\n":         {Kind: Bulk, Null: true},
		"*-1\r\n":         {Kind: Array, Null: true},
		"*0\r\n":          {Kind: Array},
		"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n": {Kind: Array,
			List: []Value{{Kind: Integer, Text: "1"}, {Kind: Array, List: []Value{{Kind: Bulk, Text: "x"}}}}},
		"_\r\n":              {Kind: Null},
		"#t\r\n":             {Kind: Bool, Text: "t"},
		",1.5\r\n":           {Kind: Double, Text: "1.5"},
		"(123\r\n":           {Kind: BigNumber, Text: "123"},
		"!5\r\nERR x\r\n":    {Kind: BulkError, Text: "ERR x"},
		"=7\r\ntxt:abc\r\n":  {Kind: Verbatim, Text: "txt:abc"},
		"%1\r\n+a\r\n:1\r\n": {Kind: Map, List: []Value{{Kind: Text, Text: "a"}, {Kind: Integer, Text: "1"}}},
		"~1\r\n:1\r\n":       {Kind: Set, List: []Value{{Kind: Integer, Text: "1"}}},
		">2\r\n+invalidate\r\n*1\r\n+k\r\n": {Kind: Push,
			List: []Value{{Kind: Text, Text: "invalidate"}, {Kind: Array, List: []Value{{Kind: Text, Text: "k"}}}}},
		"|1\r\n+ttl\r\n:9\r\n": {Kind: Attribute, List: []Value{{Kind: Text, Text: "ttl"}, {Kind: Integer, Text: "9"}}},
	} {
		got, n, err := Parse([]byte(text + "more"))
		if err != nil || n != len(text) || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %d bytes, %v", text, got, n, err)
		}
		if written := string(Append([]byte("x"), want)); written != "x"+text {
			t.Errorf("%+v is written as %q, want %q", want, written, text)
		}
		for cut := range len(text) {
			if _, _, err := Parse([]byte(text[:cut])); !errors.Is(err, ErrShort) {
				t.Errorf("%q cut to %q: %v", text, text[:cut], err)
			}
		}
	}
}

func TestAppendCommand(t *testing.T) {
	if got := string(AppendCommand([]byte("x"), "GET", "k")); got != "x*2\r\n$3\r\nGET\r\n$1\r\nk\r\n" {
		t.Errorf("%q", got)
	}
}

func TestWrong(t *testing.T) {
	for text, want := range map[string]string{
		"\r\n":                                  "a value without a kind",
		"?1\r\n":                                `no value begins with '?'`,
		"$-2\r\n":                               "a length that is none, or too great, after '$'",
		"$x\r\n":                                "a length that is none, or too great, after '$'",
		"$600000000\r\n":                        "a length that is none, or too great, after '$'",
		"*1048577\r\n":                          "a length that is none, or too great, after '*'",
		"%524289\r\n":                           "a length that is none, or too great, after '%'",
		"$1\r\nabc":                             "a bulk that does not end where it should",
		"*2\r\n*1048575\r\n":                    "more than 1048576 values",
		strings.Repeat("*1\r\n", 40) + ":1\r\n": "values within values, more than 32 deep",
		"+" + strings.Repeat("x", 70000):        "a line of more than 65536 bytes",
	} {
		if _, _, err := Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
}

// FuzzParse: what can be read is written as it was, save for line breaks without a
// carriage return and lengths with zeros or a plus in front, and reading it again
// gives the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte("*2\r\n$1\r\nx\r\n%1\r\n+a\r\n:1\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, n, err := Parse(b)
		if err != nil {
			return
		}
		if n > len(b) {
			t.Fatalf("%d bytes of %d", n, len(b))
		}
		again, m, err := Parse(Append(nil, v))
		if err != nil || m == 0 || !reflect.DeepEqual(again, v) {
			t.Fatalf("%+v, written and read again, is %+v, %v", v, again, err)
		}
	})
}

func TestParseCommand(t *testing.T) {
	text := "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$3\r\n\r\n*\r\n"
	words, n, err := ParseCommand([]byte(text + "*1"))
	if err != nil || n != len(text) || !reflect.DeepEqual(words, []string{"SET", "", "\r\n*"}) {
		t.Errorf("%q, %d bytes, %v", words, n, err)
	}
	for cut := range len(text) {
		if _, _, err := ParseCommand([]byte(text[:cut])); !errors.Is(err, ErrShort) {
			t.Errorf("%q: %v", text[:cut], err)
		}
	}
	for _, wrong := range []string{"PING\r\n", "$1\r\na\r\n",
		"*-1\r\n", "*1\r\n:1\r\n", "*1\r\n$-1\r\n", "*1\r\n*1\r\n$1\r\na\r\n", "*1\r\n$1\r\nabc", "*1\r\n$x\r\n"} {
		if _, _, err := ParseCommand([]byte(wrong)); err == nil || errors.Is(err, ErrShort) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

func TestParseRequest(t *testing.T) {
	for text, want := range map[string][]string{
		"PING\r\n*1\r\n": {"PING"}, "set  a b\r\n": {"set", "a", "b"}, "*2\r\n$3\r\nget\r\n$1\r\na\r\n": {"get", "a"},
	} {
		words, n, err := ParseRequest([]byte(text))
		if !slices.Equal(words, want) || err != nil || n > len(text) || n < 6 {
			t.Errorf("%q: %q, %d, %v", text, words, n, err)
		}
	}
	for text, short := range map[string]bool{
		"": true, "PIN": true, "PING\r": true, "set a \"b c\"\r\n": false, "\r\n": false, "+OK\r\n": false,
	} {
		if _, _, err := ParseRequest([]byte(text)); err == nil || errors.Is(err, ErrShort) != short {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestPlain: a value as Go has it.
func TestPlain(t *testing.T) {
	for text, want := range map[string]any{
		":-7\r\n": int64(-7), "+OK\r\n": "OK", "$-1\r\n": nil, "$0\r\n\r\n": "", "*-1\r\n": nil, "_\r\n": nil, ",1.5\r\n": "1.5",
		"*3\r\n:1\r\n$-1\r\n*0\r\n": []any{int64(1), nil, []any{}}, "%1\r\n+a\r\n:1\r\n": []any{"a", int64(1)},
	} {
		v, _, err := Parse([]byte(text))
		if got := v.Plain(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %#v, want %#v (%v)", text, got, want, err)
		}
	}
	for _, text := range []string{"-ERR no\r\n", "!6\r\nERR no\r\n"} {
		v, _, _ := Parse([]byte(text))
		if err, failed := v.Plain().(error); !failed || err.Error() != "ERR no" {
			t.Errorf("%q is %#v", text, v.Plain())
		}
	}
}
