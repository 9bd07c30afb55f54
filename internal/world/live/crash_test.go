package live_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live"
)

// What a node still knows of an acknowledged write, by its way of persistence
// and by how it died. A kill takes what was never handed to the kernel; a power
// cut takes also what was never fsynced.
func TestWhatACrashLeaves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		persistence world.Persistence
		keep        world.Keep
		// settle waits until the write should be safe.
		settle bool
		held   bool
	}{
		{world.NoPersistence, world.KeepData, false, false},
		{world.RDB, world.KeepData, true, true},
		{world.RDB, world.KeepSynced, true, true},
		{world.RDB, world.KeepNothing, true, false},
		{world.AOFNo, world.KeepData, false, true},
		{world.AOFNo, world.KeepSynced, true, false},
		{world.AOFEverysec, world.KeepData, false, true},
		{world.AOFEverysec, world.KeepSynced, true, true},
		{world.AOFAlways, world.KeepData, false, true},
		{world.AOFAlways, world.KeepSynced, false, true},
		{world.AOFAlways, world.KeepNothing, false, false},
		{world.AOFAlways, world.KeepTorn, false, false},
		{world.AOFEverysec, world.KeepTorn, false, false},
		{world.AOFNo, world.KeepTorn, false, false},
	} {
		t.Run(c.persistence.String()+"/"+c.keep.String(), func(t *testing.T) {
			t.Parallel()
			s := spec(t, 1)
			s.Nodes[0].Persistence = c.persistence
			w := open(t, s, &observed{})
			mustOK(t, w, "c1", history.Acquire)
			if c.settle {
				// Redis saves and fsyncs by the second; nothing to wait on
				// tells when the disk has it.
				w.Sleep(2500 * time.Millisecond)
			}
			crash(t, w, c.keep)
			want := history.OK
			if c.held {
				want = history.Fail
			}
			if a := do(w, "c2", history.Acquire); a.Type != want {
				t.Errorf("after the crash c2's acquire was %v (%s), want %v", a.Type, a.Error, want)
			}
		})
	}
}

// What a flipped bit leaves is another key, another value, or nothing: Redis starts all the same, after its file has been mended where it
// refuses that.
func TestAServerStartsFromAFlippedFile(t *testing.T) {
	t.Parallel()
	s := spec(t, 1)
	s.Nodes[0].Persistence = world.AOFAlways
	w := open(t, s, &observed{})
	for range 6 {
		mustOK(t, w, "c1", history.Acquire)
		crash(t, w, world.KeepFlipped)
		if !w.Alive("A") {
			t.Fatal("A is dead")
		}
		_ = do(w, "c1", history.Release)
		if err := w.Wipe("A"); err != nil {
			t.Fatal(err)
		}
	}
}

func crash(t *testing.T, w world.World, keep world.Keep) {
	t.Helper()
	if err := w.Kill("A"); err != nil {
		t.Fatal(err)
	}
	if w.Alive("A") {
		t.Error("A lives")
	}
	if err := w.Restart("A", keep); err != nil {
		t.Fatal(err)
	}
}

// With aof-everysec the first write after a quiet second is fsynced at once,
// and what follows within the second is not: a power cut takes back a release
// that was acknowledged, and the lock is held again.
func TestAPowerCutTakesWhatWasNotSynced(t *testing.T) {
	t.Parallel()
	s := spec(t, 1)
	s.Nodes[0].Persistence = world.AOFEverysec
	takesBackARelease(t, open(t, s, &observed{}), nothing)
}

// A pause is no fsync.
func TestAPowerCutAfterAPause(t *testing.T) {
	t.Parallel()
	s := spec(t, 1)
	s.Nodes[0].Persistence = world.AOFEverysec
	w := open(t, s, &observed{})
	takesBackARelease(t, w, pausing(t, w))
}

func nothing() {}

func pausing(t *testing.T, w *live.World) func() {
	return func() {
		t.Helper()
		if err := w.Pause("A"); err != nil {
			t.Fatal(err)
		}
		w.Sleep(20 * time.Millisecond)
		if err := w.Resume("A"); err != nil {
			t.Fatal(err)
		}
		w.Sleep(20 * time.Millisecond)
	}
}

// takesBackARelease wants a power cut to take back a release, though something that is no
// fsync comes in between.
func takesBackARelease(t *testing.T, w *live.World, meanwhile func()) {
	t.Helper()
	for range 5 { // a second may end between the two writes
		w.Sleep(1500 * time.Millisecond)
		mustOK(t, w, "c1", history.Acquire)
		w.Sleep(20 * time.Millisecond)
		mustOK(t, w, "c1", history.Release)
		meanwhile()
		crash(t, w, world.KeepSynced)
		if do(w, "c2", history.Acquire).Type == history.Fail {
			return
		}
		mustOK(t, w, "c2", history.Release)
	}
	t.Error("five releases in a row survived a power cut right after their answer")
}

// A client that somebody else kills, as the kernel does where memory runs out, makes the run an
// error: nobody would know why it did nothing more. One that a fault kills does not.
func TestAClientThatSomebodyElseKills(t *testing.T) {
	t.Parallel()
	w := open(t, spec(t, 1), &observed{})
	if err := w.Kill("c1"); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Errorf("c1 was killed by a fault: %v", err)
	}
	if err := syscall.Kill(w.ClientPID("c2"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "the end of c2", func() bool { return !w.Alive("c2") })
	mustNotAnswer := do(w, "c2", history.Acquire)
	var err error
	suite.Eventually(t, "the run to notice", func() bool { // its end may not have been reaped yet
		err = w.Flush()
		return err != nil
	})
	if mustNotAnswer.Type != history.Info || err == nil ||
		!strings.Contains(err.Error(), "client c2: the client ended, and sim had not ended it") {
		t.Errorf("c2 was killed by somebody else: %v, %v", mustNotAnswer, err)
	}
}
