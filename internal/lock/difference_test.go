package lock_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
)

// TestClientsThatDiffer: a client has what is said of it, and else what is said of all.
func TestClientsThatDiffer(t *testing.T) {
	made := lock.Mistakes{PlainDelete: true}
	c := lock.Config{Algorithm: "set-nx-px", Key: "lock", TTL: time.Second, Mistakes: lock.Mistakes{SameValue: true}}
	c.Clients = map[string]lock.Difference{
		"c2": {TTL: 3 * time.Second, Mistakes: made},
		"c3": {Key: "old", Algorithm: "watchdog", Mistakes: made},
	}
	for client, want := range map[string]lock.Config{
		"c1": {Algorithm: "set-nx-px", Key: "lock", TTL: time.Second, Mistakes: lock.Mistakes{SameValue: true}},
		"c2": {Algorithm: "set-nx-px", Key: "lock", TTL: 3 * time.Second, Mistakes: lock.Mistakes{SameValue: true, PlainDelete: true}},
		"c3": {Algorithm: "watchdog", Key: "old", TTL: time.Second, Mistakes: made},
	} {
		if got := c.For(client); !reflect.DeepEqual(got, want) {
			t.Errorf("%s has %+v, want %+v", client, got, want)
		}
	}
	if keys := c.WithPrefix("x:").Keys(); !slices.Equal(keys, []string{"x:lock", "x:old"}) || c.Clients["c3"].Key != "old" {
		t.Errorf("keys with a prefix: %q, and the given ones are %q", keys, c.Keys())
	}
	if c.LongestTTL() != 3*time.Second {
		t.Errorf("the longest ttl: %v", c.LongestTTL())
	}
}
