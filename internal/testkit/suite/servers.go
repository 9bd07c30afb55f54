package suite

import (
	"os"
	"path/filepath"
	"testing"
)

// Versions are the servers that `make servers` brings, beside the redis-server of this machine.
func Versions() []string {
	return []string{"redis-6.2", "redis-8.0", "redis-8.2", "valkey-8.1", "valkey-9.1"}
}

// Server is the path of one of Versions. A test that needs one that is not there is skipped.
func Server(t testing.TB, version string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if found, _ := filepath.Glob(filepath.Join(dir, ".cache", "servers", version+".*", "*-server")); len(found) > 0 {
			return found[len(found)-1]
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			Lacks(t, version+" (make servers)")
		}
		dir = parent
	}
}
