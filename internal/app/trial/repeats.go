package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual/guests"
)

// twoClients is the scenario of Repeats, and of the trial before in Anew.
const twoClients = `
name: repeats
nodes: {count: 1}
lock: {algorithm: set-nx-px, ttl: %v, node_timeout: 500ms}
workload: {clients: 2, sections: 3, start: together, think: 10ms}
variants:
  released: {}
  forgotten: {workload: {leave: forgotten}}
`

// Repeats makes a run of a lock program in virtual time, twice with one seed: two clients with three sections each on one server. It says
// in what the two differ; empty: in nothing.
func Repeats(ctx context.Context, command []string, ready *program.Ready, ttl time.Duration, redis string) (difference string, err error) {
	t, one, err := forRepeats(ctx, command, ready, ttl, redis)
	if err != nil {
		return "", err
	}
	c := t.config(one, t.Seed)
	if c.Dir, err = os.MkdirTemp("", "sim-repeats-"); err != nil {
		return "", err
	}
	_, first, err := t.twice(ctx, one, c)
	if first != nil {
		difference = fmt.Sprintf("two runs with seed %d differ: %s", c.Seed, inOneLine(first))
	}
	return difference, errors.Join(err, os.RemoveAll(c.Dir))
}

func inOneLine(d *history.Difference) string { return strings.ReplaceAll(d.String(), "\n", ", ") }

// forRepeats prepares the runs of a program in virtual time that are to be compared.
func forRepeats(ctx context.Context, command []string, ready *program.Ready, ttl time.Duration, redis string) (*trial, *subject, error) {
	s, err := scenario.Parse("repeats.yaml", fmt.Appendf(nil, twoClients, ttl))
	if err != nil {
		return nil, nil, err
	}
	own := &scenario.StandIn{Program: &lock.Program{Command: command}, Ready: *ready}
	own.Ready.AllClocks, own.Ready.AllServers = true, true
	p := &Programs{own: own, world: request.Virtual, ready: map[string]*program.Ready{started(own.Program): &own.Ready}}
	t := &trial{Scenario: s, subjects: p.subjects(s, server.Process),
		Options: Options{World: request.Virtual, Redis: redis, Programs: p, Seed: 1}}
	if err := t.prepareVirtual(ctx); err != nil {
		return nil, nil, err
	}
	one := &t.subjects[0]
	if one.notApplicable != "" {
		return nil, nil, &world.Unknown{Why: one.notApplicable}
	}
	return t, one, nil
}

// closely is by how much times may be apart in Anew: interpreters let a step of time pass when they compile, or collect garbage.
const closely = 100 * time.Microsecond

// Anew makes the run of Repeats with a lock program that had another trial before, and with one that was just started. It says in what the
// two differ; empty: at most in the values of owners, and in times, which are so far apart. In the trial before, a program that keeps
// nothing by itself is not told to give its locks back.
func Anew(ctx context.Context, command []string, ready *program.Ready, ttl time.Duration, redis string,
) (difference string, apart time.Duration, err error) {
	t, one, err := forRepeats(ctx, command, ready, ttl, redis)
	if err != nil {
		return "", 0, err
	}
	kept := guests.NewKeeper(ctx, t.guests(one, ""))
	before := one
	if !ready.Keeps() {
		before = &t.subjects[1]
	}
	run := func(of *subject, seed uint64, open func(world.Spec) (world.World, error)) []byte {
		var text bytes.Buffer
		c := t.config(of, seed)
		c.Open, c.History = open, &text
		if err == nil {
			_, err = runner.Run(c)
		}
		return text.Bytes()
	}
	again := func(spec world.Spec) (world.World, error) { return kept.Open(ctx, spec) }
	run(before, t.Seed+1, again)
	second := run(one, t.Seed, again)
	first := run(one, t.Seed, func(spec world.Spec) (world.World, error) { return guests.Open(ctx, spec, t.guests(one, "")) })
	if err = errors.Join(err, kept.Close()); err != nil {
		return "", 0, err
	}
	if why := kept.NotAgain(); why != "" {
		return "it was not used for another trial: " + why, 0, nil
	}
	apart, differ, err := guests.Alike(first, second)
	switch {
	case err != nil:
		return "", 0, err
	case differ != nil:
		return "its second trial differs from that of a program that was just started: " + inOneLine(differ), 0, nil
	case apart > closely:
		return fmt.Sprintf("in its second trial times differ by up to %v from those of a program that was just started", apart), 0, nil
	}
	return "", apart, nil
}
