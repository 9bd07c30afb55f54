package server

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Hooks are commands that do to the host of a node what sim cannot do from afar.
// Each is a program and its arguments; there is no shell. A hook has done its
// work when it ends, with exit code 0.
type Hooks struct {
	Pause, Resume []string
	Kill, Restart []string
	Clock         []string
}

// missingFor says what is missing for a demand; nil: nothing.
func (h Hooks) missingFor(d world.Demand) error {
	var missing []string
	need := func(name string, command []string) {
		if len(command) == 0 {
			missing = append(missing, fmt.Sprintf("nodes.hooks.%s.%s", d.Node, name))
		}
	}
	switch d.Power {
	case world.PausePower:
		need("pause", h.Pause)
		need("resume", h.Resume)
	case world.CrashPower, world.PowerCutPower:
		need("kill", h.Kill)
		need("restart", h.Restart)
	case world.NodeClockPower:
		need("clock", h.Clock)
	case world.ReplicaPower:
		return errors.New("existing servers are not made replicas or primaries")
	case world.SentinelPower:
		return errors.New("sentinels change the settings of the servers that they watch, so they watch none that exist already")
	case world.MemoryPower:
		return errors.New("what existing servers have in their memory stays there")
	case world.TearPower, world.FlipPower:
		return errors.New("the files of existing servers stay as they are")
	case world.ClientClockPower, world.PostgresPower, world.MessagePower,
		world.LatencyPower, world.BandwidthPower, world.CutPower, world.HoldPower, world.StallPower, world.ResetPower,
		world.SlowClosePower, world.LimitDataPower, world.RefusePower: // clients, links and PostgreSQL are here, wherever the nodes are
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("it needs access to the host of node %s, but sim knows only the address; add %s to do it",
		d.Node, strings.Join(missing, " and "))
}

// nodeHooks are the hooks of a node.
type nodeHooks struct {
	node, address string
	hooks         Hooks
}

// hookWithin bounds how long a hook may take.
const hookWithin = 30 * time.Second

// run carries a hook out. In its arguments {node} and {address} stand for those,
// and more names other words and what they stand for.
func (h nodeHooks) run(name string, more ...string) error {
	command := map[string][]string{
		"pause": h.hooks.Pause, "resume": h.hooks.Resume, "kill": h.hooks.Kill, "restart": h.hooks.Restart, "clock": h.hooks.Clock,
	}[name]
	if len(command) == 0 {
		return fmt.Errorf("node %s has no hook %s", h.node, name)
	}
	words := strings.NewReplacer(append([]string{"{node}", h.node, "{address}", h.address}, more...)...)
	args := make([]string, len(command))
	for i, a := range command {
		args[i] = words.Replace(a)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hookWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("the hook %s of node %s failed: %w: %s", name, h.node, err, lastLine(out))
	}
	return nil
}

// hookClock is a node's clock that a hook moves: {offset} is how many seconds it
// is to be ahead, {rate} how fast it is to run from there.
type hookClock struct {
	hooks nodeHooks

	mu     sync.Mutex
	offset time.Duration
	rate   float64
	since  time.Time
}

var _ movableClock = (*hookClock)(nil)

func (c *hookClock) Set(f machine.Bend) error {
	if f.Strobe > 0 {
		return fmt.Errorf("the clock of node %s cannot strobe: a hook moves it", c.hooks.node)
	}
	return c.move(c.Ahead()+f.Jump, f.Rate)
}

func (c *hookClock) Reset() error { return c.move(0, 1) }

func (c *hookClock) move(offset time.Duration, rate float64) error {
	err := c.hooks.run("clock",
		"{offset}", strconv.FormatFloat(offset.Seconds(), 'f', 6, 64), "{rate}", strconv.FormatFloat(rate, 'g', -1, 64))
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset, c.rate, c.since = offset, rate, time.Now()
	return nil
}

func (c *hookClock) Ahead() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return 0
	}
	return c.offset + time.Duration(float64(time.Since(c.since))*(c.rate-1))
}

// Halt sets the clock right: nobody else would.
func (c *hookClock) Halt() {
	if c.mu.Lock(); c.since.IsZero() || c.offset == 0 && c.rate == 1 {
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	_ = c.Reset()
}

// fixedClock is a clock that nobody can move.
type fixedClock struct{}

func (fixedClock) Set(machine.Bend) error { return errors.New("no hook moves this clock") }
func (fixedClock) Reset() error           { return nil }
func (fixedClock) Ahead() time.Duration   { return 0 }
func (fixedClock) Halt()                  {}
