package resource_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/commandtest"
	"github.com/redlock-sim/redlock-sim/internal/redis/command/model"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
)

func strict() (resource.Config, *commandtest.Node) {
	return resource.Config{Kind: resource.Register, Key: "r", Fence: resource.Strict, Initial: 5},
		commandtest.NewNode("resource", &commandtest.Clock{})
}

func by(name string, token int64) resource.Access {
	return resource.Access{Client: name, Section: 1, Token: token, HasToken: true}
}

func writing(a resource.Access, n int64) resource.Access {
	a.Number = n
	return a
}

func TestStrictFence(t *testing.T) {
	c, node := strict()
	for i, step := range []struct {
		what     string
		answer   func() resource.Answer
		accepted bool
		number   int64
	}{
		{"the first token is taken, and the initial value read", func() resource.Answer { return c.Read(node, by("c1", 33)) }, true, 5},
		{"a higher one too", func() resource.Answer { return c.Read(node, by("c2", 34)) }, true, 5},
		{"a read registered its token: the lower one is refused",
			func() resource.Answer { return c.Write(node, writing(by("c1", 33), 6)) }, false, 5},
		{"its reads as well", func() resource.Answer { return c.Read(node, by("c1", 33)) }, false, 5},
		{"the same token from the same client goes on", func() resource.Answer { return c.Write(node, writing(by("c2", 34), 7)) }, true, 7},
		{"from another client it does not", func() resource.Answer { return c.Write(node, writing(by("c3", 34), 8)) }, false, 7},
		{"no token, no access", func() resource.Answer { return c.Write(node, resource.Access{Client: "c2", Number: 9}) }, false, 7},
		{"a refused token is not remembered", func() resource.Answer { return c.Write(node, writing(by("c2", 34), 10)) }, true, 10},
		{"tokens are numbers, not words", func() resource.Answer { return c.Write(node, writing(by("c4", 100), 11)) }, true, 11},
	} {
		a := step.answer()
		if !a.OK() || a.Accepted != step.accepted || a.Number != step.number {
			t.Errorf("%d, %s: accepted %v, number %d (%s)", i, step.what, a.Accepted, a.Number, a.Err())
		}
	}
	if a := c.Read(node, by("c1", 1)); a.Accepted || !a.HasHighest || a.Highest != 100 {
		t.Errorf("a refusal names the highest token: %+v", a)
	}
}

func TestWithoutFenceEverythingIsAccepted(t *testing.T) {
	c, node := strict()
	c.Fence = resource.NoFence
	c.Read(node, by("c2", 34))
	if a := c.Write(node, writing(by("c1", 33), 6)); !a.Accepted || a.Number != 6 || a.HasHighest {
		t.Errorf("%+v", a)
	}
	if a := c.Read(node, resource.Access{Client: "c3"}); !a.Accepted || a.Number != 6 {
		t.Errorf("%+v", a)
	}
}

func TestUnansweredAccessIsUnknown(t *testing.T) {
	c, node := strict()
	node.Way = commandtest.Mute
	if a := c.Write(node, writing(by("c1", 1), 6)); a.Outcome != command.Unknown || a.Accepted {
		t.Errorf("%+v", a)
	}
	node.Way = func(command.Command, func() command.Reply) command.Reply { return command.ListReply("1") }
	if a := c.Read(node, by("c1", 1)); a.Outcome != command.Unknown || !strings.Contains(a.Err(), "1 values") {
		t.Errorf("a strange answer: %+v", a)
	}
}

