package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// Where things are, below the repository.
const (
	librariesFile = "adapters/libraries.json"
	findingsDir   = "docs/findings"
	// workDir is where sim works; recordDir keeps what the pages are made of, and belongs to the repository.
	workDir      = ".cache/track-record"
	recordDir    = "docs/track-record"
	markdownPage = "docs/track-record.md"
	htmlPage     = "reports/gallery/track-record.html"
)

func main() {
	lasts := flag.Duration("for", 20*time.Minute, "how long to search each library; 0: audit only")
	only := flag.String("only", "", "measure only these libraries: names of "+librariesFile)
	jobs := flag.Int("jobs", 0, "how many runs of a search at once (default: what sim chooses)")
	pages := flag.Bool("pages", false, "write the pages only")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *lasts, strings.Fields(*only), *jobs, *pages)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, lasts time.Duration, only []string, jobs int, pages bool) error {
	all, err := readLibraries(librariesFile)
	if err != nil {
		return err
	}
	chosen, err := choose(all, only)
	if err != nil {
		return err
	}
	findings, err := readFindings(findingsDir, all)
	if err != nil {
		return err
	}
	var failed error
	if !pages {
		failed = measureAll(ctx, chosen, lasts, jobs)
	}
	return errors.Join(failed, writePages(".", all, findings))
}

// measureAll measures one library after the other. One that cannot be measured does not stop the others.
func measureAll(ctx context.Context, list []library, lasts time.Duration, jobs int) error {
	m, err := newMeter(ctx, lasts, jobs)
	if err != nil {
		return err
	}
	var failed []error
	for i := range list {
		err := m.measure(ctx, &list[i])
		if ctx.Err() != nil {
			return errors.Join(append(failed, errors.New("interrupted; make track-record goes on from here"))...)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// writePages writes both pages from what is kept. Without anything measured there is no HTML page.
func writePages(root string, all []library, findings []finding) error {
	r, err := readRecord(root, all, findings)
	if err != nil {
		return err
	}
	err = machine.WriteFile(filepath.Join(root, markdownPage), func(w io.Writer) error { return writeMarkdown(w, r) })
	fmt.Println(markdownPage)
	if len(r.Locks) > 0 {
		err = errors.Join(err, machine.WriteFile(filepath.Join(root, htmlPage), func(w io.Writer) error { return writeHTML(w, r) }))
		fmt.Println(htmlPage)
	}
	return err
}
