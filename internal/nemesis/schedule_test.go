package nemesis_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/nemesis"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/worldtest"
)

// stage is a schedule in a world that only keeps account.
type stage struct {
	*worldtest.World
	*nemesis.Schedule
	recorder *history.Recorder
}

// faultsOf reads the faults of a scenario with two clients and three nodes.
func faultsOf(t *testing.T, text string) *scenario.Setup {
	t.Helper()
	s, err := scenario.Parse("test.yaml",
		[]byte("name: test\nnodes: {count: 3}\nlock: {algorithm: redlock}\nworkload: {clients: 2, sections: 9}\nfaults:\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return &s.Variants[0].Setup
}

// play runs a test in a bubble of its own time, with the faults in force that
// are so from the start. What the test leaves active is healed.
func play(t *testing.T, text string, seed uint64, test func(t *testing.T, s *stage)) {
	t.Helper()
	setup := faultsOf(t, text)
	synctest.Test(t, func(t *testing.T) {
		s := &stage{World: worldtest.New("c1", "c2")}
		for _, c := range []string{"c1", "c2"} {
			for _, n := range []string{"A", "B", "C"} {
				s.AllLinks = append(s.AllLinks, world.Link{From: c, To: n})
			}
		}
		s.recorder = history.NewRecorder(history.Header{}, s.Now, nil)
		s.Schedule = nemesis.NewSchedule(s.World, s.recorder.Record, setup.Planned(), setup.Faults.Mix, setup.Cast(), seed)
		s.Schedule.Start()
		test(t, s)
		s.Heal()
		s.Stop()
		s.Wait()
	})
}

// told is what the history says of faults: "1s begin 2 pause A".
func (s *stage) told() []string {
	h, _ := s.recorder.Seal()
	var list []string
	for _, e := range h.Events {
		if what, ok := strings.CutPrefix(string(e.F), "fault-"); ok {
			list = append(list, fmt.Sprintf("%v %s %d %s %s", e.Time, what, e.Value.ID(), e.Value.Fault(), e.Value.Target()))
		}
	}
	return list
}

func (s *stage) want(t *testing.T, calls ...string) {
	t.Helper()
	synctest.Wait()
	if got := s.Calls(); !slices.Equal(got, calls) {
		t.Errorf("at %v the world was asked for\n %q, want\n %q", s.Now(), got, calls)
	}
}

func TestOnPointStrikesBeforeTheClientGoesOn(t *testing.T) {
	play(t, `
  - on: {client: c1, point: before-write, nth: 2}
    pause: {client: c1, for: 1s}
`, 1, func(t *testing.T, s *stage) {
		s.Point("c1", "before-write")
		s.Point("c2", "before-write")
		s.Point("c2", "before-write")
		s.Point("c1", "before-read")
		s.want(t)
		s.Point("c1", "before-write")
		s.want(t, "pause c1")
		s.Point("c1", "before-write")
		s.want(t, "pause c1")
		time.Sleep(999 * time.Millisecond)
		s.want(t, "pause c1")
		time.Sleep(time.Millisecond)
		s.want(t, "pause c1", "resume c1")
	})
}

// A cancel is over as soon as it has begun, so it can come again. Where nothing is under way, it takes no effect.
func TestCancelsComeAgain(t *testing.T) {
	play(t, "  - every: 100ms\n    cancel: {client: c2}\n", 1, func(t *testing.T, s *stage) {
		time.Sleep(250 * time.Millisecond)
		s.FailsNow("cancel c2", world.NoAttempt("c2"))
		time.Sleep(100 * time.Millisecond)
		s.want(t, "cancel c2", "cancel c2", "cancel c2")
		want := []string{"100ms begin 1 cancel c2", "100ms end 1 cancel c2", "200ms begin 1 cancel c2", "200ms end 1 cancel c2",
			"300ms failed 1 cancel c2"}
		if got := s.told(); !slices.Equal(got, want) {
			t.Errorf("told\n %q, want\n %q", got, want)
		}
	})
}

func TestAnyClientCountsPassingsOfAll(t *testing.T) {
	play(t, `
  - on: {point: before-write, nth: 2}
    pause: {node: B, for: 1s}
`, 1, func(t *testing.T, s *stage) {
		s.Point("c1", "before-write")
		s.want(t)
		s.Point("c2", "before-write")
		s.want(t, "pause B")
	})
}

func TestAndDemandsThatItHappenedBefore(t *testing.T) {
	const text = `
  - on: {client: c1, point: before-write, and: {client: c2, point: acquired}}
    pause: {client: c1, for: 1s}
`
	play(t, text, 1, func(t *testing.T, s *stage) {
		s.Point("c1", "acquired")
		s.Point("c1", "before-write")
		s.Point("c2", "acquired")
		s.want(t) // too late: the first before-write is past
	})
	play(t, text, 1, func(t *testing.T, s *stage) {
		s.Point("c2", "acquired")
		s.Point("c1", "before-write")
		s.want(t, "pause c1")
	})
}

// What happened before the count begins is not counted, and what begins it is not counted either.
func TestSinceBeginsTheCount(t *testing.T) {
	play(t, `
  - on: {client: c1, point: before-write, nth: 2, since: {client: c2, point: acquired}}
    pause: {client: c1, for: 1s}
  - on: {client: c2, point: acquired, since: {client: c2, point: acquired}}
    pause: {client: c2, for: 1s}
`, 1, func(t *testing.T, s *stage) {
		for range 3 {
			s.Point("c1", "before-write")
		}
		s.Point("c2", "acquired")
		s.Point("c1", "before-write")
		s.want(t)
		s.Point("c1", "before-write")
		s.want(t, "pause c1")
		s.Point("c2", "acquired") // the count has begun
		s.want(t, "pause c1", "pause c2")
	})
}

// A fault that was to come before something says that it came too late, and strikes no more.
func TestUnlessItHasHappened(t *testing.T) {
	const text = `
  - on: {client: c1, point: before-write, unless: {client: c2, point: acquired}}
    pause: {client: c1, for: 1s}
`
	play(t, text, 1, func(t *testing.T, s *stage) {
		s.Point("c2", "acquired")
		s.Point("c1", "before-write")
		s.want(t)
		if got := s.told(); !slices.Equal(got, []string{"0s failed 1 pause c1"}) {
			t.Errorf("told: %q", got)
		}
		h, _ := s.recorder.Seal()
		last := h.Events[len(h.Events)-1]
		if why := last.Error.String(); !strings.HasPrefix(why, history.TooLate) {
			t.Errorf("why: %q", why)
		}
	})
	play(t, text, 1, func(t *testing.T, s *stage) {
		s.Point("c1", "before-write")
		s.want(t, "pause c1")
	})
}

func TestAt(t *testing.T) {
	play(t, `
  - at: 0s
    pause: {node: A}
  - at: 2s
    kill: {node: B, keep: nothing, for: 300ms}
`, 1, func(t *testing.T, s *stage) {
		if got := s.Calls(); len(got) != 1 {
			t.Errorf("a fault at 0s is not in force when Start returns: %q", got)
		}
		time.Sleep(2*time.Second - 1)
		s.want(t, "pause A")
		time.Sleep(time.Nanosecond)
		s.want(t, "pause A", "kill B")
		time.Sleep(300 * time.Millisecond)
		s.want(t, "pause A", "kill B", "restart B nothing")
	})
}

func TestAfterBeginAndEndOfAnother(t *testing.T) {
	play(t, `
  - at: 1s
    pause: {node: A, for: 1s}
  - after: {fault: 1, delay: 10ms}
    clock: {node: B, jump: 5s, for: 10ms}
  - after: {fault: 1, event: end}
    pause: {node: C, for: 1s}
`, 1, func(t *testing.T, s *stage) {
		time.Sleep(time.Minute)
		want := []string{
			"1s begin 1 pause A", "1.01s begin 2 clock B", "1.02s end 2 clock B", "2s end 1 pause A", "2s begin 3 pause C", "3s end 3 pause C",
		}
		if got := s.told(); !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
	})
}

func TestUntilEndsAFaultEarly(t *testing.T) {
	play(t, `
  - on: {client: c1, point: before-write}
    pause: {client: c1}
    until: {client: c2, point: acquired}
`, 1, func(t *testing.T, s *stage) {
		s.Point("c1", "before-write")
		time.Sleep(time.Hour)
		s.want(t, "pause c1")
		if s.Endless("c1", nobody) {
			t.Error("a fault that something may end is not endless")
		}
		s.Point("c2", "acquired")
		s.want(t, "pause c1", "resume c1")
	})
}

func TestUntilWhatHasHappenedAlreadyEndsAtOnce(t *testing.T) {
	play(t, `
  - on: {client: c1, point: before-write}
    pause: {client: c1}
    until: {client: c2, point: acquired}
`, 1, func(t *testing.T, s *stage) {
		s.Point("c2", "acquired")
		s.Point("c1", "before-write")
		s.want(t, "pause c1", "resume c1")
	})
}

func TestEveryIsDrawnFromTheSeed(t *testing.T) {
	story := func(seed uint64) (told []string) {
		play(t, `
  - every: exp(mean=500ms)
    pause: {node: A, for: 20ms}
`, seed, func(_ *testing.T, s *stage) {
			time.Sleep(20 * time.Second)
			s.Heal()
			told = s.told()
		})
		return told
	}
	first := story(1)
	if len(first) < 40 || len(first) > 120 {
		t.Errorf("%d begins and ends in 20 s, about 77 expected", len(first))
	}
	if !slices.Equal(first, story(1)) {
		t.Error("the same seed gave another schedule")
	}
	if slices.Equal(first, story(2)) {
		t.Error("another seed gave the same schedule")
	}
}

func TestMixIsDrawnFromTheSeed(t *testing.T) {
	const text = `
  mix:
    during: 10s
    every: exp(mean=100ms)
    swarm: false
    kinds: {pause: {for: exp(mean=100ms)}, cut: {weight: 2}, clock: {}, kill: {}, latency: {}, hold: {}, reset: {},
      bandwidth: {}, limit-data: {}, slow-close: {}, stall: {}, refuse: {}, fill: {}, evict: {}, flush: {}, cancel: {}}
`
	story := func(seed uint64) (told []string, last time.Duration) {
		play(t, text, seed, func(_ *testing.T, s *stage) {
			time.Sleep(time.Minute)
			told = s.told()
			h, _ := s.recorder.Seal()
			for _, e := range h.Events {
				if e.F == history.FaultBegin {
					last = e.Time
				}
			}
		})
		return told, last
	}
	first, last := story(7)
	if last >= 10*time.Second || last < 8*time.Second {
		t.Errorf("the last fault of a mix during 10s began at %v", last)
	}
	for _, kind := range nemesis.MixKinds() {
		if kind == "promote" || kind == "move-slot" {
			continue // there is no replica here, and no cluster
		}
		if !strings.Contains(strings.Join(first, "\n"), " "+kind+" ") {
			t.Errorf("%s was never drawn", kind)
		}
	}
	if again, _ := story(7); !slices.Equal(first, again) {
		t.Error("the same seed gave another mix")
	}
	if other, _ := story(8); slices.Equal(first, other) {
		t.Error("another seed gave the same mix")
	}
}

func TestSwarmSwitchesKindsOffButNeverAll(t *testing.T) {
	seen := make(map[string]bool)
	for seed := range uint64(40) {
		play(t, "\n  mix: {during: 5s, every: 50ms, kinds: {pause: {for: 1ms}, cut: {for: 1ms}, latency: {for: 1ms}}}\n",
			seed, func(t *testing.T, s *stage) {
				time.Sleep(6 * time.Second)
				var kinds []string
				all := strings.Join(s.told(), "\n")
				for _, kind := range []string{"pause", "cut", "latency"} {
					if strings.Contains(all, kind) {
						kinds = append(kinds, kind)
					}
				}
				if len(kinds) == 0 {
					t.Errorf("seed %d: all kinds are off", seed)
				}
				seen[strings.Join(kinds, " ")] = true
			})
	}
	if len(seen) < 5 {
		t.Errorf("40 seeds gave only the kinds %v", seen)
	}
}

func TestFaultThatCannotBeginIsRecordedAsFailed(t *testing.T) {
	setup := faultsOf(t, `
  - at: 1s
    pause: {node: A, for: 1s}
  - after: {fault: 1}
    pause: {node: B, for: 1s}
`)
	synctest.Test(t, func(t *testing.T) {
		w := worldtest.New("c1", "c2")
		w.Refuse["pause A"] = errors.New("no such process")
		recorder := history.NewRecorder(history.Header{}, w.Now, nil)
		s := nemesis.NewSchedule(w, recorder.Record, setup.Planned(), nil, setup.Cast(), 1)
		s.Start()
		time.Sleep(10 * time.Second)
		s.Heal()
		w.Stop()
		w.Wait()
		h, _ := recorder.Seal()
		if len(h.Events) != 1 || h.Events[0].F != history.FaultFailed ||
			h.Events[0].Error.String() != "no such process" || h.Events[0].Value.ID() != 1 {
			t.Errorf("recorded %+v: want one fault that failed", h.Events)
		}
		if got := w.Calls(); !slices.Equal(got, []string{"pause A"}) {
			t.Errorf("what did not begin must not be undone, nor followed: %q", got)
		}
	})
}

func TestHealEndsEverythingLatestFirst(t *testing.T) {
	play(t, `
  - at: 0s
    cut: {client: c1, nodes: [B, C]}
  - at: 1s
    pause: {node: A}
  - on: {client: c1, point: acquired}
    pause: {client: c1}
  - at: 20s
    pause: {node: B}
  - after: {fault: 2, event: end}
    kill: {node: C}
`, 1, func(t *testing.T, s *stage) {
		time.Sleep(2 * time.Second)
		if s.Endless("c1", nobody) {
			t.Error("c1 is not paused yet")
		}
		s.Point("c1", "acquired")
		if !s.Endless("c1", nobody) || s.Endless("c2", nobody) {
			t.Errorf("c1 stands under an endless fault, c2 does not: %v, %v", s.Endless("c1", nobody), s.Endless("c2", nobody))
		}
		s.Heal()
		all := []string{"cut [{c1 B} {c1 C}]", "pause A", "pause c1", "resume c1", "resume A", "lift cut [{c1 B} {c1 C}]"}
		s.want(t, all...)
		time.Sleep(time.Minute)
		s.Point("c1", "acquired")
		s.want(t, all...) // nothing begins any more
		if err := s.Err(); err != nil {
			t.Error(err)
		}
	})
}

// What a place is like stays till the world is closed.
func TestHealingLeavesWhatStays(t *testing.T) {
	play(t, `
  - at: 0s
    latency: {client: c1, nodes: [B], delay: 5ms}
    stays: true
  - at: 0s
    pause: {node: A}
`, 1, func(t *testing.T, s *stage) {
		s.Heal()
		s.want(t, "latency [{c1 B}]", "pause A", "resume A")
	})
}

// fast is a world whose nodes' clocks run twice as fast as the run's.
type fast struct{ *worldtest.World }

func (w fast) NodeTime(string) (time.Duration, error) { return 2 * w.Now(), nil }

// A kill that lasts by the clock of its node is over when that clock says so.
func TestLengthByTheClockOfANode(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 2 * time.Second, ", by_its_clock: true": time.Second} {
		setup := faultsOf(t, "  - at: 0s\n    kill: {node: A, for: 2s"+text+"}\n")
		synctest.Test(t, func(t *testing.T) {
			w := fast{worldtest.New("c1", "c2")}
			s := nemesis.NewSchedule(w, func(history.Event) int { return 0 }, setup.Planned(), nil, setup.Cast(), 1)
			s.Start()
			time.Sleep(want - 10*time.Millisecond)
			if w.Alive("A") {
				t.Errorf("kill%s: it is back before %v", text, want)
			}
			time.Sleep(20 * time.Millisecond)
			if !w.Alive("A") {
				t.Errorf("kill%s: it is not back after %v", text, want)
			}
			s.Heal()
			w.Stop()
			w.Wait()
		})
	}
}

// A message that is dropped is lost, and one that is late comes.
func TestFaultsOfOneMessage(t *testing.T) {
	for fault, want := range map[string]world.DisturbanceKind{
		"drop: {this: true}": world.Cut, "late: {this: true, by: 1s}": world.Hold, "reset: {this: true}": world.Reset,
	} {
		play(t, "  - on: {client: c1, sends: SET}\n    "+fault+"\n", 1, func(t *testing.T, s *stage) {
			var did []world.DisturbanceKind
			s.Message(world.Message{Link: world.Link{From: "c1", To: "A"}, Kind: world.Sent, Words: []string{"set", "lock", "1"},
				Disturb: func(d world.Disturbance) (func() error, error) {
					did = append(did, d.Kind)
					return func() error { return nil }, nil
				}})
			if !slices.Equal(did, []world.DisturbanceKind{want}) {
				t.Errorf("%s: the message met %q, want %q", fault, did, want)
			}
		})
	}
}

func TestWhatCannotBeLiftedIsAnError(t *testing.T) {
	play(t, `
  - at: 0s
    kill: {node: A}
`, 1, func(t *testing.T, s *stage) {
		s.Refuse["restart A data"] = errors.New("no room on the disk")
		s.Heal()
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), "fault 1 (kill of A)") || !strings.Contains(err.Error(), "no room") {
			t.Errorf("error %v", err)
		}
	})
}

