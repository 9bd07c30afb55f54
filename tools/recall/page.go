package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report"
)

var head = strings.ReplaceAll(`# Recall: faults that users reported

Lock libraries in the version in which a fault was reported, and in the one in which it is mended, each with a lock program of
'adapters/museum' or 'adapters', in virtual time: what 'sim conform' and 'sim audit' accuse them of, and a minute of 'sim search' where
neither shows the fault. An accusation counts if it is about this fault; the mended version is to have none of these. 'make recall'
measures it, in an hour; what it has measured with the same 'sim', it does not measure again. 'At first' is whether the first 'sim' that
tried the broken version showed the fault: what was missed then led to new cases and checks, for all locks.
[museum.json](../../adapters/museum/museum.json) lists the faults and what counts for each,
[results.json](../../adapters/museum/results.json) has all accusations of both versions.

`, "'", "`")

// page writes the table.
func page(museum []Piece, r results) string {
	var b strings.Builder
	b.WriteString(head)
	tried, right, early := uint64(0), uint64(0), uint64(0)
	var missing []*Piece
	b.WriteString("| fault | library | broken | at first | accused by | mended | accused by |\n|---|---|---|---|---|---|---|\n")
	for i := range museum {
		p := &museum[i]
		if p.Missing != "" {
			missing = append(missing, p)
			continue
		}
		one, other := r[p.ID][broken], r[p.ID][mended]
		if one == nil || other == nil {
			continue
		}
		tried++
		if len(p.shown(one)) > 0 && len(p.shown(other)) == 0 {
			right++
		}
		before := "missed"
		if len(p.shown(r[p.ID][atFirst])) > 0 {
			early++
			before = "shown"
		}
		by := named(p.shown(one))
		if p.BrokenAudit != "" {
			by += " (not audited: " + p.BrokenAudit + ")"
		}
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s | %s | %s | %s | %s |\n", p.Fault, p.Source, p.Library, p.Broken, before, by, p.Mended,
			named(p.shown(other)))
	}
	fmt.Fprintf(&b, "\n%s of those that were tried are shown, and only in the version that has the fault; at first %s were.\n"+
		"The percentages are 95 %% intervals.\n",
		share(right, tried), share(early, tried))
	besides(&b, museum, r)
	if len(missing) > 0 {
		b.WriteString("\nNot tried:\n\n")
		for _, p := range missing {
			fmt.Fprintf(&b, "- [%s](%s) (%s %s): %s\n", p.Fault, p.Source, p.Library, p.Broken, p.Missing)
		}
	}
	return b.String()
}

var besideHead = strings.ReplaceAll(`
## Other ways to test a lock

What users have without 'sim', on the same libraries, each for the processor time that conform and audit took of the same version (with a
search, where there was one):

- **nemesis**: clients in a loop, and every second or so a pause, a kill (with an append-only file) or a cut, as with Jepsen
  ([nemesis.yaml](../../tools/recall/beside/nemesis.yaml)). 'sim' itself runs them, in real time.
- **stress**: more clients in a loop, behind Toxiproxy, with delays, cuts, resets and thin links
  ([stress.yaml](../../tools/recall/beside/stress.yaml)).
- **rapid**: a state machine of [rapid](https://github.com/flyingmutant/rapid) with
  [miniredis](https://github.com/alicebob/miniredis), in the time of 'testing/synctest'
  ([the test](../../adapters/museum/testdata/rapid/machine_test.go)); 200 drawn sequences a run, for libraries of Go.
  miniredis does not know client tracking, which rueidislock needs.
- **locktest**: [ours](../guide/locktest.md), in 'go test'; for libraries of Go which let a test dial.

For the first two a failure is that two clients believe at once that they have the lock, that an update is lost, or that nobody gets the
lock after everything has healed. Where people use them in earnest they run for hours: this is what they find in minutes. A fault is found
if something goes wrong with the broken version alone, whatever the reason; where the same goes wrong with both versions, they cannot be
told apart by it.

`, "'", "`")

// share is how many of how many, with the 95 % interval of such faults.
func share(k, n uint64) string {
	rate := report.RateOf(k, n, n)
	return fmt.Sprintf("%d of %d (%.0f to %.0f %%)", k, n, 100*rate.Low, 100*rate.High)
}

// besides writes the table of the other ways.
func besides(b *strings.Builder, museum []Piece, r results) {
	measured, found := 0, make(map[string]uint64)
	applies := make(map[string]uint64)
	var rows strings.Builder
	for i := range museum {
		p := &museum[i]
		one, other := r[p.ID][broken], r[p.ID][mended]
		if one == nil || other == nil || len(one.Beside) == 0 || len(other.Beside) == 0 {
			continue
		}
		measured++
		applies[ourWay]++
		ours := "no"
		if len(p.shown(one)) > 0 && len(p.shown(other)) == 0 {
			found[ourWay]++
			ours = "found"
		}
		fmt.Fprintf(&rows, "| [%s](%s), %s | %.0f s, %.0f s | %s |", p.Fault, p.Source, p.Library, one.Seconds, other.Seconds, ours)
		for _, way := range otherWays {
			cell := besideCell(one.Beside[way], other.Beside[way])
			if one.Beside[way] != nil && other.Beside[way] != nil {
				applies[way]++
				if len(apart(one.Beside[way], other.Beside[way])) > 0 {
					found[way]++
				}
			}
			fmt.Fprintf(&rows, " %s |", cell)
		}
		rows.WriteString("\n")
	}
	if measured == 0 {
		return
	}
	b.WriteString(besideHead)
	ways := append([]string{ourWay}, otherWays...)
	fmt.Fprintf(b, "| fault | processor time: broken, mended | %s |\n|---|---|%s\n",
		strings.Join(ways, " | "), strings.Repeat("---|", len(ways)))
	b.WriteString(rows.String())
	b.WriteString("| **found** | |")
	for _, way := range ways {
		fmt.Fprintf(b, " %s |", share(found[way], applies[way]))
	}
	b.WriteString("\n")
}

// ourWay is conform, audit and search.
const ourWay = "sim"

// besideCell tells what went wrong in a way, in how many runs.
func besideCell(one, other *Loop) string {
	if one == nil || other == nil {
		return "-"
	}
	alone := apart(one, other)
	if len(alone) == 0 && len(one.Violated) == 0 {
		return fmt.Sprintf("no (%d runs)", one.Runs)
	}
	said := alone
	word := "found"
	if len(alone) == 0 {
		said, word = slices.Sorted(maps.Keys(one.Violated)), "no, as with the mended version"
	}
	var parts []string
	for _, what := range said {
		parts = append(parts, fmt.Sprintf("%s in %d of %d runs, mended %d of %d",
			what, one.Violated[what], one.Runs, other.Violated[what], other.Runs))
	}
	return word + ": " + strings.Join(parts, "; ")
}

func named(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return "`" + strings.Join(list, "`, `") + "`"
}
