// Package client is a client of the lock: what it can be asked to do, and how it does
// that with a lock and a resource. The same code runs in every world.
// docs/internals/client-protocol.md describes the messages between sim and a client that is a
// process of its own.
package client
