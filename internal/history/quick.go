package history

import (
	"bytes"
	"strconv"
)

// quick reads the lines that Writer writes, in the form in which it writes
// them: no space between the parts, no escapes, plain integers, each name once. It
// gives up on any other line, which encoding/json then reads; so both together
// accept what encoding/json accepts, and ordinary lines take less than a fifth of the time. line
// is its counterpart, which writes them.
type quick struct {
	b []byte
	i int
	// words are strings that come again and again: processes, nodes, names.
	words map[string]string
}

// maxWords bounds what a file full of strange names can make quick remember.
const maxWords = 1 << 16

// part reads one part of an object into it, and writes it; what writes nothing is left out.
type part[T any] struct {
	name  string
	read  func(q *quick, to *T) bool
	write func(l *line, from *T)
}

// Parts stand in the order of the fields, in which encoding/json writes them: the next one is mostly the first
// that is looked at.
var eventParts = []part[Event]{
	{"index", func(q *quick, e *Event) bool { return whole(q, &e.Index) }, func(l *line, e *Event) { l.integer(int64(e.Index)) }},
	{"type", func(q *quick, e *Event) bool {
		s, ok := q.bytes()
		return ok && e.Type.UnmarshalText(s) == nil
	}, func(l *line, e *Event) { l.word(e.Type) }},
	{"time", func(q *quick, e *Event) bool { return q.integer((*int64)(&e.Time)) }, func(l *line, e *Event) { l.integer(int64(e.Time)) }},
	{"process", func(q *quick, e *Event) bool { return q.word(&e.Process) }, func(l *line, e *Event) { l.string(e.Process) }},
	{"f", func(q *quick, e *Event) bool { return q.word((*string)(&e.F)) }, func(l *line, e *Event) { l.string(string(e.F)) }},
	{"value", func(q *quick, e *Event) bool { return object(q, valueParts, &e.Value) }, func(l *line, e *Event) { l.value(&e.Value) }},
	{"error", func(q *quick, e *Event) bool {
		var s string
		ok := q.text(&s)
		e.Error = SomeText(s)
		return ok
	}, func(l *line, e *Event) { l.text(e.Error.String()) }},
}

