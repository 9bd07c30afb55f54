//go:build linux && amd64

package guests

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/monitor"
	"github.com/redlock-sim/redlock-sim/internal/supervisor"
)

// accused are the libraries that delete their key on one node without a comparison: if it has run out, it may be another's.
var accused = map[string]keystory.Kind{"redis-lock": keystory.NotCompared, "shedlock": keystory.NotCompared}

// A lock that is used correctly is accused of nothing but what it does, however long somebody looks at its server: 10 minutes, or
// REDLOCK_SIM_LOOK=24h, in virtual time.
func TestLookAtLibraries(t *testing.T) {
	length := 10 * time.Minute
	if text := os.Getenv("REDLOCK_SIM_LOOK"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	inEach(t, func(p *play) {
		d := &day{play: p, random: rand.New(rand.NewPCG(1, 2)), node: p.nodes[0]}
		d.look()
		for i := range 3 {
			w := &worker{actor: p.start(fmt.Sprintf("c%d", i+1), dayTTL, p.nodes[0]), due: p.b.Now() + d.upTo(time.Minute)}
			d.workers = append(d.workers, w)
		}
		d.key = strings.ReplaceAll(fmt.Sprint(d.workers[0].ready["keys"].([]any)[0]), "{key}", "the lock")
		for end := p.b.Now() + length; p.b.Now() < end && p.b.Unknown() == nil; {
			d.step()
		}
		d.judge(length)
	})
}

// dayTTL is the TTL of the locks.
const dayTTL = 30 * time.Second

// day is a long run of one library.
type day struct {
	*play
	random  *rand.Rand
	node    *TestbedServer
	key     string
	workers []*worker
	// shown is what MONITOR shows, story what it tells.
	shown    []byte
	story    *keystory.Story
	sections int
}

// worker does something under the lock, again and again.
type worker struct {
	*actor
	// due is when it goes on; 0: it waits for an answer. holds: it has the lock. grant is the number of its request.
	due   time.Duration
	holds bool
	grant int
}

// look begins to look at the server.
func (d *day) look() {
	d.story = keystory.New(keystory.Options{Keys: program.PatternsFor("", []string{"*the lock*"}),
		Resource: program.PatternsFor("", []string{"work"}), Moments: 100})
	b := d.b
	c := b.sup.NewConn("look", supervisor.Address{IP: [4]byte{127, 0, 0, 3}, Port: 20_000},
		supervisor.Address{IP: d.node.host.IP, Port: d.node.Port})
	if err := c.Connect(); err != nil {
		d.Fatal(err)
	}
	b.asks[c] = &d.shown
	c.Deliver(supervisor.Listener, []byte("MONITOR\r\n"))
	b.settle()
	d.do(d.node, "FLUSHALL") // from here on it is known what is there
}

func (d *day) upTo(most time.Duration) time.Duration {
	return time.Duration(d.random.Int64N(int64(most))).Truncate(time.Millisecond) + time.Millisecond
}

// step lets time pass until somebody has something to do.
func (d *day) step() {
	next := d.b.Now() + time.Minute
	for _, w := range d.workers {
		if w.due > 0 {
			next = min(next, w.due)
		}
	}
	d.b.Until(max(next-d.b.Now(), 0), func() bool {
		return slices.ContainsFunc(d.workers, func(w *worker) bool { return len(w.said) > 0 })
	})
	for _, w := range d.workers {
		switch {
		case len(w.said) > 0:
			d.heard(w)
		case w.due > 0 && w.due <= d.b.Now():
			d.goOn(w)
		}
	}
	d.read()
}

// goOn asks for the lock, or does its work and gives the lock back.
func (d *day) goOn(w *worker) {
	w.due = 0
	if !w.holds {
		w.grant += 2
		w.run.Write(fmt.Appendf(nil, `{"type":"acquire","id":%d,"wait_ms":20000}`+"\n", w.grant))
		return
	}
	kind, owner := fmt.Sprint(d.do(d.node, "TYPE", d.key)), ""
	if kind == "hash" {
		owner = fmt.Sprint(d.do(d.node, "HKEYS", d.key).([]any)[0])
	} else {
		owner = fmt.Sprint(d.do(d.node, "GET", d.key))
	}
	d.do(d.node, "RPUSH", "work", "done by "+owner)
	w.run.Write(fmt.Appendf(nil, `{"type":"release","id":%d,"grant":%d}`+"\n", w.grant+1, w.grant))
}

// heard takes in an answer.
func (d *day) heard(w *worker) {
	m := w.said[0]
	w.said = w.said[1:]
	switch m["type"] {
	case "acquired":
		w.holds, w.due = true, d.b.Now()+d.upTo(5*time.Second)
		if w.can("renews") && d.random.IntN(20) == 0 {
			w.due += 2 * dayTTL
		}
		d.sections++
	case "released", "refused":
		w.holds, w.due = false, d.b.Now()+d.upTo(2*time.Minute)
	default:
		d.Fatalf("the program says %v; stderr: %s", m, &w.errs)
	}
}

// read takes in what MONITOR shows.
func (d *day) read() {
	for {
		text, rest, whole := bytes.Cut(d.shown, []byte("\r\n"))
		if !whole {
			return
		}
		d.shown = rest
		if string(text) == "+OK" {
			continue
		}
		line, err := monitor.Parse(strings.TrimPrefix(string(text), "+"))
		if err != nil {
			d.Fatalf("%q: %v", text, err)
		}
		d.story.SeeLine(line)
	}
}

// judge wants nothing to be found.
func (d *day) judge(length time.Duration) {
	d.story.End()
	var text strings.Builder
	if err := d.story.WriteText(&text, keystory.TextOptions{}); err != nil {
		d.Fatal(err)
	}
	d.Logf("%v, %d sections, %d commands:\n%s", length, d.sections, d.story.Lines, &text)
	for _, k := range d.story.Locks() {
		for kind, n := range k.Counts {
			if kind != accused[d.Name] {
				d.Errorf("%s: %s, %d times", k.Key, kind, n)
			}
		}
		if t := &k.Totals; k.Key == d.key && (t.Holds != d.sections || t.Released+t.Removed+t.RanOut < d.sections-1 || t.Unknown > 0) {
			d.Errorf("%s: %+v of %d grants", k.Key, *t, d.sections)
		}
	}
	if kind := accused[d.Name]; kind != "" && d.sections > 0 {
		if findings, _ := d.story.Tally(); findings == 0 {
			d.Errorf("%s was not found", kind)
		}
	}
}
