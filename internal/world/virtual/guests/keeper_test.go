//go:build linux && amd64

package guests

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// newKeeper makes one that must end well.
func newKeeper(t *testing.T, o Options) *Keeper {
	t.Helper()
	k := NewKeeper(context.Background(), o)
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// TestKeptServers: a run on kept servers has the same history as one with all afresh.
func TestKeptServers(t *testing.T) {
	k := newKeeper(t, Options{Server: redis(t)})
	compareKept(t, k, scenarios(t, chosen), nil, exact, 10)
	if k.left == 0 {
		t.Error("no server was kept")
	}
}

// TestKeptWhateverIsOnDisk: a server stays, too, if what it has on its disk does not depend on when it writes that.
func TestKeptWhateverIsOnDisk(t *testing.T) {
	for persistence, kept := range map[string]bool{"none": true, "aof-no": true, "aof-always": true, "aof-everysec": false, "rdb": false} {
		text := "name: kept\nlock: {algorithm: redlock}\nnodes: {count: 3, persistence: " + persistence + "}\n"
		s, err := scenario.Parse("kept.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		k := newKeeper(t, Options{Server: redis(t)})
		const runs = 3
		for seed := range uint64(runs) {
			if _, _, err := (&try{scenario: s.Name, variant: s.Variants[0], seed: seed, options: k.o, keeper: k}).run(); err != nil {
				t.Fatal(err)
			}
		}
		want := 0
		if kept {
			want = 3 * runs
		}
		if got := k.left - runs; got != want { // the resource is one more
			t.Errorf("%s: %d servers of nodes were kept, not %d", persistence, got, want)
		}
	}
}

// keepsPrograms are scenarios in which clients are paused, killed and started again, or extend their lock, and others in which lock
// programs can stay.
var keepsPrograms = append([]string{"gc-pause", "extended-too-late"}, programScenarios...)

// drawn are scenarios in which a client is killed and started again, its machine's clocks are set, or locks are not given back, as a
// search draws them.
func drawn(t *testing.T) (list []*scenario.Scenario) {
	t.Helper()
	for name, what := range map[string]string{
		"killed":    "}\nfaults: [{on: {client: c1, point: acquired}, kill: {client: c1, for: 200ms}}]",
		"back":      "}\nfaults: [{on: {client: c1, point: acquired}, clock: {client: c1, which: wall, jump: -1h}}]",
		"forward":   "}\nfaults: [{on: {client: c1, point: acquired}, clock: {client: c1, which: wall, jump: 1h}}]",
		"slow":      "}\nfaults: [{on: {client: c1, point: acquired}, clock: {client: c1, which: monotonic, rate: 0.25}}]",
		"forgotten": ", leave: forgotten}",
		"held":      ", leave: held}",
	} {
		text := "name: drawn-" + name + "\nlock: {algorithm: set-nx-px, ttl: 2s, retry: {attempts: 100, delay: 100ms}}\nnodes: {count: 1}\n" +
			"workload: {clients: 2, sections: 3" + what + "\n"
		s, err := scenario.Parse(name+".yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

func exact(one, other []byte) bool { return bytes.Equal(one, other) }

// nearly lets owners have other names, and times differ a little.
func nearly(most time.Duration) func(one, other []byte) bool {
	return func(one, other []byte) bool {
		apart, differs, err := Alike(one, other)
		return differs == nil && err == nil && apart <= most
	}
}

// TestKeptPrograms: so has a run with kept lock programs. In redis-py, libuuid makes the values, half of which a process draws once;
// Node.js makes them from randomness of its own, and a step of time passes when it collects garbage.
func TestKeptPrograms(t *testing.T) {
	o := Options{Server: redis(t), Programs: true}
	for name, p := range map[string]struct {
		command func(testing.TB) []string
		alike   func(one, other []byte) bool
		seeds   int // in make test-all: fewer where an interpreter starts for each
	}{
		"well": {itself(well), exact, 20}, "redsync": {redsync, exact, 20},
		"redislock": {of("bin/adapters/redislock"), exact, 20}, "redis-py": {redisPy, nearly(0), 7},
		"node-redis":   {of("adapters/node-redis/node_redis.mjs"), nearly(20 * time.Microsecond), 5},
		"ruby-redis":   {of("adapters/ruby-redis/ruby_redis.rb"), exact, 7},
		"symfony-lock": {of("adapters/symfony-lock/symfony_lock.php"), exact, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeeper(t, o)
			compareKept(t, k, append(scenarios(t, keepsPrograms), drawn(t)...), standIn(t, p.command(t)), p.alike, p.seeds)
			if k.waited == 0 || k.left == 0 || k.again > 0 {
				t.Errorf("%d programs and %d servers were kept; %d had to be started again: %s", k.waited, k.left, k.again, k.why)
			}
		})
	}
}

// TestKeptWithGrants: a program that renews nothing stays, too, if it was never told to give a lock back.
func TestKeptWithGrants(t *testing.T) {
	own := standIn(t, itself(well)(t))
	k := newKeeper(t, Options{Server: redis(t), Programs: true})
	const runs = 3
	text := "name: kept\nlock: {algorithm: set-nx-px, ttl: 2s}\nnodes: {count: 1}\nworkload: {clients: 1, sections: 1, leave: forgotten}\n"
	s, err := scenario.Parse("kept.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(runs) {
		a := &try{scenario: s.Name, variant: s.Variants[0].With(own), seed: seed, program: &own.Ready, options: k.o, keeper: k}
		if _, _, err := a.run(); err != nil {
			t.Fatal(err)
		}
	}
	if k.waited != runs || k.stopped > 0 {
		t.Errorf("%d programs were kept, %d were not", k.waited, k.stopped)
	}
}

// itself is the command of a lock program of the tests.
func itself(kind string) func(testing.TB) []string {
	return func(t testing.TB) []string {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		return []string{self, asLockProgram, kind}
	}
}

// of is a lock program of adapters/.
func of(command string) func(testing.TB) []string {
	return func(t testing.TB) []string { return commandOf(t, library{Command: command}) }
}

var (
	redsync = of("bin/adapters/redsync")
	redisPy = of("adapters/redis-py/redis_py.py")
)

// compareKept makes each run afresh and on what a Keeper has kept of the runs before, and compares the histories.
func compareKept(
	t *testing.T, k *Keeper, list []*scenario.Scenario, own *scenario.StandIn, alike func(one, other []byte) bool, all int,
) {
	t.Helper()
	seeds := uint64(suite.Amount(t, all, 2))
	if n, err := strconv.ParseUint(os.Getenv("RANDOM_HISTORIES"), 10, 64); err == nil {
		seeds = n
	}
	var of *program.Ready
	for _, s := range list {
		for _, v := range s.Variants {
			if own != nil && own.NotApplicable(&v.Setup) != "" {
				continue
			}
			if own != nil {
				v, of = v.With(own), &own.Ready
			}
			spec := runner.Spec(runner.Config{Variant: v, Program: of})
			if Refusal(&spec, k.o) != "" {
				continue
			}
			for seed := range seeds {
				fresh := &try{scenario: s.Name, variant: v, seed: seed, program: of, options: k.o}
				kept := *fresh
				kept.keeper = k
				_, want, err := fresh.run()
				if err != nil {
					t.Fatalf("%s, %s, seed %d: %v", s.Name, v.Name, seed, err)
				}
				_, got, err := kept.run()
				if err != nil {
					t.Fatalf("%s, %s, seed %d, kept: %v", s.Name, v.Name, seed, err)
				}
				if !alike(want, got) {
					t.Errorf("%s, %s, seed %d: two histories: %s", s.Name, v.Name, seed, difference(want, got))
				}
			}
		}
	}
	t.Logf("%d servers were kept, %d were not; %d programs were kept, %d were not", k.left, k.ended, k.waited, k.stopped)
}

// TestSites: lock programs go from servers that are arranged in one way to others, and back; servers stay where they are, as long as
// there are not too many of them. The history is that with all started afresh.
func TestSites(t *testing.T) {
	o := Options{Server: redis(t), Programs: true}
	own := standIn(t, itself(well)(t))
	k := newKeeper(t, o)
	rounds := func(k *Keeper, times int, own *scenario.StandIn, nodes ...string) {
		for range times {
			for _, n := range nodes {
				s, err := scenario.Parse("sites.yaml", []byte("name: sites\nlock: {algorithm: redlock}\nnodes: "+n+"\nworkload: {sections: 1}\n"))
				if err != nil {
					t.Fatal(err)
				}
				a := &try{scenario: s.Name, variant: s.Variants[0], seed: 7, options: k.o}
				if own != nil {
					a.variant, a.program = a.variant.With(own), &own.Ready
				}
				_, want, err := a.run()
				if err != nil {
					t.Fatal(err)
				}
				a.keeper = k
				if _, got, err := a.run(); err != nil || !bytes.Equal(want, got) {
					t.Errorf("%s: %v, two histories: %s", n, err, difference(want, got))
				}
			}
		}
	}
	rounds(k, 2, own, "{count: 1}", "{count: 1, persistence: aof-always}", "{count: 1, persistence: rdb}")
	if clients := len(k.machines.clients); k.waited != 6*clients || k.stopped > 0 || len(k.machines.sites) != 3 || k.ended != 2 {
		t.Errorf("%d programs were kept, %d were not; there are %d sites, %d servers were not kept", k.waited, k.stopped,
			len(k.machines.sites), k.ended)
	}
	k = newKeeper(t, Options{Server: redis(t)})
	var many []string
	for n := range mostSites + 1 {
		many = append(many, fmt.Sprintf("{count: %d}", n+1))
	}
	rounds(k, 1, nil, many...)
	if n := len(k.machines.sites); n != mostSites {
		t.Errorf("there are %d sites", n)
	}
	rounds(k, 1, nil, many[0])
}

// TestKeepers: of runs side by side each has machines of its own, which go from run to run; the history is that with all started afresh.
func TestKeepers(t *testing.T) {
	o := Options{Server: redis(t), Programs: true}
	own := standIn(t, itself(well)(t))
	k := NewKeepers(context.Background())
	defer func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}()
	run := func(a *try, open func(world.Spec) (world.World, error)) []byte {
		var history bytes.Buffer
		c := runner.Config{Scenario: a.scenario, Variant: a.variant, Seed: a.seed, World: "virtual", Started: time.Unix(0, 0),
			Program: a.program, History: &history, Open: open}
		if _, err := runner.Run(c); err != nil {
			t.Errorf("%s, seed %d: %v", a.scenario, a.seed, err)
		}
		return history.Bytes()
	}
	const workers, rounds = 3, 3
	list := scenarios(t, []string{"set-nx-px", "dead-holder"})
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for round := range rounds {
				for _, s := range list {
					a := &try{scenario: s.Name, variant: s.Variants[0].With(own), seed: uint64(worker + round), program: &own.Ready}
					want := run(a, func(spec world.Spec) (world.World, error) { return Open(t.Context(), spec, o) })
					got := run(a, func(spec world.Spec) (world.World, error) { return k.Open(t.Context(), spec, o) })
					if !bytes.Equal(want, got) {
						t.Errorf("%s, seed %d: two histories: %s", a.scenario, a.seed, difference(want, got))
					}
				}
			}
		})
	}
	wg.Wait()
	left := 0
	for _, one := range k.idle {
		left += one.left
	}
	if n := len(k.idle); n == 0 || n > 2*workers || left < 2*2*workers*(rounds-1) {
		t.Errorf("%d keepers have kept %d servers", n, left)
	}
}

