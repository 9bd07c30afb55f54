package nemesis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Planned is a fault with its trigger.
type Planned struct {
	Kind  string
	Fault Fault
	// When fires it; Until, where it is one, ends it.
	When  Trigger
	Until Passing
	// Stays: healing does not end it.
	Stays bool
}

// Passing is something that happens for the Nth time, from 1: a client is at a Point of its
// code, it Sends a command To a node, or a Node Answers a command To a client. The message
// waits then till all that it sets off has taken effect. Or a Sentinel Tells of something About a server. An empty name
// means any.
type Passing struct {
	Node   string
	Client string
	Point  string
	// Sends and Answers are names of commands, or world.AnyCommand. Key is a word of the
	// command, and Contains is part of one.
	Sends         string
	Answers       string
	To            string
	Key, Contains string
	Sentinel      string
	Tells         string
	About         string
	Nth           int
}

// IsZero reports that nothing is said.
func (p Passing) IsZero() bool { return p == Passing{} }

// IsMessage reports that a message is meant.
func (p Passing) IsMessage() bool { return p.Sends != "" || p.Answers != "" }

// Pattern is the message that is meant.
func (p Passing) Pattern() world.Pattern {
	if p.Answers != "" {
		return world.Pattern{Client: p.To, Node: p.Node, Answer: true, Command: p.Answers, Key: p.Key, Contains: p.Contains}
	}
	return world.Pattern{Client: p.Client, Node: p.To, Command: p.Sends, Key: p.Key, Contains: p.Contains}
}

// clientOf is the client without which it cannot happen; empty: any will do.
func (p Passing) clientOf() string {
	if p.Answers != "" {
		return p.To
	}
	return p.Client
}

// anyTime is the same, whichever time it happens.
func (p Passing) anyTime() Passing {
	p.Nth = 0
	return p
}

func (p Passing) String() string {
	var text string
	switch {
	case p.Tells != "":
		text = cmp.Or(p.Sentinel, "any sentinel") + " tells " + p.Tells
		if p.About != "" {
			text += " of " + p.About
		}
	case p.Sends != "":
		text = cmp.Or(p.Client, "any client") + " sends " + commandWords(p.Sends) + p.details() + " to " + cmp.Or(p.To, "any node")
	case p.Answers != "":
		text = cmp.Or(p.Node, "any node") + " answers " + commandWords(p.Answers) + p.details() + " to " + cmp.Or(p.To, "any client")
	default:
		text = cmp.Or(p.Client, "any client") + " is at " + p.Point
	}
	if p.Nth > 1 {
		return text + " for the " + ordinal(p.Nth) + " time"
	}
	return text
}

// commandWords is a command in a sentence.
func commandWords(name string) string {
	if name == world.AnyCommand {
		return "any command"
	}
	return strings.ToUpper(name)
}

// details is what else is asked of the command.
func (p Passing) details() string {
	switch {
	case p.Key != "" && p.Contains != "":
		return fmt.Sprintf(" of the key %s, with %q,", p.Key, p.Contains)
	case p.Key != "":
		return " of the key " + p.Key
	case p.Contains != "":
		return fmt.Sprintf(" with %q", p.Contains)
	}
	return ""
}

// Trigger says when a fault strikes. Exactly one of the four ways is used.
type Trigger struct {
	// On: when that happens; with And only if that has happened already, with Unless only if it has not. Since: it counts from
	// when that has happened.
	On, And, Unless, Since Passing
	// At is the run time. A fault at 0 is in force before the clients begin.
	At time.Duration
	// Every: again and again, after intervals drawn from the seed.
	Every Distribution
	// After is the number of another fault, from 1: this one follows its begin,
	// or where AfterEnd is set its end, after Delay.
	After    int
	AfterEnd bool
	Delay    time.Duration
}

// String says it in words.
func (t Trigger) String() string {
	since := ""
	if !t.Since.IsZero() {
		since = fmt.Sprintf(", counted from when %s", t.Since)
	}
	if !t.Unless.IsZero() {
		since += fmt.Sprintf(", unless before that %s", t.Unless)
	}
	switch {
	case !t.On.IsZero() && !t.And.IsZero():
		return fmt.Sprintf("when %s%s, if before that %s", t.On, since, t.And)
	case !t.On.IsZero():
		return "when " + t.On.String() + since
	case !t.Every.IsZero():
		return "every " + t.Every.String()
	case t.After > 0:
		what := "begin"
		if t.AfterEnd {
			what = "end"
		}
		return fmt.Sprintf("%v after the %s of fault %d", t.Delay, what, t.After)
	}
	return fmt.Sprintf("at %v", t.At)
}

// passings are all for which a fault waits.
func (f *Planned) passings() (list []Passing) {
	for _, p := range []Passing{f.When.On, f.When.And, f.When.Unless, f.When.Since, f.Until} {
		if !p.IsZero() {
			list = append(list, p)
		}
	}
	return list
}

// Points are the points at which clients have to report.
func Points(faults []Planned) (points []string) {
	for i := range faults {
		for _, p := range faults[i].passings() {
			if p.Point != "" && !slices.Contains(points, p.Point) {
				points = append(points, p.Point)
			}
		}
	}
	return points
}

// Messages are those for which faults wait.
func Messages(faults []Planned) (list world.Patterns) {
	for i := range faults {
		for _, p := range faults[i].passings() {
			if p.IsMessage() && !slices.Contains(list, p.Pattern()) {
				list = append(list, p.Pattern())
			}
		}
	}
	return list
}

// ordinal writes 2 as 2nd.
func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
