package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// Other ways to test a lock that users have: each runs a lock program in real time, and gets the processor time of conform and audit.
const (
	byTimer = "nemesis"
	byLoop  = "stress"
)

var otherWays = []string{byTimer, byLoop, byRapid, byLocktest}

// together is how many of their runs go on at once: they mostly wait.
const together = 4

// enoughTime is after how much real time they stop, whatever processor time is left.
const enoughTime = 4 * time.Minute

// judged is what such a test looks at: two that hold the lock at once, an update that is lost, a lock that nobody gets any more.
var judged = []checker.Property{checker.ExclusiveBelief, checker.LinearizableResource, checker.DeadlockFree}

// Loop is what came of running a lock again and again.
type Loop struct {
	// Runs is how many runs there were, and Violated in how many of them a property was violated, or a test failed with these words.
	Runs     int            `json:"runs"`
	Violated map[string]int `json:"violated"`
	// Seconds is the processor time of all of it.
	Seconds float64 `json:"seconds"`
}

// again does something until it has taken so much processor time.
func (t *trial) again(seconds float64, once func(l *Loop, turn int) error) (*Loop, error) {
	l := &Loop{Violated: make(map[string]int)}
	from, begun := t.worked, time.Now()
	for turn := 0; (t.worked-from).Seconds() < seconds && time.Since(begun) < enoughTime; turn++ {
		if err := once(l, turn); err != nil {
			return nil, err
		}
	}
	l.Seconds = tenths(t.worked - from)
	return l, nil
}

// beside runs the lock program in another way, until it has taken so much processor time.
func (t *trial) beside(ctx context.Context, root, way string, seconds float64) (*Loop, error) {
	file := filepath.Join(root, "tools", "recall", "beside", way+".yaml")
	return t.again(seconds, func(l *Loop, turn int) error {
		out, said, err := t.run(ctx, "run", file, "--world", "live", "--json", "--seed", strconv.Itoa(1+turn*together),
			"--repeat", strconv.Itoa(together), "-j", strconv.Itoa(together), "--out", t.work, "--lock", t.command)
		if err != nil {
			return err
		}
		if err := l.add(out); err != nil {
			return fmt.Errorf("%s: %w: %s", way, err, said)
		}
		return nil
	})
}

// add counts the results of some runs.
func (l *Loop) add(out []byte) error {
	d := json.NewDecoder(bytes.NewReader(out))
	before := l.Runs
	for {
		var r report.Result
		err := d.Decode(&r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for i := range r.Variants {
			if v := &r.Variants[i]; len(v.Properties) > 0 {
				l.count(v)
			}
		}
	}
	if l.Runs == before {
		return errors.New("it could not be run")
	}
	return nil
}

func (l *Loop) count(v *report.Variant) {
	l.Runs++
	for i := range v.Properties {
		if p := &v.Properties[i]; p.Verdict == checker.Violated && slices.Contains(judged, p.Name) {
			l.Violated[string(p.Name)]++
		}
	}
}

// apart is what goes wrong in the broken version alone.
func apart(broken, mended *Loop) (list []string) {
	for _, what := range slices.Sorted(maps.Keys(broken.Violated)) {
		if mended.Violated[what] == 0 {
			list = append(list, what)
		}
	}
	return list
}
