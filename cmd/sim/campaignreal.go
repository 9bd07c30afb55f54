package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kballard/go-shellquote"
	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app/campaign"
	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/report/card"
	"github.com/redlock-sim/redlock-sim/internal/report/plain"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/docker"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// namedLock is a lock program that campaigns know by a name.
type namedLock struct {
	name, digest string
	command      []string
}

// namedLockOf reads NAME=COMMAND, or COMMAND, which is called as on a report card; nil: it is a lock of sim.
func namedLockOf(ctx context.Context, text string) (*namedLock, error) {
	name, own, err := labelledLock(text)
	switch {
	case err != nil:
		return nil, err
	case own.Program == nil && name != "":
		return nil, usageError("--lock %s: %s is a lock of sim, and needs no name", text, own.BuiltIn.Algorithm)
	case own.Program == nil:
		return nil, nil
	case name == "":
		name = labelOf(own)
	}
	if err := campaign.CheckLockName(name); err != nil {
		return nil, usageError("--lock %s: %w\nhint: --lock NAME='COMMAND'", text, err)
	}
	digest, err := trial.Digest(ctx, own.Program.Command)
	if err != nil {
		return nil, interruptedOr(ctx, err)
	}
	return &namedLock{name, digest, own.Program.Command}, nil
}

// realFlags say what a worker may do among real servers.
type realFlags struct {
	locks        []string
	live, docker bool
	jobs         int
}

func (f *realFlags) lockFlag(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.locks, "lock", nil, "a lock program that campaigns may name, as NAME='COMMAND' (repeatable); "+
		"campaigns know its name and what it consists of, and never its command")
}

// named are the lock programs of the command line.
func (f *realFlags) named(ctx context.Context) (list []*namedLock, err error) {
	for _, text := range f.locks {
		l, err := namedLockOf(ctx, text)
		switch {
		case err != nil:
			return nil, err
		case l == nil:
			return nil, usageError("--lock %s: that is a lock of sim, which each worker has\nhint: --live", text)
		case slices.ContainsFunc(list, func(o *namedLock) bool { return o.name == l.name }):
			return nil, usageError("two locks are called %q\nhint: --lock name='COMMAND'", l.name)
		}
		list = append(list, l)
	}
	return list, nil
}

// doer is what does shards among real servers on this machine. What they leave is put away when the store is closed: not before, for
// sim's own database is a child of this process, too.
func (a *app) doer(ctx context.Context, store *campaigns, f realFlags, named []*namedLock) (*campaign.Doer, error) {
	if err := a.live(); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("failed to find my own program: %w", err)
	}
	able := campaign.Abilities{Docker: f.docker, Programs: make(map[string]string)}
	if _, err := server.FindRedis(); err == nil {
		able.Servers = true
	} else if !f.docker {
		return nil, &trial.EnvironmentError{Err: err, Hint: "sim doctor says what is missing"}
	}
	if f.docker {
		engine, err := docker.Connect(ctx)
		if err != nil {
			return nil, &trial.EnvironmentError{Err: err, Hint: "start Docker, or set DOCKER_HOST to its address"}
		}
		engine.Close()
	}
	locks := make(map[string]*namedLock)
	for _, l := range named {
		locks[l.name], able.Programs[l.name] = l, l.digest
	}
	if store.leave, err = a.enterLive(false); err != nil {
		return nil, err
	}
	do := &sharder{self: self, locks: locks, jobs: f.jobs}
	return &campaign.Doer{Abilities: able, Do: do.do}, nil
}

// tellAbilities says what a worker does among real servers.
func (a *app) tellAbilities(do *campaign.Doer) {
	list := []string{}
	if do.Servers {
		list = append(list, "redis-server")
	}
	if do.Docker {
		list = append(list, "Docker")
	}
	for _, name := range slices.Sorted(maps.Keys(do.Programs)) {
		list = append(list, fmt.Sprintf("%s (%.16s)", name, do.Programs[name]))
	}
	fmt.Fprintf(a.stderr, "one shard at a time among real servers, with %s (Ctrl-C stops it)\n", strings.Join(list, ", "))
}

// sharder does shards: it has sim do each in a process and a folder of its own.
type sharder struct {
	self  string
	locks map[string]*namedLock
	// jobs is how many runs to make at once; 0: as many as sim makes by itself.
	jobs int
}

// mostSaid bounds what is told of a shard that went wrong, in bytes.
const mostSaid = 3000

