package etcdlog

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

func TestReadNamesTheLine(t *testing.T) {
	const ok = "INFO  jepsen.util - 0\t:invoke\t:read\tnil\n"
	for text, want := range map[string]string{
		ok + "INFO  jepsen.util - 0\t:invoke\n":              "line 2: 2 fields",
		"other\n" + ok + "INFO  jepsen.util - x\t:ok\t:f\t1": "line 3: process",
		ok + "INFO  jepsen.util - 0\t:what\t:f\t1":           "line 2: event type",
		ok + "INFO  jepsen.util - 0\t:ok\t:f\t[1]":           "line 2: value",
		ok + "INFO  jepsen.util - 0\t:ok\t:f\tx":             "line 2: value",
	} {
		err := Read(strings.NewReader(text), 0, func(int, *history.Event) error { return nil })
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("of %q: %v, want %q", text, err, want)
		}
	}
}

// FuzzRead: no input makes Read panic, and every error names its line.
func FuzzRead(f *testing.F) {
	f.Add([]byte("INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\nINFO  jepsen.util - 0\t:fail\t:read\t:timed-out\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		err := Read(bytes.NewReader(text), 100, func(int, *history.Event) error { return nil })
		var le *history.LineError
		if err != nil && !errors.As(err, &le) {
			t.Fatal(err)
		}
	})
}
