package script

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// Host is the server that a script runs in.
type Host interface {
	// Call carries a command out, and answers the bytes of its reply. It may keep neither
	// the words nor expect the bytes to be kept.
	Call(words []string) []byte
	// Protocol sets the version of the protocol in which Call answers.
	Protocol(v3 bool)
	// Random is the state of the server's random numbers.
	Random() *uint64
	// Unknown is told of what a real server may know and this package does not.
	Unknown(what string)
}

// limit is how many instructions a script may take: some seconds' worth.
const limit = 50_000_000

// machine is a Lua state. Scripts leave nothing behind in one, so any may run any script.
type machine struct {
	*lua.LState
	host Host
	// env is what scripts have as globals; they cannot write into it. globals is behind it.
	env, globals *lua.LTable
	functions    map[*Program]*lua.LFunction
	fuel         fuel
	v3           bool
	// line is where the script failed.
	line  string
	where *lua.LFunction
	words []string
}

// machines are those that run nothing just now.
var machines = sync.Pool{New: func() any { return newMachine() }}

// fuel is a context that ends after so many instructions: the interpreter asks for Done
// before each.
type fuel struct {
	left int
	host Host
}

var ended = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

func (f *fuel) Done() <-chan struct{} {
	if f.left--; f.left >= 0 {
		return nil
	}
	if f.left == -1 {
		f.host.Unknown("Lua: a script of more than " + strconv.Itoa(limit) + " instructions")
	}
	return ended
}

func (f *fuel) Err() error                  { return errors.New("the script runs for too long") }
func (f *fuel) Deadline() (time.Time, bool) { return time.Time{}, false }
func (f *fuel) Value(any) any               { return nil }

var _ context.Context = (*fuel)(nil)

// Run runs a program, and appends its answer to dst in the version of the protocol that the
// client speaks.
func (p *Program) Run(dst []byte, v3 bool, h Host, keys, args []string) []byte {
	if p.strange != "" {
		h.Unknown("Lua: the flag " + p.strange)
	}
	m := machines.Get().(*machine)
	defer machines.Put(m)
	m.host, m.v3, m.line = h, false, ""
	m.fuel = fuel{limit, h}
	defer func() { m.host, m.fuel.host = nil, nil }()
	m.globals.RawSetString("KEYS", m.list(keys))
	m.globals.RawSetString("ARGV", m.list(args))
	err := m.CallByParam(lua.P{Fn: m.function(p), NRet: 1, Protect: true, Handler: m.where})
	defer m.SetTop(0)
	if err != nil {
		return append(append(append(dst, '-'), oneLine(p.failure(err, m.line))...), "\r\n"...)
	}
	w := writer{m: m, b: dst, v3: v3}
	w.value(m.Get(-1), 0)
	return w.b
}

func (m *machine) function(p *Program) *lua.LFunction {
	f := m.functions[p]
	if f == nil {
		if len(m.functions) >= maxPrograms {
			clear(m.functions)
		}
		f = m.NewFunctionFromProto(p.proto)
		f.Env = m.env
		m.functions[p] = f
	}
	return f
}

func (m *machine) list(words []string) *lua.LTable {
	t := m.CreateTable(len(words), 0)
	for _, w := range words {
		t.Append(lua.LString(w))
	}
	return t
}

// failure is the error with which a script ended, in Redis's words.
func (p *Program) failure(err error, line string) string {
	var e *lua.ApiError
	if !errors.As(err, &e) {
		return "ERR " + err.Error()
	}
	message := ""
	switch v := e.Object.(type) {
	case *lua.LTable:
		text, ok := v.RawGetString("err").(lua.LString)
		if !ok {
			text = "ERR unknown error"
		}
		message = string(text)
	default:
		message = "ERR " + v.String()
	}
	if line == "" {
		return message
	}
	return fmt.Sprintf("%s script: %s, on @%s:%s.", message, p.SHA, chunkName, line)
}

func oneLine(s string) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
}

// raise ends the script with an error in Redis's words.
func (m *machine) raise(l *lua.LState, message string) {
	l.Error(m.single("err", message), 0)
}

// seeWhere takes note of the line in which a script fails.
func (m *machine) seeWhere(l *lua.LState) int {
	for level := 1; level < 4 && m.line == ""; level++ {
		if rest, ok := strings.CutPrefix(l.Where(level), chunkName+":"); ok {
			m.line, _, _ = strings.Cut(rest, ":")
		}
	}
	return 1
}

// number writes one as C's printf does with %.*g.
func number(f float64, digits int) string {
	if f == float64(int64(f)) && f > -1e14 && f < 1e14 {
		return strconv.FormatInt(int64(f), 10)
	}
	switch s := strconv.FormatFloat(f, 'g', digits, 64); s {
	case "+Inf":
		return "inf"
	case "-Inf":
		return "-inf"
	case "NaN":
		return "-nan"
	default:
		return s
	}
}
