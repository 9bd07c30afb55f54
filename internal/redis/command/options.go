package command

import (
	"math"
	"strconv"
	"strings"
)

// The options of each family of commands.
const (
	// SetTakes are those of Redis 7.
	SetTakes    = "NX XX GET KEEPTTL EX PX EXAT PXAT"
	setTakes    = SetTakes + " IFEQ IFNE IFDEQ IFDNE"
	msetexTakes = "NX XX KEEPTTL EX PX EXAT PXAT"
	hsetexTakes = msetexTakes
	GetexTakes  = "PERSIST EX PX EXAT PXAT"
	ExpireTakes = "NX XX GT LT"
	delexTakes  = "IFEQ IFNE IFDEQ IFDNE"
)

// Options are what may follow the key and the value in a command that sets a key
// or its expiry.
type Options struct {
	NX, XX, GT, LT, Get bool
	// Condition is IFEQ, IFNE, IFDEQ or IFDNE, and Match what it compares with.
	Condition, Match string
	// Expiry is EX, PX, EXAT, PXAT, KEEPTTL or PERSIST; Number belongs to the
	// first four.
	Expiry, Number string
	// Wrong: every server answers with an error, and does nothing.
	Wrong bool
	// Strange is the first word among them that is no option here.
	Strange string
}

// ParseOptions reads options out of those that a command takes.
func ParseOptions(words []string, taken string) Options {
	var o Options
	for i := 0; i < len(words); i++ {
		word := oneOf(taken, words[i])
		to, argument := &o.Expiry, ""
		switch word {
		case "":
			o.Strange = words[i]
			return o
		case "EX", "PX", "EXAT", "PXAT", "IFEQ", "IFNE", "IFDEQ", "IFDNE":
			if i++; i == len(words) {
				o.Wrong = true
				return o
			}
			argument = words[i]
		case "KEEPTTL", "PERSIST":
		default:
			*o.flag(word) = true
			continue
		}
		if strings.HasPrefix(word, "IF") {
			to, o.Match = &o.Condition, argument
		} else {
			o.Number = argument
		}
		o.Wrong = o.Wrong || *to != "" && (*to != word || to == &o.Condition)
		*to = word
	}
	o.Wrong = o.Wrong || o.NX && (o.XX || o.GT || o.LT) || o.GT && o.LT || o.Condition != "" && (o.NX || o.XX)
	return o
}

// oneOf is the option among those taken that a word spells, however it is written; empty:
// none. It needs no memory, for a lock's commands have options nearly always.
func oneOf(taken, word string) string {
	for option := range strings.FieldsSeq(taken) {
		if len(option) == len(word) && strings.EqualFold(option, word) {
			return option
		}
	}
	return ""
}

func (o *Options) flag(word string) *bool {
	switch word {
	case "NX":
		return &o.NX
	case "XX":
		return &o.XX
	case "GT":
		return &o.GT
	case "LT":
		return &o.LT
	}
	return &o.Get
}

// Until is when a key expires that is given the expiry at an instant, and whether
// the server accepts it: a time to live, or a time, above 0.
func (o *Options) Until(at Span) (Span, bool) {
	unit, absolute := int64(1), strings.HasSuffix(o.Expiry, "AT")
	if o.Expiry[0] == 'E' {
		unit = 1000
	}
	n, ok := Integer(o.Number)
	if !ok || n <= 0 || n > math.MaxInt64/unit {
		return Span{}, false
	}
	return instant(n*unit, absolute, at)
}

// instant is the time at which a life of so many ms ends, or that many ms after
// 1970; false: no server counts that far.
func instant(ms int64, absolute bool, at Span) (Span, bool) {
	if absolute {
		return At(ms), true
	}
	if ms > math.MaxInt64-at.To {
		return Span{}, false
	}
	return at.plus(ms), true
}

// Integer reads a number as strictly as Redis does: no sign but a minus, no zeros
// in front.
func Integer(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}
