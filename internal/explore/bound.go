package explore

import (
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Bound says in words what it is worth to have seen nothing in n runs: with
// 95 % confidence the share is at most 3/n.
func Bound(n uint64) string {
	if n == 0 {
		return "nothing was put to the test"
	}
	share := 3 / float64(n)
	if share >= 1 {
		return fmt.Sprintf("0 in %s: too few to say how frequent it is", words.Count(n, "run"))
	}
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

// Worth says what it is worth that no run violated a property, by the runs that put it to the
// test. Only schedules drawn afresh tell how frequent something is.
func (r *Report) Worth(p checker.Property) string {
	runs, drawn := r.JudgedOn(string(p))
	text := Bound(drawn)
	if drawn < runs {
		text += fmt.Sprintf(", and 0 in %s", words.Count(runs-drawn, "changed schedule"))
	}
	return text
}
