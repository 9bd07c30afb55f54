package linear

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Cell is a register and counter: Read, Write, CAS, CASFailed and Add.
func Cell(initial int64) Model {
	return number("register", initial, math.MinInt64, KindsOf(Read, Write, CAS, CASFailed, Add))
}

// Stock is a number of units that never falls below zero: Sell takes some where
// there are enough, Add brings more, Read counts, Write says how many there are
// from now on, and CAS is a sale by somebody who counted before.
func Stock(initial int64) Model {
	return number("stock", initial, 0, KindsOf(Read, Write, CAS, Sell, Add))
}

// number is a number that no operation sets below least.
func number(name string, initial, least int64, kinds Kinds) Model {
	return Model{
		Name: name, Kinds: kinds,
		Init: initial,
		Step: func(state any, o *Op) (bool, any) {
			v := state.(int64)
			switch o.Kind {
			case Read:
				return v == o.A, v
			case Write:
				return o.A >= least, o.A
			case CAS:
				return v == o.A && o.B >= least, o.B
			case CASFailed:
				return v != o.A && (o.B == None || o.B == v), v
			case Sell:
				return v-o.A >= least, v - o.A
			case Add:
				return v+o.A >= least, v + o.A
			}
			return false, v
		},
		Hash: func(state any) uint64 { return mix(uint64(state.(int64))) },
	}
}

// List is a list that starts empty: Append and ReadList.
func List(lists [][]int64) Model {
	encoded := make([]string, len(lists))
	for i, l := range lists {
		encoded[i] = encode(l)
	}
	return Model{
		Name: "append", Kinds: KindsOf(Append, ReadList),
		Init: "",
		Step: func(state any, o *Op) (bool, any) {
			s := state.(string)
			switch o.Kind {
			case Append:
				return o.B == None || o.B == int64(len(s)/8), s + encode([]int64{o.A})
			case ReadList:
				return has(encoded, o.A) && s == encoded[o.A], s
			}
			return false, s
		},
		Hash:    func(state any) uint64 { return hashString(state.(string)) },
		strange: strangeRead(len(encoded)),
	}
}

// Set is a set that starts empty: Insert and ReadSet.
func Set(lists [][]int64) Model {
	encoded := make([]string, len(lists))
	for i, l := range lists {
		sorted := slices.Clone(l)
		slices.Sort(sorted)
		encoded[i] = encode(slices.Compact(sorted))
	}
	return Model{
		Name: "set", Kinds: KindsOf(Insert, ReadSet),
		Init: "",
		Step: func(state any, o *Op) (bool, any) {
			s := state.(string)
			switch o.Kind {
			case Insert:
				return true, insert(s, o.A)
			case ReadSet:
				return has(encoded, o.A) && s == encoded[o.A], s
			}
			return false, s
		},
		Hash:    func(state any) uint64 { return hashString(state.(string)) },
		strange: strangeRead(len(encoded)),
		Settle: func(state any, ops []Op) any {
			s := state.(string)
			for i := range ops {
				if ops[i].Kind == Insert {
					s = insert(s, ops[i].A)
				}
			}
			return s
		},
	}
}

// Jobs is the set of ticks whose job has run: each runs at most once.
func Jobs() Model {
	return Model{
		Name: "jobs", Kinds: KindsOf(Run),
		Init: "",
		Step: func(state any, o *Op) (bool, any) {
			s := state.(string)
			next := insert(s, o.A)
			return len(next) > len(s), next
		},
		Hash: func(state any) uint64 { return hashString(state.(string)) },
	}
}

// Text is a string that starts empty, as a key-value store holds under one
// key: Write, Append and Read of strings, which A numbers, from 0. A history with
// the number of no text is undecided.
func Text(texts []string) Model {
	return Model{
		Name: "kv", Kinds: KindsOf(Read, Write, Append),
		Init: "",
		Step: func(state any, o *Op) (bool, any) {
			s := state.(string)
			if !has(texts, o.A) {
				return false, s
			}
			switch o.Kind {
			case Read:
				return s == texts[o.A], s
			case Write:
				return true, texts[o.A]
			case Append:
				return true, s + texts[o.A]
			}
			return false, s
		},
		Hash: func(state any) uint64 { return hashString(state.(string)) },
		strange: func(o *Op) string {
			if has(texts, o.A) {
				return ""
			}
			return fmt.Sprintf("has the text %d of %d", o.A, len(texts))
		},
	}
}

// has reports whether the list has an element of this number.
func has(list []string, n int64) bool { return n >= 0 && n < int64(len(list)) }

// strangeRead finds reads of lists that a model with so many lists does not have.
func strangeRead(lists int) func(o *Op) string {
	return func(o *Op) string {
		if o.idle() && (o.A < 0 || o.A >= int64(lists)) {
			return fmt.Sprintf("reads list %d of %d", o.A, lists)
		}
		return ""
	}
}

// encode writes numbers so that strings of equal numbers are equal, and sort as
// the numbers do.
func encode(numbers []int64) string {
	b := make([]byte, 0, 8*len(numbers))
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, uint64(n)^1<<63)
	}
	return string(b)
}

// insert puts a number into a sorted string of numbers, once.
func insert(s string, n int64) string {
	e := encode([]int64{n})
	low, high := 0, len(s)/8
	for low < high {
		mid := (low + high) / 2
		if s[8*mid:8*mid+8] < e {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if 8*low < len(s) && s[8*low:8*low+8] == e {
		return s
	}
	return s[:8*low] + e + s[8*low:]
}
