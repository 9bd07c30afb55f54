package app

import (
	"maps"
	"regexp"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// chosen leaves the scenarios that match, and have one of the tags. It is a mistake if none does.
func chosen(list []*scenario.Scenario, match string, tags []string) ([]*scenario.Scenario, error) {
	names, err := regexp.Compile(match)
	if err != nil {
		return nil, Usagef("--match: %w", err)
	}
	known := TagsOf(list)
	for _, tag := range tags {
		if !slices.Contains(known, tag) {
			return nil, Usagef("--tag: no scenario here has the tag %q", tag).Unknown(tag, known)
		}
	}
	if match == "" && len(tags) == 0 {
		return list, nil
	}
	left := slices.DeleteFunc(slices.Clone(list), func(s *scenario.Scenario) bool {
		return !names.MatchString(s.Name) || len(tags) > 0 && !slices.ContainsFunc(tags, s.HasTag)
	})
	if len(left) == 0 {
		return nil, Usagef("no scenario is left: --match and --tag fit none of %d", len(list))
	}
	return left, nil
}

// TagsOf lists the tags of scenarios.
func TagsOf(list []*scenario.Scenario) []string {
	tags := make(map[string]bool)
	for _, s := range list {
		for _, tag := range s.Tags {
			tags[tag] = true
		}
	}
	return slices.Sorted(maps.Keys(tags))
}
