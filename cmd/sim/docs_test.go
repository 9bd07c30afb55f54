package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kballard/go-shellquote"
	"go.yaml.in/yaml/v4"
	"golang.org/x/mod/module"

	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// ownTests are the pages whose blocks another test follows.
var ownTests = map[string]string{
	"docs/internals/adding-a-fault.md":    "internal/testkit/docstest",
	"docs/internals/adding-a-lock.md":     "internal/testkit/docstest",
	"docs/internals/adding-a-property.md": "internal/testkit/docstest",
	"docs/internals/adding-a-workload.md": "internal/testkit/docstest",
	"docs/guide/locktest.md":              "locktest",
	recipesPage:                           "TestRecipes",
}

// long are the pages with commands that take long: make test looks at their words alone.
var long = []string{
	"docs/reference/audit.md", "docs/guide/searching.md", "docs/guide/measuring.md",
	"docs/reference/lock-protocol.md", "docs/guide/your-own-lock.md",
}

// TestPages does what the pages say, each in a folder of its own outside the repository.
// CONTRIBUTING.md says how a fence tells what a block is.
func TestPages(t *testing.T) {
	published := t.TempDir() // by the module proxy of a reader: the SDK for Go
	publish(t, published, "adapter", module.Version{Path: "github.com/redlock-sim/redlock-sim/adapter", Version: "v1.2.3"})
	for _, page := range docstest.Pages(t) {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			p := &followed{t: t, page: page, root: docstest.Root(t), dir: t.TempDir(), home: t.TempDir(), proxy: published}
			if strings.HasPrefix(p.dir, p.root+"/") {
				t.Fatalf("%s is in the repository: a reader is not", p.dir)
			}
			p.here = p.dir
			read := docstest.ReadPage(t, page)
			p.prose(read.Prose)
			if slices.Contains(long, page) {
				suite.All(t)
			}
			for _, b := range read.Blocks {
				if _, skipped := b.Skip(); skipped {
					p.skipped(b)
				} else if ownTests[page] == "" && !t.Failed() {
					p.follow(b)
				}
			}
		})
	}
}

// TestTranslatedPages looks at the words of translated pages: their commands exist, and their links lead somewhere. Their blocks
// are those of the originals, which TestPages follows.
func TestTranslatedPages(t *testing.T) {
	t.Parallel()
	pages, _, _, err := docstest.Translations(os.DirFS(docstest.Root(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		p := &followed{t: t, page: page, root: docstest.Root(t)}
		p.prose(docstest.ReadPage(t, page).Prose)
	}
}

// compilers look at a part of a program without running it.
var compilers = map[string]struct{ file, command string }{
	"python":     {"part.py", "python3 -m py_compile"},
	"javascript": {"part.mjs", "node --check"},
	"ruby":       {"part.rb", "ruby -c"},
	"php":        {"part.php", "php -l"},
}

// followed is a page that is followed in a folder.
type followed struct {
	t               *testing.T
	page, root, dir string
	home, proxy     string
	// here is the folder in which the page is by now: a reader has one shell for all blocks.
	here string
}

func (p *followed) errorf(line int, message string, args ...any) {
	p.t.Helper()
	p.t.Errorf("%s:%d: %s", p.page, line, fmt.Sprintf(message, args...))
}

// follow does what a block says.
func (p *followed) follow(b docstest.Block) {
	p.t.Helper()
	switch strings.TrimSpace(b.Language + " " + b.Mark) {
	case "sh":
		if out, trace, code := p.shell("set -x\n" + docstest.Script(b)); code != 0 {
			p.errorf(b.Line, "exit code %d of the last command here:\n%s\nit printed\n%s", code, lastLines(trace), lastLines(out))
		}
	case "console":
		p.console(b)
	case "yaml":
		s, err := scenario.Parse("page.yaml", []byte(b.Text))
		if err != nil {
			p.errorf(b.Line, "%v", err)
			return
		}
		if b.File == "" {
			b.File = s.Name + ".yaml"
		}
		p.write(b)
	case "yaml part":
		p.part(b)
	case "yaml github", "yaml gitlab":
		p.ci(b)
	case "diff":
		text, err := os.ReadFile(filepath.Join(p.here, b.File))
		if err != nil {
			p.errorf(b.Line, "%v", err)
			return
		}
		p.write(docstest.Block{File: b.File, Text: docstest.Patch(p.t, string(text), b.Text)})
	case "python part", "javascript part", "ruby part", "php part":
		c := compilers[b.Language]
		if _, err := exec.LookPath(strings.Fields(c.command)[0]); err != nil && b.Language != "python" {
			p.t.Run(fmt.Sprint("line ", b.Line), func(t *testing.T) { suite.Lacks(t, strings.Fields(c.command)[0]) })
			return
		}
		p.write(docstest.Block{File: c.file, Text: b.Text})
		if out, said, code := p.shell(c.command + " " + c.file); code != 0 {
			p.errorf(b.Line, "%s%s", out, said)
		}
	case "yaml sim.yaml":
		b.File = "sim.yaml"
		p.write(b)
	case "python":
		if b.File == "" {
			p.errorf(b.Line, "the paragraph before this block names no file for it")
		}
		p.write(b)
	case "json":
		for d := json.NewDecoder(strings.NewReader(b.Text)); ; {
			var v any
			if err := d.Decode(&v); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				p.errorf(b.Line, "%v", err)
				break
			}
		}
	case "go":
		p.program(b)
	case "text":
		if m := regexp.MustCompile(`(?m)^(\$ |sim |make |go ).*$`).FindString(b.Text); m != "" {
			p.errorf(b.Line, "a command stands in a block of console or sh: %s", m)
		}
	default:
		p.errorf(b.Line, "what to do with a block of %q?", strings.TrimSpace(b.Language+" "+b.Mark))
	}
}

// lastLines are the last 40 lines of a text.
func lastLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "")
}

