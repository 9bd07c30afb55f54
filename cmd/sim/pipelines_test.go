package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// These tests do what GitHub and GitLab do with the files that sim init writes, in a
// repository with a lock of its own: first with a correct lock, then with a mistake in it.

// repository is somebody's repository, after sim init and what it says to do next.
type repository struct {
	t    *testing.T
	dir  string
	home string
	// tools stand before everything else on PATH.
	tools string
	env   []string
}

// casesOfEvent is what chooses the scenarios in the workflow of sim init: the event.
const casesOfEvent = "(github.event_name == 'pull_request' || github.event_name == 'push') && 'locks' || 'locks all'"

// seedOfEvent is what chooses the seed.
const seedOfEvent = "github.event_name == 'schedule' && github.run_number || 1"

// besides is the shipped scenario that a job runs beside those of the repository: all would take minutes.
const besides = "cost-acquire"

// mistake makes the release delete whatever key is there.
var mistakes = map[string]struct{ file, correct, mistaken string }{
	"python": {"locks/my_lock.py", "self.client.eval(RELEASE, 1, self.key, self.value)", "self.client.delete(self.key)"},
	"go":     {"locks/my-lock/main.go", "release.Run(ctx, l.client, []string{l.key}, l.value).Int()", "l.client.Del(ctx, l.key).Result()"},
}

func newRepository(t *testing.T, language string) *repository {
	t.Helper()
	r := &repository{t: t, dir: t.TempDir(), home: t.TempDir(), tools: t.TempDir()}
	// What is installed on this machine is not installed again.
	for _, name := range []string{"sudo", "apt-get"} {
		r.tool(name, `echo "`+name+` $*" >> "$HOME/asked"`)
	}
	// -trimpath, as everything else here, so that nothing is compiled twice.
	r.env = append(userEnv(t, r.home, r.tools), "GOFLAGS=-mod=mod -trimpath")
	if language == "go" {
		r.write("go.mod", "module example.com/shop\n\ngo 1.26\n\nreplace github.com/redlock-sim/redlock-sim/adapter => "+
			filepath.Join(docstest.Root(t), "adapter")+"\n")
	}
	return r
}

func (r *repository) tool(name, script string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.tools, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) write(file, text string) {
	r.t.Helper()
	file = filepath.Join(r.dir, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) read(file string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, file))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// change replaces what stands exactly once in a file.
func (r *repository) change(file, from, to string) {
	r.t.Helper()
	text := r.read(file)
	if n := strings.Count(text, from); n != 1 {
		r.t.Fatalf("%s has %d times %q", file, n, from)
	}
	r.write(file, strings.Replace(text, from, to, 1))
}

