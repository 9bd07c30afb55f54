package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/report/picture"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
)

// moments tells the events of a history in words.
type moments struct {
	h      *history.History
	owners map[string]string
}

// momentsOf reads a history for that.
func momentsOf(h *history.History) *moments { return &moments{h, picture.OwnersOf(h)} }

// words tell an event. If a fault begins at the same instant, and the event comes of that, they name the fault.
func (m *moments) words(i int) string {
	e := &m.h.Events[i]
	text := m.event(e)
	if e.F == history.FaultBegin {
		return text
	}
	for _, f := range m.h.Events[i+1:] {
		if f.Time != e.Time {
			break
		}
		if f.F == history.FaultBegin && f.Value.Target() == e.Process && e.F != history.Point && !e.IsOp() {
			return text + " (" + faultWords(&f) + ")"
		}
	}
	return text
}

func (m *moments) event(e *history.Event) string {
	v := &e.Value
	switch e.F {
	case history.FaultBegin:
		if !m.lasts(e) {
			return faultWords(e) + " strikes"
		}
		return faultWords(e) + " begins"
	case history.FaultEnd:
		return faultWords(e) + " ends"
	case history.FaultFailed:
		return faultWords(e) + " does not take effect"
	case history.KeySet, history.KeyExtended, history.KeyDeleted, history.KeyExpired:
		who := cmp.Or(v.Client, m.owners[v.Owner])
		key := "the key on " + e.Process
		if who != "" {
			key = who + "'s key on " + e.Process
		}
		return key + map[history.F]string{history.KeySet: " is set", history.KeyExtended: " is extended",
			history.KeyDeleted: " is deleted", history.KeyExpired: " expires"}[e.F]
	case history.KeyUnclear:
		return "what " + e.Process + " has as the key is not known"
	case history.Effect:
		if v.Accepted().Set && !v.Accepted().V {
			return fmt.Sprintf("the resource refuses the %s of %s", v.Op(), v.Client)
		}
		return fmt.Sprintf("the resource carries out the %s of %s", v.Op(), v.Client)
	case history.Point:
		return fmt.Sprintf("%s is at %s", e.Process, v.Point())
	case history.NodeDown:
		return e.Process + " goes down"
	case history.NodeUp:
		return e.Process + " is up again"
	case history.NodePromoted:
		return e.Process + " becomes the primary"
	case history.NodeDemoted:
		return e.Process + " becomes a replica"
	case history.Lost:
		return e.Process + " is told that it has lost the lock"
	case history.ProgramEnded:
		return "the lock program of " + e.Process + " ends"
	case history.Sent:
		return fmt.Sprintf("%s to %s is answered", v.Command().Name, v.Command().Node)
	case history.Phase:
		return map[string]string{history.PhaseSafety: "the run begins", history.PhaseHealing: "all faults are lifted",
			history.PhaseDone: "the run ends"}[v.Detail()]
	}
	if e.IsOp() {
		return operationWords(e)
	}
	return strings.TrimSpace(fmt.Sprintf("%s tells %s %s", e.Process, v.Detail(), v.Target()))
}

// lasts reports that a fault has an end, or was to have one.
func (m *moments) lasts(e *history.Event) bool {
	return e.Value.Planned().IsSet() || slices.ContainsFunc(m.h.Events[e.Index:], func(later history.Event) bool {
		return later.F == history.FaultEnd && later.Value.ID() == e.Value.ID()
	})
}

// faultWords name a fault: "the pause of c1".
func faultWords(e *history.Event) string {
	text := "the " + cmp.Or(faultNouns[e.Value.Fault()], e.Value.Fault())
	if target := e.Value.Target(); target != "" {
		text += " of " + plain.Clip(target, 40)
	}
	return text
}

// faultNouns name the kinds of faults whose own name is no noun.
var faultNouns = map[string]string{"clock": "clock change", "evict": "eviction", "fill": "filling", "flush": "flushing",
	"promote": "promotion", "move-slot": "move of the slot", "refuse": "refusal", "limit-data": "limit of data", "slow-close": "slow close",
	"hold-message": "held message", "lose-answer": "lost answer"}

// operationWords tell an event of an operation.
func operationWords(e *history.Event) string {
	who, what := e.Process, string(e.F)
	if e.F == history.Acquire {
		switch e.Type {
		case history.Invoke:
			return who + " asks for the lock"
		case history.OK:
			return who + " is granted the lock"
		case history.Fail:
			return who + " does not get the lock"
		case history.Info:
			return who + " does not know whether it got the lock"
		}
	}
	switch e.Type {
	case history.Invoke:
		return who + " begins to " + verbs[e.F]
	case history.OK:
		return fmt.Sprintf("%s's %s is answered", who, what)
	case history.Fail:
		return fmt.Sprintf("%s's %s fails", who, what)
	}
	return fmt.Sprintf("%s's %s ends with an unknown outcome", who, what)
}

var verbs = map[history.F]string{history.Extend: "extend the lock", history.Release: "release the lock", history.Forget: "forget the lock",
	history.Read: "read", history.Write: "write", history.CAS: "compare and set", history.Transact: "append to two lists",
	history.Snapshot: "look at two lists"}
