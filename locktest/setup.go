package locktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Defaults of a Config.
const (
	defaultTTL = time.Second
	defaultFor = 30 * time.Second
	shortFor   = 3 * time.Second
)

// filled has the defaults where the Config has nothing.
func (c Config) filled() Config {
	number := func(n *int, standard int) {
		if *n == 0 {
			*n = standard
		}
	}
	number(&c.Nodes, 1)
	number(&c.Clients, 3)
	number(&c.Sections, 3)
	if c.TTL == 0 {
		c.TTL = defaultTTL
	}
	if c.Think == 0 {
		c.Think = c.TTL / 10
		if c.renews() {
			c.Think += 3*c.TTL + c.TTL/10
		}
	}
	if c.Kinds == nil {
		c.Kinds = DefaultKinds()
	}
	if c.Properties == nil {
		c.Properties = []Property{ExclusiveLease, BackedGrant}
	}
	if c.For == 0 {
		c.For = defaultFor
		if testing.Short() {
			c.For = shortFor
		}
	}
	return c
}

// renews reports that the lock renews itself.
func (c Config) renews() bool { return slices.Contains(c.Properties, StaysHeld) }

// check says what is wrong with a Config.
func (c Config) check() (err error) {
	for _, k := range c.Kinds {
		if !slices.Contains(Kinds(), k) {
			err = errors.Join(err, fmt.Errorf("Config.Kinds: no fault %q can be drawn; there are %v", k, Kinds()))
		}
	}
	for _, p := range c.Properties {
		if !slices.Contains(checker.Properties(), checker.Property(p)) {
			err = errors.Join(err, fmt.Errorf("Config.Properties: there is no property %q", p))
		}
	}
	if len(c.Kinds) == 0 || len(c.Properties) == 0 || c.Seeds < 0 || c.For < 0 {
		err = errors.Join(err, errors.New("Config: there must be a kind, a property, and time or seeds to search"))
	}
	return err
}

// properties are those of the Config, the closest to the cause first.
func (c Config) properties() (list []checker.Property) {
	for _, p := range checker.Properties() {
		if slices.Contains(c.Properties, Property(p)) {
			list = append(list, p)
		}
	}
	return list
}

// standIn stands in the scenario for the lock: whoever runs it on real servers puts an adapter
// in its place.
const standIn = "./your-lock"

// attempts is how often a built-in lock would try in the scenario, a fiftieth of the TTL apart:
// an acquire may take three TTLs.
const attempts = 150

// limit bounds a run, in its own time.
const limit = time.Minute

// scenario is what is searched. It comes as text, for that is what a search begins with.
func (c Config) scenario(test string) (*scenario.Scenario, error) {
	var expect []string
	for _, p := range c.Properties {
		expect = append(expect, fmt.Sprintf("%s: holds", p))
	}
	keys, err := json.Marshal(append([]string{}, c.Keys...)) // YAML takes it, too
	if err != nil {
		return nil, fmt.Errorf("Config.Keys: %w", err)
	}
	fencing := ""
	if slices.Contains(c.Properties, HolderServed) {
		fencing = fmt.Sprintf("fencing: {tokens: %s}\n", lock.SingleCounter) // of a program it says that it tells tokens, no more
	}
	text := fmt.Sprintf(`name: %s
title: %q
lock: {program: {command: [%s], keys: %s}, ttl: %v, node_timeout: %v, retry: {attempts: %d, delay: %v, jitter: 0s}}
nodes: {count: %d, persistence: aof-always}
workload: {kind: increment, clients: %d, sections: %d, start: together, think: %v}
time_limit: %v
expect: {%s}
%s`, nameOf(test), "The lock of "+test, standIn, keys, c.TTL, c.TTL/20, attempts, c.TTL/50,
		c.Nodes, c.Clients, c.Sections, c.Think, limit, strings.Join(expect, ", "), fencing)
	s, err := scenario.Parse("Config", []byte(text))
	if err != nil {
		return nil, fmt.Errorf("the Config makes no scenario: %w", err)
	}
	return s, nil
}

var noName = regexp.MustCompile(`[^a-z0-9]+`)

// nameOf makes the name of a scenario of that of a test.
func nameOf(test string) string {
	name := strings.Trim(noName.ReplaceAllString(strings.ToLower(test), "-"), "-")
	return name[:min(len(name), 40)]
}

// kinds are the faults to draw as a search knows them.
func (c Config) kinds() (list []string) {
	for _, k := range c.Kinds {
		if k == Wipe {
			k = Kill
		}
		if !slices.Contains(list, string(k)) {
			list = append(list, string(k))
		}
	}
	return list
}

// allows says whether a fault may be drawn: a bubble has one clock for all clients, and of the
// ways to kill only those are meant that the Config names.
func (c Config) allows(f *scenario.Fault) bool {
	switch {
	case slices.Contains(nemesis.PowersOf(f.Kind, f.Params), world.ClientClockPower):
		return false
	case f.Kind == string(Kill) && nemesis.Wipes(f.Params):
		return slices.Contains(c.Kinds, Wipe)
	case f.Kind == string(Kill):
		return slices.Contains(c.Kinds, Kill)
	}
	return true
}
