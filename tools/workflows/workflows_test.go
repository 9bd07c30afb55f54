// Package workflows_test reads all that GitHub is to read as strictly as GitHub does, or more: the workflows of this project, those
// that sim init writes, and those of the pages.
package workflows_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// repository leads from this package to the repository.
const repository = "../.."

// actionlint is the tool of the version that the Makefile names. It is no library here: it needs an older YAML library than ours.
var actionlint = sync.OnceValues(func() (string, error) {
	version, err := toolVersion("ACTIONLINT")
	if err != nil {
		return "", err
	}
	program := "github.com/rhysd/actionlint/cmd/actionlint@" + version
	if out, err := exec.Command("go", "run", program, "-version").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go run %s: %w: %s", program, err, out)
	}
	return program, nil
})

// toolVersion is the version of a tool in the Makefile.
func toolVersion(name string) (string, error) {
	makefile, err := os.ReadFile(repository + "/Makefile")
	if err != nil {
		return "", err
	}
	version := regexp.MustCompile(`(?m)^` + name + ` *:= (v\S+)$`).FindSubmatch(makefile)
	if version == nil {
		return "", fmt.Errorf("the Makefile names no %s", name)
	}
	return string(version[1]), nil
}

// lint is actionlint, which looks at the commands with shellcheck, where that is installed.
func lint(t *testing.T, name string, text []byte) {
	t.Helper()
	program, err := actionlint()
	if err != nil {
		t.Log(err)
		suite.Lacks(t, "actionlint")
	}
	c := exec.Command("go", "run", program, "-oneline", "-no-color", "-stdin-filename", name, "-")
	c.Stdin = bytes.NewReader(text)
	if out, err := suite.CombinedOutput(t, c); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	review(t, name, text)
}

var (
	uses   = regexp.MustCompile(`(?m)^[ -]*uses: (.*)$`)
	pinned = regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # (v?[0-9]+\.[0-9]+\.[0-9]+|no release yet)$`)
)

