// Package suite is for tests: which tests belong to which suite, and what a machine lacks for them.
package suite

import "testing"

// Lacks skips a test for want of something on this machine, in the words by which the suite counts such tests.
func Lacks(t testing.TB, what string) {
	t.Helper()
	t.Skip("this machine lacks: " + what)
}
