package linear_test

import (
	"context"
	"fmt"

	"github.com/redlock-sim/redlock-sim/linear"
)

// Two clients add one to a counter, each from what it read. Both read 0: one of the
// additions is lost.
func Example() {
	counter := linear.CounterProblem(linear.History{Ops: []linear.Op{
		{Process: 1, Kind: linear.CAS, A: 0, B: 1, Call: 10, Return: 50},
		{Process: 2, Kind: linear.CAS, A: 0, B: 1, Call: 20, Return: 60},
		{Process: 1, Kind: linear.Read, A: 1, Call: 70, Return: 80},
	}})
	bounds := linear.Bounds{}
	result, method := counter.Check(context.Background(), bounds)
	fmt.Println(result.Outcome, "by", method)
	if result.Outcome == linear.Illegal {
		c := linear.Explain(context.Background(), counter, bounds)
		fmt.Println("operations", c.Operations, "cannot be explained:", c.Why)
	}
	// Output:
	// illegal by direct (register)
	// operations [0 1] cannot be explained: two operations found 0 and wrote 1
}

// The second client gets the lock before the first one gives it back. What became
// of the first release is not known, so it may have taken effect in time.
func ExampleNever() {
	h := linear.History{Ops: []linear.Op{
		{Process: 1, Kind: linear.Acquire, A: linear.None, Call: 0, Return: 5},
		{Process: 1, Kind: linear.Release, Call: 20, Return: linear.Never},
		{Process: 2, Kind: linear.Acquire, A: linear.None, Call: 30, Return: 40},
	}}
	lock := linear.Problem{History: h, Model: linear.OwnerMutex()}
	result, _ := lock.Check(context.Background(), linear.Bounds{})
	fmt.Println(result.Outcome)
	lock.History.Ops[1].Call = 50
	result, _ = lock.Check(context.Background(), linear.Bounds{})
	fmt.Println(result.Outcome)
	// Output:
	// legal
	// illegal
}

// A lease ends by itself: the second grant comes after the promise of the first was
// over, so both are in order.
func ExampleLease() {
	h := linear.History{Ops: []linear.Op{
		{Process: 1, Kind: linear.Acquire, A: linear.None, B: 0, Call: 0, Return: 5},
		{Process: 1, Kind: linear.Release, B: 0, Call: 200, Return: 210},
		{Process: 2, Kind: linear.Acquire, A: linear.None, B: 1, Call: 90, Return: 120},
	}}
	leased, _ := linear.Lease(h, []int64{100, 220})
	fmt.Println(linear.Mutex(leased).Outcome, linear.Mutex(h).Outcome)
	// Output: legal illegal
}

// A model of one's own: a switch that is turned on (Write 1) and off (Write 0), and
// refuses to be turned where it stands.
func ExampleModel() {
	toggle := linear.Model{
		Name: "switch", Kinds: linear.KindsOf(linear.Write), Init: int64(0),
		Step: func(state any, o *linear.Op) (bool, any) { return state != any(o.A), o.A },
		Hash: func(state any) uint64 { return uint64(state.(int64)) },
	}
	h := linear.History{Ops: []linear.Op{
		{Kind: linear.Write, A: 1, Call: 0, Return: 10},
		{Kind: linear.Write, A: 1, Call: 5, Return: 15},
	}}
	problem := linear.Problem{History: h, Model: toggle}
	result, _ := problem.Check(context.Background(), linear.Bounds{})
	fmt.Println(result.Outcome)
	// Output: illegal
}
