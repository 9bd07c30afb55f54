package journal_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

// journalOf writes lines of words as entries; a line that begins with "#" as it is.
func journalOf(lines ...string) string {
	var b []byte
	for _, line := range lines {
		if strings.HasPrefix(line, "#") {
			b = append(b, line+"\r\n"...)
			continue
		}
		b = resp.AppendCommand(b, strings.Fields(line)...)
	}
	return string(b)
}

// text writes entries in lines: the database, the words; what belongs to one block is joined.
func text(entries []journal.Entry) (lines []string) {
	line := ""
	for _, e := range entries {
		switch e.Kind {
		case journal.Gap, journal.Known:
			lines = append(lines, []string{journal.Gap: "gap", journal.Known: "known"}[e.Kind])
			continue
		case journal.Base:
			line += "base "
		case journal.Effect:
		}
		line += strings.Join(append([]string{strconv.Itoa(e.DB) + ":"}, e.Words...), " ")
		if e.Last {
			lines, line = append(lines, line), ""
		} else {
			line += " + "
		}
	}
	return lines
}

// fataler is a testing.TB or a rapid.TB.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

func write(t fataler, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t fataler, path, content string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString(content)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// rest reads until there is nothing new.
func rest(t fataler, f *journal.Follower) (entries []journal.Entry) {
	t.Helper()
	for {
		some, err := f.Read()
		if err != nil {
			t.Fatal(err)
		}
		if some == nil {
			return entries
		}
		entries = append(entries, some...)
	}
}

func wantNext(t testing.TB, f *journal.Follower, want ...string) {
	t.Helper()
	if got := text(rest(t, f)); !slices.Equal(got, want) {
		t.Fatalf("read\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func follow(t testing.TB, path string) *journal.Follower {
	t.Helper()
	f := journal.Follow(path)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestOneFile(t *testing.T) {
	dir := t.TempDir()
	f := follow(t, dir)
	wantNext(t, f)
	path := filepath.Join(dir, "appendonly.aof")
	write(t, path, journalOf("SELECT 3", "SET k v", "MULTI", "INCR n", "SELECT 4", "DEL k", "exec")+"*1\r\n$5\r\nMUL")
	wantNext(t, f, "known", "3: SET k v", "3: INCR n + 4: DEL k")
	at, torn := f.Torn()
	if want := int64(len(journalOf("SELECT 3", "SET k v", "MULTI", "INCR n", "SELECT 4", "DEL k", "EXEC"))); !torn || at.Offset != want {
		t.Errorf("torn %v %+v, want the block at %d", torn, at, want)
	}
	appendTo(t, path, "TI\r\n"+journalOf("DEL a"))
	wantNext(t, f)
	if again, _ := f.Torn(); again != at {
		t.Errorf("torn at %+v, want %+v", again, at)
	}
	appendTo(t, path, journalOf("DEL b", "EXEC", "#TS:1700000000", "DEL c"))
	wantNext(t, f, "4: DEL a + 4: DEL b", "4: DEL c")
	if at, torn := f.Torn(); torn {
		t.Errorf("torn at %+v", at)
	}
}

func TestSkip(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "appendonly.aof")
	write(t, path, journalOf("SELECT 3", "SET k v"))
	f := follow(t, dir)
	if err := f.Skip(); err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, journalOf("SET k w"))
	wantNext(t, f, "3: SET k w")
	appendTo(t, path, journalOf("SET k x"))
	if err := f.Skip(); err != nil {
		t.Fatal(err)
	}
	wantNext(t, f)
}

// A snapshot may stand before the entries. Of the database nothing is known then until an entry says it.
func TestPreamble(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "appendonly.aof")
	write(t, path, "REDIS0009\xfa\x09redis-ver\x056.2.5\xff12345678"+journalOf("SELECT 3", "SET k v"))
	f := follow(t, dir)
	if err := f.Skip(); err != nil {
		t.Fatal(err)
	}
	appendTo(t, path, journalOf("SET k w", "SELECT 3", "SET k x"))
	wantNext(t, f, "-1: SET k w", "3: SET k x")
	if _, _, err := journal.ReadAll(dir); err == nil || !strings.Contains(err.Error(), "RDB") {
		t.Errorf("the error is %v", err)
	}
}

// A server is killed within a block that has a SELECT, loses all that it wrote with the machine's power, is started again, and begins
// its file with the same SELECT as before. A follower that did not look meanwhile goes on behind it. The SELECT within the lost block
// does not count: a server that has been started again begins with one of its own (aof_selected_db is -1 then).
func TestSelectInABlockThatIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "appendonly.aof")
	before := journalOf("#TS:1700000000", "SELECT 1")
	write(t, path, before+journalOf("MULTI", "#TS:1700000001", "SELECT 0", "SET k v")+"*3\r\n")
	f := follow(t, path)
	wantNext(t, f, "known")
	if at, torn := f.Torn(); !torn || at.Offset != int64(len(before)) {
		t.Fatalf("torn %v at %+v, want the block at %d", torn, at, len(before))
	}
	write(t, path, before+journalOf("SET k w"))
	entries := rest(t, f)
	if want := []string{"1: SET k w"}; !slices.Equal(text(entries), want) || entries[0].Second != 1700000000 {
		t.Errorf("read %+v, want %q of second 1700000000", entries, want)
	}
}

