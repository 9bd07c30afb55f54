package live

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// valve is the one toxic of a direction of a link: it does to the connections
// there what the disturbances in force demand. It is in place before the first
// connection and stays: toxiproxy (2.12.0) panics when a toxic is put on a
// connection that closes while another is taken off, so none ever is.
type valve struct {
	mu      sync.Mutex
	inForce []*world.Disturbance
	// changed is closed when inForce is no longer what it was.
	changed chan struct{}
	// cuts is how many cuts have been lifted: each ends the connections there.
	cuts int
	open bool
}

// valveType is its name among toxiproxy's toxics.
const valveType = "redlock-sim-valve"

func init() { toxics.Register(valveType, newValve()) }

func newValve() *valve { return &valve{changed: make(chan struct{}), open: true} }

// add puts a disturbance in force; lift takes it off again. Lifting it twice
// does nothing.
func (v *valve) add(d world.Disturbance) (lift func()) {
	v.change(func() { v.inForce = append(slices.Clone(v.inForce), &d) })
	return func() {
		v.change(func() {
			i := slices.Index(v.inForce, &d)
			if i < 0 {
				return
			}
			v.inForce = slices.Delete(slices.Clone(v.inForce), i, i+1)
			if d.Kind == world.Cut {
				v.cuts++
			}
		})
	}
}

// shut ends all connections for good.
func (v *valve) shut() { v.change(func() { v.open = false }) }

func (v *valve) change(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f()
	close(v.changed)
	v.changed = make(chan struct{})
}

// rules are what is in force at an instant.
type rules struct {
	inForce []*world.Disturbance
	cuts    int
	open    bool
	// changed is closed when they no longer hold.
	changed <-chan struct{}
}

func (v *valve) rules() rules {
	v.mu.Lock()
	defer v.mu.Unlock()
	return rules{inForce: v.inForce, cuts: v.cuts, open: v.open, changed: v.changed}
}

func (r rules) has(k world.DisturbanceKind) bool {
	return slices.ContainsFunc(r.inForce, func(d *world.Disturbance) bool { return d.Kind == k })
}

// late is how much later than it came something goes on.
func (r rules) late() time.Duration {
	var sum time.Duration
	for _, d := range r.inForce {
		if d.Kind == world.Latency {
			sum += d.Latency
			if d.Jitter > 0 {
				sum += rand.N(2*d.Jitter) - d.Jitter
			}
		}
	}
	return max(sum, 0)
}

// transmission is how long so many bytes take.
func (r rules) transmission(bytes int) time.Duration {
	var longest time.Duration
	for _, d := range r.inForce {
		if d.Kind == world.Bandwidth {
			longest = max(longest, time.Duration(int64(bytes)*int64(time.Second)/max(d.Rate, 1)))
		}
	}
	return longest
}

// closing is how long the end of a connection is kept back.
func (r rules) closing() time.Duration {
	var longest time.Duration
	for _, d := range r.inForce {
		if d.Kind == world.SlowClose {
			longest = max(longest, d.Delay)
		}
	}
	return longest
}

// Pipe implements toxics.Toxic: it serves one connection until that ends.
func (v *valve) Pipe(stub *toxics.ToxicStub) {
	f := newFlow(v, stub)
	for f.step(stub.Interrupt) {
	}
	if f.interrupted {
		return
	}
	stub.Close()
	if f.input != nil {
		for range f.input { // toxiproxy hands on until the sender closes
		}
	}
}
