package program_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
)

func TestPatternsOfKeys(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		fit, not []string
	}{
		{"{key}", []string{"lock"}, []string{"", "lock/x", "xlock", "{key}"}},
		{"{key}*", []string{"lock", "lock/x", "lock/x/y", "lock:1", "lock*", "lock\n"}, []string{"", "loc", "a/lock"}},
		{"*", []string{"", "lock", "/", "a/b", "[", "\xff"}, nil},
		{"*/{key}", []string{"/lock", "a/b/lock"}, []string{"lock", "a/lock/"}},
		{"{key}:*:{key}", []string{"lock::lock", "lock:a/b:lock"}, []string{"lock:lock", "lock"}},
		{"a*b*c", []string{"abc", "a/b/c", "aXbbbYc", "abcbc"}, []string{"ac", "acb", "abcd", "bc"}},
		{"a**b", []string{"ab", "a/b"}, []string{"a", "b"}},
		{"**", []string{"", "x/y"}, nil},
		{"aa*aa", []string{"aaaa", "aaxaa"}, []string{"aaa", "aa"}},
		{"a*ab*b", []string{"aabb", "axabxb", "aabxabb"}, []string{"aab", "abb", "ab"}},
		{"[{key}]*", []string{"[lock]", "[lock]/x"}, []string{"l", "lock", "o/x"}},
		{"lock[", []string{"lock["}, []string{"lock"}},
		{"lo?k*", []string{"lo?k", "lo?k/"}, []string{"lock", "lock/"}},
		{`lock\**`, []string{`lock\`, `lock\*`, `lock\/x`}, []string{"lock*", "lock"}},
		{`\{key}`, []string{`\lock`}, []string{"lock", `\{key}`}},
		{"{{key}}", []string{"{lock}"}, []string{"lock"}},
		{"", []string{""}, []string{"a"}},
	} {
		p := program.PatternsFor("lock", []string{c.pattern})
		for _, key := range c.fit {
			if !p.Fit(key) {
				t.Errorf("%q does not fit %q", c.pattern, key)
			}
		}
		for _, key := range c.not {
			if p.Fit(key) {
				t.Errorf("%q fits %q", c.pattern, key)
			}
		}
		if named := len(p.Names()) == 1; named == strings.Contains(c.pattern, "*") {
			t.Errorf("%q has the names %q", c.pattern, p.Names())
		}
	}
}

// TestPatternsOfTheLocksKey: what stands in the lock's key stands for itself.
func TestPatternsOfTheLocksKey(t *testing.T) {
	p := program.PatternsFor("a*[?]", []string{"{key}", "x:{key}:*"})
	if names := p.Names(); !slices.Equal(names, []string{"a*[?]"}) {
		t.Errorf("names: %q", names)
	}
	for key, fits := range map[string]bool{"a*[?]": true, "x:a*[?]:/": true, "ab[?]": false, "x:ab[?]:/": false, "a*?": false, "": false} {
		if p.Fit(key) != fits {
			t.Errorf("%q: %v", key, !fits)
		}
	}
	if none := program.PatternsFor("lock", nil); none.Fit("") || none.Fit("lock") || none.Names() != nil {
		t.Error("no pattern fits something")
	}
}

// TestPatternsAreWhatTheyAreDefinedAs: a key fits a pattern if each star can be replaced so that the key comes out.
func TestPatternsAreWhatTheyAreDefinedAs(t *testing.T) {
	var naive func(pattern, key string) bool
	naive = func(pattern, key string) bool {
		if pattern == "" {
			return key == ""
		}
		if pattern[0] == '*' {
			return naive(pattern[1:], key) || key != "" && naive(pattern, key[1:])
		}
		return key != "" && key[0] == pattern[0] && naive(pattern[1:], key[1:])
	}
	rapid.Check(t, func(t *rapid.T) {
		pattern, key := rapid.StringMatching(`[ab/*?\[]{0,8}`).Draw(t, "pattern"), rapid.StringMatching(`[ab/?\[]{0,10}`).Draw(t, "key")
		if got, want := program.PatternsFor("", []string{pattern}).Fit(key), naive(pattern, key); got != want {
			t.Fatalf("%q and %q: %v, want %v", pattern, key, got, want)
		}
	})
}
