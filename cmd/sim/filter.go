package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// filter chooses scenarios among those that were named.
type filter struct {
	match string
	tags  []string
}

func (f *filter) flags(c *cobra.Command) {
	c.Flags().StringVar(&f.match, "match", "", "take only scenarios whose name matches this regular expression")
	c.Flags().StringSliceVar(&f.tags, "tag", nil, "take only scenarios with this tag, or one of these")
	_ = c.RegisterFlagCompletionFunc("tag", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			args = []string{scenario.All}
		}
		list, _ := scenario.LoadAll(args...)
		return tagsOf(list), cobra.ShellCompDirectiveNoFileComp
	})
}

// choose leaves the scenarios that pass. It is a mistake if none does.
func (f *filter) choose(list []*scenario.Scenario) ([]*scenario.Scenario, error) {
	names, err := regexp.Compile(f.match)
	if err != nil {
		return nil, usageError("--match: %w", err)
	}
	known := tagsOf(list)
	for _, tag := range f.tags {
		if !slices.Contains(known, tag) {
			return nil, usageError("--tag: no scenario here has the tag %q\nhint: there are %s", tag, strings.Join(known, ", "))
		}
	}
	if names.String() == "" && len(f.tags) == 0 {
		return list, nil
	}
	left := slices.DeleteFunc(slices.Clone(list), func(s *scenario.Scenario) bool {
		return !names.MatchString(s.Name) || len(f.tags) > 0 && !slices.ContainsFunc(f.tags, s.HasTag)
	})
	if len(left) == 0 {
		return nil, usageError("no scenario is left: --match and --tag fit none of %d", len(list))
	}
	return left, nil
}

// tagsOf lists the tags of scenarios.
func tagsOf(list []*scenario.Scenario) []string {
	tags := make(map[string]bool)
	for _, s := range list {
		for _, tag := range s.Tags {
			tags[tag] = true
		}
	}
	return slices.Sorted(maps.Keys(tags))
}
