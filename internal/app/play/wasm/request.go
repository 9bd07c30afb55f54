// Command wasm is the engine of the playground as a browser runs it: page/worker.js starts it in a worker and sends it
// requests. Compiled for another machine, it answers one request: wasm METHOD < request.json
package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/redlock-sim/redlock-sim/internal/app/play/engine"
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
		return with(text, func(h engine.Hunt) (any, error) {
			return engine.Search(ctx, h, func(p engine.Hunted) { tell(p) })
		})
	case "sweep":
		return with(text, func(g engine.Grid) (any, error) {
			return engine.Sweep(ctx, g, func(r engine.Rates) { tell(r) })
		})
	}
	return nil, fmt.Errorf("no method %q", method)
}

// with reads a request.
func with[R any](text []byte, do func(R) (any, error)) (any, error) {
	var request R
	if err := json.Unmarshal(text, &request); err != nil {
		return nil, fmt.Errorf("failed to read the request: %w", err)
	}
	return do(request)
}
