package conform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Options say what to look at.
type Options struct {
	// Command starts the program.
	Command []string
	// Redis is the program of its nodes, as server.FindRedis takes it; empty: the machine's.
	Redis string
	// Virtual is what the checks need in virtual time; nil: they are made in real time.
	Virtual *VirtualTime
	// Key is the lock's, TTL the lease to ask for. The program may need a longer one.
	Key string
	TTL time.Duration
	// Patience is how long an answer may take beyond the wait that was asked for.
	Patience time.Duration
	// Dir is where the logs go.
	Dir string
	// Line sees each line of a program, Begin a check that begins, End one that has
	// ended. Calls do not overlap.
	Line  func(Line)
	Begin func(name string)
	End   func(Check)
}

// VirtualTime is what checks need in virtual time.
type VirtualTime struct {
	// Server is the redis-server or the valkey-server. Store finds from what the server is started on which programs keep their lock that
	// is elsewhere (guests.Options.Stores).
	Server string
	Store  func(program.Store) (string, error)
	// Repeats makes a run of the program twice with one seed, and says in what the two differ; empty: in nothing.
	Repeats func(ctx context.Context, ready *program.Ready, ttl time.Duration) (difference string, err error)
	// Anew makes a run of the program as its second trial, and one of a program that was just started, with one seed. It says in what
	// the two differ; empty: at most in times, by so much.
	Anew func(ctx context.Context, ready *program.Ready, ttl time.Duration) (difference string, apart time.Duration, err error)
}

// seed is that of all checks in virtual time.
const seed = 1

// Outcome is what came of a check.
type Outcome string

// Outcomes.
const (
	Passed Outcome = "passed"
	Failed Outcome = "failed"
	// NotApplicable: the program cannot do it by its own words.
	NotApplicable Outcome = "not applicable"
	// NotRun: an earlier finding, or a slow machine, prevented it.
	NotRun Outcome = "not run"
)

// Muted is what of a lock cannot be judged; empty: nothing.
type Muted string

// What cannot be judged.
const (
	Everything Muted = "everything"
	// ShownByKeys: what nothing shows but the lock's keys.
	ShownByKeys Muted = "shown by keys"
)

// Check is one check and what came of it.
type Check struct {
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	Outcome Outcome `json:"outcome"`
	// OfLock: it shows what the lock does, and not how the program speaks of it. Guarantee is the row of a report card in which it
	// counts against the lock; empty: in none.
	OfLock    bool   `json:"of_lock,omitempty"`
	Guarantee string `json:"guarantee,omitempty"`
	// Mutes is what cannot be judged where the program fails it. AtKeys: what it finds rests on which keys are the lock's.
	Mutes  Muted `json:"mutes,omitempty"`
	AtKeys bool  `json:"-"`
	// Why it is not applicable, or was not run.
	Why string `json:"why,omitempty"`
	// Finding is why it failed. Notes are worth knowing, and no failure.
	Finding *Finding `json:"finding,omitempty"`
	Notes   []string `json:"notes,omitempty"`
}

// Result is what is known of a program.
type Result struct {
	Command []string `json:"command"`
	// Program is what it says of itself; nil: it did not come to that.
	Program *program.Ready `json:"program,omitempty"`
	Checks  []Check        `json:"checks"`
	// DeadNode is how long its client needs where a node is dead, if that is longer than setup asks.
	DeadNode time.Duration `json:"dead_node_ns,omitempty"`
}

// Count is how many checks came out so.
func (r *Result) Count(o Outcome) (n int) {
	for i := range r.Checks {
		if r.Checks[i].Outcome == o {
			n++
		}
	}
	return n
}

// Conforms reports that all checks passed that apply.
func (r *Result) Conforms() bool { return r.Count(Failed)+r.Count(NotRun) == 0 }

var (
	// errLate says that the TTL passed before a check had seen what it needs.
	errLate = errors.New("the TTL passed meanwhile")
	// errStays says that a clock cannot be moved here.
	errStays = errors.New("its clock was not moved")
	// ErrRealTime says that a program cannot be checked in virtual time.
	ErrRealTime = errors.New("PostgreSQL runs in real time")
	// ErrVirtualTime says that a program cannot be checked in real time.
	ErrVirtualTime = errors.New("runs in virtual time")
	// errShort says that the lock asked for so little time that its keys were gone when the grant was looked at.
	errShort = errors.New("its keys ended long before the TTL: see the check expiry")
)

// tries is how often a check is made that came too late.
const tries = 5

