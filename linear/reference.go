package linear

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Bounds limit a search. Zero is no time limit and DefaultMemory.
type Bounds struct {
	Timeout time.Duration
	// Memory is in bytes.
	Memory int64
}

// DefaultMemory bounds a search that is given no bound.
const DefaultMemory = 1 << 30

// Model says what a thing does, one operation after the other.
type Model struct {
	Name string
	// Kinds are the kinds of operations that the model knows. A history with any
	// other is undecided: nobody can say what that operation did.
	Kinds Kinds
	// Init is the state at the beginning. States are compared with ==.
	Init any
	// Step says whether the operation is legal in the state, and the state
	// after it. Whoever calls it deals with optional operations.
	Step func(state any, o *Op) (bool, any)
	// Hash of a state.
	Hash func(state any) uint64
	// Processes says that it matters which process does an operation.
	Processes bool
	// Settle gives the state after some operations that were all carried out,
	// in whatever order; nil where the order matters. It lets a history be cut
	// where nothing was under way.
	Settle func(state any, ops []Op) any
	// strange says what makes an operation one that the model cannot judge,
	// though it knows the kind; empty: nothing. Nil: there is no such operation.
	strange func(o *Op) string
}

// Reference asks porcupine whether the history has an explanation in the
// model. An optional operation is applied where that is legal and does nothing
// elsewhere: as it returns last of all, an explanation that leaves it out can put
// it at the end. A history with operations that are Maybe is undecided.
func Reference(ctx context.Context, m Model, h History, b Bounds) Result {
	if b.Memory <= 0 {
		b.Memory = DefaultMemory
	}
	if why := m.foreign(h.Ops); why != "" {
		return undecided(why)
	}
	if hasMaybe(h.Ops) {
		// Porcupine gives each operation one effect, and its place before its return.
		return undecided(whyMaybe)
	}
	started := time.Now()
	state := m.Init
	for _, part := range m.parts(h.Ops) {
		rest := b
		if b.Timeout > 0 {
			if rest.Timeout = b.Timeout - time.Since(started); rest.Timeout <= 0 {
				return undecided(fmt.Sprintf("porcupine found no answer within %v", b.Timeout))
			}
		}
		r := m.search(ctx, state, part, rest)
		if r.Outcome != Legal {
			return r
		}
		if m.Settle != nil {
			state = m.Settle(state, part)
		}
	}
	return legal()
}

// foreign says why the model cannot judge the operations: there is one of a kind
// that it does not know, or one that names a text or a list that it does not have.
// Empty: it knows them all.
func (m *Model) foreign(ops []Op) string {
	for i := range ops {
		if k := ops[i].Kind; !m.Kinds.Has(k) {
			return fmt.Sprintf("the model %s knows no %s", m.Name, k)
		}
		if m.strange == nil {
			continue
		}
		if why := m.strange(&ops[i]); why != "" {
			return fmt.Sprintf("operation %d %s", i, why)
		}
	}
	return ""
}

// parts cuts a history at the instants at which nothing was under way, where
// the model can tell the state at the cut.
func (m *Model) parts(ops []Op) [][]Op {
	if m.Settle == nil || len(ops) == 0 {
		return [][]Op{ops}
	}
	if !slices.IsSortedFunc(ops, byCall) {
		ops = slices.Clone(ops)
		slices.SortFunc(ops, byCall)
	}
	var parts [][]Op
	from, latest := 0, int64(math.MinInt64)
	for i := range ops {
		if i > from && latest < ops[i].Call {
			parts, from = append(parts, ops[from:i]), i
		}
		latest = max(latest, ops[i].Return)
	}
	return append(parts, ops[from:])
}

func byCall(a, b Op) int { return cmp.Compare(a.Call, b.Call) }

func (m *Model) search(ctx context.Context, init any, ops []Op, b Bounds) Result {
	if ctx.Err() != nil {
		return undecided("the check was cancelled")
	}
	if need := estimate(len(ops)); need > b.Memory {
		return undecided(fmt.Sprintf("porcupine would need about %d MB for %d operations, and has %d MB", need>>20, len(ops), b.Memory>>20))
	}
	list := make([]porcupine.Operation, len(ops))
	for i := range ops {
		list[i] = porcupine.Operation{ClientId: int(ops[i].Process), Input: &ops[i], Call: ops[i].Call, Return: ops[i].Return}
	}
	watch := newMemoryWatch(b.Memory)
	model := porcupine.Model{
		Init: func() any { return init },
		StepContext: func(inner context.Context, state, input, _ any) (bool, any) {
			if watch.exceeded() || ctx.Err() != nil {
				// Nothing is legal any more, so that the search comes to a quick
				// end; its answer is not used.
				return false, state
			}
			o := input.(*Op)
			ok, next := m.Step(state, o)
			if !ok && o.Optional() {
				return true, state
			}
			return ok, next
		},
		Hash: m.Hash,
	}
	res := porcupine.CheckOperationsTimeout(model, list, b.Timeout)
	switch {
	case ctx.Err() != nil:
		return undecided("the check was cancelled")
	case watch.over:
		return undecided(fmt.Sprintf("porcupine took more than %d MB", b.Memory>>20))
	case res == porcupine.Ok:
		return legal()
	case res == porcupine.Illegal:
		return illegal("porcupine finds no order of the operations that explains them")
	}
	return undecided(fmt.Sprintf("porcupine found no answer within %v", b.Timeout))
}

// estimate is about how many bytes porcupine takes for n operations even when
// it never goes back: it keeps a set of n bits for each step.
func estimate(n int) int64 { return int64(n)*int64(n)/8 + int64(n)*400 }

// memoryWatch looks now and then at how far the heap has grown. It is used by
// one goroutine.
type memoryWatch struct {
	limit  int64
	sample []metrics.Sample
	steps  uint
	over   bool
}

func newMemoryWatch(limit int64) *memoryWatch {
	w := &memoryWatch{sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
	w.limit = w.heap() + limit
	return w
}

func (w *memoryWatch) heap() int64 {
	metrics.Read(w.sample)
	return int64(w.sample[0].Value.Uint64())
}

func (w *memoryWatch) exceeded() bool {
	if w.steps++; w.steps%8192 == 0 && w.heap() > w.limit {
		w.over = true
	}
	return w.over
}
