package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/audit"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// listed is one thing that sim list shows. The help text explains its fields.
type listed struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	File     string   `json:"file,omitempty"`
	Promise  string   `json:"guarantee,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Variants []string `json:"variants,omitempty"`
	Nodes    string   `json:"nodes,omitempty"`
	Tokens   []string `json:"tokens,omitempty"`
	Switches []string `json:"switches,omitempty"`
	Settings []string `json:"settings,omitempty"`
	On       string   `json:"on,omitempty"`
	Off      string   `json:"off,omitempty"`
	NotHere  string   `json:"not_here,omitempty"`
}

// topics are what can be listed.
var topics = []struct {
	name, title string
	// list takes the folders that were named, which only scenarios read.
	list func(a *cli, folders []string) ([]listed, error)
}{
	{"scenarios", "those of sim.yaml and those that sim ships, or those in FOLDER", listScenarios},
	{"cases", "cases of sim audit: what it puts to a lock, by their permanent IDs", always(listCases)},
	{"guarantees", "guarantee: what a lock can promise, and a scenario puts to the test", always(listGuarantees)},
	{"locks", "lock.algorithm", always(listLocks)},
	{"switches", "lock.switches: safety rules that can be switched off", always(listSwitches)},
	{"tokens", "fencing.tokens: where fencing tokens come from", always(listTokens)},
	{"fences", "fencing.check: how the resource checks tokens", always(listFences)},
	{"workloads", "workload.kind: what clients do", always(listWorkloads)},
	{"faults", "faults: what can strike", listFaults},
	{"properties", "expect, demands, --property: what is judged", always(listProperties)},
}

func newListCommand(a *cli) *cobra.Command {
	var lines strings.Builder
	for _, t := range topics {
		fmt.Fprintf(&lines, "  %-12s %s\n", t.name, t.title)
	}
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [TOPIC] [FOLDER]",
		Short: "List scenarios, locks, faults, properties and more",
		Long: `List what can be run, and what can stand in a scenario. The topics, with the place of
their words in a scenario:

` + lines.String() + `
--json prints an array of objects. All have name and title. A scenario has also file,
which is what sim run takes, guarantee, tags and variants; a lock nodes, tokens and
switches; a switch on and off, the words for the rule and for the mistake; a workload
the settings that only it reads; a fault not_here, if this machine lacks what it needs.`,
		Example: `  sim list                     the scenarios that sim ships
  sim list scenarios locks/    the scenarios in a folder
  sim list locks
  sim list scenarios --json`,
		Args: cobra.MaximumNArgs(2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			switch {
			case len(args) == 0:
				return beginning(topicNames(), typed), cobra.ShellCompDirectiveNoFileComp
			case len(args) == 1 && args[0] == topics[0].name:
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			topic, folders := topics[0].name, args[min(len(args), 1):]
			if len(args) > 0 {
				topic = args[0]
			}
			list, err := a.list(topic, folders)
			if err != nil {
				return err
			}
			return a.printList(list, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the list as JSON on stdout")
	return c
}

func topicNames() (names []string) {
	for _, t := range topics {
		names = append(names, t.name)
	}
	return names
}

// list is what there is of a topic. Only scenarios are in folders.
func (a *cli) list(topic string, folders []string) ([]listed, error) {
	names := topicNames()
	at := slices.Index(names, topic)
	switch {
	case at < 0:
		err := app.Usagef("nothing to list under %q", topic)
		if best := yamlform.Nearest(topic, names); best != "" {
			return nil, err.Hint("did you mean sim list %s?", best)
		}
		return nil, err.Hint("sim list takes one of %s", strings.Join(names, ", "))
	case at > 0 && len(folders) > 0:
		return nil, app.Usagef("only scenarios are in a folder").Hint("sim list %s", topic)
	}
	return topics[at].list(a, folders)
}

func (a *cli) printList(list []listed, asJSON bool) error {
	if asJSON {
		return a.printIndented(list)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 3, ' ', 0)
	for _, l := range list {
		fmt.Fprintf(w, "%s\t%s", cmp.Or(l.File, l.Name), l.Title)
		if l.NotHere != "" {
			fmt.Fprintf(w, " [not here: %s; hint: sim doctor]", l.NotHere)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// always is a list that no folder changes.
func always(list func() []listed) func(*cli, []string) ([]listed, error) {
	return func(*cli, []string) ([]listed, error) { return list(), nil }
}

// listScenarios lists those in the folders; without any those of the project and those that
// sim ships.
func listScenarios(a *cli, folders []string) (list []listed, err error) {
	if len(folders) == 0 {
		folders = append(slices.Clone(a.project.Scenarios), scenario.All)
	}
	scenarios, err := app.Load(folders...)
	for _, s := range scenarios {
		l := listed{Name: s.Name, Title: s.Title, File: s.File, Promise: string(s.Guarantee), Tags: s.Tags}
		for i := range s.Variants {
			l.Variants = append(l.Variants, s.Variants[i].Name)
		}
		list = append(list, l)
	}
	return list, err
}

func listCases() (list []listed) {
	scenarios, _ := scenario.LoadAll(scenario.All) // they ship with sim, and can be read
	for _, s := range audit.Cases(scenarios) {
		list = append(list, listed{Name: audit.ID(s), Title: s.Title})
	}
	return list
}

func listGuarantees() (list []listed) {
	for _, g := range scenario.Guarantees() {
		list = append(list, listed{Name: string(g), Title: g.Title()})
	}
	return list
}

func listLocks() (list []listed) {
	for _, a := range lock.Algorithms() {
		list = append(list, listed{Name: a.Name, Title: a.Title, Nodes: a.NodeRange(),
			Tokens: words.Texts(a.Tokens), Switches: a.Mistakes.Rules()})
	}
	return list
}

func listSwitches() (list []listed) {
	for _, s := range lock.Switches() {
		list = append(list, listed{Name: s.Name, Title: s.Title, On: s.On, Off: s.Off})
	}
	return list
}

func listTokens() (list []listed) {
	for _, t := range lock.AllTokens() {
		list = append(list, listed{Name: string(t), Title: t.Title()})
	}
	return list
}

func listFences() (list []listed) {
	for _, f := range resource.Fences() {
		list = append(list, listed{Name: string(f), Title: f.Title()})
	}
	return list
}

func listWorkloads() (list []listed) {
	for _, name := range workload.Names() {
		w := workload.Of(name)
		list = append(list, listed{Name: string(name), Title: w.Title, Settings: w.Settings})
	}
	return list
}

func listFaults(a *cli, _ []string) (list []listed, err error) {
	for _, k := range nemesis.Kinds() {
		list = append(list, listed{Name: k.Name, Title: k.Title, NotHere: a.lacking(k)})
	}
	return list, nil
}

func listProperties() (list []listed) {
	for _, p := range checker.Properties() {
		list = append(list, listed{Name: string(p), Title: p.Title()})
	}
	return list
}

// lacking says what of a kind this machine cannot do in the live world, where it has one.
func (a *cli) lacking(k nemesis.Kind) string {
	if a.env().Live() != nil {
		return ""
	}
	for _, p := range k.Powers {
		if err := server.Available(p); err != nil {
			return fmt.Sprintf("%s: %v", p, err)
		}
	}
	return ""
}
