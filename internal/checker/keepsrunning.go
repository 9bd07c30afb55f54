package checker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// judgeKeepsRunning: a lock program does not end by itself.
func judgeKeepsRunning(_ context.Context, j *judge, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "clients with a lock program"}, Method: "search for ends"}
	if h := &j.History.Header; h.Program == "" && h.Quorum <= 0 {
		return unknown("the lock is no program", f.Effort)
	}
	began := func(end int) bool { return j.faultBefore(end) != nil || len(j.Grants) > 0 && j.Grants[0].Return < end }
	if began(len(j.History.Events)) {
		f.Effort.Chances = len(j.Attempts)
	}
	for _, end := range j.ProgramEnds {
		if began(end) {
			return j.programEndFinding(f, end)
		}
	}
	if len(j.ProgramEnds) > 0 {
		return unknown("a lock program ended before the first grant, and before any fault", f.Effort)
	}
	return f.noViolation("nobody asked for the lock, or was granted it, and no fault struck",
		"%d %s, and none ended by itself", f.Effort.Chances, f.Effort.What())
}

// faultBefore is the last fault that began before an event; nil: there was none.
func (j *judge) faultBefore(event int) (last *facts.Fault) {
	for i := range j.Faults {
		if f := &j.Faults[i]; f.Begin < event {
			last = f
		}
	}
	return last
}

func (j *judge) programEndFinding(f Finding, end int) Finding {
	client, at := j.Event(end).Process, j.At(end)
	ended := j.programEndWords(end)
	f.Verdict, f.Why = Violated, fmt.Sprintf("%s at %s", ended, words.Instant(at))
	began := time.Duration(0)
	if last := j.faultBefore(end); last != nil {
		began = j.At(last.Begin)
		f.Why += fmt.Sprintf(", after %s at %s", j.faultWords(last), words.Instant(began))
	}
	said := lastWords(j.Event(end).Error.String())
	if said != "" {
		f.Why += ": " + said
	}
	if j.brief {
		return violatedBriefly(f)
	}
	op := CounterOp{Client: client, Op: "ends", Events: []int{end}, From: at, To: at, True: ended}
	s := j.newStory()
	for i := range j.Grants {
		if g := &j.Grants[i]; g.Client == client && g.Return < end && g.EndOr(end) >= end {
			s.tellGrant(g, at)
			op.Believed = "it " + j.holds()
		}
	}
	for i := range j.Ops {
		if o := &j.Ops[i]; o.Process == client && o.Call < end && (o.Return < 0 || o.Return > end) {
			s.tell(setting, o.Call, "%s waited for the answer to %q", client, o.F)
			op.Events = append(op.Events, o.Call)
			op.From = min(op.From, j.At(o.Call))
		}
	}
	s.decidedBy(end)
	s.tellFaults(began, at, client)
	if said != "" {
		ended += ": " + said
	}
	s.tell(decisive, end, "%s", ended)
	slices.Sort(op.Events)
	c := &Counterexample{Operations: []CounterOp{op}, From: len(j.Ops), Impossible: end, Assumption: string(goesOnRunning)}
	c.setStory(s)
	return f.withCounterexample(c)
}

// programEndWords tell of the end of a lock program.
func (j *judge) programEndWords(end int) string {
	e := j.Event(end)
	if j.History.Clocks != nil {
		return fmt.Sprintf("nothing more is known of %s: %s", e.Process, e.Value.Detail())
	}
	if how := e.Value.Detail(); how != "" {
		return fmt.Sprintf("the lock program of %s ended by itself (%s)", e.Process, how)
	}
	return fmt.Sprintf("the lock program of %s ended by itself", e.Process)
}

// Bounds of what is told of a program's last words.
const mostLines, mostBytes = 4, 300

// lastWords are the last lines of what a program printed that are no frames of a stack.
func lastWords(printed string) string {
	lines := slices.DeleteFunc(strings.Split(printed, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" || l[0] == ' ' })
	text := strings.Join(lines[max(0, len(lines)-mostLines):], " / ")
	return strings.ToValidUTF8(text[max(0, len(text)-mostBytes):], "")
}
