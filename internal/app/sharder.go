package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/redlock-sim/redlock-sim/internal/app/campaign"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/world/live/docker"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// NamedLock is a lock program that campaigns know by a name.
type NamedLock struct {
	Name, Digest string
	Command      []string
}

// namedLockOf reads NAME=COMMAND, or COMMAND, which is called as on a report card; nil: it is a lock of sim.
func (e *Env) namedLockOf(ctx context.Context, text string) (*NamedLock, error) {
	name, own, err := e.labelled(text)
	switch {
	case err != nil:
		return nil, err
	case own.Program == nil && name != "":
		return nil, Usagef("--lock %s: %s is a lock of sim, and needs no name", text, own.BuiltIn.Algorithm)
	case own.Program == nil:
		return nil, nil
	case name == "":
		name = labelOf(own)
	}
	if err := campaign.CheckLockName(name); err != nil {
		return nil, Usagef("--lock %s: %w", text, err).Hint("--lock NAME='COMMAND'")
	}
	digest, err := trial.Digest(ctx, own.Program.Command)
	if err != nil {
		return nil, interruptedOr(ctx, err)
	}
	return &NamedLock{name, digest, own.Program.Command}, nil
}

// NamedLocks reads the lock programs that a worker has, each as NAME=COMMAND.
func (e *Env) NamedLocks(ctx context.Context, texts []string) (list []*NamedLock, err error) {
	for _, text := range texts {
		l, err := e.namedLockOf(ctx, text)
		if err != nil {
			return nil, err
		}
		if l == nil {
			return nil, Usagef("--lock %s: that is a lock of sim, which each worker has", text).Hint("--live")
		}
		if slices.ContainsFunc(list, func(o *NamedLock) bool { return o.Name == l.Name }) {
			return nil, Usagef("two locks are called %q", l.Name).Hint("--lock name='COMMAND'")
		}
		list = append(list, l)
	}
	return list, nil
}

// Doer is what does shards among real servers on this machine. What they leave is put away when the store is closed: not before, for
// sim's own database is a child of this process, too.
func (e *Env) Doer(ctx context.Context, store *Campaigns, inDocker bool, jobs int, named []*NamedLock, l Listener) (*campaign.Doer, error) {
	if err := e.Live(); err != nil {
		return nil, err
	}
	self, err := Self()
	if err != nil {
		return nil, err
	}
	able := campaign.Abilities{Docker: inDocker, Programs: make(map[string]string)}
	if _, err := server.FindRedis(""); err == nil {
		able.Servers = true
	} else if !inDocker {
		return nil, &trial.EnvironmentError{Err: err, Hint: "sim doctor says what is missing"}
	}
	if inDocker {
		engine, err := docker.Connect(ctx)
		if err != nil {
			return nil, &trial.EnvironmentError{Err: err, Hint: "start Docker, or set DOCKER_HOST to its address"}
		}
		engine.Close()
	}
	locks := make(map[string]*NamedLock)
	for _, one := range named {
		locks[one.Name], able.Programs[one.Name] = one, one.Digest
	}
	if store.leave, err = e.enterLive(false, l); err != nil {
		return nil, err
	}
	does := &sharder{self: self, workCommand: e.WorkCommand, locks: locks, jobs: jobs}
	return &campaign.Doer{Abilities: able, Do: does.do}, nil
}

// sharder does shards: it has sim do each in a process and a folder of its own.
type sharder struct {
	self, workCommand string
	locks             map[string]*NamedLock
	// jobs is how many runs to make at once; 0: as many as sim makes by itself.
	jobs int
}

// mostSaid bounds what is told of a shard that went wrong, in bytes.
const mostSaid = 3000

func (s *sharder) do(ctx context.Context, d *campaign.Definition, part request.Shard) (*campaign.Brought, error) {
	scratch, err := machine.Scratch()
	if err != nil {
		return nil, err
	}
	defer func() { _ = machine.Discard(scratch) }()
	asked, err := s.request(ctx, scratch, d, part)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("failed to write the request of a shard: %w", err)
	}
	words := []string{s.workCommand}
	if d.Digest != "" {
		words = append(words, "--allow-lock") // whoever started this worker named the program
	}
	name, _, _ := d.Request.Only()
	var said bytes.Buffer
	cmd := exec.Command(s.self, words...)
	cmd.Stdin = bytes.NewReader(text)
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.WaitDelay = scratch, environ(), &said, time.Second
	child, err := machine.StartLeader("sim "+name, cmd)
	if err != nil {
		return nil, err
	}
	select {
	case <-child.Gone:
	case <-ctx.Done():
		child.End(syscall.SIGINT, campaign.StopShardWithin)
		return nil, context.Cause(ctx)
	}
	code := cmd.ProcessState.ExitCode()
	if code != ExitMet && code != ExitUnexpected && code != ExitUndecided {
		err := fmt.Errorf("shard %v: sim %s ended with %v: %s",
			part, name, cmd.ProcessState, strings.TrimSpace(tailOf(said.String(), mostSaid)))
		if code == ExitUsage {
			err = errors.Join(campaign.ErrUnfit, err)
		}
		return nil, err
	}
	return brought(filepath.Join(scratch, outFolder), part)
}

