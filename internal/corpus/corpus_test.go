package corpus

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/checker"
)

// folder is a corpus with an index and nothing else.
func folder(t testing.TB, index string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, IndexFile), []byte(index), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// labelled is an index with a label of each verdict, and a history that is to be refused.
func labelled(t testing.TB) string {
	t.Helper()
	file := func(name string) *File { return &File{Path: Histories + "/" + name} }
	one := &Entry{ID: "a", JSONL: file("a.jsonl"), EDN: file("a.edn"), Properties: []Label{
		{Property: checker.ExclusiveBelief, Verdict: checker.Violated}, {Property: checker.ExclusiveLease, Verdict: checker.Holds},
		{Property: checker.NoLateEffect, Verdict: checker.Unknown}}, Models: []ModelLabel{{Model: "owner-mutex", Verdict: checker.Violated}}}
	two := &Entry{ID: "b", JSONL: file("b.jsonl"), Refused: "line 2 is cut"}
	text, err := IndexText(&Index{Format: Format, Version: Version, Histories: 2}, []*Entry{one, two})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestScore: what is counted of the answers of another checker, by what it says and what the label is.
func TestScore(t *testing.T) {
	answer := func(id, about, verdict string) string {
		return `{"id":"` + id + `","about":"` + about + `","verdict":"` + verdict + `"}` + "\n"
	}
	for name, c := range map[string]struct {
		answers   string
		want      Score
		dangerous bool
	}{
		"nothing":         {"", Score{NotAnswered: 5}, false},
		"right":           {answer("a", "exclusive-belief", "violated") + answer("b", "", "refused"), Score{Right: 2, NotAnswered: 3}, false},
		"a false alarm":   {answer("a", "exclusive-lease", "violated"), Score{FalseAlarms: 1, NotAnswered: 4}, true},
		"another one":     {answer("a", "no-late-effect", "violated"), Score{FalseAlarms: 1, NotAnswered: 4}, true},
		"missed":          {answer("a", "owner-mutex", "holds"), Score{Missed: 1, NotAnswered: 4}, true},
		"undecided":       {answer("a", "exclusive-lease", "unknown"), Score{Undecided: 1, NotAnswered: 4}, false},
		"rash":            {answer("a", "no-late-effect", "holds"), Score{Rash: 1, NotAnswered: 4}, true},
		"not refused":     {answer("b", "", "holds"), Score{NotRefused: 1, NotAnswered: 4}, true},
		"wrongly refused": {answer("a", "exclusive-lease", "refused"), Score{WronglyRefused: 1, NotAnswered: 4}, true},
		"unasked":         {answer("c", "exclusive-lease", "holds"), Score{Unasked: 1, NotAnswered: 5}, false},
	} {
		f, err := Open(folder(t, labelled(t)))
		if err != nil {
			t.Fatal(err)
		}
		list, err := ReadAnswers(strings.NewReader(c.answers))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := f.Score(list)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		wrong := len(got.Wrong)
		got.Wrong, c.want.Labels = nil, 5
		if !reflect.DeepEqual(*got, c.want) || got.Dangerous() != c.dangerous || wrong != 5-got.Right-got.NotAnswered {
			t.Errorf("%s: %+v with %d wrong; want %+v", name, got, wrong, c.want)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// FuzzIndex: no index, and no answers, of somebody else make a panic.
func FuzzIndex(f *testing.F) {
	f.Add(labelled(f), `{"id":"a","verdict":"holds"}`+"\n")
	f.Add("", "{}")
	f.Fuzz(func(t *testing.T, index, answers string) {
		list, err := ReadAnswers(strings.NewReader(answers))
		c, openErr := Open(folder(t, index))
		if openErr != nil {
			return
		}
		defer c.Close()
		if err == nil {
			_, _ = c.Score(list)
		}
	})
}
