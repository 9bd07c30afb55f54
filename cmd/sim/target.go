package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// target is what is explored: a variant of a scenario, for the sake of some properties.
type target struct {
	variant    string
	properties []string
	// asked reports that the properties are those of --property; nil: they are. Else they are standard, and those of a fence.
	asked    func() bool
	standard []checker.Property
}

func (t *target) flags(c *cobra.Command, usage string, standard ...checker.Property) {
	c.Flags().StringVar(&t.variant, "variant", "", "the variant to run (default: the first)")
	c.Flags().StringSliceVar(&t.properties, "property", nil, fmt.Sprintf("%s (default: %s; if tokens order the grants, also %s)",
		usage, strings.Join(wordsOf(standard), ","), strings.Join(wordsOf(scenario.OfTokens()), ",")))
	t.asked, t.standard = func() bool { return c.Flags().Changed("property") }, standard
	registerTarget(c)
}

// load reads the scenario, and finds its variant and the properties.
func (t *target) load(file string) (s *scenario.Scenario, v *scenario.Variant, properties []checker.Property, err error) {
	if s, err = loadOne(file); err != nil {
		return nil, nil, nil, err
	}
	if v, err = variantOf(s, t.variant); err != nil {
		return nil, nil, nil, err
	}
	if v.Setup.Lock.Program != nil {
		return nil, nil, nil, usageError("%s: %w\nhint: sim run %s --allow-programs", s.File, trial.ErrNotVirtual, s.File)
	}
	if t.asked != nil && !t.asked() {
		return s, v, v.Setup.Judged(t.standard), nil
	}
	properties, err = t.wanted()
	return s, v, properties, err
}

// wanted are the properties.
func (t *target) wanted() (properties []checker.Property, err error) {
	for _, name := range t.properties {
		if !slices.Contains(checker.Properties(), checker.Property(name)) {
			return nil, usageError("--property: no property %q\nhint: sim list properties", name)
		}
		properties = append(properties, checker.Property(name))
	}
	if len(properties) == 0 {
		return nil, usageError("--property: name at least one")
	}
	return properties, nil
}

// loadOne reads one scenario.
func loadOne(file string) (*scenario.Scenario, error) {
	list, err := loadScenarios(file)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, usageError("%s has %s: name one", file, words.Count(len(list), "scenario"))
	}
	return list[0], nil
}

func variantOf(s *scenario.Scenario, name string) (*scenario.Variant, error) {
	var names []string
	for i := range s.Variants {
		if name == "" || name == s.Variants[i].Name {
			return &s.Variants[i], nil
		}
		names = append(names, s.Variants[i].Name)
	}
	return nil, usageError("%s has no variant %q\nhint: it has %s", s.Name, name, strings.Join(names, ", "))
}

// within ends a context after a time; 0: it has no end of its own.
func within(ctx context.Context, lasts time.Duration) (context.Context, context.CancelFunc) {
	if lasts > 0 {
		return context.WithTimeout(ctx, lasts)
	}
	return context.WithCancel(ctx)
}
