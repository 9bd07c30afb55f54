package virtual

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// synced counts how often the server's thread for fsync has had a job, in sleeps, and how
// long its append-only file is, once nothing is left to do.
func (r *realRedis) synced(t rapid.TB) (fsyncs, size int64) {
	t.Helper()
	thread := server.SyncThread{PID: r.PID()}
	defer thread.Close()
	r.settle(t, func() bool {
		thread.Look() // INFO lets the server see the clock, and do what is due by it
		done := r.persisted("aof_pending_bio_fsync") == "0" && r.persisted("aof_buffer_length") == "0"
		return done && thread.Look() == server.Slept
	})
	info, err := os.Stat(r.appendOnly())
	if err != nil {
		t.Fatalf("%v", err)
	}
	return thread.Sleeps(), info.Size()
}

func (r *realRedis) appendOnly() string {
	return filepath.Join(r.Dir, "appendonlydir", "appendonly.aof.1.incr.aof")
}

// TestPowerCutIsRedis: with an fsync every second, a real server and the model's
// node fsync at the same steps, and a power cut leaves both the same data.
func TestPowerCutIsRedis(t *testing.T) {
	t.Parallel()
	suite.All(t)
	real := startRealRedis(t, "--appendonly", "yes", "--appendfsync", "everysec")
	n := modelNode(t, world.AOFEverysec)
	clock, cuts, lost := epochSeconds, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		// What the last check has left is fsynced in a second of its own: the first write of
		// the next one is fsynced at once.
		clock++
		real.Set(rt, clock)
		real.synced(rt)
		clock++
		real.Set(rt, clock)
		if err := real.RDB.FlushAll(context.Background()).Err(); err != nil {
			rt.Fatal(err)
		}
		n.memory.Items, n.memory.Now = nil, clock*second
		n.disk.started(n, n.memory.Now, world.KeepNothing)
		fsyncs, safe := real.synced(rt)
		// agree waits for an fsync of the server where the model has fsynced.
		agree := func(modelSynced bool) {
			if modelSynced {
				before := fsyncs
				real.settle(rt, func() bool { fsyncs, safe = real.synced(rt); return fsyncs != before })
			}
		}
		tick := func() {
			n.memory.Now = clock * second
			dirty := n.disk.dirty
			n.disk.saveAfterJump(n, n.memory.Now, n.disk.last)
			agree(dirty && !n.disk.dirty)
		}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			tick()
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0:
				cuts++
				_, written := real.synced(rt)
				if written > safe {
					lost++
				}
				real.Kill()
				if err := os.Truncate(real.appendOnly(), safe); err != nil {
					rt.Fatal(err)
				}
				real.Launch(rt)
				n.memory.Items = n.disk.load(n, world.KeepSynced)
				n.disk.started(n, n.memory.Now, world.KeepNothing)
				// The server deletes what has expired, until it is told not to.
				if fsyncs, written = real.synced(rt); written > safe {
					n.sweep()
				}
			case 1:
				clock += int64(rapid.IntRange(1, 3).Draw(rt, "by"))
				real.Set(rt, clock)
				tick()
			default:
				before, last := n.memory.Writes, n.disk.last
				real.both(rt, &n.memory, drawCommand(rt))
				if n.memory.Writes != before {
					n.disk.wrote(n, n.memory.Now)
				}
				agree(n.disk.last != last)
			}
			if now, size := real.synced(rt); now != fsyncs {
				rt.Fatalf("Redis has fsynced %d bytes that the model has not", size-safe)
			}
		}
	})
	if cuts == 0 || lost == 0 {
		t.Errorf("%d power cuts, of which %d lost something", cuts, lost)
	}
}