// shell runs a script as a reader would, but for colours.
func (p *followed) shell(script string) (stdout, stderr string, code int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), suite.WorkPatience)
	defer cancel()
	left := filepath.Join(p.t.TempDir(), "here")
	c := exec.CommandContext(ctx, "sh", "-e", "-c", "trap 'pwd > "+left+"' EXIT\n"+script)
	c.Dir, c.WaitDelay = p.here, time.Second
	c.Env = append(userEnv(p.t, p.home), "GITHUB_STEP_SUMMARY="+filepath.Join(p.dir, "summary.md"),
		"GOPROXY=file://"+p.proxy+","+goEnv(p.t, "GOPROXY"), "GONOSUMDB=github.com/redlock-sim/*")
	var out, said bytes.Buffer
	c.Stdout, c.Stderr = &out, &said
	if err := c.Run(); c.ProcessState == nil || !c.ProcessState.Exited() {
		p.t.Fatalf("%s: %v\n%s\n%s%s", p.page, err, script, out.String(), said.String())
	}
	here, err := os.ReadFile(left)
	if err != nil {
		p.t.Fatal(err)
	}
	p.here = strings.TrimSpace(string(here))
	return out.String(), said.String(), c.ProcessState.ExitCode()
}

// console runs commands, and compares what they print with what the page shows.
func (p *followed) console(b docstest.Block) {
	p.t.Helper()
	commands := docstest.Commands(b)
	if len(commands) == 0 {
		p.errorf(b.Line, "this block has no command after \"$ \"")
	}
	for _, c := range commands {
		out, said, code := p.shell(c.Line)
		if code != c.Exit {
			p.errorf(b.Line, "exit code %d, want %d, of\n%s\nit printed\n%s%s", code, c.Exit, c.Line, out, said)
		}
		// Of what goes to standard error only a message stays: the progress is written over.
		if at := strings.Index("\n"+said, "\nsim: "); at >= 0 {
			out += said[at:]
		}
		if !docstest.Shows(c.Output, out) {
			p.errorf(b.Line, "%s\nprints\n%s\nthe page shows\n%s", c.Line, out, c.Output)
		}
	}
}

