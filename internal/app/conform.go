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
	"github.com/redlock-sim/redlock-sim/internal/scenario"
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
	leave, err := env.enterLive(false, l)
	if err != nil {
		return nil, err
	}
	defer leave()
	argv, err := splitCommand("conform", r.Command)
	if err != nil {
		return nil, err
	}
	if _, ours := lock.Lookup(argv[0]); ours { // as sim lock runs it
		if _, err := builtIn("conform", argv); err != nil {
			return nil, err
		}
		self, err := Self()
		if err != nil {
			return nil, err
		}
		argv = append([]string{self, "lock"}, argv...)
	} else if !env.Permit.Lock {
		return nil, env.notPermitted(r.Command)
	}
	nodes := string(server.Auto)
	where := &place{world: &r.World, nodes: &nodes, redis: r.Redis}
	own := &scenario.StandIn{Program: &lock.Program{Command: argv}}
	if err := env.settle(ctx, where, request.Live, []*scenario.StandIn{own}, l); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "sim-conform-")
	if err != nil {
		return nil, &trial.EnvironmentError{Err: err, Hint: "set TMPDIR to a folder that can be written to"}
	}
	o := conform.Options{Command: argv, Redis: r.Redis, Key: r.Key, TTL: time.Duration(r.TTL), Patience: time.Duration(r.Patience), Dir: dir}
	result, err := runConform(ctx, env, where, o, l)
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	out := &ConformResult{result, dir}
	if result.Conforms() { // nobody needs the logs
		_ = os.RemoveAll(dir)
		out.Logs = ""
	}
	return out, nil
}

// runConform makes the checks; in real time where sim has chosen virtual time, and the program needs real time by its own words.
func runConform(ctx context.Context, env *Env, where *place, o conform.Options, l Listener) (*conform.Result, error) {
	for {
		tell, release := l.tell, func() {}
		if where.chosen && *where.world == request.Virtual {
			tell, release = holdBack(l)
		}
		if err := prepareConform(ctx, *where.world, &o); err != nil {
			return nil, err
		}
		o.Line = func(line conform.Line) { tell(Said{line}) }
		o.Begin = func(name string) { tell(CheckBegun{name}) }
		o.End = func(c conform.Check) { tell(CheckEnded{c}) }
		result, err := conform.Run(ctx, o)
		if where.chosen && errors.Is(err, conform.ErrRealTime) {
			where.fallBack(env, err, l)
			continue
		}
		if release(); err != nil {
			return nil, conformError(ctx, o.Command[0], err)
		}
		return result, nil
	}
}

// prepareConform finds what the checks need in a world.
func prepareConform(ctx context.Context, world string, o *conform.Options) (err error) {
	if world == request.Live {
		o.Virtual = nil
		_, err = trial.FindImage(ctx, o.Command)
		return err
	}
	if err := checkVirtualLock("conform", &lock.Program{Command: o.Command}, ""); err != nil {
		return err
	}
	o.Virtual, err = virtualConform(ctx, o.Command, o.Redis)
	return err
}

// holdBack keeps what is to be told until two checks have ended: only then is it known that the program can be checked in virtual time.
func holdBack(l Listener) (tell func(Event), release func()) {
	var held []Event
	ended, open := 0, false
	release = func() {
		for _, e := range held {
			l.tell(e)
		}
		held, open = nil, true
	}
	return func(e Event) {
		if open {
			l.tell(e)
			return
		}
		held = append(held, e)
		if _, ends := e.(CheckEnded); ends {
			if ended++; ended == 2 {
				release()
			}
		}
	}, release
}

// virtualConform is what the checks need in virtual time.
func virtualConform(ctx context.Context, argv []string, redis string) (*conform.VirtualTime, error) {
	path, _, err := trial.VirtualServer(ctx, redis)
	if err != nil {
		return nil, err
	}
	return &conform.VirtualTime{Server: path, Store: trial.FindStore,
		Repeats: func(ctx context.Context, ready *program.Ready, ttl time.Duration) (string, error) {
			return trial.Repeats(ctx, argv, ready, ttl, redis)
		},
		Anew: func(ctx context.Context, ready *program.Ready, ttl time.Duration) (string, time.Duration, error) {
			return trial.Anew(ctx, argv, ready, ttl, redis)
		}}, nil
}

// conformError tells what is not the program's fault.
func conformError(ctx context.Context, name string, err error) error {
	var hinted *trial.EnvironmentError
	switch {
	case ctx.Err() != nil:
		return Interrupted("interrupted")
	case errors.As(err, &hinted):
		return err
	case errors.Is(err, conform.ErrRealTime):
		return &trial.EnvironmentError{Err: err, Hint: "--world live"}
	case errors.Is(err, conform.ErrVirtualTime):
		return &trial.EnvironmentError{Err: err, Hint: "--world virtual"}
	case errors.Is(err, server.ErrCluster):
		return &trial.EnvironmentError{Err: err, Hint: trial.HintCluster}
	case errors.Is(err, server.ErrNowhere):
		return &trial.EnvironmentError{Err: err, Hint: "apt-get install redis-server (or: make setup), or start Docker"}
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		return &trial.EnvironmentError{Err: err, Hint: trial.HintAbsent(name, err)}
	}
	return &trial.EnvironmentError{Err: err, Hint: "sim doctor lists what is missing"}
}
