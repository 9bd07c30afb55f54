package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/redlock-sim/redlock-sim/internal/app/trial"
	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/report"
	"github.com/redlock-sim/redlock-sim/internal/scenario/yamlform"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Exit codes of sim. Shards keep them with their errors, and the docs list them for users.
const (
	ExitMet         = 0
	ExitUnexpected  = 1
	ExitUndecided   = 2
	ExitUsage       = 3
	ExitEnvironment = 4
	ExitInternal    = 5
	ExitInterrupted = 130
)

// ExitError is an error with its exit code. An empty one has been told already.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Hint is the same error, with what the user can do about it.
func (e *ExitError) Hint(format string, args ...any) *ExitError {
	return &ExitError{e.Code, words.WithHint(e.Err, fmt.Sprintf(format, args...))}
}

// Unwrap is the error without its code.
func (e *ExitError) Unwrap() error { return e.Err }

// Usagef is an error of whoever asked: the request, a flag or a file is wrong.
func Usagef(format string, args ...any) *ExitError {
	return &ExitError{ExitUsage, fmt.Errorf(format, args...)}
}

// Interrupted is the end of a request that was cut short.
func Interrupted(text string) error { return &ExitError{ExitInterrupted, errors.New(text)} }

// InterruptedOr is the error of something that an interrupt may have cut short.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return Interrupted("interrupted before anything was run")
	}
	return err
}

// Ended is the end of a request that looks for violations: an interrupt counts before
// what was found, and a violation before what is undecided.
func Ended(ctx context.Context, interrupted string, violated, undecided bool) error {
	if ctx.Err() != nil {
		return Interrupted(interrupted)
	}
	if violated {
		return &ExitError{Code: ExitUnexpected}
	}
	if undecided {
		return &ExitError{Code: ExitUndecided}
	}
	return nil
}

// ExitCode is the exit code that an error stands for.
func ExitCode(err error) int {
	var exit *ExitError
	var env *trial.EnvironmentError
	var problems yamlform.Problems
	var slow *trial.SlowError
	var slowSearch *explore.SlowError
	switch {
	case err == nil:
		return ExitMet
	case errors.As(err, &exit):
		return exit.Code
	case errors.Is(err, server.ErrCluster): // it is refused, wherever it comes to light
		return ExitUsage
	case errors.As(err, &slow), errors.As(err, &slowSearch):
		return ExitUndecided
	case errors.As(err, &env), ofMachine(err):
		return ExitEnvironment
	case errors.As(err, &problems):
		return ExitUsage
	}
	return ExitInternal
}

// ofMachine: a disk is full, or a file or a folder cannot be written. That is no mistake of sim.
func ofMachine(err error) bool {
	var file *fs.PathError
	var link *os.LinkError
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.As(err, &file) || errors.As(err, &link)
}

// fullDisk recognises a full disk in the error of a stored result, which is a text: of sim's own disk, or of a server's.
func fullDisk(text string) bool {
	return strings.Contains(text, syscall.ENOSPC.Error()) || strings.Contains(text, "is the disk full?")
}

// ExitOf is the exit code that one result stands for.
func ExitOf(r *report.Result, allowUndecided bool) int {
	code := ExitMet
	for i := range r.Variants {
		v := &r.Variants[i]
		switch {
		case v.Error != "" && (v.Lock != nil || fullDisk(v.Error)):
			return ExitEnvironment // its program failed, or the disk is full
		case v.Error != "":
			return ExitInternal
		}
		for i := range v.Properties {
			if v.Properties[i].Unexpected() {
				code = ExitUnexpected
			}
		}
	}
	if code == ExitMet && r.Undecided && !allowUndecided {
		code = ExitUndecided
	}
	return code
}
