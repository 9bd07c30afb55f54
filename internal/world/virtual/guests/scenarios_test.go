//go:build linux && amd64

package guests

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/checker"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
)

// TestScenariosAsWithModels makes the shipped scenarios with real servers, each twice with one seed. The verdicts are those that the file
// expects, and the histories are the same.
func TestScenariosAsWithModels(t *testing.T) {
	everyVariant(t, chosen, asExpected)
}

func asExpected(t *testing.T, a *try) {
	for _, f := range a.findings(a.twice(t)) {
		if want := a.variant.Expected(f.Property); f.Verdict != want {
			t.Errorf("seed %d: %s is %v, expected %v: %s", a.seed, f.Property, f.Verdict, want, f.Why)
		}
	}
}

// TestEveryServer makes scenarios in which each power over real servers is used with those of other versions, each run twice.
func TestEveryServer(t *testing.T) {
	redis(t)
	for _, version := range suite.Versions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			some := []string{"node-restart", "durability-power-cut", "failover-wait", "sentinel-failover", "set-ifeq", "delifeq", "hash-field",
				"power-cut-waitaof"}
			everyVariantOn(t, suite.Server(t, version), some, asExpected)
		})
	}
}

// TestHistoryIsWhatValkeyHas: what locks do with commands that Valkey alone has is seen as it is.
func TestHistoryIsWhatValkeyHas(t *testing.T) {
	redis(t)
	asked, present := 0, 0
	everyVariantOn(t, suite.Server(t, "valkey-9.1"), []string{"set-ifeq", "delifeq", "hash-field"}, func(t *testing.T, a *try) {
		o := overseeAlone(t, a)
		asked, present = asked+o.asked, present+o.present
	})
	if present < 50 {
		t.Errorf("the key was there only %d of %d times", present, asked)
	}
}

// TestUnfitServer: a server that does not know what the lock sends is told before the run, with the version that would.
func TestUnfitServer(t *testing.T) {
	server := redis(t)
	s := scenarios(t, []string{"delifeq"})[0]
	if s.Variants[0].Setup.Lock.RefusedBy(versionOf(t, server)) == "" {
		t.Skip("the server of this machine knows DELIFEQ")
	}
	_, _, err := (&try{scenario: s.Name, variant: s.Variants[0], seed: 1, options: Options{Server: server}}).run()
	if unfit := (*world.Unfit)(nil); !errors.As(err, &unfit) || !strings.HasPrefix(unfit.Why, "delifeq needs DELIFEQ (Valkey 9.0 or later)") {
		t.Errorf("the run ended with %v", err)
	}
}

// versionOf is what a server says of itself.
func versionOf(t *testing.T, server string) command.Server {
	t.Helper()
	said, err := exec.Command(server, "--version").Output() // "Valkey server v=9.1.2 sha=..."
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(string(said), " v=")
	if strings.HasPrefix(string(said), "Valkey") {
		return command.ParseServer("7.2", version)
	}
	return command.ParseServer(version, "")
}

// everyVariant runs a test with each variant that can be had with real servers: in the suite `all` of each scenario, else of some.
func everyVariant(t *testing.T, some []string, test func(t *testing.T, a *try)) {
	everyVariantOn(t, redis(t), some, test)
}

func everyVariantOn(t *testing.T, server string, some []string, test func(t *testing.T, a *try)) {
	if suite.Amount(t, 1, 0) > 0 {
		some = nil
	}
	version := versionOf(t, server)
	for _, s := range scenarios(t, some) {
		for i, v := range s.Variants {
			a := &try{scenario: s.Name, variant: v, seed: uint64(i + 1), options: Options{Server: server}}
			spec := runner.Spec(runner.Config{Variant: v})
			if spec.RefusedBy(version) != "" {
				continue
			}
			if why := Refusal(&spec, a.options); why != "" {
				t.Errorf("%s, %s: %s", s.Name, v.Name, why)
				continue
			}
			t.Run(s.Name+"/"+v.Name, func(t *testing.T) { test(t, a) })
		}
	}
}

// A replica may be promoted twice: the second time the other node follows it already, and says so.
func TestPromotesAgain(t *testing.T) {
	server := redis(t)
	s, err := scenario.Parse("", []byte(`name: again
lock: {algorithm: set-nx-px}
nodes: {topology: replicated, count: 2}
workload: {clients: 1, sections: 1, think: 1s}
faults: [{at: 0s, promote: {node: B}}, {at: 100ms, promote: {node: B}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	(&try{scenario: s.Name, variant: s.Variants[0], seed: 1, options: Options{Server: server}}).twice(t)
}

// TestPromotionsAgreeWithServers: after a promotion a replica asks for what it misses, and for a copy where it has what its new primary has
// not. The same happens to keys with models and with real servers, on each node.
func TestPromotionsAgreeWithServers(t *testing.T) {
	server := redis(t)
	s, err := scenario.Parse("", []byte(`name: promotions
lock: {algorithm: set-nx-px, ttl: 4s}
nodes: {topology: replicated, count: 3}
workload: {clients: 2, sections: 2, think: 300ms}
variants:
  nothing-missing:
    faults: [{on: {client: c1, point: acquired}, promote: {node: B}}]
  lacks-the-lock:
    faults: [{at: 0s, hold: {replica: B}}, {on: {client: c1, point: acquired}, promote: {node: B}}]
  the-primary-is-dead:
    faults: [{on: {client: c1, point: acquired}, kill: {node: A}}, {after: {fault: 1}, promote: {node: B}}]
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Variants {
		for seed := range uint64(suite.Amount(t, 20, 4)) {
			a := &try{scenario: s.Name, variant: v, seed: seed, options: Options{Server: server}}
			out, _, err := a.run()
			if err != nil {
				t.Fatal(err)
			}
			engine := virtual.Engine{Step: time.Microsecond}
			defer engine.Close()
			onModels, err := runner.Run(runner.Config{Scenario: s.Name, Variant: v, Seed: seed, World: "virtual",
				Open: func(spec world.Spec) (world.World, error) { return engine.Open(context.Background(), spec) }})
			if err != nil {
				t.Fatal(err)
			}
			if got := Compare(onModels.History, out.History, true); got.Differs != "" || got.Changes < 6 {
				t.Errorf("%s, seed %d: %+v", v.Name, seed, got)
			}
		}
	}
}

// TestModelsAgreeWithServers judges runs with models and with real servers, seed by seed.
func TestModelsAgreeWithServers(t *testing.T) {
	seeds := uint64(suite.Amount(t, 4, 1))
	everyVariant(t, []string{"gc-pause", "node-restart", "failover", "sentinel-failover", "one-node-clock-jump"}, func(t *testing.T, a *try) {
		for seed := range seeds {
			a.seed = 1000 + seed
			out, _, err := a.run()
			if err != nil {
				t.Fatalf("seed %d: %v", a.seed, err)
			}
			onModels, err := runner.Run(runner.Config{Scenario: a.scenario, Variant: a.variant, Seed: a.seed, World: "virtual",
				Open: func(spec world.Spec) (world.World, error) { return virtual.Open(context.Background(), spec) }})
			if err != nil {
				t.Fatalf("seed %d, models: %v", a.seed, err)
			}
			verdicts := make(map[checker.Property]checker.Verdict)
			for _, f := range a.findings(onModels) {
				verdicts[f.Property] = f.Verdict
			}
			for _, f := range a.findings(out) {
				if want := verdicts[f.Property]; f.Verdict != want {
					t.Errorf("seed %d: %s is %v with real servers, %v with models: %s", a.seed, f.Property, f.Verdict, want, f.Why)
				}
			}
		}
	})
}