func (s *sharder) do(ctx context.Context, d *campaign.Definition, part shard.Shard) (*campaign.Brought, error) {
	scratch, err := machine.Scratch()
	if err != nil {
		return nil, err
	}
	defer func() { _ = machine.Discard(scratch) }()
	args, err := s.args(ctx, scratch, d, part)
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	cmd := exec.Command(s.self, args...)
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.WaitDelay = scratch, environ(), &said, time.Second
	child, err := machine.StartLeader("sim "+d.Real.Command, cmd)
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
	if code != exitMet && code != exitUnexpected && code != exitUndecided {
		err := fmt.Errorf("shard %v: sim %s ended with %v: %s",
			part, d.Real.Command, cmd.ProcessState, strings.TrimSpace(tailOf(said.String(), mostSaid)))
		if code == exitUsage {
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
		return name == databaseVariable || name == "PGPASSWORD"
	})
}

// args are the words behind sim that do a shard. All texts of the definition have been checked.
func (s *sharder) args(ctx context.Context, scratch string, d *campaign.Definition, part shard.Shard) ([]string, error) {
	r := d.Real
	lock := r.Lock
	if r.Digest != "" {
		l := s.locks[r.Lock]
		if l == nil || l.digest != r.Digest {
			return nil, fmt.Errorf("this worker has no lock %s with the digest %.16s", r.Lock, r.Digest)
		}
		switch now, err := trial.Digest(ctx, l.command); {
		case err != nil:
			return nil, err
		case now != l.digest:
			return nil, fmt.Errorf("the lock %s is another one than when this worker started: start the worker again", l.name)
		}
		var err error
		if lock, err = l.place(scratch); err != nil {
			return nil, err
		}
	}
	list := []string{r.Command, "--world=" + trial.Live, "--out=" + outFolder, "--seed=" + fmt.Sprint(d.First), "--shard=" + part.String()}
	if s.jobs > 0 {
		list = append(list, "--jobs="+fmt.Sprint(s.jobs))
	}
	if r.Command == campaign.Audit {
		if r.Digest != "" {
			lock = r.Lock + "=" + lock
		}
		list = append(list, "--lock="+lock, "--nodes="+r.Nodes, "--case="+r.Cases, "--no-shorten="+fmt.Sprint(r.NoShorten))
		for _, g := range r.Guarantees {
			list = append(list, "--guarantee="+g)
		}
		return list, nil
	}
	list = append(list, "--seeds="+fmt.Sprint(d.Runs), "--for=0s", "--bare="+fmt.Sprint(d.Bare), "--unguided="+fmt.Sprint(d.Unguided))
	if lock != "" {
		list = append(list, "--lock="+lock)
	}
	if len(d.Properties) > 0 {
		list = append(list, "--property="+strings.Join(wordsOf(d.Properties), ","))
	}
	if len(d.Kinds) > 0 {
		list = append(list, "--kinds="+strings.Join(d.Kinds, ","))
	}
	if d.Scenario == "" {
		return list, nil
	}
	const file = "scenario.yaml"
	if err := os.WriteFile(filepath.Join(scratch, file), []byte(d.Scenario), 0o600); err != nil {
		return nil, fmt.Errorf("failed to write the scenario: %w", err)
	}
	return append(list, "--variant="+d.Variant, "--", file), nil
}

