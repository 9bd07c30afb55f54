package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/corpus"
)

// aCorpus makes a corpus of 72 histories: one of each kind of damage is among them.
func aCorpus(t *testing.T, seed uint64) (dir string, i *corpus.Index) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "corpus")
	i, err := (&Env{Version: "test"}).MakeCorpus(context.Background(), request.Corpus{Out: dir, Seed: seed, Histories: 72}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return dir, i
}

func filesIn(t *testing.T, dir string) map[string][sha256.Size]byte {
	t.Helper()
	files := map[string][sha256.Size]byte{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = sha256.Sum256(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestCorpusRepeats: the same seed writes the same bytes, with real servers too where there are some, and another seed other ones.
func TestCorpusRepeats(t *testing.T) {
	t.Parallel()
	one, index := aCorpus(t, 5)
	two, _ := aCorpus(t, 5)
	other, _ := aCorpus(t, 6)
	a, b, c := filesIn(t, one), filesIn(t, two), filesIn(t, other)
	if len(a) < index.Histories || len(a) != len(b) {
		t.Fatalf("%d and %d files of %d histories", len(a), len(b), index.Histories)
	}
	same := 0
	for name, sum := range a {
		if b[name] != sum {
			t.Errorf("%s differs", name)
		}
		if c[name] == sum {
			same++
		}
	}
	if same > len(a)/4 {
		t.Errorf("with another seed %d of %d files are the same", same, len(a))
	}
}

// TestCorpusLabels: all kinds of damage are there, each violates what it says, and all judges agree with the labels, which are of all
// verdicts.
func TestCorpusLabels(t *testing.T) {
	t.Parallel()
	dir, index := aCorpus(t, 7)
	f, err := corpus.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	kinds, verdicts, sources := map[string]bool{}, map[string]int{}, map[corpus.Source]int{}
	err = f.Each(func(e *corpus.Entry) error {
		verdicts[e.Verdict]++
		sources[e.Source]++
		if e.Reason == "" || e.JSONL == nil {
			t.Errorf("%+v", e)
		}
		if d := e.Damage; d != nil {
			kinds[d.Kind] = true
			if cut := d.Kind == "line-cut"; e.Refused != "" && cut != (e.EDN != nil) {
				t.Errorf("%s, damaged by %s, has the EDN %v", e.ID, d.Kind, e.EDN)
			}
			if d.Property != "" && !slices.ContainsFunc(e.Properties, func(l corpus.Label) bool {
				return l.Property == d.Property && l.Verdict == checker.Violated && slices.Contains(l.By, corpus.ByDamage)
			}) {
				t.Errorf("%s: the damage %s does not violate %s: %+v", e.ID, d.Kind, d.Property, e.Properties)
			}
			if (e.Refused != "") != (e.Verdict == "refused") {
				t.Errorf("%s is refused with %q: %s", e.ID, e.Refused, e.Verdict)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(kinds) != len(corpus.Kinds()) {
		t.Errorf("the kinds %v, want %v", kinds, corpus.Kinds())
	}
	for _, v := range []string{"holds", "violated", "unknown", "refused"} {
		if verdicts[v] == 0 {
			t.Errorf("no history is %s: %v", v, verdicts)
		}
	}
	for s, n := range index.Sources {
		if sources[s] != n {
			t.Errorf("%d histories are %s, want %d", sources[s], s, n)
		}
	}
	tally, _, err := (&Env{}).CheckCorpus(context.Background(), dir, "", nil)
	if err != nil || len(tally.Differences) > 0 || tally.Histories != index.Histories || tally.Compared[corpus.Porcupine] == 0 ||
		tally.Compared[corpus.Definitions] < tally.Compared[corpus.Porcupine] {
		t.Errorf("%+v, %v", tally, err)
	}
}

// TestCorpusIsForeign: whatever stands in the place of a corpus, it is told and never a panic.
func TestCorpusIsForeign(t *testing.T) {
	t.Parallel()
	dir, _ := aCorpus(t, 8)
	path := filepath.Join(dir, corpus.IndexFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"empty":            {nil, "it is empty"},
		"no JSON":          {[]byte("corpus\n"), "line 1: invalid character"},
		"cut":              {whole[:len(whole)-20], "the line has no end: the file was cut"},
		"twice":            {bytes.Join([][]byte{lines[0], lines[1], lines[1]}, nil), "there are two histories"},
		"an unknown field": {bytes.Replace(whole, []byte(`"id":`), []byte(`"identity":`), 1), `unknown field "identity"`},
		"a property":       {bytes.Replace(whole, []byte(`"exclusive-belief"`), []byte(`"exclusive-\u001b[2J"`), 1), "no such property"},
		"a verdict":        {bytes.Replace(whole, []byte(`"verdict":"violated","by"`), []byte(`"verdict":"legal","by"`), 1), "legal"},
		"more":             {append(slices.Clone(whole), lines[1]...), "there are two histories"},
	} {
		if err := os.WriteFile(path, c.text, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := (&Env{}).CheckCorpus(context.Background(), dir, "", nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || ExitCode(err) != ExitUsage {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// A link is not followed.
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "histories", "virtual-0001.jsonl")
	if err := os.Rename(file, filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../elsewhere", file); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (&Env{}).CheckCorpus(context.Background(), dir, "", nil); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a link: %v", err)
	}
}
