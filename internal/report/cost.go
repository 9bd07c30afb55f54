package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// CostRow is a figure of what a lock costs, as the HTML shows it.
type CostRow struct {
	Figure, Value, Meaning string
	// Known: it was measured. Otherwise Value says why not.
	Known bool
}

// CostRows are the figures of what a lock costs; nil: nobody measured any.
func CostRows(c *checker.Cost) []CostRow {
	if c == nil {
		return nil
	}
	rows := []CostRow{
		{"commands for an acquire", spreadWords(c.Commands, "command"), "sent to the nodes from the request to the grant", c.Commands != nil},
		{"round trips for an acquire", spreadWords(c.RoundTrips, "round trip"),
			"commands one after the other: each left when the one before had been answered", c.RoundTrips != nil},
		{"time of an acquire, p50", "",
			"half of the acquires took at most this long from the request to the grant; in the virtual world the delays are modelled", c.P50 != nil},
		{"time of an acquire, p99", "", "99 of 100 took at most this long", c.P99 != nil},
		{"commands while waiting", rateWords(c.Waiting, c.Most), "that one client sends in a second while another one holds the lock",
			c.Waiting != nil},
		{"commands while holding", rateWords(c.Holding, c.Most), "that one client sends in a second while it holds the lock", c.Holding != nil},
	}
	if c.P50 != nil {
		rows[2].Value = fmt.Sprintf("%s (%s)", words.Duration(*c.P50), words.Count(c.Acquires, "acquire"))
	}
	if c.P99 != nil {
		rows[3].Value = words.Duration(*c.P99)
	}
	figures := []checker.Figure{checker.CommandsFigure, checker.RoundTripsFigure,
		checker.P50Figure, checker.P99Figure, checker.WaitingFigure, checker.HoldingFigure}
	for i, f := range figures {
		if !rows[i].Known {
			rows[i].Value = "not measured: " + c.Why(f)
		}
	}
	return rows
}

// spreadWords writes the median, and the extremes where they differ.
func spreadWords(s *checker.Spread, noun string) string {
	if s == nil {
		return ""
	}
	if s.Min == s.Max {
		return words.Count(s.Median, noun)
	}
	return fmt.Sprintf("%s (%s to %s)", words.Count(s.Median, noun), words.Grouped(s.Min), words.Grouped(s.Max))
}

func rateWords(r *checker.Rate, most int) string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("%s a second (%s in %s)", words.Decimal(r.PerSecond(), 1), words.Grouped(r.Commands), words.Duration(r.Time))
	if r.Exceeds(most) {
		text += ": " + busyWords(most)
	}
	return text
}

// busyWords say that a rate is above its bound.
func busyWords(most int) string { return fmt.Sprintf("busy, more than %s", words.Grouped(most)) }

// CostWords are the figures that are known, in a line; or else the reasons why none is.
func CostWords(c *checker.Cost) string {
	var parts []string
	add := func(known bool, text func() string) {
		if known {
			parts = append(parts, text())
		}
	}
	add(c.Commands != nil, func() string { return spreadWords(c.Commands, "command") })
	add(c.RoundTrips != nil, func() string { return spreadWords(c.RoundTrips, "round trip") })
	add(c.P50 != nil, func() string { return "p50 " + words.Duration(*c.P50) })
	add(c.P99 != nil, func() string { return "p99 " + words.Duration(*c.P99) })
	if len(parts) > 0 {
		parts = []string{"an acquire: " + strings.Join(parts, ", ")}
	}
	rate := func(r *checker.Rate) string {
		text := words.Decimal(r.PerSecond(), 1) + " commands a second"
		if r.Exceeds(c.Most) {
			text += " (" + busyWords(c.Most) + ")"
		}
		return text
	}
	add(c.Waiting != nil, func() string { return "waiting: " + rate(c.Waiting) })
	add(c.Holding != nil, func() string { return "holding: " + rate(c.Holding) })
	if c.Commands == nil && c.Waiting == nil && c.Holding == nil { // commands are not known, or nothing happened
		var why []string
		for _, u := range c.Unmeasured {
			if u.Figure != checker.P99Figure && !slices.Contains(why, u.Why) {
				why = append(why, u.Why)
			}
		}
		parts = append(parts, "commands are not known: "+strings.Join(why, "; "))
	}
	return strings.Join(parts, "; ")
}
