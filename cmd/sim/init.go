package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/sdk"
	"github.com/redlock-sim/redlock-sim/skills"
)

// start holds what sim init writes.
//
//go:embed start
var start embed.FS

// language is what differs between the stubs.
type language struct {
	name string
	// signs are the files, or patterns of them, that a repository of this language has. The first
	// language with one is chosen: many a repository in another has a package.json.
	signs []string
	// lock is the command that starts the stub, packages are Debian's that it needs. modules
	// adds the modules that it needs, once; build makes it, here and in CI (pipeline.go).
	lock     string
	packages []string
	modules  string
	build    []string
	files    []initFile
}

// initFile is a file to write: a template in start, or a text.
type initFile struct {
	path, template, text, what string
}

var languages = []language{
	{name: "go", signs: []string{"go.mod"}, lock: "locks/bin/my-lock",
		modules: "go mod tidy", build: []string{"go build -o locks/bin/ ./locks/my-lock"},
		files: []initFile{
			{path: "locks/my-lock/main.go", template: "main.go.txt", what: "your lock program: put your own lock in it"},
			{path: "locks/bin/.gitignore", text: "*\n!.gitignore\n", what: "keeps what is built there out of git"},
		}},
	script("python", "python3", "py", sdk.Python, "python3-redis",
		"pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt", "Pipfile", "*.py"),
	script("ruby", "ruby", "rb", sdk.Ruby, "ruby", "Gemfile", "*.gemspec", "Rakefile", "*.rb"),
	script("php", "php", "php", sdk.PHP, "php-cli", "composer.json", "*.php"),
	{name: "java", signs: []string{"pom.xml", "build.gradle", "build.gradle.kts"}, lock: "java -cp locks/classes MyLock",
		packages: []string{"default-jdk-headless"}, build: []string{"javac -d locks/classes locks/*.java"},
		files: []initFile{
			{path: "locks/MyLock.java", template: "MyLock.java", what: "your lock program: put your own lock in it"},
			{path: "locks/SimAdapter.java", text: sdk.Java, what: "speaks the lock protocol for it"},
			{path: "locks/classes/.gitignore", text: "*\n!.gitignore\n", what: "keeps what is built there out of git"},
		}},
	{name: "rust", signs: []string{"Cargo.toml"}, lock: "locks/bin/my-lock",
		packages: []string{"rustc"},
		build:    []string{"rustc -O --edition 2021 -o locks/bin/my-lock locks/my_lock.rs"},
		files: []initFile{
			{path: "locks/my_lock.rs", template: "my_lock.rs", what: "your lock program: put your own lock in it"},
			{path: "locks/sim_adapter.rs", text: sdk.Rust, what: "speaks the lock protocol for it"},
			{path: "locks/bin/.gitignore", text: "*\n!.gitignore\n", what: "keeps what is built there out of git"},
		}},
	script("node", "node", "mjs", sdk.Node, "nodejs", "package.json", "*.mjs", "*.js"),
}

// script is a language whose stub a command starts as it is, next to the SDK.
func script(name, command, ending, adapter, packages string, signs ...string) language {
	stub := "my_lock." + ending
	return language{name: name, signs: signs, lock: command + " locks/" + stub, packages: []string{packages},
		files: []initFile{
			{path: "locks/" + stub, template: stub, what: "your lock program: put your own lock in it"},
			{path: "locks/sim_adapter." + ending, text: adapter, what: "speaks the lock protocol for it"},
		}}
}

// withMaven is Java in a Maven project: the lock program may import what the project has, and what that depends on.
func (l language) withMaven() language {
	const path = "target/classes:target/dependency/*"
	l.packages = append(slices.Clone(l.packages), "maven")
	l.lock = "java -cp 'locks/classes:" + path + "' MyLock"
	l.build = []string{"mvn --batch-mode --quiet compile dependency:copy-dependencies",
		"javac -cp '" + path + "' -d locks/classes locks/*.java"}
	return l
}

