package clients

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// Resting are the processes of clients between two runs. Any client of any run may take one, under a name of its
// own; runs may happen side by side. The zero value is ready.
type Resting struct {
	mu       sync.Mutex
	children []*childProcess
	// scratch is the folder of their logs, of which logs have been made.
	scratch string
	logs    int
}

// take hands out the process that has rested for the shortest time; nil: there is none that will do.
func (r *Resting) take(leads bool) *childProcess {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.children) - 1; i >= 0; i-- {
		b := r.children[i]
		if b.hasProgram != leads && !b.Proc.Dead() {
			continue
		}
		r.children = append(r.children[:i], r.children[i+1:]...)
		if !b.Proc.Dead() {
			return b
		}
		b.end()
	}
	return nil
}

func (r *Resting) give(b *childProcess) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.children = append(r.children, b)
}

// newLog is the path of a log for a process that serves several runs.
func (r *Resting) newLog() (path string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scratch == "" {
		if r.scratch, err = machine.Scratch(); err != nil {
			return "", err
		}
	}
	r.logs++
	return filepath.Join(r.scratch, fmt.Sprintf("client-%d.log", r.logs)), nil
}

// Close ends them. No run may use them any more.
func (r *Resting) Close() error {
	var group sync.WaitGroup
	for _, b := range r.children {
		group.Go(b.end)
	}
	group.Wait()
	return machine.Discard(r.scratch)
}

// end ends a process that rests.
func (b *childProcess) end() {
	_ = b.in.Close()
	_ = b.Proc.Kill()
	_ = b.out.Close()
}

// openLog opens where a process writes what it has to say beside the protocol: the log of its client, or one of its
// own where it may serve several runs.
func (s *Clients) openLog(b *childProcess, name string) (*os.File, error) {
	if s.Resting == nil {
		return OpenLog(s.Dir, name)
	}
	var err error
	if b.log, err = s.Resting.newLog(); err != nil {
		return nil, err
	}
	return openToAppend(b.log)
}

// saveLog moves what a process has written during a run into the log of its client.
func (b *childProcess) saveLog(dir, client string) error {
	if b.log == "" {
		return nil
	}
	from, err := os.Open(b.log)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := OpenLog(dir, client)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return os.Truncate(b.log, 0)
}

// OpenLog opens the log of a client to append to it.
func OpenLog(dir, client string) (*os.File, error) {
	return openToAppend(filepath.Join(dir, "client-"+client+".log"))
}

func openToAppend(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
}