// shell runs a script as a CI server does, and returns what it printed and its exit code.
func (r *repository) shell(dir, script string, env ...string) (string, int) {
	r.t.Helper()
	c := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	c.Dir, c.Env = dir, slices.Concat(r.env, env)
	out, err := suite.CombinedOutput(r.t, c)
	if c.ProcessState == nil {
		r.t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// must runs a script that has to succeed.
func (r *repository) must(script string) string {
	r.t.Helper()
	out, code := r.shell(r.dir, script)
	if code != 0 {
		r.t.Fatalf("%s: exit code %d\n%s", script, code, out)
	}
	return out
}

// followInit runs sim init and the commands that it says to give next, up to that which runs everything: it takes a
// minute or more.
func (r *repository) followInit(flags string) {
	r.t.Helper()
	_, after, ok := strings.Cut(r.must("sim init "+flags), "next\n")
	if !ok {
		r.t.Fatal("sim init says no next command")
	}
	before, _, ok := strings.Cut(strings.TrimSpace(after), "sim run all")
	if !ok {
		r.t.Fatalf("sim init does not say how to run everything: %s", after)
	}
	for line := range strings.Lines(strings.TrimSpace(before)) {
		command, _, _ := strings.Cut(strings.TrimSpace(line), "   ")
		r.must(command)
	}
}

// step is a step of a workflow or of an action.
type step struct {
	ID   string            `yaml:"id"`
	If   string            `yaml:"if"`
	Uses string            `yaml:"uses"`
	With map[string]string `yaml:"with"`
	Run  string            `yaml:"run"`
	Env  map[string]string `yaml:"env"`
	Dir  string            `yaml:"working-directory"`
}

// runner does what GitHub's runner does.
type runner struct {
	*repository
	// values are what expressions name: inputs.lock, steps.build.outputs.sim.
	values map[string]string
	action string
	failed bool
	output string
	// uploaded are the folders that were kept.
	uploaded []string
}

var expression = regexp.MustCompile(`\$\{\{ *([^}]*?) *\}\}`)

func (r *runner) expand(text string) string {
	return expression.ReplaceAllStringFunc(text, func(m string) string {
		name := expression.FindStringSubmatch(m)[1]
		value, known := r.values[name]
		if !known && (!r.failed || !strings.HasPrefix(name, "steps.")) {
			r.t.Fatalf("nothing here is called %q", name)
		}
		return value
	})
}

// due decides the conditions that our files use.
func (r *runner) due(condition string) bool {
	switch condition {
	case "":
		return !r.failed
	case "always() && inputs.artifact != ''":
		return r.values["inputs.artifact"] != ""
	}
	r.t.Fatalf("the test does not know the condition %q", condition)
	return false
}

// workflow runs the only job of a workflow.
func (r *runner) workflow(file string) {
	r.t.Helper()
	var w struct {
		Permissions map[string]string `yaml:"permissions"`
		Jobs        map[string]struct {
			Timeout int    `yaml:"timeout-minutes"`
			Steps   []step `yaml:"steps"`
		} `yaml:"jobs"`
	}
	if err := yaml.Unmarshal([]byte(r.read(file)), &w); err != nil {
		r.t.Fatal(err)
	}
	if len(w.Jobs) != 1 || w.Permissions["contents"] != "read" {
		r.t.Fatalf("want one job with the permission to read alone: %+v", w)
	}
	for _, job := range w.Jobs {
		if job.Timeout == 0 {
			r.t.Error("the job has no timeout")
		}
		for _, s := range job.Steps {
			r.step(s)
		}
	}
}

func (r *runner) step(s step) {
	r.t.Helper()
	if !r.due(s.If) {
		return
	}
	name, _, _ := strings.Cut(s.Uses, "@")
	if strings.HasPrefix(name, "actions/setup-") || strings.HasSuffix(name, "/setup-ruby") || strings.HasSuffix(name, "/setup-php") {
		r.setUp(name)
		return
	}
	with := make(map[string]string)
	for k, v := range s.With {
		with[k] = r.expand(v)
	}
	switch name {
	case "":
		r.run(s)
	case "actions/checkout":
	case "actions/upload-artifact":
		folder, _, _ := strings.Cut(with["path"], "\n")
		r.uploaded = append(r.uploaded, folder)
	case "redlock-sim/redlock-sim":
		r.composite(with)
	default:
		r.t.Fatalf("the test does not know the action %q", s.Uses)
	}
}

// setUp is what an action that sets a language up does: here the language is there. Python gets a place for packages.
func (r *runner) setUp(action string) {
	r.t.Helper()
	if action == "actions/setup-python" {
		r.must("/usr/bin/python3 -m venv --system-site-packages \"$HOME/python\"")
		r.env = append(r.env, "PATH="+filepath.Join(r.home, "python", "bin")+":"+pathOf(r.env))
	}
}

// pathOf is the last PATH of an environment, which counts.
func pathOf(env []string) (path string) {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
		}
	}
	return path
}