func newInitCommand(a *cli) *cobra.Command {
	var name, skill string
	var renews bool
	c := &cobra.Command{
		Use:   "init",
		Short: "Prepare a repository: a lock program to start from, a scenario, defaults, CI",
		Long: `Prepare the repository in this folder for sim. It asks nothing and changes no file that
exists. It writes:

  locks/                 a lock program to put your own lock in, and a first scenario
  sim.yaml               defaults for sim in this folder; flags win
  .github/workflows/     a workflow that goes red when a safety property of your lock
                         regresses; with a .gitlab-ci.yml, .gitlab/locks.yml to include

The workflow runs your scenarios on each change, and all that sim ships at night, in virtual
time. It installs what pip, npm, pnpm, yarn, bundler, composer or maven need to, as the files
here say.
Before a release, run the same with --world live, which takes real time.

--skill also writes a file that tells a coding agent how to put the lock on trial.

The program is in Go if there is a go.mod, in Ruby, PHP, Java, Rust or JavaScript if there are
files of these languages and none of Python, else in Python. For other languages see
docs/reference/lock-protocol.md, and name your program in sim.yaml.`,
		Example: `  sim init
  sim init --language python
  sim init --renews
  sim init --skill .claude/skills`,
		Args:        cobra.NoArgs,
		Annotations: ownDefaults,
		RunE: func(*cobra.Command, []string) error {
			i := slices.IndexFunc(languages, func(l language) bool { return l.name == name })
			if name != "" && i < 0 {
				err := app.Usagef("--language %q: want one of %s", name, strings.Join(languageNames(), ", "))
				if yamlform.Nearest(name, languageNames()) != "" {
					return err.Unknown(name, languageNames())
				}
				return err.Hint("docs/reference/lock-protocol.md is for all other languages")
			}
			if name == "" {
				i = languageHere()
			}
			l := languages[i]
			if l.name == "java" && exists("pom.xml") {
				l = l.withMaven()
			}
			if l.name == "python" && !hasRedisPy() {
				l.files = append(slices.Clone(l.files),
					initFile{path: pythonRequirements, template: "requirements.txt", what: "what it imports, for pip"})
			}
			first := "paused-holder"
			if renews {
				first = renewalFirst
			}
			return a.initProject(l, first, skill)
		},
	}
	c.Flags().StringVar(&name, "language", "", "the language of the lock program: "+
		strings.Join(languageNames(), ", ")+" (default: what is found here, else python)")
	registerWords(c, "language", languageNames())
	c.Flags().BoolVar(&renews, "renews", false, "your lock renews itself (a watchdog): the first scenario asks whether it does")
	c.Flags().StringVar(&skill, "skill", "", "also write a skill file for coding agents, below this folder of theirs: "+
		".claude/skills, or .agents/skills (default: none)")
	return c
}

func languageNames() (names []string) {
	for _, l := range languages {
		names = append(names, l.name)
	}
	return names
}

// languageHere finds a language by the files of this folder; without any it is Python.
func languageHere() int {
	for i, l := range languages {
		for _, sign := range l.signs {
			if found, _ := filepath.Glob(sign); len(found) > 0 {
				return i
			}
		}
	}
	return slices.IndexFunc(languages, func(l language) bool { return l.name == "python" })
}

// renewalFirst is the first scenario for a lock that renews itself.
const renewalFirst = "renewal"

