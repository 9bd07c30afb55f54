package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a change of one operator.
type mutant struct {
	id     int
	file   string // from the top of the project
	kind   string
	line   int
	column int // from the first character of the line that is no blank, from 1
	text   string
	nth    int // among those with the same key
	status string
}

// key names the mutant as long as nobody changes its line.
func (m *mutant) key() string {
	return fmt.Sprintf("%s | %s@%d | %s", m.file, m.kind, m.column, m.text)
}

// place tells the mutant from those of equal lines in its file.
func (m *mutant) place() string { return fmt.Sprintf("%s #%d", m.key(), m.nth) }

// schema is a package with all its mutants in it: each changed operator asks which
// of them is on, so that the tests are compiled once.
type schema struct {
	fset    *token.FileSet
	info    *types.Info
	pkg     *types.Package
	mutants []*mutant
}

// comparisons are the functions that stand for an operator.
var comparisons = map[token.Token]string{token.LSS: "mutantLess",
	token.LEQ: "mutantAtMost", token.GTR: "mutantMore", token.GEQ: "mutantAtLeast"}

var arithmetic = map[token.Token]string{token.ADD: "mutantAdd",
	token.SUB: "mutantSub", token.MUL: "mutantMul", token.QUO: "mutantQuo", token.REM: "mutantRem"}

// helpers is added to the package.
const helpers = `package %s

import (
	"cmp"
	"os"
	"strconv"
)

var mutantOn, _ = strconv.Atoi(os.Getenv("MUTANT"))

type mutantInteger interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type mutantNumber interface {
	mutantInteger | ~float32 | ~float64
}

func mutantPick[T any](on bool, changed, right T) T {
	if on {
		return changed
	}
	return right
}

func mutantLess[T cmp.Ordered](edge, turned int, a, b T) bool {
	return mutantPick(mutantOn == edge, a <= b, mutantPick(mutantOn == turned, a >= b, a < b))
}

func mutantAtMost[T cmp.Ordered](edge, turned int, a, b T) bool {
	return mutantPick(mutantOn == edge, a < b, mutantPick(mutantOn == turned, a > b, a <= b))
}

func mutantMore[T cmp.Ordered](edge, turned int, a, b T) bool {
	return mutantPick(mutantOn == edge, a >= b, mutantPick(mutantOn == turned, a <= b, a > b))
}

func mutantAtLeast[T cmp.Ordered](edge, turned int, a, b T) bool {
	return mutantPick(mutantOn == edge, a > b, mutantPick(mutantOn == turned, a < b, a >= b))
}

func mutantAdd[T mutantNumber](id int, a, b T) T { return mutantPick(mutantOn == id, a-b, a+b) }
func mutantSub[T mutantNumber](id int, a, b T) T { return mutantPick(mutantOn == id, a+b, a-b) }
func mutantNeg[T mutantNumber](id int, a T) T    { return mutantPick(mutantOn == id, a, -a) }

func mutantMul[T mutantNumber](id int, a, b T) T {
	if mutantOn == id {
		return a / b
	}
	return a * b
}

func mutantQuo[T mutantNumber](id int, a, b T) T {
	if mutantOn == id {
		return a * b
	}
	return a / b
}

func mutantRem[T mutantInteger](id int, a, b T) T {
	if mutantOn == id {
		return a * b
	}
	return a %% b
}

func mutantInc[T mutantNumber](id int, a *T) { *a = mutantAdd(id, *a, 1) }
func mutantDec[T mutantNumber](id int, a *T) { *a = mutantSub(id, *a, 1) }
`

// edit puts text in the place of a source's bytes. At one place what closes comes
// before what opens, and the inner closes first.
type edit struct {
	from, to, order int
	text            string
}

// changed is the package with all its mutants, and the sources of its files that have some.
func (t *target) changed() (s *schema, sources map[string][]byte, err error) {
	s = &schema{fset: token.NewFileSet()}
	files, err := s.load(t.dir)
	if err != nil {
		return nil, nil, err
	}
	sources = make(map[string][]byte)
	for _, f := range files {
		name := s.fset.Position(f.Pos()).Filename
		if len(t.files) > 0 && !slices.Contains(t.files, filepath.Base(name)) {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		sources[name] = s.mutate(f, name, source)
	}
	return s, sources, nil
}

// build compiles the package's tests with all its mutants into a program.
func (t *target) build(dir string) (program string, mutants []*mutant, err error) {
	s, sources, err := t.changed()
	if err != nil {
		return "", nil, err
	}
	replace := make(map[string]string)
	write := func(path string, b []byte) error {
		full, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		replace[full] = filepath.Join(dir, filepath.Base(path))
		return os.WriteFile(replace[full], b, 0o644)
	}
	for name, source := range sources {
		if err := write(name, source); err != nil {
			return "", nil, err
		}
	}
	if err := write(filepath.Join(t.dir, "zz_mutants.go"), fmt.Appendf(nil, helpers, s.pkg.Name())); err != nil {
		return "", nil, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o644); err != nil {
		return "", nil, err
	}
	program = filepath.Join(dir, "tests")
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", file, "-o", program, "./"+cmp.Or(t.tests, t.dir)).CombinedOutput()
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w\n%s", t.dir, err, out)
	}
	return program, s.mutants, nil
}