// place makes the program locks/NAME in the folder of a shard, so that it is called the same on all machines, and returns what
// stands behind --lock for it. An image has a name already.
func (l *namedLock) place(scratch string) (string, error) {
	if _, contained := program.Image(l.command); contained {
		return shellquote.Join(l.command...), nil
	}
	here, err := os.Getwd()
	if err == nil {
		err = os.MkdirAll(filepath.Join(scratch, locksFolder), 0o755)
	}
	if err == nil {
		script := fmt.Sprintf("#!/bin/sh\ncd %s && exec %s \"$@\"\n", shellquote.Join(here), shellquote.Join(l.command...))
		err = os.WriteFile(filepath.Join(scratch, locksFolder, l.name), []byte(script), 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("failed to make the lock %s ready: %w", l.name, err)
	}
	return locksFolder + "/" + l.name, nil
}

// brought reads what a shard left in a folder.
func brought(dir string, part shard.Shard) (*campaign.Brought, error) {
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

// searchedReal is a search among real servers as a campaign.
func (a *app) searchedReal(f *campaignFlags, lock *namedLock) (*campaign.Definition, error) {
	d := &campaign.Definition{Real: &campaign.Real{Command: campaign.Search, Lock: f.lock},
		Kinds: f.kinds, Bare: f.bare, Unguided: f.unguided, First: f.first, Runs: uint64(f.runs)}
	if lock != nil {
		d.Real.Lock, d.Real.Digest = lock.name, lock.digest
	}
	if f.named {
		properties, err := f.wanted()
		if err != nil {
			return nil, err
		}
		d.Properties = properties
	}
	if f.scenario != "" {
		s, err := loadOne(f.scenario)
		if err != nil {
			return nil, err
		}
		v, err := variantOf(s, f.variant)
		if err != nil {
			return nil, err
		}
		d.Scenario, d.File, d.Variant = s.Text, filepath.ToSlash(s.File), v.Name
	} else if f.variant != "" {
		return nil, usageError("--variant is one of a scenario: name that, too")
	}
	size := cmp.Or(uint64(f.rangeRuns), realRange)
	shards := d.Runs/size + min(d.Runs%size, 1)
	if f.rangeRuns == 0 {
		shards = min(shards, shard.MostShards)
	}
	if shards > shard.MostShards || d.Runs > shards*campaign.MostShardRuns {
		return nil, usageError("--runs %d --range %d: want up to %d ranges of up to %d runs",
			d.Runs, size, shard.MostShards, campaign.MostShardRuns)
	}
	d.Real.Shards = int64(shards)
	return d, nil
}

func (a *app) startRealSearch(ctx context.Context, f campaignFlags, jobs int) error {
	var lock *namedLock
	if f.lock != "" {
		var err error
		if lock, err = namedLockOf(ctx, f.lock); err != nil {
			return err
		}
	}
	d, err := a.searchedReal(&f, lock)
	if err != nil {
		return err
	}
	return a.startReal(ctx, f.database, d, realFlags{jobs: jobs}, lock, f.searchFlags)
}

// realRange is how many runs among real servers a worker makes at a time: about half a minute's.
const realRange = 300

// auditCampaignFlags are those of sim campaign start audit.
type auditCampaignFlags struct {
	auditFlags
	database
	shards int64
}

func newCampaignAuditCommand(a *app) *cobra.Command {
	var f auditCampaignFlags
	lock := ""
	c := &cobra.Command{
		Use:   "audit --lock [NAME=]LOCK",
		Short: "Begin an audit among real servers",
		Long: `Begin an audit as of sim audit, in shards that workers do among real servers. Without --db it is carried
out at once.

With --db, workers know a lock program by its name: start them with the same NAME and with the command
that starts it there, sim worker --lock NAME='COMMAND'. The database has the name and a digest of the
program; a worker works on the audit only if its program has the same digest. Any worker with --live can
audit a lock of sim.

Exit codes without --db: as of sim audit. With --db: 0 the audit has begun, 3 bad flags, 4 the database
cannot be used.`,
		Example: `  sim campaign start audit --lock redlock --guarantee paused-holder
  sim campaign start audit --lock ours=bin/my-lock --shards 16 --db postgres://sim@db.example/campaigns
  sim worker --lock ours=/opt/my-lock --db postgres://sim@db.example/campaigns`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if lock == "" {
				return usageError("name a lock\nhint: sim campaign start audit --lock redlock, or --lock NAME='COMMAND'")
			}
			f.locks = []string{lock}
			return a.startAudit(c.Context(), f)
		},
	}
	c.Flags().StringVar(&lock, "lock", "", "the lock to audit: NAME='COMMAND', or a lock of sim")
	c.Flags().StringVar(&f.nodes, "nodes", string(server.Process), "where the nodes come from: process or docker")
	registerWords(c, "nodes", []string{string(server.Process), string(server.Docker)})
	f.caseFlags(c)
	c.Flags().Uint64Var(&f.seed, "seed", 0, "the seed for everything random")
	c.Flags().Int64Var(&f.shards, "shards", 8, fmt.Sprintf("into how many shards to divide it, 1 to %d", shard.MostShards))
	c.Flags().IntVarP(&f.jobs, "jobs", "j", 0, "without --db: how many cases to run at once (default: as sim audit)")
	c.Flags().StringVar(&f.out, "out", "", "without --db: folder for the card (default: one below campaigns/ in the folder for reports)")
	f.databaseFlags(a, c)
	return c
}

func (a *app) startAudit(ctx context.Context, f auditCampaignFlags) error {
	f.world = trial.Live
	if f.jobs < 0 {
		return usageError("--jobs %d: want at least 1", f.jobs)
	}
	if _, _, err := f.battery(); err != nil {
		return err
	}
	lock, err := namedLockOf(ctx, f.locks[0])
	if err != nil {
		return err
	}
	d := &campaign.Definition{First: f.seed, Real: &campaign.Real{Command: campaign.Audit,
		Lock: f.locks[0], Shards: f.shards, Nodes: f.nodes, Guarantees: f.guarantees, Cases: f.cases, NoShorten: f.noShorten}}
	if lock != nil {
		d.Real.Lock, d.Real.Digest = lock.name, lock.digest
	}
	return a.startReal(ctx, f.database, d, realFlags{docker: f.nodes == string(server.Docker), jobs: f.jobs}, lock, searchFlags{out: f.out})
}

// startReal begins a campaign among real servers, and carries it out where it is one of this machine alone.
func (a *app) startReal(ctx context.Context, db database, d *campaign.Definition, able realFlags, lock *namedLock, f searchFlags) error {
	if err := d.Check(); err != nil {
		return usageError("%w", err)
	}
	store, err := a.openCampaigns(ctx, db, true)
	if err != nil {
		return err
	}
	defer store.close()
	var do *campaign.Doer
	if store.kept != nil {
		var named []*namedLock
		if lock != nil {
			named = append(named, lock)
		}
		if do, err = a.doer(ctx, store, able, named); err != nil {
			return err
		}
	}
	id, err := store.Create(ctx, *d)
	if err != nil {
		return databaseError(ctx, err)
	}
	if store.kept == nil {
		fmt.Fprintf(a.stdout, "campaign %d   %s   %s, among real servers\n", id, d.Real.Command, words.Count(uint64(d.Real.Shards), "shard"))
		fmt.Fprintf(a.stdout, "  work on it  %s, on any machine, with the same --db\n"+
			"  look at it  sim campaign watch %d, with the same --db\n", workerFor(d), id)
		return nil
	}
	return a.carryOut(ctx, store, id, do, 0, f)
}

// workerFor is the command of a worker that can work on a campaign.
func workerFor(d *campaign.Definition) string {
	switch {
	case d.Real == nil:
		return "sim worker"
	case d.Real.Digest != "":
		return fmt.Sprintf("sim worker --lock %s='COMMAND'", d.Real.Lock)
	case d.Real.Nodes == string(server.Docker):
		return "sim worker --docker"
	}
	return "sim worker --live"
}

// reportShards merges the shards of a campaign that are done, as sim merge does.
func (a *app) reportShards(ctx context.Context, store *campaign.Store, d *campaign.Definition, st *campaign.Status, f searchFlags) error {
	if err := htmlFits(d, f); err != nil {
		return err
	}
	scratch, err := machine.Scratch()
	if err != nil {
		return err
	}
	defer func() { _ = machine.Discard(scratch) }()
	n, left := 0, int64(shard.MostUnpacked)
	var damaged error
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), unpackWithin)
	defer cancel()
	err = store.Shards(limited, st.ID, func(packed []byte) error {
		n++
		damaged = shard.Unpack(packed, filepath.Join(scratch, shard.Shards), &left)
		return damaged
	})
	switch {
	case damaged != nil:
		return damaged
	case err != nil:
		return campaignError(ctx, st.ID, err)
	}
	tell := func() { fmt.Fprintf(plain.Lines{Writer: a.stdout}, "  campaign   %d: %s\n", st.ID, stateOf(st)) }
	var failed error
	if st.State == campaign.Failed {
		failed = &trial.EnvironmentError{Err: fmt.Errorf("campaign %d failed: %s", st.ID, st.Failure)}
	}
	if n == 0 {
		tell()
		return cmp.Or(failed, ended(ctx, "interrupted; no shard is done", false, true))
	}
	whole, err := shard.Collect(scratch)
	if err != nil {
		return usageError("%w", err)
	}
	// Campaigns of several databases have the same numbers.
	out := cmp.Or(f.out, filepath.Join(a.project.Out, "campaigns", fmt.Sprintf("%d-%s", st.ID, st.Created.UTC().Format("20060102-150405"))))
	err = a.merge(ctx, whole, mergeFlags{out: out, partial: true, html: f.html})
	tell()
	if ctx.Err() != nil {
		return &exitError{exitInterrupted, errors.New("interrupted; what was found is kept")}
	}
	return cmp.Or(failed, err)
}

// unpackWithin bounds how long it may take to read all shards.
const unpackWithin = 10 * time.Minute

// htmlFits refuses --html where there is nothing to write there.
func htmlFits(d *campaign.Definition, f searchFlags) error {
	if f.html != "" && d.Real != nil && d.Real.Command == campaign.Audit {
		return usageError("--html is for searches: an audit's card has a page of its own")
	}
	return nil
}
