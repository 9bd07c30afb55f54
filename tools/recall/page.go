package main

import (
	"fmt"
	"strings"
)

var head = strings.ReplaceAll(`# Recall: faults that users reported

Lock libraries in the version in which a fault was reported, and in the one in which it is mended, each with a lock program of
'adapters/museum' or 'adapters', in virtual time: what 'sim conform' and 'sim audit' accuse them of, and a minute of 'sim search' where
neither shows the fault. An accusation counts if it is about this fault; the mended version is to have none of these. 'make recall'
measures it, in an hour; what it has measured with the same 'sim', it does not measure again.
[museum.json](../../adapters/museum/museum.json) lists the faults and what counts for each,
[results.json](../../adapters/museum/results.json) has all accusations of both versions.

`, "'", "`")

// page writes the table.
func page(museum []Piece, r results) string {
	var b strings.Builder
	b.WriteString(head)
	tried, right := 0, 0
	var missing []*Piece
	b.WriteString("| fault | library | broken | accused by | mended | accused by |\n|---|---|---|---|---|---|\n")
	for i := range museum {
		p := &museum[i]
		if p.Missing != "" {
			missing = append(missing, p)
			continue
		}
		broken, mended := r[p.ID]["broken"], r[p.ID]["mended"]
		if broken == nil || mended == nil {
			continue
		}
		tried++
		if len(p.shown(broken)) > 0 && len(p.shown(mended)) == 0 {
			right++
		}
		by := named(p.shown(broken))
		if p.BrokenAudit != "" {
			by += " (not audited: " + p.BrokenAudit + ")"
		}
		fmt.Fprintf(&b, "| [%s](%s) | %s | %s | %s | %s | %s |\n", p.Fault, p.Source, p.Library, p.Broken, by, p.Mended, named(p.shown(mended)))
	}
	fmt.Fprintf(&b, "\n%d of the %d that were tried are shown, and only in the version that has the fault.\n", right, tried)
	if len(missing) > 0 {
		b.WriteString("\nNot tried:\n\n")
		for _, p := range missing {
			fmt.Fprintf(&b, "- [%s](%s) (%s %s): %s\n", p.Fault, p.Source, p.Library, p.Broken, p.Missing)
		}
	}
	return b.String()
}

func named(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return "`" + strings.Join(list, "`, `") + "`"
}
