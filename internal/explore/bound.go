package explore

import (
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Bound says in words what it is worth to have seen nothing in n runs: with
// 95 % confidence the share is at most 3/n.
func Bound(n uint64) string {
	if n == 0 {
		return "nothing was put to the test"
	}
	share := 3 / float64(n)
	unit, per := "100", 100.0
	for _, u := range []struct {
		name string
		n    float64
	}{{"100", 1e2}, {"1,000", 1e3}, {"100,000", 1e5}, {"10 million", 1e7}} {
		unit, per = u.name, u.n
		if share*per >= 1 {
			break
		}
	}
	return fmt.Sprintf("0 in %s: at most %.2g in %s, with 95 %% confidence", words.Count(n, "run"), share*per, unit)
}
