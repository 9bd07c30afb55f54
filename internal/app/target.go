package app

import (
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Load reads all files and folders named, and the shipped scenarios.
func Load(args ...string) ([]*scenario.Scenario, error) {
	list, err := scenario.LoadAll(args...)
	if err != nil {
		return nil, &ExitError{ExitUsage, err}
	}
	return list, nil
}

// LoadOne reads one scenario.
func LoadOne(file string) (*scenario.Scenario, error) {
	list, err := Load(file)
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, Usagef("%s has %s: name one", file, words.Count(len(list), "scenario"))
	}
	return list[0], nil
}

// VariantOf is the variant with a name; empty: the first.
func VariantOf(s *scenario.Scenario, name string) (*scenario.Variant, error) {
	var names []string
	for i := range s.Variants {
		if name == "" || name == s.Variants[i].Name {
			return &s.Variants[i], nil
		}
		names = append(names, s.Variants[i].Name)
	}
	return nil, Usagef("%s has no variant %q", s.Name, name).Unknown(name, names)
}

// LoadTarget reads the scenario of a target for the virtual world, and finds its variant and the properties: those of the target, or else
// the standard ones that suit the scenario.
func LoadTarget(t request.Target, standard []checker.Property) (
	s *scenario.Scenario, v *scenario.Variant, properties []checker.Property, err error,
) {
	if s, err = LoadOne(t.Scenario); err != nil {
		return nil, nil, nil, err
	}
	if v, err = VariantOf(s, t.Variant); err != nil {
		return nil, nil, nil, err
	}
	if v.Setup.Lock.Program != nil {
		return nil, nil, nil, Usagef("%s names a lock program: locks of sim alone are swept and exhausted", s.File).
			Hint("sim run %s --world virtual --allow-programs runs it; sim search %s --allow-programs searches it", s.File, s.File)
	}
	if len(t.Properties) == 0 {
		return s, v, v.Setup.Judged(standard), nil
	}
	properties, err = propertiesOf(t.Properties)
	return s, v, properties, err
}

// propertiesOf are the properties with these names.
func propertiesOf(names []string) (properties []checker.Property, err error) {
	for _, name := range names {
		if !slices.Contains(checker.Properties(), checker.Property(name)) {
			return nil, Usagef("--property: no property %q", name).Unknown(name, words.Texts(checker.Properties()))
		}
		properties = append(properties, checker.Property(name))
	}
	return properties, nil
}

// checkWorld refuses a world that there is not.
func checkWorld(world string) error {
	if world != request.Live && world != request.Virtual {
		known := []string{request.Live, request.Virtual}
		return Usagef("--world %q: want %s", world, strings.Join(known, " or ")).Unknown(world, known)
	}
	return nil
}

// checkNodes refuses what nodes cannot be in a world, and a program of servers that are not started. providers are what they can be.
func checkNodes(world, nodes, redis string, providers []server.Provider) error {
	if !slices.Contains(providers, server.Provider(nodes)) {
		known := words.Texts(providers)
		return Usagef("--nodes %q: want one of %s in the %s world", nodes, strings.Join(known, ", "), world).Unknown(nodes, known)
	}
	if p := server.Provider(nodes); redis != "" && p != server.Process && p != server.Auto {
		return Usagef("--redis names the program of nodes that are processes, and --nodes is %s", nodes).Hint("--nodes process")
	}
	return nil
}
