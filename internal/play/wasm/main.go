//go:build js && wasm

// Command wasm is the engine of the playground as a browser runs it: page/worker.js starts it in a worker and sends it
// requests.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"syscall/js"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/play/engine"
)

// stamp names the sources that this was built from; the build sets it.
var stamp = ""

// rest is how long the engine rests in a long computation, so that the worker can read a message that ends it.
const rest = time.Millisecond

func main() {
	var cancel context.CancelFunc
	serve := js.FuncOf(func(_ js.Value, args []js.Value) any {
		id, method, text := args[0], args[1].String(), args[2].String()
		if method == "cancel" {
			if cancel != nil {
				cancel()
			}
			return nil
		}
		ctx, end := context.WithCancel(context.Background())
		cancel = end
		go func() { // a call from JavaScript must not block
			defer end()
			answer, err := do(ctx, method, []byte(text), func(progress any) {
				post(id, "progress", progress)
				time.Sleep(rest)
			})
			if err != nil {
				post(id, "error", err.Error())
				return
			}
			post(id, "answer", answer)
		}()
		return nil
	})
	js.Global().Set("simEngine", serve)
	js.Global().Call("simReady", stamp)
	select {}
}

// post hands a value to the worker, which sends it on.
func post(id js.Value, kind string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		kind, text = "error", []byte(`"an answer that is no JSON"`)
	}
	js.Global().Call("simPost", id, kind, string(text))
}

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
