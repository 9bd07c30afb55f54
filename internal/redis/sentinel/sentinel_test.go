package sentinel

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

var settings = Settings{Quorum: 2, DownAfter: 500 * time.Millisecond, FailoverTimeout: 3 * time.Second}

// fake is a sentinel s1 of three, of whose actions and events the test takes note.
type fake struct {
	*Sentinel
	actions []Action
	events  []Event
}

func started(kept Kept, now time.Duration) *fake {
	f := &fake{}
	f.Sentinel = New(Config{Settings: settings, Name: "s1", Others: []string{"s2", "s3"}, Kept: kept, Rand: func(int) int { return 0 },
		Do: func(a Action) { f.actions = append(f.actions, a) }, Tell: func(e Event) { f.events = append(f.events, e) }}, now)
	return f
}

// zero is when tests begin: a time of day.
const zero = 1000 * time.Hour

func settled() *fake {
	f := started(Kept{Primary: "A", Replicas: []string{"B", "C"}}, zero)
	f.Settle(func(server string) Info {
		if server == "A" {
			return Info{RunID: "a", Role: Primary, Replicas: []string{"B", "C"}}
		}
		return Info{RunID: server, Role: Replica, Primary: "A", LinkUp: true}
	})
	f.actions, f.events = nil, nil
	return f
}

func (f *fake) told(w Word) bool {
	return slices.ContainsFunc(f.events, func(e Event) bool { return e.Word == w })
}

// run lets the timer fire for a while. All but the silent answer pings.
func (f *fake) run(from, until time.Duration, silent ...string) time.Duration {
	now := from
	for now < until {
		now += f.Timer(now)
		actions := f.actions
		f.actions = nil
		for _, a := range actions {
			if ri := f.instances[a.Conn]; a.Verb == Ping && ri != nil && !slices.Contains(silent, ri.name) {
				f.Answered(now, a.Conn, Answer{To: Ping})
			}
		}
	}
	return now
}

// The timer fires every 100 ms or sooner.
func TestTimer(t *testing.T) {
	f := settled()
	for n, want := range map[int]time.Duration{0: 100 * time.Millisecond, 9: 52 * time.Millisecond} {
		f.config.Rand = func(int) int { return n }
		if next := f.Timer(zero); next != want {
			t.Errorf("%d: in %v, want %v", n, next, want)
		}
	}
}

// One sentinel alone finds the primary down for itself. With the word of another it stands for leader,
// votes for itself, and is elected with one vote more.
func TestElection(t *testing.T) {
	f := settled()
	now := f.run(zero, zero+2*time.Second, "A")
	if !f.told(SDown) || f.told(ODown) {
		t.Fatal("it alone makes a quorum, or sees nothing")
	}
	s2 := f.others[0].link.cc
	f.Answered(now, s2, Answer{To: AskDown, Down: Down{Down: true}})
	now = f.run(now, now+200*time.Millisecond, "A")
	if !f.told(ODown) || !f.told(TryFailover) || f.leaderEpochOf() != 1 || f.told(ElectedLeader) {
		t.Fatalf("it does not stand: %v", f.events)
	}
	f.Answered(now, s2, Answer{To: AskDown, Down: Down{Down: true, Leader: "s1", Epoch: 1}})
	f.run(now, now+100*time.Millisecond, "A")
	if !f.told(ElectedLeader) {
		t.Errorf("two votes of three do not elect it: %v", f.events)
	}
}

// A leader needs the votes of a majority, and as many as the quorum, whatever the quorum is.
func TestElectionNeedsBoth(t *testing.T) {
	for _, c := range []struct{ quorum, votes int }{{1, 2}, {2, 2}, {3, 3}} {
		f := settled()
		f.config.Quorum = c.quorum
		now := f.run(zero, zero+2*time.Second, "A")
		for _, o := range f.others[:c.quorum-1] {
			f.Answered(now, o.link.cc, Answer{To: AskDown, Down: Down{Down: true}})
		}
		now = f.run(now, now+200*time.Millisecond, "A")
		if !f.told(TryFailover) {
			t.Fatalf("quorum %d: it does not stand: %v", c.quorum, f.events)
		}
		votes := 1 // its own
		for ; votes < c.votes; votes++ {
			if f.told(ElectedLeader) {
				break
			}
			f.Answered(now, f.others[votes-1].link.cc, Answer{To: AskDown, Down: Down{Down: true, Leader: "s1", Epoch: 1}})
			now = f.run(now, now+100*time.Millisecond, "A")
		}
		if votes != c.votes || !f.told(ElectedLeader) {
			t.Errorf("quorum %d of 3 sentinels: elected %v with %d votes, want %d", c.quorum, f.told(ElectedLeader), votes, c.votes)
		}
	}
}

func (f *fake) leaderEpochOf() uint64 { return f.master.leaderEpoch }

