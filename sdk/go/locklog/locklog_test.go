package locklog_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/sdk/go/locklog"
)

// BenchmarkGranted is what an event costs. scripts/locklog-cost.sh measures the other languages alike.
func BenchmarkGranted(b *testing.B) {
	log := locklog.Open(filepath.Join(b.TempDir(), "x.locklog"))
	hold := log.Ask("orders")
	for b.Loop() {
		hold.Granted(locklog.Grant{Owner: "0123456789abcdef", TTL: 10 * time.Second, Token: 7})
	}
	log.Flush()
	if n := log.Dropped(); n > 0 {
		b.Fatalf("%d lines were dropped", n)
	}
}
