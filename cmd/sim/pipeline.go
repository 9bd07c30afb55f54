package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"text/template"
)

// This file has what differs from language to language in the files for CI that sim init writes.

// pipeline is what a language's jobs need: the action and the image that bring it, and how the lock's own dependencies come.
type pipeline struct {
	// action sets the language up on GitHub, with. The first of told that is there tells the version, as version says; with
	// none, it is version's default.
	action string
	with   func() []string
	// image is GitLab's. It is the name of one in start/pins.txt.
	image string
	// paths are the files, beside those of sim, that may be part of the lock.
	paths []string
	// installs are the commands that bring what the lock program imports, as the files that are here ask for.
	installs func() []command
}

// command is a command in a job.
type command struct {
	line string
	// packages are Debian's that the image of GitLab lacks for it.
	packages []string
}

var pipelines = map[string]pipeline{
	"go": {action: "actions/setup-go", with: unless("go-version-file: go.mod"), image: "golang",
		paths: []string{"**/*.go", "go.mod", "go.sum"}},
	"python": {action: "actions/setup-python", with: pythonVersion, image: "python",
		paths:    []string{"**/*.py", "requirements*.txt", "pyproject.toml", "setup.cfg", "setup.py", "uv.lock", "poetry.lock"},
		installs: pythonInstalls},
	"ruby": {action: "ruby/setup-ruby", with: unless(`ruby-version: "3.4"`, ".ruby-version", ".tool-versions", "mise.toml"),
		image: "ruby", paths: []string{"**/*.rb", "Gemfile", "Gemfile.lock", "*.gemspec"},
		installs: func() []command {
			return found("Gemfile", command{line: "bundle install"})
		}},
	"php": {action: "shivammathur/setup-php", with: unless(`php-version: "8.4"`, ".php-version"), image: "php",
		paths: []string{"**/*.php", "composer.json", "composer.lock"},
		installs: func() []command {
			return found("composer.json",
				command{line: "composer install --no-interaction --no-progress", packages: []string{"composer", "unzip"}})
		}},
	"java": {action: "actions/setup-java", with: javaVersion, image: "maven",
		paths: []string{"**/*.java", "pom.xml", "build.gradle*"}},
	"rust": {image: "rust", paths: []string{"**/*.rs", "Cargo.toml", "Cargo.lock"}},
	"node": {action: "actions/setup-node", with: nodeVersion, image: "node",
		paths: []string{"**/*.js", "**/*.mjs", "**/*.cjs", "**/*.ts", "**/*.tsx",
			"package.json", "package-lock.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "yarn.lock", ".yarnrc*", ".npmrc", ".nvmrc"},
		installs: nodeInstalls},
}

// unless sets a version where none of these files, which the action reads by itself, tells it.
func unless(line string, files ...string) func() []string {
	return func() []string {
		for _, f := range files {
			if exists(f) {
				return nil
			}
		}
		return []string{line}
	}
}

func found(file string, c command) []command {
	if exists(file) {
		return []command{c}
	}
	return nil
}

// says reports whether a file is here that has a text.
func says(file, text string) bool {
	data, err := os.ReadFile(file)
	return err == nil && bytes.Contains(data, []byte(text))
}

func pythonVersion() []string {
	switch {
	case exists(".python-version"):
		return nil // the action reads it
	case says("pyproject.toml", "requires-python"):
		return []string{"python-version-file: pyproject.toml"}
	}
	return []string{`python-version: "3.13"`}
}

func pythonInstalls() (list []command) {
	const pip = "python3 -m pip install "
	list = found("requirements.txt", command{line: pip + "-r requirements.txt"})
	if exists("setup.py") || says("pyproject.toml", "[project]") || says("pyproject.toml", "[build-system]") {
		list = append(list, command{line: pip + "."})
	}
	if hasRedisPy() {
		return list
	}
	return append(list, command{line: pip + "--require-hashes -r " + pythonRequirements})
}

// pythonRequirements is where sim init pins what its lock program imports, if the repository does not bring it.
const pythonRequirements = "locks/requirements.txt"

// hasRedisPy reports whether what is installed for the repository has a client of Redis in it.
func hasRedisPy() bool {
	return says("requirements.txt", "redis") || says("pyproject.toml", "redis") || says("setup.py", "redis")
}

func nodeVersion() []string {
	for _, f := range []string{".nvmrc", ".node-version"} {
		if exists(f) {
			return []string{"node-version-file: " + f}
		}
	}
	if says("package.json", `"engines"`) {
		return []string{"node-version-file: package.json"}
	}
	return []string{`node-version: "24"`}
}

// nodeInstalls takes the package manager of the lock file that is here. Corepack, which comes with Node.js up to 24, brings pnpm and
// Yarn in the version that package.json names.
func nodeInstalls() []command {
	corepack := func(install string) []command { return []command{{line: "corepack enable"}, {line: install}} }
	switch {
	case exists("package-lock.json"), exists("npm-shrinkwrap.json"):
		return []command{{line: "npm ci"}}
	case exists("pnpm-lock.yaml"):
		return corepack("pnpm install --frozen-lockfile")
	case says("yarn.lock", "\n__metadata:"): // of Yarn 2 and later
		return corepack("yarn install --immutable")
	case exists("yarn.lock"):
		return corepack("yarn install --frozen-lockfile")
	}
	return found("package.json", command{line: "npm install --no-package-lock"})
}

func javaVersion() []string {
	version := `java-version: "21"`
	if exists(".java-version") {
		version = "java-version-file: .java-version"
	}
	return []string{"distribution: temurin", version}
}

// origin says which sim the jobs are to have.
type origin struct {
	// version is that of a release, or empty; commit is the commit of the sources, or empty where this program does not know it.
	version, commit string
}

var (
	release = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`)
	sha     = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// programOrigin is where this program comes from.
func programOrigin() (o origin) {
	if v := programVersion(); release.MatchString(v) {
		o.version = v
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && sha.MatchString(s.Value) {
				o.commit = s.Value
			}
		}
	}
	return o
}

// Ref names the sources in their repository, for Go, and for GitLab.
func (o origin) Ref() string { return cmp.Or(o.version, o.commit, "main") }

// Action is the action of this project in a workflow, at one commit where it is known.
func (o origin) Action() string {
	const name = "redlock-sim/redlock-sim@"
	if o.commit == "" {
		return name + o.Ref()
	}
	return name + o.commit + " # " + cmp.Or(o.version, "no release yet")
}

// Archive is the address of a release's archive for GitLab's runners, or empty where there is no release.
func (o origin) Archive() string {
	if o.version == "" {
		return ""
	}
	return "https://github.com/redlock-sim/redlock-sim/releases/download/" + o.version + "/"
}

// Number is the version as the names of archives have it.
func (o origin) Number() string { return strings.TrimPrefix(o.version, "v") }

// pinned reads start/pins.txt: actions as NAME@COMMIT # VERSION, images as NAME:TAG, by their names.
func pinned() (map[string]string, error) {
	text, err := start.ReadFile("start/pins.txt")
	if err != nil {
		return nil, err
	}
	pins := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		switch words := strings.Fields(line); {
		case len(words) == 0 || words[0] == "#":
		case len(words) == 3:
			pins[words[0]] = words[0] + "@" + words[2] + " # " + words[1]
		default:
			name, _, _ := strings.Cut(words[0], ":")
			pins[name] = words[0]
		}
	}
	return pins, nil
}

// templated is a file of start/, filled for a language.
func templated(name string, l language, from origin) (string, error) {
	pins, err := pinned()
	if err != nil {
		return "", err
	}
	pin := func(name string) (string, error) {
		if pins[name] == "" {
			return "", fmt.Errorf("start/pins.txt has no %q", name)
		}
		return pins[name], nil
	}
	t, err := template.New(name).Funcs(template.FuncMap{"pin": pin}).ParseFS(start, "start/"+name)
	if err != nil {
		return "", err
	}
	p := pipelines[l.name]
	data := struct {
		Lock, Action, Image             string
		With, Paths, Commands, Packages []string
		Origin                          origin
	}{Lock: l.lock, Action: p.action, Image: p.image, Paths: p.paths, Origin: from}
	if p.with != nil {
		data.With = p.with()
	}
	if p.installs != nil {
		for _, c := range p.installs() {
			data.Commands = append(data.Commands, c.line)
			data.Packages = append(data.Packages, c.packages...)
		}
	}
	data.Commands = append(data.Commands, l.build...)
	var b bytes.Buffer
	err = t.Execute(&b, data)
	return b.String(), err
}
