package campaign

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/kballard/go-shellquote"
	"github.com/riverqueue/river"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// CheckLockName refuses a name that cannot be that of a lock program.
func CheckLockName(name string) error {
	if !scenario.IsLockName(name) {
		return fmt.Errorf("%q cannot be the name of a lock program: want up to 40 letters, digits, dots, dashes and underscores", name)
	}
	if _, ours := lock.Lookup(name); ours || strings.HasPrefix(name, "card.") {
		return fmt.Errorf("a lock program cannot be called %s: sim has that name itself", name)
	}
	return nil
}

// MostShardRuns bounds a shard of a search: with more runs it could not be told from one that is stuck.
const MostShardRuns = 20_000

// mostWords bounds texts of a definition that are no scenario, in bytes.
const mostWords = 4096

// Lock is the lock that is named: one of sim, or the name of a program.
func (d *Definition) Lock() string {
	if audit := d.Request.Audit; audit != nil {
		return strings.Join(audit.Locks, "\n")
	}
	return d.search().Lock
}

// checkReal refuses what a worker must not carry out.
func (d *Definition) checkReal() error {
	name := d.Lock()
	if len(name)+len(d.Digest) > mostWords {
		return fmt.Errorf("its texts have more than %d bytes", mostWords)
	}
	if d.Shards < 1 || d.Shards > request.MostShards {
		return fmt.Errorf("it has %d shards: want 1 to %d", d.Shards, request.MostShards)
	}
	if d.Digest != "" {
		if err := CheckLockName(name); err != nil {
			return err
		}
	} else if words, err := shellquote.Split(name); err != nil {
		return fmt.Errorf("its lock: %w", err)
	} else if len(words) > 0 {
		if _, ours := lock.Lookup(words[0]); !ours {
			return fmt.Errorf("its lock is %q, which is none of sim, and no program with a digest", words[0])
		}
	}
	if d.Request.Search != nil {
		return d.checkSearch(d.Request.Search)
	}
	if d.Request.Audit != nil {
		return checkAudit(d.Request.Audit)
	}
	return fmt.Errorf("no campaign of the kind %q", d.command())
}

// checkSearch checks a search among real servers. What a scenario may do there is known to sim search.
func (d *Definition) checkSearch(r *request.Search) error {
	switch {
	case r.Seeds == 0 || r.Seeds > uint64(d.Shards)*MostShardRuns || r.Seed > 1<<63:
		return fmt.Errorf("its numbers of runs are out of bounds: want at most %d for each shard", MostShardRuns)
	case len(d.Scenario) > mostText:
		return fmt.Errorf("its scenario has more than %d bytes", mostText)
	case d.Scenario == "" && r.Lock == "":
		return errors.New("it names neither a scenario nor a lock")
	case d.Scenario == "" && r.Scenario != "":
		return errors.New("it names a scenario and has no text of it: a worker reads no file that a database names")
	case d.Scenario == "" && r.Variant != "":
		return errors.New("it names a variant, and no scenario")
	case r.World != request.Live:
		return fmt.Errorf("there is no world %q", r.World)
	}
	if d.Scenario != "" {
		s, err := scenario.Parse(r.Scenario, []byte(d.Scenario))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(s.Variants, func(v scenario.Variant) bool { return v.Name == r.Variant }) {
			return fmt.Errorf("its scenario has no variant %q", r.Variant)
		}
		if r.Lock == "" && slices.ContainsFunc(s.Variants, func(v scenario.Variant) bool { return v.Setup.Lock.Program != nil }) {
			return errors.New("its lock is a program of the scenario, which no worker starts")
		}
	}
	return d.checkNames()
}

func checkAudit(r *request.Audit) error {
	if len(r.Locks) != 1 || r.Locks[0] == "" {
		return errors.New("it does not name one lock")
	}
	if len(r.Case) > mostWords {
		return fmt.Errorf("its texts have more than %d bytes", mostWords)
	}
	if r.World != request.Live {
		return fmt.Errorf("there is no world %q for it", r.World)
	}
	if !slices.Contains([]string{"process", "docker"}, r.Nodes) {
		return fmt.Errorf("no nodes %q", r.Nodes)
	}
	for _, g := range r.Guarantees {
		if !slices.Contains(scenario.Guarantees(), scenario.Guarantee(g)) {
			return fmt.Errorf("no guarantee %q", g)
		}
	}
	if _, err := regexp.Compile(r.Case); err != nil {
		return fmt.Errorf("its cases: %w", err)
	}
	return nil
}

