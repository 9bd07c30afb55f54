package checker

import (
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// known takes back a verdict that rests on promises or keys of which something is not
// known. Of promises even a violation may be wrong then. Of keys a
// violation was seen in what is known, and stays. For ordered-tokens, keys only say of more
// grants that they are later: what was compared without them stands.
func (j *judge) known(f Finding) Finding {
	if j.UnknownPromise >= 0 && f.Property.row().promised {
		return Finding{Property: f.Property, Effort: f.Effort, Method: f.Method,
			Verdict: Unknown, Events: []int{j.UnknownPromise}, Why: j.WhyUnknownPromise}
	}
	if j.FirstUnclear < 0 || f.Verdict == Violated || !f.Property.row().keyed || f.Property == OrderedTokens && f.Verdict == Holds {
		return f
	}
	e := j.Event(j.FirstUnclear)
	f.Verdict, f.Events = Unknown, []int{j.FirstUnclear}
	f.Why = fmt.Sprintf("it is not known what %s left in the key on node %s at %s", e.Value.Detail(), e.Process, words.Instant(e.Time))
	return f
}
