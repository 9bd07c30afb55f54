package explore

import (
	"fmt"
	"math"

	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Wilson is the 95 % interval of a share of which k in n were seen. Unlike the
// usual formula it is right for small shares, and never leaves 0 to 1.
func Wilson(k, n uint64) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.959963984540054
	p, m := float64(k)/float64(n), float64(n)
	middle := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	low, high = max(middle-half, 0), min(middle+half, 1)
	if k == 0 {
		low = 0 // but for rounding it is
	}
	if k == n {
		high = 1
	}
	return low, high
}

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