// Run makes all checks. An error is not the program's. When it returns, no process is
// left. In real time it makes this process the parent of orphans, in virtual time it keeps its thread to itself.
func Run(ctx context.Context, o Options) (*Result, error) {
	s := &suite{Options: o, clients: make(map[string]*client), odd: make(map[string]Line)}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	defer func() { s.place.close() }()
	defer s.closeAll()
	result := &Result{Command: o.Command}
	blocked := ""
	for _, c := range checks {
		done := Check{Name: c.name, Title: c.title, OfLock: c.ofLock, Guarantee: c.guarantee, Mutes: c.mutes, AtKeys: c.atKeys}
		switch why := c.reason(s.ready, o.Virtual != nil); {
		case blocked != "":
			done.Outcome, done.Why = NotRun, blocked
		case why != "":
			done.Outcome, done.Why = NotApplicable, why
		default:
			o.Begin(c.name)
			if err := s.make(ctx, c, &done); err != nil {
				return result, err
			}
			if c.first && done.Outcome != Passed && !done.OfLock {
				blocked = "the check " + c.name + " failed"
			}
		}
		result.Program, result.DeadNode = s.ready, s.deadNode
		result.Checks = append(result.Checks, done)
		o.End(done)
	}
	return result, nil
}

// make makes a check, again if the machine was too slow for it.
func (s *suite) make(ctx context.Context, c check, done *Check) error {
	pace, end := machine.WatchPace()
	defer end()
	for try := 1; ; try++ {
		s.notes, s.slowest, s.patient, s.disturbed = nil, slowest{}, 0, false
		s.endless, s.oneObject, s.permits, s.mode, s.atLeast = false, false, 0, "", 0
		pace.Begin()
		err := s.fresh(ctx)
		if err == nil {
			err = c.run(ctx, s)
		}
		if unsure := s.place.unknown(); unsure != nil {
			err = unsure
		}
		done.Notes = s.notes
		s.dirty = err != nil
		var unknown *world.Unknown
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &unknown):
			done.Outcome, done.Why = NotRun, unknown.Why+"; sim conform --world live may tell"
		case errors.Is(err, errLate) && try < tries:
			continue
		case errors.Is(err, errLate):
			done.Outcome, done.Why = NotRun, s.whyLate(s.late(pace))
		case errors.Is(err, errShort):
			done.Outcome, done.Why = NotRun, err.Error()
		case errors.As(err, &done.Finding):
			done.Outcome = Failed
			done.counts()
		case err != nil:
			return err
		default:
			done.Outcome = Passed
		}
		return nil
	}
}

// counts has a check that failed count where its finding does.
func (c *Check) counts() {
	switch f := c.Finding; {
	case f.ofLock:
		c.OfLock, c.Guarantee, c.Mutes = true, f.guarantee, ""
	case c.OfLock && f.usual != "":
		c.Guarantee = f.usual
	case c.OfLock && f.ofProgram:
		c.OfLock, c.Guarantee = false, ""
	}
}

// suite is what the checks share.
type suite struct {
	Options
	place   place
	ready   *program.Ready
	nodes   *nodes
	clients map[string]*client
	starts  int
	notes   []string
	// patient is how long an answer may take in the place of Patience; 0: no longer.
	patient time.Duration
	// endless: setup is without a TTL. oneObject: it asks for one lock object. permits: it says so many; 0: it says nothing of them.
	endless, oneObject bool
	permits            int
	// mode is how the clients that are set up next take the lock; empty: setup says nothing of that.
	mode program.Mode
	// atLeast is for how long setup says that the lock stays; 0: it says nothing of that.
	atLeast time.Duration
	// deadNode is how long a client needed where a node was dead; 0: no longer than it may.
	deadNode time.Duration
	// slowest is the answer of this try that took longest.
	slowest slowest
	// refuses: a check has found already that the program refuses to release.
	refuses bool
	// dirty: the clients and the nodes are not as a check wants them.
	dirty bool
	// disturbed: a node is dead, or was until now.
	disturbed bool

	mu sync.Mutex // guards what is below, and calls of Line
	// bad are lines that the schema refuses, odd those with a field that it does not know.
	bad []Line
	odd map[string]Line
}

// open opens the place of the checks.
func (s *suite) open(ctx context.Context) error {
	open := openVirtual
	if s.Virtual == nil {
		open = openLive
	}
	p, err := open(ctx, &s.Options)
	if err == nil {
		s.place = p
	}
	return err
}

