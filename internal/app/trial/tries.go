package trial

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/runs"
	"github.com/redlock-sim/redlock-sim/internal/app/verdict"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/report"
)

// DefaultTries is how often a variant may be run. On a real machine a schedule may
// not come off because something else took its time; in virtual time nothing can
// come between, and a violation that does not show is a finding.
func DefaultTries(world string) int {
	if world == request.Virtual {
		return 1
	}
	return 3
}

// trySeed is the seed of a try, counted from 1. Those after the first are far from
// the seeds that a repeated run counts through.
func trySeed(seed uint64, try int) uint64 {
	if try == 1 {
		return seed
	}
	return uint64(rand.New(rand.NewPCG(seed, uint64(try))).Uint32())
}

// attempt is what came of one try.
type attempt struct {
	report.Variant
	seed uint64
}

// asideTry is a try that is not shown. It has a page of its own.
type asideTry struct {
	attempt
	dir string
}

// variant runs and judges one variant: again with another seed while a violation
// that it expects has not shown, and all that it expects to hold does.
func (t *trial) variant(ctx context.Context, v subject) report.Variant {
	if v.notApplicable != "" {
		t.progress(v.Name, "not applicable")
		return report.Variant{Name: v.Name, Settings: v.Settings, Lock: t.lock(&v), NotApplicable: v.notApplicable}
	}
	began := t.Now()
	dir := filepath.Join(t.dir, v.Name)
	var tries []attempt
	var err error
	for n := 1; ; n++ {
		tries = append(tries, t.once(ctx, v, n))
		if tries[n-1].NotApplicable != "" { // the lock program refuses it
			t.progress(v.Name, "not applicable")
			return tries[n-1].Variant
		}
		if n == t.Tries || !worthAnother(tries) {
			break
		}
		if ctx.Err() != nil {
			tries[n-1].Interrupted = true
			break
		}
		if err = move(dir, tryDir(dir, n)); err != nil {
			break
		}
	}
	out := combine(tries, t.Tries)
	err = errors.Join(err, t.arrange(dir, &out, tries))
	if err != nil {
		out.Error, out.Met = strings.TrimPrefix(out.Error+"; "+err.Error(), "; "), false
	}
	for i := range out.Tries {
		out.Tries[i].Replay = t.replay(out.Tries[i].Seed)
	}
	out.WallMS = t.Now().Sub(began).Milliseconds()
	t.progress(v.Name, "done")
	return out
}

// worthAnother reports that a violation which is expected has not shown, and that
// nothing has come out that another try could not mend.
func worthAnother(tries []attempt) bool {
	last := &tries[len(tries)-1]
	if last.Error != "" || last.Unknown != "" || last.Interrupted || last.StoppedAfter != "" {
		return false
	}
	missing := false
	for _, p := range combine(tries, 0).Properties {
		if p.Met {
			continue
		}
		if p.Expected == checker.Violated {
			missing = true
		} else if p.Verdict != checker.Unknown {
			return false
		}
	}
	return missing
}

// combine makes one result of all tries. What holds must hold in every try, what
// is violated is so in one.
func combine(tries []attempt, allowed int) report.Variant {
	shown := bestOf(tries)
	out := tries[shown].Variant
	if len(tries) == 1 {
		return out
	}
	last := &tries[len(tries)-1]
	out.Error, out.Interrupted, out.Unknown = last.Error, last.Interrupted, last.Unknown
	out.Shown, out.Tries = shown+1, nil
	for i := range tries {
		out.Tries = append(out.Tries, tryOf(tries, i, shown))
	}
	out.Properties = slices.Clone(out.Properties)
	for i := range out.Properties {
		p := &out.Properties[i]
		in, times := decisive(tries, p.Name)
		if tries[shown].Properties[i].Verdict == tries[in].Property(p.Name).Verdict {
			in = shown
		}
		*p = *tries[in].Property(p.Name)
		if p.Expected == checker.Violated { // it might have shown in any of them
			p.TooSlow = slices.ContainsFunc(tries, func(a attempt) bool { q := a.Property(p.Name); return q != nil && q.TooSlow }) && !p.Met
		}
		if p.TooSlow {
			out.Pace = slowest(tries)
		}
		p.Tried = &report.Tried{In: in + 1, Times: times, Made: len(tries), Allowed: allowed}
		if in != shown { // they point into another history
			p.Events, p.Counterexample = nil, nil
		}
	}
	if last.Unknown != "" {
		out.Pace = last.Pace
	}
	verdict.Settle(&out)
	return out
}

