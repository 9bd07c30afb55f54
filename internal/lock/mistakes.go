package lock

import "reflect"

// Mistakes are ways to get a lock wrong that real libraries shipped. The zero
// value makes none of them. In scenarios they are switches of the lock, named
// for the correct behaviour.
type Mistakes struct {
	// ReachableQuorum: the majority is counted among the nodes that answered,
	// not among those configured (redlock-py, pull request 6).
	ReachableQuorum bool `json:"reachable_quorum,omitempty"`
	// TrustElapsed: the validity counts from the last answer, and is not checked
	// against the time that acquiring took (redsync 72, node-redlock 296).
	TrustElapsed bool `json:"trust_elapsed,omitempty"`
	// ExtendAbsent: a renewal sets the key where it has expired, which brings an
	// ended lease back to life (redlock-rb 36).
	ExtendAbsent bool `json:"extend_absent,omitempty"`
	// PlainDelete: release deletes the key whoever it belongs to (redisson 542).
	PlainDelete bool `json:"plain_delete,omitempty"`
	// ExtendAnyhow: a renewal counts though too few nodes took it, or too late
	// (redsync 72).
	ExtendAnyhow bool `json:"extend_anyhow,omitempty"`
	// RaiseOnError: one node that cannot be asked makes acquire fail, instead of
	// counting as a no (redlock-rb 60).
	RaiseOnError bool `json:"raise_on_error,omitempty"`
	// SameValue: all attempts of one client use one value, so that a late
	// clean-up of a failed attempt deletes the keys of the next.
	SameValue bool `json:"same_value,omitempty"`
	// KeepRenewing: release does not stop the watchdog (redisson 7272).
	KeepRenewing bool `json:"keep_renewing,omitempty"`
	// IgnoreWait: the number that WAIT answers is not looked at (redisson 3994).
	IgnoreWait bool `json:"ignore_wait,omitempty"`
	// TokenFirst: the token is drawn before the lock is asked for, so that a
	// later holder may have an older one.
	TokenFirst bool `json:"token_first,omitempty"`
	// NoCleanup: a failed attempt leaves its keys to expire.
	NoCleanup bool `json:"no_cleanup,omitempty"`
}

// CanMake reports whether the algorithm can be told to make all these mistakes.
func (a Algorithm) CanMake(m Mistakes) bool {
	wanted, known := reflect.ValueOf(m), reflect.ValueOf(a.Mistakes)
	for i := range wanted.NumField() {
		if wanted.Field(i).Bool() && !known.Field(i).Bool() {
			return false
		}
	}
	return true
}
