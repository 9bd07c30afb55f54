// Command sim tests Redis locks under faults.
package main

import (
	"os"
	"time"

	"golang.org/x/term"
)

func main() {
	os.Exit(run(&app{
		args:     os.Args[1:],
		env:      os.Getenv,
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		now:      time.Now,
		terminal: term.IsTerminal,
	}))
}