// However clients come and go: what the fence accepts never goes back in tokens,
// a token has one client, the value is the last one accepted, and the log tells
// all of it.
func TestFenceAndLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, _ := strict()
		clock := &commandtest.Clock{}
		node := commandtest.NewNode("resource", clock)
		type key struct {
			token  int64
			client string
		}
		var highest key
		values, seen := map[string]int64{"": c.Initial, "b": c.Initial}, []string{}
		for i := range rapid.IntRange(1, 30).Draw(t, "accesses") {
			clock.T += time.Duration(rapid.IntRange(0, 5000).Draw(t, "µs")) * time.Microsecond
			a := resource.Access{
				Client: rapid.SampledFrom([]string{"c1", "c2", "c3"}).Draw(t, "client"), Section: i,
				Token: rapid.Int64Range(1, 6).Draw(t, "token"), HasToken: rapid.IntRange(0, 9).Draw(t, "has") > 0,
				Number: rapid.Int64Range(-3, 1<<40).Draw(t, "number"), Cell: rapid.SampledFrom([]string{"", "b"}).Draw(t, "cell"),
			}
			accepted := a.HasToken && (a.Token > highest.token || a.Token == highest.token && a.Client == highest.client)
			op, got, shown := "read", resource.Answer{}, values[a.Cell]
			if rapid.Bool().Draw(t, "write") {
				op, shown, got = "write", a.Number, c.Write(node, a)
				if accepted {
					values[a.Cell] = a.Number
				}
			} else {
				got = c.Read(node, a)
			}
			if got.Accepted != accepted || got.Number != values[a.Cell] || got.Highest != highest.token || got.HasHighest != (highest.token > 0) {
				t.Fatalf("%s %+v on %+v: %+v, value %d", op, a, highest, got, values[a.Cell])
			}
			entry := resource.LogEntry{Op: op, Client: a.Client, Section: i, Number: shown, Accepted: accepted, HasToken: a.HasToken, Cell: a.Cell,
				Highest: highest.token, HasHighest: highest.token > 0, Time: node.Memory().Time()}
			if a.HasToken {
				entry.Token = a.Token
			}
			seen = append(seen, fmt.Sprintf("%+v", entry))
			if accepted {
				highest = key{a.Token, a.Client}
			}
		}
		log := node.Memory().LRange(c.LogKey())
		if len(log) != len(seen) {
			t.Fatalf("%d log entries of %d accesses", len(log), len(seen))
		}
		for i, text := range log {
			e, err := resource.ParseLogEntry(text)
			if err != nil || fmt.Sprintf("%+v", e) != seen[i] {
				t.Errorf("log entry %q is %+v (%v): want %s", text, e, err, seen[i])
			}
		}
	})
}

func TestParseLogEntryRefusesGarbage(t *testing.T) {
	for _, text := range []string{
		"", "write", "write|c1|1|2|3|1|2|4", "write|c1|1|2|3|1|2|4|5|", "write|c1|x|2|3|1|2|4|", "write|c1|1|x|3|1|2|4|",
		"write|c1|1|2|x|1|2|4|", "write|c1|1|2|3|1|x|4|", "write|c1|1|2|3|1|2|x|", "write|c1|1|2|3|1|2|99999999999999999999|",
		"write|c1|1|2|3|yes|2|4|", "erase|c1|1|2|3|1|2|4|", "write||1|2|3|1|2|4|", "write|c1|1|2||1|2|4|", "write|c1|1|2|3|1|2||",
	} {
		if e, err := resource.ParseLogEntry(text); err == nil {
			t.Errorf("%q was read as %+v", text, e)
		}
	}
}

func FuzzParseLogEntry(f *testing.F) {
	for _, text := range []string{"read|c1|1|33|5|1||1700000000000000|",
		"write|c2|2||7|0|34|1|b", "cas|c2|2||7|1|34|1|", "|||||||||", "write|c1|1|2|3|1|2|99999999999999999999|"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := resource.ParseLogEntry(text)
		if err != nil {
			return
		}
		if e.Token != 0 && !e.HasToken || e.Highest != 0 && !e.HasHighest || e.Client == "" || strings.Contains(e.Client, "|") {
			t.Errorf("%q was read as %+v", text, e)
		}
	})
}

// Each careless fence lets through what the strict one refuses.
func TestCarelessFences(t *testing.T) {
	for fence, accepted := range map[resource.Fence][]bool{
		//                      c1 reads, c2 reads, c1 writes (older), c3 writes (equal), c2 writes
		resource.Strict:        {true, true, false, false, true},
		resource.EqualToken:    {true, true, false, true, true},
		resource.WritesOnly:    {true, true, true, true, false},
		resource.Forgetful:     {true, true, false, false, true},
		resource.CompareAndSet: {true, true, false, true, true},
		resource.NoFence:       {true, true, true, true, true},
	} {
		c, node := strict()
		c.Fence = fence
		got := []bool{
			c.Read(node, by("c1", 33)).Accepted,
			c.Read(node, by("c2", 34)).Accepted,
			c.Write(node, writing(by("c1", 33), 6)).Accepted,
			c.Write(node, writing(by("c3", 34), 7)).Accepted,
			c.Write(node, writing(by("c2", 34), 8)).Accepted,
		}
		if !slices.Equal(got, accepted) {
			t.Errorf("%s: %v, want %v", fence, got, accepted)
		}
	}
}

