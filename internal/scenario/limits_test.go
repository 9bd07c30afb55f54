package scenario

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
)

// TestCheckFaultsIsTheLoader: faults that no file gave are held to the limits of
// their tags, as they would be in a file.
func TestCheckFaultsIsTheLoader(t *testing.T) {
	for _, test := range []struct {
		fault, parameter string
		value            any
		want             string
	}{
		{"pause: {client: c1, for: 1s}", "For", 9 * time.Minute, ""},
		{"pause: {client: c1, for: 1s}", "For", 11 * time.Minute, "want at most 10m, got 11m0s"},
		{"pause: {client: c1, for: 1s}", "For", -time.Second, "want at least 1ms, got -1s"},
		{"pause: {client: c1, for: 1s}", "Client", "c9", `no client "c9"`},
		{"latency: {delay: 1s}", "Delay", time.Duration(0), `"delay" is missing`},
		{"latency: {delay: 1s}", "Jitter", -time.Second, "want at least 0s, got -1s"},
		{"bandwidth: {rate: 2000}", "Rate", int64(999), "want at least 1000, got 999"},
		{"clock: {node: A, jump: 1s}", "Rate", 101.0, "want at most 100, got 101"},
		{"clock: {node: A, jump: 1s}", "Strobe", 9 * time.Millisecond, "want at least 10ms, got 9ms"},
	} {
		s, err := Parse("x.yaml", []byte("name: x\nlock: {algorithm: redlock}\nfaults:\n  - at: 0s\n    "+test.fault+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		setup := &s.Variants[0].Setup
		reflect.ValueOf(setup.Faults.List[0].Params).Elem().FieldByName(test.parameter).Set(reflect.ValueOf(test.value))
		got := ""
		if err := setup.CheckFaults(0); err != nil {
			got = err.Error()
		}
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s with %s %v: %q, want %q", test.fault, test.parameter, test.value, got, test.want)
		}
		text, err := Encode(nil, Head{Name: "x"}, setup, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("x.yaml", []byte(text)); (err == nil) != (test.want == "") {
			t.Errorf("%s with %s %v: the loader says %v", test.fault, test.parameter, test.value, err)
		}
	}
}

// TestProblemsSteerNoTerminal: keys, values and file names are a stranger's.
func TestProblemsSteerNoTerminal(t *testing.T) {
	_, err := Parse("a\x1b[2Jb.yaml",
		[]byte("name: x\nlock: {algorithm: redlock}\n\"k\\e]0;title\\a\\u202e\": 1\nvariants: {\"v\\e[31m\": {nodes: {\"c\\e\": 1}}}\n"))
	if err == nil {
		t.Fatal("want problems")
	}
	for _, r := range err.Error() {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Fatalf("%q has control characters", err.Error())
		}
	}
}
