package resp

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// scanned is what a Scanner says of a stream that comes in pieces.
type scanned struct {
	kinds []Kind
	words [][]string
	ends  []int
	err   error
}

func scan(s *Scanner, b []byte, piece func(rest int) int) (got scanned) {
	at := 0
	for at < len(b) {
		part := b[at : at+piece(len(b)-at)]
		for len(part) > 0 {
			n, whole, err := s.Next(part)
			if err != nil {
				got.err = err
				return got
			}
			at, part = at+n, part[n:]
			if whole {
				kind, words := s.Message()
				got.kinds, got.words, got.ends = append(got.kinds, kind), append(got.words, words), append(got.ends, at)
			}
		}
	}
	return got
}

func atOnce(rest int) int { return rest }
func single(int) int      { return 1 }

func TestScanner(t *testing.T) {
	long := strings.Repeat("x", 70000)
	for name, c := range map[string]struct {
		commands bool
		text     string
		want     string // kind and words of each message
	}{
		"a command":                   {true, "*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n", `*["GET" "a\r\nb"]`},
		"a pipeline":                  {true, "*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nEXEC\r\n", `*["PING"] *["EXEC"]`},
		"commands as people type":     {true, "set k  a\r\n\r\nGET k\n", `*["set" "k" "a"] *[] *["GET" "k"]`},
		"one without words":           {true, "*0\r\n*-1\r\n*1\r\n$4\r\nPING\r\n", `*[] *[] *["PING"]`},
		"a word that is too long":     {true, "*3\r\n$3\r\nSET\r\n$70000\r\n" + long + "\r\n$2\r\nNX\r\n", `*["SET" "" "NX"]`},
		"answers":                     {false, "+OK\r\n$-1\r\n:7\r\n$2\r\nab\r\n-ERR x\r\n", `+["OK"] $[""] :["7"] $["ab"] -["ERR x"]`},
		"lists":                       {false, "*3\r\n$1\r\na\r\n*2\r\n:1\r\n:2\r\n+c\r\n*0\r\n", `*["a" "" "c"] *[]`},
		"a list in the end of a list": {false, "*1\r\n*1\r\n*1\r\n:1\r\n+OK\r\n", `*[""] +["OK"]`},
		"a push":                      {false, ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n+OK\r\n", `>["invalidate" ""] +["OK"]`},
		"a map":                       {false, "%1\r\n+a\r\n:1\r\n", `%["a" "1"]`},
		"an attribute is no value":    {false, "|1\r\n+ttl\r\n:9\r\n$1\r\nx\r\n", `$["x"]`},
		"nor is it in a list":         {false, "*2\r\n|1\r\n+ttl\r\n:9\r\n$1\r\nx\r\n:2\r\n", `*["x" "2"]`},
		"an empty one":                {false, "|0\r\n:1\r\n", `:["1"]`},
		"version 3": {false, "_\r\n#t\r\n,1.5\r\n" +
			"(12\r\n!5\r\nERR x\r\n=7\r\ntxt:abc\r\n~1\r\n:1\r\n", `_[""] #["t"] ,["1.5"] (["12"] !["ERR x"] =["txt:abc"] ~["1"]`},
	} {
		for _, piece := range []func(int) int{atOnce, single} {
			got := scan(&Scanner{Commands: c.commands}, []byte(c.text), piece)
			var words []string
			for i := range got.kinds {
				words = append(words, fmt.Sprintf("%c%q", got.kinds[i], got.words[i]))
			}
			if text := strings.Join(words, " "); text != c.want || got.err != nil {
				t.Errorf("%s: %s, %v", name, text, got.err)
			}
		}
	}
	for text, commands := range map[string]bool{"?": false, "$x": false, "*1\r\n?": true, `SET "k`: true, "$600000000": false,
		strings.Repeat("*1\r\n", 40): false, "+" + long: false, "": false} {
		if got := scan(&Scanner{Commands: commands}, []byte(text+"\r\n"), atOnce); got.err == nil {
			t.Errorf("%.20q was read: %q", text, got.words)
		}
	}
}

// TestScannerNeedsLittleMemory: what is kept does not grow with what is sent.
func TestScannerNeedsLittleMemory(t *testing.T) {
	var s Scanner
	many := []byte("*1000000\r\n" + strings.Repeat(":1\r\n", 1000000))
	if got := scan(&s, many, atOnce); got.err != nil || len(got.ends) != 1 || len(s.words) > maxWords/perWord {
		t.Errorf("%d words of a long list: %v", len(s.words), got.err)
	}
	s = Scanner{}
	if got := scan(&s, []byte("$100000000\r\n"+strings.Repeat("x", 1000)), func(int) int { return 10 }); got.err != nil || len(s.word) > 0 {
		t.Errorf("%d bytes of a long bulk: %v", len(s.word), got.err)
	}
}

func randomValue(r *rand.Rand, depth int) Value {
	text := strings.Repeat("ab\r\n$*", 3)[:r.IntN(18)]
	lines, bulks, lists := []Kind{Text, Error, Integer, Null}, []Kind{Bulk, Bulk, Verbatim}, []Kind{Array, Set, Map, Push}
	switch r.IntN(3) {
	case 0:
		return Value{Kind: lines[r.IntN(len(lines))], Text: "12"}
	case 1:
		return Value{Kind: bulks[r.IntN(len(bulks))], Text: text}
	}
	v := Value{Kind: lists[r.IntN(len(lists))]}
	for range 2 * r.IntN(3) {
		if depth < 4 {
			v.List = append(v.List, randomValue(r, depth+1))
		}
	}
	return v
}

// TestScannerAgreesWithParse: both find the same messages, in whatever pieces they come.
func TestScannerAgreesWithParse(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		var b []byte
		var want scanned
		for range 1 + r.IntN(5) {
			v := randomValue(r, 0)
			b = Append(b, v)
			want.kinds, want.ends = append(want.kinds, v.Kind), append(want.ends, len(b))
			var words []string
			if v.List == nil && v.Kind != Array && v.Kind != Set && v.Kind != Map && v.Kind != Push {
				words = []string{v.Text}
			}
			for _, one := range v.List {
				words = append(words, one.Text)
			}
			want.words = append(want.words, words)
		}
		got := scan(&Scanner{}, b, func(rest int) int { return 1 + r.IntN(rest) })
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v, want %+v", b, got, want)
		}
	}
}