func TestManifest(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, "appendonlydir", name) }
	manifest := func(text string) {
		write(t, in("temp-appendonly.aof.manifest"), text)
		if err := os.Rename(in("temp-appendonly.aof.manifest"), in("appendonly.aof.manifest")); err != nil {
			t.Fatal(err)
		}
	}
	write(t, in("base 1"), journalOf("SELECT 0", "SET k v"))
	write(t, in("incr1"), journalOf("SELECT 0", "DEL k"))
	manifest("file \"base 1\" seq 1 type b\nfile incr1 seq 1 type i startoffset 7\n")
	f := follow(t, dir)
	wantNext(t, f, "base 0: SET k v", "known", "0: DEL k")
	skipped := follow(t, dir)
	if err := skipped.Skip(); err != nil {
		t.Fatal(err)
	}

	// A rewrite begins: what is still written to the increment comes before the next.
	appendTo(t, in("incr1"), journalOf("SET a 1"))
	write(t, in("incr2"), journalOf("SELECT 1", "SET a 2"))
	manifest("file \"base 1\" seq 1 type b\nfile incr1 seq 1 type i\nfile incr2 seq 2 type i\n")
	wantNext(t, f, "0: SET a 1", "1: SET a 2")
	wantNext(t, skipped, "0: SET a 1", "1: SET a 2")
	late := follow(t, dir)
	wantNext(t, late, "base 0: SET k v", "known", "0: DEL k", "0: SET a 1", "1: SET a 2")

	// It ends.
	write(t, in("base2"), journalOf("SELECT 0", "SET a 1"))
	for _, old := range []string{"base 1", "incr1"} {
		if err := os.Remove(in(old)); err != nil {
			t.Fatal(err)
		}
	}
	manifest("# a comment\nfile base2 seq 2 type b\nfile \"base 1\" seq 1 type h\nfile incr1 seq 1 type h\nfile incr2 seq 2 type i\n")
	appendTo(t, in("incr2"), journalOf("SET a 3"))
	wantNext(t, f, "1: SET a 3")

	// The journal is switched off and on.
	write(t, in("base3"), journalOf("SELECT 0", "SET a 4"))
	write(t, in("incr3"), journalOf("SELECT 0", "SET a 5"))
	manifest("file base3 seq 3 type b\nfile base2 seq 2 type h\nfile incr2 seq 2 type h\nfile incr3 seq 3 type i\n")
	wantNext(t, f, "gap", "base 0: SET a 4", "known", "0: SET a 5")

	// The base is a snapshot.
	write(t, in("base4"), "REDIS0011")
	write(t, in("incr4"), journalOf("SELECT 0", "SET a 6"))
	manifest("file base4 seq 4 type b\nfile incr4 seq 4 type i\n")
	wantNext(t, f, "gap", "0: SET a 6")
	if entries, _, err := journal.ReadAll(dir); err == nil || !strings.Contains(err.Error(), "base4") {
		t.Errorf("read %q with the error %v", text(entries), err)
	}

	// The server is started again without its journal: files of the same names.
	if err := os.RemoveAll(in("")); err != nil {
		t.Fatal(err)
	}
	wantNext(t, f)
	write(t, in("base4"), "")
	write(t, in("incr4"), "")
	manifest("file base4 seq 4 type b\nfile incr4 seq 4 type i\n")
	wantNext(t, f, "gap", "known")
	appendTo(t, in("incr4"), journalOf("SELECT 0", "SET a 7"))
	wantNext(t, f, "0: SET a 7")

	// The server is started again with it.
	f.Restarted()
	wantNext(t, f, "gap", "base 0: SET a 7", "known")
	appendTo(t, in("incr4"), journalOf("SET a 8"))
	wantNext(t, f, "0: SET a 8")
}

// Before version 7 a rewrite puts another file in the journal's place.
func TestOneFileReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "appendonly.aof")
	write(t, path, journalOf("SELECT 0", "SET k v"))
	f := follow(t, dir)
	wantNext(t, f, "known", "0: SET k v")
	appendTo(t, path, journalOf("SET k w"))
	write(t, path+".new", journalOf("SELECT 0", "SET k x"))
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	wantNext(t, f, "0: SET k w", "gap", "base 0: SET k x", "known")
	appendTo(t, path, journalOf("SET k y"))
	wantNext(t, f, "0: SET k y")
}

