// Package conform finds out whether a lock program speaks the lock protocol and behaves as
// a lock.
package conform
