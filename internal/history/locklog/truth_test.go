package locklog_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history/locklog"
)

// writer is a process of an application; its host's clock is set again and again, but never further from the true time than it may be.
type writer struct {
	host, process int
	lines         []locklog.Line
	off           *int64
	holds         int64
}

func (w *writer) tell(at int64, e locklog.Event) *locklog.Line {
	w.lines = append(w.lines, locklog.Line{LockLog: 1, Host: fmt.Sprint("h", w.host), Process: fmt.Sprint("p", w.process), Lock: "x",
		Line: int64(len(w.lines)), Wall: 1e15 + (at+*w.off)*1000, Mono: at*1000 + int64(w.process)*1e12, Event: e, Hold: w.holds})
	return &w.lines[len(w.lines)-1]
}

// correctUse is what applications write that use a correct lock with a TTL: it is given to whoever asks when it is free, and its end counts
// from an instant between the question and the answer. Its times are ms. Every second holder relies on its validity for as long as it can.
func correctUse(r *rand.Rand, bound int64) []*writer {
	offsets := make([]int64, 3)
	writers := make([]*writer, 5)
	for i := range writers {
		writers[i] = &writer{host: i % 3, process: i, off: &offsets[i%3]}
	}
	set := func() {
		for i := range offsets {
			if r.IntN(2) == 0 {
				offsets[i] = 3 * (r.Int64N(bound+1) - bound/2)
			}
		}
	}
	now := int64(1000)
	for token := range int64(20) {
		set()
		w := writers[r.IntN(len(writers))]
		w.holds++
		ttl := 1 + r.Int64N(500)
		inMicros := ttl * 1000
		w.tell(now, locklog.Asked)
		server := now + r.Int64N(40)
		answer := server + r.Int64N(40)
		l := w.tell(answer, locklog.Granted)
		l.TTL, l.Token = &inMicros, &token
		free := server + ttl // what the server thinks
		last := answer
		if r.IntN(2) == 0 && answer < free { // a renewal in time
			asked := answer + r.Int64N(free-answer)
			renewed := asked + r.Int64N(20)
			took, again := (renewed-asked)*1000, inMicros
			l := w.tell(renewed, locklog.Renewed)
			l.Took, l.TTL = &took, &again
			if asked < free {
				free, last = asked+ttl, renewed
			}
		}
		if r.IntN(2) == 0 && last < free-1 { // a write while it has the lock
			from := last + r.Int64N(free-last)
			to := from + r.Int64N(free-from)
			took := (to - from) * 1000
			w.tell(to, locklog.WriteDone).Took = &took
			last = to
		}
		set()
		if r.IntN(2) == 0 { // it gives the lock back, in time or not
			release := last + r.Int64N(600)
			w.tell(release, locklog.Releasing)
			done := release + r.Int64N(20)
			if release < free {
				free = min(free, done)
				w.tell(done, locklog.Released)
			} else {
				w.tell(done, locklog.ReleasedInVain)
			}
			last = done
		}
		now = max(free, last) + r.Int64N(30) // the next one may get it in this instant
	}
	return writers
}

// TestCorrectUse: whatever the clocks were within their bound, and however often they were set, nothing is violated that was not.
func TestCorrectUse(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		bound := int64(r.IntN(2) * 2 * r.IntN(200)) // in 3 ms
		var log locklog.Log
		var text strings.Builder
		for _, w := range correctUse(r, bound) {
			for i := range w.lines {
				line, err := json.Marshal(&w.lines[i])
				if err != nil {
					t.Fatal(err)
				}
				text.Write(append(line, '\n'))
			}
		}
		if err := log.Read("log", strings.NewReader(text.String())); err != nil {
			t.Fatal(err)
		}
		h, err := log.History(time.Duration(bound) * 3 * time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range checker.Judge(t.Context(), h, checker.SafetyProperties(checker.SubjectOf(h)), checker.Options{}) {
			if f.Verdict == checker.Violated && f.Property != checker.ExclusiveBelief { // no lease can keep it
				t.Fatalf("seed %d, bound %d times 3 ms: %s: %s\n%s", seed, bound, f.Property, f.Why, text.String())
			}
		}
	}
}