// slowest is the pace of the try in which timers fired latest.
func slowest(tries []attempt) (p *report.Pace) {
	for i := range tries {
		if own := tries[i].Pace; p == nil || own != nil && own.Late > p.Late {
			p = own
		}
	}
	return p
}

// decisive is the first try with the verdict that counts for a property, and how many
// tries have it.
func decisive(tries []attempt, name checker.Property) (in, times int) {
	rank := map[checker.Verdict]int{checker.Holds: 1, checker.Unknown: 2, checker.Violated: 3}
	highest := 0
	for i := range tries {
		p := tries[i].Property(name)
		if p == nil {
			continue
		}
		if r := rank[p.Verdict]; r > highest {
			in, times, highest = i, 1, r
		} else if r == highest {
			times++
		}
	}
	return in, times
}

// bestOf is the try that shows most of what counts, the later of equals. One that
// contradicts an expectation comes before all others.
func bestOf(tries []attempt) int {
	best, most := 0, -1
	for i := range tries {
		score := 0
		for _, p := range tries[i].Properties {
			in, _ := decisive(tries, p.Name)
			if p.Verdict != tries[in].Property(p.Name).Verdict {
				continue
			}
			score++
			if !p.Met && p.Expected != checker.Violated && p.Verdict != checker.Unknown {
				score += len(tries[i].Properties)
			}
		}
		if score >= most {
			best, most = i, score
		}
	}
	return best
}

func tryOf(tries []attempt, i, shown int) report.Try {
	a := &tries[i]
	one := report.Try{Seed: a.seed, Folder: tryFolder(a.Name, i+1, shown+1),
		Interrupted: a.Interrupted, TimedOut: a.TimedOut, Error: a.Error, Unknown: a.Unknown, WallMS: a.WallMS, Pace: a.Pace}
	for _, p := range a.Properties {
		if one.Verdicts == nil {
			one.Verdicts = make(map[checker.Property]checker.Verdict)
		}
		one.Verdicts[p.Name] = p.Verdict
	}
	return one
}

// The files of the try that is shown are in the variant's folder, those of the
// others in folders below it.
func tryFolder(variant string, try, shown int) string {
	if try == shown {
		return variant
	}
	return path.Join(variant, fmt.Sprintf("%s%d", tryPrefix, try))
}

const tryPrefix = "try-"

func tryDir(dir string, try int) string {
	return filepath.Join(dir, fmt.Sprintf("%s%d", tryPrefix, try))
}

// arrange puts the files of the try that is shown where a reader looks first. They
// are those of the last try by now.
func (t *trial) arrange(dir string, out *report.Variant, tries []attempt) error {
	if len(tries) == 1 {
		return nil
	}
	if out.Shown != len(tries) {
		if err := errors.Join(move(dir, tryDir(dir, len(tries))), move(tryDir(dir, out.Shown), dir)); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range tries {
		if i+1 != out.Shown {
			t.aside = append(t.aside, asideTry{tries[i], tryDir(dir, i+1)})
		}
	}
	return nil
}

// move moves the files of a try from one folder to another, and takes the folder
// away if nothing is left in it.
func move(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tryPrefix) {
			continue
		}
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	_ = os.Remove(from) // fails where other tries are in it
	return nil
}

// storeAside writes a page for each try that is not shown.
func (t *trial) storeAside(r *report.Result) error {
	var errs []error
	for i := range t.aside {
		a := &t.aside[i]
		one := *r
		one.Seed, one.Replay, one.WallMS = a.seed, t.replay(a.seed), a.WallMS
		one.Variants = []report.Variant{beside(a.Variant)}
		verdict.SumUp(&one)
		errs = append(errs, writePage(filepath.Join(a.dir, runs.Report), &one))
	}
	return errors.Join(errs...)
}

// beside is a variant on a page that lies beside the logs of its clients.
func beside(v report.Variant) report.Variant {
	if v.Lock != nil {
		l := *v.Lock
		l.Logs = slices.Clone(l.Logs)
		for i := range l.Logs {
			l.Logs[i] = path.Base(l.Logs[i])
		}
		v.Lock = &l
	}
	return v
}