// FuzzScanner: what comes in pieces is read as it is read at once, and as Parse reads it.
func FuzzScanner(f *testing.F) {
	f.Add([]byte("*2\r\n$1\r\nx\r\n%1\r\n+a\r\n:1\r\n|1\r\n+a\r\n:1\r\n_\r\n"), false, uint64(1))
	f.Add([]byte("*1\r\n$4\r\nPING\r\nset k \"a\\x00\"\r\n"), true, uint64(2))
	f.Fuzz(func(t *testing.T, b []byte, commands bool, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		whole := scan(&Scanner{Commands: commands}, b, atOnce)
		parts := scan(&Scanner{Commands: commands}, b, func(rest int) int { return 1 + r.IntN(rest) })
		if !reflect.DeepEqual(whole.words, parts.words) ||
			!reflect.DeepEqual(whole.ends, parts.ends) || (whole.err == nil) != (parts.err == nil) {
			t.Fatalf("%q at once: %+v, in pieces: %+v", b, whole, parts)
		}
		at := 0
		for _, end := range whole.ends {
			v, n, err := Parse(b[at:end])
			for err == nil && v.Kind == Attribute {
				at += n
				v, n, err = Parse(b[at:end])
			}
			if commands && b[at] != byte(Array) {
				at = end
				continue
			}
			if strings.Contains(string(b[at:end]), "|") {
				return // an attribute within a value, which Parse counts
			}
			if err != nil && strings.Contains(err.Error(), "end where it should") {
				return // the end of a bulk, which nobody needs
			}
			if err != nil || at+n != end {
				t.Fatalf("%q: %d bytes, %v, want %d", b[at:end], n, err, end-at)
			}
			at = end
		}
	})
}