func TestCut(t *testing.T) {
	first := journalOf("SELECT 2", "SET k v PXAT 1700000000001")
	second := journalOf("SET k w PXAT 1700000000002", "MULTI", "DEL k")
	for _, test := range []struct {
		name, after string
		want        []string
	}{
		{"to nothing", "", []string{"gap"}},
		{"to nothing, then others", journalOf("SET k x"), []string{"gap", "2: SET k x"}},
		{"to nothing, then more than there was", journalOf(slices.Repeat([]string{"SET l v PXAT 1700000000003"}, 5)...),
			append([]string{"gap"}, slices.Repeat([]string{"2: SET l v PXAT 1700000000003"}, 5)...)},
		{"to nothing, but the server writes on where it was", strings.Repeat("\x00", 70) + journalOf("SET k x"), []string{"gap", "2: SET k x"}},
		{"its end", first, []string{"gap", "base 2: SET k v PXAT 1700000000001", "known"}},
		{"its end within an entry", first + second[:10], []string{"gap", "base 2: SET k v PXAT 1700000000001", "known"}},
		{"its end, then others", first + journalOf("SET k x"),
			[]string{"gap", "base 2: SET k v PXAT 1700000000001", "base 2: SET k x", "known"}},
		{"the torn end", first + strings.TrimSuffix(second, journalOf("MULTI", "DEL k")) + journalOf("DEL l"), []string{"2: DEL l"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "appendonly.aof")
			write(t, path, first+second)
			f := follow(t, path)
			rest(t, f)
			write(t, path, test.after)
			wantNext(t, f, test.want...)
		})
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct{ name, content, want string }{
		{"not a journal", "hello\r\n", "byte 0: "},
		{"a text", journalOf("DEL a") + "+OK\r\n", "byte 20: "},
		{"no words", "*0\r\n", "an entry without words"},
		{"minus one", "*-1\r\n", "byte 0: "},
		{"too many words", "*9999999999\r\n", "too great"},
		{"too long a word", "*1\r\n$600000000\r\n", "too great"},
		{"a word that goes on", "*1\r\n$1\r\nabc\r\n", "does not end"},
		{"MULTI twice", journalOf("MULTI", "MULTI"), "MULTI within MULTI"},
		{"EXEC alone", journalOf("EXEC"), "EXEC without MULTI"},
		{"no database", journalOf("SELECT -1"), "no database"},
		{"an annotation without an end", "#" + strings.Repeat("x", 2000), "an annotation of more"},
		{"zero bytes", "\x00\x00", "byte 0: "},
	} {
		path := filepath.Join(t.TempDir(), "x.aof")
		write(t, path, test.content)
		_, _, err := journal.ReadAll(path)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error is %v, want %q", test.name, err, test.want)
		}
	}
}

func TestRefusedManifests(t *testing.T) {
	for _, test := range []struct{ content, want string }{
		{"", "no base and no increment"},
		{"file x seq 1\n", "line 1"},
		{"file ../x seq 1 type b\n", "name"},
		{"file .. seq 1 type b\n", "name"},
		{"seq 1 type b\n", "name"},
		{"file x seq y type b\n", "number"},
		{"file x seq 1 type q\n", "type"},
		{"file x seq 1 type b\nfile y seq 2 type b\n", "line 2"},
		{"file x seq 2 type i\nfile y seq 1 type i\n", "order"},
		{"file gone seq 2 type i\n", "gone"},
		{"file sub seq 2 type i\n", "not a file"},
		{strings.Repeat("#\n", 1<<20), "more than"},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a.manifest"), test.content)
		write(t, filepath.Join(dir, "sub", "file"), "")
		_, _, err := journal.ReadAll(dir)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40q: the error is %v, want %q", test.content, err, test.want)
		}
	}
	dir := t.TempDir()
	if _, _, err := journal.ReadAll(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no journal: the error is %v", err)
	}
	write(t, filepath.Join(dir, "a.manifest"), "")
	write(t, filepath.Join(dir, "b.manifest"), "")
	if _, _, err := journal.ReadAll(dir); err == nil || !strings.Contains(err.Error(), "several") {
		t.Errorf("two journals: the error is %v", err)
	}
}