// A server that is being started again is not killed meanwhile by the same fault.
func TestWhatIsBeingLiftedIsStillActive(t *testing.T) {
	play(t, `
  mix: {during: 6s, every: 500ms, swarm: false, kinds: {kill: {for: 1s}}}
`, 1, func(t *testing.T, s *stage) {
		for _, n := range []string{"A", "B", "C", "c1", "c2"} {
			for _, keep := range []string{"data", "nothing", "synced"} {
				s.Slow("restart "+n+" "+keep, 3*time.Second)
			}
		}
		time.Sleep(time.Minute)
		told, strokes := s.told(), 0
		for i, line := range told {
			if strings.Contains(line, " begin ") != (i%2 == 0) {
				t.Fatalf("killed while it was being started: %q", told[:i+1])
			}
			strokes++
		}
		if strokes < 4 {
			t.Errorf("only %q happened", told)
		}
	})
}

func TestHealingWaitsForWhatIsBeingLifted(t *testing.T) {
	play(t, `
  - on: {client: c1, point: acquired}
    kill: {node: A, for: 1s}
`, 1, func(t *testing.T, s *stage) {
		s.Slow("restart A data", 3*time.Second)
		s.Point("c1", "acquired")
		time.Sleep(2 * time.Second)
		s.Heal()
		if s.Now() != 4*time.Second {
			t.Errorf("healed at %v, before A was up", s.Now())
		}
	})
}

