package journal_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

// damagedFile writes commands, one on each line, into a journal, and returns its path and where each begins.
func damagedFile(t *testing.T, commands string) (path string, at []int64) {
	t.Helper()
	var text []byte
	for line := range strings.Lines(commands) {
		if words := strings.Fields(line); len(words) > 0 {
			at = append(at, int64(len(text)))
			text = resp.AppendCommand(text, words...)
		}
	}
	path = filepath.Join(t.TempDir(), "appendonly.aof")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, append(at, int64(len(text)))
}

// TestLastWrite: the last write is the last block of which something can be lost at the time 1000.
func TestLastWrite(t *testing.T) {
	for name, test := range map[string]struct {
		commands string
		// from and to are numbers of commands; both 0: there is no write.
		from, to int
	}{
		"a command":                     {"SELECT 0\nSET a 1\nSET b 1", 2, 3},
		"no command":                    {"", 0, 0},
		"a SELECT alone is no write":    {"SET a 1\nSELECT 1", 0, 1},
		"a transaction":                 {"SET a 1\nMULTI\nSELECT 0\nSET b 1\nINCR c\nEXEC", 1, 6},
		"a transaction without its end": {"SET a 1\nMULTI\nSET b 1", 0, 1},
		"the key runs out later":        {"SET a 1\nSET b 1 PXAT 1000", 1, 2},
		"the key has run out":           {"SET a 1\nSET b 1 PXAT 999", 0, 1},
		"its removal":                   {"SET b 1 PXAT 999\nSET a 1\nDEL b", 1, 2},
		"its removal by UNLINK":         {"SET b 1\nPEXPIREAT b 999\nSET a 1\nUNLINK b", 2, 3},
		"the removal of another":        {"SET b 1 PXAT 1001\nSET a 1\nDEL b", 2, 3},
		"a key without an end any more": {"SET b 1 PXAT 999\nSET a 1\nSET b 2", 2, 3},
		"an end that is kept":           {"SET b 1 PXAT 999\nSET a 1\nSET b 2 KEEPTTL\nINCR b", 1, 2},
		"two keys, one of them there":   {"SET b 1 PXAT 999\nSET a 1\nDEL a b", 2, 3},
		"the same name elsewhere":       {"SET b 1 PXAT 999\nSELECT 1\nSET b 1\nDEL b", 3, 4},
		"a transaction that is past":    {"SET a 1\nMULTI\nSET b 1 PXAT 5\nSET c 1 PXAT 6\nEXEC", 0, 1},
		"what came and went":            {"SET a 1\nMULTI\nSET b 1 PXAT 5\nDEL b\nEXEC", 1, 5},
		"FLUSHALL":                      {"SET a 1 PXAT 999\nFLUSHALL", 1, 2},
		"what is not known":             {"SET a 1 PXAT 999\nRENAME a b", 1, 2},
	} {
		path, at := damagedFile(t, test.commands)
		tail, err := journal.Last(path, 1000)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case tail == nil && test.to > 0 || tail != nil && test.to == 0:
			t.Errorf("%s: %+v", name, tail)
		case tail != nil && (tail.From != at[test.from] || tail.To != at[test.to]):
			t.Errorf("%s: from %d to %d, want from %d to %d", name, tail.From, tail.To, at[test.from], at[test.to])
		}
	}
	if tail, err := journal.Last(filepath.Join(t.TempDir(), "none"), 0); tail != nil || err != nil {
		t.Errorf("of no file: %+v, %v", tail, err)
	}
}

const damagedCommands = "SET a 1\nMULTI\nSET lock c1-0 PXAT 1795900000000\nINCR token\nEXEC"

// damage damages the last write of a file, and returns the file before and after, with where its commands begin.
func damage(t *testing.T, by func(*journal.Tail, *rand.Rand) error, seed uint64) (before, after []byte, at []int64) {
	path, at := damagedFile(t, damagedCommands)
	before, _ = os.ReadFile(path)
	tail, err := journal.Last(path, 1000)
	if err != nil || tail == nil {
		t.Fatal(tail, err)
	}
	if err := by(tail, rand.New(rand.NewPCG(seed, 0))); err != nil {
		t.Fatal(err)
	}
	after, _ = os.ReadFile(path)
	return before, after, at
}

// TestTear: what is torn ends within the write, in its first command or between two.
func TestTear(t *testing.T) {
	torn := make(map[int]bool)
	for seed := range uint64(400) {
		before, after, at := damage(t, (*journal.Tail).Tear, seed)
		n := int64(len(after))
		torn[len(after)] = true
		inFirst, between := n > at[1] && n < at[2], n == at[2] || n == at[3] || n == at[4]
		if !bytes.HasPrefix(before, after) || !inFirst && !between {
			t.Fatalf("torn to %q", after)
		}
	}
	if want := len("*1..$5..MULTI..") - 1 + 3; len(torn) != want {
		t.Errorf("torn in %d places, not %d", len(torn), want)
	}
}

// TestFlip: flipped is a bit of what the write is made of, and none of an end.
func TestFlip(t *testing.T) {
	flipped := make(map[int]bool)
	for seed := range uint64(400) {
		before, after, at := damage(t, (*journal.Tail).Flip, seed)
		differ := -1
		for i := range before {
			if x := before[i] ^ after[i]; x != 0 {
				if differ >= 0 || x&(x-1) != 0 || i < int(at[1]) {
					t.Fatalf("flipped to %q", after)
				}
				differ = i
			}
		}
		if end := bytes.Index(before, []byte("1795900000000")); differ < 0 || differ >= end && differ < end+13 {
			t.Fatalf("flipped to %q", after)
		}
		flipped[differ] = true
	}
	if want := 1 + len("lock") + len("c1-0") + len("token"); len(flipped) != want {
		t.Errorf("flipped in %d places, not %d", len(flipped), want)
	}
}

// TestRemove: the last write alone is removed.
func TestRemove(t *testing.T) {
	path, at := damagedFile(t, damagedCommands)
	tail, _ := journal.Last(path, 0)
	if err := tail.Remove(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != at[1] {
		t.Errorf("removed down to %v, %v", info, err)
	}
}
