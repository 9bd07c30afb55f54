package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// completion is what cobra asks when a user presses the tab key.
type completion = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

func register(c *cobra.Command, flag string, complete completion) {
	if err := c.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag does not exist, or is registered twice
	}
}

// registerWords completes a flag that takes one of the words.
func registerWords(c *cobra.Command, flag string, words []string) {
	register(c, flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return beginning(words, typed), cobra.ShellCompDirectiveNoFileComp
	})
}

// registerList completes a flag that takes a list of the words, separated by commas.
func registerList(c *cobra.Command, flag string, words []string) {
	register(c, flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		given := strings.Split(typed, ",")
		given, last := given[:len(given)-1], given[len(given)-1]
		var list []string
		for _, w := range beginning(words, last) {
			if !slices.Contains(given, w) {
				list = append(list, strings.Join(append(slices.Clone(given), w), ","))
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

func beginning(words []string, with string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, with) })
}

// registerTarget completes what is explored: the variants of the scenario that is named
// already, and the properties.
func registerTarget(c *cobra.Command) {
	registerList(c, "property", words.Texts(checker.Properties()))
	register(c, "variant", func(_ *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			if s, err := app.LoadOne(args[0]); err == nil {
				for i := range s.Variants {
					names = append(names, s.Variants[i].Name)
				}
			}
		}
		return beginning(names, typed), cobra.ShellCompDirectiveNoFileComp
	})
}

// registerSwitches completes the safety rules of the lock that is named already, or of any.
func registerSwitches(c *cobra.Command) {
	register(c, "switch", func(_ *cobra.Command, args []string, typed string) (rules []string, _ cobra.ShellCompDirective) {
		for _, s := range lock.Switches() {
			rules = append(rules, s.Name)
		}
		if len(args) > 0 {
			if known, ok := lock.Lookup(args[0]); ok {
				rules = known.Mistakes.Rules()
			}
		}
		return beginning(rules, typed), cobra.ShellCompDirectiveNoFileComp
	})
}

// oneScenario completes the only argument of a command, and manyScenarios each.
func oneScenario(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return manyScenarios(c, args, typed)
}

// manyScenarios completes the names of shipped scenarios, of files and of folders.
func manyScenarios(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	list, directive := beginning(append(scenario.Shipped(), scenario.All), typed), cobra.ShellCompDirectiveNoFileComp
	files, _ := filepath.Glob(typed + "*") // no pattern: no files
	for _, file := range files {
		info, err := os.Stat(file)
		switch {
		case err != nil:
		case info.IsDir():
			list, directive = append(list, file+"/"), directive|cobra.ShellCompDirectiveNoSpace
		case scenario.IsFile(file):
			list = append(list, file)
		}
	}
	return list, directive
}
