// Package docker runs Redis servers in containers of a Docker engine on this machine.
// testcontainers-go starts them. Pausing, killing and cleaning up go to the engine
// directly. The reaper of testcontainers-go is off, because it would be one more image to
// pull. Instead, everything is labelled with its owner. The owner removes it; if the
// owner was killed, the next owner does.
package docker
