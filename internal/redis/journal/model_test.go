package journal_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
)

// writer does to files what a server does, from version 7 on. What it wrote has numbers in its order.
type writer struct {
	t         *rapid.T
	dir       string
	data      map[string]string
	base      int
	increment []int // the numbers of those in the manifest
	selected  int
	number    int
	lasting   []int  // of what was written since the last base, and was not lost
	snapshot  string // of a rewrite under way
	rewriting bool
}

func (w *writer) path(kind string, n int) string {
	return filepath.Join(w.dir, "appendonlydir", fmt.Sprintf("%s.%d", kind, n))
}

func (w *writer) last() string { return w.path("incr", w.increment[len(w.increment)-1]) }

func (w *writer) save() {
	text := fmt.Sprintf("file base.%d seq %d type b\n", w.base, w.base)
	for _, n := range w.increment {
		text += fmt.Sprintf("file incr.%d seq %d type i\n", n, n)
	}
	name := w.path("manifest", 0)
	write(w.t, name, text)
	if err := os.Rename(name, filepath.Join(filepath.Dir(name), "a.manifest")); err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) dump() string {
	var lines []string
	for key, value := range w.data {
		lines = append(lines, "SELECT "+key[:1], "SET "+key+" "+value)
	}
	return journalOf(lines...)
}

// block writes a block, or the beginning of one.
func (w *writer) block(whole bool) {
	n := rapid.IntRange(1, 3).Draw(w.t, "entries")
	var lines []string
	if n > 1 {
		lines = append(lines, "MULTI")
	}
	selected, data, number := w.selected, maps.Clone(w.data), w.number
	for range n {
		db := rapid.IntRange(0, 1).Draw(w.t, "db")
		if db != selected {
			selected = db
			lines = append(lines, "SELECT "+strconv.Itoa(db))
		}
		key := fmt.Sprintf("%d%s", db, rapid.SampledFrom([]string{"a", "b"}).Draw(w.t, "key"))
		number++
		data[key] = strconv.Itoa(number)
		lines = append(lines, "SET "+key+" "+data[key])
	}
	if n > 1 {
		lines = append(lines, "EXEC")
	}
	content := journalOf(lines...)
	if !whole {
		content = content[:rapid.IntRange(1, len(content)-1).Draw(w.t, "torn")]
	} else {
		for i := range n {
			w.lasting = append(w.lasting, w.number+1+i)
		}
		w.selected, w.data = selected, data
	}
	w.number = number // a torn one's numbers are not used again
	appendTo(w.t, w.last(), content)
}

