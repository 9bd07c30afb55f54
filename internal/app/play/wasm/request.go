// Command wasm is the engine of the playground as a browser runs it: page/worker.js starts it in a worker and sends it
// requests. Compiled for another machine, it answers one request: wasm METHOD < request.json
package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/app/play/engine"
	"github.com/redlock-sim/redlock-sim/internal/app/request"
)

// do carries out a request. What goes wrong inside becomes an error: the page says so, and lives on.
func do(ctx context.Context, method string, text []byte, tell func(any)) (answer any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the engine failed: %v", r)
		}
	}()
	switch method {
	case "offer":
		return engine.Offer()
	case "play":
		return with(text, func(e engine.Experiment) (any, error) { return engine.Play(ctx, e), nil })
	case "picture":
		return with(text, func(e engine.Experiment) (any, error) { return engine.Picture(ctx, e) })
	case "hashes":
		return with(text, func(e engine.Experiment) (any, error) { return engine.Hashes(ctx, e.YAML, e.Seed) })
	case "search":
		return with(text, func(a asked) (any, error) {
			return engine.Search(ctx, a.Experiment, a.Search, func(p engine.Hunted) { tell(p) })
		})
	case "sweep":
		return with(text, func(a asked) (any, error) {
			return engine.Sweep(ctx, a.Experiment, a.Sweep, func(r engine.Rates) { tell(r) })
		})
	}
	return nil, fmt.Errorf("no method %q", method)
}

// asked is what is to be done with an experiment. The scenario, the variant and the seed are the experiment's.
type asked struct {
	engine.Experiment
	Search request.Search `json:"search"`
	Sweep  request.Sweep  `json:"sweep"`
}

// with reads a request.
func with[R any](text []byte, do func(R) (any, error)) (any, error) {
	var r R
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("failed to read the request: %w", err)
	}
	return do(r)
}
