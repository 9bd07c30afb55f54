// Command soak lets the locks of adapters/libraries.json live for a simulated day each, one after the other, and writes what came of it.
// It goes on where it was interrupted.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// The files, from the project's folder.
const (
	librariesFile = "adapters/libraries.json"
	resultsFile   = "docs/internals/soak.json"
	pageFile      = "docs/internals/soak.md"
)

func main() {
	only := flag.String("only", "", "take only these libraries")
	lasts := flag.Duration("for", 24*time.Hour, "how long each lock lives, in its own time")
	most := flag.Duration("most", time.Hour, "how long one may take in real time; what it came to till then is kept")
	seed := flag.Uint64("seed", 1, "the seed")
	pages := flag.Bool("pages", false, "write the page only")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := measure(ctx, asked{strings.Fields(*only), *lasts, *most, *seed}, *pages)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// asked is what is measured.
type asked struct {
	only        []string
	lasts, most time.Duration
	seed        uint64
}

// library is a line of libraries.json.
type library struct {
	Name    string `json:"name"`
	Command string `json:"command"`
}

// measured is what came of a library's lock. Of what sim prints it has what the page shows.
type measured struct {
	Name string `json:"name"`
	Sim  string `json:"sim"`
	Date string `json:"date"`
	Seed uint64 `json:"seed"`
	// Asked is for how long it was to live, in seconds.
	Asked float64 `json:"asked_s"`
	// Why there is no result; empty: there is one.
	Why    string `json:"why,omitempty"`
	Result result `json:"result"`
}

// result is what sim soak --json prints.
type result struct {
	Outcome    string     `json:"outcome"`
	Epochs     uint64     `json:"epochs"`
	Calm       uint64     `json:"calm"`
	Lives      uint64     `json:"lives"`
	Virtual    float64    `json:"virtual_s"`
	Took       float64    `json:"took_s"`
	Granted    uint64     `json:"granted"`
	Failed     uint64     `json:"failed,omitempty"`
	Failure    string     `json:"failure,omitempty"`
	Properties []property `json:"properties"`
	Found      []found    `json:"found,omitempty"`
	Start      memory     `json:"memory_start"`
	End        memory     `json:"memory_end"`
}

type property struct {
	Property string  `json:"property"`
	Judged   uint64  `json:"judged"`
	Violated uint64  `json:"violated"`
	Doubted  uint64  `json:"doubted,omitempty"`
	Sections uint64  `json:"sections"`
	Rate     float64 `json:"per_million"`
	Low      float64 `json:"per_million_low"`
	High     float64 `json:"per_million_high"`
}

type found struct {
	What   string `json:"what"`
	Epoch  uint64 `json:"epoch"`
	Epochs uint64 `json:"epochs"`
	Alone  bool   `json:"alone,omitempty"`
}

type memory struct {
	Own      int64 `json:"own"`
	Heap     int64 `json:"heap"`
	Children int64 `json:"children"`
}

func measure(ctx context.Context, a asked, pages bool) error {
	var libraries []library
	if err := readJSON(librariesFile, &libraries); err != nil {
		return err
	}
	var results []measured
	if err := readJSON(resultsFile, &results); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, l := range libraries {
		if pages || ctx.Err() != nil {
			break
		}
		has := func(m measured) bool {
			return m.Name == l.Name && m.Seed == a.seed && m.Asked == a.lasts.Seconds() && m.Why == ""
		}
		if len(a.only) > 0 && !slices.Contains(a.only, l.Name) || len(a.only) == 0 && slices.ContainsFunc(results, has) {
			continue
		}
		fmt.Fprintln(os.Stderr, l.Name)
		m, err := one(ctx, l, a)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", l.Name, err)
		}
		results = append(slices.DeleteFunc(results, func(o measured) bool { return o.Name == l.Name }), *m)
		if err := write(libraries, results); err != nil {
			return err
		}
	}
	return errors.Join(ctx.Err(), write(libraries, results))
}

// one lets one lock live. At the end of its time in real time it is interrupted in order, and what it came to is kept.
func one(ctx context.Context, l library, a asked) (*measured, error) {
	limited, cancel := context.WithTimeout(ctx, a.most)
	defer cancel()
	out := filepath.Join("reports", "soak", l.Name)
	c := exec.CommandContext(limited, filepath.Join("bin", "sim"), "soak", "--lock", l.Command, "--for", a.lasts.String(),
		"--seed", fmt.Sprint(a.seed), "--world", "virtual", "--out", out, "--json")
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 5 * time.Minute
	var said, errs bytes.Buffer
	c.Stdout, c.Stderr = &said, &errs
	failed := c.Run()
	m := &measured{Name: l.Name, Date: time.Now().Format(time.DateOnly), Seed: a.seed, Asked: a.lasts.Seconds()}
	version, err := machine.Output(ctx, filepath.Join("bin", "sim"), "version")
	if err != nil {
		return nil, err
	}
	m.Sim, _, _ = strings.Cut(version, "\n")
	if json.Unmarshal(said.Bytes(), &m.Result) != nil || m.Result.Epochs == 0 {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		m.Why = strings.TrimSpace(fmt.Sprint(failed, ": ", lines[len(lines)-1]))
	}
	return m, nil
}

func readJSON(path string, to any) error {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		return fmt.Errorf("failed to read %s: %w", path, err)
	}
	return nil
}

// write writes the results, in the order of the libraries, and the page.
func write(libraries []library, results []measured) error {
	at := func(name string) int {
		return slices.IndexFunc(libraries, func(l library) bool { return l.Name == name })
	}
	slices.SortStableFunc(results, func(a, b measured) int { return at(a.Name) - at(b.Name) })
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(resultsFile, append(text, '\n'), 0o644), os.WriteFile(pageFile, []byte(page(libraries, results)), 0o644))
}
