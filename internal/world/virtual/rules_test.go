package virtual

import (
	"context"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// bench is a node whose clock stands where a test sets it.
type bench struct {
	t    *testing.T
	n    *redisModel
	conn connection
}

// modelNode is a node of the model with a clock that stands still.
func modelNode(t testing.TB, p world.Persistence) *redisModel {
	w, err := Open(context.Background(), world.Spec{Lock: lock.Config{Key: "unwatched"}, Nodes: []world.Node{{Name: "A", Persistence: p}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w.nodes[0].model()
}

func newBench(t *testing.T, p world.Persistence, at int64) *bench {
	b := &bench{t: t, n: modelNode(t, p)}
	b.at(at)
	b.n.disk.started(b.n, b.n.memory.Now, world.KeepNothing)
	return b
}

// at sets the clock, in seconds since 1970.
func (b *bench) at(s int64) { b.n.memory.Now = s * second }

// do carries a command out as the node does.
func (b *bench) do(c command.Command) command.Reply {
	b.t.Helper()
	b.n.disk.catchUp(b.n, b.n.memory.Now)
	var r command.Reply
	if !b.n.execute(&c, nil, &b.conn, true, &r) {
		b.t.Fatalf("%v was not carried out", c.Op)
	}
	return r
}

// saved is what a power cut leaves of a key.
func (b *bench) saved(key string) string {
	b.n.disk.catchUp(b.n, b.n.memory.Now)
	for _, it := range b.n.disk.load(b.n, world.KeepSynced) {
		if it.Key == key {
			return it.Value
		}
	}
	return ""
}

// TestWhenTheNodeSaves: "save 1 1" saves in the second second after the last
// snapshot, an fsync every second in the next one, an fsync always at once.
func TestWhenTheNodeSaves(t *testing.T) {
	for _, test := range []struct {
		p    world.Persistence
		from int64 // the first second, after that of the start, in which the write is safe
	}{{world.RDB, 2}, {world.AOFEverysec, 1}, {world.AOFAlways, 0}} {
		b := newBench(t, test.p, 1000)
		b.do(command.Set("a", "1", 0))
		for after := range int64(4) {
			b.at(1000 + after)
			if safe := b.saved("a") == "1"; safe != (after >= test.from) {
				t.Errorf("%s, %d s after the start: it is safe: %v", test.p, after, safe)
			}
		}
		b.do(command.Set("a", "2", 0)) // more than the interval after the last
		b.at(1004)
		if b.saved("a") != "2" {
			t.Errorf("%s: a later write is not safe in the next second", test.p)
		}
	}
	// The first write of a second is fsynced at once, the second is not.
	b := newBench(t, world.AOFEverysec, 1000)
	b.at(1001)
	if b.do(command.Set("a", "1", 0)); b.saved("a") != "1" {
		t.Error("the first write of a second is not safe")
	}
	if b.do(command.Set("a", "2", 0)); b.saved("a") != "1" {
		t.Error("the second write of a second is safe")
	}
	if b.at(1002); b.saved("a") != "2" {
		t.Error("the second write of a second is not safe in the next one")
	}
}

// TestWhenTheNodeSavesAfterAJump: what a jump of the clock, or a pause, has made due is
// saved when it is over. So the next second in which something is saved begins there.
func TestWhenTheNodeSavesAfterAJump(t *testing.T) {
	for name, skip := range map[string]func(*redisModel){
		"jump": func(n *redisModel) { n.bend(&world.ClockFault{Jump: 5 * time.Second, Rate: 1}) },
		"pause": func(n *redisModel) {
			n.pause()
			n.w.s.now += 5 * time.Second
			n.resume()
		},
	} {
		b := newBench(t, world.AOFEverysec, int64(epoch/time.Second))
		b.do(command.Set("a", "1", 0))
		skip(b.n)
		b.n.seeClock()
		if b.saved("a") != "1" {
			t.Errorf("%s: what was due is not saved", name)
		}
		b.do(command.Set("a", "2", 0))
		if b.saved("a") != "1" {
			t.Errorf("%s: a write is safe in the second in which something was fsynced before", name)
		}
		b.n.memory.Now += second
		if b.saved("a") != "2" {
			t.Errorf("%s: a write is not safe in the next second", name)
		}
	}
}

// TestAReplicaRefusesWAIT, and reads.
func TestAReplicaRefusesWAIT(t *testing.T) {
	b := newBench(t, world.NoPersistence, 1000)
	b.n.memory.Follows = true
	for _, c := range []command.Command{command.Wait(1, time.Second), command.Get("a")} {
		k := &call{conn: &b.conn, cmd: c}
		if refused := b.n.serve(k) && k.reply.Outcome == command.Refused; refused != (c.Op == command.WAIT) {
			t.Errorf("the reply to %v is %v", c.Op, k.reply)
		}
	}
}

// TestWAITAOFWaitsForTheFsync: with everysec until the next second begins, with always not at all, and else for ever. A node without an
// append-only file refuses it.
func TestWAITAOFWaitsForTheFsync(t *testing.T) {
	for persistence, want := range map[world.Persistence][2]bool{
		world.AOFEverysec: {false, true}, world.AOFAlways: {true, true}, world.AOFNo: {},
	} {
		b := newBench(t, persistence, 1000)
		for _, key := range []string{"a", "b"} { // the first write of a second is synced at once
			b.n.serve(&call{conn: &b.conn, cmd: command.Set(key, "1", 0)})
		}
		wait := &blocked{call: &call{conn: &b.conn, cmd: command.WaitSynced(time.Second)}, offset: b.conn.written}
		at := b.n.hasEnough(wait)
		b.n.disk.catchUp(b.n, b.n.memory.Now+second)
		if got := [2]bool{at, b.n.hasEnough(wait)}; got != want {
			t.Errorf("%v: WAITAOF has what it waits for at once, in the next second: %v, want %v", persistence, got, want)
		}
	}
	b := newBench(t, world.RDB, 1000)
	if k := (&call{conn: &b.conn, cmd: command.WaitSynced(time.Second)}); !b.n.serve(k) || k.reply.Outcome != command.Refused {
		t.Errorf("without an append-only file: %v", k.reply)
	}
}

// TestAPauseEndsWithOneFsync: all that came meanwhile is in it.
func TestAPauseEndsWithOneFsync(t *testing.T) {
	b := newBench(t, world.AOFEverysec, int64(epoch/time.Second))
	b.n.pause()
	b.n.w.s.now += 5 * time.Second
	for _, value := range []string{"1", "2"} {
		b.n.queue = append(b.n.queue, &call{cmd: command.Set("a", value, 0), conn: &b.conn, clientDone: true})
	}
	b.n.resume()
	if got := b.saved("a"); got != "2" {
		t.Errorf("%q is safe after a pause in which two writes came", got)
	}
}

// TestARestartSyncsNothing: what a process has appended is synced when the next one writes.
func TestARestartSyncsNothing(t *testing.T) {
	now := int64(epoch / time.Second)
	b := newBench(t, world.AOFEverysec, now)
	b.do(command.Set("a", "1", 0))
	b.n.kill()
	b.n.restart(world.KeepData)
	if b.at(now + 5); b.saved("a") != "" {
		t.Error("a restart has synced what was appended before")
	}
	if b.do(command.Set("b", "1", 0)); b.saved("a") != "1" {
		t.Error("the first write of a second has not synced what was appended before")
	}
}

// TestExpiredAtTheStart: a server deletes at its start what has expired; the fsync of that
// comes in the next second, before any write of it.
func TestExpiredAtTheStart(t *testing.T) {
	now := int64(epoch / time.Second)
	b := newBench(t, world.AOFEverysec, now)
	b.do(command.Set("old", "1", time.Second))
	b.n.kill()
	b.n.w.s.now += 2 * time.Second
	b.n.restart(world.KeepData)
	if len(b.n.memory.Items) != 0 {
		t.Error("a key that has expired is still there after the start")
	}
	b.at(now + 3)
	if b.do(command.Set("a", "1", 0)); b.saved("a") != "" {
		t.Error("the first write of the second in which the deletion was fsynced is safe")
	}
}

// TestExpiryIsNoChangeToSave: a snapshot is not made because a key has expired,
// while an append-only file has the deletion.
func TestExpiryIsNoChangeToSave(t *testing.T) {
	b := newBench(t, world.RDB, 1000)
	b.do(command.Set("old", "1", time.Second))
	b.at(1002)
	b.do(command.Get("b"))
	b.at(1005)
	b.do(command.Get("old")) // it is gone
	if b.n.disk.dirty {
		t.Error("an expiry alone is to be saved")
	}
	b.do(command.Set("b", "1", 0))
	if b.saved("b") != "1" {
		t.Error("a write after an expiry, long after the last snapshot, is not saved")
	}
	b = newBench(t, world.AOFAlways, 1000)
	b.do(command.Set("old", "1", time.Second))
	b.at(1005)
	b.do(command.Get("old"))
	if b.at(1000); b.saved("old") != "" {
		t.Error("a key that had expired is back after the clock went back")
	}
}

// TestSnapshotIsLoadedWithoutWhatHasExpired: a key lives through its last
// millisecond, and one without an expiry for ever.
func TestSnapshotIsLoadedWithoutWhatHasExpired(t *testing.T) {
	for after, want := range map[time.Duration]string{10 * time.Second: "1", 10*time.Second + time.Millisecond: ""} {
		b := newBench(t, world.RDB, 1000)
		b.do(command.Set("leased", "1", 10*time.Second))
		b.do(command.Set("kept", "1", 0))
		b.at(1005)
		b.do(command.Get("kept"))
		b.n.memory.Now = 1000*second + int64(after/time.Microsecond)
		if b.saved("leased") != want || b.saved("kept") != "1" {
			t.Errorf("after %v: the leased key is %q, the other %q", after, b.saved("leased"), b.saved("kept"))
		}
	}
}

// TestRewrittenWhileTheClockIsBack: what is set while a strobing clock stands back is
// not touched by what it showed before.
func TestRewrittenWhileTheClockIsBack(t *testing.T) {
	w := small(t, nil)
	if err := w.SetClock("A", world.WallClock, world.ClockFault{Jump: 5 * time.Second, Rate: 1, Strobe: 100 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	inClient(w, "c1", func(e *env) {
		e.Sleep(120 * time.Millisecond) // it stands back
		do(e, command.Set("lock", "mine", time.Second))
		for range 3 {
			if e.Sleep(10 * time.Millisecond); held(w, "A") != "mine" {
				t.Error("the key is gone, though the clock has not gone forth since")
			}
		}
		if e.Sleep(100 * time.Millisecond); held(w, "A") != "" {
			t.Error("the key is there though the clock went forth by more than its lease")
		}
	})
}

// TestPExpireOfNoTime: a key whose time to live is set to nothing is deleted.
func TestPExpireOfNoTime(t *testing.T) {
	for _, ttl := range []time.Duration{0, -time.Second} {
		w := small(t, nil)
		events := recorded(w)
		inClient(w, "c1", func(e *env) {
			do(e, command.Set("lock", "mine", time.Minute))
			r, _ := do(e, command.PExpire("lock", ttl))
			got := of(events, 0, "A")
			if r.Int != 1 || held(w, "A") != "" || len(got) != 2 || got[1].F != history.KeyDeleted {
				t.Errorf("PEXPIRE %v: %+v; A has %q and shows %+v", ttl, r, held(w, "A"), got)
			}
			if r, _ := do(e, command.PExpire("lock", ttl)); r.Int != 0 {
				t.Errorf("PEXPIRE %v of no key: %+v", ttl, r)
			}
		})
	}
}

// TestTimeToLive: in milliseconds; -1 for a key without an expiry, -2 for none.
func TestTimeToLive(t *testing.T) {
	b := newBench(t, world.NoPersistence, 1000)
	b.do(command.Set("leased", "1", 10*time.Second))
	b.do(command.Set("kept", "1", 0))
	b.at(1004)
	for key, want := range map[string]int64{"leased": 6000, "kept": -1, "none": -2} {
		if r := b.do(command.TTLOf(key)); r.Int != want {
			t.Errorf("%s lives for %d ms, want %d", key, r.Int, want)
		}
	}
}

// TestScriptIsSentOnce: after its start a node knows no script; one costs a second
// round trip the first time, and every script for itself.
func TestScriptIsSentOnce(t *testing.T) {
	w := small(t, nil)
	disturb(t, w, world.Disturbance{Kind: world.Latency, Latency: 10 * time.Millisecond, Direction: world.Both})
	scripts := map[string]command.Command{}
	for _, s := range warmed {
		switch s.Name {
		case "release":
			scripts[s.Name] = command.Eval(s, []string{"lock"}, "nobody")
		case "raise-counter":
			scripts[s.Name] = command.Eval(s, []string{"count"}, "1")
		}
	}
	inClient(w, "c1", func(e *env) {
		trips := func(name string) int64 {
			r, took := do(e, scripts[name])
			if r.Outcome != command.Done {
				t.Errorf("%s: %+v", name, r)
			}
			return took.Milliseconds() / 20
		}
		if got := trips("release"); got != 1 {
			t.Errorf("a script that is known takes %d round trips", got)
		}
		_ = w.Kill("A")
		_ = w.Restart("A", world.KeepNothing)
		do(e, command.Get("lock")) // connects anew
		for _, want := range []int64{2, 1} {
			for _, name := range []string{"release", "raise-counter"} {
				if got := trips(name); got != want {
					t.Errorf("after the restart %s takes %d round trips, want %d", name, got, want)
				}
			}
		}
	})
}

// transaction is a memory with two connections.
type transaction struct {
	model.Memory
	mine, others model.Connection
}

func (x *transaction) watch(keys ...string) {
	c := command.Watch(keys...)
	x.Transact(&c, &x.mine)
}

// fails runs an empty transaction and reports whether a watched key had changed.
func (x *transaction) fails() bool {
	c := command.Exec()
	return x.Transact(&c, &x.mine).Nil
}

// TestWatchedKeys: a transaction fails where a watched key was changed, removed, or
// has expired since; not where it had expired before.
func TestWatchedKeys(t *testing.T) {
	const ttl = 10 * time.Second
	later := func(x *transaction, by time.Duration) { x.Now += int64(by / time.Microsecond) }
	for _, test := range []struct {
		what string
		do   func(x *transaction)
		want bool
	}{
		{"nothing happens", func(x *transaction) { x.watch("kept") }, false},
		{"it is set", func(x *transaction) { x.watch("kept"); x.Set("kept", "2", 0, false) }, true},
		{"it is deleted", func(x *transaction) { x.watch("kept"); x.Del("kept") }, true},
		{"another is set", func(x *transaction) { x.watch("kept"); x.Set("leased", "2", 0, false) }, false},
		{"it was set before", func(x *transaction) { x.Set("kept", "2", 0, false); x.watch("kept") }, false},
		{"it comes into being", func(x *transaction) { x.watch("new"); x.Set("new", "1", 0, false) }, true},
		{"its last millisecond", func(x *transaction) { x.watch("leased"); later(x, ttl) }, false},
		{"it expires", func(x *transaction) { x.watch("leased"); later(x, ttl+time.Millisecond) }, true},
		{"watched in its last millisecond, it expires",
			func(x *transaction) { later(x, ttl); x.watch("leased"); later(x, time.Millisecond) }, true},
		{"it had expired", func(x *transaction) { later(x, ttl+time.Millisecond); x.watch("leased") }, false},
		{"it had expired and is removed", func(x *transaction) { later(x, ttl+time.Millisecond); x.watch("leased"); x.Get("leased") }, false},
		{"it had expired, is removed, and set", func(x *transaction) {
			later(x, ttl+time.Millisecond)
			x.watch("leased")
			x.Get("leased")
			x.Set("leased", "2", 0, false)
		}, true},
		{"it had expired, and is set twice when the clock is back", func(x *transaction) {
			later(x, ttl+time.Millisecond)
			x.watch("leased")
			later(x, -ttl)
			x.Set("leased", "2", 0, false)
			x.Set("leased", "3", 0, false)
		}, false},
		{"no longer watched", func(x *transaction) {
			x.watch("kept")
			c := command.Unwatch()
			x.Transact(&c, &x.mine)
			x.Set("kept", "2", 0, false)
		}, false},
		{"watched by another", func(x *transaction) {
			c := command.Watch("kept")
			x.Transact(&c, &x.others)
			x.Set("kept", "2", 0, false)
		}, false},
	} {
		x := &transaction{Memory: model.Memory{Now: 1000 * second}}
		x.Set("leased", "1", ttl, false)
		x.Set("kept", "1", 0, false)
		test.do(x)
		if got := x.fails(); got != test.want {
			t.Errorf("%s: the transaction fails: %v, want %v", test.what, got, test.want)
		}
		if x.fails() {
			t.Errorf("%s: the next transaction fails as well", test.what)
		}
	}
}

// A replica does not show what has expired, and keeps it till its primary tells that it is gone.
func TestReplicaKeepsWhatHasExpiredToItself(t *testing.T) {
	m := model.Memory{Now: 1_000_000_000, Follows: true}
	m.Set("lock", "c1", time.Second, false)
	m.Now += int64(time.Second/time.Microsecond) + 1000
	if value, found := m.Get("lock"); found || len(m.Items) != 1 {
		t.Errorf("it shows %q (%v) and has %d keys, want nothing and 1", value, found, len(m.Items))
	}
}