func TestACheckApartFromTheWriteLeavesAGap(t *testing.T) {
	c, node := strict()
	c.Fence = resource.CheckThenWrite
	if a := c.Check(node, by("c1", 33)); !a.Accepted {
		t.Fatalf("%+v", a)
	}
	c.Read(node, by("c2", 34))
	if a := c.Write(node, writing(by("c1", 33), 6)); !a.Accepted || a.Number != 6 {
		t.Errorf("the write looked at the token again: %+v", a)
	}
	if a := c.Check(node, by("c1", 33)); a.Accepted || a.Highest != 34 {
		t.Errorf("the check let an old token pass: %+v", a)
	}
	log := node.Memory().LRange(c.LogKey())
	last, err := resource.ParseLogEntry(log[len(log)-1])
	if err != nil || last.Accepted || last.Op != "write" || len(log) != 3 {
		t.Errorf("a refused check is logged as a refused write: %+v (%v) in %q", last, err, log)
	}
}

func TestTakeIsOneStep(t *testing.T) {
	c, node := strict()
	c.Fence = resource.NoFence
	for i, want := range []resource.Answer{{Accepted: true, Number: 3},
		{Accepted: true, Number: 1}, {Accepted: true, Number: 1, Short: true}} {
		a := c.Take(node, writing(resource.Access{Client: "c1"}, 2))
		if !a.OK() || a.Accepted != want.Accepted || a.Number != want.Number || a.Short != want.Short {
			t.Errorf("%d: %+v, want %+v", i, a, want)
		}
	}
	if n := len(node.Memory().LRange(c.LogKey())); n != 2 {
		t.Errorf("%d log entries: what took nothing had no effect", n)
	}
}

func TestListsGrow(t *testing.T) {
	c, node := strict()
	c.Kind = resource.List
	for i := range int64(3) {
		all := []int64{10, 11, 12}[:i+1]
		if a := c.Write(node, resource.Access{Client: "c1", Token: 1, HasToken: true, Number: 10 + i, List: all}); !a.Accepted ||
			a.Number != i+1 {
			t.Errorf("%+v", a)
		}
	}
	if a := c.Read(node, by("c1", 1)); !slices.Equal(a.List, []int64{10, 11, 12}) || a.Number != 3 {
		t.Errorf("%+v", a)
	}
	if a := c.Read(node, by("c2", 0)); a.Accepted || len(a.List) != 0 {
		t.Errorf("a refused read shows nothing: %+v", a)
	}
}

// A resource beside the lock serves whose key it is: nobody while there is none, or another's.
func TestLockOwnerFence(t *testing.T) {
	c, node := strict()
	c.Fence, c.LockKey = resource.LockOwner, "lock"
	for owner, accepted := range map[string]bool{"": false, "c1-7": true, "c2-8": false} {
		node.Memory().Del("lock")
		if owner != "" {
			node.Memory().Set("lock", owner, time.Second, false)
		}
		if a := c.Write(node, resource.Access{Client: "c1", Owner: "c1-7", Number: 6}); !a.OK() || a.Accepted != accepted {
			t.Errorf("the key is %q: %+v, want accepted %v", owner, a, accepted)
		}
	}
}

// What the fence refuses takes nothing.
func TestRefusedTakeTakesNothing(t *testing.T) {
	c, node := strict()
	c.Read(node, by("c2", 34))
	if a := c.Take(node, writing(by("c1", 33), 2)); !a.OK() || a.Accepted || a.Number != 5 {
		t.Errorf("%+v, want a refusal that leaves 5", a)
	}
	if a := c.Read(node, by("c2", 34)); a.Number != 5 {
		t.Errorf("%d are left, want 5", a.Number)
	}
}

// A transaction that is aborted had no effect; one of which a command failed had some.
func TestOutcomesOfTransactions(t *testing.T) {
	c, node := strict()
	c.Guard = resource.Watching
	node.Way = func(command.Command, func() command.Reply) command.Reply { return command.NilReply() }
	if a := c.Write(node, writing(by("c1", 1), 6)); a.Outcome != command.Refused || a.Accepted {
		t.Errorf("aborted: %+v", a)
	}
	node.Way = func(q command.Command, _ func() command.Reply) command.Reply {
		return node.Memory().Transact(&q, &model.Connection{})
	}
	for how, want := range map[resource.How]command.Outcome{
		resource.InTransaction: command.Done, resource.Discarded: command.Refused,
		resource.QueueError: command.Refused, resource.RunError: command.Unknown,
	} {
		if r := c.Append(node, 7, how, nil); r.Outcome != want {
			t.Errorf("%s: %+v, want outcome %v", how, r, want)
		}
	}
}

// Only the forgetful fence forgets its token in a restart.
func TestVolatile(t *testing.T) {
	for _, fence := range resource.Fences() {
		c, _ := strict()
		if c.Fence = fence; (len(c.Volatile()) > 0) != (fence == resource.Forgetful) {
			t.Errorf("%s loses %q", fence, c.Volatile())
		}
	}
}
