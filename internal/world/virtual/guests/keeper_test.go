//go:build linux && amd64

package guests

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// TestKeptServers: a run on kept servers has the same history as one with all afresh.
func TestKeptServers(t *testing.T) {
	o := Options{Server: redis(t)}
	seeds := uint64(suite.Amount(t, 20, 3))
	if n, err := strconv.ParseUint(os.Getenv("RANDOM_HISTORIES"), 10, 64); err == nil {
		seeds = n
	}
	k := NewKeeper(context.Background(), o)
	defer func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, s := range scenarios(t, chosen) {
		for _, v := range s.Variants {
			spec := runner.Spec(runner.Config{Variant: v})
			if Refusal(&spec, o) != "" {
				continue
			}
			for seed := range seeds {
				fresh := &try{scenario: s.Name, variant: v, seed: seed, options: o}
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
				if !bytes.Equal(want, got) {
					t.Errorf("%s, %s, seed %d: two histories: %s", s.Name, v.Name, seed, difference(want, got))
				}
			}
		}
	}
	t.Logf("%d servers were kept, and %d were not", k.left, k.ended)
}
