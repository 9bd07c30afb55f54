package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
)

// flagElsewhere says of flags that a command does not have, but that users look for, what does it.
var flagElsewhere = map[string]string{
	"sim search --lock-of":  runsTwo,
	"sim soak --lock-of":    runsTwo,
	"sim audit --lock-of":   runsTwo,
	"sim conform --lock-of": runsTwo,
	"sim run --variant":     "sim run runs all variants; sim explain and sim search take one with --variant",
	"sim run --fault":       "the scenario names its faults: sim list faults lists the kinds; sim search --kinds chooses kinds of random ones",
	"sim search --fault":    "sim search --kinds chooses kinds of faults; sim list faults lists them",
}

// runsTwo: all else is about one lock.
const runsTwo = "sim run --lock NEW --lock-of c1=OLD runs two versions of a lock beside each other; this command is about one lock"

// flagError is what the flag parser complains of, in the form of all other complaints: which flag was probably meant, and what its value
// has to be.
func flagError(c *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && len(unknown.GetSpecifiedName()) > 1 {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		if hint := flagElsewhere[c.CommandPath()+" --"+unknown.GetSpecifiedName()]; hint != "" {
			return app.Usagef("%w", err).Hint("%s", hint)
		}
		if best := yamlform.Nearest(unknown.GetSpecifiedName(), names); best != "" {
			return app.Usagef("%w", err).Hint("did you mean --%s?", best)
		}
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if want := valueWords(invalid.GetFlag().Value.Type()); want != "" {
			err = fmt.Errorf("--%s %q: want %s", invalid.GetFlag().Name, invalid.GetValue(), want)
		}
	}
	return app.Usagef("%w", err).Hint("%s --help", c.CommandPath())
}

// valueWords says what the values of a type of flags are; empty: the parser's own words do.
func valueWords(kind string) string {
	switch kind {
	case "uint", "uint64", "uint32":
		return "a whole number, 0 or more"
	case "int", "int64", "int32":
		return "a whole number"
	case "float64":
		return "a number"
	case "duration":
		return "a duration such as 500ms, 10s or 5m"
	case "bool":
		return "true or false"
	}
	return ""
}

// argumentsError is cobra's complaint about how many arguments there are: by which rule, how many are wanted, how many there were.
var argumentsError = regexp.MustCompile(`^(accepts|accepts at most|accepts between|requires at least) ([0-9]+(?: and [0-9]+)?) arg\(s\), ` +
	`(?:only )?received ([0-9]+)$`)

// argumentsWords say how many arguments are wanted.
func argumentsWords(rule, wanted string) string {
	more := map[string]string{"accepts at most": "at most ", "accepts between": "between ", "requires at least": "at least "}[rule]
	if wanted == "1" {
		return more + "1 argument"
	}
	return more + wanted + " arguments"
}

// commandError gives cobra's complaint about a command that there is not the form of all others. Cobra has a type for neither.
func commandError(root *cobra.Command, args []string, err error) error {
	text := err.Error()
	if m := argumentsError.FindStringSubmatch(text); m != nil {
		if c, _, _ := root.Find(args); c != nil {
			return app.Usagef("%s takes %s, not %s", strings.TrimPrefix(c.CommandPath(), "sim "), argumentsWords(m[1], m[2]), m[3]).
				Hint("%s", strings.TrimSuffix(c.UseLine(), " [flags]"))
		}
	}
	if !strings.HasPrefix(text, "unknown command ") {
		return err
	}
	first, _, _ := strings.Cut(text, "\n")
	at, _, _ := root.Find(args)
	if at == nil {
		at = root
	}
	got := ""
	for _, word := range args[min(len(args), strings.Count(at.CommandPath(), " ")):] {
		if !strings.HasPrefix(word, "-") {
			got = word
			break
		}
	}
	var names []string
	for _, c := range at.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	if len(names) == 0 {
		return app.Usagef("%s takes no such argument: %q", at.CommandPath(), got).Hint("%s --help", at.CommandPath())
	}
	if best := yamlform.Nearest(got, names); best != "" {
		return app.Usagef("%s", first).Hint("did you mean %s %s?", at.CommandPath(), best)
	}
	return app.Usagef("%s", first).Hint("%s --help", at.CommandPath())
}
