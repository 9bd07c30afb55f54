package trial

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFirstDifference(t *testing.T) {
	long := `{"index":7,"time":1200000,"process":"c1","type":"ok","f":"acquire","value":{"owner":"0123456789abcdef"}}`
	for name, c := range map[string]struct{ one, other, want string }{
		"none":    {"a\nb\n", "a\nb\n", ""},
		"empty":   {"", "", ""},
		"a line":  {"a\nb\nc\n", "a\nx\nc\n", "line 2 of history.jsonl has b, and that of history-again.jsonl has x"},
		"the end": {"a\n", "a\nb\n", "line 2 of history.jsonl has nothing, and that of history-again.jsonl has b"},
		"a part": {long + "\n", long[:20] + "7" + long[21:] + "\n",
			`line 1 of history.jsonl has {"index":7,"time":1200000,"process":"c1","type":"ok","f":"acquire","va..., ` +
				`and that of history-again.jsonl has {"index":7,"time":1270000,"process":"c1","type":"ok","f":"acquire","va...`},
		"deep inside": {long, long[:len(long)-4] + `0"}}`, `line 1 of history.jsonl has ...lue":{"owner":"0123456789abcdef"}}, ` +
			`and that of history-again.jsonl has ...lue":{"owner":"0123456789abcde0"}}`},
	} {
		dir := t.TempDir()
		one, other := filepath.Join(dir, "history.jsonl"), filepath.Join(dir, "history-again.jsonl")
		for file, text := range map[string]string{one: c.one, other: c.other} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := firstDifference(one, other); got != c.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}
