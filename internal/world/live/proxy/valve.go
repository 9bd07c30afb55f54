package proxy

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/link"
)

// valve is the one toxic of a direction of a link: it does to the connections
// there what the disturbances in force demand. It is in place before the first
// connection and stays: toxiproxy (2.12.0) panics when a toxic is put on a
// connection that closes while another is taken off, so none ever is.
type valve struct {
	mu        sync.Mutex
	direction link.Direction[*message]
	begun     time.Time
	// changed is closed when a disturbance has ended, or the valve is closed.
	changed chan struct{}
	// breaks is how often all connections broke.
	breaks int
	isOpen bool
	// newConn makes what reads a connection that is being opened; nil: nobody does. It is
	// called for the two directions of each in the same order.
	newConn func() *conn
	// isAnswers: it is in the direction of the answers.
	isAnswers bool
}

// valveType is its name among toxiproxy's toxics.
const valveType = "redlock-sim-valve"

func init() { toxics.Register(valveType, newValve()) }

func newValve() *valve {
	v := &valve{changed: make(chan struct{}), begun: time.Now(), isOpen: true}
	v.direction.Rand = rand.NewPCG(rand.Uint64(), rand.Uint64())
	return v
}

func (v *valve) now() time.Duration { return time.Since(v.begun) }

// disturb puts a disturbance in force; lift takes it off again. Lifting it twice
// does nothing.
func (v *valve) disturb(d world.Disturbance) (lift func()) { return v.disturbFlow(nil, d) }

// disturbFlow puts it in force for what comes on one connection from now on; nil: on all.
func (v *valve) disturbFlow(f *flow, d world.Disturbance) (lift func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var only *link.Flow
	if f != nil {
		only = &f.Flow
	}
	end := v.direction.BeginOn(only, d)
	return func() {
		v.change(func() {
			freed, breaks := end()
			for _, c := range freed {
				v.pass(c, v.now())
			}
			if breaks && f != nil {
				f.broken = true
			} else if breaks {
				v.breaks++
			}
		})
	}
}

// close ends all connections for good.
func (v *valve) close() { v.change(func() { v.isOpen = false }) }

func (v *valve) change(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f()
	close(v.changed)
	v.changed = make(chan struct{})
}

// state says whether everything is lost there, and what is closed when that may have changed.
func (v *valve) state() (changed <-chan struct{}, cut bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed, v.isOpen && v.direction.Cuts()
}

// pass moves a message on.
func (v *valve) pass(c *message, now time.Duration) { c.fate, c.due = v.direction.Pass(c, now) }

// NewState implements toxics.StatefulToxic. toxiproxy calls it when proxiedLink.startConnection
// opens a connection.
func (v *valve) NewState() any {
	if v.newConn == nil {
		return (*conn)(nil)
	}
	return v.newConn()
}

// Pipe implements toxics.Toxic: it serves one connection until that ends.
func (v *valve) Pipe(stub *toxics.ToxicStub) {
	f := newFlow(v, stub)
	for f.step(stub.Interrupt) {
	}
	v.mu.Lock()
	v.direction.Close(&f.Flow)
	v.mu.Unlock()
	if f.conn != nil && v.isAnswers {
		f.conn.end()
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
