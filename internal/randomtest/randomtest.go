// Package randomtest says how much tests try at random.
package randomtest

import (
	"os"
	"strconv"
	"testing"
)

// Histories is how many random histories a test tries: RANDOM_HISTORIES, where that is
// set; otherwise as many as usual, or as in a short test.
func Histories(t testing.TB, usual, short int) int {
	t.Helper()
	if s := os.Getenv("RANDOM_HISTORIES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if testing.Short() {
		return short
	}
	return usual
}