// run carries out a step of commands, and takes over what it tells the runner.
func (r *runner) run(s step) {
	r.t.Helper()
	told := filepath.Join(r.t.TempDir(), "told")
	env := []string{"GITHUB_OUTPUT=" + told, "GITHUB_PATH=" + r.home + "/path", "GITHUB_STEP_SUMMARY=" + r.home + "/summary.md",
		"GITHUB_WORKSPACE=" + r.dir, "GITHUB_ACTION_PATH=" + r.action}
	for k, v := range s.Env {
		env = append(env, k+"="+r.expand(v))
	}
	out, code := r.shell(filepath.Join(r.dir, r.expand(s.Dir)), s.Run, env...)
	r.output += out
	r.failed = r.failed || code != 0
	text, _ := os.ReadFile(told)
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			r.values["steps."+s.ID+".outputs."+k] = v
		}
	}
}

// composite runs the steps of action.yml.
func (r *runner) composite(with map[string]string) {
	r.t.Helper()
	var a struct {
		Inputs map[string]struct {
			Default string `yaml:"default"`
		} `yaml:"inputs"`
		Runs struct {
			Using string `yaml:"using"`
			Steps []step `yaml:"steps"`
		} `yaml:"runs"`
	}
	if err := yaml.Unmarshal([]byte(docstest.Read(r.t, "action.yml")), &a); err != nil {
		r.t.Fatal(err)
	}
	for name, in := range a.Inputs {
		r.values["inputs."+name] = in.Default
	}
	for name, value := range with {
		if _, known := a.Inputs[name]; !known {
			r.t.Errorf("action.yml has no input %q", name)
		}
		r.values["inputs."+name] = value
	}
	for _, s := range a.Runs.Steps {
		r.step(s)
	}
}

// job runs the workflow that sim init wrote, once, with scenarios.
func (r *repository) job(scenarios string) *runner {
	r.t.Helper()
	run := r.runner()
	run.values[casesOfEvent] = scenarios
	run.workflow(".github/workflows/locks.yml")
	if len(run.uploaded) != 1 {
		r.t.Fatalf("%d folders were uploaded\n%s", len(run.uploaded), run.output)
	}
	return run
}

// runner is a machine for one job.
func (r *repository) runner() *runner {
	r.t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		r.t.Fatal(err)
	}
	r.tool("git", `[ "$1" != ls-remote ] && exec `+git+` "$@"`) // GitHub cannot be asked for the tags of releases
	return &runner{repository: r, action: docstest.Root(r.t), values: map[string]string{
		"runner.temp": r.t.TempDir(), "github.action_ref": "v9.9.9", "github.token": "none", casesOfEvent: "locks", seedOfEvent: "1"}}
}

// wants looks for what a job printed or kept.
func (r *repository) wants(where, text string, wanted ...string) {
	r.t.Helper()
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			r.t.Errorf("%s: no %q in\n%s", where, w, text)
		}
	}
}

func TestGitHubAction(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			suite.All(t)
			r := newRepository(t, l.name)
			r.followInit("--language " + l.name)
			green := r.job("locks " + besides)
			if green.failed {
				t.Fatalf("the job of a correct lock is red:\n%s", green.output)
			}
			r.wants("the green job", green.output, "sim v9.9.9", "0 unexpected, 0 undecided", "my-lock 1.0", "virtual")
			for _, file := range []string{"index.html", "junit.xml", "summary.md", "paused-holder/*/report.html", besides + "/*/report.html"} {
				if found, _ := filepath.Glob(filepath.Join(green.uploaded[0], file)); len(found) != 1 {
					t.Errorf("the upload has %d files %s", len(found), file)
				}
			}
			m, ok := mistakes[l.name]
			if !ok {
				return
			}
			r.change(m.file, m.correct, m.mistaken)
			red := r.job("locks")
			if !red.failed {
				t.Fatalf("the job of a mistaken lock is green:\n%s", red.output)
			}
			r.wants("the red job", red.output, "::error file=locks/paused-holder.yaml,", "owner-release", "c1 deleted the key of c2")
			summary, err := os.ReadFile(filepath.Join(r.home, "summary.md"))
			if err != nil {
				t.Fatal(err)
			}
			r.wants("the summary", string(summary), "paused-holder", "owner-release")
			junit, err := os.ReadFile(filepath.Join(red.uploaded[0], "junit.xml"))
			if err != nil {
				t.Fatal(err)
			}
			r.wants("junit.xml", string(junit), "<failure")
		})
	}
}

