package world_test

import (
	"strings"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func abilities() *world.Abilities {
	return world.NewAbilities(program.PatternsFor("lock", []string{"my:{key}"}))
}

// TestAbilitiesOfScripts: a script that is called by its name can do what its text says, on the nodes to which that was sent.
func TestAbilitiesOfScripts(t *testing.T) {
	const text = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end`
	byName := []string{"EVALSHA", strings.ToUpper(command.SHA(text)), "1", "my:lock", "v"}
	for how, sent := range map[string][]string{"loaded": {"script", "LOAD", text}, "called": {"EVAL", text, "1", "my:other", "v"}} {
		a := abilities()
		if got := a.Of("A", byName); got != 0 {
			t.Errorf("%s: a script that no node knows can do %03b", how, got)
		}
		if got := a.Of("A", sent); got != 0 {
			t.Errorf("%s: %v can do %03b to the lock's key", how, sent[:2], got)
		}
		if got := a.Of("A", byName); got != command.CanEnd {
			t.Errorf("%s: got %03b", how, got)
		}
		if got := a.Of("B", byName); got != 0 {
			t.Errorf("%s: on another node got %03b", how, got)
		}
	}
	for _, s := range lock.Scripts() { // built-in clients make them known before a run
		if got := abilities().Of("A", []string{"EVALSHA", s.SHA(), "1", "my:lock"}); got != command.ScriptCan(s.Lua) || got == 0 {
			t.Errorf("%s: got %03b", s.Name, got)
		}
	}
}

// TestAbilitiesOfFunctions: a function can do what its library's text says.
func TestAbilitiesOfFunctions(t *testing.T) {
	a := abilities()
	call := []string{"FCALL", "free", "1", "my:lock"}
	if got := a.Of("A", call); got != 0 {
		t.Errorf("a function that no node knows can do %03b", got)
	}
	const library = "#!lua name=l\nredis.register_function('free', function(keys) return redis.call('DEL', keys[1]) end)"
	a.Of("A", []string{"FUNCTION", "LOAD", "REPLACE", library})
	if got := a.Of("A", call); got != command.CanEnd {
		t.Errorf("got %03b", got)
	}
	if got := a.Of("A", []string{"FCALL", "free", "1", "other"}); got != 0 {
		t.Errorf("of another key: got %03b", got)
	}
}

// TestAbilitiesOfTransactions: what stands between MULTI and EXEC is done with EXEC.
func TestAbilitiesOfTransactions(t *testing.T) {
	a := abilities()
	var tx world.Transaction
	var answered []command.Can
	const sent = "SET my:lock v|MULTI|DEL my:lock|GET x|EXEC|MULTI|SETNX my:lock v|EXEC|MULTI|DEL my:lock|DISCARD|EXEC"
	for line := range strings.SplitSeq(sent, "|") {
		words := strings.Fields(line)
		can := a.Of("A", words)
		tx.Ask(words, can)
		if words[0] == "EXEC" {
			answered = append(answered, tx.Answered(words, can))
		}
	}
	if len(answered) != 3 || answered[0] != command.CanEnd || answered[1] != command.CanSet || answered[2] != 0 {
		t.Errorf("got %03b", answered)
	}
	if got := tx.Answered([]string{"SET"}, command.CanSet); got != command.CanSet {
		t.Errorf("outside a transaction: got %03b", got)
	}
}

// TestPatternsThatNeedAllLinks: a script that one client has made known can be called by another.
func TestPatternsThatNeedAllLinks(t *testing.T) {
	list := world.Patterns{{Client: "c1", Node: "A", Command: world.AnyCommand, Can: command.CanEnd}}
	for link, want := range map[world.Link]int{{From: "c1", To: "A"}: 1, {From: "c2", To: "A"}: 1, {From: "c2", To: "B"}: 0} {
		if got := len(list.On(link)); got != want {
			t.Errorf("%v: got %d", link, got)
		}
	}
	if list.Fit(world.Link{From: "c2", To: "A"}, world.Sent, []string{"DEL", "lock"}, command.CanEnd) {
		t.Error("a message of c2 fits")
	}
}
