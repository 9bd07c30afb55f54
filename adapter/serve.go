package adapter

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	maxLine = 1 << 20
	backlog = 1024                   // lines that wait to be written
	grace   = 500 * time.Millisecond // to write the last ones
)

// message is a line from the simulator.
type message struct {
	Type      string
	ID, Grant uint64
	Upgrades  uint64
	Protocols []int
	Wait      *float64 `json:"wait_ms"`
	Busy      float64  `json:"busy_ms"`
	Setup
	Lock struct {
		Key         string
		TTL         float64 `json:"ttl_ms"`
		NodeTimeout float64 `json:"node_timeout_ms"`
		Options     json.RawMessage
		Permits     int
		Mode        string
		AtLeast     float64 `json:"at_least_ms"`
	}
}

type ready struct {
	Type     string `json:"type"`
	Protocol int    `json:"protocol"`
	Clock    string `json:"clock"`
	Program
}

// line is any other line to the simulator.
type line map[string]any

type server struct {
	program Program
	open    func(Setup) (Acquire, error)
	lines   chan any // nil ends them
	written chan struct{}

	mu      sync.Mutex
	acquire map[string]Acquire // of each client
	once    *object            // what they share
	busy    time.Duration
	grants  map[uint64]Grant              // not released
	cancels map[uint64]context.CancelFunc // of acquires that are open
	closers []func()                      // of what open opened
	passed  uint64                        // points
	waiting map[uint64]chan struct{}
}

// Serve speaks with the simulator until standard input ends, and exits. open connects to
// the nodes; the simulator is told its error. What the library prints on standard output
// goes to standard error.
func Serve(p Program, open func(Setup) (Acquire, error)) {
	s := &server{program: p, open: open, lines: make(chan any, backlog), written: make(chan struct{}),
		grants: make(map[uint64]Grant), cancels: make(map[uint64]context.CancelFunc), waiting: make(map[uint64]chan struct{})}
	go s.write(takeStdout())
	if err := s.read(os.Stdin); err != nil {
		s.fail(err)
	}
	s.exit(0)
}

// read does nothing that takes time, so that requests can overlap.
func (s *server) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine+1)
	for lines.Scan() {
		var m message
		err := json.Unmarshal(lines.Bytes(), &m)
		if err == nil {
			err = s.handle(m)
		}
		if err != nil {
			return fmt.Errorf("failed to handle %.200q: %w", lines.Text(), err)
		}
	}
	return lines.Err()
}

func (s *server) handle(m message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.Type == "hello" && slices.Contains(m.Protocols, 1):
		s.send(ready{"ready", 1, "own", s.program}) // Go reads clocks without libc
	case m.Type == "setup":
		go s.setUp(m)
	case m.Type == "clocks":
		l := line{"type": "clocks", "id": m.ID, "wall_ms": float64(time.Now().UnixNano()) / float64(time.Millisecond)}
		if at := monotonic(); at != 0 {
			l["monotonic_ms"] = float64(at) / float64(time.Millisecond)
		}
		s.send(l)
	case m.Type == "go" && s.waiting[m.ID] != nil:
		close(s.waiting[m.ID])
		delete(s.waiting, m.ID)
	case m.Type == "acquire" && s.of(m.Client) != nil:
		ctx, cancel := context.WithCancel(context.Background())
		if m.Wait != nil {
			ctx, cancel = context.WithTimeout(ctx, duration(*m.Wait))
		}
		s.cancels[m.ID] = cancel
		go s.get(ctx, m)
	case m.Type == "cancel":
		if cancel, open := s.cancels[m.ID]; open {
			cancel()
		}
	case m.Type == "forget":
		go s.forget(m)
	case m.Type == "release", m.Type == "extend":
		go s.use(m, s.grants[m.Grant])
	default:
		return errors.New("not known, or not in this place")
	}
	return nil
}

// of is how a client gets the lock: the one that is named, or the only one.
func (s *server) of(client string) Acquire {
	if client == "" {
		for _, only := range s.acquire {
			return only
		}
	}
	return s.acquire[client]
}

// send does not wait: the library must not stand still because nobody reads.
func (s *server) send(l any) {
	select {
	case s.lines <- l:
	default:
		fmt.Fprintf(os.Stderr, "lock program: %d lines wait to be read\n", backlog)
		os.Exit(1)
	}
}

// write puts each line out in one piece.
func (s *server) write(out io.Writer) {
	for l := <-s.lines; l != nil; l = <-s.lines {
		text, err := json.Marshal(l)
		if err == nil {
			_, err = out.Write(append(text, '\n'))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "lock program: failed to write:", err)
			os.Exit(1)
		}
	}
	close(s.written)
}

// fail tells the error and ends the program.
func (s *server) fail(err error) {
	fmt.Fprintln(os.Stderr, "lock program:", err)
	s.send(line{"type": "error", "why": err.Error()})
	s.exit(1)
}

func (s *server) exit(code int) {
	s.send(nil)
	select {
	case <-s.written:
	case <-time.After(grace):
	}
	os.Exit(code)
}

func (s *server) setUp(m message) {
	m.Key, m.Options, m.Permits = m.Lock.Key, m.Lock.Options, max(m.Lock.Permits, 1)
	m.TTL, m.NodeTimeout = duration(m.Lock.TTL), duration(m.Lock.NodeTimeout)
	m.AtLeast, m.Shared = duration(m.Lock.AtLeast), m.Lock.Mode == "shared"
	if slices.Index(m.Process, m.Client) <= 0 { // it does not join others
		s.close()
	}
	m.point, m.closers, m.object, m.once = func(name string) { s.point(m.Client, name) }, &s.closers, new(object), s.once
	acquire, err := s.open(m.Setup)
	if errors.Is(err, ErrUnsupported) {
		s.send(line{"type": "unsupported", "why": err.Error()})
		return
	}
	if err != nil {
		s.fail(fmt.Errorf("failed to open the lock: %w", err))
	}
	s.mu.Lock()
	s.acquire[m.Client], s.busy = acquire, duration(m.Busy)
	s.mu.Unlock()
	s.send(line{"type": "set-up"})
}

