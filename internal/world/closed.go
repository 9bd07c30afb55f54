package world

import (
	"fmt"
	"strings"
)

// The types of this package that choose one of a few things are closed: a value
// that is none of their constants has no name, is not read from a file, and is
// refused by every world. The linter exhaustive looks that no switch leaves one of
// them out.

// wordOf is the name of a value; "disturbance(9)" where it has none.
func wordOf[T ~uint8](names []string, what string, v T) string {
	if known(names, v) {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", what, v)
}

// known reports that a value is one of its type's constants.
func known[T ~uint8](names []string, v T) bool { return int(v) < len(names) && names[v] != "" }

// check says that a value is none of its type's constants; nil: it is one.
func check[T ~uint8](names []string, what string, v T) error {
	if known(names, v) {
		return nil
	}
	return fmt.Errorf("no %s %d", what, v)
}

// marshal is the text of a value.
func marshal[T ~uint8](names []string, what string, v T) ([]byte, error) {
	return []byte(wordOf(names, what, v)), check(names, what, v)
}

// unmarshal reads a value.
func unmarshal[T ~uint8](names []string, what string, text []byte, v *T) error {
	for i, name := range names {
		if name != "" && name == string(text) {
			*v = T(i)
			return nil
		}
	}
	return fmt.Errorf("no %s %q: there are %s", what, text, strings.Join(words(names), ", "))
}

// words are the names of a type's values.
func words(names []string) (list []string) {
	for _, name := range names {
		if name != "" {
			list = append(list, name)
		}
	}
	return list
}
