package checker

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// What a lock relied on that told of a grant which rests on too few keys.
const (
	deletedKeeps   cause = "that a key which its own client deletes again keeps others out"
	fewAreEnough   cause = "that fewer nodes than a quorum are enough for a grant"
	oldKeyStands   cause = "that a key which a client set for an earlier grant stands for the next one, too"
	failedIsDone   cause = "that a command which failed has set the key all the same"
	grantedUnasked cause = "that a client which was told that it has the lock has its key on the nodes"
)

// judgeBacked: before a client is told that it has the lock, its own commands have set its keys on enough nodes.
func judgeBacked(_ context.Context, j *judge, _ Options) Finding {
	f := Finding{Effort: Effort{Operations: len(j.Ops), Of: "grants"}, Method: "replay of the nodes' keys"}
	if j.SeveralLocks() {
		return unknown("the history is about several locks", f.Effort)
	}
	if !j.SawOnKeys(history.KeySet) {
		return unknown("the lock keeps no key on the nodes", f.Effort)
	}
	b := j.NewBacking()
	for i := range j.Grants {
		g := &j.Grants[i]
		if g.Outer >= 0 {
			continue
		}
		nodes, back := b.NodesBehind(g)
		if back >= b.Enough {
			f.Effort.Chances++
		} else if back+b.CountMaybeBehind(g, nodes) < b.Enough {
			f.Effort.Chances++
			return j.unbackedFinding(f, b, g, nodes, back)
		}
	}
	return f.noViolation("of no grant it is known what it rests on", "%d %s, %swith its keys on enough nodes",
		f.Effort.Chances, f.Effort.What(), eachIfSeveral(f.Effort.Chances))
}

// unbackedFinding is the finding that a client was told of a grant that rests on too few nodes.
func (j *judge) unbackedFinding(f Finding, b *facts.Backing, g *facts.Grant, nodes map[string]facts.Certainty, back int) Finding {
	if j.brief {
		return violatedBriefly(f)
	}
	f.Verdict = Violated
	where := fmt.Sprintf("keys of this grant were on %d of the %s that it takes", back, j.countNodes(b.Enough))
	f.Why = fmt.Sprintf("%s was told that it had the lock, and %s", g.Client, where)
	s := j.newStory()
	s.tellGrant(g, j.At(g.Return))
	s.tell(setting, g.Call, "%s asked for the lock", g.Client)
	s.tellFaults(j.At(g.Call), j.At(g.Return), g.Client)
	changed := b.KeyChanges(g)
	old, own := false, false
	var none []string
	for _, node := range b.Keys.NodeNames() {
		if nodes[node] == facts.Yes || slices.ContainsFunc(j.Beside(node), func(n string) bool { return nodes[n] == facts.Yes }) {
			continue
		}
		deleted, stood := j.tellNode(s, b, g, node, changed)
		own, old = own || deleted, old || stood == g.Client
		if !deleted {
			none = append(none, node)
		}
	}
	if len(none) > 0 {
		s.tell(turning, g.Return, "%s had set no key %s since it asked", g.Client, onNodes(none))
	}
	why := grantedUnasked
	switch {
	case own:
		why = deletedKeeps
	case back > 0:
		why = fewAreEnough
	case old:
		why = oldKeyStands
	case j.struckWhileAsking(g):
		why = failedIsDone
	}
	s.tellEnd(g, "")
	s.decidedBy(g.Return)
	c := &Counterexample{From: f.Effort.Chances, Impossible: g.Return, Assumption: string(why),
		Operations: []CounterOp{{Client: g.Client, Op: "is granted the lock", Events: sortedEvents(append(changed, g.Call, g.Return)...),
			From: j.At(g.Call), To: j.At(g.Return), Believed: j.promiseWords(g), True: where}}}
	c.setStory(s)
	return f.withCounterexample(c)
}

// tellNode tells what became of a grant's keys on a node that does not back it. It reports whether its client deleted
// them itself, and whose key stood there instead; empty: nobody's, or it is not known.
func (j *judge) tellNode(s *story, b *facts.Backing, g *facts.Grant, node string, changed []int) (deleted bool, stood string) {
	for _, i := range changed {
		e := j.Event(i)
		if e.Process != node || b.ChangedOwn(i) != facts.Yes {
			continue
		}
		did := "set"
		switch e.F {
		case history.KeyDeleted:
			did, deleted = "deleted", deleted || i < g.Return
		case history.KeyExtended:
			did = "renewed"
		}
		s.tell(turning, i, "%s %s its key on node %s", g.Client, did, node)
	}
	if set := j.KeySetBefore(node, g.Return); set >= 0 && !deleted {
		owner, by := j.OwnerAfter(set)
		s.tell(setting, by, "%s set the key on node %s", cmp.Or(owner, "somebody"), node)
		return false, owner
	}
	return deleted, ""
}

// struckWhileAsking reports that a fault struck what the client of a grant sent to the nodes, or a node, while it asked for the lock.
func (j *judge) struckWhileAsking(g *facts.Grant) bool {
	for i := range j.Faults {
		f := &j.Faults[i]
		if f.Begin > g.Return || f.End >= 0 && f.End < g.Call {
			continue
		}
		strikes := func(s history.Strike) bool {
			its := slices.ContainsFunc(s.Links, func(l history.Link) bool { return l.From == g.Client })
			return its || len(s.Nodes) > 0 && s.Does != history.BendsClock
		}
		if slices.ContainsFunc(f.Strikes, strikes) {
			return true
		}
	}
	return false
}
