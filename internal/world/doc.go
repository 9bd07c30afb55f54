// Package world is what a run needs of the place in which it happens. There are two
// worlds: live, with real processes in real time, and virtual, a deterministic model in
// virtual time. The packages above see only this package.
package world
