package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report/picture"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// limits says what this evidence does not show. The list is never empty.
func limits(r *Result) []string {
	if r.Imported {
		return importedLimits(r)
	}
	list := []string{
		"“Holds” means that this run, with these faults, showed no violation. It is no proof. " +
			"The number of chances beside each verdict says how often the property could have failed. “Violated” is always true of the run.",
	}
	if real := r.realInVirtualTime(); real != "" {
		list = append(list, "The run took place in "+real+": they are what they are everywhere, but the network and the clocks are models, and "+
			"what a program or a server computes takes no time. "+
			"Only what repeats is judged: this run was made twice, or others of the program were. "+
			"Replay it in the live world before you base a decision on it.")
	} else if r.World == "virtual" {
		list = append(list, "The run took place in the virtual world: "+
			"nodes, network and clocks are models. Replay it in the live world before you base a decision on it.")
	} else {
		list = append(list, "The keys of the nodes are observed from outside. The stamp of a key's event is the time at which the "+
			"observation arrived, up to some milliseconds after the event. A hatched stretch shorter than that may only be the observer's delay.",
			"The run took place on one machine in real time. A run with the same seed takes the same decisions, but not at the same microsecond. "+
				"A schedule that depends on microseconds may need several runs.")
	}
	for i := range r.Variants {
		list = append(list, variantLimits(&r.Variants[i])...)
	}
	if r.Interrupted {
		list = append(list, "The run was interrupted. What it would have shown later is not known.")
	}
	return append(list, "The times of clients are taken when their requests leave and when their answers arrive, "+
		"so the recorded interval contains the true one. One run is one schedule. To learn how often a violation occurs, make many runs.")
}

// importedLimits are those of the history of another tool.
func importedLimits(r *Result) []string {
	list := []string{
		"“Holds” means that an order of the operations explains this history. " +
			"It is no proof that the system always behaves so. “Violated” is always true of the history.",
		"The file is taken at its word: an operation takes effect at some instant between its call and its answer; " +
			"one whose outcome is unknown may take effect at any time after its call, or never.",
	}
	for i := range r.Variants {
		if h := r.Variants[i].History; h == nil {
			list = append(list, "The file is too large to be shown here.")
		} else if !picture.Timed(h) {
			list = append(list, "The file has no times, so there is no picture. Its lines are in the order in which things happened.")
		}
	}
	return list
}

func variantLimits(v *Variant) []string {
	var list []string
	say := func(format string, args ...any) {
		list = append(list, v.Name+": "+fmt.Sprintf(format, args...))
	}
	var never, unknown []string
	for i := range v.Faults {
		if v.Faults[i].Fired == 0 {
			never = append(never, fmt.Sprintf("%d (%s)", v.Faults[i].ID, v.Faults[i].Fault))
		}
	}
	for _, p := range v.Properties {
		if !decided(p.Verdict) {
			unknown = append(unknown, string(p.Name))
		}
		if p.Verdict == checker.Holds && p.Effort.Chances == 0 {
			say("%s holds, but had no chance to fail.", p.Name)
		}
	}
	if v.TooSlow != "" {
		say("this machine was too slow for the run: %s. So what is not as expected is undecided: it speaks neither for nor against the lock.",
			v.TooSlow)
	} else if v.Unknown != "" {
		say("nothing was judged: %s.", inOneLine(v.Unknown))
	}
	if len(v.Tries) > 1 {
		say("%s. A violation that showed in one of %d tries counts; "+
			"a property that holds did so in all of them. The picture, the faults and the history show one try.",
			v.triesWords(), len(v.Tries))
	}
	if len(never) > 0 {
		say("fault %s never fired, so it tested nothing.", strings.Join(never, ", "))
	}
	if len(unknown) > 0 {
		say("undecided: %s.", strings.Join(unknown, ", "))
	}
	if v.History == nil {
		say("there is no history to draw.")
		return list
	}
	if v.TimedOut {
		say("%s.", v.Limit())
	}
	told, worst := make(map[int]bool), int64(0)
	for i := range v.History.Events {
		e := &v.History.Events[i]
		worst = max(worst, e.Value.AtError())
		if e.F == history.FaultFailed && !told[e.Value.ID()] {
			told[e.Value.ID()] = true
			say("fault %d (%s) was due at %s and did not take effect: %s.",
				e.Value.ID(), e.Value.Fault(), words.Seconds(e.Time), plain.Clip(e.Error.String(), maxValueRunes))
		}
	}
	if worst > 0 {
		say("the resource's clock is known to within %s.", words.Length(time.Duration(worst)))
	}
	if len(v.History.Events) > 0 && !v.History.Done() {
		say("the history ends before the run was done.")
	}
	return list
}
