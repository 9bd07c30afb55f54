//go:build js && wasm

package main

import (
	"context"
	"encoding/json"
	"syscall/js"
	"time"
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