// TestKeepersAreFew: the keepers that were not used for longest end.
func TestKeepersAreFew(t *testing.T) {
	k := NewKeepers(t.Context())
	for i := range mostIdle + 2 {
		k.give(k.take(strconv.Itoa(i)))
	}
	k.give(k.take("2"))
	k.give(k.take("0"))
	var all []string
	for _, one := range k.idle {
		all = append(all, one.fits)
	}
	if len(all) != mostIdle || all[mostIdle-1] != "0" || all[mostIdle-2] != "2" || slices.Contains(all, "3") {
		t.Errorf("there are %q", all)
	}
}

// TestProgramsThatCannotGoOn: whatever goes wrong when a program is to be set up again, another one takes its place.
func TestProgramsThatCannotGoOn(t *testing.T) {
	o := Options{Server: redis(t), Programs: true}
	s := scenarios(t, []string{"set-nx-px"})[0]
	for _, kind := range slices.Sorted(maps.Keys(cannotGoOn)) {
		t.Run(kind, func(t *testing.T) {
			v, _ := withProgram(t, s.Variants[0], kind)
			k := newKeeper(t, o)
			for seed := range uint64(3) {
				a := &try{scenario: s.Name, variant: v, seed: seed, program: &describes, options: o, keeper: k}
				out, _, err := a.run()
				if err != nil || out.TimedOut {
					t.Fatalf("seed %d: timed out %v, %v", seed, out.TimedOut, err)
				}
				for _, f := range a.findings(out) {
					if a.variant.Expected(f.Property) != f.Verdict {
						t.Errorf("seed %d: %s: %v, %s", seed, f.Property, f.Verdict, f.Why)
					}
				}
			}
			if strings.HasPrefix(kind, "again") && k.again != 4 || strings.HasPrefix(kind, "setup") && k.waited > 0 {
				t.Errorf("%d programs were kept, %d were not, %d were started anew", k.waited, k.stopped, k.again)
			}
			if k.NotAgain() == "" {
				t.Error("nobody says why")
			}
		})
	}
}
