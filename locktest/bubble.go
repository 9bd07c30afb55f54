package locktest

import (
	"context"
	"errors"
	"fmt"
	oldrand "math/rand"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/explore"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/runner"
)

// engine makes one run after the other in a bubble of testing/synctest. It is one bubble for
// all runs of a test: libraries keep timers in pools of the process (sync.Pool), and the use of
// one that was made in another bubble ends the process.
type engine struct {
	t    *testing.T
	open func(Env) (Lock, error)
	// about is what the history says of the lock.
	about program.Ready

	begin sync.Once
	jobs  chan job
	over  chan struct{}
	world explore.Virtual
	// tally is that of all runs.
	tally tally
	// left: there are goroutines with which no bubble can end.
	left bool
}

// job is a run to be made.
type job struct {
	ctx  context.Context //nolint:containedctx // of the run
	c    runner.Config
	done chan<- result
}

type result struct {
	runner.Outcome
	err error
}

// errLeft says that a lock left goroutines behind, errUnknown that it asked a node for something
// that the model does not have, errStuck that a run does not come to its end.
var (
	errLeft    = errors.New("goroutines are left behind")
	errUnknown = errors.New("the model of a node does not know")
	errStuck   = errors.New("the run does not end")
)

// stagger is how far apart clients begin that start together: timers that are due at the same
// instant would go off in no fixed order.
const stagger = time.Millisecond

// stuckAfter bounds a run in real time.
const stuckAfter = 20 * time.Second

const stuckHint = `hint: time in a bubble stands while a goroutine waits for a sync.Mutex, a system call or a
connection that Node.Dial did not open. So a mutex must not be held while the code waits for a node where
another goroutine wants it (go-redis before 9.7.1 dials so). These goroutines do not wait for time:`

// Close implements explore.Place.
func (e *engine) Close() {}

// Run implements explore.Place.
func (e *engine) Run(ctx context.Context, c runner.Config) (runner.Outcome, error) {
	e.begin.Do(e.inflate)
	c.Stagger, c.Program = max(c.Stagger, stagger), &e.about
	done := make(chan result, 1)
	select {
	case e.jobs <- job{ctx, c, done}:
	case <-e.over:
		return runner.Outcome{}, fmt.Errorf("%w: its bubble is over", errStuck)
	}
	late := time.NewTimer(stuckAfter)
	defer late.Stop()
	select {
	case r := <-done:
		return r.Outcome, r.err
	case <-late.C:
		e.left = true
		return runner.Outcome{}, fmt.Errorf("%w within %v of real time\n%s\n%s", errStuck, stuckAfter, stuckHint,
			inBubble(func(head string) bool { return !strings.Contains(head, "(durable)") }))
	}
}

// inflate makes the bubble, which lasts until the test ends.
func (e *engine) inflate() {
	e.jobs, e.over = make(chan job), make(chan struct{})
	for range 2 { // then no pool has anything of an earlier bubble
		runtime.GC()
	}
	go func() {
		defer close(e.over)
		defer func() {
			if r := recover(); r != nil && !e.left {
				panic(r)
			}
		}()
		synctest.Test(e.t, func(t *testing.T) {
			for j := range e.jobs { // the bubble's time stands meanwhile
				out, err := e.run(j.ctx, t, j.c)
				j.done <- result{out, err}
			}
		})
	}()
	e.t.Cleanup(func() {
		close(e.jobs)
		if !e.left { // else it never ends
			<-e.over
		}
	})
}

// run makes a run in the bubble.
func (e *engine) run(ctx context.Context, t *testing.T, c runner.Config) (out runner.Outcome, err error) {
	before := runtime.NumGoroutine()
	seedRandomness(t, c.Seed)
	// The same run begins at the same part of a second.
	part := time.Duration(rand.New(rand.NewPCG(c.Seed, 0x627562626c65)).Int64N(int64(time.Second)))
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second + part)))
	g := newGuests(e.open, &e.tally)
	e.world.Guests, e.world.Locks, e.world.Wall = g, g, time.Duration(g.began.UnixNano())
	out, err = e.world.Run(ctx, c)
	g.finish()
	if len(g.unknown) > 0 {
		err = errors.Join(err, fmt.Errorf("%w %s", errUnknown, strings.Join(g.unknown, ", ")))
	}
	if runtime.NumGoroutine() > before {
		if left := inBubble(func(string) bool { return true }); left != "" {
			e.left = true
			why := "close in Env.Cleanup what was opened"
			if busy := g.busy(); len(busy) > 0 {
				why = strings.Join(busy, "; ")
			}
			err = errors.Join(err, fmt.Errorf("%w: %s\n%s", errLeft, why, left))
		}
	}
	return out, err
}

// seedRandomness lets a library draw the same in every run of a seed.
func seedRandomness(t *testing.T, seed uint64) {
	cryptotest.SetGlobalRandom(t, seed)
	oldrand.Seed(int64(seed)) //nolint:staticcheck // libraries draw from it
	seedGlobalRand(seed)
}

// inBubble shows the goroutines in the bubble that are not ours, and whose first line is wanted.
func inBubble(wanted func(head string) bool) string {
	stacks := make([]byte, 1<<20)
	list := strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n")
	list = slices.DeleteFunc(list, func(s string) bool {
		head, _, _ := strings.Cut(s, "\n")
		return !strings.Contains(head, "synctest bubble") ||
			!wanted(head) || strings.Contains(s, "locktest.(*engine)") || strings.Contains(s, "testing.testingSynctestTest(")
	})
	const most = 3
	if len(list) > most {
		list = append(list[:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(list, "\n\n")
}
