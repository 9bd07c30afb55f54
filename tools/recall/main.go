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
	pages := flag.Bool("pages", false, "write the page only")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := recall(ctx, strings.Fields(*only), patience{*lasts, *most}, *pages)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// patience is for how long each version is searched, and how long one run of its audit may take.
type patience struct{ search, run string }

func recall(ctx context.Context, only []string, p patience, pages bool) error {
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
	var failed error
	if !pages {
		failed = measureAll(ctx, root, museum, r, only, p)
	}
	return errors.Join(failed, os.WriteFile(filepath.Join(root, pageFile), []byte(page(museum, r)), 0o644))
}

// measureAll measures what is left, and keeps what it has after each version.
func measureAll(ctx context.Context, root string, museum []Piece, r results, only []string, enough patience) error {
	sim := filepath.Join(root, "bin", "sim")
	version, err := machine.Output(ctx, sim, "version")
	if err != nil {
		return err
	}
	version, _, _ = strings.Cut(version, "\n")
	var failed error
	for i := range museum {
		p := &museum[i]
		if p.Missing != "" || len(only) > 0 && !slices.Contains(only, p.ID) {
			continue
		}
		for _, which := range []string{"broken", "mended"} {
			if v := r[p.ID][which]; v != nil && v.Sim == version {
				continue
			}
			v, err := one(ctx, root, sim, p, which, enough, func(v *Version) bool {
				broken := r[p.ID]["broken"]
				return which == "broken" && len(p.shown(v)) == 0 || which == "mended" && broken != nil && broken.Searched
			})
			if ctx.Err() != nil {
				return errors.Join(failed, ctx.Err())
			}
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s, %s: %w", p.ID, which, err))
				continue
			}
			v.Sim = version
			if r[p.ID] == nil {
				r[p.ID] = make(map[string]*Version)
			}
			r[p.ID][which] = v
			_, _ = fmt.Fprintf(os.Stdout, "%s, %s: accused of %s, of this fault %s\n", p.ID, which, named(v.Accused), named(p.shown(v)))
			if err := r.write(root); err != nil {
				return err
			}
		}
	}
	return failed
}

func one(ctx context.Context, root, sim string, p *Piece, which string, enough patience, searched func(*Version) bool) (*Version, error) {
	version, args := p.Broken, p.Args
	if which == "mended" {
		version = p.Mended
		if p.MendedArgs != nil {
			args = p.MendedArgs
		}
	}
	command, err := install(ctx, root, p, version, args)
	if err != nil {
		return nil, err
	}
	return measure(ctx, sim, filepath.Join(root, ".cache", "recall", p.ID, version+".work"), command,
		which == "mended" || p.BrokenAudit == "", enough, searched)
}
