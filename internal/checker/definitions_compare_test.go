package checker_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/checker/naive"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// plots are what random histories are about, and the properties at home in each: of its
// histories a fifth violate the property and in a fifth it holds, at least.
var plots = []struct {
	plot
	at []checker.Property
}{
	{plot{name: "locks", workloads: []string{"increment"},
		steps: 60, pause: 3, faults: 2, keys: 4, work: 30, healing: 2, wrong: []int{0, 20, 60}},
		[]checker.Property{checker.ExclusiveBelief, checker.ExclusiveLease, checker.OrderedTokens}},
	{plot{name: "work", workloads: []string{"increment", "register", "append", "stock", "jobs"},
		steps: 60, pause: 2, work: 80, healing: 1, wrong: []int{0, 15, 60}},
		[]checker.Property{checker.NoLateEffect, checker.HolderServed}},
	{plot{name: "sections", workloads: []string{"increment", "register", "append", "stock", "jobs"},
		steps: 90, pause: 2, work: 90, healing: 1, wrong: []int{0, 0, 50, 90}},
		[]checker.Property{checker.LinearizableResource}},
	{plot{name: "keys", workloads: []string{"increment"},
		steps: 60, pause: 4, faults: 3, keys: 40, work: 5, healing: 2, wrong: []int{0, 10, 60}},
		[]checker.Property{checker.OwnerRelease, checker.NoOrphanLock}},
	{plot{name: "left behind", workloads: []string{"increment"},
		steps: 115, pause: 4, faults: 1, keys: 30, work: 5, healing: 1, wrong: []int{0, 0, 15}, tidy: true},
		[]checker.Property{checker.NothingStays}},
	{plot{name: "waiting", workloads: []string{"increment"},
		steps: 70, pause: 6, faults: 3, work: 5, healing: 6, aground: 2, wrong: []int{0, 0, 10, 60}},
		[]checker.Property{checker.DeadlockFree}},
	{plot{name: "minority", workloads: []string{"increment"},
		steps: 70, pause: 6, faults: 6, work: 5, healing: 1, node: "A", aground: 2, wrong: []int{0, 0, 10, 60}},
		[]checker.Property{checker.MinorityTolerant}},
	{plot{name: "silences", workloads: []string{"increment"},
		steps: 80, pause: 6, faults: 5, work: 5, healing: 1, silent: true, aground: 2, wrong: []int{0, 0, 10, 60}},
		[]checker.Property{checker.ComesBack}},
	{plot{name: "program silences", workloads: []string{"increment"}, steps: 80,
		pause: 6, faults: 5, work: 5, healing: 1, silent: true, aground: 2, wrong: []int{0, 0, 10, 60}, program: true, losses: 1},
		[]checker.Property{checker.ComesBack}},
	{plot{name: "cells", workloads: []string{"two-cells"}, steps: 60, pause: 3, faults: 1, work: 80, healing: 1, wrong: []int{0, 0, 10, 60}},
		[]checker.Property{checker.Atomic}},
	{plot{name: "lists", workloads: []string{"transactions"}, steps: 30, pause: 3, faults: 10, healing: 1, wrong: []int{0, 0, 0, 50}},
		[]checker.Property{checker.Atomic, checker.Isolated, checker.Durable}},
	{plot{name: "program locks", workloads: []string{"increment"},
		steps: 60, pause: 3, faults: 2, keys: 4, work: 30, healing: 2, wrong: []int{0, 30, 70}, program: true, losses: 2},
		[]checker.Property{checker.ExclusiveLease, checker.OrderedTokens}},
	{plot{name: "program inside", workloads: []string{"increment"}, upgrades: 40,
		steps: 60, pause: 3, faults: 1, work: 40, healing: 2, wrong: []int{0, 30, 70}, program: true, losses: 1},
		[]checker.Property{checker.ExclusiveLease, checker.NoLateEffect}},
	{plot{name: "program work", workloads: []string{"increment"},
		steps: 55, pause: 2, work: 80, healing: 1, wrong: []int{0, 20, 60}, program: true, losses: 2},
		[]checker.Property{checker.NoLateEffect, checker.HolderServed}},
	{plot{name: "program waiting", workloads: []string{"increment"},
		steps: 70, pause: 6, faults: 3, work: 5, healing: 6, aground: 2, wrong: []int{0, 0, 10, 60}, program: true, losses: 2},
		[]checker.Property{checker.DeadlockFree}},
	{plot{name: "program minority", workloads: []string{"increment"}, steps: 76,
		pause: 5, faults: 7, work: 5, healing: 1, node: "A", aground: 2, wrong: []int{0, 0, 10, 60}, program: true, losses: 1},
		[]checker.Property{checker.MinorityTolerant}},
	{plot{name: "program asks", workloads: []string{"increment"},
		steps: 60, pause: 3, faults: 1, keys: 4, work: 10, healing: 1, wrong: []int{0, 30, 70}, program: true, losses: 1, tells: 80},
		[]checker.Property{checker.AsksItsTTL, checker.TrueValidity}},
	{plot{name: "program ends", workloads: []string{"increment"},
		steps: 60, pause: 3, faults: 2, keys: 4, work: 30, healing: 2, wrong: []int{0, 30, 70}, program: true, losses: 1, ends: 1},
		[]checker.Property{checker.KeepsRunning, checker.ExclusiveLease}},
	{plot{name: "program ends, keys", workloads: []string{"increment"},
		steps: 80, pause: 3, faults: 2, work: 5, healing: 3, gone: 20, wrong: []int{0, 80, 95}, program: true, losses: 3, ends: 1},
		[]checker.Property{checker.NoResurrection}},
	{plot{name: "losses", workloads: []string{"increment"},
		steps: 72, pause: 4, faults: 2, work: 5, healing: 1, gone: 17, wrong: []int{0, 70, 95}},
		[]checker.Property{checker.NoResurrection, checker.ToldWhenLost}},
	{plot{name: "program losses", workloads: []string{"increment"},
		steps: 80, pause: 3, faults: 2, work: 5, healing: 1, gone: 20, wrong: []int{0, 80, 95}, program: true, losses: 3},
		[]checker.Property{checker.NoResurrection, checker.ToldWhenLost}},
	{plot{name: "releases", workloads: []string{"increment"},
		steps: 140, pause: 4, faults: 1, work: 5, healing: 1, gone: 4, wrong: []int{0, 80, 95}, releases: 50},
		[]checker.Property{checker.ToldAtRelease}},
	{plot{name: "program releases", workloads: []string{"increment"},
		steps: 140, pause: 4, faults: 1, work: 5, healing: 1, gone: 4, wrong: []int{0, 80, 95}, program: true, losses: 1, releases: 50},
		[]checker.Property{checker.ToldAtRelease}},
	{plot{name: "alarms", workloads: []string{"increment"},
		steps: 145, pause: 3, faults: 1, work: 5, healing: 1, gone: 2, wrong: []int{0, 66, 95}, renewals: 50},
		[]checker.Property{checker.NoFalseAlarm}},
	{plot{name: "program alarms", workloads: []string{"increment"},
		steps: 130, pause: 3, faults: 1, work: 5, healing: 1, gone: 2, wrong: []int{0, 70, 95}, program: true, renewals: 50},
		[]checker.Property{checker.NoFalseAlarm}},
	{plot{name: "backing", workloads: []string{"increment"},
		steps: 40, pause: 3, faults: 1, work: 5, healing: 1, gone: 4, wrong: []int{0, 0, 40, 70}, backing: true},
		[]checker.Property{checker.BackedGrant}},
	{plot{name: "program backing", workloads: []string{"increment"},
		steps: 40, pause: 3, faults: 1, work: 5, healing: 1, gone: 4, wrong: []int{0, 30, 60, 95}, program: true, losses: 1, backing: true},
		[]checker.Property{checker.BackedGrant}},
	{plot{name: "renewals", workloads: []string{"increment"},
		steps: 70, pause: 4, faults: 1, work: 5, healing: 1, gone: 20, stalls: 1, wrong: []int{0, 70, 95}},
		[]checker.Property{checker.StaysHeld}},
	{plot{name: "program renewals", workloads: []string{"increment"},
		steps: 70, pause: 4, faults: 1, work: 5, healing: 1, gone: 30, stalls: 1, wrong: []int{0, 80, 95}, program: true},
		[]checker.Property{checker.StaysHeld}},
	{plot{name: "no TTL", workloads: []string{"increment"}, endless: true,
		steps: 90, pause: 5, faults: 3, keys: 40, work: 5, healing: 2, wrong: []int{0, 10, 60}},
		[]checker.Property{checker.OwnerRelease, checker.NoOrphanLock}},
	{plot{name: "no TTL, left behind", workloads: []string{"increment"}, endless: true,
		steps: 115, pause: 4, faults: 1, keys: 30, work: 5, healing: 1, wrong: []int{0, 0, 15}, tidy: true},
		[]checker.Property{checker.NothingStays}},
	{plot{name: "program without TTL", workloads: []string{"increment"}, endless: true,
		steps: 60, pause: 3, faults: 2, keys: 4, work: 30, healing: 2, wrong: []int{0, 30, 70}, program: true, losses: 1},
		[]checker.Property{checker.AsksItsTTL, checker.ExclusiveLease}},
	{plot{name: "program waiting without TTL", workloads: []string{"increment"}, endless: true,
		steps: 70, pause: 6, faults: 3, work: 5, healing: 6, aground: 2, wrong: []int{0, 0, 10, 60}, program: true, losses: 2},
		[]checker.Property{checker.DeadlockFree}},
	{plot{name: "permits", workloads: []string{"increment"}, permits: true,
		steps: 80, pause: 2, faults: 2, keys: 4, work: 20, healing: 2, wrong: []int{0, 20, 60}},
		[]checker.Property{checker.WithinPermits}},
	{plot{name: "permits, work", workloads: []string{"increment"}, permits: true,
		steps: 60, pause: 2, work: 80, healing: 1, wrong: []int{0, 15, 60}},
		[]checker.Property{checker.NoLateEffect}},
	{plot{name: "permits, waiting", workloads: []string{"increment"}, permits: true,
		steps: 80, pause: 6, faults: 3, work: 5, healing: 6, aground: 2, wrong: []int{0, 0, 10, 60}},
		[]checker.Property{checker.DeadlockFree}},
	{plot{name: "upgrades", workloads: []string{"increment"}, modes: true, upgrades: 60,
		steps: 80, pause: 2, faults: 2, work: 20, healing: 2, wrong: []int{0, 20, 60}},
		[]checker.Property{checker.WithinPermits, checker.NoLateEffect}},
	{plot{name: "upgrades, waiting", workloads: []string{"increment"}, modes: true, upgrades: 60,
		steps: 80, pause: 6, faults: 3, work: 5, healing: 8, aground: 4, wrong: []int{0, 0, 10, 60}},
		[]checker.Property{checker.DeadlockFree}},
	{plot{name: "permits, silences", workloads: []string{"increment"}, permits: true,
		steps: 80, pause: 6, faults: 5, work: 5, healing: 1, silent: true, aground: 2, wrong: []int{0, 0, 10, 60}},
		[]checker.Property{checker.ComesBack}},
	{plot{name: "readers", workloads: []string{"increment"}, modes: true,
		steps: 80, pause: 2, faults: 2, keys: 4, work: 20, healing: 2, wrong: []int{0, 20, 60}},
		[]checker.Property{checker.WithinPermits}},
	{plot{name: "readers, work", workloads: []string{"increment"}, modes: true,
		steps: 60, pause: 2, work: 80, healing: 1, wrong: []int{0, 15, 60}},
		[]checker.Property{checker.NoLateEffect}},
	{plot{name: "readers, waiting", workloads: []string{"increment"}, modes: true,
		steps: 80, pause: 6, faults: 3, work: 5, healing: 6, aground: 2, wrong: []int{0, 0, 10, 60}},
		[]checker.Property{checker.DeadlockFree}},
	{plot{name: "order", workloads: []string{"increment"}, fair: true,
		steps: 110, pause: 2, faults: 2, work: 5, healing: 1, stalls: 1, wrong: []int{0, 0, 20, 60}},
		[]checker.Property{checker.Fairness}},
	{plot{name: "ticks", workloads: []string{"jobs"},
		steps: 32, pause: 2, work: 80, healing: 1, wrong: []int{0, 15, 60}},
		[]checker.Property{checker.AtMostOnce}},
}

