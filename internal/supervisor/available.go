//go:build linux && amd64

package supervisor

import (
	"sync"

	"github.com/redlock-sim/redlock-sim/internal/supervisor/launch"
)

// Available is why programs cannot run in virtual time here; nil: they can.
func Available() error { return available() }

var available = sync.OnceValue(func() error {
	if _, err := findPatches(); err != nil {
		return err
	}
	return launch.Missing(launch.Available())
})