// TestActionTakesARelease: scripts/action.sh has the program of a release if GitHub says where it comes from, and otherwise
// builds one. What answers for GitHub are commands of this test.
func TestActionTakesARelease(t *testing.T) {
	t.Parallel()
	const commit, tagged = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	for name, c := range map[string]struct{ ref, attested, want string }{
		"a commit of a release":      {commit, "true", "the release"},
		"the tag of a release":       {"v1.2.3", "true", "the release"},
		"not attested":               {commit, "false", "built for " + commit},
		"no release":                 {tagged, "true", "built for " + tagged},
		"the tag of no full release": {"v2.0.0-rc.1", "true", "built for v2.0.0-rc.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t, "python")
			r.tool("git", `printf '`+tagged+`\trefs/tags/v1.2.3\n`+commit+`\trefs/tags/v1.2.3^{}\n`+tagged+`\trefs/tags/v2.0.0-rc.1\n'`)
			r.tool("curl", `for last; do case $before in --output) out=$last ;; esac; before=$last; done; echo "$last" >> "$HOME/asked"
				name=$(basename "$last" .tar.gz) && mkdir -p "$HOME/$name" && printf '#!/bin/sh\necho the release\n' > "$HOME/$name/sim" &&
				chmod +x "$HOME/$name/sim" && tar -czf "$out" -C "$HOME" "$name"`)
			r.tool("gh", `echo "gh $*" >> "$HOME/asked"; `+c.attested)
			r.tool("go", `for last; do case $before in -o) out=$last ;; -ldflags) flags=$last ;; esac; before=$last; done
				printf '#!/bin/sh\necho built for %s\n' "${flags##*=}" > "$out" && chmod +x "$out"`)
			out, code := r.shell(r.dir, "sh "+filepath.Join(docstest.Root(t), "scripts", "action.sh"),
				"FOLDER="+r.home, "REF="+c.ref, "REPOSITORY=somebody/else", "GITHUB_SERVER_URL=https://example.com")
			if code != 0 || !strings.HasSuffix(out, c.want+"\n") {
				t.Fatalf("exit code %d, want at the end %q: %s", code, c.want, out)
			}
			if asked, err := os.ReadFile(filepath.Join(r.home, "asked")); err == nil {
				r.wants("asked", string(asked), "https://github.com/redlock-sim/redlock-sim/releases/download/v1.2.3/redlock-sim_1.2.3_linux_",
					".tar.gz --repo redlock-sim/redlock-sim --source-digest "+commit+" --source-ref refs/tags/v1.2.3 "+
						"--signer-workflow redlock-sim/redlock-sim/.github/workflows/release.yml ")
			} else if c.want == "the release" {
				t.Error(err)
			}
		})
	}
}

