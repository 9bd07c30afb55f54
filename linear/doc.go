// Package linear decides whether a history of concurrent operations is linearizable: whether
// there is an order of the operations, each at an instant between its call and its
// return, that a sequential model allows. Where there is none, it shows few operations
// that cannot be explained together.
//
// [Problem.Check] tries three ways, one after the other. Direct algorithms know counters,
// registers whose written values are unique, lists, stocks, jobs and locks, and answer in
// about the time that it takes to sort the history. The frontier search knows every model and
// is fast while few outcomes are unknown. Porcupine goes deep where the frontier search goes
// wide. An answer Legal or Illegal is true of the history; what could not be decided
// within the bounds, or what is no history at all, is Undecided.
//
// Operations have numbers, not values of any type: lists and texts stand beside the
// operations and are named by their index, so that a million operations need little
// memory. An operation whose outcome is unknown returns at [Never].
//
// DESIGN.md has the arguments for the direct algorithms. docs/internals/checker.md compares
// them with porcupine; `go test -bench Check/` measures it.
package linear