// tailOf is the end of a text, of so many bytes at most.
func tailOf(text string, most int) string { return text[max(0, len(text)-most):] }

// Folders of a shard that is under way.
const (
	locksFolder = "locks"
	outFolder   = "out"
)

// environ is the environment of a shard: the database is none of its business.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == DatabaseVariable || name == "PGPASSWORD"
	})
}

// request is what a process of its own is asked, to do a shard. All texts of the definition have been checked.
func (s *sharder) request(ctx context.Context, scratch string, d *campaign.Definition, part request.Shard) (*request.Any, error) {
	place := request.Place{Jobs: s.jobs, Out: outFolder, Part: &part}
	if audit := d.Request.Audit; audit != nil {
		r := *audit
		r.Place = place
		if d.Digest != "" {
			lock, err := s.placed(ctx, scratch, r.Locks[0], d.Digest)
			if err != nil {
				return nil, err
			}
			r.Locks = []string{r.Locks[0] + "=" + lock}
		}
		asked := request.Of(&r)
		return &asked, nil
	}
	r := *d.Request.Search
	r.Place, r.For = place, 0
	if d.Digest != "" {
		var err error
		if r.Lock, err = s.placed(ctx, scratch, r.Lock, d.Digest); err != nil {
			return nil, err
		}
	}
	if d.Scenario != "" {
		r.Scenario = shard.ScenarioFile
		if err := os.WriteFile(filepath.Join(scratch, shard.ScenarioFile), []byte(d.Scenario), 0o600); err != nil {
			return nil, fmt.Errorf("failed to write the scenario: %w", err)
		}
	}
	asked := request.Of(&r)
	return &asked, nil
}

// placed makes the lock program that a campaign names ready for a shard, where it is the one that the campaign means. It returns what
// stands for it in the request.
func (s *sharder) placed(ctx context.Context, scratch, name, digest string) (string, error) {
	l := s.locks[name]
	if l == nil || l.Digest != digest {
		return "", fmt.Errorf("this worker has no lock %s with the digest %.16s", name, digest)
	}
	now, err := trial.Digest(ctx, l.Command)
	if err != nil {
		return "", err
	}
	if now != l.Digest {
		return "", fmt.Errorf("the lock %s is another one than when this worker started: start the worker again", l.Name)
	}
	return l.place(scratch)
}

// place makes the program locks/NAME in the folder of a shard, so that it is called the same on all machines, and returns what
// stands behind --lock for it. An image has a name already.
func (l *NamedLock) place(scratch string) (string, error) {
	if _, contained := program.Image(l.Command); contained {
		return shellquote.Join(l.Command...), nil
	}
	here, err := os.Getwd()
	if err == nil {
		err = os.MkdirAll(filepath.Join(scratch, locksFolder), 0o755)
	}
	if err == nil {
		script := fmt.Sprintf("#!/bin/sh\ncd %s && exec %s \"$@\"\n", shellquote.Join(here), shellquote.Join(l.Command...))
		err = os.WriteFile(filepath.Join(scratch, locksFolder, l.Name), []byte(script), 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("failed to make the lock %s ready: %w", l.Name, err)
	}
	return locksFolder + "/" + l.Name, nil
}

// brought reads what a shard left in a folder.
func brought(dir string, part request.Shard) (*campaign.Brought, error) {
	whole, err := shard.Collect(dir)
	if err != nil {
		return nil, err
	}
	r := whole.Records()[0]
	if r.Shard != part || r.Interrupted {
		return nil, fmt.Errorf("shard %v did not come to its end", part)
	}
	b := &campaign.Brought{Runs: 1}
	if r.Search != nil {
		b.Runs, b.Found = r.Search.Runs, r.Search.Classes
	}
	for _, answer := range r.Answers {
		if c := answer.Cell; c != nil && c.State == card.Broken {
			b.Found = append(b.Found, explore.Class{Name: c.ID, Runs: 1})
		}
	}
	for _, c := range b.Found {
		b.Violations += c.Runs
	}
	b.Packed, err = shard.Pack(filepath.Join(dir, shard.Shards))
	return b, err
}
