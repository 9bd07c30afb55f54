package words

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Seconds writes a run time or a duration: "0.004 s".
func Seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// Instant says when something was, counted from the run's start: "0.994 s". The latest instant that there is stands for never.
func Instant(d time.Duration) string {
	if d == math.MaxInt64 {
		return "never"
	}
	return Seconds(d)
}

// Length says how long something took, to three digits: "2.00 s", "800 ms". All that is told of a run has it so, that two lengths
// side by side can be compared. What would be rounded up to a thousand of one unit is one of the next.
func Length(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Length(-d)
	case d >= time.Second-500*time.Microsecond:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Millisecond-500:
		return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
	case d >= time.Microsecond:
		return fmt.Sprintf("%.3g us", float64(d)/float64(time.Microsecond))
	}
	return fmt.Sprintf("%d ns", d)
}

// Duration writes a figure that stands for itself in as few digits as will do: "2 s", "1.02 s", "800 µs", "1m30s".
func Duration(d time.Duration) string {
	switch abs := d.Abs(); {
	case abs == 0:
		return "0 s"
	case abs < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case abs < time.Millisecond:
		return Decimal(float64(d)/float64(time.Microsecond), 1) + " µs"
	case abs < time.Second:
		return Decimal(float64(d)/float64(time.Millisecond), 1) + " ms"
	case abs < time.Minute:
		return Decimal(d.Seconds(), 2) + " s"
	}
	return d.Round(time.Second).String()
}

// Decimal writes a number with at most so many digits behind the point: "1.5", "2".
func Decimal(f float64, digits int) string {
	s := fmt.Sprintf("%.*f", digits, f)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// Grouped writes a number with its thousands apart: "100,000".
func Grouped[N ~int | ~int64 | ~uint64](n N) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
