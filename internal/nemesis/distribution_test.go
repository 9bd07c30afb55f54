package nemesis_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/nemesis"
)

func TestDistributionsDrawWithinTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		low := time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "low"))
		width := time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "width"))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for text, bounds := range map[string][2]time.Duration{
			low.String(): {low, low},
			fmt.Sprintf("uniform(%v..%v)", low, low+width): {low, low + width},
			fmt.Sprintf("exp(mean=%v)", low):               {1, 20 * low},
		} {
			var d nemesis.Distribution
			if err := d.UnmarshalText([]byte(text)); err != nil {
				t.Fatal(err)
			}
			if back, _ := d.MarshalText(); string(back) != text {
				t.Errorf("%q became %q", text, back)
			}
			for range 20 {
				if x := d.Draw(r); x < bounds[0] || x > bounds[1] {
					t.Errorf("%s drew %v", text, x)
				}
			}
		}
	})
}

func TestDistributionsRefuseNonsense(t *testing.T) {
	for _, text := range []string{"", "5", "-1s", "0s",
		"uniform(2s..1s)", "uniform(1s)", "uniform(1s..2)", "exp(500ms)", "exp(mean=0s)", "exp(mean=-1s)", "gauss(1s)"} {
		if err := new(nemesis.Distribution).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func FuzzDistribution(f *testing.F) {
	for _, text := range []string{"500ms", "uniform(10ms..50ms)", "exp(mean=1s)", "exp(mean=", "uniform(..)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var d nemesis.Distribution
		if d.UnmarshalText([]byte(text)) == nil {
			if x := d.Draw(rand.New(rand.NewPCG(1, 2))); x <= 0 {
				t.Errorf("%q drew %v", text, x)
			}
		}
	})
}