// TestGitHubMatrix does what docs/guide/ci.md says for several machines: the jobs of a matrix share the runs, and a last job
// merges what they kept. A mistake in the lock turns that job red.
func TestGitHubMatrix(t *testing.T) {
	t.Parallel()
	suite.All(t)
	r := newRepository(t, "python")
	r.followInit("")
	m := mistakes["python"]
	r.change(m.file, m.correct, m.mistaken)
	var w struct {
		Jobs map[string]struct {
			Strategy struct {
				Matrix map[string][]string `yaml:"matrix"`
			} `yaml:"strategy"`
			Steps []step `yaml:"steps"`
		} `yaml:"jobs"`
	}
	blocks := docstest.Blocks(t, "docs/guide/ci.md")
	at := slices.IndexFunc(blocks, func(b docstest.Block) bool { return b.Mark == "github" && strings.Contains(b.Text, "matrix:") })
	if at < 0 {
		t.Fatal("docs/guide/ci.md has no workflow with a matrix")
	}
	text := strings.Replace(blocks[at].Text, "scenarios: locks all", "scenarios: locks "+besides, 1)
	if err := yaml.Unmarshal([]byte(text), &w); err != nil {
		t.Fatal(err)
	}
	sim := ""
	for _, shard := range w.Jobs["shard"].Strategy.Matrix["shard"] {
		run := r.runner()
		run.values["matrix.shard"], run.values["github.run_number"] = shard, "7"
		for _, s := range w.Jobs["shard"].Steps {
			run.step(s)
		}
		if len(run.uploaded) != 1 {
			t.Fatalf("shard %s keeps %d folders\n%s", shard, len(run.uploaded), run.output)
		}
		sim = run.values["steps.build.outputs.sim"]
		if err := os.CopyFS(filepath.Join(r.dir, "shards", "shard-"+shard), os.DirFS(run.uploaded[0])); err != nil {
			t.Fatal(err)
		}
	}
	merged := ""
	for _, s := range w.Jobs["merge"].Steps {
		if strings.HasPrefix(s.Run, "sim merge ") { // by the sim that the action built
			out, code := r.shell(r.dir, strings.Replace(s.Run, "sim", sim, 1))
			if merged = out; code != app.ExitUnexpected {
				t.Fatalf("the job that merges ends with exit code %d:\n%s", code, out)
			}
		}
	}
	r.wants("the job that merges", merged, "::error file=locks/", "owner-release")
	r.wants("junit.xml", r.read("merged/junit.xml"), "<failure")
	if !exists(filepath.Join(r.dir, "merged", "index.html")) {
		t.Error("there is no page of all runs")
	}
}

func TestGitLab(t *testing.T) {
	t.Parallel()
	suite.All(t)
	r := newRepository(t, "python")
	r.write(".gitlab-ci.yml", "include: {local: .gitlab/locks.yml}\n")
	r.write("pyproject.toml", "")
	r.followInit("")
	if exists(filepath.Join(r.dir, ".github")) {
		t.Error("sim init wrote a workflow for GitHub")
	}
	type gitlabJob struct {
		Before    []string          `yaml:"before_script"`
		Script    []string          `yaml:"script"`
		Variables map[string]string `yaml:"variables"`
		Artifacts struct {
			Paths   []string          `yaml:"paths"`
			Reports map[string]string `yaml:"reports"`
		} `yaml:"artifacts"`
	}
	var file struct {
		All struct {
			Timeout string `yaml:"timeout"`
		} `yaml:".locks"`
		Sim   gitlabJob `yaml:"locks-sim"`
		Locks gitlabJob `yaml:"locks"`
	}
	if err := yaml.Unmarshal([]byte(r.read(".gitlab/locks.yml")), &file); err != nil {
		t.Fatal(err)
	}
	r.tool("go", `[ "$1" = install ] && mkdir -p "$GOBIN" && ln -s "$(command -v sim)" "$GOBIN/sim" && echo "installs $2 in $GOBIN"`)
	out, code := r.shell(r.dir, strings.Join(file.Sim.Script, "\n"),
		"GOBIN="+strings.Replace(file.Sim.Variables["GOBIN"], "$CI_PROJECT_DIR", r.dir, 1))
	if code != 0 {
		t.Fatal(out)
	}
	r.wants("the job that compiles", out, "installs github.com/redlock-sim/redlock-sim/cmd/sim@main in "+r.dir+"/.sim")
	job := file.Locks
	r.must("/usr/bin/python3 -m venv --system-site-packages \"$HOME/python\"") // the image has a Python with room for packages
	all := `PATH="$HOME/python/bin:$PATH"` + "\n" + strings.Join(append(job.Before, job.Script...), "\n")
	env := []string{"CI_PROJECT_DIR=" + r.dir, "SCENARIOS=" + job.Variables["SCENARIOS"] + " " + besides, "SEED=" + job.Variables["SEED"]}
	out, code = r.shell(r.dir, all, env...)
	if code != 0 {
		t.Fatalf("the job of a correct lock is red:\n%s", out)
	}
	r.wants("the green job", out, "0 unexpected, 0 undecided")
	asked, err := os.ReadFile(filepath.Join(r.home, "asked"))
	if err != nil {
		t.Fatal(err)
	}
	r.wants("apt-get", string(asked), "install -y --no-install-recommends redis-server")
	for _, path := range append(job.Artifacts.Paths, job.Artifacts.Reports["junit"]) {
		if !exists(filepath.Join(r.dir, path)) {
			t.Errorf("the job keeps %s, which is not there", path)
		}
	}
	m := mistakes["python"]
	r.change(m.file, m.correct, m.mistaken)
	out, code = r.shell(r.dir, all, env...)
	if code != app.ExitUnexpected || file.All.Timeout == "" {
		t.Fatalf("the job of a mistaken lock ends with exit code %d, after %s at most:\n%s", code, file.All.Timeout, out)
	}
	r.wants("junit.xml", r.read("sim-reports/junit.xml"), "<failure")
}