// A sentinel votes once in an epoch, remembers that in its file, and does not stand itself for a while.
func TestVotes(t *testing.T) {
	f := settled()
	first := f.Asked(zero, Ask{Primary: "A", Candidate: "s2", Epoch: 1})
	again := f.Asked(zero, Ask{Primary: "A", Candidate: "s3", Epoch: 1})
	if first.Leader != "s2" || again.Leader != "s2" || f.Asked(zero, Ask{Primary: "B", Candidate: "s3", Epoch: 2}).Leader != "" {
		t.Errorf("it votes for %v and %v", first, again)
	}
	reborn := started(f.Kept(), zero)
	if a := reborn.Asked(zero, Ask{Primary: "A", Candidate: "s3", Epoch: 1}); a.Leader != "" {
		t.Errorf("a new process votes for %v in the same epoch", a)
	}
	if a := reborn.Asked(zero, Ask{Primary: "A", Candidate: "s3", Epoch: 2}); a.Leader != "s3" {
		t.Errorf("and for %v in the next", a)
	}
	f.master.sDown, f.others[0].masterDown = true, true
	f.run(zero, zero+5*time.Second, "A")
	if f.told(TryFailover) {
		t.Error("it stands sooner than after twice the failover's timeout")
	}
	for _, o := range f.others {
		o.masterDown, o.lastMasterDownReplyTime = true, f.now
	}
	f.run(zero+5*time.Second, zero+7*time.Second, "A")
	if !f.told(TryFailover) {
		t.Error("it never stands")
	}
}

// A newer configuration is taken over, an older one is not.
func TestHello(t *testing.T) {
	f := settled()
	f.Greeted(zero, Hello{From: "s2", CurrentEpoch: 5, ConfigEpoch: 5, Primary: "B"})
	f.Greeted(zero, Hello{From: "s3", CurrentEpoch: 5, ConfigEpoch: 4, Primary: "C"})
	if f.Primary() != "B" || f.Kept().Primary != "B" || f.Kept().CurrentEpoch != 5 || !slices.Equal(f.Kept().Replicas, []string{"C", "A"}) {
		t.Errorf("it keeps %+v", f.Kept())
	}
}

// Of two configurations of one epoch the first stays.
func TestHelloOfTheSameEpoch(t *testing.T) {
	f := settled()
	f.Greeted(zero, Hello{From: "s2", CurrentEpoch: 5, ConfigEpoch: 5, Primary: "B"})
	f.Greeted(zero, Hello{From: "s3", CurrentEpoch: 5, ConfigEpoch: 5, Primary: "C"})
	if f.Primary() != "B" {
		t.Errorf("it follows %s", f.Primary())
	}
}

// Votes count in their own epoch only.
func TestVotesOfAnEarlierEpoch(t *testing.T) {
	f := settled()
	f.currentEpoch = 5
	for _, o := range f.others {
		o.leader, o.leaderEpoch = "s1", 4
	}
	if leader := f.getLeader(5); leader != "" {
		t.Errorf("%s is elected with its own vote of epoch 5 and two of epoch 4", leader)
	}
}

// Who finds the primary up itself is not talked into a failover, and what another said is forgotten after 5 s without its word.
func TestWordOfOthers(t *testing.T) {
	f := settled()
	for _, o := range f.others {
		o.masterDown, o.leader, o.lastMasterDownReplyTime = true, "s2", f.now
	}
	if f.checkObjectivelyDown(); f.told(ODown) {
		t.Error("two others make a quorum though it finds the primary up itself")
	}
	for _, late := range []int64{0, 1} {
		f.now = zero.Milliseconds() + 5*askPeriod + late
		if f.askOthers(false); f.others[0].masterDown != (late == 0) || (f.others[0].leader == "s2") != (late == 0) {
			t.Errorf("%d ms later it has %+v", 5*askPeriod+late, f.others[0])
		}
	}
}

// In TILT a sentinel finds nobody down, and tells so when it is asked. After 30 s it goes on.
func TestTilt(t *testing.T) {
	f := settled()
	f.master.sDown = true
	f.Timer(zero + 3*time.Second)
	if a := f.Asked(zero+3*time.Second, Ask{Primary: "A"}); !f.told(TiltOn) || a.Down {
		t.Errorf("it says down: %v; %v", a.Down, f.events)
	}
	f.master.sDown = false
	now := f.run(zero+3*time.Second, zero+30*time.Second, "A")
	if f.told(SDown) || f.told(TiltOff) {
		t.Errorf("it acts in TILT: %v", f.events)
	}
	if f.run(now, zero+36*time.Second, "A"); !f.told(TiltOff) || !f.told(SDown) {
		t.Errorf("it does not go on: %v", f.events)
	}
}

// Of the replicas the one with the greatest offset is taken, and of these that with the least run id; none
// that is down, or has lost its primary long ago.
func TestSelectSlave(t *testing.T) {
	for want, change := range map[string]func(b, c *instance){
		"B": func(_, _ *instance) {},
		"C": func(b, c *instance) { b.slaveReplOffset, c.slaveReplOffset = 9, 10 },
		"":  func(b, c *instance) { b.sDown, c.masterLinkDownTime = true, 5001 },
	} {
		f := settled()
		change(f.slaves[0], f.slaves[1])
		if s := f.selectSlave(); (s == nil) != (want == "") || s != nil && s.name != want {
			t.Errorf("selected %v, want %q", s, want)
		}
	}
}

// Real sentinels of version 7.0.15 on a busy machine did what the rules allow: three servers with a down-after of 500 ms, and the
// primary is killed. Each is thought down once more after the switch, or not, for nobody is connected to it for a while.
func TestExplainsReal(t *testing.T) {
	files, err := filepath.Glob("testdata/redis-7.0.15-*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no traces", err)
	}
	for _, name := range files {
		b, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		var trace []Event
		for s := bufio.NewScanner(b); s.Scan(); {
			var e Event
			if err := json.Unmarshal(s.Bytes(), &e); err != nil {
				t.Fatal(err)
			}
			trace = append(trace, e)
		}
		rules := Rules{Settings: settings, Sentinels: []string{"s1", "s2", "s3"}, Primary: "A", Slack: 20 * time.Millisecond}
		if err := Explains(rules, trace); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
