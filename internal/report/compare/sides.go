package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Difference is what sets the two sides of a comparison themselves apart.
type Difference struct {
	Scenario string `json:"scenario"`
	Variant  string `json:"variant,omitempty"`
	// What is the world, the nodes, the lock, the settings, the scenario's file or the seed. Of settings only those are told that differ.
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
}

func (d Difference) place() string { return placeOf(d.Scenario, d.Variant) }

// setsLock reports that what differs in the settings is a setting of the lock.
func (d Difference) setsLock() bool {
	return strings.Contains(", "+d.Before+", "+d.After, ", lock.")
}

// placeOf names a scenario or one of its variants.
func placeOf(scenario, variant string) string {
	if variant == "" {
		return scenario
	}
	return scenario + " / " + variant
}

// side is a scenario, or a variant of it, in the results of one side: its traits
// with all values that they have there.
type side map[string][]string

// The traits in which runs are held against each other, in the order in which they are
// told.
var traits = []string{"world", "nodes", "lock", "scenario file", "settings", theSeed}

// theSeed is a trait that is told, but makes no other runs of two: each run of the same scenario may have its own.
const theSeed = "seed"

// ownLock stands for the lock of a scenario of which each variant has another.
const ownLock = "the scenario's own"

// noRealTime reports that runs took no real time, so that how long they took says nothing.
func (s side) noRealTime() bool { return len(s[noRealTime]) > 0 }

// noRealTime is a trait in which nothing is held against each other.
const noRealTime = "no real time"

func sidesOf(results []*report.Result) map[[2]string]side {
	sides := make(map[[2]string]side)
	add := func(scenario, variant, trait, value string) {
		key := [2]string{scenario, variant}
		if sides[key] == nil {
			sides[key] = make(side)
		}
		if value != "" && !slices.Contains(sides[key][trait], value) {
			sides[key][trait] = append(sides[key][trait], value)
		}
	}
	for _, r := range results {
		add(r.Scenario, "", "world", r.World)
		add(r.Scenario, "", "nodes", r.Nodes)
		add(r.Scenario, "", theSeed, strconv.FormatUint(r.Seed, 10))
		if r.World == "virtual" {
			add(r.Scenario, "", noRealTime, "yes")
		}
		lock, facts := lockAndSettings(r)
		add(r.Scenario, "", "lock", lock)
		add(r.Scenario, "", "settings", strings.Join(facts, ", "))
		add(r.Scenario, "", "scenario file", plain.Clip(r.ScenarioDigest, 13))
		for i := range r.Variants {
			add(r.Scenario, r.Variants[i].Name, "settings", strings.Join(r.Variants[i].Settings, ", "))
		}
	}
	for _, s := range sides {
		for _, values := range s {
			slices.Sort(values)
		}
	}
	return sides
}

// lockAndSettings are a run's lock and its other settings.
func lockAndSettings(r *report.Result) (lock string, settings []string) {
	lock, settings = ownLock, slices.Clone(r.Facts)
	for i := range r.Variants {
		if l := r.Variants[i].Lock; l != nil {
			lock = strings.TrimSpace(l.Name + " " + l.Version)
		}
	}
	for i, fact := range settings {
		if fact == lock || lock == ownLock && !strings.Contains(fact, " ") { // "5 nodes", "ttl 1s", but "redlock"
			return fact, slices.Delete(settings, i, i+1)
		}
	}
	return lock, settings
}

