package command

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// The options of each family of commands.
const (
	setTakes    = "NX XX GET KEEPTTL EX PX EXAT PXAT IFEQ IFNE IFDEQ IFDNE"
	msetexTakes = "NX XX KEEPTTL EX PX EXAT PXAT"
	getexTakes  = "PERSIST EX PX EXAT PXAT"
	expireTakes = "NX XX GT LT"
	delexTakes  = "IFEQ IFNE IFDEQ IFDNE"
)

// options are what may follow the key and the value in a command that sets a key
// or its expiry.
type options struct {
	flags map[string]bool // NX, XX, GET ...
	// condition is IFEQ, IFNE, IFDEQ or IFDNE, and match what it compares with.
	condition, match string
	// expiry is EX, PX, EXAT, PXAT, KEEPTTL or PERSIST; number belongs to the
	// first four.
	expiry, number string
	// wrong: every server answers with an error, and does nothing.
	wrong bool
	// strange: there is a word among them that is no option here.
	strange bool
}

// parseOptions reads options out of those that a command takes.
func parseOptions(words []string, taken string) options {
	o := options{flags: make(map[string]bool)}
	for i := 0; i < len(words); i++ {
		word := strings.ToUpper(words[i])
		if !slices.Contains(strings.Fields(taken), word) {
			o.strange = true
			return o
		}
		to, argument := &o.expiry, ""
		switch word {
		case "EX", "PX", "EXAT", "PXAT", "IFEQ", "IFNE", "IFDEQ", "IFDNE":
			if i++; i == len(words) {
				o.wrong = true
				return o
			}
			argument = words[i]
		case "KEEPTTL", "PERSIST":
		default:
			o.flags[word] = true
			continue
		}
		if strings.HasPrefix(word, "IF") {
			to, o.match = &o.condition, argument
		} else {
			o.number = argument
		}
		o.wrong = o.wrong || *to != "" && *to != word
		*to = word
	}
	f := o.flags
	o.wrong = o.wrong || f["NX"] && (f["XX"] || f["GT"] || f["LT"]) || f["GT"] && f["LT"] ||
		o.condition != "" && (f["NX"] || f["XX"])
	return o
}

// until is when a key expires that is given the expiry at an instant, and whether
// the server accepts it: a time to live, or a time, above 0.
func (o *options) until(at Span) (Span, bool) {
	unit, absolute := int64(1), strings.HasSuffix(o.expiry, "AT")
	if o.expiry[0] == 'E' {
		unit = 1000
	}
	n, ok := integer(o.number)
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

// integer reads a number as strictly as Redis does: no sign but a minus, no zeros
// in front.
func integer(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}
