package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// twoClients is the scenario of Repeats.
const twoClients = `
name: repeats
nodes: {count: 1}
lock: {algorithm: set-nx-px, ttl: %v, node_timeout: 500ms}
workload: {clients: 2, sections: 3, start: together, think: 10ms}
expect: {exclusive-lease: anything}
`

// Repeats makes a run of a lock program in virtual time, twice with one seed: two clients with three sections each on one server. It says
// in what the two differ; empty: in nothing.
func Repeats(ctx context.Context, command []string, ready *program.Ready, ttl time.Duration, redis string) (difference string, err error) {
	s, err := scenario.Parse("repeats.yaml", fmt.Appendf(nil, twoClients, ttl))
	if err != nil {
		return "", err
	}
	own := &scenario.StandIn{Program: &lock.Program{Command: command}, Ready: *ready}
	own.Ready.AllClocks, own.Ready.AllServers = true, true
	p := &Programs{own: own, world: request.Virtual, ready: map[string]*program.Ready{started(own.Program): &own.Ready}}
	t := &trial{Scenario: s, subjects: p.subjects(s, server.Process),
		Options: Options{World: request.Virtual, Redis: redis, Programs: p, Seed: 1}}
	if err := t.prepareVirtual(ctx); err != nil {
		return "", err
	}
	one := &t.subjects[0]
	if one.notApplicable != "" {
		return "", &world.Unknown{Why: one.notApplicable}
	}
	c := t.config(one, t.Seed)
	if c.Dir, err = os.MkdirTemp("", "sim-repeats-"); err != nil {
		return "", err
	}
	_, first, err := t.twice(ctx, one, c)
	if first != nil {
		difference = fmt.Sprintf("two runs with seed %d differ: %s", c.Seed, strings.ReplaceAll(first.String(), "\n", ", "))
	}
	return difference, errors.Join(err, os.RemoveAll(c.Dir))
}
