package play

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"compress/gzip"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Stamp names the sources that this program and its engine were built from; make play sets it, and a release. Where it
// is empty, the program was built without the engine.
var Stamp = ""

// BuiltDir is where the engine is embedded from, in the folder of this project.
const BuiltDir = "internal/app/play/built"

//go:embed all:built
var built embed.FS

// Bundle is the compiled engine.
type Bundle struct {
	// Wasm is compressed with gzip.
	Wasm []byte
	// Exec is wasm_exec.js of the Go that compiled it.
	Exec []byte
	// Stamp is what the engine says of itself.
	Stamp string
}

// The files of a bundle.
const (
	wasmFile  = "play.wasm.gz"
	execFile  = "wasm_exec.js"
	stampFile = "stamp"
)

// ErrNoEngine says that this program has no engine of its own and that none can be compiled for it.
var ErrNoEngine = errors.New("this sim was built without the engine of the playground")

// Embedded is the engine in this program. It is refused where it was built from other sources.
func Embedded() (*Bundle, error) {
	if Stamp == "" {
		return nil, ErrNoEngine
	}
	dir, err := fs.Sub(built, "built")
	if err != nil {
		return nil, err
	}
	b, err := read(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNoEngine
	case err != nil:
		return nil, err
	case b.Stamp != Stamp:
		return nil, fmt.Errorf("%w: the one that lies in its sources was built from others (%s, not %s)", ErrNoEngine, b.Stamp, Stamp)
	}
	return b, nil
}

func read(dir fs.FS) (b *Bundle, err error) {
	b = &Bundle{}
	if b.Wasm, err = fs.ReadFile(dir, wasmFile); err != nil {
		return nil, err
	}
	if b.Exec, err = fs.ReadFile(dir, execFile); err != nil {
		return nil, err
	}
	stamp, err := fs.ReadFile(dir, stampFile)
	b.Stamp = strings.TrimSpace(string(stamp))
	return b, err
}

// released are versions of which the sources can be fetched.
var released = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// Load is the engine in this program, or else the one that was compiled for its version, or is compiled now: that takes
// a minute, of which tell is told. It is compiled where compile says so.
func Load(ctx context.Context, version string, compile bool, tell func(string)) (*Bundle, error) {
	b, err := Embedded()
	if !errors.Is(err, ErrNoEngine) {
		return b, err
	}
	if !released.MatchString(version) {
		return nil, words.WithHint(err, "make play, in the folder with its sources, builds sim with it")
	}
	cache, e := os.UserCacheDir()
	if e != nil {
		return nil, errors.Join(err, e)
	}
	dir := filepath.Join(cache, "redlock-sim", "playground-"+version)
	if b, err := read(os.DirFS(dir)); err == nil && b.Stamp == version {
		return b, nil
	}
	if !compile {
		return nil, words.WithHint(err, "sim play compiles it once")
	}
	tell(fmt.Sprintf("compiling the engine of the playground for %s, once; this takes a minute", version))
	b, err = Build(ctx, Source{Version: version}, version)
	if err != nil {
		return nil, words.WithHint(err, "the archives of a release have sim with the playground in it; make play builds it")
	}
	return b, b.Store(dir)
}

// Store writes the engine into a folder.
func (b *Bundle) Store(dir string) error {
	for _, f := range []struct {
		name string
		data []byte
	}{{wasmFile, b.Wasm}, {execFile, b.Exec}, {stampFile, []byte(b.Stamp + "\n")}} {
		if err := machine.WriteFile(filepath.Join(dir, f.name), func(w io.Writer) error { _, err := w.Write(f.data); return err }); err != nil {
			return err
		}
	}
	return nil
}

// Source is what to compile: a folder with this project, or a version of it.
type Source struct{ Dir, Version string }

// module is this project, and program its engine.
const (
	module  = "github.com/redlock-sim/redlock-sim"
	program = module + "/internal/app/play/wasm"
)

// Build compiles the engine with the Go toolchain, and gives it a stamp.
func Build(ctx context.Context, from Source, stamp string) (*Bundle, error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return nil, errors.New("the engine of the playground is compiled with Go, and go was not found")
	}
	dir, err := machine.Scratch()
	if err != nil {
		return nil, err
	}
	defer func() { _ = machine.Discard(dir) }()
	out := filepath.Join(dir, "play.wasm")
	// Without inlining the engine is a tenth smaller and hardly slower.
	flags := []string{"-trimpath", "-gcflags=all=-l", "-ldflags=-s -w -X main.stamp=" + stamp}
	env := append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS="+os.Getenv("GOFLAGS"))
	cmd := exec.CommandContext(ctx, tool, append(append([]string{"build"}, flags...), "-o", out, program)...)
	cmd.Dir = from.Dir
	if from.Dir == "" { // go install writes where GOPATH says; what it has fetched stays where it is
		cache, err := goEnv(ctx, tool, "GOMODCACHE")
		if err != nil {
			return nil, err
		}
		cmd = exec.CommandContext(ctx, tool, append(append([]string{"install"}, flags...), program+"@"+from.Version)...)
		cmd.Dir = dir
		env = append(env, "GOPATH="+dir, "GOBIN=", "GOMODCACHE="+cache, "GOWORK=off")
		out = filepath.Join(dir, "bin", "js_wasm", "wasm")
	}
	cmd.Env = env
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("failed to compile the engine: %w\n%s", err, bytes.TrimSpace(text))
	}
	b := &Bundle{Stamp: stamp}
	if b.Wasm, err = compressed(out); err != nil {
		return nil, err
	}
	root, err := goEnv(ctx, tool, "GOROOT")
	if err != nil {
		return nil, err
	}
	b.Exec, err = os.ReadFile(filepath.Join(root, "lib", "wasm", execFile))
	return b, err
}

func goEnv(ctx context.Context, tool, name string) (string, error) {
	out, err := exec.CommandContext(ctx, tool, "env", name).Output()
	if err != nil {
		return "", fmt.Errorf("failed to run go env: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// compressed is a file, gzipped: the same file gives the same bytes.
func compressed(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

// SourcesStamp is a hash of what the engine is built from, in a folder with this project: its packages, as Go lists
// them, and the versions of all others and of Go.
func SourcesStamp(ctx context.Context, dir string) (string, error) {
	const format = `{{if .Module}}{{if .Module.Main}}{{$d := .Dir}}` +
		`{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{range .EmbedFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f", format, program)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	list, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("failed to list the sources of the engine: %w", err)
	}
	version, err := goEnv(ctx, "go", "GOVERSION")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, version)
	root, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for _, name := range append([]string{filepath.Join(root, "go.mod"), filepath.Join(root, "go.sum")}, strings.Fields(string(list))...) {
		data, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		short, err := filepath.Rel(root, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", filepath.ToSlash(short), len(data), data)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}
