package trackrecord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// meter measures libraries.
type meter struct {
	// sim is the program, and what it and redis-server say of their versions.
	sim, simVersion, redis string
	lasts                  time.Duration
	jobs                   int
	stdout, stderr         io.Writer
}

func newMeter(ctx context.Context, o *Order) (*meter, error) {
	m := &meter{sim: filepath.Join("bin", "sim"), lasts: o.For, jobs: o.Jobs, stdout: o.Stdout, stderr: o.Stderr}
	says := func(after, path string, args ...string) (string, error) {
		text, err := machine.Output(ctx, path, args...)
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		if _, text, found := strings.Cut(text, after); found && text != "" {
			return strings.Fields(text)[0], nil
		}
		return "", fmt.Errorf("%s does not say its version", path)
	}
	var err, other error
	m.simVersion, err = says("sim ", m.sim, "version")
	m.redis, other = says("v=", "redis-server", "--version")
	return m, errors.Join(err, other)
}

// measure does what is still to be done for a library.
func (m *meter) measure(ctx context.Context, l *Library) error {
	command, err := shellquote.Split(l.Command)
	if err != nil {
		return fmt.Errorf("%s: %w", l.Name, err)
	}
	p, err := program.Start(ctx, program.Options{Command: command, Env: []string{"PYTHONDONTWRITEBYTECODE=1"}})
	if err != nil {
		return fmt.Errorf("%s cannot be started: %w", l.Name, err)
	}
	p.Close()
	now := versions{Sim: m.simVersion, Redis: m.redis, Library: p.Ready.Version, Command: l.Command}
	s, err := readStored(".", l.Name)
	if err != nil {
		return err
	}
	if !s.audited(now) {
		if err := m.audit(ctx, l); err != nil {
			return err
		}
	}
	if p.Ready.Elsewhere() {
		return (&searched{versions: now, Store: string(p.Ready.Store)}).write(searchFile(".", l.Name, ""))
	}
	if m.lasts == 0 {
		return nil
	}
	for i := range s.Searches {
		if k := &s.Searches[i]; applies(k.topology, &p.Ready) {
			if err := m.search(ctx, l, k, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// audit makes the card. It takes its name only when the audit came to its end.
func (m *meter) audit(ctx context.Context, l *Library) error {
	dir := filepath.Join(workDir, l.Name)
	err := errors.Join(os.RemoveAll(filepath.Join(dir, "audit")),
		os.MkdirAll(dir, 0o755), os.MkdirAll(filepath.Dir(cardFile(".", l.Name)), 0o755))
	if err != nil {
		return err
	}
	card := filepath.Join(dir, "card.new.json")
	err = m.run(ctx, l, m.stdout, "audit", "--lock", l.Name+"="+l.Command, "--out", dir, "--card", card)
	if err != nil {
		return err
	}
	return os.Rename(card, cardFile(".", l.Name))
}

// search begins a search, or goes on with one.
func (m *meter) search(ctx context.Context, l *Library, k *storedSearch, now versions) error {
	left, resume := k.left(now, m.lasts)
	if left <= 0 {
		fmt.Fprintf(m.stderr, "%s: searched for %v already\n", ofTopology(l.Name, k.topology), k.Searched.took())
		return nil
	}
	out, file := searchDir(".", l.Name, k.topology), searchFile(".", l.Name, k.topology)
	args := []string{"search", "--json", "--lock", l.Command, "--for", left.String(), "--out", out}
	if k.topology != "" {
		args = append(args, "--topology", k.topology)
	}
	if m.jobs > 0 {
		args = append(args, "-j", fmt.Sprint(m.jobs))
	}
	made := &searched{versions: now, Topology: k.topology, World: virtual, Started: time.Now().UTC().Format(time.RFC3339)}
	if resume {
		made = k.Searched
		args = append(args, "--resume")
	} else if err := os.RemoveAll(out); err != nil {
		return err
	}
	made.Commands, made.Done = append(made.Commands, shellquote.Join(append([]string{"sim"}, args...)...)), false
	if err := made.write(file); err != nil { // what follows may be killed
		return err
	}
	var told struct {
		Runs     uint64      `json:"runs"`
		Violated []toldClass `json:"violated"`
		Found    []struct {
			Property checker.Property `json:"property"`
			Proved   bool             `json:"proved"`
		} `json:"found"`
		Replay string `json:"replay"`
	}
	var printed bytes.Buffer
	err := m.run(ctx, l, &printed, args...)
	if err == nil {
		err = json.Unmarshal(printed.Bytes(), &told)
	}
	made.Ended, made.Done, made.Proved = time.Now().UTC().Format(time.RFC3339), err == nil, nil
	if strings.Contains(told.Replay, "--world live") {
		made.World = ""
	}
	for _, f := range told.Found {
		if f.Proved {
			made.Proved = append(made.Proved, f.Property)
		}
	}
	after, unread := readSearch(".", l.Name, k.topology)
	if unread == nil {
		made.sum(after.State)
		made.include(told.Runs, told.Violated)
	}
	return errors.Join(err, unread, keepFound(out, foundDir(".", l.Name, k.topology)), made.write(file))
}

// keepFound keeps the scenarios that a search in one folder found in another, in the place of those of an earlier one.
func keepFound(in, to string) error {
	old, err := filepath.Glob(filepath.Join(to, "*.yaml"))
	found, other := filepath.Glob(filepath.Join(in, "*.yaml"))
	err = errors.Join(err, other)
	for _, path := range old {
		err = errors.Join(err, os.Remove(path))
	}
	for _, path := range found {
		text, failed := os.ReadFile(path)
		err = errors.Join(err, failed, machine.WriteFile(filepath.Join(to, filepath.Base(path)),
			func(w io.Writer) error { _, err := w.Write(text); return err }))
	}
	return err
}

// endWithin is how long sim may take to end in order when it is told to.
const endWithin = 90 * time.Second

// run runs sim to its end. Ctrl-C at a terminal reaches it, too: it
// takes the two signals for one.
func (m *meter) run(ctx context.Context, l *Library, stdout io.Writer, args ...string) error {
	fmt.Fprintf(m.stderr, "%s: %s\n", l.Name, shellquote.Join(append([]string{"sim"}, args...)...))
	c := exec.CommandContext(ctx, m.sim, args...)
	c.Stdout, c.Stderr = stdout, m.stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = endWithin
	err := c.Run()
	if code := c.ProcessState.ExitCode(); code >= 0 && code <= 2 && ctx.Err() == nil { // nothing, something, or something in doubt
		return nil
	}
	return fmt.Errorf("%s: sim %s ended with %w", l.Name, args[0], err)
}
