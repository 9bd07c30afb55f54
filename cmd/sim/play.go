package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/redlock-sim/redlock-sim/internal/app"
	"github.com/redlock-sim/redlock-sim/internal/app/play"
	"github.com/redlock-sim/redlock-sim/internal/app/serve"
	"github.com/redlock-sim/redlock-sim/internal/app/trial"
)

// playFlags are the flags of sim play.
type playFlags struct {
	seed    uint64
	variant string
	listen  string
	out     string
}

func newPlayCommand(a *cli) *cobra.Command {
	f := playFlags{}
	c := &cobra.Command{
		Use:   "play [SCENARIO]",
		Short: "Change a scenario in a web browser, and see at once what comes of it",
		Long: `Change a scenario in a web browser, and see at once what comes of it: move a setting,
drag a fault, and the run is made and drawn anew, in the page itself, in virtual time. The
page also searches for schedules that break the lock, and measures how often they do.

sim prints the page's address and serves it to this machine until Ctrl-C. What is shown is
in the part of the address behind #, which a browser sends to nobody: the address is the
experiment. With -o the page is written to a file, which opens from disk and needs nothing
else.`,
		Example: `  sim play
  sim play gc-pause --seed 42 --variant fenced
  sim play my-lock.yaml
  sim play -o playground.html`,
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: oneScenario,
		RunE: func(c *cobra.Command, args []string) error {
			fragment, err := f.fragment(args)
			if err != nil {
				return err
			}
			return a.play(c.Context(), f, fragment)
		},
	}
	c.Flags().Uint64Var(&f.seed, "seed", 1, "the seed of the run that is shown")
	c.Flags().StringVar(&f.variant, "variant", "", "the variant that is shown (default: the first)")
	c.Flags().StringVar(&f.listen, "listen", serve.PlayAddr, "the address on this machine to listen on")
	c.Flags().StringVarP(&f.out, "output", "o", "", "write the page to this file; - is stdout")
	return c
}

// fragment is what stands behind # for a scenario; empty: the page chooses.
func (f *playFlags) fragment(args []string) (string, error) {
	if len(args) == 0 {
		if f.variant != "" {
			return "", app.Usagef("--variant is of a scenario: name one")
		}
		return "", nil
	}
	s, err := app.LoadOne(args[0])
	if err != nil {
		return "", err
	}
	v, err := app.VariantOf(s, f.variant)
	if err != nil {
		return "", err
	}
	if v.Setup.Lock.Program != nil {
		return "", app.Usagef("%s names a lock program, and the page knows locks of sim alone", s.File).
			Hint("sim run %s --allow-programs", s.File)
	}
	text, err := play.Fragment(s.Text, f.seed, v.Name)
	return "#" + text, err
}

func (a *cli) play(ctx context.Context, f playFlags, fragment string) error {
	a.orderly.Store(true)
	bundle, err := play.Load(ctx, programVersion(), true, func(words string) { fmt.Fprintln(a.stderr, words) })
	if err != nil {
		return &trial.EnvironmentError{Err: err}
	}
	html, policy, err := bundle.Page()
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := a.toOutput(f.out, func(w io.Writer) error { _, err := w.Write(html); return err }); err != nil || f.out == "-" {
			return err
		}
		path, err := filepath.Abs(f.out)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stderr, "open file://%s%s in a browser\n", filepath.ToSlash(path), fragment)
		return nil
	}
	err = serve.Play(ctx, f.listen, html, policy, func(url string) {
		fmt.Fprintf(a.stderr, "play at %s%s (Ctrl-C stops it)\n", url, fragment)
	})
	if err != nil {
		return &trial.EnvironmentError{Err: err, Hint: "--listen 127.0.0.1:0 takes any free port"}
	}
	return nil
}

// playground makes the page of sim play for sim serve, once, and compiles nothing for it.
func playground(ctx context.Context) func() (html []byte, policy string, err error) {
	type page struct {
		html   []byte
		policy string
	}
	made := sync.OnceValues(func() (page, error) {
		bundle, err := play.Load(ctx, programVersion(), false, nil)
		if err != nil {
			return page{}, err
		}
		html, policy, err := bundle.Page()
		return page{html, policy}, err
	})
	return func() ([]byte, string, error) {
		p, err := made()
		return p.html, p.policy, err
	}
}
