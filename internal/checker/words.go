package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// length says how long something took, to three digits. What would be rounded up to a
// thousand of one unit is one of the next.
func length(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + length(-d)
	case d >= time.Second-500*time.Microsecond:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Millisecond-500:
		return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
	case d >= time.Microsecond:
		return fmt.Sprintf("%.3g us", float64(d)/float64(time.Microsecond))
	}
	return fmt.Sprintf("%d ns", d)
}

func plural(n int, noun string) string { return words.Count(n, noun) }

// each begins what is said of every one of n things: "2 writes, each in time", but
// "1 write, in time".
func each(n int) string {
	if n == 1 {
		return ""
	}
	return "each "
}

// all is the same of things taken together: "2 sections, all explained by one order".
func all(n int) string {
	if n == 1 {
		return ""
	}
	return "all "
}

// grantWords tell of a grant: "c1 got the lock on 5 of 5 nodes, valid until
// 0.994 s".
func (v *view) grantWords(g *grant) string {
	e := v.event(g.ret)
	var b strings.Builder
	verb := "got the lock"
	if g.outer >= 0 {
		verb = "entered the lock once more"
	}
	fmt.Fprintf(&b, "%s %s", g.client, verb)
	if g.lock != "" {
		fmt.Fprintf(&b, " %q", g.lock)
	}
	switch n := len(e.Value.Nodes()); {
	case n == 1 && e.Value.Nodes()[0] == history.PrimaryProcess:
		b.WriteString(" on the primary")
	case n > 0 && len(v.h.Header.Nodes) > 0:
		fmt.Fprintf(&b, " on %d of %s", n, plural(len(v.h.Header.Nodes), "node"))
	}
	if g.until.given {
		fmt.Fprintf(&b, ", valid until %s", words.Instant(g.until.end))
	}
	if g.token.IsSet() {
		fmt.Fprintf(&b, ", with token %d", g.token.V())
	}
	return b.String()
}

// promiseWords tell what a client believed of its grant.
func promiseWords(g *grant) string {
	last := g.lastPromise()
	if !last.given {
		return "holds the lock until it releases it"
	}
	return "holds the lock until " + words.Instant(last.end)
}

// faultWords tell of a fault: "c1 was paused for 2.00 s at before-write".
func (v *view) faultWords(f *fault) string {
	e := v.event(f.begin)
	var b strings.Builder
	if f.impact != nil && f.impact.Words != "" {
		b.WriteString(f.impact.Words)
	} else {
		fmt.Fprintf(&b, "the fault %s struck %s", e.Value.Fault(), cmp.Or(e.Value.Target(), "the system"))
	}
	if f.took > 0 && (f.impact == nil || !f.impact.Instant) {
		fmt.Fprintf(&b, " for %s", length(f.took))
	}
	if p := v.pointBefore(f); p != "" {
		fmt.Fprintf(&b, " at %s", p)
	}
	if d := e.Value.Detail(); d != "" {
		fmt.Fprintf(&b, " (%s)", d)
	}
	return b.String()
}

// pointBefore is the point at which a client was when the fault struck it: the
// last thing it did before, if that was to pass a point.
func (v *view) pointBefore(f *fault) string {
	struck := f.clients()
	for i := f.begin - 1; i >= 0 && len(struck) > 0; i-- {
		if e := v.event(i); slices.Contains(struck, e.Process) {
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
func (v *view) setForWords(event int) string {
	if ttl := v.event(event).Value.TTL(); ttl.IsSet() {
		return " for " + length(time.Duration(ttl.V()))
	}
	return " without a TTL"
}

// meanwhileWords say what a client was doing when a command of its changed a key: ", while it renewed", " (DEL)".
func (v *view) meanwhileWords(client string, event int) string {
	text := ""
	if name := v.commandAt(client, event); name != "" {
		text = " by " + name
	}
	doing := map[history.F]string{
		history.Release: ", to release", history.Extend: ", to renew", history.Acquire: ", while it asked for the lock"}
	for i := range v.ops {
		o := &v.ops[i]
		if words, some := doing[o.F]; some && o.Process == client && o.Call < event && (o.Return < 0 || o.Return > event) {
			return text + words
		}
	}
	return text
}

// commandAt is the only command, if commands were recorded, that a client had under way to a node when something became of a key there.
func (v *view) commandAt(client string, event int) (name string) {
	e := v.event(event)
	for i := range v.h.Events {
		x := v.event(i)
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
