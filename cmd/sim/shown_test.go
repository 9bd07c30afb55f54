package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/testkit/docstest"
)

// shownCommand is a line of a help text that shows a command. What it does may stand behind
// it, after two spaces.
var shownCommand = regexp.MustCompile(`(?m)^ *sim ((?:[^ \n]+ )*[^ \n]+)`)

// shownCommands are the commands that the help texts show. TestPages looks at those of the pages.
func shownCommands(t *testing.T) (list [][]string) {
	t.Helper()
	root := newRootCommand(&cli{})
	for _, c := range append(root.Commands(), root) {
		for _, m := range shownCommand.FindAllStringSubmatch(c.Example, -1) {
			words, err := shellquote.Split(m[1])
			if err != nil {
				t.Fatalf("sim %s: %v", m[1], err)
			}
			list = append(list, words)
		}
	}
	if len(list) < 40 {
		t.Fatalf("only %d commands are shown: %q", len(list), list)
	}
	return list
}

// Every command that the help shows exists, and has the flags with which it is shown.
func TestHelpShowsWhatExists(t *testing.T) {
	for _, words := range shownCommands(t) {
		for i, w := range words {
			if w == ">" {
				words = words[:i]
				break
			}
		}
		if err := simExists(words, inBlock); err != nil {
			t.Errorf("sim %s: %v", strings.Join(words, " "), err)
		}
	}
}

// Every sweep that the help shows works as it is printed, beside the scenarios and with what
// sim new writes. It is made with few runs here.
func TestHelpShowsSweepsThatWork(t *testing.T) {
	commands := shownCommands(t)
	scenarios := filepath.Join(docstest.Root(t), "scenarios")
	t.Chdir(t.TempDir())
	if err := os.Symlink(scenarios, "scenarios"); err != nil {
		t.Fatal(err)
	}
	sim := func(args ...string) {
		var out bytes.Buffer
		code := run(&cli{
			args: args, variable: os.Getenv, stdout: &out, stderr: &out, now: time.Now,
			terminal: func(int) bool { return false },
		})
		if code != app.ExitMet {
			t.Errorf("sim %s: exit %d\n%s", strings.Join(args, " "), code, out.String())
		}
	}
	sim("new", "my-lock")
	sweeps := 0
	for _, words := range commands {
		if words[0] == "sweep" {
			sweeps++
			sim(append(words, "--runs", "2")...)
		}
	}
	if sweeps < 2 {
		t.Errorf("only %d sweeps are shown", sweeps)
	}
}

var (
	inlineCode = regexp.MustCompile("`((?:sim|make|go test) [^`]+)`")
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	comment    = regexp.MustCompile(`(^|\s)#.*$`)
	ends       = []string{"|", "||", "&&", ";", "&", ">", ">>", "<"}
	makeTarget = regexp.MustCompile(`(?m)^([a-z-]+):`)
)

// prose looks whether the commands inside the text exist, and what links lead to.
func (p *followed) prose(lines []string) {
	p.t.Helper()
	for i, l := range lines {
		for _, m := range inlineCode.FindAllStringSubmatch(l, -1) {
			p.exists(i+1, strings.ReplaceAll(m[1], `\|`, "|"), inText)
		}
		for _, m := range link.FindAllStringSubmatch(l, -1) {
			p.link(i+1, m[1])
		}
	}
}

// A command inside the text may leave out what it is about: "sim run --world virtual".
const (
	inBlock = true
	inText  = false
)

