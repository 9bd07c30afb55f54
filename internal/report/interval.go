package report

import "math"

// RateOf is how many of the judged runs violated a property, with its interval.
func RateOf(violated, judged, runs uint64) Rate {
	r := Rate{Runs: runs, Judged: judged, Violated: violated}
	r.Low, r.High = wilson(violated, judged)
	return r
}

// wilson is the 95 % interval of a share of which k in n were seen. Unlike the
// usual formula it is right for small shares, and never leaves 0 to 1.
func wilson(k, n uint64) (low, high float64) {
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
