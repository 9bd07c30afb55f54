package main

import (
	"fmt"
	"strings"
	"time"
)

// page is the page of the results.
func page(libraries []library, results []measured) string {
	var b strings.Builder
	b.WriteString(`# A simulated day of each lock library

[sim soak](../guide/soak.md) lets the lock of each library of [libraries.json](../../adapters/libraries.json) live for 24 simulated hours:
real servers and the library's own program in virtual time, with other faults every minute. ` + "`make soak`" + ` measures what is missing,
and writes this page and [soak.json](soak.json).

A violation counts once for each epoch that shows it, so a rate is the least that it can be. What a violation is:
[properties](../reference/properties.md); progress is that each client gets the lock again when everything has healed.
Only faults that a lock on Redis is meant to survive are drawn.

| lock | time | epochs (calm), lives | sections | violated, per million sections (95 %) | found | times real time ` +
		`| memory of sim after the first epoch, the last (in use); of servers and programs |
|---|---|---|---|---|---|---|---|
`)
	measuredToo := make(map[string]bool)
	for i := range results {
		m := &results[i]
		measuredToo[m.Name] = true
		b.WriteString(row(m))
	}
	var missing []string
	for _, l := range libraries {
		if !measuredToo[l.Name] {
			missing = append(missing, l.Name)
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(&b, "\nNot measured yet: %s.\n", strings.Join(missing, ", "))
	}
	b.WriteString(`
What was looked into: gozero's client has a circuit breaker. After many errors it refuses requests by itself ("circuit breaker is open"),
in this epoch for longer than the two seconds of ` + "`grant_within`" + ` after everything had healed.
Errors of earlier epochs count, too, so the epoch alone does not show it.

A program in Go collects its garbage seldom in virtual time, when it has 256 MiB: so its memory grows to that, and no further.
sim's own is that of its heap, which it collects when it has grown to nine times what is in use.
`)
	return b.String()
}

func row(m *measured) string {
	r := &m.Result
	if m.Why != "" {
		return fmt.Sprintf("| %s | | | | not measured: %s | | | |\n", m.Name, strings.NewReplacer("|", "/", "\n", " ").Replace(m.Why))
	}
	var violated, holds []string
	for _, p := range r.Properties {
		switch {
		case p.Violated > 0:
			text := fmt.Sprintf("%s %.3g (%.3g to %.3g)", p.Property, p.Rate, p.Low, p.High)
			if p.Doubted > 0 {
				text += fmt.Sprintf(", %d of %d epochs by its word alone", p.Doubted, p.Violated)
			}
			violated = append(violated, text)
		case p.Judged > 0:
			holds = append(holds, p.Property)
		}
	}
	if len(violated) == 0 {
		violated = []string{fmt.Sprintf("nothing; %d properties hold", len(holds))}
	}
	var list []string
	for _, f := range r.Found {
		text := fmt.Sprintf("epoch %d: %s", f.Epoch, f.What)
		if f.Epochs > 1 {
			text += fmt.Sprintf(" (needs %d epochs)", f.Epochs)
		}
		list = append(list, text)
	}
	if r.Failed > 0 {
		list = append(list, fmt.Sprintf("%d epochs failed: %s", r.Failed, strings.ReplaceAll(r.Failure, "|", "/")))
	}
	mib := func(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
	inUse := ""
	if r.End.Heap > 0 { // what was measured before it was told has none
		inUse = fmt.Sprintf(" (%.1f, %.1f MiB)", float64(r.Start.Heap)/(1<<20), float64(r.End.Heap)/(1<<20))
	}
	return fmt.Sprintf("| %s | %.1f h | %d (%d), %d | %d | %s | %s | %.0f | %s, %s%s; %s, %s |\n", m.Name,
		time.Duration(r.Virtual*float64(time.Second)).Hours(), r.Epochs, r.Calm, r.Lives, r.Granted, strings.Join(violated, "; "),
		strings.Join(list, "; "), r.Virtual/max(r.Took, 1), mib(r.Start.Own), mib(r.End.Own), inUse, mib(r.Start.Children), mib(r.End.Children))
}
