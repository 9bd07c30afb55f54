package trackrecord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// Where things are, below the repository.
const (
	LibrariesFile = "adapters/libraries.json"
	FindingsDir   = "docs/findings"
	// workDir is where sim works; recordDir keeps what the pages are made of, and belongs to the repository.
	workDir      = ".cache/track-record"
	recordDir    = "docs/track-record"
	markdownPage = "docs/track-record.md"
	htmlPage     = "reports/gallery/track-record.html"
)

// Run measures the libraries of these names, or all, and writes the pages: lasts is how long each is searched (0: it is only audited), jobs
// how many runs of a search are made at once (0: what sim chooses). With pages nothing is measured. It works in the current folder, the
// repository.
func Run(ctx context.Context, lasts time.Duration, only []string, jobs int, pages bool) error {
	all, err := ReadLibraries(LibrariesFile)
	if err != nil {
		return err
	}
	chosen, err := choose(all, only)
	if err != nil {
		return err
	}
	findings, err := ReadFindings(FindingsDir, all)
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
func measureAll(ctx context.Context, list []Library, lasts time.Duration, jobs int) error {
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
func writePages(root string, all []Library, findings []Finding) error {
	r, err := ReadRecord(root, all, findings)
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
