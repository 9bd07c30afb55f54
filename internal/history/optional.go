package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Int is an integer that may be absent; the zero Int is absent. Histories hold many, so it takes no more than an int64:
// the least of those, math.MinInt64, is not among its integers, and absent is what stands for it.
type Int struct {
	// coded is the integer with its highest bit flipped, 0 where it is absent.
	coded int64
}

// Some is the Int that holds v.
func Some(v int64) Int { return Int{v ^ math.MinInt64} }

// IsSet reports that there is an integer.
func (i Int) IsSet() bool { return i.coded != 0 }

// V is the integer; 0 where it is absent.
func (i Int) V() int64 {
	if !i.IsSet() {
		return 0
	}
	return i.coded ^ math.MinInt64
}

// Equal reports that both hold the same integer, or none.
func (i Int) Equal(j Int) bool { return i == j }

// IsZero reports absence, for `json:",omitzero"`.
func (i Int) IsZero() bool { return !i.IsSet() }

func (i Int) String() string {
	if !i.IsSet() {
		return "-"
	}
	return strconv.FormatInt(i.V(), 10)
}

// MarshalJSON writes the number, or null where it is absent.
func (i Int) MarshalJSON() ([]byte, error) {
	if !i.IsSet() {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, i.V(), 10), nil
}

// UnmarshalJSON reads a number, or null for absent.
func (i *Int) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*i = Int{}
		return nil
	}
	var v int64
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	if *i = Some(v); !i.IsSet() {
		return fmt.Errorf("the number %d is too small", v)
	}
	return nil
}

// Text is a text that few events have: an empty one takes the memory of a pointer.
type Text struct{ text *string }

// SomeText is the Text that holds s.
func SomeText(s string) Text {
	if s == "" {
		return Text{}
	}
	text := s // s itself would need memory even where it is empty
	return Text{&text}
}

func (t Text) String() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}

// IsZero reports that the text is empty, for `json:",omitzero"`.
func (t Text) IsZero() bool { return t.text == nil }

// Equal reports that both are the same text.
func (t Text) Equal(other Text) bool { return t.String() == other.String() }

// MarshalText writes the text.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads a text.
func (t *Text) UnmarshalText(b []byte) error {
	*t = SomeText(string(b))
	return nil
}

// Bool is a truth value that may be absent; the zero Bool is absent.
type Bool struct {
	V   bool
	Set bool
}

// SomeBool is the Bool that holds v.
func SomeBool(v bool) Bool { return Bool{V: v, Set: true} }

// IsZero reports absence, for `json:",omitzero"`.
func (b Bool) IsZero() bool { return !b.Set }

// MarshalJSON writes true, false, or null where it is absent.
func (b Bool) MarshalJSON() ([]byte, error) {
	if !b.Set {
		return []byte("null"), nil
	}
	return strconv.AppendBool(nil, b.V), nil
}

// UnmarshalJSON reads true, false, or null for absent.
func (b *Bool) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		*b = Bool{}
		return nil
	}
	if err := json.Unmarshal(data, &b.V); err != nil {
		return err
	}
	b.Set = true
	return nil
}
