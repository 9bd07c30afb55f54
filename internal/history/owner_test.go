package history_test

import (
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

func TestOwnerText(t *testing.T) {
	for raw, want := range map[string]string{"c1-4c5b": "c1-4c5b",
		"größe": "größe", "": "", "\x00\xff": `\x00\xff`, `\x00`: `\\x00`, "a\nb": `a\nb`, `a"b`: `a"b`} {
		if got := history.OwnerText(raw); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
}