func TestClientThatIsBeingStartedReturns(t *testing.T) {
	play(t, `
  - on: {client: c1, point: acquired}
    kill: {client: c1, for: 1s}
`, 1, func(t *testing.T, s *stage) {
		s.Slow("restart c1 data", 3*time.Second)
		s.Point("c1", "acquired")
		time.Sleep(2 * time.Second)
		if !s.AwaitReturn("c1") || s.Now() != 4*time.Second {
			t.Errorf("c1 is back after 4s, not at %v", s.Now())
		}
	})
}

func TestKilledClientReturns(t *testing.T) {
	play(t, `
  - on: {client: c1, point: acquired}
    kill: {client: c1, for: 1s}
  - on: {client: c2, point: acquired}
    kill: {client: c2}
`, 1, func(t *testing.T, s *stage) {
		s.Point("c1", "acquired")
		s.Point("c2", "acquired")
		if s.AwaitReturn("c2") {
			t.Error("c2 is dead for good")
		}
		if !s.AwaitReturn("c1") || s.Now() != time.Second {
			t.Errorf("c1 is back after 1s, not at %v", s.Now())
		}
		s.Heal()
		if slices.Contains(s.Calls(), "restart c2 data") {
			t.Error("healing brought c2 back to life")
		}
	})
}

