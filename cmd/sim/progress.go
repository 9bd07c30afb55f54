package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/report/plain"
)

// progress tells on stderr what is going on: one line that is written over
// again at a terminal, plain lines elsewhere.
type progress struct {
	app   *cli
	tty   bool
	total int
	// first is about how long all of it was said to take before it began, about what is said now; 0: not known.
	first, about time.Duration

	mu      sync.Mutex
	began   time.Time
	running []string
	phases  map[string]map[string]string // scenario -> variant -> phase
	ended   int
	shown   bool
	quit    chan struct{}
	done    chan struct{}
}

func newProgress(a *cli, total int, about time.Duration) *progress {
	p := &progress{app: a, tty: a.isTerminal(a.stderr) && a.variable("TERM") != "dumb", total: total, first: about, about: about,
		began: time.Now(), phases: make(map[string]map[string]string), quit: make(chan struct{}), done: make(chan struct{})}
	go p.tick()
	return p
}

// tick redraws the line so that its clock moves.
func (p *progress) tick() {
	defer close(p.done)
	if !p.tty {
		<-p.quit
		return
	}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		case <-p.quit:
			return
		}
	}
}

func (p *progress) begin(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, name)
	p.phases[name] = make(map[string]string)
	if !p.tty {
		fmt.Fprintf(p.app.stderr, "%s: begun\n", name)
	}
}

func (p *progress) phase(name, variant, phase string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.phases[name]; m != nil {
		m[variant] = phase
	}
}

func (p *progress) end(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended++
	p.running = slices.DeleteFunc(p.running, func(n string) bool { return n == name })
	if !p.tty {
		fmt.Fprintf(p.app.stderr, "%s: ended after %.1f s (%d of %d)\n", name, time.Since(p.began).Seconds(), p.ended, p.total)
	}
	p.correct(time.Since(p.began))
}

// correct learns from what has ended how long all of it takes, the more the more has ended. It says so where that is
// far from what was said last.
func (p *progress) correct(took time.Duration) {
	if p.first == 0 || p.ended == p.total {
		return
	}
	share := (float64(p.ended) + float64(len(p.running))/2) / float64(p.total) // those that run are half done
	learned := min(1, 4*share)
	about := time.Duration(learned*float64(took)/share + (1-learned)*float64(p.first))
	if !p.tty {
		if 2*p.about/3 < about && about < 3*p.about/2 {
			return
		}
		fmt.Fprintf(p.app.stderr, "%d runs: rather about %v\n", p.total, roughly(about))
	}
	p.about = about
}

// roughly rounds how long something takes, as far as anybody can know it.
func roughly(d time.Duration) time.Duration {
	switch {
	case d < 10*time.Second:
		return max(d.Round(time.Second), time.Second)
	case d < time.Minute:
		return d.Round(5 * time.Second)
	case d < 10*time.Minute:
		return d.Round(10 * time.Second)
	}
	return d.Round(time.Minute)
}

// draw writes the line anew; the caller holds mu.
func (p *progress) draw() {
	var parts []string
	for _, name := range p.running {
		parts = append(parts, name+": "+p.phaseOf(name))
	}
	if len(parts) == 0 {
		return
	}
	head := ""
	if p.total > 1 {
		head = fmt.Sprintf("%d of %d done   ", p.ended, p.total)
	}
	of := ""
	if p.about > 0 {
		of = fmt.Sprintf(" of about %v", roughly(p.about))
	}
	line := fmt.Sprintf("%s%.1f s%s   %s", head, time.Since(p.began).Seconds(), of, strings.Join(parts, "   "))
	if most := p.app.lineWidth(); len(line) > most {
		line = line[:most-3] + "..."
	}
	fmt.Fprintf(p.app.stderr, "\r\x1b[K%s", line)
	p.shown = true
}

// phaseOf names the phase that most variants of a scenario are in.
func (p *progress) phaseOf(name string) string {
	var phases []string
	for _, phase := range p.phases[name] {
		if !slices.Contains(phases, phase) {
			phases = append(phases, phase)
		}
	}
	slices.Sort(phases)
	return strings.Join(phases, ", ")
}

// clear takes the line away, before something else is printed.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.app.stderr, "\r\x1b[K")
		p.shown = false
	}
}

func (p *progress) stop() {
	close(p.quit)
	<-p.done
	p.clear()
}

// phase shows at a terminal what is being done, in the place of what was shown before.
func (a *cli) phase(text string) {
	if a.isTerminal(a.stderr) {
		fmt.Fprint(a.stderr, "\r\x1b[K")
		fmt.Fprint(plain.Lines{Writer: a.stderr}, text)
	}
}

// clearLine takes away what a meter shows.
func (a *cli) clearLine() { a.phase("") }

// shortPath is path as seen from the working folder, where that is shorter.
func shortPath(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && len(rel) < len(path) {
		return rel
	}
	return path
}
