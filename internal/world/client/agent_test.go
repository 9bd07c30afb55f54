package client_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/commandtest"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
)

// scene is a client with its nodes and its resource, on a clock that the test
// moves.
type scene struct {
	*commandtest.Clock
	*client.Agent
	lock.Env // what the agent does not use
	nodes    []*commandtest.Node
	store    *commandtest.Node
	rnd      *rand.Rand
	passed   []string
	onPoint  map[string]func()
}

func newScene(t *testing.T, c lock.Config, fence resource.Fence) *scene {
	t.Helper()
	clock := &commandtest.Clock{T: time.Minute}
	s := &scene{Clock: clock, nodes: commandtest.NewNodes(3, clock), store: commandtest.NewNode("resource", clock),
		rnd: rand.New(rand.NewPCG(1, 2)), onPoint: make(map[string]func())}
	c.Algorithm, c.Key, c.TTL = "redlock", "lock", time.Second
	l, err := lock.New(c, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Agent = client.NewAgent(s, l, s.store, resource.Config{Kind: resource.Register, Key: "r", Fence: fence, Initial: 3},
		func() time.Duration { return clock.T + time.Hour })
	return s
}

func (s *scene) Client() string      { return "c1" }
func (s *scene) Now() time.Duration  { return s.T }
func (s *scene) Rand() *rand.Rand    { return s.rnd }
func (s *scene) Sleep(time.Duration) {}
func (s *scene) Wait(time.Duration)  {}
func (s *scene) Cancelled() bool     { return false }

func (s *scene) Nodes() []command.Node {
	var list []command.Node
	for _, n := range s.nodes {
		list = append(list, n)
	}
	return list
}

func (s *scene) Point(name string) {
	s.passed = append(s.passed, name)
	if f := s.onPoint[name]; f != nil {
		f()
	}
}

// does asks for an operation; Agent.Do is hidden behind no other Do.
func (s *scene) does(f history.F) client.Answer { return s.Do(client.Request{F: f, Section: 4}) }

func (s *scene) write(n int64, check bool) client.Answer {
	return s.Do(client.Request{F: history.Write, Section: 4, Number: history.Some(n), Check: check})
}

func TestAcquireTellsOwnerNodesTokenAndValidity(t *testing.T) {
	s := newScene(t, lock.Config{Tokens: lock.QuorumCounter, Drift: lock.Drift{DriftConstant: 100 * time.Millisecond}}, resource.Strict)
	s.nodes[1].Way = commandtest.Dead
	s.onPoint[lock.PointQuorum] = func() { s.T += 50 * time.Millisecond }
	a := s.does(history.Acquire)
	if a.Type != history.OK || a.Value.Owner == "" || !slices.Equal(a.Value.Nodes(), []string{"A", "C"}) ||
		a.Value.Token != history.Some(int64(1)) {
		t.Errorf("%+v", a)
	}
	if a.Value.Validity() != history.Some(int64(850*time.Millisecond)) || a.Instant != s.T+time.Hour {
		t.Errorf("valid for %v from %v, at %v", a.Value.Validity(), a.Instant, s.T)
	}
}

func TestFailedAcquireLeavesNothingToRelease(t *testing.T) {
	s := newScene(t, lock.Config{}, resource.NoFence)
	for _, n := range s.nodes {
		n.Way = commandtest.Dead
	}
	if a := s.does(history.Acquire); a.Type != history.Fail || a.Error == "" || a.Value.Validity().IsSet() || a.Value.Token.IsSet() {
		t.Errorf("%+v", a)
	}
	if a := s.does(history.Release); a.Type != history.Fail || a.Error != "nothing to release" {
		t.Errorf("%+v", a)
	}
}

// A client that forgets its lock leaves its keys where they are, and has nothing to release any more.
func TestForgottenLockIsNotReleased(t *testing.T) {
	s := newScene(t, lock.Config{}, resource.NoFence)
	if a := s.does(history.Forget); a.Type != history.Fail || a.Error != "nothing to forget" {
		t.Errorf("%+v", a)
	}
	acquired := s.does(history.Acquire)
	if a := s.does(history.Forget); a.Type != history.OK || a.Value.Owner != acquired.Value.Owner {
		t.Errorf("%+v", a)
	}
	if a := s.does(history.Release); a.Type != history.Fail || a.Error != "nothing to release" {
		t.Errorf("%+v", a)
	}
	if a := s.does(history.Acquire); a.Type != history.Fail {
		t.Errorf("the lock was free again: %+v", a)
	}
}

func TestSectionPassesItsPointsInOrder(t *testing.T) {
	s := newScene(t, lock.Config{}, resource.NoFence)
	acquired := s.does(history.Acquire)
	if a := s.does(history.Read); a.Type != history.OK ||
		a.Value.Number != history.Some(int64(3)) || a.Value.Section != 4 || a.Value.Token.IsSet() {
		t.Errorf("read %+v", a)
	}
	if a := s.write(4, true); a.Type != history.OK || a.Value.Number != history.Some(int64(4)) {
		t.Errorf("write %+v", a)
	}
	if a := s.does(history.Release); a.Type != history.OK || a.Value.Owner != acquired.Value.Owner {
		t.Errorf("release %+v", a)
	}
	var own []string
	for _, p := range s.passed {
		if slices.Contains([]string{workload.BeforeAcquire,
			workload.BeforeRead, workload.BeforeCheck, workload.BeforeWrite, workload.BeforeRelease}, p) {
			own = append(own, p)
		}
	}
	if want := []string{workload.BeforeAcquire, workload.BeforeRead,
		workload.BeforeCheck, workload.BeforeWrite, workload.BeforeRelease}; !slices.Equal(own, want) {
		t.Errorf("passed %q, want %q", own, want)
	}
}

// The check helps against a pause before it, not against one behind it.
func TestCheckBeforeWrite(t *testing.T) {
	for _, c := range []struct {
		point string
		check bool
		want  history.Type
	}{
		{workload.BeforeCheck, true, history.Fail},
		{workload.BeforeWrite, true, history.OK},
		{workload.BeforeWrite, false, history.OK},
	} {
		s := newScene(t, lock.Config{}, resource.NoFence)
		s.does(history.Acquire)
		s.onPoint[c.point] = func() { s.T += 2 * time.Second }
		if a := s.write(1, c.check); a.Type != c.want {
			t.Errorf("a pause at %s, check %v: %+v", c.point, c.check, a)
		}
		if wrote := len(s.store.Asked) == 1; wrote != (c.want == history.OK) {
			t.Errorf("a pause at %s, check %v: the resource was asked %q", c.point, c.check, s.store.Asked)
		}
	}
}

func TestAnswersOfTheResource(t *testing.T) {
	s := newScene(t, lock.Config{Tokens: lock.QuorumCounter}, resource.Strict)
	s.does(history.Acquire)
	s.store.Way = commandtest.Mute
	if a := s.write(4, false); a.Type != history.Info || a.Value.Number != history.Some(int64(4)) || a.Value.Token != history.Some(int64(1)) {
		t.Errorf("no answer: %+v", a)
	}
	s.store.Way = commandtest.Dead
	if a := s.does(history.Read); a.Type != history.Fail || a.Error != "connection refused" {
		t.Errorf("refused connection: %+v", a)
	}
	s.store.Way = nil
	other := resource.Config{Kind: resource.Register, Key: "r", Fence: resource.Strict}
	other.Read(s.store, resource.Access{Client: "c2", Token: 9, HasToken: true})
	if a := s.write(5, false); a.Type != history.Fail ||
		a.Value.Highest() != history.Some(int64(9)) || a.Value.Number != history.Some(int64(5)) {
		t.Errorf("refused by the fence: %+v", a)
	}
}

func TestGrantsAreReleasedLatestFirst(t *testing.T) {
	s := newScene(t, lock.Config{}, resource.NoFence)
	first := s.does(history.Acquire)
	s.T += 2 * time.Second
	second := s.does(history.Acquire)
	if a := s.does(history.Release); a.Type != history.OK || a.Value.Owner != second.Value.Owner {
		t.Errorf("%+v: want the second, %s", a, second.Value.Owner)
	}
	if a := s.does(history.Release); a.Type != history.Fail || a.Value.Owner != first.Value.Owner {
		t.Errorf("%+v: want the first, %s, which is long gone", a, first.Value.Owner)
	}
}

func TestUnknownRequestFails(t *testing.T) {
	if a := newScene(t, lock.Config{}, resource.NoFence).does("juggle"); a.Type != history.Fail {
		t.Errorf("%+v", a)
	}
}

// A client extends its grant: it is told until when it lasts then. From a refusal on it leaves the resource alone.
func TestExtend(t *testing.T) {
	s := newScene(t, lock.Config{}, resource.NoFence)
	if a := s.does(history.Extend); a.Type != history.Fail {
		t.Errorf("without a grant: %+v", a)
	}
	acquired := s.does(history.Acquire)
	s.T += 400 * time.Millisecond
	a := s.does(history.Extend)
	if a.Type != history.OK || a.Value.Owner != acquired.Value.Owner || a.Value.Validity() != acquired.Value.Validity() ||
		a.Instant != s.T+time.Hour || !slices.Contains(s.passed, workload.BeforeExtend) {
		t.Errorf("%+v, after %+v", a, acquired)
	}
	s.T += 900 * time.Millisecond // beyond the first end
	if a := s.write(1, true); a.Type != history.OK {
		t.Errorf("it does not write after an extension: %+v", a)
	}
	for _, n := range s.nodes {
		n.Memory().Set("lock", "c2", time.Hour, false)
	}
	if a := s.does(history.Extend); a.Type != history.Fail || a.Value.Owner != acquired.Value.Owner {
		t.Errorf("of a lock that another has: %+v", a)
	}
	if a := s.write(2, false); a.Type != history.Fail {
		t.Errorf("it writes although it was told that its lock is lost: %+v", a)
	}
}
