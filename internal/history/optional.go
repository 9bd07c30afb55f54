package history

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Int is an integer that may be absent; the zero Int is absent.
type Int struct {
	V   int64
	Set bool
}

// Some is the Int that holds v.
func Some(v int64) Int { return Int{V: v, Set: true} }

// IsZero reports absence, for `json:",omitzero"`.
func (i Int) IsZero() bool { return !i.Set }

func (i Int) String() string {
	if !i.Set {
		return "-"
	}
	return strconv.FormatInt(i.V, 10)
}

// MarshalJSON writes the number, or null where it is absent.
func (i Int) MarshalJSON() ([]byte, error) {
	if !i.Set {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, i.V, 10), nil
}

// UnmarshalJSON reads a number, or null for absent.
func (i *Int) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*i = Int{}
		return nil
	}
	if err := json.Unmarshal(b, &i.V); err != nil {
		return err
	}
	i.Set = true
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
