package scenario

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker"
)

// OfTokens are the properties of tokens that order the grants, and of the fence that checks them.
func OfTokens() []checker.Property {
	return []checker.Property{checker.HolderServed, checker.OrderedTokens}
}

// Judged are the properties that a search judges where nobody names any: the standard ones, and where tokens order the grants, those
// of tokens.
func (s *Setup) Judged(standard []checker.Property) []checker.Property {
	if !s.Fencing.Tokens.Ordered() {
		return standard
	}
	return slices.Concat(standard, OfTokens())
}
