package words

import (
	"math"
	"testing"
	"time"
)

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 keys": Count(0, "key"), "1 key": Count(1, "key"), "2 keys": Count(2, "key"),
		"1 try": Count(1, "try"), "3 tries": Count(3, "try"), "2 properties": Count(uint64(2), "property"),
		"1 later grant": Count(1, "later grant"), "1,500 later grants": Count(1500, "later grant"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestLength(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0 ns", 999: "999 ns", time.Microsecond: "1 us", 999_499: "999 us", 999_500: "1 ms",
		12345 * time.Microsecond: "12.3 ms", 999_499 * time.Microsecond: "999 ms",
		999_500 * time.Microsecond: "1.00 s", -2 * time.Second: "-2.00 s"} {
		if got := Length(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0 s", 999: "999 ns", 1500: "1.5 µs", 2_140_000: "2.1 ms",
		2 * time.Second: "2 s", 1020 * time.Millisecond: "1.02 s", -1020 * time.Millisecond: "-1.02 s", 90 * time.Second: "1m30s"} {
		if got := Duration(d); got != want {
			t.Errorf("%d ns: %q, want %q", d, got, want)
		}
	}
}

func TestInstant(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0.000 s", 994_400_000: "0.994 s", 61 * time.Second: "61.000 s",
		math.MaxInt64: "never", math.MaxInt64 - 1: "9223372036.855 s"} {
		if got := Instant(d); got != want {
			t.Errorf("%d: %q, want %q", int64(d), got, want)
		}
	}
}
