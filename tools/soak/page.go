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

redsync waits for the answers of all nodes, also when it has a majority (actOnPoolsAsync of mutex.go: "for range m.pools"). It gives each
try a context of 5 % of the lease, which go-redis obeys only with ContextTimeoutEnabled, and waits for 5 s without that. So where a
minority is silent for 3 s, a client asks once in that time, and for longer than grant_within: minority-tolerant. That is a fault of
redsync with the defaults of go-redis, and a known one: [it waits for a hung node](../findings/redsync-waits-for-a-hung-node.md). The run
of the table was interrupted before it was looked how many epochs that needs. In one of a whole day before it (1,629 epochs,
minority-tolerant violated in 180 of 683 judged) it needed one: a run with the pause of one node alone shows it, with 20 of 20 other
seeds, too. In the first 60 epochs of redsync-tuned, from the same seed, it holds in all of 34 judged.

That rueidislock and valkeylock violate told-at-release, and that redlock-5 promises too much, stands on their cards, too:
[track record](../track-record.md). The minority-tolerant of redlock-5 was not looked into, nor why rueidislock and valkeylock take an
hour of real time for less than one of their own.

A program in Go collects its garbage seldom in virtual time, when it has 256 MiB: so its memory grows to that, and no further. sim's own
is that of its heap, which it collects when it has grown to nine times what is in use. What is in use is measured after a collection since
29 November 2026. What was told before was that of the last collection, in the midst of an epoch: for redsync 2.6 MiB after the first
epoch and 50 MiB after the last of one day, in which 3.0 to 3.3 MiB were in use in all of 17 measurements from the 20th epoch to the
1,600th.
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
		if f.Epochs > 1 && r.Virtual >= m.Asked { // one that was interrupted has not looked how many
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
