package machine

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Faketime is the wall clock of processes that use libc, as faults bend it. libfaketime inside
// a process adds the offset that it finds in a file; a clock that runs fast or slow is an
// offset that is written anew every few milliseconds. Monotonic clocks are the machine's.
type Faketime struct {
	// path is the file here, seen the same file where the process looks for it.
	path, seen string
	// preload is what LD_PRELOAD takes.
	preload string

	mu   sync.Mutex
	stop chan struct{} // ends the writer of a moving offset
	done chan struct{}
	// offset is what was written last, into the spare file number turn.
	offset time.Duration
	turn   int
}

// Bend is how a clock goes: it jumps by Jump, and then runs at Rate times the true rate. With
// Strobe it jumps forward and back, once every so often.
type Bend struct {
	Jump   time.Duration
	Rate   float64
	Strobe time.Duration
}

const (
	// mostOff is how far a moving offset may be off: a quarter of the smallest step of Redis' expiry.
	mostOff = 250 * time.Microsecond
	// It is not written more often, so a clock at more than 1.125 times the true rate is further off; nor less often.
	minTick, maxTick = 2 * time.Millisecond, 20 * time.Millisecond
)

// tick is how often a moving offset is written, or looked at whether it has flipped.
func (b Bend) tick() time.Duration {
	if b.Strobe > 0 {
		return minTick
	}
	return min(max(time.Duration(float64(mostOff)/math.Abs(b.Rate-1)), minTick), maxTick)
}

// FaketimeFolder is the folder for it in that of a process.
const FaketimeFolder = "faketime"

// NewFaketime makes the file below the folder dir, which the process sees as seen, with the clock
// right. preload is what LD_PRELOAD takes there.
func NewFaketime(dir, seen, preload string) (*Faketime, error) {
	below := filepath.Join(FaketimeFolder, "clock")
	c := &Faketime{path: filepath.Join(dir, below), seen: filepath.Join(seen, below), preload: preload}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o755); err != nil {
		return nil, fmt.Errorf("failed to make a clock: %w", err)
	}
	return c, c.write(0)
}

// NewFaketimeHere does so for processes of this machine.
func NewFaketimeHere(dir string) (*Faketime, error) {
	library, err := FindFaketime()
	if err != nil {
		return nil, err
	}
	c, err := NewFaketime(dir, dir, "")
	if err != nil {
		return nil, err
	}
	if library, err = tamed(library, filepath.Dir(c.path)); err != nil {
		return nil, fmt.Errorf("failed to prepare libfaketime: %w", err)
	}
	// libc follows libfaketime: with Debian's redis-server, whose jemalloc asks for the time while
	// it starts, libfaketime alone deadlocks.
	c.preload = library + ":" + libc()
	if others := os.Getenv(preloadVariable); others != "" {
		c.preload += ":" + others
	}
	return c, nil
}

// tamed makes a copy of libfaketime without two of its habits. It makes two files in /dev/shm
// for each process, which outlive one that is killed: the copy asks for a name that no
// file there can have, and does without. And its clock_nanosleep refuses to sleep till an instant
// of the monotonic clock, which Python's time.sleep wants, when that clock is not to be bent
// (0.9.10, mended since: wolfcw/libfaketime issue 426): the copy has none.
func tamed(library, dir string) (string, error) {
	data, err := os.ReadFile(library)
	if err != nil {
		return "", err
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	if names := f.Section(".dynstr"); names != nil && names.Offset+names.Size <= uint64(len(data)) {
		exported := data[names.Offset:][:names.Size]
		copy(exported, bytes.Replace(exported, []byte("\x00clock_nanosleep\x00"), []byte("\x00CLOCK_NANOSLEEP\x00"), 1))
	}
	data = bytes.ReplaceAll(data, []byte("/faketime_sem_%ld\x00"), []byte("/faketime/sem_%ld\x00"))
	path := filepath.Join(dir, "libfaketime.so.1")
	return path, os.WriteFile(path, data, 0o755) //nolint:gosec // the folder is our own
}

const preloadVariable = "LD_PRELOAD"

// Variables make a process obey the file.
func (c *Faketime) Variables() []string {
	return []string{
		preloadVariable + "=" + c.preload,
		"FAKETIME_TIMESTAMP_FILE=" + c.seen,
		"FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
		// Otherwise waits for a condition until an instant of the monotonic clock end at once: each timed wait of a JVM does.
		"FAKETIME_FORCE_MONOTONIC_FIX=0",
		// Otherwise waits for a condition until an instant of the monotonic clock end at once: each timed wait of a JVM does.
	}
}

// Environ is the environment of a process that is given some variables more. The settings of another
// libfaketime would overrule those of Variables.
func Environ(more []string) []string {
	return slices.Concat(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "FAKETIME") || v == quickly
	}), more)
}

