package script

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// The names that scripts find in Redis 7.0. What is not here does not exist there, either;
// what is here and not in the interpreter is unknown.
var libraries = map[string]string{
	"": `_G _VERSION assert bit cjson cmsgpack collectgarbage coroutine error gcinfo getmetatable ipairs load loadstring math next pairs
		pcall rawequal rawget rawset redis select setmetatable string struct table tonumber tostring type unpack xpcall`,
	"string": "byte char dump find format gfind gmatch gsub len lower match rep reverse sub upper",
	"table":  "concat foreach foreachi getn insert maxn remove setn sort",
	"math": `abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min mod modf
		pi pow rad random randomseed sin sinh sqrt tan tanh`,
	"coroutine": "create resume running status wrap yield",
	"redis": `LOG_DEBUG LOG_NOTICE LOG_VERBOSE LOG_WARNING REDIS_VERSION REDIS_VERSION_NUM REPL_ALL REPL_AOF REPL_NONE REPL_REPLICA
		REPL_SLAVE acl_check_cmd breakpoint call debug error_reply log pcall replicate_commands set_repl setresp sha1hex status_reply`,
	"cjson": `decode decode_invalid_numbers decode_max_depth encode encode_invalid_numbers encode_keep_buffer encode_max_depth
		encode_number_precision encode_sparse_array new null`,
	"bit":      "arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex",
	"cmsgpack": "pack unpack unpack_one unpack_limit",
	"struct":   "pack unpack size",
}

func newMachine() *machine {
	m := &machine{LState: lua.NewState(lua.Options{SkipOpenLibs: true, RegistrySize: 1024, RegistryMaxSize: 1 << 18, CallStackSize: 200}),
		functions: make(map[*Program]*lua.LFunction)}
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenTable, lua.OpenString, lua.OpenMath, lua.OpenCoroutine} {
		m.Push(m.NewFunction(open))
		m.Call(0, 0)
	}
	base := m.G.Global
	m.globals = m.NewTable()
	m.env = m.readOnly("", m.globals)
	for name := range strings.FieldsSeq(libraries[""]) {
		m.globals.RawSetString(name, base.RawGetString(name))
	}
	m.globals.RawSetString("_G", m.env)
	m.globals.RawSetString(writeName, m.NewFunction(writeNumber))
	m.functionsOf(m.globals, map[string]lua.LGFunction{
		"tostring":       m.tostring,
		"tonumber":       tonumber(base.RawGetString("tonumber").(*lua.LFunction).GFunction),
		"collectgarbage": zero,
	})
	m.overrideLibraries(base)
	for name, lib := range map[string]*lua.LTable{
		"redis": m.redis(), "cjson": m.cjson(), "bit": m.bit(), "cmsgpack": m.NewTable(), "struct": m.NewTable(),
		"string": base.RawGetString("string").(*lua.LTable), "table": base.RawGetString("table").(*lua.LTable),
		"math": base.RawGetString("math").(*lua.LTable), "coroutine": base.RawGetString("coroutine").(*lua.LTable),
	} {
		m.globals.RawSetString(name, m.readOnly(name, lib))
	}
	m.G.Global, m.Env = m.env, m.env
	m.where = m.NewFunction(m.seeWhere)
	m.SetContext(&m.fuel)
	return m
}

// readOnly is a table that shows a library's, and cannot be changed.
func (m *machine) readOnly(name string, lib *lua.LTable) *lua.LTable {
	names := strings.Fields(libraries[name])
	lib.Metatable = m.NewTable()
	m.functionsOf(lib.Metatable.(*lua.LTable), map[string]lua.LGFunction{"__index": func(l *lua.LState) int {
		field := l.Get(2).String()
		if slices.Contains(names, field) {
			m.host.Unknown("Lua: " + strings.TrimPrefix(name+"."+field, "."))
			l.RaiseError("%s is not modelled", field)
		} else if name == "" {
			l.RaiseError("Script attempted to access nonexistent global variable '%s'", field)
		}
		return 0
	}})
	proxy, meta := m.NewTable(), m.NewTable()
	meta.RawSetString("__index", lib)
	meta.RawSetString("__metatable", lua.LFalse)
	m.functionsOf(meta, map[string]lua.LGFunction{"__newindex": func(l *lua.LState) int {
		l.RaiseError("Attempt to modify a readonly table")
		return 0
	}})
	proxy.Metatable = meta
	return proxy
}

func (m *machine) functionsOf(t *lua.LTable, functions map[string]lua.LGFunction) {
	for name, f := range functions {
		t.RawSetString(name, m.NewFunction(f))
	}
}

func zero(l *lua.LState) int {
	l.Push(lua.LNumber(0))
	return 1
}

// writeNumber makes a number the text that C makes of it.
func writeNumber(l *lua.LState) int {
	v := l.Get(1)
	if n, ok := v.(lua.LNumber); ok {
		v = lua.LString(number(float64(n), 14))
	}
	l.Push(v)
	return 1
}

func (m *machine) tostring(l *lua.LState) int {
	if n, ok := l.CheckAny(1).(lua.LNumber); ok {
		l.Push(lua.LString(number(float64(n), 14)))
		return 1
	}
	l.Push(l.ToStringMeta(l.Get(1)))
	return 1
}

// tonumber reads numbers as C's strtod does, where no base is given.
func tonumber(withBase lua.LGFunction) lua.LGFunction {
	return func(l *lua.LState) int {
		s, ok := l.CheckAny(1).(lua.LString)
		if !ok || l.GetTop() > 1 {
			return withBase(l)
		}
		text := strings.Trim(string(s), " \t\n\v\f\r")
		f, err := strconv.ParseFloat(text, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			n, errHex := strconv.ParseInt(text, 0, 64)
			if f = float64(n); errHex != nil || !strings.Contains(strings.ToLower(text), "0x") {
				l.Push(lua.LNil)
				return 1
			}
		}
		l.Push(lua.LNumber(f))
		return 1
	}
}