// initProject writes the files for a language, with the scenario of start that is to be the first.
func (a *cli) initProject(l language, first, skill string) error {
	text, err := start.ReadFile("start/" + first + ".yaml")
	if err != nil {
		return err
	}
	s, err := scenario.Parse(first+".yaml", text)
	if err != nil {
		return err
	}
	files := append(slices.Clone(l.files),
		initFile{path: "locks/" + first + ".yaml", text: copyOf(s, s.Name), what: "a first scenario: " + s.Title},
		initFile{path: scenario.ProjectFile, template: "sim.yaml", what: "defaults for sim in this folder"},
		initFile{path: "sim-reports/.gitignore", text: "*\n!.gitignore\n", what: "keeps the reports out of git"})
	gitlab, github := exists(".gitlab-ci.yml"), exists(".github")
	if gitlab {
		files = append(files, initFile{path: ".gitlab/locks.yml", template: "gitlab.yml", what: "the job for CI: include it in .gitlab-ci.yml"})
	}
	github = github || !gitlab
	if github {
		files = append(files, initFile{path: ".github/workflows/locks.yml", template: "github.yml", what: "the workflow for CI"})
	}
	if skill != "" {
		files = append(files, initFile{path: path.Join(filepath.ToSlash(skill), "redlock-sim/SKILL.md"), text: skills.RedlockSim,
			what: "tells a coding agent how to put the lock on trial"})
	}
	here, err := os.OpenRoot(".") // nothing is written through a link that leads out of this folder
	if err != nil {
		return err
	}
	defer func() { _ = here.Close() }()
	w := tabwriter.NewWriter(a.stdout, 0, 0, 3, ' ', 0)
	for _, f := range files {
		did, err := f.write(here, l)
		if err != nil {
			err = fmt.Errorf("failed to write %s: %w", f.path, err)
			return errors.Join(&trial.EnvironmentError{Err: err, Hint: "sim init writes files into this folder"}, w.Flush())
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", did, f.path, f.what)
	}
	fmt.Fprintln(w, "next")
	for _, command := range l.next() {
		fmt.Fprintf(w, "\t%s\t%s\n", command[0], command[1])
	}
	if gitlab {
		fmt.Fprintln(w, "\tin .gitlab-ci.yml: include: {local: .gitlab/locks.yml}\truns the job")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if inSubfolder() {
		fmt.Fprintln(a.stdout, "note: this is not the root of the repository; CI looks for its files there")
	}
	if from := programOrigin(); from.commit == "" && github {
		fmt.Fprintln(a.stdout, "note: this sim does not know its commit; in .github/workflows/locks.yml "+
			"write the one you trust in the place of "+from.Ref())
	}
	if first == renewalFirst {
		fmt.Fprintf(a.stdout, "note: locks/%s.yaml is not applicable until your own lock, which renews itself, is in %s, "+
			"and the program says that it can \"renew\"\n", first, l.files[0].path)
	}
	if l.name == "go" && programOrigin().version == "" && !says("go.mod", "redlock-sim/adapter") {
		fmt.Fprintln(a.stdout, "note: until the module of the SDK is published, give first: go mod edit "+
			"-replace github.com/redlock-sim/redlock-sim/adapter=FOLDER/adapter  with the folder of a clone of redlock-sim; "+
			"for CI, which has no such folder, add the folder vendor that go mod vendor writes")
	}
	switch p, err := scenario.LoadProject(); {
	case err != nil:
		fmt.Fprintf(a.stdout, "note: sim.yaml cannot be read: %v\n", err)
	case p.Lock != l.lock:
		fmt.Fprintf(a.stdout, "note: sim.yaml was kept; for the new lock program it needs the line  lock: %s\n", l.lock)
	}
	return nil
}

// inSubfolder reports that the root of the repository is a folder above this one.
func inSubfolder() bool {
	here, err := filepath.Abs(".")
	for dir := here; err == nil; dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, ".git")) {
			return dir != here
		}
		if filepath.Dir(dir) == dir {
			break
		}
	}
	return false
}

// next are the commands to give now, with what they are for.
func (l language) next() (list [][2]string) {
	if len(l.packages) > 0 {
		what := "if it is missing"
		if l.name == "python" {
			what = "if it is missing, for Debian's python3; for another: pip install -r " + pythonRequirements
			if hasRedisPy() {
				what = "if it is missing, for Debian's python3; for another what this repository asks for"
			}
		}
		list = append(list, [2]string{"apt-get install " + strings.Join(l.packages, " "), what})
	}
	if l.modules != "" {
		list = append(list, [2]string{l.modules, "adds the modules that it needs"})
	}
	for _, line := range l.build {
		list = append(list, [2]string{line, "builds the lock program"})
	}
	return append(list,
		[2]string{"sim conform --allow-programs", "does the program speak the lock protocol?"},
		[2]string{"sim run --allow-programs", "puts it on trial in the scenarios of locks/"},
		[2]string{"sim run all --allow-programs", "in all that sim ships: a minute or two"})
}

// write writes the file, unless there is one, and says which it was.
func (f initFile) write(here *os.Root, l language) (string, error) {
	text := f.text
	if f.template != "" {
		filled, err := templated(f.template, l, programOrigin())
		if err != nil {
			return "", err
		}
		text = filled
	}
	err := writeNew(here, filepath.FromSlash(f.path), text)
	if errors.Is(err, fs.ErrExist) {
		return "kept", nil
	}
	return "wrote", err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