// TestPipelinesOfARelease: the sim of a release writes its own version, and jobs that compile nothing.
func TestPipelinesOfARelease(t *testing.T) {
	t.Parallel()
	from := origin{version: "v1.2.3", commit: strings.Repeat("ab", 20)}
	for file, wanted := range map[string]string{
		"github.yml": "uses: redlock-sim/redlock-sim@" + from.commit + " # v1.2.3\n",
		"gitlab.yml": " https://github.com/redlock-sim/redlock-sim/releases/download/v1.2.3/redlock-sim_1.2.3_linux_amd64.tar.gz ",
	} {
		text, err := templated(file, languages[0], from)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, wanted) || strings.Contains(text, "go install") || strings.Contains(text, "locks-sim") {
			t.Errorf("%s: no %q, or it compiles:\n%s", file, wanted, text)
		}
	}
}

// TestDependenciesOfTheLock: jobs install what the files of a repository ask for, and take the version of the language from there.
func TestDependenciesOfTheLock(t *testing.T) {
	t.Parallel()
	const pip = "run: python3 -m pip install "
	for name, c := range map[string]struct {
		language string
		files    map[string]string
		wanted   []string
	}{
		"requirements": {"python", map[string]string{"requirements.txt": "redis\n", ".python-version": "3.12\n"},
			[]string{pip + "-r requirements.txt\n", "setup-python"}},
		"project": {"python", map[string]string{"pyproject.toml": "[project]\nname = \"shop\"\nrequires-python = \">=3.10\"\n"},
			[]string{pip + ".\n", "python-version-file: pyproject.toml"}},
		"settings of tools alone": {"python", map[string]string{"pyproject.toml": "[tool.ruff]\n"},
			[]string{`python-version: "3.13"`, pip + "--require-hashes -r locks/requirements.txt\n"}},
		"npm with a lock file": {"node", map[string]string{"package.json": `{"name":"shop","engines":{"node":">=20"}}`,
			"package-lock.json": `{"name":"shop","lockfileVersion":3,"packages":{"":{"name":"shop"}}}`},
			[]string{"run: npm ci\n", "node-version-file: package.json"}},
		"npm": {"node", map[string]string{"package.json": `{"name":"shop"}`, ".nvmrc": "22\n"},
			[]string{"run: npm install ", "node-version-file: .nvmrc"}},
		"pnpm": {"node", map[string]string{"package.json": `{"name":"shop"}`, "pnpm-lock.yaml": "lockfileVersion: '9.0'\n"},
			[]string{"run: corepack enable\n", "run: pnpm install --frozen-lockfile\n", `- "pnpm-lock.yaml"`}},
		"yarn": {"node", map[string]string{"package.json": `{"name":"shop"}`, "yarn.lock": "# yarn lockfile v1\n"},
			[]string{"run: corepack enable\n", "run: yarn install --frozen-lockfile\n", `- "yarn.lock"`}},
		"yarn 4": {"node", map[string]string{"package.json": `{"name":"shop"}`, "yarn.lock": "# generated\n\n__metadata:\n  version: 8\n"},
			[]string{"run: corepack enable\n", "run: yarn install --immutable\n"}},
		"bundler":  {"ruby", map[string]string{"Gemfile": ""}, []string{"run: bundle install\n", `ruby-version: "3.4"`}},
		"composer": {"php", map[string]string{"composer.json": "{}"}, []string{"run: composer install ", `php-version: "8.4"`}},
		"maven": {"java", map[string]string{"pom.xml": "<project/>"},
			[]string{"run: mvn --batch-mode --quiet compile dependency:copy-dependencies\n",
				"run: javac -cp 'target/classes:target/dependency/*' "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepository(t, "")
			r.write(".gitlab-ci.yml", "")
			r.write(".github/CODEOWNERS", "")
			for file, text := range c.files {
				r.write(file, text)
			}
			r.must("sim init --language " + c.language)
			github := r.read(".github/workflows/locks.yml")
			r.wants("locks.yml", github, c.wanted...)
			for _, wanted := range c.wanted {
				if command, ok := strings.CutPrefix(wanted, "run: "); ok {
					r.wants("GitLab's", r.read(".gitlab/locks.yml"), "    - "+command)
				}
			}
			if n := strings.Count(github, "pip install ."); name == "settings of tools alone" && n > 0 {
				t.Errorf("it installs a project that is none:\n%s", github)
			}
			if name == "requirements" && (strings.Contains(github, "--require-hashes") || exists(filepath.Join(r.dir, pythonRequirements))) {
				t.Errorf("it installs redis, which the requirements have:\n%s", github)
			}
			if _, err := exec.LookPath("npm"); strings.HasPrefix(name, "npm") && err == nil { // there is nothing to be downloaded
				_, after, _ := strings.Cut(github, "- run: npm ")
				line, _, _ := strings.Cut(after, "\n")
				r.must("npm " + line)
			}
		})
	}
}

