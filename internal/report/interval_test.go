package report

import (
	"math"
	"testing"
)

func TestWilson(t *testing.T) {
	for _, test := range []struct {
		k, n      uint64
		low, high float64
	}{{0, 0, 0, 1}, {0, 100, 0, 0.0370}, {50, 100, 0.4038, 0.5962}, {100, 100, 0.9630, 1}, {1, 10, 0.0179, 0.4042}} {
		low, high := wilson(test.k, test.n)
		if math.Abs(low-test.low) > 1e-4 || math.Abs(high-test.high) > 1e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", test.k, test.n, low, high, test.low, test.high)
		}
	}
}
