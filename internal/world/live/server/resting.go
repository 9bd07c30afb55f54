package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// Resting are servers between two runs: processes of ours that keep nothing on disk, follow nobody and have the
// machine's clock, so that any node of any run may take one, as new. Runs may happen side by side. Who takes them
// answers for what the clients of a run can do to a server: what our own locks do is undone, but not what a lock
// program might do, such as CONFIG SET. The zero value is ready.
type Resting struct {
	mu   sync.Mutex
	list []*serverProcess
	// scratch has a folder for each of those that were made.
	scratch string
	made    int
}

// loans are the servers that a run has from Resting.
type loans struct {
	from *Resting
	mu   sync.Mutex
	list []*serverProcess
}

// launch gives a node a server that rests, or starts one that will rest after the run.
func (l *loans) launch(ctx context.Context, n *Node, h processHost) error {
	for s := l.from.take(); s != nil; s = l.from.take() {
		n.password = s.password
		err := n.begin(ctx, s)
		if err == nil {
			if err = n.clear(ctx); err == nil {
				l.lend(s, n)
				return nil
			}
			n.Stop()
		}
		machine.ReturnPort(s.port)
		if ctx.Err() != nil {
			return err
		}
	}
	n.password = ""
	dir, err := l.from.folder()
	if err != nil {
		return err
	}
	err = machine.OnFreePort(func(port int) error { return h.launchOn(ctx, n, port, dir, filepath.Join(dir, "redis.log")) })
	if err == nil {
		l.lend(n.Server.(*serverProcess), n)
	}
	return err
}

func (l *loans) lend(s *serverProcess, n *Node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.lent, s.runLog = true, n.log
	l.list = append(l.list, s)
}

// end gives all of them back, when no link leads to them any more.
func (l *loans) end() error {
	var errs []error
	for _, s := range l.list {
		if !s.Dead() {
			errs = append(errs, l.from.give(s))
		}
	}
	l.list = nil
	return errors.Join(errs...)
}

// take hands out the server that has rested for the shortest time; nil: none rests.
func (r *Resting) take() *serverProcess {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 {
		return nil
	}
	last := len(r.list) - 1
	s := r.list[last]
	r.list = r.list[:last]
	return s
}

// give takes a server at the end of a run.
func (r *Resting) give(s *serverProcess) error {
	if err := errors.Join(s.saveLog(), s.Resume()); err != nil {
		machine.ReturnPort(s.port)
		return errors.Join(err, s.Kill())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, &serverProcess{Child: s.Child, port: s.port, password: s.password, dir: s.dir, log: s.log})
	return nil
}

// saveLog moves what the server has written into the log of the run.
func (s *serverProcess) saveLog() error {
	from, err := os.Open(s.log)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := openLog(s.runLog)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	if _, err := io.Copy(to, from); err != nil {
		return err
	}
	return os.Truncate(s.log, 0)
}

// folder makes a folder for a server.
func (r *Resting) folder() (dir string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.scratch == "" {
		if r.scratch, err = machine.Scratch(); err != nil {
			return "", err
		}
	}
	r.made++
	dir = filepath.Join(r.scratch, fmt.Sprintf("server-%d", r.made))
	return dir, os.Mkdir(dir, 0o700)
}

// Close ends them. No run may use them any more.
func (r *Resting) Close() error {
	var group sync.WaitGroup
	for _, s := range r.list {
		group.Go(func() {
			_ = s.Kill()
			machine.ReturnPort(s.port)
		})
	}
	group.Wait()
	return machine.Discard(r.scratch)
}
