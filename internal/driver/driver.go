// Package driver opens clients of go-redis that do what they are told, once: what is under test
// is the lock, not the driver. It works with every version of go-redis that go.mod allows.
package driver

import (
	"reflect"

	"github.com/redis/go-redis/v9"
)

// NewFailover makes such a client that asks sentinels where the primary is.
func NewFailover(o redis.FailoverOptions) *redis.Client {
	o.Protocol, o.DisableIdentity, o.MaxRetries, o.ContextTimeoutEnabled = 2, true, -1, true
	return redis.NewFailoverClient(&o)
}

// New makes a client without retries of its own, which lets contexts bound what it does. It
// speaks version 2 of the protocol, and does not introduce itself.
func New(o redis.Options) *redis.Client {
	o.Protocol, o.DisableIdentity, o.MaxRetries, o.ContextTimeoutEnabled = 2, true, -1, true
	// Versions from 9.15 on dial several times; those before it have no such setting.
	if retries := reflect.ValueOf(&o).Elem().FieldByName("DialerRetries"); retries.IsValid() {
		retries.SetInt(1)
	}
	return redis.NewClient(&o)
}
