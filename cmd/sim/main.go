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
		columns:  columns,
	})
	restore()
	os.Exit(code)
}

// columns is how wide a terminal is; 0: that is not known.
func columns(fd int) int {
	width, _, err := term.GetSize(fd)
	if err != nil {
		return 0
	}
	return width
}