// quickly lets this very program start in half the time: testcontainers, which is part of it, reads
// about all processes of the machine when a program starts, unless there is no /proc.
const quickly = "HOST_PROC=/dev/null"

// OwnEnviron is the environment in which this very program starts again, quickly.
func OwnEnviron(more []string) []string { return append(Environ(more), quickly) }

// ErrNoFaketime says that libfaketime is not installed.
var ErrNoFaketime = errors.New("libfaketime is not installed")

// FindFaketime is the path of libfaketime.so.1.
func FindFaketime() (string, error) {
	for _, pattern := range []string{
		"/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1",
		"/usr/lib64/faketime/libfaketime.so.1", "/usr/local/lib/faketime/libfaketime.so.1",
	} {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return found[0], nil
		}
	}
	return "", ErrNoFaketime
}

// libc is the path of the C library beside which processes run.
func libc() string {
	for _, pattern := range []string{"/lib/*-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/usr/lib/libc.so.6"} {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	return "libc.so.6"
}

// Set makes the clock go so from now on.
func (c *Faketime) Set(b Bend) error {
	c.Halt()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += b.Jump
	if err := c.write(c.offset); err != nil {
		return err
	}
	if b.Rate == 1 && b.Strobe == 0 {
		return nil
	}
	stop, done := make(chan struct{}), make(chan struct{})
	c.stop, c.done = stop, done
	base := c.offset
	go func() {
		defer close(done)
		c.run(b, base, stop)
	}()
	return nil
}

// run writes the moving offset until stop is closed.
func (c *Faketime) run(b Bend, base time.Duration, stop <-chan struct{}) {
	began := time.Now()
	ticker := time.NewTicker(b.tick())
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		elapsed := time.Since(began)
		now := base + time.Duration(float64(elapsed)*(b.Rate-1))
		if b.Strobe > 0 && (elapsed/b.Strobe)%2 == 1 {
			now -= b.Jump
		}
		c.mu.Lock()
		if now != c.offset && c.write(now) == nil { // else the next tick tries again
			c.offset = now
		}
		c.mu.Unlock()
	}
}

// Halt lets the offset stand where it is.
func (c *Faketime) Halt() {
	c.mu.Lock()
	stop, done := c.stop, c.done
	c.stop, c.done = nil, nil
	c.mu.Unlock()
	if stop != nil {
		close(stop)
		<-done
	}
}

// File is where the offset stands.
func (c *Faketime) File() string { return c.path }

// Ahead is how far the clock is ahead of the machine's.
func (c *Faketime) Ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset
}

// Reset sets the clock right.
func (c *Faketime) Reset() error {
	c.Halt()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset = 0
	return c.write(0)
}

// spares is how many files take turns to be the file: enough that who has opened one has long read it when it is
// written again.
const spares = 8

// write puts the offset into the file in one step, so that no process reads half of it. The files that take turns
// stay: to make one and to delete one every few milliseconds costs a file system more than all the rest of a run.
func (c *Faketime) write(offset time.Duration) error {
	c.turn = (c.turn + 1) % spares
	if err := c.show(fmt.Sprintf("%s.%d", c.path, c.turn), offset); err != nil {
		_ = os.Remove(c.path + ".new")
		return fmt.Errorf("failed to set a clock: %w", err)
	}
	return nil
}

func (c *Faketime) show(spare string, offset time.Duration) error {
	f, err := os.OpenFile(spare, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%+024.6f\n", offset.Seconds()) // always as long
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Link(spare, c.path+".new"); err != nil {
		return err
	}
	return os.Rename(c.path+".new", c.path)
}