// close forgets the lock that was opened before, if one was. math/rand begins anew each time: what the library draws from it
// does not depend on what was drawn before. Seed does nothing without the directive of which Program.Can tells.
func (s *server) close() {
	for ; len(s.closers) > 0; s.closers = s.closers[:len(s.closers)-1] {
		s.closers[len(s.closers)-1]()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.grants {
		g.end()
	}
	s.acquire, s.once, s.grants = make(map[string]Acquire), new(object), make(map[uint64]Grant)
	var b [8]byte
	_, _ = rand.Read(b[:])
	mathrand.Seed(int64(binary.LittleEndian.Uint64(b[:]))) //nolint:staticcheck // there is no other way to begin anew
}

func duration(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func (s *server) point(client, name string) {
	s.mu.Lock()
	s.passed++
	id, pass := s.passed, make(chan struct{})
	s.waiting[id] = pass
	s.mu.Unlock()
	s.send(line{"type": "point", "id": id, "client": client, "name": name})
	<-pass
}

func (s *server) get(ctx context.Context, m message) {
	defer s.closed(m.ID)
	s.mu.Lock()
	acquire := s.of(m.Client)
	if m.Upgrades != 0 {
		acquire = s.upgrade(m.Upgrades)
	}
	s.mu.Unlock()
	g, err := acquire(ctx)
	if err == nil {
		g.held, g.end = context.WithCancel(context.Background())
		g.unwatched = make(chan struct{})
		s.mu.Lock()
		s.grants[m.ID] = g
		s.mu.Unlock()
		defer s.compute(s.busy)
		defer func() { go s.watch(m.ID, g) }()
	}
	s.answer(m.ID, "acquired", g, err)
}

// closed says that an acquire is answered: nothing cancels it any more.
func (s *server) closed(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancels[id]()
	delete(s.cancels, id)
}

// upgrade is how a reader asks to write beside a grant. The caller holds mu.
func (s *server) upgrade(reader uint64) Acquire {
	if g := s.grants[reader]; g.Upgrade != nil {
		return g.Upgrade
	}
	return func(context.Context) (Grant, error) {
		return Grant{}, fmt.Errorf("%w: grant %d cannot be upgraded", ErrRefused, reader)
	}
}

// compute keeps this goroutine busy, as the user's code would that computes.
func (s *server) compute(long time.Duration) {
	for until := time.Now().Add(long); time.Now().Before(until); {
	}
}

// use releases or extends a grant.
func (s *server) use(m message, g Grant) {
	var until time.Time
	err := fmt.Errorf("%w: grant %d is not held", ErrRefused, m.Grant)
	switch {
	case g.held == nil:
	case m.Type == "release":
		g.end()
		err = g.Release(context.Background())
		if err == nil || errors.Is(err, ErrRefused) {
			s.mu.Lock()
			delete(s.grants, m.Grant)
			s.mu.Unlock()
		}
	case g.Extend == nil:
		s.fail(fmt.Errorf("%s cannot extend", s.program.Name))
	default:
		until, err = g.Extend(context.Background())
	}
	s.answer(m.ID, map[string]string{"release": "released", "extend": "extended"}[m.Type], Grant{Until: until}, err)
}

// forget drops a grant and all that refers to it. What a finalizer keeps goes with the second collection.
func (s *server) forget(m message) {
	s.mu.Lock()
	g, held := s.grants[m.Grant]
	delete(s.grants, m.Grant)
	s.mu.Unlock()
	err := fmt.Errorf("%w: grant %d is not held", ErrRefused, m.Grant)
	if held {
		g.end()
		<-g.unwatched
		g, err = Grant{}, nil
		runtime.GC()
		runtime.GC()
	}
	s.answer(m.ID, "forgotten", g, err)
}

// answer sends what an operation has brought.
func (s *server) answer(id uint64, done string, g Grant, err error) {
	l := line{"type": done, "id": id}
	if err != nil {
		l["type"], l["why"] = "unknown", err.Error()
		if errors.Is(err, ErrRefused) {
			l["type"] = "refused"
		}
		s.send(l)
		return
	}
	if g.Owner != "" {
		l["owner_b64"] = []byte(g.Owner)
	}
	if g.Token != nil {
		l["token"] = *g.Token
	}
	promise(l, g.Until)
	s.send(l)
}

// watch tells what the library says of a grant, until its release begins.
func (s *server) watch(id uint64, g Grant) {
	defer close(g.unwatched)
	for g.held.Err() == nil {
		l := line{"type": "lost", "grant": id}
		select {
		case <-g.held.Done():
		case <-g.Lost:
			g.Lost = nil
			stamp(l)
		case until, open := <-g.Renewed:
			if !open {
				g.Renewed = nil
				continue
			}
			l["type"] = "renewed"
			promise(l, until)
		}
		if g.held.Err() == nil {
			s.send(l)
		}
	}
}

// promise adds how long a promise still lasts. It reads the clock first: a pause between
// the two readings may shorten the promise, and never makes it longer.
func promise(l line, until time.Time) {
	if !until.IsZero() {
		stamp(l)
		l["validity_ms"] = float64(time.Until(until)) / float64(time.Millisecond)
	}
}

// stamp adds the machine's monotonic clock, where it can be read.
func stamp(l line) {
	if at := monotonic(); at != 0 {
		l["at_ns"] = at
	}
}
