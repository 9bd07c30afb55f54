package campaign

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/riverqueue/river"

	"github.com/redlock-sim/redlock-sim/internal/app/shard"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// audited is an audit of a lock program in so many shards.
func audited(shards int64, digest string) Definition {
	return Definition{Real: &Real{Command: Audit, Lock: "ours", Digest: digest, Shards: shards, Nodes: "process"}}
}

// doer does shards by a function, with one lock program.
func doer(digest string, do func(ctx context.Context, s shard.Shard) (*Brought, error)) *Doer {
	return &Doer{Abilities: Abilities{Servers: true, Programs: map[string]string{"ours": digest}},
		Do: func(ctx context.Context, _ *Definition, s shard.Shard) (*Brought, error) { return do(ctx, s) }}
}

func workReal(tb testing.TB, s *Store, d *Doer) *Worker {
	tb.Helper()
	w, err := s.StartReal(context.Background(), d, func(err error) { tb.Log("trouble:", err) })
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(w.Stop)
	return w
}

// A shard is done by one worker at a time, one after the other, and counts once; its folder comes back as it was.
func TestShards(t *testing.T) {
	s := open(t, newDatabase(t), "build")
	var mu sync.Mutex
	atOnce := 0
	do := func(ctx context.Context, one shard.Shard) (*Brought, error) {
		mu.Lock()
		atOnce++
		n := atOnce
		mu.Unlock()
		defer func() { mu.Lock(); atOnce--; mu.Unlock() }()
		if n > 1 {
			return nil, fmt.Errorf("%d at once", n)
		}
		return &Brought{Packed: []byte(one.String()), Runs: 1, Violations: 1, Found: []explore.Class{{Name: "case", Runs: 1}}}, nil
	}
	id, err := s.Create(t.Context(), audited(5, "d1"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Create(t.Context(), Definition{Real: &Real{Command: Search, Lock: "redlock", Shards: 3}, Runs: 30})
	if err != nil {
		t.Fatal(err)
	}
	workReal(t, s, doer("d1", do))
	over(t, s, other)
	st := over(t, s, id)
	if st.State != Done || st.Runs != 5 || st.Target != 5 ||
		st.Unit != "shard" || st.Violations != 5 || len(st.Classes) != 1 || st.Classes[0].Runs != 5 {
		t.Errorf("%+v", st)
	}
	var parts []string
	if err := s.Shards(t.Context(), id, func(packed []byte) error { parts = append(parts, string(packed)); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"1/5", "2/5", "3/5", "4/5", "5/5"}; !slices.Equal(parts, want) {
		t.Errorf("shards %v, want %v", parts, want)
	}
}

// A worker gets only what it can carry out: another program of the same name is another lock.
func TestNeeds(t *testing.T) {
	s := open(t, newDatabase(t), "build")
	id, err := s.Create(t.Context(), audited(1, "d1"))
	if err != nil {
		t.Fatal(err)
	}
	done := func(context.Context, shard.Shard) (*Brought, error) {
		return &Brought{Packed: []byte("x"), Runs: 1}, nil
	}
	other := workReal(t, s, doer("d2", done))
	defer work(t, s, 1).Stop() // and one for the virtual world
	ours, err := s.Create(t.Context(), audited(1, "d2"))
	if err != nil {
		t.Fatal(err)
	}
	over(t, s, ours)
	st, err := s.Status(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if st.Runs != 0 || st.State != Running || st.Able {
		t.Errorf("it was worked on: %+v", st)
	}
	other.Stop()
	workReal(t, s, doer("d1", done))
	over(t, s, id)
}

// What goes wrong on one machine is done on another. What goes wrong everywhere ends the campaign.
func TestShardGoesWrong(t *testing.T) {
	s := open(t, newDatabase(t), "build")
	tried := make(chan bool, 100)
	workReal(t, s, doer("d1", func(context.Context, shard.Shard) (*Brought, error) {
		tried <- true
		return nil, errors.New("no ports are left")
	}))
	id, err := s.Create(t.Context(), audited(1, "d1"))
	if err != nil {
		t.Fatal(err)
	}
	suite.Receive(t, "the first try", tried)
	workReal(t, s, doer("d1", func(context.Context, shard.Shard) (*Brought, error) {
		return &Brought{Packed: []byte("x"), Runs: 1}, nil
	}))
	if st := over(t, s, id); st.State != Done {
		t.Errorf("%+v", st)
	}
	unfit, err := s.Create(t.Context(), audited(3, "d3"))
	if err != nil {
		t.Fatal(err)
	}
	workReal(t, s, doer("d3", func(context.Context, shard.Shard) (*Brought, error) { return nil, fmt.Errorf("%w: a flag", ErrUnfit) }))
	if st := over(t, s, unfit); st.State != Failed || !strings.Contains(st.Failure, "a flag") {
		t.Errorf("%+v", st)
	}
}

// A worker that is stopped gives its shard back, and one whose campaign is cancelled leaves it.
func TestShardEnds(t *testing.T) {
	s := open(t, newDatabase(t), "build")
	begun := make(chan bool, 10)
	long := func(ctx context.Context, _ shard.Shard) (*Brought, error) {
		begun <- true
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	id, err := s.Create(t.Context(), audited(1, "d1"))
	if err != nil {
		t.Fatal(err)
	}
	first := workReal(t, s, doer("d1", long))
	suite.Receive(t, "the begin of a shard", begun)
	first.Stop()
	workReal(t, s, doer("d1", long))
	suite.Receive(t, "the begin of a shard", begun)
	if err := s.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	next, err := s.Create(t.Context(), audited(1, "d1"))
	if err != nil {
		t.Fatal(err)
	}
	suite.Receive(t, "the begin of the next, for which the worker is free", begun)
	if err := s.Cancel(t.Context(), next); err != nil {
		t.Fatal(err)
	}
}

// A database cannot make a worker start what is not in the worker's own configuration.
func TestRealDefinitions(t *testing.T) {
	audit := func(change func(*Real)) Definition {
		d := audited(1, "d1")
		change(d.Real)
		return d
	}
	for name, d := range map[string]Definition{
		"a command":            audit(func(r *Real) { r.Lock, r.Digest = "sh -c 'rm -rf .'", "" }),
		"a command as a name":  audit(func(r *Real) { r.Lock = "sh -c x" }),
		"a path as a name":     audit(func(r *Real) { r.Lock = "../sh" }),
		"a lock of sim":        audit(func(r *Real) { r.Lock = "redlock" }),
		"no lock":              audit(func(r *Real) { r.Lock, r.Digest = "", "" }),
		"another command":      audit(func(r *Real) { r.Command = "serve" }),
		"external nodes":       audit(func(r *Real) { r.Nodes = "external" }),
		"no such guarantee":    audit(func(r *Real) { r.Guarantees = []string{"--x"} }),
		"too many shards":      audit(func(r *Real) { r.Shards = shard.MostShards + 1 }),
		"cases that are wrong": audit(func(r *Real) { r.Cases = "(" }),
		"a program of a scenario": {Real: &Real{Command: Search, Shards: 1}, Runs: 1, Variant: "default", File: "x.yaml",
			Scenario: "name: x\nlock: {program: {command: [sh]}, ttl: 1s}\nnodes: {count: 1}\nworkload: {clients: 1}\n"},
		"no runs": {Real: &Real{Command: Search, Lock: "redlock", Shards: 1}},
	} {
		if err := d.Check(); err == nil {
			t.Errorf("%s is not refused", name)
		} else {
			t.Log(name+":", err)
		}
	}
	good := Definition{Real: &Real{Command: Search, Lock: "redlock --switch quorum", Shards: 1}, Runs: 1}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
}

// A campaign may have more shards than are ever queued at once of others.
func TestManyShards(t *testing.T) {
	suite.All(t)
	s := open(t, newDatabase(t), "build")
	const shards = ahead + 2*perSlot
	id, err := s.Create(t.Context(), audited(shards, "d1"))
	if err != nil {
		t.Fatal(err)
	}
	workReal(t, s, doer("d1", func(context.Context, shard.Shard) (*Brought, error) {
		return &Brought{Packed: []byte("x"), Runs: 1}, nil
	}))
	if st := over(t, s, id); st.State != Done || st.Runs != shards {
		t.Errorf("%+v", st)
	}
}

// A job of the other kind than a worker's is refused, whatever put it there.
func TestShardForAWorkerOfTheVirtualWorld(t *testing.T) {
	s := open(t, newDatabase(t), "build")
	id, err := s.Create(t.Context(), definition(t, true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.insert.Insert(t.Context(), rangeArgs{Campaign: id, Range: 0, Real: true},
		&river.InsertOpts{Queue: queueOf("build", virtual)}); err != nil {
		t.Fatal(err)
	}
	told := make(chan error, 100)
	w, err := s.Start(t.Context(), 1, func(err error) { told <- err })
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	suite.Eventually(t, "the refusal", func() bool {
		err := suite.Receive(t, "a trouble of the worker", told)
		return err != nil && strings.Contains(err.Error(), "does no shards")
	})
}
