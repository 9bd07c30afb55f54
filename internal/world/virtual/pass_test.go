package virtual

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// TestPassingIsWaiting: where time is moved on at once, the history is what it is where
// each message and each sleep waits for its event. A timer that does nothing, due more
// often than any message takes, keeps time from being moved on.
func TestPassingIsWaiting(t *testing.T) {
	list := append(scenariotest.OnModels(t),
		parsed(t, "name: timeouts\nlock: {algorithm: redlock, node_timeout: 450us}\nworkload: {clients: 3, sections: 2}\n"))
	const often = leastDelay / 2
	seeds := uint64(suite.Amount(t, 3, 1))
	for _, s := range list {
		for _, v := range s.Variants {
			for seed := range seeds {
				rang := 0
				act := func(timer bool) []byte {
					var history bytes.Buffer
					_, err := runner.Run(runner.Config{Scenario: s.Name,
						Variant: v, Seed: seed, World: "virtual", Started: time.Unix(0, 0), History: &history,
						Open: func(spec world.Spec) (world.World, error) {
							w, err := Open(context.Background(), spec)
							var again func()
							again = func() { rang++; w.s.after(often, again) }
							if timer {
								again()
							}
							return w, err
						}})
					if err != nil {
						t.Fatal(err)
					}
					return history.Bytes()
				}
				if one, other := act(false), act(true); !bytes.Equal(one, other) {
					t.Fatalf("%s, %s, seed %d: two histories\n%s\n%s", s.Name, v.Name, seed, one, other)
				}
				if rang < 50 { // the shortest runs last for less than 100 messages
					t.Errorf("%s: the timer rang %d times", s.Name, rang)
				}
			}
		}
	}
}

func parsed(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