// write writes a file that the page shows, for its commands.
func (p *followed) write(b docstest.Block) {
	p.t.Helper()
	file := filepath.Join(p.here, b.File)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(b.Text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// whole is the scenario whose blocks a part takes the place of.
const whole = `
name: part
lock: {algorithm: redlock, ttl: 1s, node_timeout: 50ms}
workload: {kind: increment, clients: 2, sections: 1}
`

// part loads a part of a scenario, in the place of what another has there.
func (p *followed) part(b docstest.Block) {
	p.t.Helper()
	var all, part map[string]any
	if err := yaml.Unmarshal([]byte(whole), &all); err != nil {
		p.t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(b.Text), &part); err != nil {
		p.errorf(b.Line, "%v", err)
		return
	}
	for key, value := range part {
		all[key] = value
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := scenario.Parse("part.yaml", text); err != nil {
		p.errorf(b.Line, "as a part of a scenario: %v\n%s", err, text)
	}
}

// ci looks through a file for a CI system: the commands of sim in it exist, and the inputs of
// its action.
func (p *followed) ci(b docstest.Block) {
	p.t.Helper()
	var root any
	var action struct {
		Inputs map[string]any `yaml:"inputs"`
	}
	if err := errors.Join(yaml.Unmarshal([]byte(b.Text), &root),
		yaml.Unmarshal([]byte(docstest.Read(p.t, "action.yml")), &action)); err != nil {
		p.errorf(b.Line, "%v", err)
	}
	found := 0
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			with, _ := v["with"].(map[string]any)
			if uses, _ := v["uses"].(string); strings.HasPrefix(uses, "redlock-sim/redlock-sim@") {
				found++
				for name := range with {
					if action.Inputs[name] == nil {
						p.errorf(b.Line, "action.yml has no input %q", name)
					}
				}
			}
			for _, v := range v {
				walk(v)
			}
		case []any:
			for _, v := range v {
				walk(v)
			}
		case string:
			for l := range strings.Lines(v) {
				found += p.exists(b.Line, l, inBlock)
			}
		}
	}
	if walk(root); found == 0 {
		p.errorf(b.Line, "nothing here runs sim")
	}
}

// program runs a program that imports packages of this project.
func (p *followed) program(b docstest.Block) {
	p.t.Helper()
	if code, err := format.Source([]byte(b.Text)); err != nil || string(code) != b.Text {
		p.errorf(b.Line, "gofmt changes this (%v)", err)
	}
	b.File = "main.go"
	p.write(b)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(p.root, "cmd/shown/main.go"): filepath.Join(p.here, b.File),
	}})
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(docstest.Block{File: "overlay.json", Text: string(overlay)})
	shown := shellquote.Join("go", "-C", p.root, "run", "-overlay", filepath.Join(p.here, "overlay.json"), "./cmd/shown")
	if _, out, code := p.shell(shown); code != 0 {
		p.errorf(b.Line, "%s", out)
	}
}

// skipped looks at least whether the commands of a block exist.
func (p *followed) skipped(b docstest.Block) {
	p.t.Helper()
	for _, c := range docstest.Commands(b) {
		p.exists(b.Line, strings.ReplaceAll(c.Line, "\\\n", ""), inBlock)
	}
}

// TestTroubleshootingQuotesMessages: the messages in the tables of docs/guide/troubleshooting.md are
// those of the code.
func TestTroubleshootingQuotesMessages(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	root := docstest.Root(t)
	for _, dir := range []string{"cmd", "internal"} {
		err := fs.WalkDir(os.DirFS(root), dir, func(path string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				text, err := os.ReadFile(filepath.Join(root, path))
				code.Write(text)
				return err
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	code.WriteString(syscall.EADDRINUSE.Error() + exec.ErrNotFound.Error())
	rows := regexp.MustCompile("(?m)^\\| `(.*?)` \\| ").FindAllStringSubmatch(docstest.Read(t, "docs/guide/troubleshooting.md"), -1)
	if len(rows) < 15 {
		t.Fatalf("the page has only %d messages", len(rows))
	}
	for _, row := range rows {
		for part := range strings.SplitSeq(row[1], "...") {
			if !strings.Contains(code.String(), strings.TrimSpace(part)) {
				t.Errorf("no code says %q", part)
			}
		}
	}
}

// TestFiguresOfTrust: the figures of docs/internals/trust.md are those of the pages behind its links.
func TestFiguresOfTrust(t *testing.T) {
	t.Parallel()
	// sums adds up the columns of the rows that a pattern finds.
	sums := func(page, row string) []any {
		var list []any
		found := regexp.MustCompile(row).FindAllStringSubmatch(docstest.Read(t, page), -1)
		if len(found) == 0 {
			t.Fatalf("%s has no row like %s", page, row)
		}
		for column := range found[0][1:] {
			sum := 0
			for _, m := range found {
				n, err := strconv.Atoi(m[column+1])
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
			list = append(list, sum)
		}
		return list
	}
	const page = "docs/internals/trust.md"
	trust := strings.NewReplacer(",", "", "\n ", "").Replace(docstest.Read(t, page))
	// killed, lived, timed out, equal
	m := sums("docs/internals/mutants.md", `(?m)^\| .*? \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| .* %`)
	made := m[0].(int) + m[1].(int)
	for _, want := range []string{
		fmt.Sprintf("noticed %d of %d]", m[0], made),
		fmt.Sprintf("%d that change nothing and %d with", m[3], m[2]),
		fmt.Sprintf("Of %d violations found in simulated time %d [",
			sums("docs/internals/virtual-world.md", `(?m)^\| .*? \| .*? \| (\d+) \| (\d+) \| \d+ % \|`)...),
	} {
		if !strings.Contains(trust, want) {
			t.Errorf("%s does not say %q", page, want)
		}
	}
}
