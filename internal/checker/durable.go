package checker

import (
	"context"
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// judgeDurable: what was acknowledged is there in the end, though the resource
// died in between.
func judgeDurable(ctx context.Context, j *judge, _ Options) Finding {
	p := j.pair()
	f := Finding{Method: "comparison of the lists at the end",
		Effort: Effort{Operations: len(j.Ops), Of: "appends acknowledged before the resource died"}}
	if p.final < 0 {
		return unknown(noLastLook, f.Effort)
	}
	a, b := j.listsSeen(p.final)
	first, second := members(a), members(b)
	died := -1
	for i := range j.History.Events {
		if e := j.Event(i); e.F == history.NodeDown && e.Process == history.ResourceProcess {
			died = i
		}
	}
	acknowledged := 0
	var lost []int
	for _, i := range p.appends {
		if ctx.Err() != nil {
			return unknown(cancelled, f.Effort)
		}
		if j.Ops[i].Type != history.OK {
			continue
		}
		acknowledged++
		if j.Ops[i].Return < died {
			f.Effort.Chances++
		}
		if n := j.Number(i).V(); !first[n] || !second[n] {
			lost = append(lost, i)
		}
	}
	if len(lost) > 0 {
		return j.brokenPairFinding(f, fmt.Sprintf("%d of %s lost", len(lost), words.Count(acknowledged, "acknowledged append")),
			"that what is acknowledged is on the disk", lost[0], p.final)
	}
	if f.Effort.Chances == 0 {
		return unknown("the resource did not die after it had acknowledged something", f.Effort)
	}
	f.Verdict, f.Why = Holds, fmt.Sprintf("%s, %sthere at the end, %d from before the resource died",
		words.Count(acknowledged, "acknowledged append"), allIfSeveral(acknowledged), f.Effort.Chances)
	return f
}
