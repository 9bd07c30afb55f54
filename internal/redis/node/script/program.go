package script

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Program is a script, compiled once for all nodes.
type Program struct {
	SHA, Text string
	// ReadOnly: its first line says that it writes nothing.
	ReadOnly bool
	proto    *lua.FunctionProto
	// strange is an option in its first line that is not modelled.
	strange string
}

// programs has what was compiled, by its text. It is emptied when it is full.
var programs = struct {
	sync.Mutex
	byText map[string]*Program
}{byText: make(map[string]*Program)}

const maxPrograms = 1024

// Compile makes a program of a text. The error is in Redis's words.
func Compile(text string) (*Program, error) {
	programs.Lock()
	defer programs.Unlock()
	if p := programs.byText[text]; p != nil {
		return p, nil
	}
	p := &Program{SHA: command.SHA(text), Text: text}
	source, err := p.shebang(text)
	if err != nil {
		return nil, err
	}
	chunk, err := parse.Parse(strings.NewReader(source), chunkName)
	if err == nil {
		rewrite(reflect.ValueOf(chunk))
		p.proto, err = lua.Compile(chunk, chunkName)
	}
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("ERR Error compiling script (new function): %s", why)
	}
	p.proto.IsVarArg = lua.VarArgIsVarArg // a script has no table arg, and it would cost as much as a command
	if len(programs.byText) >= maxPrograms {
		clear(programs.byText)
	}
	programs.byText[text] = p
	return p, nil
}

const chunkName = "user_script"

var shebangFlags = []string{"no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"}

// shebang reads the first line, where it begins with #!, and answers the text without it.
func (p *Program) shebang(text string) (source string, err error) {
	if !strings.HasPrefix(text, "#!") {
		return text, nil
	}
	line, rest, _ := strings.Cut(text, "\n")
	words := strings.Fields(line)
	if words[0] != "#!lua" {
		return "", fmt.Errorf("ERR Unexpected engine in script shebang: %s", words[0])
	}
	for _, w := range words[1:] {
		flags, ok := strings.CutPrefix(w, "flags=")
		if !ok {
			return "", fmt.Errorf("ERR Unknown lua shebang option: %s", w)
		}
		for flag := range strings.SplitSeq(flags, ",") {
			if flag != "" && !slices.Contains(shebangFlags, flag) {
				return "", fmt.Errorf("ERR Unexpected flag in script shebang: %s", flag)
			}
			if flag == "no-writes" {
				p.ReadOnly = true
			}
			if flag == "allow-cross-slot-keys" {
				p.strange = flag
			}
		}
	}
	return "\n" + rest, nil
}

// rewrite lets what is put together by .. be written as C writes it: Go writes numbers in
// another way, and the interpreter does that by itself.
func rewrite(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		if c, ok := v.Interface().(*ast.StringConcatOpExpr); ok && v.Kind() == reflect.Interface {
			c.Lhs, c.Rhs = written(c.Lhs), written(c.Rhs)
		}
		rewrite(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() || v.Type().Field(i).Anonymous {
				rewrite(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			rewrite(v.Index(i))
		}
	}
}

// written is a part of a concatenation, as C writes it.
func written(e ast.Expr) ast.Expr {
	switch e.(type) {
	case *ast.StringExpr, *ast.StringConcatOpExpr:
		return e
	}
	name := &ast.IdentExpr{Value: writeName}
	call := &ast.FuncCallExpr{Func: name, Args: []ast.Expr{e}, AdjustRet: true}
	for _, made := range []ast.PositionHolder{name, call} {
		made.SetLine(e.Line())
		made.SetLastLine(e.LastLine())
	}
	return call
}

// writeName is a global that no script can name.
const writeName = "\x00write"
