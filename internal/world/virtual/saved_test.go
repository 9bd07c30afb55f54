package virtual

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// persisted reads a field of INFO persistence.
func (r *realRedis) persisted(field string) string { return r.Info("persistence", field) }

// settle waits until the server's housekeeping has done what is due by its clock:
// it runs ten times a second, whatever the clock shows.
func (r *realRedis) settle(t rapid.TB, done func() bool) {
	t.Helper()
	suite.Succeeds(t, "redis-server to come to rest", func() error {
		if done() {
			return nil
		}
		return fmt.Errorf("%s changes are unsaved", r.persisted("rdb_changes_since_last_save"))
	})
}

// TestRestartIsRedisWithSnapshots: a real server and the model's node save at the
// same times of the clock, and come back from a kill with the same data.
func TestRestartIsRedisWithSnapshots(t *testing.T) {
	t.Parallel()
	suite.All(t)
	real := startRealRedis(t, "--appendonly", "no", "--save", "1 1")
	n := modelNode(t, world.RDB)
	saved := func() bool {
		return real.persisted("rdb_changes_since_last_save") == "0" && real.persisted("rdb_bgsave_in_progress") == "0"
	}
	restarts := 0
	rapid.Check(t, func(rt *rapid.T) {
		clock := epochSeconds
		real.Set(rt, clock)
		if err := real.RDB.FlushAll(context.Background()).Err(); err != nil {
			rt.Fatal(err)
		}
		// The server may save by itself just now, and then refuses.
		real.settle(rt, func() bool { return real.RDB.Save(context.Background()).Err() == nil })
		n.memory.Items, n.memory.Now = nil, clock*second
		n.disk.started(n, n.memory.Now, world.KeepNothing)
		tick := func() {
			n.memory.Now = clock * second
			dirty := n.disk.dirty
			if n.disk.saveAfterJump(n, n.memory.Now, n.disk.last); dirty && !n.disk.dirty {
				real.settle(rt, saved)
			}
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			tick()
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
				restarts++
				real.Kill()
				real.Launch(rt)
				n.memory.Items = n.disk.load(n, world.KeepData)
				n.disk.started(n, n.memory.Now, world.KeepNothing)
			case 1:
				for range rapid.IntRange(1, 3).Draw(rt, "by") {
					clock++
					real.Set(rt, clock)
					tick()
				}
			case 2:
				clock += int64(rapid.IntRange(1, 5).Draw(rt, "jump"))
				real.Set(rt, clock)
				tick()
			default:
				before := n.memory.Writes - n.memory.Expiries
				real.both(rt, &n.memory, drawCommand(rt))
				if n.memory.Writes-n.memory.Expiries != before {
					n.disk.wrote(n, n.memory.Now)
				}
			}
			if dirty := !saved(); dirty && !n.disk.dirty {
				rt.Fatalf("Redis has %s changes to save, the model none", real.persisted("rdb_changes_since_last_save"))
			}
		}
	})
	if restarts == 0 {
		t.Error("nothing was ever killed")
	}
}
