// Package workflows_test reads all that GitHub is to read as strictly as GitHub does, or more: the workflows of this project, those
// that sim init writes, and those of the pages.
package workflows_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
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
	anchor = regexp.MustCompile(`(?m)^[^#]*: [&*][a-z]+( |$)`)
	// What is installed by name has a version; a file has them, or is the user's own.
	unpinnedPip = regexp.MustCompile(`(?m)(pip install (?:[^-.\n=]\S*)?)$`)

	pinned = regexp.MustCompile(`^[\w./-]+@[0-9a-f]{40} # (v?[0-9]+\.[0-9]+\.[0-9]+|no release yet)$`)
)

// workflow is what the tests read of one.
type workflow struct {
	Permissions any `yaml:"permissions"`
	Concurrency struct {
		Group string `yaml:"group"`
	} `yaml:"concurrency"`
	Jobs map[string]struct {
		Timeout     int               `yaml:"timeout-minutes"`
		Permissions map[string]string `yaml:"permissions"`
		Steps       []struct {
			Uses string         `yaml:"uses"`
			Run  string         `yaml:"run"`
			With map[string]any `yaml:"with"`
		} `yaml:"steps"`
	} `yaml:"jobs"`
}

func parse(t *testing.T, text []byte) (w workflow) {
	t.Helper()
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// review is what people ask of a workflow.
func review(t *testing.T, name string, text []byte) {
	t.Helper()
	w := parse(t, text)
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
	if anchor.Match(text) {
		t.Errorf("%s has an anchor or an alias of YAML, which many tools for workflows do not read", name)
	}
	for _, m := range unpinnedPip.FindAllSubmatch(text, -1) {
		t.Errorf("%s: %s takes whatever is newest", name, m[1])
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
		group := parse(t, text).Concurrency.Group
		if !strings.Contains(group, "github.event_name") && group != "pages" { // one site, whatever the event
			t.Errorf("%s: the group of runs that do not go on at the same time is %q, without the event", file, group)
		}
		rightsApart(t, file, text)
	}
}

// rightsApart: what may sign or write runs nothing of the repository, and nothing that somebody built before.
func rightsApart(t *testing.T, file string, text []byte) {
	t.Helper()
	for name, job := range parse(t, text).Jobs {
		var writes []string
		for right, level := range job.Permissions {
			if level == "write" {
				writes = append(writes, right)
			}
		}
		if len(writes) == 0 {
			continue
		}
		if slices.Contains(writes, "id-token") && (slices.Contains(writes, "contents") || slices.Contains(writes, "packages")) {
			t.Errorf("%s: the job %s signs and publishes", file, name)
		}
		for _, s := range job.Steps {
			if strings.HasPrefix(s.Uses, "actions/checkout@") || strings.Contains(s.Run, "make ") || strings.Contains(s.Run, "scripts/") {
				t.Errorf("%s: the job %s may write (%s), and runs %s%s", file, name, strings.Join(writes, ", "), s.Uses, s.Run)
			}
		}
	}
}

// TestDockerignore builds sim from what .dockerignore leaves, as deploy/kubernetes/Dockerfile does, in a folder of its own.
func TestDockerignore(t *testing.T) {
	patterns, err := ignorefile.ReadAll(bytes.NewReader(read(t, repository+"/.dockerignore")))
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = repository
	files, err := suite.Output(t, list)
	if err != nil {
		t.Fatal(err)
	}
	context := t.TempDir()
	for file := range strings.SplitSeq(strings.TrimRight(string(files), "\x00"), "\x00") {
		if left, err := ignored.MatchesOrParentMatches(file); err != nil || left {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, no := range []string{".git", "adapters/", "deploy/kubernetes/", "unreported/", "tools/"} {
			if strings.HasPrefix(file, no) {
				t.Errorf("%s is sent to the builder", file)
			}
		}
		to := filepath.Join(context, file)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, read(t, filepath.Join(repository, file)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", filepath.Join(t.TempDir(), "sim"), "./cmd/sim")
	build.Dir = context
	if out, err := suite.CombinedOutput(t, build); err != nil {
		t.Errorf("what .dockerignore leaves is not enough to build sim: %v: %s", err, out)
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

// TestTag: make tag makes a tag when all was asked, and none otherwise. A Makefile of this test stands for the long check.
func TestTag(t *testing.T) {
	tagger, err := filepath.Abs(repository + "/scripts/tag.sh")
	if err != nil {
		t.Fatal(err)
	}
	const changes = "# Changelog\n\n## [1.2.3] - 2026-11-28\n"
	for name, c := range map[string]struct{ tag, changelog, check, prepare, says string }{
		"a release":              {"v1.2.3", changes, "true", "true", "git push origin v1.2.3"},
		"no name":                {"", changes, "true", "true", "make tag TAG=v1.2.3"},
		"not in the changelog":   {"v1.2.4", changes, "true", "true", "CHANGELOG.md has no '## [1.2.4]"},
		"not to be published":    {"v1.2.3", changes, "false", "true", "Error 1"},
		"changes":                {"v1.2.3", changes, "true", "echo more >> CHANGELOG.md", "not committed"},
		"a tag that there is":    {"v1.2.3", changes, "true", "git tag v1.2.3", "already"},
		"a version that is none": {"v1.2", changes, "true", "true", "make tag TAG=v1.2.3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{"CHANGELOG.md": c.changelog, "Makefile": "release-check:\n\t" + c.check + "\n"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			script := `git init --quiet && git add . && git commit --quiet --message begin; ` + c.prepare + `; sh "$0" "$1"`
			run := exec.Command("sh", "-ec", script, tagger, c.tag)
			run.Dir = dir
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				run.Env = append(run.Env, "GIT_"+who+"_NAME=test", "GIT_"+who+"_EMAIL=test@example.com")
			}
			run.Env = append(run.Env, "PATH="+os.Getenv("PATH"), "HOME="+dir)
			out, err := suite.CombinedOutput(t, run)
			if !bytes.Contains(out, []byte(c.says)) || (err == nil) != (name == "a release") {
				t.Errorf("%v, want %q in:\n%s", err, c.says, out)
			}
			tags := exec.Command("git", "tag")
			tags.Dir = dir
			tagged := name == "a release" || name == "a tag that there is"
			if list, err := suite.Output(t, tags); err != nil || (string(list) == "v1.2.3\n") != tagged {
				t.Errorf("the tags are %q (%v)", list, err)
			}
		})
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
	looksAt := make(map[string][]string) // the folders of an ecosystem
	for _, u := range d.Updates {
		if u.Cooldown["default-days"] == 0 || len(u.Groups) == 0 {
			t.Errorf("%s: updates come one by one, or on the day of a release", u.Ecosystem)
		}
		looksAt[u.Ecosystem] = u.Directories
		if u.Directory != "" {
			looksAt[u.Ecosystem] = append(u.Directories, u.Directory)
		}
		for _, dir := range looksAt[u.Ecosystem] {
			if _, err := os.Stat(filepath.Join(repository, dir)); err != nil {
				t.Error(err)
			}
		}
	}
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = repository
	files, err := suite.Output(t, list)
	if err != nil {
		t.Fatal(err)
	}
	ecosystems := map[string]string{"go.mod": "gomod", "package.json": "npm", "requirements.txt": "pip", "pom.xml": "maven",
		"Cargo.toml": "cargo", "composer.json": "composer", "Gemfile": "bundler", "Dockerfile": "docker"}
	for file := range strings.SplitSeq(string(files), "\x00") {
		ecosystem, dir := ecosystems[path.Base(file)], path.Clean("/"+path.Dir(file))
		if ecosystem != "" && !strings.HasPrefix(dir, "/adapters/museum") && !slices.Contains(looksAt[ecosystem], dir) {
			t.Errorf("dependabot does not look at %s", file)
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
