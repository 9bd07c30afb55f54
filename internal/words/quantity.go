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

// Duration writes a duration in the unit that suits it: "800 ms", "1.02 s".
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

// GroupedCount is Count with the thousands apart: "1 scenario", "2,000 scenarios".
func GroupedCount(n int, noun string) string {
	return Grouped(n) + " " + Noun(n, noun)
}

// Grouped writes a number with its thousands apart: "100,000".
func Grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
