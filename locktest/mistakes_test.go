package locktest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// mistakes are those of package lock, and the tests that find them: the algorithm, the nodes,
// the property, and the kinds of faults where not all are needed.
var mistakes = map[string]struct {
	algorithm string
	nodes     int
	property  Property
	kinds     []Kind
	ttl       time.Duration
}{
	"quorum":              {"redlock", 3, ExclusiveLease, nil, 0},
	"recheck_elapsed":     {"redlock", 3, ExclusiveLease, nil, 0},
	"release":             {"redlock", 1, ExclusiveLease, nil, 0},
	"extend":              {"redlock-extend", 1, NoResurrection, []Kind{HoldMessage, Hold, Pause, Stall}, 0},
	"extend_needs_quorum": {"redlock-extend", 3, ExclusiveLease, []Kind{HoldMessage, Hold, Pause, Cut, Stall}, 0},
	// Its faults last longer than the bound, a TTL and 2 s.
	"node_error":    {"redlock", 3, MinorityTolerant, []Kind{Pause, Kill, Stall, Hold}, 4 * time.Second},
	"value":         {"redlock", 1, ExclusiveLease, []Kind{HoldMessage, Hold, Stall}, 0},
	"bounded_wait":  {"redlock", 3, MinorityTolerant, []Kind{Pause, Stall, Hold}, 4 * time.Second},
	"stop_renewal":  {"redlock-extend", 1, NoOrphanLock, nil, 0},
	"renewal":       {"redlock-extend", 1, StaysHeld, nil, 0},
	"renewal_keeps": {"redlock-extend", 1, ExclusiveLease, nil, 0},
	"renewal_ttl":   {"redlock-extend", 1, ExclusiveLease, nil, 0},
	// It takes the key of the next holder.
	"renewal_compares": {"redlock-extend", 1, OwnerRelease, []Kind{HoldMessage, Hold, Pause, Stall}, 0},
	"clean_up":         {"redlock", 3, DeadlockFree, nil, 0},
	"release_answer":   {"redlock", 3, ToldAtRelease, []Kind{Pause}, 0},
	"cancel":           {"set-nx-px", 1, NothingStays, []Kind{Cancel}, 0},
	// The node that keeps the lock counts the tokens, in a second step.
	"token_after_grant": {"set-nx-px", 1, OrderedTokens, nil, 0},
	"token_in_time":     {"set-nx-px", 1, HolderServed, []Kind{HoldMessage, Hold}, 300 * time.Millisecond},
}

// beyond are the mistakes that no run here can show, and why.
var beyond = map[string]string{
	"renewal_retries": "what a holder does beyond its validity is not looked at here",
	"own_thread":      "no client is busy in its own time",
	"release_at":      "the lock asks one node after the other here",
	"value_from":      "the time of day goes on from run to run here, so that none is the same again",
	"check_wait":      "there are no replicas",
	"renewal_ends":    "no server here knows SET with IFEQ",
	"redirections":    "there is no Redis Cluster",
	"extend_enough":   "the lock tells of no loss here",
	"permit_ends":     "no lock has permits here",
	"place_renewed":   "no lock is asked here whether it serves in order",
	"place_ends":      "no lock is asked here whether it serves in order",
	"asks_again":      "no server here knows BLPOP",
	"signal_stays":    "no server here knows BLPOP",
	"writer_waits":    "no lock has readers here",
	"reader_yields":   "no lock has readers here",
	"upgrade":         "no lock has readers here",
	"key_ends":        "no lock has readers here",
	"entries":         "no client asks again inside its section here",
	"holder":          "each client has a process of its own here",
	"give_up":         "the lock tries again for longer than others hold it",
}

// A lock that is renewed as it should be is kept, whatever faults strike it, in runs that put that to the test.
func TestRenewedLockStaysHeld(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		k := newKit(t, Config{Nodes: nodes, Properties: []Property{StaysHeld}}, openOurs(settings("redlock-extend")))
		k.what.First, k.what.Seeds = 1, uint64(suite.Amount(t, 100, 5))
		r, err := k.what.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if runs, drawn := r.JudgedOn(string(StaysHeld)); r.Violations() > 0 || 10*runs < drawn {
			t.Errorf("%d nodes: %d of %d runs put it to the test, %d violate it", nodes, runs, drawn, r.Violations())
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, s := range lock.Switches() {
		m, ok := mistakes[s.Name]
		if why := beyond[s.Name]; !ok && why != "" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			if !ok {
				t.Fatal("no test finds it")
			}
			k := newKit(t, Config{Nodes: m.nodes, Properties: []Property{m.property}, Kinds: m.kinds, TTL: m.ttl},
				openOurs(settings(m.algorithm, s.Name)))
			k.what.First, k.what.Seeds, k.what.StopAt = 1, 6_000, 1
			began := time.Now()
			r, err := k.what.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Log(k.line(&r, 1, time.Since(began)))
			if len(r.Found) == 0 {
				t.Fatalf("not found in %d runs", r.Runs)
			}
			repeatsBytes(t, k, r.Found[0])
		})
	}
}

// repeatsBytes makes the run of a find again: each time its history must be the same, to the byte.
func repeatsBytes(t *testing.T, k *kit, found explore.Found) {
	t.Helper()
	w := &written{engine: k.engine}
	again := k.what
	again.Place = func() explore.Place { return w }
	violated, err := again.Repeats(t.Context(), found, repeats)
	if err != nil {
		t.Fatal(err)
	}
	if same := slices.Compact(w.histories); violated != repeats || len(same) != 1 {
		t.Errorf("the run that found it violates %s in %d of %d runs, with %d different histories in a row",
			found.Property, violated, repeats, len(same))
	}
}

// written is a place that keeps what histories are on disk.
type written struct {
	*engine
	histories []string
}

// Run implements explore.Place.
func (w *written) Run(ctx context.Context, c runner.Config) (runner.Outcome, error) {
	out, err := w.engine.Run(ctx, c)
	var b strings.Builder
	if err == nil {
		err = history.Encode(&b, out.History)
	}
	w.histories = append(w.histories, b.String())
	return out, err
}