// valueParts are those of an event's value; an impact and what is unread are left to encoding/json.
var valueParts = []part[Value]{
	{"owner", func(q *quick, v *Value) bool { return q.word(&v.Owner) }, func(l *line, v *Value) { l.text(v.Owner) }},
	{"token", func(q *quick, v *Value) bool { return q.optional(&v.Token) }, func(l *line, v *Value) { l.optional(v.Token) }},
	{"validity", func(q *quick, v *Value) bool { return q.optional(&made(&v.Grant).Validity) },
		func(l *line, v *Value) { l.optional(v.Validity()) }},
	{"valid_until", func(q *quick, v *Value) bool { return q.optional(&made(&v.Grant).ValidUntil) },
		func(l *line, v *Value) { l.optional(v.ValidUntil()) }},
	{"nodes", func(q *quick, v *Value) bool { return array(q, &made(&v.Grant).Nodes, q.word) },
		func(l *line, v *Value) { list(l, v.Nodes(), l.string) }},
	{"ttl", func(q *quick, v *Value) bool { return q.optional(&made(&v.Grant).TTL) }, func(l *line, v *Value) { l.optional(v.TTL()) }},
	{"section", func(q *quick, v *Value) bool { return whole(q, &v.Section) }, func(l *line, v *Value) { l.count(int64(v.Section)) }},
	{"key", func(q *quick, v *Value) bool { return q.word(&v.Key) }, func(l *line, v *Value) { l.text(v.Key) }},
	{"number", func(q *quick, v *Value) bool { return q.optional(&v.Number) }, func(l *line, v *Value) { l.optional(v.Number) }},
	{"lock", func(q *quick, v *Value) bool { return q.word(&made(&v.Extra).Lock) }, func(l *line, v *Value) { l.text(v.Lock()) }},
	{"inner", func(q *quick, v *Value) bool { return q.is(&made(&v.Extra).Inner) }, func(l *line, v *Value) { l.is(v.Inner()) }},
	{"shared", func(q *quick, v *Value) bool { return q.is(&made(&v.Extra).Shared) }, func(l *line, v *Value) { l.is(v.Shared()) }},
	{"expected", func(q *quick, v *Value) bool { return q.optional(&made(&v.Extra).Expected) },
		func(l *line, v *Value) { l.optional(v.Expected()) }},
	{"list", func(q *quick, v *Value) bool { return array(q, &made(&v.Extra).List, q.integer) },
		func(l *line, v *Value) { list(l, v.List(), l.integer) }},
	{"other", func(q *quick, v *Value) bool { return array(q, &made(&v.Extra).Other, q.integer) },
		func(l *line, v *Value) { list(l, v.Other(), l.integer) }},
	{"point", func(q *quick, v *Value) bool { return q.word(&made(&v.Extra).Point) }, func(l *line, v *Value) { l.text(v.Point()) }},
	{"client", func(q *quick, v *Value) bool { return q.word(&v.Client) }, func(l *line, v *Value) { l.text(v.Client) }},
	{"op", func(q *quick, v *Value) bool { return q.word((*string)(&made(&v.Outcome).Op)) },
		func(l *line, v *Value) { l.text(string(v.Op())) }},
	{"at", func(q *quick, v *Value) bool { return q.optional(&made(&v.Outcome).At) }, func(l *line, v *Value) { l.optional(v.At()) }},
	{"at_error", func(q *quick, v *Value) bool { return q.integer(&made(&v.Outcome).AtError) },
		func(l *line, v *Value) { l.count(v.AtError()) }},
	{"accepted", func(q *quick, v *Value) bool { return q.truth(&made(&v.Outcome).Accepted) },
		func(l *line, v *Value) { l.truth(v.Accepted()) }},
	{"highest", func(q *quick, v *Value) bool { return q.optional(&made(&v.Outcome).Highest) },
		func(l *line, v *Value) { l.optional(v.Highest()) }},
	{"epoch", func(q *quick, v *Value) bool { return q.optional(&made(&v.Rare).Epoch) }, func(l *line, v *Value) { l.optional(v.Epoch()) }},
	{"fault", func(q *quick, v *Value) bool { return q.word(&made(&v.Rare).Fault) }, func(l *line, v *Value) { l.text(v.Fault()) }},
	{"id", func(q *quick, v *Value) bool { return whole(q, &made(&v.Rare).ID) }, func(l *line, v *Value) { l.count(int64(v.ID())) }},
	{"target", func(q *quick, v *Value) bool { return q.word(&made(&v.Rare).Target) }, func(l *line, v *Value) { l.text(v.Target()) }},
	{"planned", func(q *quick, v *Value) bool { return q.optional(&made(&v.Rare).Planned) },
		func(l *line, v *Value) { l.optional(v.Planned()) }},
	{"took", func(q *quick, v *Value) bool { return q.optional(&made(&v.Rare).Took) }, func(l *line, v *Value) { l.optional(v.Took()) }},
	{"impact", func(*quick, *Value) bool { return false }, func(l *line, v *Value) { l.giveUp(v.Impact() != nil) }},
	{"stranger", func(q *quick, v *Value) bool { return q.is(&made(&v.Rare).Stranger) }, func(l *line, v *Value) { l.is(v.Stranger()) }},
	{"detail", func(q *quick, v *Value) bool { return q.text(&made(&v.Rare).Detail) }, func(l *line, v *Value) { l.text(v.Detail()) }},
	{"command", func(q *quick, v *Value) bool {
		rare := made(&v.Rare)
		rare.Command = &Command{}
		return object(q, commandParts, rare.Command)
	}, func(l *line, v *Value) {
		if c := v.Command(); c != nil {
			writeObject(l, commandParts, c)
		}
	}},
	{"unread", func(*quick, *Value) bool { return false }, func(l *line, v *Value) { l.giveUp(v.Unread() != nil) }},
}