// late is how late timers were. In virtual time none is.
func (s *suite) late(pace *machine.Pace) time.Duration {
	if s.Virtual != nil {
		return 0
	}
	return pace.Late()
}

func (s *suite) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// ttl is the lease to ask for: as long as the program needs it.
func (s *suite) ttl() time.Duration {
	ttl := s.TTL
	if s.ready == nil {
		return ttl
	}
	ttl = max(ttl, program.Duration(s.ready.TTLMin))
	if step := program.Duration(s.ready.TTLStep); step > 0 {
		ttl = (ttl + step - 1) / step * step
	}
	return ttl
}

// nodeTimeout is how long it is to wait for a node.
func (s *suite) nodeTimeout() time.Duration { return s.ttl() / 4 }

// patience is how long an answer may take beyond the wait that was asked for.
func (s *suite) patience() time.Duration { return cmp.Or(s.patient, s.Patience) }

// fresh makes sure that no lock is held and that every node is there.
func (s *suite) fresh(ctx context.Context) (err error) {
	if s.place.unknown() != nil { // nothing goes on there
		s.closeAll()
		s.place.close()
		if err := s.open(ctx); err != nil || s.nodes == nil {
			return err
		}
		s.nodes, err = s.place.startNodes(ctx, s.ready)
		return err
	}
	if s.nodes == nil {
		return nil
	}
	left, err := s.nodes.locks(ctx, s)
	if err != nil {
		return err
	}
	if len(left) == 0 && !s.dirty {
		return nil
	}
	s.closeAll()
	return s.nodes.reset(ctx)
}

// client is a client of a name: the one that runs, or a new one.
func (s *suite) client(ctx context.Context, name string) (*client, error) {
	if c := s.clients[name]; c != nil && c.why() == nil {
		c.forgetEvents()
		return c, nil
	}
	return s.start(ctx, name)
}

// start starts a client anew, and sets it up. points are those to report.
func (s *suite) start(ctx context.Context, name string, points ...string) (*client, error) {
	s.close(name)
	c, err := s.greet(ctx, name)
	if err != nil {
		return nil, err
	}
	return c, s.setUp(ctx, c, name, points, 0)
}

// greet starts a client, and lets it say what it is.
func (s *suite) greet(ctx context.Context, name string) (*client, error) {
	s.starts++
	log := filepath.Join(s.Dir, fmt.Sprintf("%s-%d.log", name, s.starts))
	file, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("failed to write a log: %w", err)
	}
	c := &client{name: name, suite: s, path: log, file: file}
	c.log = program.NewLog(printed{c})
	c.running, err = s.place.start(ctx, c, min(s.Patience, program.ReadyWithin))
	if err != nil {
		_ = file.Close()
		if none := (*exec.Error)(nil); errors.As(err, &none) {
			return nil, err
		}
		if none := (*fs.PathError)(nil); errors.As(err, &none) {
			return nil, err
		}
		return nil, c.failed(ctx, program.Hello, err)
	}
	s.clients[name] = c
	return c, nil
}

// setUp sets a client up, and tells it its name.
func (s *suite) setUp(ctx context.Context, c *client, name string, points []string, busy time.Duration) error {
	ttl := program.TTLMS(s.ttl())
	if s.endless {
		ttl = nil
	}
	err := c.setUp(ctx, program.Setup{
		Client: name, Process: c.process, Seed: 1, Nodes: s.nodes.told, Topology: program.Independent, Points: points, BusyMS: program.MS(busy),
		OneObject: s.oneObject,
		Lock: program.Lock{Key: s.Key, TTLMS: ttl, NodeTimeoutMS: program.MS(s.nodeTimeout()), Permits: s.permits, Mode: s.mode,
			AtLeastMS: program.MS(s.atLeast), Options: []byte("{}")},
	}, cmp.Or(s.patient, min(s.Patience, program.ReadyWithin)))
	if err != nil {
		return c.failed(ctx, program.SetupType, err)
	}
	return nil
}

// close ends a client. It reports whether that ended by itself.
func (s *suite) close(name string) bool {
	c := s.clients[name]
	if c == nil {
		return true
	}
	delete(s.clients, name)
	ended := c.close()
	_ = c.file.Close()
	return ended
}

func (s *suite) closeAll() {
	for name := range s.clients {
		s.close(name)
	}
}

func acquireMessage(wait time.Duration) program.Message {
	ms := program.MS(max(wait, program.MinWait))
	return program.Message{Type: program.AcquireType, WaitMS: &ms}
}