// TestPins: workflows, pages, and what sim init writes take actions and images in the state that start/pins.txt names, and
// that has nothing else.
func TestPins(t *testing.T) {
	t.Parallel()
	pins, err := pinned()
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"action.yml": docstest.Read(t, "action.yml")}
	for _, pattern := range []string{".github/workflows/*.yml", "deploy/*/Dockerfile*"} {
		found, _ := filepath.Glob(filepath.Join(docstest.Root(t), pattern))
		if len(found) == 0 {
			t.Fatalf("there is no %s", pattern)
		}
		for _, file := range found {
			name, _ := filepath.Rel(docstest.Root(t), file)
			texts[name] = docstest.Read(t, name)
		}
	}
	for _, page := range docstest.Pages(t) {
		texts[page] = docstest.Read(t, page)
	}
	for _, l := range languages {
		for _, file := range []string{"github.yml", "gitlab.yml"} {
			if texts[l.name+"'s "+file], err = templated(file, l, origin{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	used := make(map[string]bool)
	uses := regexp.MustCompile(`(?m)^ *(?:- )?uses: ([\w-]+/[\w-]+)((?:/[\w-]+)*)@(.*)$`)
	image := regexp.MustCompile(`(?m)^(?: *image: *|ARG BASE=)(([a-z]+):.*)$`)
	from := regexp.MustCompile(`(?m)^FROM (([a-z]+):\S+)`)
	for name, text := range texts {
		for _, m := range uses.FindAllStringSubmatch(text, -1) {
			used[m[1]] = true
			if m[1] != "redlock-sim/redlock-sim" && m[1]+"@"+m[3] != pins[m[1]] {
				t.Errorf("%s uses %s@%s, and start/pins.txt has %q (make pins)", name, m[1], m[3], pins[m[1]])
			}
		}
		images := image.FindAllStringSubmatch(text, -1)
		if strings.HasPrefix(name, "deploy/") { // pages show the Dockerfiles of others
			images = append(images, from.FindAllStringSubmatch(text, -1)...)
		}
		for _, m := range images {
			used[m[2]] = true
			if m[1] != pins[m[2]] {
				t.Errorf("%s has the image %s, and start/pins.txt %q (make pins)", name, m[1], pins[m[2]])
			}
		}
	}
	full := regexp.MustCompile(`^[a-z]+:[0-9]+\.[0-9]+(\.[0-9]+)?(-[a-z0-9-]+)+(@sha256:[0-9a-f]{64})?$`)
	for name, pin := range pins {
		if !strings.Contains(name, "/") && !full.MatchString(pin) {
			t.Errorf("start/pins.txt has %s: want a tag with the whole version, and nothing else or its digest", pin)
		}
		if !used[name] {
			t.Errorf("start/pins.txt has %s, which nothing uses", pin)
		}
	}
}

// TestInitWritesWhatCanBeRead: those who are to read what sim init writes can do so: sim, GitHub, GitLab, the language.
func TestInitWritesWhatCanBeRead(t *testing.T) {
	t.Parallel()
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			r := newRepository(t, l.name)
			r.write(".gitlab-ci.yml", "include: {local: .gitlab/locks.yml}\n")
			r.write(".github/CODEOWNERS", "")
			r.must("sim init --language " + l.name)
			for _, file := range []string{".github/workflows/locks.yml", ".gitlab/locks.yml"} {
				(&followed{t: t, page: file}).ci(docstest.Block{Text: r.read(file)})
			}
			if l.name == "python" { // docs/guide/ci.md shows what it writes there
				page := docstest.Read(t, "docs/guide/ci.md")
				r.wants("docs/guide/ci.md", page, "```yaml github\n"+r.read(".github/workflows/locks.yml")+"```\n",
					"```yaml gitlab\n"+r.read(".gitlab/locks.yml")+"```\n")
			}
			r.wants("sim run", r.must("sim run --world virtual --lock redlock"), "DONE 1 scenario")
			reads := map[string]string{"go": "gofmt -l", "python": "python3 -m py_compile", "ruby": "ruby -c", "php": "php -l",
				"node": "node --check", "java": "javac -d classes -sourcepath locks",
				"rust": "rustc --edition 2021 --crate-type lib --emit metadata -A warnings --out-dir checked"}[l.name]
			if _, err := exec.LookPath(strings.Fields(reads)[0]); err != nil {
				suite.Lacks(t, strings.Fields(reads)[0])
			}
			for _, f := range l.files {
				if filepath.Base(f.path) != ".gitignore" {
					r.must(reads + " " + f.path)
				}
			}
		})
	}
}

