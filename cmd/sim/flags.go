package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// targetFlags say which variant of a scenario is explored, and for the sake of which properties.
func targetFlags(c *cobra.Command, t *request.Target, usage string, standard ...checker.Property) {
	list := func(names []checker.Property) string { return strings.Join(words.Texts(names), ", ") }
	var semaphore scenario.Setup
	semaphore.Lock.Permits = 2
	c.Flags().StringVar(&t.Variant, "variant", "", "the variant to run (default: the first)")
	const text = "%s (default: %s; if tokens order the grants, also %s; of a semaphore %s)"
	c.Flags().Var(&properties{&t.Properties}, "property", fmt.Sprintf(text,
		usage, list(standard), list(scenario.OfTokens()), list(semaphore.Judged(standard))))
	registerTarget(c)
}

// properties is a list of names of properties, separated by commas, that is not empty.
type properties struct{ list *[]string }

// String implements pflag.Value.
func (p *properties) String() string {
	if p.list == nil {
		return ""
	}
	return strings.Join(*p.list, ",")
}

// Type implements pflag.Value.
func (p *properties) Type() string { return "strings" }

// Set implements pflag.Value.
func (p *properties) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			*p.list = append(*p.list, name)
		}
	}
	if len(*p.list) == 0 {
		return fmt.Errorf("name at least one")
	}
	return nil
}

// durationFlag is a flag for a duration, which is as it is where the flag is not given.
func durationFlag(c *cobra.Command, to *request.Duration, name, usage string) {
	c.Flags().DurationVar((*time.Duration)(to), name, time.Duration(*to), usage)
}

// shardFlag is the flag of the commands whose work several machines can share.
func shardFlag(c *cobra.Command, text *string) {
	c.Flags().StringVar(text, "shard", "", "do one of n equal parts of the work, as i/n: "+
		"2/4 is the second of four; its results are stored below shards/ in the --out folder, for sim merge")
}

// partOf reads --shard; nil: it is not given.
func partOf(text string, seedGiven bool) (*request.Shard, error) {
	if text == "" {
		return nil, nil
	}
	s, err := request.ParseShard(text)
	if err != nil {
		return nil, app.Usagef("--shard %w", err).Hint("--shard 1/4 on the first of four machines, --shard 4/4 on the last")
	}
	if !seedGiven {
		return nil, app.Usagef("--shard needs --seed, the same for all shards").
			Hint("--seed 42, or in CI the number of the job's run")
	}
	return &s, nil
}

// addJSON lets --json stand for --format json, as other commands have it.
func addJSON(c *cobra.Command) {
	c.Flags().BoolFunc("json", "print it as JSON: the same as --format json", func(string) error { return c.Flags().Set("format", "json") })
}