// virtual is what a worker needs for a campaign in the virtual world.
const virtual = "the virtual world"

// Need is what a worker must have for the campaign.
func (d *Definition) Need() string {
	if !d.IsLive() {
		return virtual
	}
	return needOf(d.Request.Audit != nil && d.Request.Audit.Nodes == "docker", d.Lock(), d.Digest)
}

func needOf(docker bool, lockName, digest string) string {
	need := "redis-server"
	if docker {
		need = "Docker"
	}
	if digest != "" {
		need += fmt.Sprintf(", and the lock %s %.16s", lockName, digest)
	}
	return need
}

// Abilities are what a worker can do beside runs in the virtual world.
type Abilities struct {
	Servers, Docker bool
	// Programs are the digests of lock programs by their names.
	Programs map[string]string
}

// Satisfies reports that the abilities are what a campaign needs.
func (a *Abilities) Satisfies(need string) bool { return slices.Contains(a.Needs(), need) }

// Needs are all needs that the abilities satisfy.
func (a *Abilities) Needs() (list []string) {
	for _, docker := range []bool{false, true} {
		if docker && !a.Docker || !docker && !a.Servers {
			continue
		}
		list = append(list, needOf(docker, "", ""))
		for name, digest := range a.Programs {
			list = append(list, needOf(docker, name, digest))
		}
	}
	slices.Sort(list)
	return list
}

// Doer does shards among real servers.
type Doer struct {
	Abilities
	// Do does a shard. An error that is ErrUnfit comes from the campaign; others come from the machine.
	Do func(ctx context.Context, d *Definition, s request.Shard) (*Brought, error)

	// free has a value while no shard is under way.
	free chan struct{}
	// rest is until when the worker leaves jobs to others, because so many in a row went wrong here.
	rest     time.Time
	failures int
}

// ErrUnfit says that no worker can carry out a campaign.
var ErrUnfit = errors.New("no worker can carry it out")

// Brought is what came of a range.
type Brought struct {
	// Packed is the shard's folder, or an explore.Made.
	Packed           []byte
	Runs, Violations uint64
	// Found are the classes of violations of a shard.
	Found []explore.Class
}

const (
	// realTimeout ends a shard that does not come to its end: what is found is repeated and made smaller, which takes long.
	realTimeout = time.Hour
	// mostRealAttempts is how often a shard is tried on machines on which it goes wrong, mostTimeouts where it takes too long.
	mostRealAttempts = 8
	mostTimeouts     = 2
	// A job waits for the worker to be free for a while, and then goes back, for others.
	waitFor = 5 * time.Second
	busyFor = time.Second
	// A worker leaves jobs to others after one went wrong, the longer the more went wrong in a row.
	restFor  = 10 * time.Second
	restMost = 10 * time.Minute
	// mostBrought bounds what a shard stores, in bytes.
	mostBrought = 256 << 20
)

