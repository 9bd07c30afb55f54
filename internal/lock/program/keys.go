package program

import (
	"slices"
	"strings"
)

// KeyPattern stands for the lock's key in a pattern of Keys.
const KeyPattern = "{key}"

// anything stands in a pattern for any characters, or none. Every other character stands for itself.
const anything = "*"

// Patterns are patterns of Keys for a lock's key, each as its pieces, between which anything stands. So what looks like a pattern
// in the lock's key is none.
type Patterns [][]string

// PatternsFor are patterns of Keys for a lock's key.
func PatternsFor(key string, keys []string) (patterns Patterns) {
	for _, k := range keys {
		pieces := strings.Split(k, anything)
		for i := range pieces {
			pieces[i] = strings.ReplaceAll(pieces[i], KeyPattern, key)
		}
		patterns = append(patterns, pieces)
	}
	return patterns
}

// Names are the keys that have their name from the pattern alone.
func (p Patterns) Names() (names []string) {
	for _, pieces := range p {
		if len(pieces) == 1 {
			names = append(names, pieces[0])
		}
	}
	return names
}

func (p Patterns) String() string {
	list := make([]string, len(p))
	for i, pieces := range p {
		list[i] = strings.Join(pieces, anything)
	}
	return strings.Join(list, ", ")
}

// Fit reports that one of the patterns fits a key.
func (p Patterns) Fit(key string) bool {
	return slices.ContainsFunc(p, func(pieces []string) bool { return fit(pieces, key) })
}

func fit(pieces []string, key string) bool {
	last := len(pieces) - 1
	if last == 0 {
		return key == pieces[0]
	}
	rest, ok := strings.CutPrefix(key, pieces[0])
	for _, piece := range pieces[1:last] {
		if ok { // the first place where it stands leaves the most for those behind it
			_, rest, ok = strings.Cut(rest, piece)
		}
	}
	return ok && strings.HasSuffix(rest, pieces[last])
}