// review is what people ask of a workflow.
func review(t *testing.T, name string, text []byte) {
	t.Helper()
	var w struct {
		Permissions any `yaml:"permissions"`
		Jobs        map[string]struct {
			Timeout int `yaml:"timeout-minutes"`
			Steps   []struct {
				Uses string         `yaml:"uses"`
				With map[string]any `yaml:"with"`
			} `yaml:"steps"`
		} `yaml:"jobs"`
	}
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	if w.Permissions == nil {
		t.Errorf("%s: the jobs have every permission", name)
	}
	for job, j := range w.Jobs {
		if j.Timeout == 0 {
			t.Errorf("%s: the job %s may take hours", name, job)
		}
		for _, s := range j.Steps {
			if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != false {
				t.Errorf("%s: the job %s leaves the token to all steps", name, job)
			}
		}
	}
	for _, m := range uses.FindAllSubmatch(text, -1) {
		if own := string(m[1]) == "redlock-sim/redlock-sim@main"; !own && !pinned.Match(m[1]) {
			t.Errorf("%s: %s is not pinned to a commit, with its version as a comment", name, m[1])
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOwnWorkflows(t *testing.T) {
	files, err := filepath.Glob(repository + "/.github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no workflows (%v)", err)
	}
	goreleaser, err := toolVersion("GORELEASER")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text := read(t, file)
		if n := bytes.Count(text, []byte("uses: goreleaser/")); bytes.Count(text, []byte("version: "+goreleaser+"\n")) != n {
			t.Errorf("%s has another goreleaser than the Makefile's %s", file, goreleaser)
		}
		lint(t, strings.TrimPrefix(file, repository+"/"), text)
		if !bytes.Contains(text, []byte("\nconcurrency:\n")) {
			t.Errorf("%s says nothing of runs at the same time", file)
		}
	}
}

func TestWorkflowsOfPages(t *testing.T) {
	for _, page := range docstest.Pages(t) {
		for _, b := range docstest.Blocks(t, page) {
			if b.Language == "yaml" && b.Mark == "github" {
				lint(t, page, []byte(b.Text))
			}
		}
	}
}

// TestWorkflowsOfInit: what sim init writes for each language, by a sim that knows its commit if git does.
func TestWorkflowsOfInit(t *testing.T) {
	sim := filepath.Join(t.TempDir(), "sim")
	build := exec.Command("go", "build", "-C", repository, "-o", sim, "./cmd/sim")
	if out, err := suite.CombinedOutput(t, build); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := func(dir, name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		out, err := suite.CombinedOutput(t, c)
		if err != nil {
			t.Fatalf("%s %v: %v: %s", name, args, err, out)
		}
		return string(out)
	}
	version := run(t.TempDir(), sim, "version")
	_, after, knows := strings.Cut(version, "\n  commit ")
	commit, _, _ := strings.Cut(after, "\n")
	for _, language := range []string{"python", "go", "node", "ruby", "php", "java", "rust"} {
		dir := t.TempDir()
		run(dir, "git", "init", "--quiet")
		said := run(dir, sim, "init", "--language", language)
		text := read(t, filepath.Join(dir, ".github", "workflows", "locks.yml"))
		lint(t, "sim init --language "+language, text)
		own := "uses: redlock-sim/redlock-sim@main\n"
		if knows {
			own = "uses: redlock-sim/redlock-sim@" + commit + " # "
		}
		if !bytes.Contains(text, []byte(own)) {
			t.Errorf("%s: no %q", language, own)
		}
		if strings.Contains(said, "does not know its commit") == knows {
			t.Errorf("%s: sim version says %q, and sim init %q", language, version, said)
		}
	}
}

// TestForms: the forms for issues have what GitHub's documentation asks for, and nothing that it does not know.
func TestForms(t *testing.T) {
	type form struct {
		Name        string   `yaml:"name"`
		Description string   `yaml:"description"`
		Title       string   `yaml:"title"`
		Labels      []string `yaml:"labels"`
		Body        []struct {
			Type       string `yaml:"type"`
			ID         string `yaml:"id"`
			Attributes struct {
				Label       string `yaml:"label"`
				Description string `yaml:"description"`
				Placeholder string `yaml:"placeholder"`
				Value       string `yaml:"value"`
				Render      string `yaml:"render"`
			} `yaml:"attributes"`
			Validations struct {
				Required bool `yaml:"required"`
			} `yaml:"validations"`
		} `yaml:"body"`
	}
	files, err := filepath.Glob(repository + "/.github/ISSUE_TEMPLATE/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d forms (%v)", len(files), err)
	}
	for _, file := range files {
		var f form
		if filepath.Base(file) == "config.yml" {
			strictly(t, file, &struct {
				Blank bool `yaml:"blank_issues_enabled"`
				Links []struct {
					Name  string `yaml:"name"`
					URL   string `yaml:"url"`
					About string `yaml:"about"`
				} `yaml:"contact_links"`
			}{})
			continue
		}
		strictly(t, file, &f)
		if f.Name == "" || f.Description == "" || len(f.Body) == 0 {
			t.Errorf("%s lacks a name, a description or a body", file)
		}
		var ids []string
		for _, field := range f.Body {
			switch field.Type {
			case "markdown":
				if field.Attributes.Value == "" {
					t.Errorf("%s: a text is empty", file)
				}
			case "input", "textarea":
				if field.Attributes.Label == "" || field.ID == "" || slices.Contains(ids, field.ID) {
					t.Errorf("%s: %q lacks a label, or an id of its own", file, field.ID)
				}
				ids = append(ids, field.ID)
			default:
				t.Errorf("%s: unknown type %q", file, field.Type)
			}
		}
	}
}

// TestDependabot: it looks at every module of the repository that a user gets or that a maintainer runs.
func TestDependabot(t *testing.T) {
	var d struct {
		Version int `yaml:"version"`
		Updates []struct {
			Ecosystem   string         `yaml:"package-ecosystem"`
			Directory   string         `yaml:"directory"`
			Directories []string       `yaml:"directories"`
			Schedule    map[string]any `yaml:"schedule"`
			Groups      map[string]any `yaml:"groups"`
			Cooldown    map[string]int `yaml:"cooldown"`
		} `yaml:"updates"`
	}
	strictly(t, repository+"/.github/dependabot.yml", &d)
	var modules []string
	for _, u := range d.Updates {
		if u.Ecosystem == "gomod" {
			modules = u.Directories
		}
		for _, dir := range append(u.Directories, u.Directory) {
			if _, err := os.Stat(filepath.Join(repository, dir)); err != nil {
				t.Error(err)
			}
		}
	}
	files, err := filepath.Glob(repository + "/*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if dir := "/" + filepath.Base(filepath.Dir(file)); !slices.Contains(modules, dir) {
			t.Errorf("dependabot does not look at the module in %s", dir)
		}
	}
}

// strictly reads a file in which every field has to be known.
func strictly(t *testing.T, file string, into any) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(read(t, file)))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Errorf("%s: %v", file, err)
	}
}