// load parses a package and finds its types.
func (s *schema) load(dir string) ([]*ast.File, error) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles", "./"+dir).Output()
	if err != nil {
		return nil, err
	}
	var own struct {
		Dir, ImportPath, Export string
		GoFiles                 []string
	}
	exports := make(map[string]string)
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); { // the package itself is the last
		if err := d.Decode(&own); err != nil {
			return nil, err
		}
		exports[own.ImportPath] = own.Export
	}
	var files []*ast.File
	for _, name := range own.GoFiles {
		f, err := parser.ParseFile(s.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	s.info = &types.Info{Types: make(map[ast.Expr]types.TypeAndValue)}
	config := types.Config{Importer: importer.ForCompiler(s.fset, "gc", open)}
	s.pkg, err = config.Check(own.ImportPath, s.fset, files, s.info)
	return files, err
}

// mutate is a file's source with its mutants in it. What is a constant by Go's rules
// stays as it is.
func (s *schema) mutate(f *ast.File, name string, source []byte) []byte {
	var edits []edit
	imported := make(map[string]bool)
	for _, i := range f.Imports {
		if i.Name == nil {
			imported[strings.Trim(i.Path.Value, `"`)] = true
		}
	}
	at := func(p token.Pos) int { return s.fset.Position(p).Offset }
	around := func(n ast.Node, before, after string) {
		from, to := at(n.Pos()), at(n.End())
		edits = append(edits, edit{from, from, 2*len(source) - to, before}, edit{to, to, -from, after})
	}
	next := func(kind string, p token.Pos) int {
		m := &mutant{id: len(s.mutants) + 1, file: name, kind: kind, line: s.fset.Position(p).Line}
		start := bytes.LastIndexByte(source[:at(p)], '\n') + 1
		end := start + bytes.IndexByte(source[start:], '\n')
		line := string(source[start:end])
		m.text = strings.TrimSpace(line)
		m.column = at(p) - start - (len(line) - len(strings.TrimLeft(line, "\t"))) + 1
		s.mutants = append(s.mutants, m)
		return m.id
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST
		case *ast.ArrayType:
			return false
		case *ast.FuncDecl:
			return n.Type.TypeParams == nil
		case *ast.BinaryExpr:
			operand, named := s.typeName(s.info.Types[n.X].Type, imported)
			operator := func(with string) {
				edits = append(edits, edit{at(n.OpPos), at(n.OpPos) + len(n.Op.String()), 0, with})
			}
			basic, _ := s.info.Types[n.X].Type.Underlying().(*types.Basic)
			switch {
			case n.Op == token.EQL || n.Op == token.NEQ:
				around(n, "((", fmt.Sprintf(") != (mutantOn == %d))", next("CONDITIONALS_NEGATION", n.OpPos)))
			case !named:
			case comparisons[n.Op] != "":
				around(n, fmt.Sprintf("%s[%s](%d, %d, ",
					comparisons[n.Op], operand, next("CONDITIONALS_BOUNDARY", n.OpPos), next("CONDITIONALS_NEGATION", n.OpPos)), ")")
				operator(",")
			case arithmetic[n.Op] != "" && basic != nil && basic.Info()&types.IsNumeric != 0:
				around(n, fmt.Sprintf("%s[%s](%d, ", arithmetic[n.Op], operand, next("ARITHMETIC_BASE", n.OpPos)), ")")
				operator(",")
			}
		case *ast.UnaryExpr:
			if operand, ok := s.typeName(s.info.Types[n].Type, imported); ok && n.Op == token.SUB {
				around(n, fmt.Sprintf("mutantNeg[%s](%d, ", operand, next("INVERT_NEGATIVES", n.OpPos)), ")")
				edits = append(edits, edit{at(n.OpPos), at(n.OpPos) + 1, 2 * len(source), ""})
			}
		case *ast.IncDecStmt:
			call, x := "mutantInc", n.X
			if n.Tok == token.DEC {
				call = "mutantDec"
			}
			if i, ok := x.(*ast.IndexExpr); ok {
				if m, ok := s.info.Types[i.X].Type.Underlying().(*types.Map); ok {
					if step, named := s.typeName(m.Elem(), imported); named {
						edits = append(edits, edit{at(n.TokPos), at(n.End()), 0, fmt.Sprintf(" += mutantPick[%s](mutantOn == %d, %s1, %s1)", step,
							next("INCREMENT_DECREMENT", n.TokPos), sign(n.Tok == token.INC), sign(n.Tok == token.DEC))})
					}
					return true
				}
			}
			around(x, fmt.Sprintf("%s(%d, &", call, next("INCREMENT_DECREMENT", n.TokPos)), "")
			edits = append(edits, edit{at(n.TokPos), at(n.End()), 0, ")"})
		}
		return true
	})
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(a.from-b.from, a.order-b.order) })
	var out []byte
	done := 0
	for _, e := range edits {
		out = append(append(out, source[done:e.from]...), e.text...)
		done = e.to
	}
	return append(out, source[done:]...)
}

// sign is the minus of a step that goes down.
func sign(down bool) string {
	if down {
		return "-"
	}
	return ""
}

// typeName is a type as the file writes it; false where it cannot be written there.
func (s *schema) typeName(t types.Type, imported map[string]bool) (name string, can bool) {
	can = t != nil
	if !can {
		return "", false
	}
	name = types.TypeString(t, func(p *types.Package) string {
		if p == s.pkg {
			return ""
		}
		can = can && imported[p.Path()]
		return p.Name()
	})
	return name, can
}
