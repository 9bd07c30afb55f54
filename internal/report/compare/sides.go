package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
)

// Difference is what sets the two sides of a comparison themselves apart.
type Difference struct {
	Scenario string `json:"scenario"`
	Variant  string `json:"variant,omitempty"`
	// What is the world, the nodes, the settings or the scenario's file.
	What   string `json:"what"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// words say a difference in a line.
func (d Difference) words() string {
	return fmt.Sprintf("%s: %s before, %s after", d.What, d.Before, d.After)
}

func (d Difference) place() string { return placeOf(d.Scenario, d.Variant) }

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
var traits = []string{"world", "nodes", "settings", "scenario file"}

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
		if r.World == "virtual" {
			add(r.Scenario, "", noRealTime, "yes")
		}
		add(r.Scenario, "", "settings", strings.Join(r.Facts, ", "))
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

// differencesOf says in what the sides differ, of all that both have.
func differencesOf(a, b []*report.Result) []Difference {
	before, after := sidesOf(a), sidesOf(b)
	var list []Difference
	for _, k := range slices.SortedFunc(maps.Keys(before), func(x, y [2]string) int { return slices.Compare(x[:], y[:]) }) {
		x, y := before[k], after[k]
		for _, trait := range traits {
			if y != nil && !slices.Equal(x[trait], y[trait]) && comparable(trait, x, y) {
				list = append(list, Difference{k[0], k[1], trait, alternatives(x[trait]), alternatives(y[trait])})
			}
		}
	}
	return list
}

// comparable reports that both sides can have a trait.
func comparable(trait string, x, y side) bool {
	if trait == "nodes" { // the virtual world has no provider of nodes
		return slices.Equal(x["world"], y["world"])
	}
	if trait == "scenario file" { // not known of results of earlier versions
		return len(x[trait]) > 0 && len(y[trait]) > 0
	}
	return true
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