// firstSeed lets a long comparison be done in pieces.
func firstSeed(t *testing.T) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(cmp.Or(os.Getenv("RANDOM_SEED"), "0"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDefinitionsOnRandomHistories: the judges say what the page says, of histories that are
// written at random.
func TestDefinitionsOnRandomHistories(t *testing.T) {
	tally := map[string]map[checker.Verdict]int{}
	n, first := suite.Amount(t, 18_000, 1_800), firstSeed(t)
	for i := range n {
		p := plots[i%len(plots)]
		seed := first + uint64(i)
		h := write(seed, p.plot)
		verdicts := agree(t, h, options(seed), fmt.Sprintf("plot %s, seed %d", p.name, seed))
		for _, property := range p.at {
			name := p.name + ": " + string(property)
			if tally[name] == nil {
				tally[name] = map[checker.Verdict]int{}
			}
			tally[name][verdicts[property]]++
		}
	}
	for name, count := range tally {
		total := count[0] + count[checker.Holds] + count[checker.Violated] + count[checker.Unknown]
		t.Logf("%s: %d %% violated, %d %% hold, of %d", name, 100*count[checker.Violated]/total, 100*count[checker.Holds]/total, total)
		if total < 500 {
			continue // too few to tell
		}
		if 10*count[checker.Violated] < total || 10*count[checker.Holds] < total {
			t.Errorf("%s: of %d histories %d violate it and in %d it holds, want a tenth each",
				name, total, count[checker.Violated], count[checker.Holds])
		}
	}
}

// options are drawn with the history.
func options(seed uint64) checker.Options {
	o := checker.Options{GrantWithin: time.Duration(bound), Brief: seed%2 == 0, Fast: seed%3 == 0}
	if seed%16 == 0 {
		o.Faults = 1
	}
	if seed%8 == 1 {
		o.Until = []int{1, 2}
	}
	return o
}

// agree reports where the judges and the page disagree, with the shortest history that the
// disagreement leaves. It returns what the page says.
func agree(t *testing.T, h *history.History, o checker.Options, origin string) map[checker.Property]checker.Verdict {
	t.Helper()
	said := naive.Judge(h, naive.Properties(), o)
	var properties []checker.Property
	for p, v := range said {
		if v != 0 {
			properties = append(properties, p)
		}
	}
	slices.Sort(properties)
	for i, v := range judge(h, properties, o) {
		if p := properties[i]; v != said[p] {
			t.Errorf("%s, %+v: %s\n%s", origin, o, p, disagreement(h, p, o))
		}
	}
	if t.Failed() {
		t.FailNow() // the first disagreement is to be understood first
	}
	return said
}

// judge asks the judges; a panic is a verdict of its own.
func judge(h *history.History, properties []checker.Property, o checker.Options) (verdicts []checker.Verdict) {
	verdicts = make([]checker.Verdict, len(properties))
	defer func() {
		if r := recover(); r != nil {
			verdicts[0] = panicked
		}
	}()
	for i, f := range checker.Judge(context.Background(), h, properties, o) {
		verdicts[i] = f.Verdict
	}
	return verdicts
}

const panicked = checker.Verdict(99)

// disagreement is the history shrunk as far as the two still disagree, with what they say.
func disagreement(h *history.History, p checker.Property, o checker.Options) string {
	differ := func(h *history.History) bool {
		v := naive.Judge(h, naive.Properties(), o)[p]
		return v != 0 && v != judge(h, []checker.Property{p}, o)[0]
	}
	if differ(h) {
		h = shrink(h, differ)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "the page: %v, the judge: %v", naive.Judge(h, naive.Properties(), o)[p], judge(h, []checker.Property{p}, o)[0])
	func() {
		defer func() {
			if r := recover(); r != nil {
				fmt.Fprintf(&b, " (panic: %v)", r)
			}
		}()
		fmt.Fprintf(&b, " (%s)", checker.Judge(context.Background(), h, []checker.Property{p}, o)[0].Why)
	}()
	fmt.Fprintln(&b)
	if err := history.Encode(&b, h); err != nil {
		fmt.Fprintln(&b, err)
	}
	return b.String()
}

// shrink drops events for as long as some can go.
func shrink(h *history.History, wanted func(*history.History) bool) *history.History {
	for size := len(h.Events) / 2; size > 0; {
		dropped := false
		for from := 0; from+size <= len(h.Events); {
			less := *h
			less.Events = numbered(slices.Delete(slices.Clone(h.Events), from, from+size))
			if wanted(&less) {
				h, dropped = &less, true
			} else {
				from++
			}
		}
		if !dropped || size > 1 {
			size /= 2
		}
	}
	return h
}

// numbered numbers events anew.
func numbered(events []history.Event) []history.Event {
	for i := range events {
		events[i].Index = int32(i)
	}
	return events
}
