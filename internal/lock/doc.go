// Package lock holds the locks under test. Each algorithm is written against Env alone. A
// lock uses no goroutine, no context, no clock, no randomness and no channel of its own.
// So the same code runs as a process among real Redis nodes and as a coroutine in
// virtual time.
package lock