// longest bounds what string.rep makes.
const longest = 64 << 20

// overrideLibraries puts right what the interpreter does in another way than C.
func (m *machine) overrideLibraries(base *lua.LTable) {
	str := base.RawGetString("string").(*lua.LTable)
	tab := base.RawGetString("table").(*lua.LTable)
	mat := base.RawGetString("math").(*lua.LTable)
	rep := str.RawGetString("rep").(*lua.LFunction).GFunction
	format := str.RawGetString("format").(*lua.LFunction).GFunction
	concat := tab.RawGetString("concat").(*lua.LFunction).GFunction
	m.functionsOf(str, map[string]lua.LGFunction{
		"rep": func(l *lua.LState) int {
			if float64(len(l.CheckString(1)))*float64(l.CheckNumber(2)) > longest {
				m.host.Unknown("Lua: a string of more than 64 MB")
				l.RaiseError("resulting string too large")
			}
			return rep(l)
		},
		"format": func(l *lua.LState) int {
			for i := 2; i <= l.GetTop(); i++ {
				if n, ok := l.Get(i).(lua.LNumber); ok && number(float64(n), 14) != n.String() && strings.ContainsAny(l.CheckString(1), "sq") {
					m.host.Unknown("Lua: string.format of a fraction as a string")
				}
			}
			return format(l)
		},
	})
	m.functionsOf(tab, map[string]lua.LGFunction{"concat": func(l *lua.LState) int {
		t := l.CheckTable(1)
		copied := l.CreateTable(t.Len(), 0)
		for i := range t.Len() {
			v := t.RawGetInt(i + 1)
			if n, ok := v.(lua.LNumber); ok {
				v = lua.LString(number(float64(n), 14))
			}
			copied.RawSetInt(i+1, v)
		}
		l.Replace(1, copied)
		return concat(l)
	}})
	m.functionsOf(mat, map[string]lua.LGFunction{"random": m.mathRandom, "randomseed": func(l *lua.LState) int {
		*m.host.Random() = uint64(uint32(int64(l.CheckNumber(1))))<<16 | FirstRandom&0xffff
		return 0
	}})
}

// FirstRandom is the state of a server's random numbers when it starts: they are those of
// drand48, the same in each process.
const FirstRandom = 0x1234_abcd_330e

const maxRandom = math.MaxInt32

func (m *machine) mathRandom(l *lua.LState) int {
	state := m.host.Random()
	*state = (*state*0x5deece66d + 0xb) & (1<<48 - 1)
	r := float64((*state>>17)%maxRandom) / maxRandom
	low, high := 1.0, 0.0
	switch l.GetTop() {
	case 0:
		l.Push(lua.LNumber(r))
		return 1
	case 1:
		high = float64(l.CheckInt64(1))
	case 2:
		low, high = float64(l.CheckInt64(1)), float64(l.CheckInt64(2))
	default:
		l.RaiseError("wrong number of arguments")
	}
	if low > high {
		l.ArgError(l.GetTop(), "interval is empty")
	}
	l.Push(lua.LNumber(math.Floor(r*(high-low+1)) + low))
	return 1
}

// redis is the library of that name.
func (m *machine) redis() *lua.LTable {
	t := m.NewTable()
	reply := func(name string) lua.LGFunction {
		return func(l *lua.LState) int {
			s, ok := l.Get(1).(lua.LString)
			if !ok || l.GetTop() != 1 {
				l.Push(m.single("err", "ERR wrong number or type of arguments"))
				return 1
			}
			if name == "err" {
				if s = lua.LString(strings.TrimPrefix(string(s), "-")); !strings.Contains(string(s), " ") {
					s = "ERR " + s
				}
			}
			l.Push(m.single(name, string(s)))
			return 1
		}
	}
	m.functionsOf(t, map[string]lua.LGFunction{
		"call":         func(l *lua.LState) int { return m.call(l, false) },
		"pcall":        func(l *lua.LState) int { return m.call(l, true) },
		"error_reply":  reply("err"),
		"status_reply": reply("ok"),
		"sha1hex": func(l *lua.LState) int {
			if l.GetTop() != 1 {
				m.raise(l, "ERR wrong number of arguments")
			}
			l.Push(lua.LString(command.SHA(l.ToString(1))))
			return 1
		},
		"log": func(l *lua.LState) int {
			if l.GetTop() < 2 {
				m.raise(l, "ERR redis.log() requires two arguments or more.")
			}
			return 0
		},
		"replicate_commands": func(l *lua.LState) int {
			l.Push(lua.LTrue)
			return 1
		},
		"set_repl": func(*lua.LState) int { return 0 },
		"setresp": func(l *lua.LState) int {
			v := l.CheckInt(1)
			if v != 2 && v != 3 {
				m.raise(l, "ERR RESP version must be 2 or 3.")
			}
			m.v3 = v == 3
			m.host.Protocol(m.v3)
			return 0
		},
	})
	for name, n := range map[string]int{"LOG_DEBUG": 0, "LOG_VERBOSE": 1, "LOG_NOTICE": 2, "LOG_WARNING": 3,
		"REPL_NONE": 0, "REPL_AOF": 1, "REPL_SLAVE": 2, "REPL_REPLICA": 2, "REPL_ALL": 3, "REDIS_VERSION_NUM": 0x7000f} {
		t.RawSetString(name, lua.LNumber(n))
	}
	t.RawSetString("REDIS_VERSION", lua.LString("7.0.15"))
	return t
}
