//go:build linux && amd64

package virtual_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/node/nodetest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual"
	"github.com/redlock-sim/redlock-sim/internal/world/virtual/guests"
)

// The model of Redis is held against a real server in virtual time: both get the same commands at the same instants, and what
// happens to their hosts happens to both. Nothing is tolerated but what docs/internals/virtual-world.md lists.

// TestModelIsRedis puts random steps to both: commands, and what happens to the hosts. RANDOM_SEED says which.
func TestModelIsRedis(t *testing.T) {
	holdsAgainst(t, realServer(t), command.Server{})
}

// TestModelIsValkey does so with what locks use of Valkey, and Redis 7.0 has not.
func TestModelIsValkey(t *testing.T) {
	realServer(t)
	holdsAgainst(t, suite.Server(t, "valkey-9.1"), command.Server{Valkey: true, Major: 9, Minor: 1})
}

// holdsAgainst holds the model against a server; as says what is asked of both beside what Redis 7.0 knows, and nothing for Redis 7.0.
func holdsAgainst(t *testing.T, server string, as command.Server) {
	t.Helper()
	steps, seed := suite.Amount(t, 2000, 300), randomSeed(t)
	began, made, trials, differences, of := time.Now(), 0, 0, 0, make(map[string]int)
	for ; made < steps && differences < 3; trials++ {
		tr := newTrial(seed, trials, as)
		made += len(tr.steps)
		for i := range tr.steps {
			of[tr.steps[i].kind()]++
		}
		if differs := tr.differs(t, server); differs != "" {
			differences++
			small := tr.shrunk(t, server)
			t.Errorf("after %d steps: %s\n%s", made, differs, small.transcript(t, server))
		}
	}
	t.Logf("%d steps in %d trials, %d of which differ, in %.1f s: %v", made, trials, differences, time.Since(began).Seconds(), of)
}

// randomSeed reads RANDOM_SEED.
func randomSeed(t *testing.T) uint64 {
	s := os.Getenv("RANDOM_SEED")
	if s == "" {
		return 1
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLuaIsRedis puts scripts to both whose answers show how values become others, and what a script finds.
func TestLuaIsRedis(t *testing.T) {
	tr := kinds[0]
	for _, text := range nodetest.LuaTexts {
		for conn := range builtIn {
			tr.steps = append(tr.steps, step{gap: grain, conn: conn, words: []string{"EVAL", text, "1", "h", "arg"}})
		}
	}
	if differs := tr.differs(t, realServer(t)); differs != "" {
		t.Error(differs)
	}
}

func realServer(t testing.TB) string {
	t.Helper()
	if err := guests.Available(); err != nil {
		suite.Lacks(t, err.Error())
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		suite.Lacks(t, "redis-server")
	}
	return path
}

// trial is a sequence of steps on nodes.
type trial struct {
	seed  uint64
	nodes []world.Node
	// replicated: the first node is the primary of the others.
	replicated bool
	// watched: a client asks for each key in the millisecond in which it has run out, so that it is the same to both when somebody
	// is told of that. A server that does not keep its data removes such keys ten times a second.
	watched bool
	// as is the server in whose stead the model answers; zero: Redis 7.0.
	as    command.Server
	steps []step
}

// kinds of trials: the ways of persistence, with and without somebody who sees when keys run out, and replicas.
var kinds = []trial{
	{nodes: []world.Node{{Name: "A"}}},
	{nodes: []world.Node{{Name: "A"}}, watched: true},
	{nodes: []world.Node{{Name: "A", Persistence: world.RDB}}},
	{nodes: []world.Node{{Name: "A", Persistence: world.AOFNo}}},
	{nodes: []world.Node{{Name: "A", Persistence: world.AOFEverysec}}},
	{nodes: []world.Node{{Name: "A", Persistence: world.AOFAlways}}},
	{nodes: []world.Node{{Name: "A"}, {Name: "B"}, {Name: "C"}}, replicated: true},
}

func newTrial(seed uint64, number int, as command.Server) *trial {
	tr := kinds[number%len(kinds)]
	if p := tr.nodes[0].Persistence; as.Valkey && (p == world.RDB || p == world.AOFEverysec) {
		tr = kinds[3] // when Valkey saves or syncs is not modelled
	}
	tr.as = as
	d := &drawer{Rand: rand.New(rand.NewPCG(seed, uint64(number))), trial: &tr}
	tr.seed = d.Uint64()
	if tr.watched && !as.Valkey && d.IntN(2) == 0 { // Valkey answers first, and tells then
		tr.steps = toldOfChanges()
	}
	for range 60 {
		tr.steps = append(tr.steps, d.step())
	}
	return &tr
}

// spec is the world of the trial.
func (tr *trial) spec() world.Spec {
	s := world.Spec{Name: "model-check", Seed: tr.seed, Nodes: tr.nodes, Replicated: tr.replicated, Lock: lock.Config{Key: "nobody's"}}
	if tr.nodes[0].Persistence.AppendOnly() {
		s.Needs = []world.Power{world.TearPower}
	}
	return s
}

// checked is a world in which a trial is made.
type checked interface {
	world.World
	Direct(node string, as command.Server, unknown func(string)) *virtual.Direct
	WallZero() time.Duration
}

// differs makes the trial on both, and says where they differ first; empty: they do not.
func (tr *trial) differs(t *testing.T, server string) string {
	t.Helper()
	a, b := tr.both(t, server)
	return firstDifference(a, b)
}

func firstDifference(a, b []observed) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Sprintf("%s, and no more of the model", b[i])
		case i >= len(b):
			return fmt.Sprintf("%s of the model, and no more of the server", a[i])
		case a[i] != b[i]:
			return fmt.Sprintf("the model: %s, the server: %s", a[i], b[i])
		}
	}
	return ""
}

