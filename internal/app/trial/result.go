package trial

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/kballard/go-shellquote"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/app/verdict"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// newResult is the result before anything has run.
func (t *trial) newResult() *report.Result {
	r := verdict.Result(t.Scenario, t.World, t.Seed, t.started)
	r.Replay, r.Facts = t.replay(t.Seed), facts(t.subjects)
	if t.Nodes != Model {
		r.Nodes = string(t.Nodes)
	}
	if t.serverVersion != "" {
		r.Versions["redis"] = t.serverVersion
	}
	if t.upgradeVersion != "" {
		r.Versions["redis-upgrade"] = t.upgradeVersion
	}
	for k, v := range t.Program {
		r.Versions[k] = v
	}
	return r
}

// replay is the command line that runs the scenario again.
func (t *trial) replay(seed uint64) string {
	line := fmt.Sprintf("sim run %s --seed %d", shellquote.Join(filepath.ToSlash(t.File)), seed)
	if own := t.Programs.own; t.World != request.Live || own != nil && own.Program != nil { // sim would choose the world of a program
		line += " --world " + t.World
	}
	if t.real() || t.World == request.Live && t.Nodes != server.Process {
		line += " --nodes " + string(t.Nodes)
	}
	if t.Redis != "" {
		line += " --redis " + shellquote.Join(t.Redis)
	}
	if t.Upgrade != "" {
		line += " --upgrade " + shellquote.Join(t.Upgrade)
	}
	if t.World == request.Live && t.AllowHooks {
		line += " --allow-hooks"
	}
	if t.World == request.Live && t.PasswordEnv != "" {
		line += " --password-env " + t.PasswordEnv
	}
	line += t.Programs.flags()
	if t.Tries != DefaultTries(t.World) {
		line += fmt.Sprintf(" --tries %d", t.Tries)
	}
	return line
}

// facts are the settings that all variants share and a reader wants first.
func facts(variants []subject) []string {
	list := verdict.Facts(variants[0].lockName(), &variants[0].Setup)
	for i := range variants {
		other := verdict.Facts(variants[i].lockName(), &variants[i].Setup)
		list = slices.DeleteFunc(list, func(fact string) bool { return !slices.Contains(other, fact) })
	}
	return list
}