// slowDeath is a world in which clients do not die at once. It keeps account of what it did, and what was told.
type slowDeath struct {
	*worldtest.World
	did []string
}

func (w *slowDeath) Freeze(client string) error {
	w.did = append(w.did, "freeze "+client)
	return nil
}

func (w *slowDeath) Kill(target string) error {
	w.did = append(w.did, "kill "+target)
	return nil
}

func (w *slowDeath) record(e history.Event) int {
	w.did = append(w.did, fmt.Sprintf("%s %s", e.F, e.Value.Target()))
	return len(w.did)
}

// Others can see that a client is dead before its kill is over: so the kill is told when the client stands still. A node's is told
// when it is dead.
func TestAKillIsToldBeforeOthersSeeIt(t *testing.T) {
	setup := faultsOf(t, "  - at: 0s\n    kill: {client: c1}\n  - at: 1s\n    kill: {node: A}\n")
	synctest.Test(t, func(t *testing.T) {
		w := &slowDeath{World: worldtest.New("c1", "c2")}
		nemesis.NewSchedule(w, w.record, setup.Planned(), setup.Faults.Mix, setup.Cast(), 1).Start()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want := []string{"freeze c1", "fault-begin c1", "kill c1", "kill A", "fault-begin A"}
		if !slices.Equal(w.did, want) {
			t.Errorf("got %q, want %q", w.did, want)
		}
		w.Stop()
		w.Wait()
	})
}