// both makes the trial on both.
func (tr *trial) both(t *testing.T, server string) (onModel, onServer []observed) {
	t.Helper()
	began := virtual.Begins(ptr(tr.spec()))
	m := tr.onModel(t, began)
	s := &session{trial: tr, touches: m.touches, gaps: m.gaps}
	w, err := guests.Open(context.Background(), tr.spec(), guests.Options{Server: server})
	if err != nil {
		t.Fatal(err)
	}
	if s.run(t, w.(checked)); s.wallZero != began {
		m = tr.onModel(t, s.wallZero) // the servers needed longer to get ready
	}
	return m.seen, s.seen
}

func ptr[T any](v T) *T { return &v }

func (tr *trial) onModel(t *testing.T, wallZero time.Duration) *session {
	t.Helper()
	e := &virtual.Engine{}
	defer e.Close()
	w, err := e.Open(context.Background(), tr.spec())
	if err != nil {
		t.Fatal(err)
	}
	w.SetWallZero(wallZero)
	s := &session{trial: tr, model: w}
	s.run(t, w)
	return s
}

// shrunk leaves out what is not needed for a difference.
func (tr *trial) shrunk(t *testing.T, server string) *trial {
	t.Helper()
	small, deadline := *tr, time.Now().Add(time.Minute)
	for size := len(small.steps) / 2; size > 0; {
		removed := false
		for from := 0; from < len(small.steps) && time.Now().Before(deadline); {
			try := small
			try.steps = slices.Delete(slices.Clone(small.steps), from, min(from+size, len(small.steps)))
			if try.differs(t, server) != "" {
				small, removed = try, true
			} else {
				from += size
			}
		}
		if !removed || size > len(small.steps) {
			size /= 2
		}
	}
	return &small
}

// transcript shows both.
func (tr *trial) transcript(t *testing.T, server string) string {
	t.Helper()
	a, b := tr.both(t, server)
	var text strings.Builder
	fmt.Fprintf(&text, "nodes %v, replicated %v, watched %v, from %v\n", tr.nodes, tr.replicated, tr.watched, virtual.Begins(ptr(tr.spec())))
	for i := range max(len(a), len(b)) {
		switch {
		case i < len(a) && i < len(b) && a[i] == b[i]:
			fmt.Fprintf(&text, "  %s\n", a[i])
			continue
		case i < len(a):
			fmt.Fprintf(&text, "- %s (the model)\n", a[i])
		}
		if i < len(b) {
			fmt.Fprintf(&text, "+ %s (the server)\n", b[i])
		}
		if i < len(a) && i < len(b) && a[i].what != b[i].what {
			break
		}
	}
	return text.String()
}
