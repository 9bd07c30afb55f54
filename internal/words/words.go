// Package words writes numbers with their nouns ("1 key", "2 keys") and instants of a run, and
// keeps tables of words with a line for a person.
package words

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Count writes a number with its noun: "1 key", "2 keys", "0 retries".
func Count[N ~int | ~uint64](n N, noun string) string {
	return fmt.Sprintf("%d %s", n, Noun(n, noun))
}

// Noun is a noun in the form that a number asks for: "key" of 1, "keys" of 2.
func Noun[N ~int | ~uint64](n N, noun string) string {
	if n == 1 {
		return noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok && !strings.HasSuffix(stem, "e") {
		return stem + "ies"
	}
	if strings.HasSuffix(noun, "s") {
		return noun + "es"
	}
	return noun + "s"
}

// Instant says when something was, counted from the run's start: "0.994 s". The latest instant that there is stands for never.
func Instant(d time.Duration) string {
	if d == math.MaxInt64 {
		return "never"
	}
	return fmt.Sprintf("%.3f s", d.Seconds())
}
