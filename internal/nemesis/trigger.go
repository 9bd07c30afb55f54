package nemesis

import (
	"fmt"
	"time"
)

// Planned is a fault with its trigger.
type Planned struct {
	Kind  string
	Fault Fault
	// When fires it; Until, where it has a point, ends it.
	When  Trigger
	Until Passing
	// Stays: healing does not end it.
	Stays bool
}

// Passing is a client at a point of its code for the Nth time, from 1. An empty
// client means any.
type Passing struct {
	Client string
	Point  string
	Nth    int
}

func (p Passing) String() string {
	who := p.Client
	if who == "" {
		who = "any client"
	}
	if p.Nth > 1 {
		return who + " is at " + p.Point + " for the " + ordinal(p.Nth) + " time"
	}
	return who + " is at " + p.Point
}

// Trigger says when a fault strikes. Exactly one of the four ways is used.
type Trigger struct {
	// On: when a client passes a point; with And only if that passing has
	// happened already.
	On  Passing
	And Passing
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
	switch {
	case t.On.Point != "" && t.And.Point != "":
		return fmt.Sprintf("when %s, if before that %s", t.On, t.And)
	case t.On.Point != "":
		return "when " + t.On.String()
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

// Points are the points at which clients have to report.
func Points(faults []Planned) []string {
	seen := make(map[string]bool)
	var points []string
	for _, f := range faults {
		for _, p := range []string{f.When.On.Point, f.When.And.Point, f.Until.Point} {
			if p != "" && !seen[p] {
				seen[p] = true
				points = append(points, p)
			}
		}
	}
	return points
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
