package app

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/conform"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// ConformResult is what is known of a lock program, and the folder with its logs; empty: nobody needs them.
type ConformResult struct {
	*conform.Result
	Logs string
}

type (
	// Said is a line of a lock program.
	Said struct{ conform.Line }
	// CheckBegun and CheckEnded tell of one check of a lock program.
	CheckBegun struct{ Name string }
	// CheckEnded has what came of it.
	CheckEnded struct{ conform.Check }
)

func (Said) event()       {}
func (CheckBegun) event() {}
func (CheckEnded) event() {}

// Conform checks that a lock program speaks the protocol and behaves as a lock.
func Conform(ctx context.Context, env *Env, r request.Conform, l Listener) (*ConformResult, error) {
	if ttl := time.Duration(r.TTL); ttl < 100*time.Millisecond || ttl > time.Minute || time.Duration(r.Patience) < time.Second {
		return nil, Usagef("--ttl %v, --patience %v: want a ttl from 100ms to 1m, and a patience of at least 1s", r.TTL, r.Patience)
	}
	if err := checkWorld(r.World); err != nil {
		return nil, err
	}
	leave, err := env.enterLive(false, l)
	if err != nil {
		return nil, err
	}
	defer leave()
	argv, err := splitCommand("conform", r.Command)
	if err != nil {
		return nil, err
	}
	if _, ours := lock.Lookup(argv[0]); ours {
		return nil, Usagef("conform %s: that is a lock of sim, and no program", r.Command).
			Hint("conform 'sim lock %s'", r.Command)
	}
	if !env.Permit.Lock {
		return nil, errNotPermitted(r.Command)
	}
	var virtual *conform.VirtualTime
	if r.World == request.Virtual {
		if err := checkVirtualLock("conform", &lock.Program{Command: argv}, ""); err != nil {
			return nil, err
		}
		if virtual, err = virtualConform(ctx, argv, r.Redis); err != nil {
			return nil, err
		}
	} else if _, err := trial.FindImage(ctx, argv); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sim-conform-")
	if err != nil {
		return nil, &trial.EnvironmentError{Err: err, Hint: "set TMPDIR to a folder that can be written to"}
	}
	result, err := conform.Run(ctx, conform.Options{
		Command: argv, Redis: r.Redis, Virtual: virtual, Key: r.Key, TTL: time.Duration(r.TTL), Patience: time.Duration(r.Patience), Dir: dir,
		Line:  func(line conform.Line) { l.tell(Said{line}) },
		Begin: func(name string) { l.tell(CheckBegun{name}) },
		End:   func(c conform.Check) { l.tell(CheckEnded{c}) },
	})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, conformError(ctx, argv[0], err)
	}
	out := &ConformResult{result, dir}
	if result.Conforms() { // nobody needs the logs
		_ = os.RemoveAll(dir)
		out.Logs = ""
	}
	return out, nil
}

// virtualConform is what the checks need in virtual time.
func virtualConform(ctx context.Context, argv []string, redis string) (*conform.VirtualTime, error) {
	path, _, err := trial.VirtualServer(ctx, redis)
	if err != nil {
		return nil, err
	}
	etcd, err := server.FindEtcd()
	if err != nil {
		etcd = "" // few programs need it
	}
	return &conform.VirtualTime{Server: path, Etcd: etcd,
		Repeats: func(ctx context.Context, ready *program.Ready, ttl time.Duration) (string, error) {
			return trial.Repeats(ctx, argv, ready, ttl, redis)
		}}, nil
}

// conformError tells what is not the program's fault.
func conformError(ctx context.Context, name string, err error) error {
	switch {
	case ctx.Err() != nil:
		return Interrupted("interrupted")
	case errors.Is(err, conform.ErrRealTime):
		return &trial.EnvironmentError{Err: err, Hint: "--world live"}
	case errors.Is(err, server.ErrCluster):
		return &trial.EnvironmentError{Err: err, Hint: trial.HintCluster}
	case errors.Is(err, server.ErrNowhere):
		return &trial.EnvironmentError{Err: err, Hint: "apt-get install redis-server (or: make setup), or start Docker"}
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return &trial.EnvironmentError{Err: err, Hint: trial.HintAbsent(name, err)}
	}
	return &trial.EnvironmentError{Err: err, Hint: "sim doctor lists what is missing"}
}
