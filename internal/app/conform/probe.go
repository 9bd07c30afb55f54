package conform

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// probeFor is how long a probe waits for something to come before it ends the program's input.
const probeFor = 3 * time.Second

// probe starts a program once more, sends it the lines to which it gave no answer, and
// then ends its input. What it writes before and after that tells a program that is
// silent from one that does not flush.
func probe(ctx context.Context, command []string, sent [][]byte) (before, after string, err error) {
	o := program.Options{Command: command}
	cmd, err := o.Process()
	if err != nil {
		return "", "", err
	}
	in, ours, err := os.Pipe()
	if err != nil {
		return "", "", fmt.Errorf("failed to make a pipe: %w", err)
	}
	defer func() { _ = ours.Close() }()
	out := &output{}
	cmd.Stdin, cmd.Stdout = in, out
	child, err := machine.Start("the lock program", cmd)
	_ = in.Close()
	if err != nil {
		return "", "", err
	}
	defer program.KillProcess(command, child)
	_, _ = ours.Write(append(bytes.Join(sent, []byte("\n")), '\n'))
	if err := sleep(ctx, probeFor); err != nil {
		return "", "", err
	}
	before = out.String()
	_ = ours.Close()
	select {
	case <-child.Gone:
	case <-time.After(program.ReadyWithin): // it may still be starting
	case <-ctx.Done():
	}
	return before, out.String()[len(before):], ctx.Err()
}

// output keeps what is written, up to a bound.
type output struct {
	mu  sync.Mutex
	all []byte
}

const maxOutput = 1 << 20

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, text[:min(len(text), maxOutput-len(o.all))]...)
	return len(text), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.all)
}
