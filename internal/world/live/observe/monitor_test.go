package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/redis/monitor"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
)

func TestParseMonitored(t *testing.T) {
	for line, want := range map[string]monitored{
		`+1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`: {
			at: 1339518083*time.Second + 107412*time.Microsecond, source: "127.0.0.1:60866", Line: keylog.Line{Args: []string{"keys", "*"}}},
		`+1.000001 [0 lua] "set" "lock" "c1-ab" "NX" "PX" "1000"`: {
			at: time.Second + time.Microsecond, source: "lua", Line: keylog.Line{Args: []string{"set", "lock", "c1-ab", "NX", "PX", "1000"}}},
		`+1.000000 [3 [::1]:6379] "get" "a b"`: {at: time.Second, source: "[::1]:6379", Line: keylog.Line{DB: 3, Args: []string{"get", "a b"}}},
		`+1.000000 [0 unix:/tmp/r.sock] "set" "] " "\" \\ \n\r\t\a\b \x00\xff\x7F"`: {
			at: time.Second, source: "unix:/tmp/r.sock", Line: keylog.Line{Args: []string{"set", "] ", "\" \\ \n\r\t\a\b \x00\xff\x7f"}}},
		`+1.000000 [0 lua] "set" "" ""`: {at: time.Second, source: "lua", Line: keylog.Line{Args: []string{"set", "", ""}}},
	} {
		got, err := parseMonitored(line)
		if err != nil || got.at != want.at || got.DB != want.DB || got.source != want.source || !slices.Equal(got.Args, want.Args) {
			t.Errorf("%s\n gave %+v (%v), want %+v", line, got, err, want)
		}
	}
}

func TestParseMonitoredRefusesOtherTalk(t *testing.T) {
	for _, line := range []string{
		"", "+", "+OK", "-ERR unknown command", `1.0 [0 lua] "get"`, `+1.0 0 lua "get"`, `+x.1 [0 lua] "get"`, `+1.x [0 lua] "get"`,
		`+1 [0 lua] "get"`, `+1.0 [0] "get"`, `+1.0 [x lua] "get"`,
		`+1.0 [0 lua]`, `+1.0 [0 lua] get`, `+1.0 [0 lua] "get`, `+1.0 [0 lua] "get\"`, `+1.0 [0 lua] "\q"`,
		`+1.0 [0 lua] "\x4"`, `+1.0 [0 lua] "\xzz"`, `+1.0 [0 lua] "\`, `+1.0 [0 lua] "get" x`,
	} {
		if got, err := parseMonitored(line); err == nil {
			t.Errorf("%q was read as %+v", line, got)
		}
	}
}

// quote writes a word as Redis's sdscatrepr does.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\\' || c == '"':
			b.WriteString(`\` + string(rune(c)))
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\a':
			b.WriteString(`\a`)
		case c == '\b':
			b.WriteString(`\b`)
		case c >= ' ' && c < 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String() + `"`
}

func TestParseMonitoredReadsWhatRedisWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := monitored{
			at:     time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "at")) * time.Microsecond,
			source: rapid.SampledFrom([]string{"lua", "127.0.0.1:1", "[::1]:65535"}).Draw(t, "source"),
		}
		var words []string
		for range rapid.IntRange(1, 5).Draw(t, "words") {
			word := string(rapid.SliceOf(rapid.Byte()).Draw(t, "word"))
			want.Args, words = append(want.Args, word), append(words, quote(word))
		}
		line := fmt.Sprintf("+%d.%06d [0 %s] %s",
			want.at/time.Second, want.at%time.Second/time.Microsecond, want.source, strings.Join(words, " "))
		got, err := parseMonitored(line)
		if err != nil || got.at != want.at || got.source != want.source || !slices.Equal(got.Args, want.Args) {
			t.Fatalf("%s gave %+v (%v), want %+v", line, got, err, want)
		}
	})
}

func FuzzParseMonitored(f *testing.F) {
	for _, line := range []string{`+1339518083.107412 [0 127.0.0.1:60866] "keys" "*"`,
		`+1.0 [0 lua] "\x00" "\"`, `+1.0 [0 lua] `, `+-1.-1 [ ] ""`} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got, err := parseMonitored(line)
		if err != nil {
			return
		}
		var words []string
		for _, a := range got.Args {
			words = append(words, quote(a))
		}
		again, err := monitor.Words(strings.Join(words, " "))
		if err != nil || !slices.Equal(again, got.Args) {
			t.Errorf("%q: %q became %q (%v)", line, got.Args, again, err)
		}
		if got.at < 0 || len(got.Args) == 0 {
			t.Errorf("%q was read as %+v", line, got)
		}
	})
}
