package main

import (
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestGoInstall: `go install` of a version, as docs/guide/install.md shows it, makes a program
// that says this version and has its scenarios with it. The version comes from a folder
// that serves as module proxy; all other modules come from this machine's cache.
func TestGoInstall(t *testing.T) {
	suite.All(t)
	const install, version = "go install github.com/redlock-sim/redlock-sim/cmd/sim@latest", "v1.2.3"
	if !strings.Contains(docstest.Read(t, "docs/guide/install.md"), "\n"+install+"\n") {
		t.Errorf("docs/guide/install.md does not say %s", install)
	}
	dir := t.TempDir()
	publish(t, filepath.Join(dir, "proxy"), ".", module.Version{Path: "github.com/redlock-sim/redlock-sim", Version: version})
	t.Setenv("GOPROXY", "file://"+dir+"/proxy,file://"+goEnv(t, "GOMODCACHE")+"/cache/download")
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOMODCACHE", filepath.Join(dir, "modules"))
	t.Setenv("GOFLAGS", "-modcacherw -trimpath") // so that it can be removed; so that what make build compiled is used again
	t.Setenv("CGO_ENABLED", "0")
	t.Setenv("GOBIN", filepath.Join(dir, "bin"))
	printed(t, dir, "sh", "-c", install)
	sim := filepath.Join(dir, "bin", "sim")
	for _, args := range []string{"version", "--version"} {
		if got := printed(t, dir, sim, args); !strings.HasPrefix(got, "sim "+version+" ") {
			t.Errorf("sim %s: %s", args, got)
		}
	}
	got := printed(t, dir, sim, "run", "gc-pause", "--world", "virtual")
	if !strings.Contains(got, "DONE 1 scenario, 2 variants, 0 unexpected") {
		t.Error(got)
	}
}

// publish lays out a version of a module of this source tree as a module proxy serves it.
func publish(t *testing.T, proxy, folder string, m module.Version) {
	t.Helper()
	root := filepath.Join(docstest.Root(t), folder)
	var files []zip.File
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch name {
		case ".git", ".cache", "bin", "reports": // not in the repository, or of no use
			return fs.SkipDir
		}
		if err == nil && entry.Type().IsRegular() {
			files = append(files, source{root, name})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(proxy, m.Path, "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"list": m.Version + "\n", m.Version + ".info": `{"Version":"` + m.Version + `"}`,
		m.Version + ".mod": docstest.Read(t, filepath.Join(folder, "go.mod")),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := os.Create(filepath.Join(dir, m.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := zip.Create(out, m, files); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// source is a file of the source tree.
type source struct{ root, name string }

func (s source) Path() string                 { return filepath.ToSlash(s.name) }
func (s source) Lstat() (os.FileInfo, error)  { return os.Lstat(filepath.Join(s.root, s.name)) }
func (s source) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(s.root, s.name)) }

// printed is what a command prints.
func printed(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var stderr strings.Builder
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := suite.Output(t, cmd)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}
