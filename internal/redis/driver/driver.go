// Package driver opens clients of go-redis that do what they are told, once: what is under test
// is the lock, not the driver.
package driver

import "github.com/redis/go-redis/v9"

// NewFailover makes such a client that asks sentinels where the primary is.
func NewFailover(o redis.FailoverOptions) *redis.Client {
	o.Protocol, o.DisableIdentity, o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = 2, true, -1, 1, true
	return redis.NewFailoverClient(&o)
}

// New makes a client without retries of its own, which lets contexts bound what it does. It
// speaks version 2 of the protocol, and does not introduce itself.
func New(o redis.Options) *redis.Client {
	o.Protocol, o.DisableIdentity, o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = 2, true, -1, 1, true
	return redis.NewClient(&o)
}
