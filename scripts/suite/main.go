package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
)

// parts is how many parts the tests have that are left to `make test-all`.
const parts = 8

// shortHash is how many digits of a commit's hash Git shows at least.
const shortHash = 7

func main() {
	all := flag.Bool("all", false, "run all tests, and those of packages that start goroutines under the race detector, too")
	slice := flag.String("slice", "",
		"run one part of the tests that are left to make test-all, too: a number from 1 to 8, or a commit's hash")
	slow := flag.String("slow", "", "print the slowest tests and packages in a file that an earlier run, or go test -json, has written")
	record := flag.String("o", ".cache/suite/last.json", "where to write what came of each test")
	modules := flag.String("modules", "", "folders of further modules whose tests are run, separated by spaces")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./scripts/suite [-all | -slice N] [-modules 'DIR ...'] [PACKAGE ...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *slow != "" {
		exit(printSlowest(os.Stdout, *slow, 30))
	}
	which, err := choose(*all, *slice)
	if err != nil {
		exit(err)
	}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	s := suiteRun{which: which, processors: runtime.NumCPU(), record: *record, modules: strings.Fields(*modules), packages: flag.Args()}
	passed, err := s.run(ctx)
	stop()
	if err != nil {
		exit(err)
	}
	if !passed {
		os.Exit(1)
	}
}

// choose is the value of suite.Variable.
func choose(all bool, slice string) (string, error) {
	if slice == "" {
		if all {
			return "all", nil
		}
		return os.Getenv(suite.Variable), nil
	}
	if all {
		return "", fmt.Errorf("-all and -slice exclude each other")
	}
	n, err := strconv.ParseUint(slice, 10, 32)
	if err != nil || n < 1 || n > parts {
		if n, err = strconv.ParseUint(slice[:min(len(slice), 8)], 16, 64); err != nil || len(slice) < shortHash {
			return "", fmt.Errorf("-slice %q: want a number from 1 to %d, or a commit's hash", slice, parts)
		}
		n = n%parts + 1
	}
	return fmt.Sprintf("%d/%d", n, parts), nil
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
