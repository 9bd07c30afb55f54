//go:build !(js && wasm)

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := answerOne(); err != nil {
		fmt.Fprintln(os.Stderr, "wasm:", err)
		os.Exit(1)
	}
}

func answerOne() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("want one argument: the method")
	}
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	answer, err := do(context.Background(), os.Args[1], text, func(any) {})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}
