package lock

import (
	"sync"
	"time"
)

// renewal renews a client's lease in the background, every third of the ttl,
// until it is released or lost.
type renewal struct {
	Config
	env       Env
	extend    func(owner string) (Grant, Result)
	remaining func(Grant) time.Duration
	// blind never notices that the lease was lost.
	blind bool

	mu sync.Mutex // guards held; never locked across a call of Env
	// held is the grant in hand; its owner is empty where there is none.
	held Grant
}

// begin starts to renew what was granted.
func (r *renewal) begin(g Grant, result Result) (Grant, Result) {
	if result.Outcome == OK {
		r.setHeld(g)
	}
	if result.Outcome == OK && !r.Mistakes.NeverRenew {
		r.env.Spawn(func() { r.renewUntilLost(g.Owner) })
	}
	return g, result
}

// end stops it, unless the mistake is to go on.
func (r *renewal) end() {
	if !r.Mistakes.KeepRenewing {
		r.setHeld(Grant{})
	}
}

// forget ends it in the same way: nobody has the grant any more.
func (r *renewal) forget() Result {
	r.end()
	return Result{Outcome: OK}
}

// latest is the grant as it was renewed last.
func (r *renewal) latest(g Grant) Grant {
	if held := r.heldGrant(); held.Owner == g.Owner {
		return held
	}
	return g
}

func (r *renewal) setHeld(g Grant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = g
}

func (r *renewal) heldGrant() Grant {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// noteRenewed takes a renewal in, where the grant is still in hand.
func (r *renewal) noteRenewed(g Grant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held.Owner == g.Owner {
		r.held = g
	}
}

// renewUntilLost renews the lease of owner until it is released or lost.
func (r *renewal) renewUntilLost(owner string) {
	if r.Mistakes.RenewsAfterWork {
		r.env.Sleep(r.Busy)
	}
	for {
		r.env.Sleep(r.TTL / 3)
		if r.heldGrant().Owner != owner {
			return
		}
		r.env.Point(PointBeforeExtend)
		lost := false
		r.env.Background(Extend, func() (Grant, Result) {
			g, result := r.extend(owner)
			lost = result.Outcome == Fail && !r.blind || result.Outcome == Info && r.Mistakes.RenewalGivesUp
			if result.Outcome == OK {
				r.noteRenewed(g)
			}
			return g, result
		}, r.remaining)
		if lost {
			return
		}
	}
}
