package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/redlock-sim/redlock-sim/tools/internal/trackrecord"
)

func main() {
	var o trackrecord.Order
	flag.DurationVar(&o.For, "for", time.Minute, "how long to search each library; 0: audit only")
	only := flag.String("only", "", "measure only these libraries: names of "+trackrecord.LibrariesFile)
	flag.IntVar(&o.Jobs, "jobs", 0, "how many runs of a search at once (default: what sim chooses)")
	flag.BoolVar(&o.Pages, "pages", false, "write the pages only")
	disclosure := flag.Bool("disclosure", false, "only see that nothing is published that the maintainers of a library are to hear first")
	flag.Parse()
	if *disclosure {
		checkDisclosure()
		return
	}
	o.Only, o.Stdout, o.Stderr = strings.Fields(*only), os.Stdout, os.Stderr
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := trackrecord.Run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// checkDisclosure ends the program with what keeps the repository from being published.
func checkDisclosure() {
	problems, err := trackrecord.CheckDisclosure(".")
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, "disclosure: "+p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil || len(problems) > 0 {
		os.Exit(1)
	}
}