// TestInit: what sim init does not do.
func TestInit(t *testing.T) {
	t.Parallel()
	r := newRepository(t, "python")
	r.write("sim.yaml", "lock: mine\n")
	r.write("locks/my_lock.py", "mine")
	before := r.must("sim init")
	r.wants("sim init", before, "kept    locks/my_lock.py", "kept    sim.yaml", "wrote   locks/paused-holder.yaml")
	if r.read("sim.yaml") != "lock: mine\n" || r.read("locks/my_lock.py") != "mine" {
		t.Error("a file was changed")
	}
	r.must("git init --quiet && touch sim-reports/index.html && git add --all")
	if got := r.must("git ls-files sim-reports"); got != "sim-reports/.gitignore\n" {
		t.Errorf("git keeps %q, want sim-reports/.gitignore alone", got)
	}
	r.must("rm -r .git sim-reports/index.html")
	if strings.Contains(r.must("sim init"), "wrote") {
		t.Error("the second sim init wrote something")
	}
	var files []string
	if err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, strings.TrimPrefix(path, r.dir+"/"))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := ".github/workflows/locks.yml locks/my_lock.py locks/paused-holder.yaml locks/requirements.txt locks/sim_adapter.py " +
		"sim-reports/.gitignore sim.yaml"
	if got := strings.Join(files, " "); got != want {
		t.Errorf("sim init left %s, want %s", got, want)
	}
	if out, code := r.shell(r.dir, "sim init --language cobol"); code != app.ExitUsage ||
		!bytes.Contains([]byte(out), []byte("want one of go, python, ")) {
		t.Errorf("exit code %d: %s", code, out)
	}
}
