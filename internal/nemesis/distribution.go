package nemesis

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"time"
)

// Distribution is a random duration as a scenario writes it: "500ms" (always
// the same), "uniform(10ms..50ms)" or "exp(mean=500ms)".
type Distribution struct {
	text      string
	low, high time.Duration // uniform, or constant where they are equal
	mean      time.Duration // exponential
}

// Always is the distribution that always draws d.
func Always(d time.Duration) Distribution { return Distribution{text: d.String(), low: d, high: d} }

// DistributionPattern is what UnmarshalText accepts, for the schema.
const DistributionPattern = `^([0-9.]+(ns|us|ms|s|m|h)|uniform\([0-9a-z.]+\.\.[0-9a-z.]+\)|exp\(mean=[0-9a-z.]+\))$`

var (
	uniformForm = regexp.MustCompile(`^uniform\((.+?)\.\.(.+)\)$`)
	expForm     = regexp.MustCompile(`^exp\(mean=(.+)\)$`)
)

// UnmarshalText reads a distribution.
func (d *Distribution) UnmarshalText(text []byte) error {
	s := string(text)
	d.text = s
	var err error
	switch {
	case uniformForm.MatchString(s):
		m := uniformForm.FindStringSubmatch(s)
		if d.low, err = time.ParseDuration(m[1]); err == nil {
			d.high, err = time.ParseDuration(m[2])
		}
		if err == nil && d.high <= d.low {
			err = fmt.Errorf("%q: the second bound must be the larger", s)
		}
	case expForm.MatchString(s):
		d.mean, err = time.ParseDuration(expForm.FindStringSubmatch(s)[1])
	default:
		d.low, err = time.ParseDuration(s)
		d.high = d.low
	}
	if err == nil && (d.low < 0 || d.low == 0 && d.high == 0 && d.mean <= 0) {
		err = fmt.Errorf("%q: want a positive duration", s)
	}
	if err != nil {
		return fmt.Errorf("want a duration, uniform(10ms..50ms) or exp(mean=500ms), got %q", s)
	}
	return nil
}

// MarshalText writes it as it was read.
func (d Distribution) MarshalText() ([]byte, error) { return []byte(d.text), nil }
func (d Distribution) String() string               { return d.text }

// IsZero reports that nothing was given.
func (d Distribution) IsZero() bool { return d.text == "" }

// longest bounds what an exponential distribution may draw, in means.
const longest = 20

// Draw draws a duration, at least 1 ns.
func (d Distribution) Draw(r *rand.Rand) time.Duration {
	if d.mean > 0 {
		return max(time.Duration(min(r.ExpFloat64(), longest)*float64(d.mean)), 1)
	}
	if d.high > d.low {
		return d.low + time.Duration(r.Int64N(int64(d.high-d.low)+1))
	}
	return d.low
}
