package linear

import (
	"context"
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

// Bounds limit a search by porcupine. The zero value has no time limit and
// DefaultMemory.
type Bounds struct {
	Timeout time.Duration
	// Memory is in bytes.
	Memory int64
}

// DefaultMemory bounds a search that is given no bound.
const DefaultMemory = 1 << 30

// Model is a porcupine model over operations of the type *Op.
type Model struct {
	Name string
	Init func() any
	// Step says whether the operation is legal in the state, and the state
	// after it.
	Step func(state any, o *Op) (bool, any)
	// Equal compares states; nil: ==.
	Equal func(a, b any) bool
	// Hash of a state; nil: none.
	Hash func(any) uint64
}

// Reference asks porcupine whether the history has an explanation in the
// model. An optional operation is applied where that is legal and does nothing
// elsewhere: as it returns last of all, an explanation that leaves it out can put
// it at the end.
func Reference(ctx context.Context, m Model, ops []Op, b Bounds) Result {
	if err := ctx.Err(); err != nil {
		return undecided("the check was cancelled")
	}
	if need := estimate(len(ops)); need > b.memory() {
		return undecided(fmt.Sprintf("%d operations are too many: porcupine would need about %d MB", len(ops), need>>20))
	}
	list := make([]porcupine.Operation, len(ops))
	for i := range ops {
		list[i] = porcupine.Operation{ClientId: int(ops[i].Process), Input: &ops[i], Call: ops[i].Call, Return: ops[i].Return}
	}
	model := porcupine.Model{
		Init: m.Init,
		StepContext: func(_ context.Context, state, input, _ any) (bool, any) {
			if ctx.Err() != nil {
				return false, state
			}
			o := input.(*Op)
			ok, next := m.Step(state, o)
			if !ok && o.Optional() {
				return true, state
			}
			return ok, next
		},
		Equal: m.Equal,
		Hash:  m.Hash,
	}
	res := porcupine.CheckOperationsTimeout(model, list, b.Timeout)
	switch {
	case ctx.Err() != nil:
		// The answer of a search that was cut short means nothing.
		return undecided("the check was cancelled")
	case res == porcupine.Ok:
		return legal()
	case res == porcupine.Illegal:
		return illegal("porcupine finds no order of the operations that explains them")
	}
	return undecided(fmt.Sprintf("porcupine found no answer within %v", b.Timeout))
}

func undecided(why string) Result { return Result{Outcome: Undecided, Why: why} }

func (b Bounds) memory() int64 {
	if b.Memory <= 0 {
		return DefaultMemory
	}
	return b.Memory
}

// estimate is about how many bytes porcupine takes for n operations even when
// it never goes back: it keeps a set of n bits for each step.
func estimate(n int) int64 { return int64(n)*int64(n)/8 + int64(n)*400 }
