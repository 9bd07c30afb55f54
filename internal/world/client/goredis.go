package client

import "time"

// How built-in locks use go-redis, in both worlds.
const (
	// PoolSize is how many connections to a node a client has at most.
	PoolSize = 4
	// DialTimeout is how long go-redis gives a connection to be opened.
	DialTimeout = 5 * time.Second
)
