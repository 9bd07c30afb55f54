package live_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/live"
)

// watched is a world of three servers that three sentinels watch.
func watched(t *testing.T, o *observed) *live.World { return open(t, watchedSpec(t), o) }

// watchedSpec has sentinels that are patient: a busy machine must look like no dead server.
func watchedSpec(t *testing.T) world.Spec {
	s := spec(t, 3)
	s.Lock = lock.Config{Algorithm: "set-nx-px", Key: "lock",
		TTL: time.Minute, NodeTimeout: 2 * time.Second, Retry: lock.Retry{Attempts: 1}}
	s.Replicated = true
	s.Sentinel = &world.Sentinel{Names: []string{"s1", "s2", "s3"}, Quorum: 2, DownAfter: 2 * time.Second, FailoverTimeout: 3 * time.Second}
	s.Needs = []world.Power{world.HoldPower, world.CrashPower, world.PausePower}
	return s
}

// primaryOf is the server that a sentinel takes for the primary.
func primaryOf(t *testing.T, w *live.World, sentinel string) string {
	t.Helper()
	address, err := w.AskSentinel(sentinel, "get-master-addr-by-name", "primary")
	if err != nil || len(address) != 2 {
		t.Fatalf("%s: %v %v", sentinel, address, err)
	}
	for _, name := range []string{"A", "B", "C"} {
		if _, port, _ := net.SplitHostPort(w.Announced(name)); port == address[1] {
			return name
		}
	}
	t.Fatalf("%s takes %v for the primary", sentinel, address)
	return ""
}

// Clients find the primary through real sentinels. When it dies before the key has been replicated, the sentinels
// make another the primary, and a second client is granted the lock there. Nothing that is done there is unseen.
func TestSentinelsSwitch(t *testing.T) {
	t.Parallel()
	o := &observed{}
	switches(t, watched(t, o), o)
}

// The same holds of containers.
func TestSentinelsInDockerSwitch(t *testing.T) {
	suite.All(t)
	o := &observed{}
	switches(t, openInDocker(t, watchedSpec(t), o), o)
}

func switches(t *testing.T, w *live.World, o *observed) {
	replication := []world.Link{{From: "B", To: "A"}, {From: "C", To: "A"}}
	if _, err := w.Disturb(replication, world.Disturbance{Kind: world.Hold, Direction: world.Answers}); err != nil {
		t.Fatal(err)
	}
	first := mustOK(t, w, "c1", history.Acquire)
	if a := do(w, "c2", history.Acquire); a.Type == history.OK {
		t.Fatal("two clients have the lock of one primary")
	}
	if err := w.Kill("A"); err != nil {
		t.Fatal(err)
	}
	var second string
	suite.Eventually(t, "c2 is granted the lock at a new primary", func() bool {
		a := do(w, "c2", history.Acquire)
		second = a.Value.Owner
		return a.Type == history.OK
	})
	// c2 may have asked another sentinel: s1 hears of the switch up to two seconds later.
	var now string
	suite.Eventually(t, "s1 knows the new primary", func() bool {
		now = primaryOf(t, w, "s1")
		return now != "A"
	})
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	is := func(process string, f history.F, owner string) func(history.Event) bool {
		return func(e history.Event) bool { return e.Process == process && e.F == f && e.Value.Owner == owner }
	}
	for what, match := range map[string]func(history.Event) bool{
		"the key of c1 on A": is("A", history.KeySet, first.Value.Owner), "the death of A": is("A", history.NodeDown, ""),
		"the promotion of " + now: is(now, history.NodePromoted, ""), "the key of c2 on " + now: is(now, history.KeySet, second),
	} {
		if n := len(o.find(match)); n != 1 {
			t.Errorf("%s was recorded %d times", what, n)
		}
	}

	// The old primary comes back as one, and becomes a replica.
	if err := w.Restart("A", world.KeepData); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "A follows the new primary, and has its key", func() bool {
		return len(o.find(is("A", history.KeySet, second))) > 0
	})
}

// A minority of the sentinels does not switch.
func TestSentinelsOfAMinority(t *testing.T) {
	t.Parallel()
	w := watched(t, &observed{})
	for _, name := range []string{"s2", "s3"} {
		if err := w.Kill(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Kill("A"); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "s1 sees A down", func() bool {
		about, err := w.AskSentinel("s1", "master", "primary")
		flags := fmt.Sprint(about...)
		return err == nil && strings.Contains(flags, "s_down") && !strings.Contains(flags, "o_down")
	})
	if now := primaryOf(t, w, "s1"); now != "A" {
		t.Errorf("a minority made %s the primary", now)
	}
	for _, name := range []string{"s2", "s3"} {
		if err := w.Restart(name, world.KeepData); err != nil {
			t.Fatal(err)
		}
	}
	suite.Eventually(t, "all switch", func() bool {
		return !slices.ContainsFunc([]string{"s1", "s2", "s3"}, func(s string) bool { return primaryOf(t, w, s) == "A" })
	})
}
