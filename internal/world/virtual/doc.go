// Package virtual is the world in virtual time: a deterministic model of Redis nodes,
// clients and the network between them. The same Spec gives the same history, byte for
// byte. No code here reads a real clock, starts a goroutine, draws from a global source
// of randomness or depends on the order of a map.
//
// Package link says what is called a link, a connection, a direction and a message here.
package virtual
