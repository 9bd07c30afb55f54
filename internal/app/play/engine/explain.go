package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/redlock-sim/redlock-sim/internal/app/explain"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
)

// Explained says from which event on a violation was certain, in a sentence, and what that rests on.
type Explained struct {
	Lead  string `json:"lead"`
	Basis string `json:"basis"`
}

// How many reruns a page makes: fewer than sim explain, for somebody waits. Of a long run they begin at few events.
const (
	pageReruns, pageFew     = 20, 5
	mostEvents, leastEvents = 60, 12
	eventsTold              = 30_000
)

// explainer remembers the latest explanation: a picture is drawn again whenever its window moves.
type explainer struct {
	mu  sync.Mutex
	key string
	of  *report.Explanation
}

var latest explainer

// explain explains what a variant violates, if it violates anything.
func (e *explainer) explain(ctx context.Context, s *scenario.Scenario, v *report.Variant, seed uint64) (*report.Explanation, error) {
	if v.Pictured() == nil {
		return nil, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	key := fmt.Sprint(seed, " ", v.Name, "\n", s.Text)
	if e.key == key {
		return e.of, nil
	}
	x, err := explain.Run(ctx, s, v, explain.Options{Seed: seed, Reruns: pageReruns, Few: pageFew,
		Events: min(mostEvents, max(leastEvents, eventsTold/len(v.History.Events)))})
	if err == nil {
		e.key, e.of = key, x
	}
	return x, err
}