// doShard does the shard of a job.
func (w *Worker) doShard(ctx context.Context, job *river.Job[rangeArgs]) error {
	r := w.real
	if r == nil {
		return errors.New("this worker does no shards")
	}
	select {
	case <-r.free:
		defer func() { r.free <- struct{}{} }()
	case <-time.After(waitFor):
		return river.JobSnooze(busyFor)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if wait := time.Until(r.rest); wait > 0 {
		select {
		case <-time.After(min(wait, waitFor)):
			return river.JobSnooze(busyFor)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if _, done, err := w.wanted(ctx, job.Args); done || err != nil {
		return err
	}
	d, err := w.definition(ctx, job.Args.Campaign)
	if err != nil {
		return err
	}
	if !d.IsLive() || job.Args.Range < 0 || job.Args.Range >= d.Shards || !r.Satisfies(d.Need()) {
		return fmt.Errorf("campaign %d has no such shard for this worker", job.Args.Campaign)
	}
	began := time.Now()
	err = d.Check()
	var brought *Brought
	if err != nil {
		err = errors.Join(ErrUnfit, err)
	} else {
		brought, err = r.Do(ctx, d, request.Shard{Index: int(job.Args.Range) + 1, Of: int(d.Shards)})
	}
	if err == nil && len(brought.Packed) > mostBrought {
		err = fmt.Errorf("%w: a shard has more than %d bytes: more shards are smaller", ErrUnfit, mostBrought)
	}
	late := errors.Is(context.Cause(ctx), context.DeadlineExceeded)
	switch {
	case err == nil:
		r.failures = 0
		return w.keep(ctx, job, brought, time.Since(began))
	case late && job.Attempt >= mostTimeouts:
		return w.giveUp(job, fmt.Errorf("it was not done within %v: more shards are smaller", realTimeout))
	case errors.Is(err, ErrUnfit), job.Attempt >= mostRealAttempts && ctx.Err() == nil:
		return w.giveUp(job, err)
	case ctx.Err() != nil && !late:
		return err
	}
	r.rest = time.Now().Add(min(restFor<<min(r.failures, 10), restMost))
	r.failures++
	return err
}

// giveUp ends a campaign of which a shard cannot be done.
func (w *Worker) giveUp(job *river.Job[rangeArgs], why error) error {
	limited, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	err := w.end(limited, job.Args.Campaign, Failed, fmt.Sprintf("shard %d: %.4000v", job.Args.Range+1, why))
	if err != nil && !errors.Is(err, ErrOver) {
		return err
	}
	return river.JobCancel(why)
}

// endReal ends a campaign among real servers once all shards are there.
func (t *tended) endReal() error {
	var shards int64
	if err := t.tx.QueryRow(t.ctx, "select count(*) from redlock_sim.result where campaign = $1", t.id).Scan(&shards); err != nil {
		return err
	}
	if t.over = shards >= t.d.Shards; !t.over {
		return nil
	}
	_, err := t.tx.Exec(t.ctx, "update redlock_sim.campaign set state = 'done', finished_at = now() where id = $1", t.id)
	return err
}

// Shards are the folders of the shards that are done, packed as their workers did.
func (s *Store) Shards(ctx context.Context, id int64, each func(packed []byte) error) error {
	rows, err := s.pool.Query(ctx, "select part from redlock_sim.result where "+
		"campaign = $1 and part is not null and length(part) <= $2 order by range limit $3", id, mostBrought, request.MostShards)
	if err != nil {
		return fmt.Errorf("failed to read what came of the campaign: %w", err)
	}
	var packed []byte
	if _, err := pgx.ForEachRow(rows, []any{&packed}, func() error { return each(packed) }); err != nil {
		return fmt.Errorf("failed to read what came of the campaign: %w", err)
	}
	return nil
}

// mostClasses bounds how many classes of violations are told apart.
const mostClasses = 1000

// classes are the violations that shards told of, by their names.
func (s *Store) classes(ctx context.Context, id int64) (list []explore.Class, err error) {
	rows, err := s.pool.Query(ctx,
		"select found from redlock_sim.result where campaign = $1 and found <> '[]' and length(found::text) <= $3 order by range limit $2",
		id, request.MostShards, mostText)
	if err != nil {
		return nil, fmt.Errorf("failed to look at the campaign: %w", err)
	}
	told, err := pgx.CollectRows(rows, pgx.RowTo[[]explore.Class])
	if err != nil {
		return nil, fmt.Errorf("failed to look at the campaign: %w", err)
	}
	for _, found := range told {
		for _, c := range found {
			i := slices.IndexFunc(list, func(l explore.Class) bool { return l.Name == c.Name })
			switch {
			case i < 0 && len(list) < mostClasses:
				list = append(list, c)
			case i >= 0:
				list[i].Runs += c.Runs
			}
		}
	}
	return list, nil
}
