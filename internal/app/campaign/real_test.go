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

	"github.com/redlock-sim/redlock-sim/internal/app/request"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// audited is an audit of a lock program in so many shards.
func audited(shards int64, digest string) Definition {
	return Definition{Digest: digest, Shards: shards,
		Request: request.Of(&request.Audit{World: request.Live, Locks: []string{"ours"}, Nodes: "process"})}
}

// searchedLive is a search among real servers with a lock of sim, in so many shards.
func searchedLive(lock string, shards int64, runs uint64) Definition {
	return Definition{Shards: shards, Request: request.Of(&request.Search{World: request.Live, Lock: lock, Seeds: runs})}
}

// doer does shards by a function, with one lock program.
func doer(digest string, do func(ctx context.Context, s request.Shard) (*Brought, error)) *Doer {
	return &Doer{Abilities: Abilities{Servers: true, Programs: map[string]string{"ours": digest}},
		Do: func(ctx context.Context, _ *Definition, s request.Shard) (*Brought, error) { return do(ctx, s) }}
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
	do := func(ctx context.Context, one request.Shard) (*Brought, error) {
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
	other, err := s.Create(t.Context(), searchedLive("redlock", 3, 30))
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
	done := func(context.Context, request.Shard) (*Brought, error) {
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
	workReal(t, s, doer("d1", func(context.Context, request.Shard) (*Brought, error) {
		tried <- true
		return nil, errors.New("no ports are left")
	}))
	id, err := s.Create(t.Context(), audited(1, "d1"))
	if err != nil {
		t.Fatal(err)
	}
	suite.Receive(t, "the first try", tried)
	workReal(t, s, doer("d1", func(context.Context, request.Shard) (*Brought, error) {
		return &Brought{Packed: []byte("x"), Runs: 1}, nil
	}))
	if st := over(t, s, id); st.State != Done {
		t.Errorf("%+v", st)
	}
	unfit, err := s.Create(t.Context(), audited(3, "d3"))
	if err != nil {
		t.Fatal(err)
	}
	workReal(t, s, doer("d3", func(context.Context, request.Shard) (*Brought, error) { return nil, fmt.Errorf("%w: a flag", ErrUnfit) }))
	if st := over(t, s, unfit); st.State != Failed || !strings.Contains(st.Failure, "a flag") {
		t.Errorf("%+v", st)
	}
}

// A worker that is stopped gives its shard back, and one whose campaign is cancelled leaves it.
func TestShardEnds(t *testing.T) {
	s := open(t, newDatabase(t), "build")
	begun := make(chan bool, 10)
	long := func(ctx context.Context, _ request.Shard) (*Brought, error) {
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
	audit := func(change func(*Definition, *request.Audit)) Definition {
		d := audited(1, "d1")
		change(&d, d.Request.Audit)
		return d
	}
	for name, d := range map[string]Definition{
		"a command":            audit(func(d *Definition, r *request.Audit) { r.Locks[0], d.Digest = "sh -c 'rm -rf .'", "" }),
		"a command as a name":  audit(func(_ *Definition, r *request.Audit) { r.Locks[0] = "sh -c x" }),
		"a path as a name":     audit(func(_ *Definition, r *request.Audit) { r.Locks[0] = "../sh" }),
		"a lock of sim":        audit(func(_ *Definition, r *request.Audit) { r.Locks[0] = "redlock" }),
		"no lock":              audit(func(d *Definition, r *request.Audit) { r.Locks[0], d.Digest = "", "" }),
		"another command":      audit(func(d *Definition, _ *request.Audit) { d.Request = request.Of(&request.Sweep{}) }),
		"external nodes":       audit(func(_ *Definition, r *request.Audit) { r.Nodes = "external" }),
		"no such guarantee":    audit(func(_ *Definition, r *request.Audit) { r.Guarantees = []string{"--x"} }),
		"too many shards":      audit(func(d *Definition, _ *request.Audit) { d.Shards = request.MostShards + 1 }),
		"cases that are wrong": audit(func(_ *Definition, r *request.Audit) { r.Case = "(" }),
		"a program of a scenario": {Shards: 1, Request: request.Of(&request.Search{World: request.Live, Seeds: 1,
			Target: request.Target{Variant: "default", Scenario: "x.yaml"}}),
			Scenario: "name: x\nlock: {program: {command: [sh]}, ttl: 1s}\nnodes: {count: 1}\nworkload: {clients: 1}\n"},
		"a file of the worker": {Shards: 1, Request: request.Of(&request.Search{World: request.Live, Lock: "redlock", Seeds: 1,
			Target: request.Target{Scenario: "/etc/passwd"}})},
		"no runs": searchedLive("redlock", 1, 0),
	} {
		if err := d.Check(); err == nil {
			t.Errorf("%s is not refused", name)
		} else {
			t.Log(name+":", err)
		}
	}
	good := searchedLive("redlock --switch quorum", 1, 1)
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
	workReal(t, s, doer("d1", func(context.Context, request.Shard) (*Brought, error) {
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
