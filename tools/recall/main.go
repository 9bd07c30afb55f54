package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

func main() {
	only := flag.String("only", "", "take only these faults: IDs of "+museumFile)
	lasts := flag.String("for", "60s", "how long to search each version")
	most := flag.String("run", "2m", "how long one run of an audit may take: a program that spins takes for ever in virtual time")
	others := flag.Bool("beside", false, "measure also what other ways to test a lock find in the same processor time")
	pages := flag.Bool("pages", false, "write the page only")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := recall(ctx, strings.Fields(*only), patience{*lasts, *most}, *others, *pages)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// patience is for how long each version is searched, and how long one run of its audit may take.
type patience struct{ search, run string }

func recall(ctx context.Context, only []string, p patience, others, pages bool) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	museum, err := readMuseum(root)
	if err != nil {
		return err
	}
	r, err := readResults(root)
	if err != nil {
		return err
	}
	sim, err := machine.Output(ctx, filepath.Join(root, "bin", "sim"), "version")
	if err != nil && !pages {
		return err
	}
	sim, _, _ = strings.Cut(sim, "\n")
	var failed error
	for i := range museum {
		piece := &museum[i]
		if pages || piece.Missing != "" || len(only) > 0 && !slices.Contains(only, piece.ID) || ctx.Err() != nil {
			continue
		}
		failed = errors.Join(failed, p.measure(ctx, root, sim, piece, r))
		if others && ctx.Err() == nil {
			failed = errors.Join(failed, beside(ctx, root, piece, r))
		}
	}
	return errors.Join(failed, os.WriteFile(filepath.Join(root, pageFile), []byte(page(museum, r)), 0o644))
}

// The versions of a piece, and what the broken one was accused of when it was measured for the first time.
const (
	broken  = "broken"
	mended  = "mended"
	atFirst = "first"
)

// measure puts both versions of a piece on trial that this sim has not tried, and keeps what it has after each. What fails with one
// version does not keep the other from its trial.
func (enough patience) measure(ctx context.Context, root, sim string, p *Piece, r results) error {
	var failed error
	for _, which := range []string{broken, mended} {
		if before := r[p.ID][which]; before != nil && before.Sim == sim || ctx.Err() != nil {
			continue
		}
		if err := enough.measureVersion(ctx, root, sim, p, which, r); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s, %s: %w", p.ID, which, err))
		}
	}
	return failed
}

func (enough patience) measureVersion(ctx context.Context, root, sim string, p *Piece, which string, r results) error {
	t, err := prepare(ctx, root, p, which)
	if err != nil {
		return err
	}
	v, err := t.measure(ctx, which == mended || p.BrokenAudit == "", enough, func(v *Version) bool {
		other := r[p.ID][broken]
		return which == broken && len(p.shown(v)) == 0 || which == mended && other != nil && other.Searched
	})
	if err != nil {
		return err
	}
	v.Sim = sim
	if before := r[p.ID][which]; before != nil {
		v.Beside = before.Beside
	}
	if r[p.ID] == nil {
		r[p.ID] = make(map[string]*Version)
	}
	r[p.ID][which] = v
	if which == broken && r[p.ID][atFirst] == nil {
		r[p.ID][atFirst] = &Version{Sim: v.Sim, Library: v.Library, Accused: v.Accused}
	}
	_, _ = fmt.Fprintf(os.Stdout, "%s, %s: accused of %s, of this fault %s\n", p.ID, which, named(v.Accused), named(p.shown(v)))
	return r.write(root)
}

// beside measures in the other ways what is left of a piece.
func beside(ctx context.Context, root string, p *Piece, r results) error {
	for _, which := range []string{broken, mended} {
		v := r[p.ID][which]
		if v == nil || v.Seconds == 0 || len(v.Beside) > 0 {
			continue
		}
		t, err := prepare(ctx, root, p, which)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", p.ID, which, err)
		}
		loops := make(map[string]*Loop)
		for _, way := range otherWays {
			var l *Loop
			switch {
			case !slices.Contains(goWays, way):
				l, err = t.beside(ctx, root, way, v.Seconds)
			case p.Tests[way] != "":
				l, err = t.goTest(ctx, root, p, way, v.Seconds)
			default:
				continue
			}
			if err != nil {
				return fmt.Errorf("%s, %s: %w", p.ID, which, err)
			}
			loops[way] = l
			_, _ = fmt.Fprintf(os.Stdout, "%s, %s, %s: %v in %d runs\n", p.ID, which, way, l.Violated, l.Runs)
		}
		v.Beside = loops
		if err := r.write(root); err != nil {
			return err
		}
	}
	return nil
}

// prepare installs a version.
func prepare(ctx context.Context, root string, p *Piece, which string) (*trial, error) {
	version, args := p.Broken, p.Args
	if which == mended {
		version = p.Mended
		if p.MendedArgs != nil {
			args = p.MendedArgs
		}
	}
	command, err := install(ctx, root, p, version, args)
	work := filepath.Join(root, ".cache", "recall", p.ID, version+".work")
	return &trial{sim: filepath.Join(root, "bin", "sim"), version: version, work: work, command: command}, err
}
