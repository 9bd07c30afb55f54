package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker/facts"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// length says how long something took.
func length(d time.Duration) string { return words.Length(d) }

// eachIfSeveral begins what is said of every one of n things: "2 writes, each in time", but
// "1 write, in time".
func eachIfSeveral(n int) string {
	if n == 1 {
		return ""
	}
	return "each "
}

// allIfSeveral is the same of things taken together: "2 sections, all explained by one order".
func allIfSeveral(n int) string {
	if n == 1 {
		return ""
	}
	return "all "
}

// theLock is what clients ask for: "the lock", or of a semaphore "a permit".
func (j *judge) theLock() string {
	if j.History.Header.Permits > 0 {
		return "a permit"
	}
	return "the lock"
}

// itsLock is what a client has: "its lock", or "its permit".
func (j *judge) itsLock() string {
	if j.History.Header.Permits > 0 {
		return "its permit"
	}
	return "its lock"
}

// holds is what a client does between a grant and its end.
func (j *judge) holds() string { return "holds " + j.theLock() }

// grantWords tell of a grant: "c1 got the lock on 5 of 5 nodes, valid until
// 0.994 s".
func (j *judge) grantWords(g *facts.Grant) string {
	e := j.Event(g.Return)
	var b strings.Builder
	verb := "got " + j.theLock()
	switch {
	case !j.History.Header.Modes:
	case g.Shared:
		verb += " to read"
	default:
		verb += " to write"
	}
	if g.Outer >= 0 {
		verb = "entered the lock once more"
	}
	fmt.Fprintf(&b, "%s %s", g.Client, verb)
	if g.Lock != "" {
		fmt.Fprintf(&b, " %q", g.Lock)
	}
	if nodes := e.Value.Nodes(); len(nodes) == 1 && nodes[0] == history.PrimaryProcess {
		b.WriteString(" on the primary" + j.whichPrimary(g))
	} else if n := len(nodes); n > 0 && j.NodesTotal() > 0 {
		fmt.Fprintf(&b, " on %d of %s", n, j.countNodes(j.NodesTotal()))
	}
	if g.Until.Given {
		fmt.Fprintf(&b, ", valid until %s", words.Instant(g.Until.End))
	}
	if g.Token.IsSet() {
		fmt.Fprintf(&b, ", with token %d", g.Token.V())
	}
	return b.String()
}

// countNodes says how many nodes of the lock: of several clusters, each is one.
func (j *judge) countNodes(n int) string {
	if len(j.History.Header.Clusters) > 0 {
		return words.Count(n, "cluster")
	}
	return words.Count(n, "node")
}

// whichPrimary names the node that a client took for the primary when it was granted the lock, by the key that it set there; empty: that
// was not seen. In real time a node can tell of the key a moment after the client has told of its grant.
func (j *judge) whichPrimary(g *facts.Grant) string {
	sets := func(i int) bool {
		e := j.Event(i)
		return e.F == history.KeySet && e.Value.Client == g.Client && g.Owner != "" && e.Value.Owner == g.Owner
	}
	for i := g.Return; i >= g.Call; i-- {
		if sets(i) {
			return " (" + j.Event(i).Process + ")"
		}
	}
	for i := g.Return; i < len(j.History.Events) && i != g.End; i++ {
		if sets(i) {
			return " (" + j.Event(i).Process + ")"
		}
	}
	return ""
}

// promiseWords tell what a client believed of its grant.
func (j *judge) promiseWords(g *facts.Grant) string {
	last := g.LastPromise()
	if !last.Given {
		return j.holds() + " until it releases it"
	}
	return j.holds() + " until " + words.Instant(last.End)
}

// faultWords tell of a fault: "c1 was paused for 2.00 s at before-write".
func (j *judge) faultWords(f *facts.Fault) string {
	e := j.Event(f.Begin)
	var b strings.Builder
	if f.Impact != nil && f.Impact.Words != "" {
		b.WriteString(f.Impact.Words)
	} else {
		fmt.Fprintf(&b, "the fault %s struck %s", e.Value.Fault(), cmp.Or(e.Value.Target(), "the system"))
	}
	if f.Took > 0 && (f.Impact == nil || !f.Impact.Instant) {
		fmt.Fprintf(&b, " for %s", length(f.Took))
	}
	if p := j.pointBefore(f); p != "" {
		fmt.Fprintf(&b, " at %s", p)
	}
	if d := e.Value.Detail(); d != "" {
		fmt.Fprintf(&b, " (%s)", d)
	}
	return b.String()
}

// pointBefore is the point at which a client was when the fault struck it: the
// last thing it did before, if that was to pass a point.
func (j *judge) pointBefore(f *facts.Fault) string {
	struck := f.Clients()
	for i := f.Begin - 1; i >= 0 && len(struck) > 0; i-- {
		if e := j.Event(i); slices.Contains(struck, e.Process) {
			if e.F == history.Point {
				return e.Value.Point()
			}
			return ""
		}
	}
	return ""
}

// onNodes says where: "on node A", "on nodes A and B".
func onNodes(nodes []string) string {
	switch n := len(nodes); n {
	case 0:
		return "on no node"
	case 1:
		return "on node " + nodes[0]
	default:
		return "on nodes " + strings.Join(nodes[:n-1], ", ") + " and " + nodes[n-1]
	}
}

// setForWords say for how long the event of a key set it: " for 1.00 s".
func (j *judge) setForWords(event int) string {
	if ttl := j.Event(event).Value.TTL(); ttl.IsSet() {
		return " for " + length(time.Duration(ttl.V()))
	}
	return " without a TTL"
}

// meanwhileWords say what a client was doing when a command of its changed a key: ", while it renewed", " (DEL)".
func (j *judge) meanwhileWords(client string, event int) string {
	text := ""
	if name := j.commandAt(client, event); name != "" {
		text = " by " + name
	}
	doing := map[history.F]string{
		history.Release: ", to release", history.Extend: ", while it renewed " + j.itsLock(),
		history.Acquire: ", while it asked for " + j.theLock()}
	for i := range j.Ops {
		o := &j.Ops[i]
		if words, some := doing[o.F]; some && o.Process == client && o.Call < event && (o.Return < 0 || o.Return > event) {
			return text + words
		}
	}
	return text
}

// sameValueWords say why nothing could tell a client's key from that of another, which a key-set had put there: it had
// written the same value into its own. Empty: it had not.
func (j *judge) sameValueWords(client string, before, set int) string {
	if set < 0 || j.Event(set).Value.Owner == "" {
		return ""
	}
	other := &j.Event(set).Value
	for i := range before {
		e := j.Event(i)
		if e.F == history.KeySet && e.Value.Client == client && client != other.Client && e.Value.Owner == other.Owner {
			return fmt.Sprintf("; %s and %s wrote the same owner value into their keys, so a release cannot tell whose key it is",
				client, other.Client)
		}
	}
	return ""
}

// commandAt is the only command, if commands were recorded, that a client had under way to a node when something became of a key there.
func (j *judge) commandAt(client string, event int) (name string) {
	e := j.Event(event)
	for i := range j.History.Events {
		x := j.Event(i)
		c := x.Value.Command()
		if x.F != history.Sent || x.Process != client || c == nil || c.Node != e.Process || c.Opens || time.Duration(c.Left) > e.Time {
			continue
		}
		if c.Answered.IsSet() && time.Duration(c.Answered.V())+stampsAreLate < e.Time {
			continue
		}
		if name != "" && name != c.Name {
			return ""
		}
		name = c.Name
	}
	return name
}
