// Package words writes numbers with their nouns ("1 key", "2 keys"), durations and instants, keeps tables of words
// with a line for a person, and says of an error what a user can do about it.
package words

import (
	"strings"
)

// Count writes a number with its noun: "1 key", "2 keys", "0 retries", "2,000 runs".
func Count[N ~int | ~uint64](n N, noun string) string {
	return Grouped(n) + " " + Noun(n, noun)
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

// List joins words as a sentence does: "c1, c2 and c3".
func List(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// Sentence makes a line of words one: with a capital and a full stop.
func Sentence(line string) string {
	if line == "" {
		return ""
	}
	return strings.ToUpper(line[:1]) + line[1:] + "."
}

// Texts are values of a kind of text as plain ones.
func Texts[T ~string](list []T) []string {
	texts := make([]string, len(list))
	for i, w := range list {
		texts[i] = string(w)
	}
	return texts
}
