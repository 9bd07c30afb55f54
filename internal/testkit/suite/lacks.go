package suite

import (
	"os"
	"testing"
)

// Lacks skips a test for want of something on this machine, in the words by which the suite counts such tests. The go command
// sees that the test has read the variable, so its cache does not repeat next time what is no longer true.
func Lacks(t testing.TB, what string) {
	t.Helper()
	_ = os.Getenv(RunVariable)
	t.Skip(LacksPrefix + what)
}
