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

	"github.com/redlock-sim/redlock-sim/internal/trackrecord"
)

func main() {
	lasts := flag.Duration("for", 20*time.Minute, "how long to search each library; 0: audit only")
	only := flag.String("only", "", "measure only these libraries: names of "+trackrecord.LibrariesFile)
	jobs := flag.Int("jobs", 0, "how many runs of a search at once (default: what sim chooses)")
	pages := flag.Bool("pages", false, "write the pages only")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := trackrecord.Run(ctx, *lasts, strings.Fields(*only), *jobs, *pages)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