// TestPieces: in whatever pieces a journal is written, the same entries come.
func TestPieces(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		content, want := drawJournal(t)
		path := filepath.Join(dir, "x.aof")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f := journal.Follow(path)
		defer func() { _ = f.Close() }()
		got := rest(t, f)
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		for content != "" {
			n := rapid.IntRange(1, len(content)).Draw(t, "piece")
			if _, err := file.WriteString(content[:n]); err != nil {
				t.Fatal(err)
			}
			content = content[n:]
			got = append(got, rest(t, f)...)
		}
		if want = append([]journal.Entry{{Kind: journal.Known, DB: -1}}, want...); !reflect.DeepEqual(got, want) {
			t.Fatalf("read\n%+v\nwant\n%+v", got, want)
		}
	})
}

// drawJournal draws blocks, and writes them as Redis does.
func drawJournal(t *rapid.T) (content string, entries []journal.Entry) {
	var b []byte
	written, second := -1, int64(0)
	word := rapid.OneOf(rapid.StringN(0, 5, -1), rapid.Just("*1\r\n$3\r\nDEL\r\n"), rapid.Just(strings.Repeat("x", 100_000)))
	for range rapid.IntRange(0, 8).Draw(t, "blocks") {
		n := rapid.IntRange(1, 3).Draw(t, "entries")
		if n > 1 {
			b = resp.AppendCommand(b, "MULTI")
		}
		for i := range n {
			if rapid.Bool().Draw(t, "annotation") {
				second = rapid.Int64Range(1, 1<<40).Draw(t, "second")
				b = fmt.Appendf(b, "#TS:%d\r\n", second)
			}
			e := journal.Entry{DB: rapid.IntRange(0, 2).Draw(t, "db"), First: i == 0, Last: i == n-1, Second: second}
			if e.DB != written {
				written = e.DB
				b = resp.AppendCommand(b, "SELECT", strconv.Itoa(e.DB))
			}
			e.Words = append([]string{"SET"}, rapid.SliceOfN(word, 1, 3).Draw(t, "words")...)
			b = resp.AppendCommand(b, e.Words...)
			entries = append(entries, e)
		}
		if n > 1 {
			b = resp.AppendCommand(b, "EXEC")
		}
	}
	return string(b), entries
}

// FuzzJournal: whatever stands in the file, it is read the same in one piece and in two, and what was read is there.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(journalOf("SELECT 3", "#TS:1700000000", "SET k v", "MULTI", "INCR n", "EXEC")), uint16(20))
	f.Add([]byte("REDIS0009"+journalOf("SET k v")), uint16(3))
	f.Add([]byte("*1\r\n$512\r\nx"), uint16(6))
	f.Add([]byte("\x00*-1\r\n"), uint16(0))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte, at uint16) {
		path := filepath.Join(dir, fmt.Sprintf("%d.aof", os.Getpid()))
		write(t, path, string(content))
		whole, torn, wholeErr := journal.ReadAll(path)
		if torn.File != "" && torn.Offset >= int64(len(content)) {
			t.Fatalf("torn at %d of %d", torn.Offset, len(content))
		}
		for _, e := range whole {
			for _, w := range e.Words {
				if !strings.Contains(string(content), w) {
					t.Fatalf("%q is not in %q", w, content)
				}
			}
		}
		cut := min(int(at), len(content))
		if strings.HasPrefix(string(content), "REDIS") {
			return // where it ends is not known
		}
		write(t, path, string(content[:cut]))
		follower := journal.Follow(path)
		defer func() { _ = follower.Close() }()
		var pieces []journal.Entry
		var err error
		for _, more := range []string{"", string(content[cut:])} {
			appendTo(t, path, more)
			for err == nil {
				var some []journal.Entry
				if some, err = follower.Read(); some == nil {
					break
				}
				pieces = append(pieces, some...)
			}
		}
		if !reflect.DeepEqual(whole, pieces) || (err == nil) != (wholeErr == nil) {
			t.Fatalf("in one piece %+v (%v), in two %+v (%v)", whole, wholeErr, pieces, err)
		}
	})
}

func BenchmarkUnchanged(b *testing.B) {
	dir := b.TempDir()
	write(b, filepath.Join(dir, "appendonlydir", "i"), journalOf("SELECT 0", "SET k v"))
	write(b, filepath.Join(dir, "appendonlydir", "a.manifest"), "file i seq 1 type i\n")
	f := follow(b, dir)
	rest(b, f)
	for b.Loop() {
		if some, err := f.Read(); some != nil || err != nil {
			b.Fatal(some, err)
		}
	}
}

func BenchmarkEntry(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.aof")
	const n = 100_000
	write(b, path, journalOf("SELECT 0")+strings.Repeat(journalOf("SET lock 0123456789abcdef0123456789abcdef PXAT 1795638557462"), n))
	for b.Loop() {
		if entries, _, err := journal.ReadAll(path); len(entries) != n+1 || err != nil {
			b.Fatal(len(entries), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
}
