package world

import (
	"slices"
	"strings"
	"sync"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Abilities say what the commands of a run can do to the lock's keys. They remember the texts of scripts, which are called by names
// afterwards.
type Abilities struct {
	keys program.Patterns
	mu   sync.Mutex
	// scripts are what those can do that a node was sent.
	scripts map[nodeScript]command.Can
	// libraries are the texts of functions that a node was sent.
	libraries map[string][]string
}

type nodeScript struct{ node, sha string }

// NewAbilities are those of a run in which the lock's keys fit patterns.
func NewAbilities(keys program.Patterns) *Abilities {
	return &Abilities{keys: keys, scripts: make(map[nodeScript]command.Can), libraries: make(map[string][]string)}
}

// Abilities are those of the commands of a run in which the lock's keys are called so; nil: no message is waited for because of them.
func (s *Spec) Abilities(keys ...string) *Abilities {
	if !slices.ContainsFunc(s.Messages, func(p Pattern) bool { return p.Can != 0 }) {
		return nil
	}
	var list program.Patterns
	for _, key := range keys {
		list = append(list, program.PatternsFor(key, append([]string{program.KeyPattern}, s.LockKeys...))...)
	}
	return NewAbilities(list)
}

// ofBuiltIn are the scripts of the built-in locks, which their clients make known to the nodes before a run.
var ofBuiltIn = sync.OnceValue(func() map[string]command.Can {
	known := make(map[string]command.Can)
	for _, s := range lock.Scripts() {
		known[s.SHA()] = command.ScriptCan(s.Lua)
	}
	return known
})

// Of is what a command can do that is sent to a node. Nil abilities, as of a run that waits for none: nothing.
func (a *Abilities) Of(node string, words []string) command.Can {
	if a == nil || len(words) == 0 {
		return 0
	}
	switch name := strings.ToUpper(words[0]); name {
	case "EVAL", "EVAL_RO", "EVALSHA", "EVALSHA_RO", "SCRIPT":
		return a.ofScript(node, strings.TrimSuffix(name, "_RO"), words)
	case "FCALL", "FCALL_RO", "FUNCTION":
		return a.ofFunction(node, name, words)
	}
	return command.CanDo(words, a.keys.Fit)
}

// ofScript is what a script can do: its text was sent with it, or before. One whose text the node was not sent does nothing: the node
// does not know it.
func (a *Abilities) ofScript(node, name string, words []string) command.Can {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case name == "SCRIPT" && len(words) > 2 && strings.EqualFold(words[1], "load"):
		a.scripts[nodeScript{node, command.SHA(words[2])}] = command.ScriptCan(words[2])
	case name == "EVAL" && len(words) > 1:
		can := command.ScriptCan(words[1])
		a.scripts[nodeScript{node, command.SHA(words[1])}] = can
		return a.onKeys(can, words[2:])
	case name == "EVALSHA" && len(words) > 1:
		sha := strings.ToLower(words[1])
		can, known := a.scripts[nodeScript{node, sha}]
		if !known {
			can = ofBuiltIn()[sha]
		}
		return a.onKeys(can, words[2:])
	}
	return 0
}

// ofFunction is what a function can do: what anything can in the texts in which its name stands in quotes.
func (a *Abilities) ofFunction(node, name string, words []string) (can command.Can) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case name == "FUNCTION" && len(words) > 2 && strings.EqualFold(words[1], "load"):
		a.libraries[node] = append(a.libraries[node], words[len(words)-1])
	case name != "FUNCTION" && len(words) > 1:
		for _, text := range a.libraries[node] {
			if strings.Contains(text, `"`+words[1]+`"`) || strings.Contains(text, "'"+words[1]+"'") {
				can |= command.ScriptCan(text)
			}
		}
		return a.onKeys(can, words[2:])
	}
	return 0
}

// onKeys is what can be done by a script that is called with some words: nothing, where none of them is a key of the lock.
func (a *Abilities) onKeys(can command.Can, words []string) command.Can {
	for _, word := range words {
		if a.keys.Fit(word) {
			return can
		}
	}
	return 0
}

// Transaction has what the commands between MULTI and EXEC of a connection can do: it is done with EXEC, to which the node answers.
type Transaction struct {
	open   bool
	queued command.Can
	execs  []command.Can
}

// Ask takes in a command that is sent.
func (t *Transaction) Ask(words []string, can command.Can) {
	switch strings.ToUpper(words[0]) {
	case "MULTI":
		t.open, t.queued = true, 0
	case "DISCARD", "RESET":
		t.open, t.queued = false, 0
	case "EXEC":
		t.execs = append(t.execs, t.queued)
		t.open, t.queued = false, 0
	default:
		if t.open {
			t.queued |= can
		}
	}
}

// Answered is what the command can do that is answered: of EXEC what those before it can.
func (t *Transaction) Answered(words []string, can command.Can) command.Can {
	if !strings.EqualFold(words[0], "EXEC") || len(t.execs) == 0 {
		return can
	}
	can, t.execs = t.execs[0], t.execs[1:]
	return can
}