// nobody has ended.
func nobody(string) bool { return false }

// TestCutOneWay: what one group sends to the other are requests on the links that it has opened, and answers on the others.
func TestCutOneWay(t *testing.T) {
	for _, bus := range []bool{false, true} {
		w := worldtest.New("c1")
		w.AllLinks = []world.Link{{From: "A", To: "B"}, {From: "B", To: "A"}, {From: "A", To: "B", Bus: true}, {From: "B", To: "A", Bus: true}}
		disturbed := make(map[world.Link]world.Direction)
		s, err := scenario.Parse("test.yaml", fmt.Appendf(nil, "name: test\nnodes: {topology: cluster}\nlock: {algorithm: set-nx-px}\n"+
			"faults:\n  - {at: 1s, cut: {groups: [[A], [B]], bus: %v, direction: requests}}\n", bus))
		if err != nil {
			t.Fatal(err)
		}
		lift, err := s.Variants[0].Setup.Faults.List[0].Params.Begin(recordingWorld{w, disturbed})
		if err != nil || lift() != nil {
			t.Fatal(err)
		}
		want := map[world.Link]world.Direction{{From: "A", To: "B", Bus: true}: world.Requests, {From: "B", To: "A", Bus: true}: world.Answers}
		if !bus {
			want[world.Link{From: "A", To: "B"}], want[world.Link{From: "B", To: "A"}] = world.Requests, world.Answers
		}
		if !maps.Equal(want, disturbed) {
			t.Errorf("bus alone: %v: %v", bus, disturbed)
		}
	}
}

// recordingWorld tells which links are disturbed, which way.
type recordingWorld struct {
	world.World
	disturbed map[world.Link]world.Direction
}

func (w recordingWorld) Disturb(links []world.Link, d world.Disturbance) (lift func() error, err error) {
	for _, l := range links {
		w.disturbed[l] = d.Direction
	}
	return func() error { return nil }, nil
}