// exists looks whether there is what a command names: its subcommand and its flags, the
// target, the test. It counts the commands of sim.
func (p *followed) exists(line int, command string, entire bool) (count int) {
	p.t.Helper()
	words, err := shellquote.Split(comment.ReplaceAllString(command, ""))
	if err != nil {
		p.errorf(line, "%s: %v", command, err)
	}
	for len(words) > 0 {
		end := len(words)
		for i, w := range words {
			if slices.Contains(ends, w) {
				end = i
				break
			}
		}
		one := words[:end]
		words = words[min(end+1, len(words)):]
		for len(one) > 0 && strings.Contains(one[0], "=") { // a variable for this command
			one = one[1:]
		}
		if len(one) == 0 {
			continue
		}
		switch filepath.Base(one[0]) {
		case "sim":
			count++
			err = simExists(one[1:], entire)
		case "make":
			err = p.targetExists(one[1:])
		case "go":
			err = p.testExists(one[1:])
		}
		if err != nil {
			p.errorf(line, "%s: %v", strings.Join(one, " "), err)
		}
	}
	return count
}

// simExists says whether sim has a command with these flags and, if it is entire, as many
// arguments.
func simExists(args []string, entire bool) error {
	root := newRootCommand(&cli{})
	root.InitDefaultCompletionCmd() // as cobra does when it runs
	c, args, err := root.Find(args)
	if err != nil {
		return err
	}
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--help" })
	if err := c.ParseFlags(args); err != nil {
		return err
	}
	if !entire {
		return nil
	}
	return c.ValidateArgs(c.Flags().Args())
}

func (p *followed) targetExists(args []string) error {
	makefile := docstest.Read(p.t, "Makefile")
	if len(args) > 1 && args[0] == "-C" {
		args = args[2:]
	}
	for _, a := range args {
		known := slices.ContainsFunc(makeTarget.FindAllStringSubmatch(makefile, -1), func(m []string) bool { return m[1] == a })
		if !known && !strings.Contains(a, "=") {
			return errors.New("the Makefile has no such target")
		}
	}
	return nil
}

// testExists says whether a command "go test" names packages with such tests.
func (p *followed) testExists(args []string) error {
	if len(args) == 0 || args[0] != "test" {
		return nil
	}
	c := &cobra.Command{FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}}
	long := slices.Clone(args[1:])
	for i, a := range long {
		if strings.HasPrefix(a, "-") && len(a) > 2 {
			long[i] = "-" + a
		}
	}
	patterns := map[string]*string{"Test": c.Flags().String("run", "", ""), "Benchmark": c.Flags().String("bench", "", "")}
	for _, name := range []string{"benchtime", "cpu"} {
		c.Flags().String(name, "", "")
	}
	c.Flags().BoolP("verbose", "v", false, "")
	if err := c.ParseFlags(long); err != nil {
		return err
	}
	var names []string
	for _, pkg := range c.Flags().Args() {
		files, err := filepath.Glob(filepath.Join(p.root, pkg, "*_test.go"))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("%s has no tests (%w)", pkg, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`).FindAllStringSubmatch(string(text), -1) {
				names = append(names, m[1])
			}
		}
	}
	for kind, pattern := range patterns {
		first, _, _ := strings.Cut(*pattern, "/")
		if first == "" || kind == "Test" && *patterns["Benchmark"] != "" {
			continue // all; with -bench, -run is there to leave the tests out
		}
		is, err := regexp.Compile(first)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, kind) && is.MatchString(n) }) {
			return fmt.Errorf("no %s has a name like %s", strings.ToLower(kind), first)
		}
	}
	return nil
}

// link looks what a link inside the repository leads to.
func (p *followed) link(line int, to string) {
	p.t.Helper()
	if strings.Contains(to, "://") {
		return
	}
	file, anchor, _ := strings.Cut(to, "#")
	if file = filepath.Join(filepath.Dir(p.page), file); strings.HasPrefix(to, "#") {
		file = p.page
	}
	if _, err := os.Stat(filepath.Join(p.root, file)); errors.Is(err, fs.ErrNotExist) {
		p.errorf(line, "there is no %s", file)
		return
	}
	if anchor != "" && !slices.Contains(anchors(docstest.Read(p.t, file)), anchor) {
		p.errorf(line, "%s has no heading #%s", file, anchor)
	}
}

// anchors are the names under which links find the headings of a page, as GitHub makes them.
func anchors(text string) (list []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		list = append(list, strings.ReplaceAll(name, " ", "-"))
	}
	return list
}
