package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual/guests"
)

// Model is where nodes come from that are models. Only the virtual world has them.
const Model server.Provider = "model"

// Providers are where the nodes of a world can come from.
func Providers(world string) []server.Provider {
	if world == request.Virtual {
		return []server.Provider{server.Auto, Model, server.Process}
	}
	return server.Providers()
}

// ErrOnModel says that a lock program was to meet models.
var ErrOnModel = errors.New("a lock program meets real servers, and no models")

// VirtualTime is why neither lock programs nor real servers can run in virtual time here, with what to do about it; nil: they can.
func VirtualTime() *EnvironmentError {
	err := guests.Available()
	if err == nil {
		return nil
	}
	var hinted *words.Hinted
	if errors.As(err, &hinted) {
		return &EnvironmentError{Err: hinted.Err, Hint: hinted.Hint}
	}
	return &EnvironmentError{Err: err}
}

// VirtualServer is the program of servers in virtual time, and its version: redis as server.FindRedis takes it. The error says why neither
// servers nor lock programs can run so here.
func VirtualServer(ctx context.Context, redis string) (path, version string, err error) {
	if missing := VirtualTime(); missing != nil {
		if machine.LiveOn(runtime.GOOS) == nil {
			if missing.Hint != "" {
				missing.Hint += "; or "
			}
			missing.Hint += "--world live, which takes real time"
		}
		missing.Err = fmt.Errorf("lock programs and real servers cannot run in virtual time here: %w", missing.Err)
		return "", "", missing
	}
	if path, err = server.FindRedis(redis); err == nil {
		version, err = versions.of(ctx, path)
	}
	if err != nil {
		err = &EnvironmentError{Err: err,
			Hint: "apt-get install redis-server (or: make setup), or name a redis-server or a valkey-server with --redis PATH"}
	}
	return path, version, err
}

// versions are those of servers that were asked for it.
var versions askedVersions

// askedVersions remembers what programs of servers are, so that each is asked once and not for each run.
type askedVersions struct {
	mu    sync.Mutex
	known map[string]askedVersion
}

type askedVersion struct {
	file    fs.FileInfo
	version string
}

// of is the version of the program in a file. It is asked again when the file is another one.
func (a *askedVersions) of(ctx context.Context, path string) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	file, err := os.Stat(path)
	if before, is := a.known[path]; is && err == nil && os.SameFile(before.file, file) && before.file.ModTime().Equal(file.ModTime()) {
		return before.version, nil
	}
	version, wrong := server.VersionOf(ctx, path)
	if err == nil && wrong == nil {
		if a.known == nil {
			a.known = make(map[string]askedVersion)
		}
		a.known[path] = askedVersion{file, version}
	}
	return version, wrong
}

// patience is the least time limit of a run in virtual time in which a lock program takes the place of the scenario's lock: libraries wait
// for longer than built-in locks, and time costs little there.
const patience = 5 * time.Minute

// prepareVirtual settles what is real in a virtual world. With server.Auto real servers are where a lock program meets them, and all
// variants then stand on the same ground. What cannot be had there is not applicable.
func (t *trial) prepareVirtual(ctx context.Context) error {
	programs := slices.ContainsFunc(t.subjects, func(s subject) bool { return s.program() != nil })
	noModel := slices.ContainsFunc(t.subjects, func(s subject) bool { return t.noModel(&s) != "" })
	switch {
	case programs && t.Nodes == Model:
		return ErrOnModel
	case noModel && t.Nodes != Model && !programs:
	case !programs && t.Nodes != server.Process:
		t.Nodes = Model
		t.refuseModels(nil)
		return nil
	}
	path, version, err := VirtualServer(ctx, t.Redis)
	if err != nil && !programs && t.Nodes == server.Auto {
		t.Nodes = Model
		t.refuseModels(err)
		return nil
	}
	if err != nil {
		return err
	}
	t.Nodes = server.Process
	t.server, t.serverVersion = path, version
	if t.Upgrade != "" {
		if t.upgrade, t.upgradeVersion, err = VirtualServer(ctx, t.Upgrade); err != nil {
			return &EnvironmentError{Err: fmt.Errorf("--upgrade: %w", err), Hint: "name a redis-server or a valkey-server with --upgrade PATH"}
		}
	}
	if err := t.findStores(); err != nil {
		return err
	}
	for i := range t.subjects {
		if s := &t.subjects[i]; s.notApplicable == "" {
			if t.Programs.own != nil && s.program() != nil {
				s.Setup.TimeLimit = max(s.Setup.TimeLimit, patience)
			}
			spec := runner.Spec(t.config(s, t.Seed))
			s.notApplicable = guests.Refusal(&spec, t.guests(s, ""))
		}
	}
	return nil
}

// findStores finds the servers on which lock programs keep their lock.
func (t *trial) findStores() error {
	t.stores = make(map[client.StoreKind]string)
	for i := range t.subjects {
		p := t.subjects[i].program()
		if p == nil || !p.Elsewhere() || p.Store == program.Postgres || t.stores[client.StoreKind(p.Store)] != "" {
			continue // PostgreSQL does not run in virtual time
		}
		path, err := FindStore(p.Store)
		if err != nil {
			return err
		}
		t.stores[client.StoreKind(p.Store)] = path
	}
	return nil
}

// FindStore finds from what a server is started in virtual time on which a lock is kept: guests.Options.Stores.
func FindStore(store program.Store) (path string, err error) {
	var hint string
	switch store {
	case program.Zookeeper:
		path, err = server.FindZookeeper()
		hint = "make libraries (and Java), or REDLOCK_SIM_ZOOKEEPER names a folder with the jars of ZooKeeper"
	case program.Nats:
		path, err = server.FindNats()
		hint = server.HintNats
	case program.Etcd:
		path, err = server.FindEtcd()
		hint = "apt-get install etcd-server, or REDLOCK_SIM_ETCD names an etcd"
	case program.Redis, program.Postgres:
		err = errors.New("no such server is started in virtual time")
	}
	if err != nil {
		return "", &EnvironmentError{Err: fmt.Errorf("the lock is kept in %s: %w", store, err), Hint: hint}
	}
	return path, nil
}

// noModel is why the nodes of a variant cannot be models; empty: they can.
func (t *trial) noModel(s *subject) string {
	spec := runner.Spec(t.config(s, t.Seed))
	return spec.NoModel()
}

// refuseModels says of some variants why their nodes cannot be models, and why no real servers take their place.
func (t *trial) refuseModels(err error) {
	for i := range t.subjects {
		s := &t.subjects[i]
		if why := t.noModel(s); s.notApplicable == "" && why != "" {
			if s.notApplicable = why; err != nil {
				s.notApplicable += fmt.Sprintf(" (%v)", err)
			}
		}
	}
}

// refuseClusters says why the nodes of some variants, a Redis Cluster, cannot be had.
func (t *trial) refuseClusters(why string) {
	for i := range t.subjects {
		if s := &t.subjects[i]; s.notApplicable == "" && s.Setup.Nodes.Clustered() {
			s.notApplicable = why
		}
	}
}

// guests says what of a variant is real in virtual time, and where the logs go.
func (t *trial) guests(s *subject, dir string) guests.Options {
	return guests.Options{Server: t.server, Upgrade: t.upgrade, Stores: t.stores, Programs: s.program() != nil, Dir: dir}
}

// Real reports that real servers, and maybe lock programs, take part in virtual time.
func (o *Options) real() bool { return o.World == request.Virtual && o.Nodes == server.Process }
