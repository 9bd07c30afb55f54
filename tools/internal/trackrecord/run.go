package trackrecord

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// Where things are, below the repository.
const (
	LibrariesFile = "adapters/libraries.json"
	ClaimsFile    = "adapters/claims.yaml"
	FindingsDir   = "docs/findings"
	// UnreportedDir has what the maintainers of libraries are still to hear first. It is not published: see CONTRIBUTING.md.
	UnreportedDir = "unreported"
	// workDir is where sim works; recordDir keeps what the pages are made of, and belongs to the repository.
	workDir      = ".cache/track-record"
	recordDir    = "docs/track-record"
	markdownPage = "docs/track-record.md"
	// virtual is the world of a search in virtual time.
	virtual = "virtual"
)

// Order says what to do.
type Order struct {
	// For is how long each library is searched; 0: it is only audited.
	For time.Duration
	// Only are the names of the libraries to measure; none: all.
	Only []string
	// Jobs is how many runs of a search are made at once; 0: what sim chooses.
	Jobs int
	// Pages: nothing is measured.
	Pages bool
	// Stdout and Stderr take what is told, and what sim prints.
	Stdout, Stderr io.Writer
}

// Run measures libraries, withholds what nobody has reported, and writes docs/track-record.md. It works in the current folder, the
// repository.
func Run(ctx context.Context, o Order) error {
	all, err := ReadLibraries(LibrariesFile)
	if err != nil {
		return err
	}
	chosen, err := choose(all, o.Only)
	if err != nil {
		return err
	}
	findings, err := ReadFindings(".", all)
	if err != nil {
		return err
	}
	var failed error
	if !o.Pages {
		failed = o.measureAll(ctx, chosen)
	}
	for _, l := range all {
		failed = errors.Join(failed, withholdKept(".", l.Name, findings))
	}
	return errors.Join(failed, writePage(o.Stdout, ".", all, findings))
}

// measureAll measures one library after the other. One that cannot be measured does not stop the others.
func (o *Order) measureAll(ctx context.Context, list []Library) error {
	m, err := newMeter(ctx, o)
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
			fmt.Fprintln(o.Stderr, err)
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// writePage writes docs/track-record.md, and the tables of docs/guide/choosing-a-library.md, from what is kept.
func writePage(told io.Writer, root string, all []Library, findings []Finding) error {
	r, err := ReadRecord(root, all, findings)
	if err != nil {
		return err
	}
	fmt.Fprintln(told, markdownPage)
	return errors.Join(writeChoosing(told, root, r),
		machine.WriteFile(filepath.Join(root, markdownPage), func(w io.Writer) error { return writeMarkdown(w, r) }))
}