// restart loads the files, and removes the torn end. (A naive reader of its own: what stands between MULTI and EXEC counts when EXEC does.)
func (w *writer) restart() {
	w.data, w.selected, w.lasting, w.rewriting = make(map[string]string), -1, nil, false
	files := []string{w.path("base", w.base)}
	for _, n := range w.increment {
		files = append(files, w.path("incr", n))
	}
	for i, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			w.t.Fatal(err)
		}
		words := strings.Split(string(content), "\r\n")
		whole, at, multi, block := 0, 0, false, [][]string(nil)
		for read := 0; read < len(words); {
			count, err := strconv.Atoi(strings.TrimPrefix(words[read], "*"))
			if err != nil || read+2*count+1 >= len(words) {
				break
			}
			var entry []string
			for _, line := range words[read : read+2*count+1] {
				at += len(line) + 2
				if line[0] != '*' && line[0] != '$' {
					entry = append(entry, line)
				}
			}
			read += 2*count + 1
			multi = entry[0] == "MULTI" || multi && entry[0] != "EXEC"
			if block = append(block, entry); multi {
				continue
			}
			for _, e := range block {
				if e[0] == "SET" {
					w.data[e[1]] = e[2]
					n, _ := strconv.Atoi(e[2])
					if i > 0 {
						w.lasting = append(w.lasting, n)
					}
				}
			}
			whole, block = at, nil
		}
		if err := os.Truncate(name, int64(whole)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// observer is what a user of a journal.Follower makes of its entries.
type observer struct {
	known bool
	data  map[string]string
	last  int // the number of the last effect; 0 behind a gap
}

func (o *observer) read(w *writer, entries []journal.Entry) {
	for _, e := range entries {
		switch e.Kind {
		case journal.Gap:
			o.known, o.last, o.data = false, 0, make(map[string]string)
			continue
		case journal.Known:
			o.known = true
			continue
		case journal.Effect:
			n, _ := strconv.Atoi(e.Words[2])
			if at := slices.Index(w.lasting, o.last); n <= o.last || o.last > 0 && at >= 0 && w.lasting[at+1] != n {
				w.t.Fatalf("%d after %d; the server wrote %v", n, o.last, w.lasting)
			}
			o.last = n
		case journal.Base:
		}
		if key := e.Words[1]; strconv.Itoa(e.DB) != key[:1] {
			w.t.Fatalf("%q in database %d", e.Words, e.DB)
		}
		o.data[e.Words[1]] = e.Words[2]
	}
	if o.known && !maps.Equal(o.data, w.data) {
		w.t.Fatalf("the observer believes %v, the server has %v", o.data, w.data)
	}
}

// TestWhateverServersDo: what an observer knows is true, and no effect is told twice, or left out without a gap.
func TestWhateverServersDo(t *testing.T) {
	known := 0
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "journal")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		w := &writer{t: t, dir: dir, data: make(map[string]string), base: 1, increment: []int{1}, selected: -1}
		write(t, w.path("base", 1), "")
		write(t, w.path("incr", 1), "")
		w.save()
		f, o := journal.Follow(dir), &observer{data: make(map[string]string)}
		defer func() { _ = f.Close() }()
		gaps := false // the observer may know nothing
		actions := map[string]func(*rapid.T){
			"write": func(*rapid.T) { w.block(true) },
			"killed": func(t *rapid.T) {
				w.block(false)
				if rapid.Bool().Draw(t, "read") {
					o.read(w, rest(t, f))
				}
				w.restart()
			},
			"rewrite begins": func(t *rapid.T) {
				if w.rewriting {
					t.Skip()
				}
				w.snapshot, w.rewriting, w.selected = w.dump(), true, -1
				w.increment = append(w.increment, w.increment[len(w.increment)-1]+1)
				write(t, w.last(), "")
				w.save()
			},
			"rewrite ends": func(t *rapid.T) {
				if !w.rewriting {
					t.Skip()
				}
				w.renew(w.snapshot)
			},
			"copy": func(t *rapid.T) {
				w.number++
				w.data = map[string]string{"0a": strconv.Itoa(w.number)}
				w.increment = append(w.increment, w.increment[len(w.increment)-1]+1)
				w.selected, w.lasting = -1, nil
				write(t, w.last(), "")
				w.renew(w.dump())
			},
			"power cut": func(t *rapid.T) {
				info, err := os.Stat(w.last())
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate(w.last(), rapid.Int64Range(0, info.Size()).Draw(t, "left")); err != nil {
					t.Fatal(err)
				}
				w.restart()
				if gaps = rapid.Bool().Draw(t, "not told"); !gaps {
					f.Restarted()
				}
				for range rapid.IntRange(0, 6).Draw(t, "blocks before a look") {
					w.block(true)
				}
				for again, _ := os.Stat(w.last()); again.Size() == info.Size(); again, _ = os.Stat(w.last()) {
					w.block(true) // a file of just the size of before is not looked at
				}
			},
			"": func(t *rapid.T) {
				o.read(w, rest(t, f))
				if o.known {
					known++
				} else if !gaps {
					t.Fatal("the observer knows nothing")
				}
			},
		}
		t.Repeat(actions)
	})
	if known < 500 {
		t.Errorf("the observer knew only %d times", known)
	}
}

// renew has a new base and the last increment in the manifest.
func (w *writer) renew(base string) {
	old := append([]string{w.path("base", w.base)}, "")[:1]
	for _, n := range w.increment[:len(w.increment)-1] {
		old = append(old, w.path("incr", n))
	}
	w.base++
	w.increment = w.increment[len(w.increment)-1:]
	w.rewriting = false
	write(w.t, w.path("base", w.base), base)
	w.save()
	for _, name := range old {
		if err := os.Remove(name); err != nil {
			w.t.Fatal(err)
		}
	}
}
