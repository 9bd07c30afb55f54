package history

import "strconv"

// line writes an event as encoding/json does, without HTML escapes, in a fraction of the time. It gives up where a
// text needs escapes and on what is rare, which encoding/json then writes.
type line struct {
	b      []byte
	gaveUp bool
}

// event writes an event's line. It reports false where it gave up.
func (l *line) event(e *Event) bool {
	l.b, l.gaveUp = l.b[:0], false
	writeObject(l, eventParts, e)
	l.b = append(l.b, '\n')
	return !l.gaveUp
}

// writeObject writes the parts of an object that are there.
func writeObject[T any](l *line, parts []part[T], from *T) {
	l.b = append(l.b, '{')
	first := len(l.b)
	for i := range parts {
		before := len(l.b)
		if before > first {
			l.b = append(l.b, ',')
		}
		l.b = append(l.b, '"')
		l.b = append(l.b, parts[i].name...)
		l.b = append(l.b, '"', ':')
		begun := len(l.b)
		if parts[i].write(l, from); len(l.b) == begun {
			l.b = l.b[:before]
		}
	}
	l.b = append(l.b, '}')
}

// value writes what an event knows beyond its name, if it knows anything.
func (l *line) value(v *Value) {
	before := len(l.b)
	writeObject(l, valueParts, v)
	if len(l.b) == before+len("{}") && v.IsZero() {
		l.b = l.b[:before]
	}
}

func (l *line) giveUp(so bool) { l.gaveUp = l.gaveUp || so }

func (l *line) integer(n int64) { l.b = strconv.AppendInt(l.b, n, 10) }

// count writes a number that is left out where it is 0.
func (l *line) count(n int64) {
	if n != 0 {
		l.integer(n)
	}
}

func (l *line) optional(n Int) {
	if n.IsSet() {
		l.integer(n.V())
	}
}

func (l *line) truth(b Bool) {
	if b.Set {
		l.b = strconv.AppendBool(l.b, b.V)
	}
}

// is writes a truth that is left out where it is false.
func (l *line) is(so bool) {
	if so {
		l.b = append(l.b, "true"...)
	}
}

func (l *line) word(t Type) {
	if l.giveUp(t < Invoke || t > Info); !l.gaveUp {
		l.string(typeNames[t])
	}
}

// string writes a text of plain ASCII, and gives up on any other.
func (l *line) string(s string) {
	for _, c := range []byte(s) {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			l.gaveUp = true
			return
		}
	}
	l.b = append(l.b, '"')
	l.b = append(l.b, s...)
	l.b = append(l.b, '"')
}

// text writes a text that is left out where it is empty.
func (l *line) text(s string) {
	if s != "" {
		l.string(s)
	}
}

// list writes a list that is left out where it is empty.
func list[T any](l *line, items []T, write func(T)) {
	for i, item := range items {
		if i == 0 {
			l.b = append(l.b, '[')
		} else {
			l.b = append(l.b, ',')
		}
		write(item)
	}
	if len(items) > 0 {
		l.b = append(l.b, ']')
	}
}
