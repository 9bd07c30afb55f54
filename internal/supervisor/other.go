//go:build !(linux && amd64)

package supervisor

import "github.com/redlock-sim/redlock-sim/internal/supervisor/launch"

// Supervisor is had on Linux on amd64 alone.
type Supervisor struct{}

// Config says nothing here.
type Config struct{}

// Available is why programs cannot run in virtual time here.
func Available() error { return launch.Missing(launch.Available()) }

// New says why there is none.
func New(Config) (*Supervisor, error) { return nil, Available() }