// acquire asks for the lock.
func (s *suite) acquire(ctx context.Context, c *client, wait time.Duration) (program.Answer, error) {
	return c.request(ctx, acquireMessage(wait), wait)
}

// held is a grant of which the client is sure.
type held struct {
	program.Answer
	// asked and answered are when, until when the lease lasts at least. wall is asked on the clock of the nodes, ends how many ends
	// of keys their journals had told of by then.
	asked, answered, until time.Duration
	wall                   time.Time
	ends                   int
}

// over reports that a grant was not valid any more when it came, by its own words.
func (h *held) over() bool { return h.Valid && h.From+h.Validity <= h.answered }

// get gets a lock that nobody holds.
func (s *suite) get(ctx context.Context, c *client) (held, error) {
	return s.getWithin(ctx, c, s.ttl()+3*time.Second)
}

// attempt asks for the lock once. It may not be held then: its type tells.
func (s *suite) attempt(ctx context.Context, c *client, wait time.Duration) (held, error) {
	s.nodes.readEnds()
	ends, asked, wall := len(s.nodes.ends), s.place.now(), s.place.wall()
	a, err := s.acquire(ctx, c, wait)
	h := held{Answer: a, asked: asked, answered: s.place.latest(), until: asked + s.ttl(), wall: wall, ends: ends}
	if a.Valid {
		h.until = min(h.until, a.From+a.Validity)
	}
	return h, err
}

// getWithin asks until the lock is granted, for so long and three times at least.
func (s *suite) getWithin(ctx context.Context, c *client, within time.Duration) (held, error) {
	deadline := s.place.now() + within
	for n := 1; ; n++ {
		wait := deadline - s.place.now()
		if s.patient > 0 { // in pieces, so that a client that waits too long for its node begins anew
			wait = min(wait, s.ttl()+3*time.Second)
		}
		if h, err := s.attempt(ctx, c, max(wait, s.ttl()/4)); err != nil || h.Type == program.Acquired {
			return h, err
		}
		if n >= 3 && s.place.now() > deadline {
			return held{}, c.finding(fmt.Sprintf("%s asked for the lock for %v, and did not get it", c.name, within),
				"acquired: nobody else holds the lock",
				"look at the reason that the program tells (why), and at its log").keepsFromProgress()
		}
		if err := s.place.sleep(ctx, pause); err != nil {
			return held{}, err
		}
	}
}

// release gives a grant back; the lock may have ended.
func (s *suite) release(ctx context.Context, c *client, h held) (program.Answer, error) {
	return c.request(ctx, program.Message{Type: program.ReleaseType, Grant: h.Grant}, 0)
}

// give gives a lock back that is held.
func (s *suite) give(ctx context.Context, c *client, h held) error {
	a, err := s.release(ctx, c, h)
	switch {
	case err != nil:
		return err
	case a.Type == program.Unknown && s.disturbed:
		s.note("%s was to release a lock that it held, and the answer was unknown: %s. Say released if the library's release has succeeded",
			c.name, a.Why)
	case a.Type == program.Refused && s.refuses: // as always
	case a.Type == program.Unknown && !s.inTime(h) && !s.ready.Has(program.Renews):
		return errLate
	case a.Type == program.Unknown:
		return c.finding(c.name+" was to release a lock that it held, and does not know whether it did: "+a.Why,
			"released: no fault was in the way",
			"say released if the library's release has succeeded; if it fails by an error, it cannot be used so").keepsFromProgress()
	case a.Type == program.Refused && s.endedEarly(h): // it is not ours any more: the check expiry says why
	case a.Type == program.Refused && !s.inTime(h) && !s.ready.Has(program.Renews):
		return errLate
	case a.Type == program.Refused:
		s.refuses = true
		return c.finding(c.name+" was to release a lock that it held, and refused: "+a.Why, "released",
			"say refused only if the lock was not ours any more").against(progress)
	}
	return nil
}

// inTime reports that a lease certainly lasts until now.
func (s *suite) inTime(h held) bool { return s.place.now() < h.until }

// pause is how long is waited between two looks.
const pause = 10 * time.Millisecond

// eventually waits for a condition; false: it did not come true in time.
func (s *suite) eventually(ctx context.Context, within time.Duration, ok func() (bool, error)) (bool, error) {
	for deadline := s.place.now() + within; ; {
		if yes, err := ok(); yes || err != nil {
			return yes, err
		}
		if s.place.now() > deadline {
			return false, nil
		}
		if err := s.place.sleep(ctx, pause); err != nil {
			return false, err
		}
	}
}
