package server

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// nodeClock moves the wall clock of one redis-server. libfaketime inside the
// server adds the offset that it finds in a file; a clock that runs fast or
// slow is an offset that is written anew every few milliseconds.
type nodeClock struct {
	// path is the file here, seen the same file where the server looks for it.
	path, seen string
	// preload is what LD_PRELOAD takes.
	preload string

	mu   sync.Mutex
	stop chan struct{} // ends the writer of a moving offset
	done chan struct{}
	// offset at the instant since, and how it goes on from there.
	offset time.Duration
}

// tick is how often a moving offset is written.
const tick = 2 * time.Millisecond

// clockFile is the name of the file in the node's folder.
const clockFile = "clock"

// newNodeClock makes the file in the folder dir, which the server sees as seen,
// with the clock right.
func newNodeClock(dir, seen, preload string) (*nodeClock, error) {
	c := &nodeClock{path: filepath.Join(dir, clockFile), seen: filepath.Join(seen, clockFile), preload: preload}
	return c, c.write(0)
}

// variables make a server obey the file.
func (c *nodeClock) variables() []string { return FaketimeVariables(c.preload, c.seen) }

// FaketimeVariables make a server, with a value of LD_PRELOAD, read its clock from a file.
func FaketimeVariables(preload, file string) []string {
	return []string{
		"LD_PRELOAD=" + preload,
		"FAKETIME_TIMESTAMP_FILE=" + file,
		"FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
	}
}

// FaketimePreload is what LD_PRELOAD takes for a server of this machine. libc follows
// libfaketime: with Debian's redis-server, whose jemalloc asks for the time while it
// starts, libfaketime alone deadlocks.
func FaketimePreload() (string, error) {
	library, err := FindFaketime()
	return library + ":" + libc(), err
}

// libc is the path of the C library beside which the server runs.
func libc() string {
	for _, pattern := range []string{"/lib/*-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6"} {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	return "libc.so.6"
}

// Set makes the clock go as f says from now on.
func (c *nodeClock) Set(f world.ClockFault) error {
	c.halt()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += f.Jump
	if err := c.write(c.offset); err != nil {
		return err
	}
	if f.Rate == 1 && f.Strobe == 0 {
		return nil
	}
	stop, done := make(chan struct{}), make(chan struct{})
	c.stop, c.done = stop, done
	base := c.offset
	go func() {
		defer close(done)
		c.run(f, base, stop)
	}()
	return nil
}

// run writes the moving offset until stop is closed.
func (c *nodeClock) run(f world.ClockFault, base time.Duration, stop <-chan struct{}) {
	began := time.Now()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		elapsed := time.Since(began)
		now := base + time.Duration(float64(elapsed)*(f.Rate-1))
		if f.Strobe > 0 && (elapsed/f.Strobe)%2 == 1 {
			now -= f.Jump
		}
		c.mu.Lock()
		c.offset = now
		_ = c.write(now) // the next tick tries again
		c.mu.Unlock()
	}
}

// halt lets the offset stand where it is.
func (c *nodeClock) halt() {
	c.mu.Lock()
	stop, done := c.stop, c.done
	c.stop, c.done = nil, nil
	c.mu.Unlock()
	if stop != nil {
		close(stop)
		<-done
	}
}

// Ahead is how far the clock is ahead of the machine's.
func (c *nodeClock) Ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset
}

// Reset sets the clock right.
func (c *nodeClock) Reset() error {
	c.halt()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = 0
	return c.write(0)
}

// write puts the offset into the file in one step, so that the server never
// reads half of it.
func (c *nodeClock) write(offset time.Duration) error {
	text := fmt.Sprintf("%+.6f\n", offset.Seconds())
	if err := os.WriteFile(c.path+".new", []byte(text), 0o644); err != nil {
		return fmt.Errorf("failed to set a node's clock: %w", err)
	}
	if err := os.Rename(c.path+".new", c.path); err != nil {
		return fmt.Errorf("failed to set a node's clock: %w", err)
	}
	return nil
}