// differencesOf says in what the sides differ, of all that both have.
func differencesOf(a, b []*report.Result) []Difference {
	before, after := sidesOf(a), sidesOf(b)
	var list []Difference
	for _, k := range slices.SortedFunc(maps.Keys(before), func(x, y [2]string) int { return slices.Compare(x[:], y[:]) }) {
		x, y := before[k], after[k]
		if k[1] != "" && y != nil && otherLock(before[[2]string{k[0]}], after[[2]string{k[0]}]) {
			x, y = x.withoutLock(), y.withoutLock()
		}
		for _, trait := range traits {
			if y != nil && !slices.Equal(x[trait], y[trait]) && comparable(trait, x, y) {
				d := Difference{k[0], k[1], trait, alternatives(x[trait]), alternatives(y[trait])}
				if trait == theSeed {
					d.Before, d.After = seedWords(x[trait]), seedWords(y[trait])
				}
				if trait == "settings" && len(x[trait]) <= 1 && len(y[trait]) <= 1 {
					d.Before, d.After = unlike(d.Before, d.After)
				}
				list = append(list, d)
			}
		}
	}
	return list
}

// otherLock reports that a scenario has another lock on the other side.
func otherLock(x, y side) bool {
	return comparable("lock", x, y) && !slices.Equal(x["lock"], y["lock"])
}

// withoutLock leaves out the settings of a lock: the other side has another one, and that says it all.
func (s side) withoutLock() side {
	rest := maps.Clone(s)
	rest["settings"] = nil
	for _, value := range s["settings"] {
		kept := slices.DeleteFunc(strings.Split(value, ", "), func(one string) bool { return strings.HasPrefix(one, "lock.") })
		if len(kept) > 0 {
			rest["settings"] = append(rest["settings"], strings.Join(kept, ", "))
		}
	}
	return rest
}

// comparable reports that both sides can have a trait.
func comparable(trait string, x, y side) bool {
	if trait == "nodes" { // the virtual world has no provider of nodes
		return slices.Equal(x["world"], y["world"])
	}
	if trait == "scenario file" || trait == "lock" { // not known of results of earlier versions, or where nothing could be run
		return len(x[trait]) > 0 && len(y[trait]) > 0
	}
	return true
}

// unlike leaves of two lists of settings what only one of them has.
func unlike(before, after string) (string, string) {
	x, y := strings.Split(before, ", "), strings.Split(after, ", ")
	without := func(list, other []string) string {
		list = slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
		return cmp.Or(strings.Join(list, ", "), "none")
	}
	return without(x, y), without(y, x)
}

// alternatives are the values that a trait has in the results of one side.
func alternatives(values []string) string {
	if len(values) == 0 {
		return "none"
	}
	short := slices.Clone(values)
	for i := range short {
		short[i] = plain.Clip(short[i], 200)
	}
	return strings.Join(short, " or ")
}

// seedWords name seeds: a few, or the first and the last.
func seedWords(values []string) string {
	if len(values) <= mostPairs {
		return alternatives(values)
	}
	number := func(s string) uint64 { n, _ := strconv.ParseUint(s, 10, 64); return n }
	sorted := slices.SortedFunc(slices.Values(values), func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	return fmt.Sprintf("%s from %s to %s", words.Count(len(sorted), "seed"), sorted[0], sorted[len(sorted)-1])
}

// notSet stands for a setting that one side does not have.
const notSet = "not set"

// bySetting tells of each setting that has a name on its own: What is its name. Other differences stay as they are.
func bySetting(list []Difference) (found []Difference) {
	for _, d := range list {
		before, ok := named(d.Before)
		after, too := named(d.After)
		if d.What != "settings" || !ok || !too {
			found = append(found, d)
			continue
		}
		names := maps.Clone(before)
		maps.Copy(names, after)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			one := d
			one.What, one.Before, one.After = name, cmp.Or(before[name], notSet), cmp.Or(after[name], notSet)
			found = append(found, one)
		}
	}
	return found
}

// named are settings by their names; false: some have none, as "5 nodes", or there are several values.
func named(settings string) (map[string]string, bool) {
	found := make(map[string]string)
	if settings == "none" {
		return found, true
	}
	for one := range strings.SplitSeq(settings, ", ") {
		name, value, ok := strings.Cut(one, ": ")
		if !ok || strings.Contains(name, " ") || strings.Contains(value, ": ") {
			return nil, false
		}
		found[name] = value
	}
	return found, true
}

