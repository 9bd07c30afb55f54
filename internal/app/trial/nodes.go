package trial

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/words"
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
		version, err = server.VersionOf(ctx, path)
	}
	if err != nil {
		err = &EnvironmentError{Err: err,
			Hint: "apt-get install redis-server (or: make setup), or name a redis-server or a valkey-server with --redis PATH"}
	}
	return path, version, err
}

// prepareVirtual settles what is real in a virtual world. With server.Auto real servers are where a lock program meets them, and all
// variants then stand on the same ground. What cannot be had there is not applicable.
func (t *trial) prepareVirtual(ctx context.Context) error {
	programs := slices.ContainsFunc(t.subjects, func(s subject) bool { return s.program() != nil })
	switch {
	case programs && t.Nodes == Model:
		return ErrOnModel
	case !programs && t.Nodes != server.Process:
		t.Nodes = Model
		return nil
	}
	t.Nodes = server.Process
	path, version, err := VirtualServer(ctx, t.Redis)
	if err != nil {
		return err
	}
	t.server, t.serverVersion = path, version
	if slices.ContainsFunc(t.subjects, func(s subject) bool { return s.program() != nil && s.program().Store == program.Etcd }) {
		if t.etcd, err = server.FindEtcd(); err != nil {
			return &EnvironmentError{Err: fmt.Errorf("the lock is kept in etcd: %w", err),
				Hint: "apt-get install etcd-server, or REDLOCK_SIM_ETCD names an etcd"}
		}
	}
	for i := range t.subjects {
		if s := &t.subjects[i]; s.notApplicable == "" {
			spec := runner.Spec(t.config(s, t.Seed))
			s.notApplicable = guests.Refusal(&spec, t.guests(s, ""))
		}
	}
	return nil
}

// guests says what of a variant is real in virtual time, and where the logs go.
func (t *trial) guests(s *subject, dir string) guests.Options {
	return guests.Options{Server: t.server, Etcd: t.etcd, Programs: s.program() != nil, Dir: dir}
}

// Real reports that real servers, and maybe lock programs, take part in virtual time.
func (o *Options) real() bool { return o.World == request.Virtual && o.Nodes == server.Process }
