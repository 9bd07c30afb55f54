package suite

import "testing"

// Lacks skips a test for want of something on this machine, in the words by which the suite counts such tests.
func Lacks(t testing.TB, what string) {
	t.Helper()
	t.Skip(LacksPrefix + what)
}
