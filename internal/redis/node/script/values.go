package script

import (
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

// call is redis.call and redis.pcall.
func (m *machine) call(l *lua.LState, protected bool) int {
	fail := func(message string) int {
		if protected {
			l.Push(m.single("err", message))
			return 1
		}
		m.raise(l, message)
		return 0
	}
	n := l.GetTop()
	if n == 0 {
		return fail("ERR Please specify at least one argument for this redis lib call")
	}
	m.words = m.words[:0]
	for i := 1; i <= n; i++ {
		switch v := l.Get(i).(type) {
		case lua.LString:
			m.words = append(m.words, string(v))
		case lua.LNumber:
			m.words = append(m.words, number(float64(v), 17))
		default:
			return fail("ERR Lua redis lib command arguments must be strings or integers")
		}
	}
	v, _, err := resp.Parse(m.host.Call(m.words))
	if err != nil {
		return fail("ERR " + err.Error())
	}
	if v.Kind == resp.Error {
		return fail(v.Text)
	}
	l.Push(m.fromRedis(v))
	return 1
}

// single is a table with one field.
func (m *machine) single(name, text string) *lua.LTable {
	t := m.CreateTable(0, 1)
	t.RawSetString(name, lua.LString(text))
	return t
}

// fromRedis makes a Lua value of an answer.
func (m *machine) fromRedis(v resp.Value) lua.LValue {
	switch v.Kind {
	case resp.Integer:
		n, _ := strconv.ParseInt(v.Text, 10, 64)
		return lua.LNumber(n)
	case resp.Text:
		return m.single("ok", v.Text)
	case resp.Error:
		return m.single("err", v.Text)
	case resp.Null:
		return lua.LNil
	case resp.Bool:
		return lua.LBool(v.Text == "t")
	case resp.Double:
		f, _ := strconv.ParseFloat(v.Text, 64)
		return m.field("double", lua.LNumber(f))
	case resp.Map, resp.Set:
		t := m.NewTable()
		if v.Kind == resp.Map {
			for i := 0; i+1 < len(v.List); i += 2 {
				t.RawSet(m.fromRedis(v.List[i]), m.fromRedis(v.List[i+1]))
			}
			return m.field("map", t)
		}
		for _, one := range v.List {
			t.RawSet(m.fromRedis(one), lua.LTrue)
		}
		return m.field("set", t)
	case resp.Verbatim:
		format, text, _ := strings.Cut(v.Text, ":")
		t := m.field("format", lua.LString(format))
		t.RawSetString("string", lua.LString(text))
		return m.field("verbatim_string", t)
	case resp.Bulk, resp.BigNumber, resp.BulkError:
		if v.Null {
			return lua.LFalse
		}
		return lua.LString(v.Text)
	case resp.Array, resp.Push, resp.Attribute:
		if v.Null {
			return lua.LFalse
		}
	}
	t := m.CreateTable(len(v.List), 0)
	for i, one := range v.List {
		t.RawSetInt(i+1, m.fromRedis(one))
	}
	return t
}

func (m *machine) field(name string, v lua.LValue) *lua.LTable {
	t := m.CreateTable(0, 1)
	t.RawSetString(name, v)
	return t
}

// writer makes an answer of a Lua value.
type writer struct {
	m  *machine
	b  []byte
	v3 bool
}

// deepest is how many tables may be within each other: as many as a reader takes.
const deepest = 30

func (w *writer) value(v lua.LValue, depth int) {
	if depth > deepest {
		w.m.host.Unknown("Lua: an answer of tables within tables")
		w.b = resp.AppendLine(w.b, resp.Error, "ERR reached lua stack limit")
		return
	}
	switch v := v.(type) {
	case lua.LString:
		w.b = resp.AppendBulk(w.b, resp.Bulk, string(v))
	case lua.LNumber:
		w.b = resp.AppendNumber(w.b, resp.Integer, integer(float64(v)))
	case lua.LBool:
		w.bool(bool(v))
	case *lua.LTable:
		w.table(v, depth)
	default:
		w.null()
	}
}

// integer cuts a number off, as x86 does: what is too great becomes the least.
func integer(f float64) int64 {
	if f >= -9223372036854775808 && f < 9223372036854775808 {
		return int64(f)
	}
	return -9223372036854775808
}

func (w *writer) null() {
	if w.v3 {
		w.b = resp.AppendLine(w.b, resp.Null, "")
		return
	}
	w.b = resp.AppendLine(w.b, resp.Bulk, "-1")
}

func (w *writer) bool(yes bool) {
	switch {
	case w.m.v3 && w.v3 && yes:
		w.b = resp.AppendLine(w.b, resp.Bool, "t")
	case w.m.v3 && w.v3:
		w.b = resp.AppendLine(w.b, resp.Bool, "f")
	case yes:
		w.b = resp.AppendNumber(w.b, resp.Integer, 1)
	case w.m.v3:
		w.b = resp.AppendNumber(w.b, resp.Integer, 0)
	default:
		w.null()
	}
}

func (w *writer) table(t *lua.LTable, depth int) {
	if s, ok := text(t.RawGetString("err")); ok {
		w.b = resp.AppendLine(w.b, resp.Error, oneLine(s))
		return
	}
	if s, ok := text(t.RawGetString("ok")); ok {
		w.b = resp.AppendLine(w.b, resp.Text, oneLine(s))
		return
	}
	if f, ok := t.RawGetString("double").(lua.LNumber); ok {
		s := number(float64(f), 17)
		if w.v3 {
			w.b = resp.AppendLine(w.b, resp.Double, s)
		} else {
			w.b = resp.AppendBulk(w.b, resp.Bulk, s)
		}
		return
	}
	if of, ok := t.RawGetString("map").(*lua.LTable); ok {
		w.each(of, resp.Map, depth)
		return
	}
	if of, ok := t.RawGetString("set").(*lua.LTable); ok {
		w.each(of, resp.Set, depth)
		return
	}
	if of, ok := t.RawGetString("verbatim_string").(*lua.LTable); ok && w.verbatim(of) {
		return
	}
	if t.RawGetString("big_number") != lua.LNil {
		w.m.host.Unknown("Lua: an answer that is a big number")
	}
	n := 0
	for t.RawGetInt(n+1) != lua.LNil {
		n++
	}
	w.b = resp.AppendNumber(w.b, resp.Array, int64(n))
	for i := range n {
		w.value(t.RawGetInt(i+1), depth+1)
	}
}

// verbatim writes a text for people; false: it is none.
func (w *writer) verbatim(t *lua.LTable) bool {
	format, ok := text(t.RawGetString("format"))
	s, isText := text(t.RawGetString("string"))
	switch {
	case !ok || !isText:
		return false
	case w.v3:
		w.b = resp.AppendBulk(w.b, resp.Verbatim, fmt.Sprintf("%-3.3s:%s", format, s))
	default:
		w.b = resp.AppendBulk(w.b, resp.Bulk, s)
	}
	return true
}

// text is a string, or a number as one: what Lua takes for a string.
func text(v lua.LValue) (string, bool) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), true
	case lua.LNumber:
		return number(float64(v), 14), true
	}
	return "", false
}

// each goes through a table in the order in which it was filled; the interpreter's own
// ForEach has another one each time.
func each(t *lua.LTable, f func(k, v lua.LValue)) {
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		f(k, v)
	}
}

// each writes a map or a set.
func (w *writer) each(t *lua.LTable, k resp.Kind, depth int) {
	n, isMap := 0, k == resp.Map
	each(t, func(_, _ lua.LValue) { n++ })
	if n > 1 {
		w.m.host.Unknown("Lua: the order of what is in a table without numbers")
	}
	if !w.v3 {
		k = resp.Array
		if isMap {
			n *= 2
		}
	}
	w.b = resp.AppendNumber(w.b, k, int64(n))
	each(t, func(key, v lua.LValue) {
		w.value(key, depth+1)
		if isMap {
			w.value(v, depth+1)
		}
	})
}
