package script

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// cjson is the library of that name, with its usual settings.
func (m *machine) cjson() *lua.LTable {
	t := m.NewTable()
	null := m.NewUserData()
	m.functionsOf(t, map[string]lua.LGFunction{
		"encode": func(l *lua.LState) int {
			var b strings.Builder
			m.encode(l, &b, l.CheckAny(1), null, 0)
			l.Push(lua.LString(b.String()))
			return 1
		},
		"decode": func(l *lua.LState) int {
			d := json.NewDecoder(strings.NewReader(l.CheckString(1)))
			d.UseNumber()
			v, err := m.decode(d, null)
			if err == nil {
				if _, err = d.Token(); errors.Is(err, io.EOF) {
					l.Push(v)
					return 1
				}
			}
			l.RaiseError("Expected value but found invalid token")
			return 0
		},
	})
	t.RawSetString("null", null)
	return t
}

// deepestJSON is how deep cjson goes.
const deepestJSON = 1000

func (m *machine) encode(l *lua.LState, b *strings.Builder, v lua.LValue, null *lua.LUserData, depth int) {
	if depth > deepestJSON {
		l.RaiseError("Cannot serialise, excessive depth (%d)", depth)
	}
	switch v := v.(type) {
	case *lua.LNilType:
		b.WriteString("null")
	case lua.LBool:
		b.WriteString(v.String())
	case lua.LString:
		quote(b, string(v))
	case lua.LNumber:
		if f := float64(v); math.IsInf(f, 0) || math.IsNaN(f) {
			l.RaiseError("Cannot serialise number: must not be NaN or Inf")
		}
		b.WriteString(number(float64(v), 14))
	case *lua.LTable:
		m.encodeTable(l, b, v, null, depth)
	default:
		if v != null {
			l.RaiseError("Cannot serialise %s: type not supported", v.Type().String())
		}
		b.WriteString("null")
	}
}

func (m *machine) encodeTable(l *lua.LState, b *strings.Builder, t *lua.LTable, null *lua.LUserData, depth int) {
	n, items, isArray := 0, 0, true
	each(t, func(k, _ lua.LValue) {
		i, ok := k.(lua.LNumber)
		if isArray = isArray && ok && i >= 1 && i == lua.LNumber(math.Floor(float64(i))); isArray {
			n = max(n, int(i))
		}
		items++
	})
	if isArray && n > 10 && n > 2*items {
		l.RaiseError("Cannot serialise table: excessively sparse array")
	}
	if isArray && n > 0 {
		b.WriteByte('[')
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			m.encode(l, b, t.RawGetInt(i+1), null, depth+1)
		}
		b.WriteByte(']')
		return
	}
	if items > 1 {
		m.host.Unknown("Lua: the order of the fields that cjson.encode writes")
	}
	b.WriteByte('{')
	first := true
	each(t, func(k, v lua.LValue) {
		if !first {
			b.WriteByte(',')
		}
		first = false
		name, ok := text(k)
		if !ok {
			l.RaiseError("Cannot serialise %s: table key must be a number or string", k.Type().String())
		}
		quote(b, name)
		b.WriteByte(':')
		m.encode(l, b, v, null, depth+1)
	})
	b.WriteByte('}')
}

var escapes = map[byte]string{'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

func quote(b *strings.Builder, s string) {
	b.WriteByte('"')
	for i := range len(s) {
		switch escape, ok := escapes[s[i]]; {
		case ok:
			b.WriteString(escape)
		case s[i] < ' ' || s[i] == 0x7f:
			b.WriteString(`\u00` + strconv.FormatInt(int64(s[i]>>4), 16) + strconv.FormatInt(int64(s[i]&15), 16))
		default:
			b.WriteByte(s[i])
		}
	}
	b.WriteByte('"')
}

func (m *machine) decode(d *json.Decoder, null *lua.LUserData) (lua.LValue, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case bool:
		return lua.LBool(v), nil
	case json.Number:
		f, _ := v.Float64()
		return lua.LNumber(f), nil
	case string:
		return lua.LString(v), nil
	case json.Delim:
		t := m.NewTable()
		for i := 1; d.More(); i++ {
			var key lua.LValue = lua.LNumber(i)
			if v == '{' {
				if key, err = m.decode(d, null); err != nil {
					return nil, err
				}
			}
			value, err := m.decode(d, null)
			if err != nil {
				return nil, err
			}
			t.RawSet(key, value)
		}
		_, err = d.Token()
		return t, err
	}
	return null, nil
}
