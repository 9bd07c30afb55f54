package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/report/card"
)

// trial runs sim for one version.
type trial struct {
	sim string
	// work is a folder for what sim writes, command the lock program.
	work, command string
	// version is the one that is wanted.
	version string
	// worked is the processor time of all that has run.
	worked time.Duration
}

// measure puts the lock program on trial in virtual time: conform and audit (no: conform alone), and a search, if that is wanted after
// those.
func (t *trial) measure(ctx context.Context, audits bool, enough patience, wanted func(*Version) bool) (*Version, error) {
	v := &Version{Accused: []string{}}
	defer func() { v.Seconds = tenths(t.worked) }()
	var checked struct {
		Program *struct {
			Version string `json:"version"`
		} `json:"program"`
		Checks []struct {
			Name    string `json:"name"`
			Outcome string `json:"outcome"`
		} `json:"checks"`
	}
	if err := t.answer(ctx, &checked, "conform", "--json", "--world", "virtual", t.command); err != nil {
		return nil, err
	}
	if checked.Program == nil {
		return nil, fmt.Errorf("%s: it does not say what it is", t.command)
	}
	if v.Library = checked.Program.Version; v.Library != t.version {
		return nil, fmt.Errorf("%s: it is version %q, not %q", t.command, v.Library, t.version)
	}
	for _, c := range checked.Checks {
		if c.Outcome == "failed" {
			v.Accused = append(v.Accused, "conform/"+c.Name)
		}
	}
	if !audits {
		return v, nil
	}
	var made card.Card
	if err := t.answer(ctx, &made, "audit", "--json", "--no-shorten", "--world", "virtual", "--timeout", enough.run, "--out", t.work,
		"--lock", t.command); err != nil {
		return nil, err
	}
	for i := range made.Locks {
		for _, c := range made.Locks[i].Cells {
			switch c.State {
			case card.Broken:
				v.Accused = append(v.Accused, "audit/"+c.ID)
			case card.Unknown:
				v.Undecided = append(v.Undecided, c.ID)
			case card.NotApplicable, card.Kept, card.ByDesign:
			}
		}
	}
	slices.Sort(v.Accused)
	if v.Searched = wanted(v); !v.Searched {
		return v, nil
	}
	found, err := t.search(ctx, enough.search)
	v.Accused = append(v.Accused, found...)
	return v, err
}

// tenths are seconds, to a tenth.
func tenths(d time.Duration) float64 { return d.Round(100 * time.Millisecond).Seconds() }

// answer runs sim and reads the JSON that it prints.
func (t *trial) answer(ctx context.Context, into any, args ...string) error {
	out, said, err := t.run(ctx, args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("sim %s: %w: %s", args[0], err, said)
	}
	return nil
}

// run runs sim, and returns what it prints on standard output and on standard error. What it found is no error.
func (t *trial) run(ctx context.Context, args ...string) (out, said []byte, err error) {
	c := exec.CommandContext(ctx, t.sim, args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err = t.start(c)
	if failed := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &failed) || failed.ExitCode() > 4) {
		return nil, nil, fmt.Errorf("sim %s: %w: %s", args[0], err, stderr.String())
	}
	return stdout.Bytes(), stderr.Bytes(), ctx.Err()
}

// start runs a command, and adds its processor time, with that of its children.
func (t *trial) start(c *exec.Cmd) error {
	err := c.Run()
	if c.ProcessState != nil {
		t.worked += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	return err
}

// foundLine is what a search says of a violation, doubtful what it says of one that only the program's word shows, or that does not
// repeat.
var (
	foundLine = regexp.MustCompile(`(?m)^  found .*/search-([a-z-]+?)-[0-9]+\.yaml.* fails with .*$`)
	doubtful  = regexp.MustCompile(`not shown|word alone`)
)

func (t *trial) search(ctx context.Context, seconds string) (list []string, err error) {
	out := filepath.Join(t.work, "found")
	if err := os.RemoveAll(out); err != nil {
		return nil, err
	}
	text, _, err := t.run(ctx, "search", "--world", "virtual", "--lock", t.command, "--for", seconds, "--out", out)
	return accusedOf(text), err
}

// accusedOf are the properties that a search found to be violated.
func accusedOf(text []byte) (list []string) {
	for _, m := range foundLine.FindAllSubmatch(text, -1) {
		if name := "search/" + string(m[1]); !doubtful.Match(m[0]) && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