// differ reports that the runs differ in more than the seed.
func (c *Comparison) differ() bool {
	return slices.ContainsFunc(c.Differences, func(d Difference) bool { return d.What != theSeed })
}

// common is a difference with all that have it.
type common struct {
	Difference
	Places []string
}

// gathered puts the differences together that are the same.
func gathered(list []Difference) (found []common) {
	for _, d := range list {
		same := func(c common) bool { return c.What == d.What && c.Before == d.Before && c.After == d.After }
		at := slices.IndexFunc(found, same)
		if at < 0 {
			at = len(found)
			found = append(found, common{Difference: d})
		}
		found[at].Places = append(found[at].Places, d.place())
	}
	return found
}

// cause sums up in what the sides differ of one trait, or that versions do.
type cause struct{ What, Words string }

// causes say in a line for each trait why something may have changed: where is each, and how the sides differ.
func (c *Comparison) causes() (list []cause) {
	of := make(map[string][]Difference)
	var settings []string
	for _, d := range bySetting(c.Differences) {
		if of[d.What] == nil && !slices.Contains(traits, d.What) {
			settings = append(settings, d.What)
		}
		of[d.What] = append(of[d.What], d)
	}
	for _, what := range slices.Concat(traits, settings) {
		if len(of[what]) > 0 {
			list = append(list, cause{what, c.causeWords(of[what])})
		}
	}
	names := maps.Clone(c.Before.Versions)
	maps.Copy(names, c.After.Versions)
	var versions []string
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if x, y := c.Before.Versions[n], c.After.Versions[n]; x != y {
			versions = append(versions, fmt.Sprintf("%s %s before, %s after", n, cmp.Or(x, "none"), cmp.Or(y, "none")))
		}
	}
	if len(versions) > 0 {
		list = append(list, cause{"versions", strings.Join(versions, "; ")})
	}
	return list
}

// mostPairs is how many pairs of values a cause has at most. More are summed up.
const mostPairs = 3

// causeWords say what differs of a trait, and where.
func (c *Comparison) causeWords(of []Difference) string {
	pairs, where := gathered(of), c.where(of)
	if of[0].What == "scenario file" {
		return "changed in " + where // a digest tells nobody anything
	}
	before, after := map[string]bool{}, map[string]bool{}
	for _, p := range pairs {
		before[p.Before], after[p.After] = true, true
	}
	var said []string
	switch {
	case len(pairs) <= mostPairs:
		for _, p := range pairs {
			text := fmt.Sprintf("%s before, %s after", p.Before, p.After)
			if len(pairs) > 1 {
				text += fmt.Sprintf(" (%d×)", len(p.Places))
			}
			said = append(said, text)
		}
	case len(after) == 1:
		said = append(said, fmt.Sprintf("%d different ones before, %s after", len(before), pairs[0].After))
	case len(before) == 1:
		said = append(said, fmt.Sprintf("%s before, %d different ones after", pairs[0].Before, len(after)))
	default:
		slices.SortStableFunc(pairs, func(x, y common) int { return len(y.Places) - len(x.Places) })
		p := pairs[0]
		said = append(said, fmt.Sprintf("most often %s before, %s after (%d×)", p.Before, p.After, len(p.Places)))
	}
	return strings.Join(said, "; ") + ", in " + where
}

// where names the places of differences, or counts their scenarios.
func (c *Comparison) where(of []Difference) string {
	var names, places []string
	for _, d := range of {
		if !slices.Contains(names, d.Scenario) {
			names = append(names, d.Scenario)
		}
		places = append(places, d.place())
	}
	switch {
	case len(places) <= mostPairs:
		return strings.Join(places, ", ")
	case len(names) > 1 && len(names) == c.scenarios:
		return "all " + words.Count(len(names), "scenario")
	}
	return fmt.Sprintf("%s of %s", words.Grouped(len(names)), words.Count(c.scenarios, "scenario"))
}
