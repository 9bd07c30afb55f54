// Package linear decides whether a history of operations has an explanation: an
// order of the operations, each at an instant between its call and its return,
// that a model of the thing they were done to allows. It has two ways to decide:
// porcupine, the reference, which knows every model, and direct algorithms, which
// know some models and answer in about the time it takes to sort the history.
package linear

import "math"

// Never is the return of an operation whose outcome is unknown: it may take
// effect at any time after its call, or not at all.
const Never = math.MaxInt64

// Kind is what an operation does.
type Kind uint8

// The kinds. What A and B mean is said beside each.
const (
	// Acquire takes a lock; A is the grant's token, NoToken where it has none.
	Acquire Kind = iota + 1
	// Release gives a lock back.
	Release
	// Expire ends a hold at the instant that was promised.
	Expire
	// Read saw the value A.
	Read
	// Write wrote the value A.
	Write
	// CAS found the value A and wrote B.
	CAS
	// CASFailed wanted A, saw something else and changed nothing.
	CASFailed
)

// Op is one operation. An operation with Return == Never is optional: it may be
// left out of an explanation. All others must find their place in it.
type Op struct {
	// Call and Return bound the operation. The interval is closed: where one
	// operation returns at the instant at which another is called, the two are
	// concurrent, because stamps are coarser than the order of things.
	Call, Return int64
	// A and B are the values of the operation; see Kind.
	A, B int64
	// Process is who did it.
	Process int32
	Kind    Kind
}

// Optional reports whether an explanation may leave the operation out.
func (o *Op) Optional() bool { return o.Return == Never }

// Outcome is what a decision came to.
type Outcome uint8

const (
	// Legal: there is an explanation.
	Legal Outcome = iota + 1
	// Illegal: there is none.
	Illegal
	// Undecided: the search was given up.
	Undecided
)

var outcomeNames = [...]string{Legal: "legal", Illegal: "illegal", Undecided: "undecided"}

func (o Outcome) String() string {
	if int(o) < len(outcomeNames) && outcomeNames[o] != "" {
		return outcomeNames[o]
	}
	return "none"
}

// Result is a decision.
type Result struct {
	Outcome Outcome
	// Witness are operations, as indices, that cannot be explained whatever the
	// others did. Only direct algorithms name one.
	Witness []int
	// Why says, where the outcome is Illegal, what is wrong, and where it is
	// Undecided, why the search was given up.
	Why string
}

func legal() Result { return Result{Outcome: Legal} }

func illegal(why string, witness ...int) Result {
	return Result{Outcome: Illegal, Why: why, Witness: witness}
}
