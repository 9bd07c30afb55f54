// Package rapid tests locks as a Go programmer does without sim: a state machine of pgregory.net/rapid draws what clients do and what happens
// to nodes, which are miniredis, and time is that of testing/synctest where the lock looks at a clock.
package rapid
