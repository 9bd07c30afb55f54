package app

import (
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
)

// Unknown adds to the complaint about a word that is none of those that are known which of them was probably meant, or else which there
// are.
func (e *ExitError) Unknown(got string, known []string) *ExitError {
	if best := yamlform.Nearest(got, known); best != "" {
		return e.Hint("did you mean %s?", best)
	}
	return e.Hint("there are %s", strings.Join(known, ", "))
}
