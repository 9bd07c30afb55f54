package virtual

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/sentinel"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// sentinels are those of the tests.
var sentinels = []string{"s1", "s2", "s3"}

// watched is a world of three servers that three sentinels watch, and what is recorded there.
func watched(t *testing.T, change func(*world.Spec)) (*World, *[]history.Event) {
	t.Helper()
	w := small(t, func(s *world.Spec) {
		s.Replicated = true
		s.Nodes = append(s.Nodes, world.Node{Name: "C"})
		s.Sentinel = &world.Sentinel{Names: sentinels, Quorum: 2, DownAfter: 2 * time.Second, FailoverTimeout: 3 * time.Second}
		if change != nil {
			change(s)
		}
	})
	return w, recorded(w)
}

// script runs f as an activity of the run.
func script(w *World, f func()) {
	w.Go(f)
	w.Wait()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// told are the events of sentinels with a word.
func told(events *[]history.Event, word sentinel.Word) []history.Event {
	return slices.DeleteFunc(slices.Clone(*events), func(e history.Event) bool {
		return e.F != history.Sentinel || e.Value.Detail() != word
	})
}

func count(events *[]history.Event, process string, f history.F) (n int) {
	for _, e := range *events {
		if e.Process == process && e.F == f {
			n++
		}
	}
	return n
}

// cutOff cuts all links between some processes and all others.
func cutOff(t *testing.T, w *World, some ...string) (heal func()) {
	t.Helper()
	var between []world.Link
	for _, l := range w.Links() {
		if slices.Contains(some, l.From) != slices.Contains(some, l.To) && l.To != history.ResourceProcess {
			between = append(between, l)
		}
	}
	lift, err := w.Disturb(between, world.Disturbance{Kind: world.Cut})
	must(t, err)
	return func() { must(t, lift()) }
}

func set(e *env, value string) command.Reply {
	c := command.SetNX("lock", value, time.Hour)
	c.Timeout = 200 * time.Millisecond
	r, _ := do(e, c)
	return r
}

// granted tries until the lock is granted, or some time is over.
func granted(e *env, value string, within time.Duration) bool {
	for end := e.c.w.Now() + within; e.c.w.Now() < end; e.Sleep(50 * time.Millisecond) {
		if set(e, value).OK() {
			return true
		}
	}
	return false
}

// The primary dies with a lock that no replica has: the sentinels make another the primary, and the
// lock is granted again. The old one comes back as a primary, and is made a replica.
func TestFailover(t *testing.T) {
	w, events := watched(t, nil)
	first, second := newEnv(w.thread("c1"), nil), newEnv(w.thread("c2"), nil)
	script(w, func() {
		_, err := w.Disturb([]world.Link{{From: "B", To: "A"}, {From: "C", To: "A"}},
			world.Disturbance{Kind: world.Hold, Direction: world.Answers})
		must(t, err)
		if !set(first, "one").OK() || set(second, "two").OK() {
			t.Error("the lock is not granted once")
		}
		must(t, w.Kill("A"))
		if !granted(second, "two", 10*time.Second) {
			t.Error("the lock was not granted at a new primary")
		}
		w.Sleep(2 * time.Second)
		must(t, w.Restart("A", world.KeepData))
		w.Sleep(30 * time.Second)
	})
	now := w.sentinels[0].rules.Primary()
	if now == "A" || len(told(events, sentinel.SwitchMaster)) != 3 || len(told(events, sentinel.ElectedLeader)) != 1 {
		t.Errorf("%s is the primary: %v", now, told(events, sentinel.SwitchMaster))
	}
	if count(events, now, history.NodePromoted) != 1 || count(events, "A", history.NodeDemoted) != 1 {
		t.Errorf("the roles: %v", *events)
	}
	for _, name := range []string{"A", "B", "C"} {
		if held(w, name) != "two" {
			t.Errorf("%s has %q", name, held(w, name))
		}
	}
	explained(t, w, events)
}

// explained makes sure that the rules of Sentinel allow what was recorded.
func explained(t *testing.T, w *World, events *[]history.Event) {
	t.Helper()
	if err := sentinel.Explains(rulesOf(w), traces(events)); err != nil {
		t.Error(err)
		for _, e := range *events {
			if e.F == history.Sentinel {
				t.Log(e.Time, e.Process, e.Value.Detail(), e.Value.Target(), e.Value.Epoch())
			}
		}
	}
}

func rulesOf(w *World) sentinel.Rules {
	s := w.spec.Sentinel
	return sentinel.Rules{Settings: sentinel.Settings{Quorum: s.Quorum, DownAfter: s.DownAfter, FailoverTimeout: s.FailoverTimeout},
		Sentinels: s.Names, Primary: "A", Slack: time.Millisecond, Clocks: w.sentinels[0].clock != nodeClock{} ||
			w.sentinels[1].clock != nodeClock{} || w.sentinels[2].clock != nodeClock{}}
}

func traces(events *[]history.Event) (list []sentinel.Event) {
	for _, e := range *events {
		if e.F == history.Sentinel {
			list = append(list, sentinel.Event{At: e.Time, Sentinel: e.Process,
				Word: e.Value.Detail(), Target: e.Value.Target(), Epoch: uint64(e.Value.Epoch().V())})
		}
	}
	return list
}

// A minority of the sentinels does not switch.
func TestMinorityDoesNotSwitch(t *testing.T) {
	w, events := watched(t, nil)
	script(w, func() {
		must(t, w.Kill("s2"))
		must(t, w.Kill("s3"))
		must(t, w.Kill("A"))
		w.Sleep(8 * time.Second)
		if len(told(events, sentinel.SDown)) == 0 || len(told(events, sentinel.ODown)) != 0 || w.sentinels[0].rules.Primary() != "A" {
			t.Error("one sentinel of three has switched, or seen nothing")
		}
		must(t, w.Restart("s2", world.KeepData))
		w.Sleep(20 * time.Second)
		if len(told(events, sentinel.SwitchMaster)) != 2 {
			t.Error("two sentinels of three have not switched")
		}
	})
	explained(t, w, events)
}

// The old primary is cut off with a client: both sides grant the lock. When the cut is over, the old primary is
// demoted, and has what the new one has.
func TestSplitBrain(t *testing.T) {
	for _, min := range []int{0, 1} {
		w, events := watched(t, func(s *world.Spec) {
			s.Sentinel.MinReplicas, s.Sentinel.MaxLag = min, time.Second
		})
		inside, outside := newEnv(w.thread("c1"), nil), newEnv(w.thread("c2"), nil)
		var healed time.Duration
		script(w, func() {
			heal := cutOff(t, w, "A", "c1")
			if !granted(outside, "two", 10*time.Second) {
				t.Error("the lock was not granted at a new primary")
			}
			r := set(inside, "one")
			if r.OK() != (min == 0) || min > 0 && !strings.HasPrefix(r.Err(), "NOREPLICAS") {
				t.Errorf("the old primary answers %+v %s", r, r.Err())
			}
			heal()
			healed = w.Now()
			w.Sleep(time.Second)
			if min == 0 && held(w, "A") != "one" {
				t.Error("the old primary was demoted at once")
			}
			w.Sleep(29 * time.Second)
			if r := set(inside, "three"); r.OK() || r.Outcome != command.Done {
				t.Errorf("after all: %+v %s", r, r.Err())
			}
		})
		var late time.Duration
		for _, e := range *events {
			if e.F == history.NodeDemoted {
				late = e.Time - healed
			}
		}
		t.Logf("demoted %v after healing", late)
		if held(w, "A") != "two" || late < 8*time.Second || late > 20*time.Second {
			t.Errorf("A has %q; it was demoted %v after healing", held(w, "A"), late)
		}
		explained(t, w, events)
	}
}

// A sentinel that stood still for more than two seconds does not act for half a minute.
func TestTilt(t *testing.T) {
	w, events := watched(t, nil)
	script(w, func() {
		must(t, w.Pause("s1"))
		w.Sleep(2500 * time.Millisecond)
		must(t, w.Resume("s1"))
		w.Sleep(time.Second)
		must(t, w.Kill("A"))
		w.Sleep(20 * time.Second)
		if slices.ContainsFunc(told(events, sentinel.SDown), func(e history.Event) bool { return e.Process == "s1" && e.Value.Target() == "A" }) {
			t.Error("a sentinel acts in TILT")
		}
		w.Sleep(20 * time.Second)
		must(t, w.SetClock("s2", world.WallClock, world.ClockFault{Jump: -time.Second, Rate: 1}))
		w.Sleep(time.Second)
	})
	if on, off := told(events, sentinel.TiltOn), told(events, sentinel.TiltOff); len(on) != 2 ||
		len(off) != 1 || off[0].Time-on[0].Time < 30*time.Second {
		t.Errorf("TILT began %v and ended %v", on, off)
	}
	if w.sentinels[0].rules.Primary() == "A" || len(told(events, sentinel.SwitchMaster)) != 3 {
		t.Error("it has not learnt of the switch, or the others did not switch")
	}
	explained(t, w, events)
}

// haunted is a run with random faults.
func haunted(t *testing.T, seed uint64) (*World, *[]history.Event) {
	w, events := watched(t, func(s *world.Spec) { s.Seed = seed })
	r := rand.New(rand.NewPCG(seed, 1))
	all := append([]string{"A", "B", "C"}, sentinels...)
	for _, name := range []string{"c1", "c2"} {
		e := newEnv(w.thread(name), nil)
		w.Go(func() {
			for i := range 200 {
				set(e, fmt.Sprint(name, i))
				e.Sleep(300 * time.Millisecond)
			}
		})
	}
	script(w, func() {
		for range 12 {
			w.Sleep(time.Duration(r.Int64N(int64(4 * time.Second))))
			target, d := all[r.IntN(len(all))], time.Duration(r.Int64N(int64(8*time.Second)))
			switch r.IntN(6) {
			case 5:
				must(t, w.SetClock(target, world.WallClock,
					world.ClockFault{Jump: time.Duration(r.Int64N(int64(5*time.Second))) - time.Second, Rate: 1}))
			case 0:
				must(t, w.Kill(target))
				w.Sleep(d)
				must(t, w.Restart(target, world.KeepData))
			case 1:
				must(t, w.Pause(target))
				w.Sleep(d)
				must(t, w.Resume(target))
			case 2:
				heal := cutOff(t, w, target)
				w.Sleep(d)
				heal()
			case 3:
				heal := cutOff(t, w, target, all[r.IntN(len(all))], "c1")
				w.Sleep(d)
				heal()
			case 4:
				l := w.Links()
				some := l[r.IntN(len(l)):]
				kinds := []world.DisturbanceKind{world.Latency, world.Cut, world.Hold, world.Stall, world.Reset}
				lift, err := w.Disturb(some[:1+r.IntN(len(some))], world.Disturbance{Kind: kinds[r.IntN(len(kinds))],
					Direction: world.Direction(r.IntN(3)), Latency: 100 * time.Millisecond})
				must(t, err)
				w.Sleep(d)
				must(t, lift())
			}
		}
		w.Sleep(20 * time.Second)
	})
	return w, events
}

// Whatever befalls them, sentinels do what their rules allow; the same seed gives the same history; and after a
// while all are of one mind.
func TestHauntedSentinels(t *testing.T) {
	switches := 0
	for seed := range uint64(60) {
		w, events := haunted(t, seed)
		explained(t, w, events)
		switches += len(told(events, sentinel.SwitchMaster))
		if seed%10 == 0 {
			if _, again := haunted(t, seed); !reflect.DeepEqual(*events, *again) {
				t.Errorf("seed %d has two histories", seed)
			}
		}
		script(w, func() { w.Sleep(60 * time.Second) })
		primary := w.sentinels[0].rules.Primary()
		for _, g := range w.sentinels {
			if g.rules.Primary() != primary {
				t.Errorf("seed %d: %s takes %s for the primary, not %s", seed, g.name, g.rules.Primary(), primary)
			}
		}
		for _, h := range w.nodes {
			n := h.model()
			if (n.role.primary == nil) != (n.name == primary) || n.role.primary != nil && n.role.primary.name != primary {
				t.Errorf("seed %d: %s follows %v, and %s is the primary", seed, n.name, n.role.primary, primary)
			}
			if !slices.EqualFunc(sorted(n), sorted(w.model(primary)), func(a, b string) bool { return a == b }) {
				t.Errorf("seed %d: %s has %v, and the primary %v", seed, n.name, sorted(n), sorted(w.model(primary)))
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d switches", switches)
}

func sorted(n *redisModel) (list []string) {
	for _, it := range n.memory.Items {
		list = append(list, fmt.Sprint(it.Key, "=", it.Value))
	}
	slices.Sort(list)
	return list
}

// TestSteps prints how long the steps of a failover take, for the comparison with real sentinels.
func TestSteps(t *testing.T) {
	for _, downAfter := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second} {
		times := make(map[string][]time.Duration)
		for seed := range uint64(40) {
			w, events := watched(t, func(s *world.Spec) { s.Seed, s.Sentinel.DownAfter = seed, downAfter })
			e := newEnv(w.thread("c1"), nil)
			var killed, back time.Duration
			script(w, func() {
				w.Sleep(time.Duration(seed%20) * 170 * time.Millisecond)
				must(t, w.Kill("A"))
				killed = w.Now()
				if granted(e, "mine", 20*time.Second) {
					back = w.Now()
				}
				w.Sleep(5 * time.Second)
			})
			leader := ""
			seen := make(map[string]bool)
			note := func(step string, at time.Duration) {
				if !seen[step] {
					times[step] = append(times[step], at-killed)
				}
				seen[step] = true
			}
			for _, e := range *events {
				if e.F != history.Sentinel || e.Time < killed {
					continue
				}
				word := e.Value.Detail()
				switch {
				case word == sentinel.ElectedLeader:
					leader = e.Process
					note(word, e.Time)
				case word == sentinel.SwitchMaster && e.Process == leader:
					note("+switch-master of the leader", e.Time)
				case word == sentinel.SwitchMaster:
					note("+switch-master of another", e.Time)
				case word == sentinel.SDown && e.Value.Target() == "A",
					word == sentinel.ODown, word == sentinel.PromotedSlave, word == sentinel.TryFailover:
					note(word, e.Time)
				}
			}
			note("first answer to a client", back)
			explained(t, w, events)
		}
		for _, step := range []string{"+sdown", "+odown", "+try-failover", "+elected-leader", "+promoted-slave", "+switch-master of another",
			"+switch-master of the leader", "first answer to a client"} {
			list := times[step]
			slices.SortFunc(list, cmp.Compare)
			if len(list) < 38 {
				t.Fatalf("down-after %v: %s happened %d times", downAfter, step, len(list))
			}
			round := func(i int) time.Duration { return list[i].Round(time.Millisecond) }
			t.Logf("down-after %-6v %-30s median %-8v of %v to %v", downAfter, step, round(len(list)/2), round(0), round(len(list)-1))
		}
	}
}

// TestExplainsRejects: of what was recorded, a little is changed that the rules forbid.
func TestExplainsRejects(t *testing.T) {
	w, events := watched(t, nil)
	script(w, func() {
		w.Sleep(3 * time.Second)
		must(t, w.Kill("A"))
		w.Sleep(10 * time.Second)
	})
	trace := traces(events)
	at := func(word sentinel.Word) int {
		return slices.IndexFunc(trace, func(e sentinel.Event) bool { return e.Word == word })
	}
	elected, voted, switched := at(sentinel.ElectedLeader), at(sentinel.VoteForLeader), at(sentinel.SwitchMaster)
	if elected < 0 || switched < 0 {
		t.Fatal("there was no failover")
	}
	leader := trace[elected].Sentinel
	other := sentinels[(slices.Index(sentinels, leader)+1)%3]
	changed := func(i int, f func(*sentinel.Event)) func([]sentinel.Event) []sentinel.Event {
		return func(list []sentinel.Event) []sentinel.Event {
			f(&list[i])
			return list
		}
	}
	added := func(i int, more ...sentinel.Event) func([]sentinel.Event) []sentinel.Event {
		return func(list []sentinel.Event) []sentinel.Event {
			for j := range more {
				more[j].At = list[i].At
			}
			return slices.Insert(list, i+1, more...)
		}
	}
	for what, mutate := range map[string]func([]sentinel.Event) []sentinel.Event{
		"two leaders in an epoch": added(elected, sentinel.Event{Sentinel: other, Word: sentinel.ElectedLeader, Target: "A"}),
		"two votes in an epoch": added(voted,
			sentinel.Event{Sentinel: trace[voted].Sentinel, Word: sentinel.VoteForLeader, Target: other, Epoch: trace[voted].Epoch}),
		"an election without votes": func(list []sentinel.Event) []sentinel.Event {
			return slices.DeleteFunc(list, func(e sentinel.Event) bool { return e.Word == sentinel.VoteForLeader && e.Sentinel != leader })
		},
		"a vote for who does not stand": changed(voted, func(e *sentinel.Event) { e.Target = "s9" }),
		"an epoch that goes back":       added(voted, sentinel.Event{Sentinel: leader, Word: sentinel.NewEpoch, Epoch: trace[voted].Epoch}),
		"a quorum of one": func(list []sentinel.Event) []sentinel.Event {
			return slices.DeleteFunc(list, func(e sentinel.Event) bool {
				return e.Word == sentinel.SDown && e.Sentinel != trace[at(sentinel.ODown)].Sentinel
			})
		},
		"a switch to another server": changed(switched, func(e *sentinel.Event) { e.Target = "A" }),
		"a switch without election":  added(0, sentinel.Event{Sentinel: other, Word: sentinel.SwitchMaster, Target: "B"}),
		"a switch that nobody made": added(0, sentinel.Event{Sentinel: other, Word: sentinel.ConfigUpdateFrom, Target: leader},
			sentinel.Event{Sentinel: other, Word: sentinel.SwitchMaster, Target: "B"}),
		"a failover at once again":     added(len(trace)-1, sentinel.Event{Sentinel: leader, Word: sentinel.TryFailover, Target: "A"}),
		"a sentinel that acts in TILT": added(0, sentinel.Event{Sentinel: trace[voted].Sentinel, Word: sentinel.TiltOn}),
		"a promotion without selection": func(list []sentinel.Event) []sentinel.Event {
			return slices.DeleteFunc(list, func(e sentinel.Event) bool { return e.Word == sentinel.SelectedSlave })
		},
	} {
		if err := sentinel.Explains(rulesOf(w), mutate(slices.Clone(trace))); err == nil {
			t.Errorf("%s: the rules allow it", what)
		} else {
			t.Logf("%s: %v", what, err)
		}
	}
	explained(t, w, events)
}
