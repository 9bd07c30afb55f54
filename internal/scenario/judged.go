package scenario

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/checker"
)

// OfTokens are the properties of tokens that order the grants, and of the fence that checks them.
func OfTokens() []checker.Property {
	return []checker.Property{checker.HolderServed, checker.OrderedTokens}
}

// OfPermits are those that are judged of a lock alone that several clients may hold at once.
func OfPermits() []checker.Property { return []checker.Property{checker.WithinPermits} }

// Judged are the properties that a search judges where nobody names any: the standard ones, and where tokens order the grants, those
// of tokens. A lock that several clients may hold at once is judged by who holds it beside whom, and by those of the standard ones that
// are not about one holder.
func (s *Setup) Judged(standard []checker.Property) []checker.Property {
	if s.InOrder() {
		standard = append(slices.Clone(standard), checker.Fairness)
	}
	if s.Shares() {
		standard = slices.DeleteFunc(slices.Clone(standard), checker.Property.OfOneHolder)
		return append(standard, OfPermits()...)
	}
	if !s.Fencing.Tokens.Ordered() {
		return standard
	}
	return slices.Concat(standard, OfTokens())
}
