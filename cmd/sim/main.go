// Command sim tests Redis locks under faults.
package main

import (
	"os"
	"runtime"
	"time"

	"github.com/mattn/go-colorable"
	"golang.org/x/term"
)

func main() {
	restore := colorable.EnableColorsStdout(nil) // the console of Windows shows escape codes as text otherwise
	code := run(&cli{
		system:   runtime.GOOS,
		args:     os.Args[1:],
		variable: os.Getenv,
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		now:      time.Now,
		terminal: term.IsTerminal,
	})
	restore()
	os.Exit(code)
}