var commandParts = []part[Command]{
	{"name", func(q *quick, c *Command) bool { return q.word(&c.Name) }, func(l *line, c *Command) { l.string(c.Name) }},
	{"node", func(q *quick, c *Command) bool { return q.word(&c.Node) }, func(l *line, c *Command) { l.string(c.Node) }},
	{"connection", func(q *quick, c *Command) bool { return whole(q, &c.Connection) },
		func(l *line, c *Command) { l.integer(int64(c.Connection)) }},
	{"opens", func(q *quick, c *Command) bool { return q.is(&c.Opens) }, func(l *line, c *Command) { l.is(c.Opens) }},
	{"left", func(q *quick, c *Command) bool { return q.integer(&c.Left) }, func(l *line, c *Command) { l.integer(c.Left) }},
	{"answered", func(q *quick, c *Command) bool { return q.optional(&c.Answered) }, func(l *line, c *Command) { l.optional(c.Answered) }},
}

// made is what a pointer leads to, made where it leads nowhere.
func made[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// event reads a line. It reports false where it gave up; e is then of no use.
func (q *quick) event(line []byte, e *Event) bool {
	*e = Event{}
	q.b, q.i = line, 0
	return object(q, eventParts, e) && q.i == len(q.b)
}

// object reads an object and has each of its parts read, none of them twice.
func object[T any](q *quick, parts []part[T], to *T) bool {
	if !q.take('{') {
		return false
	}
	if q.take('}') {
		return true
	}
	at, seen := -1, uint64(0)
	for {
		name, ok := q.bytes()
		if !ok || !q.take(':') {
			return false
		}
		for tried := 0; ; tried++ {
			if at++; at == len(parts) {
				at = 0
			}
			if parts[at].name == string(name) {
				break
			}
			if tried == len(parts) {
				return false
			}
		}
		if seen>>at&1 != 0 || !parts[at].read(q, to) {
			return false
		}
		seen |= 1 << at
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
	rest := q.b[q.i:]
	for i, c := range rest {
		switch {
		case c == '"':
			q.i += i + 1
			return rest[:i], true
		case c < ' ' || c >= 0x80 || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

func (q *quick) text(to *string) bool {
	b, ok := q.bytes()
	*to = string(b)
	return ok
}

// word reads a string that will come again.
func (q *quick) word(to *string) bool {
	b, ok := q.bytes()
	if !ok {
		return false
	}
	if s, known := q.words[string(b)]; known {
		*to = s
		return true
	}
	*to = string(b)
	if q.words == nil {
		q.words = make(map[string]string)
	}
	if len(q.words) < maxWords {
		q.words[*to] = *to
	}
	return true
}

// integer reads what is surely an int64: at most 18 digits, no leading zero.
func (q *quick) integer(to *int64) bool {
	negative := q.take('-')
	digits, n := 0, int64(0)
	for _, c := range q.b[q.i:] {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int64(c-'0')
		digits++
	}
	if digits == 0 || digits > 18 || q.b[q.i] == '0' && (digits > 1 || negative) {
		return false
	}
	q.i += digits
	if *to = n; negative {
		*to = -n
	}
	return true
}

// whole reads an integer that fits.
func whole[T int | int32](q *quick, to *T) bool {
	var n int64
	ok := q.integer(&n)
	*to = T(n)
	return ok && int64(*to) == n
}

func (q *quick) optional(to *Int) bool {
	var n int64
	ok := q.integer(&n)
	*to = Some(n)
	return ok
}

func (q *quick) truth(to *Bool) bool {
	for _, v := range []bool{true, false} {
		if word := strconv.FormatBool(v); bytes.HasPrefix(q.b[q.i:], []byte(word)) {
			q.i += len(word)
			*to = SomeBool(v)
			return true
		}
	}
	return false
}

func (q *quick) is(to *bool) bool {
	var b Bool
	ok := q.truth(&b)
	*to = b.V
	return ok
}

// array reads an array that is not empty.
func array[T any](q *quick, to *[]T, read func(*T) bool) bool {
	if !q.take('[') {
		return false
	}
	for {
		var item T
		if !read(&item) {
			return false
		}
		*to = append(*to, item)
		if q.take(']') {
			return true
		}
		if !q.take(',') {
			return false
		}
	}
}
