package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/kballard/go-shellquote"
)

// Ways to test a lock of Go inside a test of Go.
const (
	byRapid    = "rapid"
	byLocktest = "locktest"
)

var goWays = []string{byRapid, byLocktest}

// goFolders are where their tests are.
var goFolders = map[string]string{byRapid: "adapters/museum/testdata/rapid", byLocktest: "locktest/testdata/libraries"}

// goTest runs a test again and again, until it has taken so much processor time.
func (t *trial) goTest(ctx context.Context, root string, p *Piece, way string, seconds float64) (*Loop, error) {
	binary, err := buildTest(ctx, root, filepath.Join(t.work, way), p.Package, t.version, goFolders[way])
	if err != nil {
		return nil, err
	}
	return t.again(seconds, func(l *Loop, turn int) error {
		args := []string{"-test.run=^" + p.Tests[way] + "$", "-test.timeout=5m"}
		if way == byRapid {
			args = append(args, "-rapid.checks=200", "-rapid.nofailfile", "-rapid.shrinktime=1s", "-rapid.seed="+strconv.Itoa(1+turn))
		}
		said, err := t.runTest(ctx, binary, args)
		if err != nil {
			return err
		}
		if l.Runs++; said != "" {
			l.Violated[said]++
		}
		return nil
	})
}

// runTest returns what a test says that failed; empty: it passed.
func (t *trial) runTest(ctx context.Context, binary string, args []string) (string, error) {
	c := exec.CommandContext(ctx, binary, args...)
	c.Dir = filepath.Dir(binary)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := t.start(c)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if failed := (*exec.ExitError)(nil); err == nil || !errors.As(err, &failed) {
		return "", err
	}
	said := failure(out.Bytes())
	if said == "" {
		return "", fmt.Errorf("%s: %w: %s", shellquote.Join(append([]string{binary}, args...)...), err, out.Bytes())
	}
	return said, nil
}

var (
	first   = regexp.MustCompile(`Original traceback \((.*)\):`) // of a failure that rapid could not repeat
	failed  = regexp.MustCompile(`\[rapid\] failed after \d+ tests: (.*)|(?m)^ +\S+\.go:\d+: (\S+: .*)`)
	numbers = regexp.MustCompile(`[0-9]+`)
)

// failure is the first that a failed test says, with N for each number.
func failure(out []byte) string {
	m := first.FindSubmatch(out)
	if m == nil {
		m = failed.FindSubmatch(out)
	}
	if m == nil {
		return ""
	}
	return string(numbers.ReplaceAll(bytes.TrimSpace(slices.Concat(m[1:]...)), []byte("N")))
}

// buildTest builds tests with a version of a library, in a folder of its own.
func buildTest(ctx context.Context, root, dir, library, version, tests string) (string, error) {
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, tests))); err != nil {
		return "", err
	}
	edit := []string{"go", "mod", "edit", "-replace", library + "=" + library + "@v" + version}
	if tests == goFolders[byLocktest] {
		edit = append(edit, "-replace", "github.com/redlock-sim/redlock-sim="+root)
	}
	binary := filepath.Join(dir, "tests")
	return binary, steps(ctx, dir, edit, []string{"go", "test", "-mod=mod", "-c", "-o", binary, "."})
}
