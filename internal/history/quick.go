package history

import "time"

// quick reads the lines that Writer writes, in the form in which it writes
// them: no space between the parts, no escapes, plain integers, each name once. It
// gives up on any other line, which encoding/json then reads; so both together
// accept what encoding/json accepts, and ordinary lines cost a tenth of the time.
type quick struct {
	b []byte
	i int
	// words are strings that come again and again: processes, nodes, names.
	words map[string]string
}

// maxWords bounds what a file full of strange names can make quick remember.
const maxWords = 1 << 16

// event reads a line. It reports false where it gave up; e is then of no use.
func (q *quick) event(line []byte, e *Event) bool {
	*e = Event{}
	q.b, q.i = line, 0
	ok := q.object(func(name []byte) (bit uint64, ok bool) {
		switch string(name) {
		case "index":
			n, ok := q.integer()
			e.Index = int(n)
			return 1 << 0, ok && int64(e.Index) == n
		case "time":
			n, ok := q.integer()
			e.Time = time.Duration(n)
			return 1 << 1, ok
		case "process":
			e.Process, ok = q.word()
			return 1 << 2, ok
		case "type":
			return 1 << 3, q.eventType(&e.Type)
		case "f":
			s, ok := q.word()
			e.F = F(s)
			return 1 << 4, ok
		case "value":
			return 1 << 5, q.value(&e.Value)
		case "error":
			e.Error, ok = q.text()
			return 1 << 6, ok
		}
		return 0, false
	})
	return ok && q.i == len(q.b)
}

func (q *quick) eventType(t *Type) bool {
	s, ok := q.bytes()
	return ok && t.UnmarshalText(s) == nil
}

// value reads an event's value.
func (q *quick) value(v *Value) bool {
	return q.object(func(name []byte) (bit uint64, ok bool) {
		switch string(name) {
		case "owner":
			v.Owner, ok = q.text()
			return 1 << 0, ok
		case "token":
			return 1 << 1, q.optional(&v.Token)
		case "validity":
			return 1 << 2, q.optional(&v.Validity)
		case "valid_until":
			return 1 << 3, q.optional(&v.ValidUntil)
		case "section":
			return 1 << 4, q.int(&v.Section)
		case "key":
			v.Key, ok = q.word()
			return 1 << 5, ok
		case "number":
			return 1 << 6, q.optional(&v.Number)
		case "expected":
			return 1 << 7, q.optional(&v.Expected)
		case "at":
			return 1 << 8, q.optional(&v.At)
		case "at_error":
			v.AtError, ok = q.integer()
			return 1 << 9, ok
		case "accepted":
			return 1 << 10, q.truth(&v.Accepted)
		case "highest":
			return 1 << 11, q.optional(&v.Highest)
		case "ttl":
			return 1 << 12, q.optional(&v.TTL)
		case "id":
			return 1 << 13, q.int(&v.ID)
		case "planned":
			return 1 << 14, q.optional(&v.Planned)
		case "took":
			return 1 << 15, q.optional(&v.Took)
		case "nodes":
			return 1 << 16, q.nodes(&v.Nodes)
		case "list":
			return 1 << 17, q.list(&v.List)
		case "other":
			return 1 << 18, q.list(&v.Other)
		}
		return q.name(name, v)
	})
}

// name reads the parts of a value that are words of the run.
func (q *quick) name(name []byte, v *Value) (bit uint64, ok bool) {
	switch string(name) {
	case "lock":
		v.Lock, ok = q.word()
		return 1 << 32, ok
	case "point":
		v.Point, ok = q.word()
		return 1 << 33, ok
	case "op":
		s, ok := q.word()
		v.Op = F(s)
		return 1 << 34, ok
	case "client":
		v.Client, ok = q.word()
		return 1 << 35, ok
	case "fault":
		v.Fault, ok = q.word()
		return 1 << 36, ok
	case "target":
		v.Target, ok = q.word()
		return 1 << 37, ok
	case "detail":
		v.Detail, ok = q.text()
		return 1 << 38, ok
	}
	return 0, false
}

// object reads an object and has each of its parts read. A part returns its own
// bit, so that a name that comes twice is noticed.
func (q *quick) object(part func(name []byte) (bit uint64, ok bool)) bool {
	if !q.take('{') {
		return false
	}
	if q.take('}') {
		return true
	}
	seen := uint64(0)
	for {
		name, ok := q.bytes()
		if !ok || !q.take(':') {
			return false
		}
		bit, ok := part(name)
		if !ok || seen&bit != 0 {
			return false
		}
		seen |= bit
		if q.take('}') {
			return true
		}
		if !q.take(',') {
			return false
		}
	}
}

func (q *quick) take(c byte) bool {
	if q.i < len(q.b) && q.b[q.i] == c {
		q.i++
		return true
	}
	return false
}

// bytes reads a string of plain ASCII.
func (q *quick) bytes() ([]byte, bool) {
	if !q.take('"') {
		return nil, false
	}
	for from := q.i; q.i < len(q.b); q.i++ {
		switch c := q.b[q.i]; {
		case c == '"':
			q.i++
			return q.b[from : q.i-1], true
		case c < ' ' || c >= 0x80 || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

func (q *quick) text() (string, bool) {
	b, ok := q.bytes()
	return string(b), ok
}

// word reads a string that will come again.
func (q *quick) word() (string, bool) {
	b, ok := q.bytes()
	if !ok {
		return "", false
	}
	if s, known := q.words[string(b)]; known {
		return s, true
	}
	s := string(b)
	if q.words == nil {
		q.words = make(map[string]string)
	}
	if len(q.words) < maxWords {
		q.words[s] = s
	}
	return s, true
}

// integer reads what is surely an int64: at most 18 digits, no leading zero.
func (q *quick) integer() (int64, bool) {
	negative := q.take('-')
	from, n := q.i, int64(0)
	for ; q.i < len(q.b) && '0' <= q.b[q.i] && q.b[q.i] <= '9'; q.i++ {
		n = 10*n + int64(q.b[q.i]-'0')
		if q.i-from == 18 {
			return 0, false
		}
	}
	if digits := q.i - from; digits == 0 || q.b[from] == '0' && (digits > 1 || negative) {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}

func (q *quick) int(to *int) bool {
	n, ok := q.integer()
	*to = int(n)
	return ok && int64(*to) == n
}

func (q *quick) optional(to *Int) (ok bool) {
	to.V, ok = q.integer()
	to.Set = ok
	return ok
}

func (q *quick) truth(to *Bool) bool {
	for _, v := range [2]bool{true, false} {
		word := "false"
		if v {
			word = "true"
		}
		if end := q.i + len(word); end <= len(q.b) && string(q.b[q.i:end]) == word {
			q.i = end
			*to = SomeBool(v)
			return true
		}
	}
	return false
}

func (q *quick) nodes(to *[]string) bool {
	return q.array(func() bool {
		s, ok := q.word()
		*to = append(*to, s)
		return ok
	})
}

func (q *quick) list(to *[]int64) bool {
	return q.array(func() bool {
		n, ok := q.integer()
		*to = append(*to, n)
		return ok
	})
}

// array reads an array that is not empty.
func (q *quick) array(part func() bool) bool {
	if !q.take('[') {
		return false
	}
	for {
		if !part() {
			return false
		}
		if q.take(']') {
			return true
		}
		if !q.take(',') {
			return false
		}
	}
}
