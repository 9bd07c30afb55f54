package locktest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/explore"
)

// Each process searches for itself, with seeds of its own: a bubble keeps a processor busy, and
// the sources of randomness that libraries draw from are those of a process.

// apart is how far the seeds of processes are from each other.
const apart = 1 << 32

// told begins the line with which a worker tells what it found.
const told = "locktest-worker: "

// finding is what a worker tells.
type finding struct {
	Part  explore.Part
	Error string
	Tally tally
}

// workers are the other processes.
type workers struct {
	list []*worker
	err  error
}

type worker struct {
	stop io.Closer
	wait func() error

	got  *finding
	last bytes.Buffer // what it printed otherwise
}

// startWorkers starts them. found is called when one of them has found something.
func (k *kit) startWorkers(found func()) *workers {
	k.processes = max(*flagWorkers, 1)
	if k.twice != nil {
		k.processes = 1
	}
	if k.what.Seeds > 0 {
		k.processes = min(k.processes, int(k.what.Seeds))
	}
	all := &workers{}
	for i := 1; i < k.processes; i++ {
		w, err := k.startWorker(i, found)
		if err != nil {
			all.err = err
			break
		}
		all.list = append(all.list, w)
	}
	return all
}

// share is how many of the seeds the i-th process takes; 0: there is no bound.
func (k *kit) share(i int) uint64 {
	n, seeds := uint64(k.processes), k.what.Seeds
	share := seeds / n
	if uint64(i) < seeds%n {
		share++
	}
	return share
}

func (k *kit) startWorker(i int, found func()) (*worker, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("failed to find the test's program: %w", err)
	}
	c := exec.Command(program, k.arguments(i)...)
	c.Stderr = io.Discard
	in, err := c.StdinPipe() // it ends when that does
	if err != nil {
		return nil, fmt.Errorf("failed to start a process: %w", err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("failed to start a process: %w", err)
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("failed to start a process: %w", err)
	}
	w := &worker{stop: in}
	read := make(chan struct{})
	go func() {
		defer close(read)
		if w.read(out); w.got != nil && len(w.got.Part.Found) > 0 {
			found()
		}
	}()
	w.wait = func() error {
		<-read
		return c.Wait()
	}
	return w, nil
}

// arguments are those of the i-th process: this one's, but for what would make it do more than
// search, or write where this one does.
func (k *kit) arguments(i int) (args []string) {
	flag.Visit(func(f *flag.Flag) { args = append(args, fmt.Sprintf("-%s=%s", f.Name, f.Value)) })
	args = append(args, "-test.run="+k.pattern(), "-test.count=1", "-test.v=false", "-test.bench=", "-test.fuzz=", "-test.artifacts=false",
		"-test.cpuprofile=", "-test.memprofile=", "-test.blockprofile=",
		"-test.mutexprofile=", "-test.trace=", "-test.coverprofile=", "-test.testlogfile=",
		fmt.Sprintf("-locktest.worker=%d", i), fmt.Sprintf("-locktest.seed=%d", k.what.First+uint64(i)*apart),
		fmt.Sprintf("-locktest.runs=%d", k.share(i)), fmt.Sprintf("-locktest.for=%v", k.lasts()))
	return append(args, flag.Args()...)
}

// mostPrinted bounds what is kept of what a worker prints.
const mostPrinted = 1 << 16

func (w *worker) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		text, tells := strings.CutPrefix(lines.Text(), told)
		if !tells {
			if w.last.Len() < mostPrinted {
				w.last.WriteString(lines.Text() + "\n")
			}
			continue
		}
		got := &finding{}
		if json.Unmarshal([]byte(text), got) == nil {
			w.got = got
		}
	}
}

// finish adds what the processes found to what this one found, when they have ended; now: they are to end at once.
func (all *workers) finish(k *kit, own explore.Part, now bool) explore.Part {
	parts := []explore.Part{own}
	for _, w := range all.list {
		if now {
			_ = w.stop.Close()
		}
	}
	for _, w := range all.list {
		err := w.wait()
		_ = w.stop.Close()
		switch {
		case w.got == nil:
			all.err = errors.Join(all.err, fmt.Errorf("a process of the search told nothing: %w\n%s", err, w.last.String()))
		case w.got.Error != "":
			all.err = errors.Join(all.err, errors.New(w.got.Error))
		default:
			parts = append(parts, w.got.Part)
			k.engine.tally.Granted += w.got.Tally.Granted
			k.engine.tally.Ended += w.got.Tally.Ended
		}
	}
	sum, err := explore.Merge(parts...)
	all.err = errors.Join(all.err, err)
	return sum
}

// work searches as one of the processes, until nobody wants it any more. before is what went wrong before; nil: nothing.
func (k *kit) work(before error) {
	ctx, cancel := k.within(k.t.Context())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) //nolint:forbidigo // it ends with the process that started this one
		cancel()
	}()
	var p explore.Part
	err := before
	if err == nil {
		p, err = k.what.RunPart(ctx)
	}
	f := finding{Part: p, Tally: k.engine.tally}
	if err != nil {
		f.Error = explained(err).Error()
	}
	text, err := json.Marshal(f)
	if err != nil {
		k.t.Fatal(err)
	}
	fmt.Printf("\n%s%s\n", told, text) //nolint:forbidigo // to the process that started this one
}

// within bounds the time of a search.
func (k *kit) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if d := k.lasts(); d > 0 {
		return context.WithTimeout(ctx, d)
	}
	return context.WithCancel(ctx)
}
