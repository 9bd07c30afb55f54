package observed_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/monitor"
	"github.com/redlock-sim/redlock-sim/internal/report/observed"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest"
	"github.com/redlock-sim/redlock-sim/internal/report/reporttest/tab"
)

func TestMain(m *testing.M) { os.Exit(tab.Tests(m).Run()) }

// hostile is a value that must not become markup.
const hostile = `<img src=x onerror=alert(1)>"'`

// deleted is the story of a lock whose holder another client deletes.
var deleted = []string{
	`1795856081.100000 [0 10.0.0.7:1] "DEL" "lock:a"`,
	`1795856081.200000 [0 10.0.0.7:1] "SET" "lock:a" "worker-7/1" "NX" "PX" "3000"`,
	`1795856084.500000 [0 10.0.0.8:1] "SET" "lock:a" "worker-8/1" "NX" "PX" "3000"`,
	`1795856084.900000 [0 10.0.0.7:1] "DEL" "lock:a"`,
	`1795856085.000000 [0 10.0.0.9:1] "SET" "lock:a" "worker-9/1" "NX" "PX" "3000"`,
	`1795856085.400000 [0 10.0.0.8:1] "SET" "order:17" "paid by worker-8/1"`,
	`1795856085.500000 [0 10.0.0.8:1] "DEL" "lock:b"`,
	`1795856085.600000 [0 10.0.0.8:1] "SET" "lock:b" "b/1" "NX" "PX" "3000"`,
}

// story is what lines of MONITOR tell.
func story(t *testing.T, lines ...string) *keystory.Report {
	t.Helper()
	s := keystory.New(keystory.Options{Keys: program.PatternsFor("", []string{"lock:*"}),
		Resource: program.PatternsFor("", []string{"order:*"}), Moments: 100})
	for _, text := range lines {
		line, err := monitor.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s.SeeLine(line)
	}
	s.End()
	return s.Report("monitor.log", []string{"a note " + hostile})
}

func pageOf(t *testing.T, r *keystory.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := observed.WriteHTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// hostileStory has many owners of one lock, with values that are no texts.
func hostileStory(t *testing.T) *keystory.Report {
	t.Helper()
	var lines []string
	for i := range 40 {
		value := strings.ReplaceAll(hostile, `"`, `\"`) + strings.Repeat("x", i)
		lines = append(lines, fmt.Sprintf(`1795856%03d.100000 [0 10.0.0.7:1] "DEL" "lock:%s"`, 100+i, strings.Repeat("long", 40)),
			fmt.Sprintf(`1795856%03d.200000 [0 10.0.0.%d:1] "SET" "lock:%s" "%s" "NX" "PX" "3000"`, 100+i, i+8, strings.Repeat("long", 40), value))
	}
	return story(t, lines...)
}

func stories(t *testing.T) map[string]*keystory.Report {
	t.Helper()
	return map[string]*keystory.Report{"found": story(t, deleted...), "nothing": story(t, deleted[6:]...), "nobody": story(t),
		"hostile": hostileStory(t)}
}

func TestGolden(t *testing.T) {
	reporttest.SameAs(t, "deleted.html", pageOf(t, story(t, deleted...)))
}

// The page says first what was found, and draws who had the lock.
func TestPageDrawsWhoHadTheLock(t *testing.T) {
	got := string(pageOf(t, story(t, deleted...)))
	for _, want := range []string{"FOUND: 2 findings, 3 questions: 2 of 2 locks", `>2, 3</text>`, `>4</text>`,
		"<title>&#34;worker-8/1&#34;: removed by a command that does not name it</title>"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if n := strings.Count(got, `<rect class="held"`); n != 4 {
		t.Errorf("%d holds are drawn, want 4", n)
	}
}

// All of a page can be read on any screen and by a screen reader, and nothing of what a server holds is markup.
func TestPagesAreSound(t *testing.T) {
	b := tab.New(t)
	for name, r := range stories(t) {
		doc := pageOf(t, r)
		reporttest.Sound(t, name, doc)
		b.OpenFile(doc)
		if n := tab.Eval[int](b, `document.querySelectorAll("img, [onerror]").length`); n > 0 {
			t.Errorf("%s: a value became markup", name)
		}
		if name != "hostile" { // no page is made for its words
			b.Readable(name, func() { b.OpenFile(doc) })
		}
		b.Size(390, 900)
		if got := tab.Eval[int64](b, `document.documentElement.scrollWidth`); got > 390 {
			t.Errorf("%s: %d px wide on 390 px", name, got)
		}
		if troubles := b.Troubles(); len(troubles) > 0 {
			t.Errorf("%s: %v", name, troubles)
		}
	}
}
