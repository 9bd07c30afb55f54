package resource

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Config is a resource as every client of a run knows it. It travels to client
// processes as JSON.
type Config struct {
	// Kind is what the data is.
	Kind Kind `json:"kind" yaml:"kind" doc:"register: numbers, each read and written as a whole; list: a list that is read and written as a whole; by default what the workload wants" values:"register,list"`
	// Key is the prefix of the resource's keys.
	Key string `json:"key"`
	// Fence says how tokens are checked; a scenario says so beside where they come from.
	Fence Fence `json:"fence"`
	// Initial is the value before the run.
	Initial int64 `json:"initial" yaml:"initial" doc:"its value before the run" min:"0" max:"1000000000" default:"0"`
	// Guard says what a section watches.
	Guard Guard `json:"guard,omitempty" yaml:"guard" doc:"watch: a section watches what it reads (WATCH), and the lock's key where that is in the same Redis, and writes in a transaction" default:"none" values:"none,watch"`
	// LockKey is the lock's key, where the resource lives in the same Redis.
	LockKey string `json:"lock_key,omitempty"`
}

// Guard names a way of noticing, on the server, that a section was not alone.
type Guard string

const (
	// NoGuard: a section reads and writes.
	NoGuard Guard = "none"
	// Watching: a section watches (WATCH) what it reads, and the lock's key where
	// that is in the same Redis; it writes in a transaction, which aborts where
	// one of them was changed.
	Watching Guard = "watch"
)

// Kind names what a resource holds.
type Kind string

const (
	// Register holds numbers that are read and written as a whole, one in each
	// cell.
	Register Kind = "register"
	// List holds numbers to which more are appended.
	List Kind = "list"
)

// Access is one operation on the resource.
type Access struct {
	// Client asks, under Token where HasToken, in its Section-th section.
	Client   string
	Section  int
	Token    int64
	HasToken bool
	// Cell is the part of the resource; empty: the only one.
	Cell string
	// Number is what a write stores, or how much Take takes.
	Number int64
	// Owner is the value that the client has in the lock's key.
	Owner string
	// List is what a write makes of a list; Number is its last element.
	List []int64
	// Unfenced leaves the fence out: for effects on what cannot check tokens.
	Unfenced bool
}

// Answer is what the resource said.
type Answer struct {
	// Reply tells whether the resource answered at all.
	command.Reply
	// Accepted is false where the fence refused.
	Accepted bool
	// Number is the value read, or what a Take left; List what a list held.
	Number int64
	List   []int64
	// Short says that there was less than Take wanted.
	Short bool
	// Highest is the highest token known before, where HasHighest.
	Highest    int64
	HasHighest bool
	// rest is what the script answered beyond that.
	rest []string
}

// Read reads the resource on node.
func (c Config) Read(node command.Node, a Access) Answer {
	return c.access(node, c.script(), "read", c.Fence, a)
}

// Write writes the resource on node. Behind a CheckThenWrite fence it is the
// second half, which trusts that Check came before.
func (c Config) Write(node command.Node, a Access) Answer {
	fence := c.Fence
	if fence == CheckThenWrite {
		fence = NoFence
	}
	return c.access(node, c.script(), "write", fence, a)
}

// Watch begins a section that is guarded: what it reads must not be changed by
// others until it writes.
func (c Config) Watch(node command.Node, a Access) command.Reply {
	keys := []string{c.valueKey(a.Cell)}
	if c.LockKey != "" {
		keys = append(keys, c.LockKey)
	}
	return node.Do(command.Watch(keys...))
}

// Check is the first half of a write behind a CheckThenWrite fence.
func (c Config) Check(node command.Node, a Access) Answer {
	return c.access(node, checkScript, "write", Strict, a)
}

// Take takes a.Number units off a register, where there are that many.
func (c Config) Take(node command.Node, a Access) Answer {
	answer := c.access(node, takeScript, opTake, c.Fence, a)
	if answer.OK() && answer.Accepted {
		answer.Short = answer.rest[0] != "1"
	}
	return answer
}

func (c Config) script() *command.Script {
	if c.Kind == List {
		return listScript
	}
	return registerScript
}

// opTake is the name of a Take in the log: it compares and sets.
const opTake = "cas"

func (c Config) access(node command.Node, script *command.Script, op string, fence Fence, a Access) Answer {
	if a.Unfenced {
		fence = NoFence
	}
	args := []string{op, a.Client, strconv.Itoa(a.Section), tokenArg(a), string(fence), a.Cell, a.Owner,
		command.Itoa(c.Initial), command.Itoa(a.Number)}
	for _, element := range a.List {
		args = append(args, command.Itoa(element))
	}
	request := command.Eval(script, []string{c.valueKey(a.Cell), c.fenceKey(), c.LogKey(), c.LockKey}, args...)
	var reply command.Reply
	if c.Guard == Watching && op != "read" && !a.Unfenced {
		reply = node.Do(command.Exec(request))
		if reply.Nil {
			reply = command.RefusedReply("aborted: what was watched has been changed")
		} else if len(reply.Body()) == 1 {
			reply = reply.Body()[0]
		}
	} else {
		reply = node.Do(request)
	}
	answer := Answer{Reply: reply}
	if !reply.OK() {
		return answer
	}
	list, want := reply.List(), 3
	if script == takeScript {
		want++
	}
	if len(list) < want {
		answer.Reply = command.UnknownReply(fmt.Sprintf("resource answered %d values: want %d", len(list), want))
		return answer
	}
	answer.Accepted = list[0] == "1"
	answer.Number, _ = strconv.ParseInt(list[1], 10, 64)
	if h := list[2]; h != "" {
		n, err := strconv.ParseInt(h, 10, 64)
		answer.Highest, answer.HasHighest = n, err == nil
	}
	answer.rest = list[3:]
	if script == listScript {
		for _, element := range answer.rest {
			n, _ := strconv.ParseInt(element, 10, 64)
			answer.List = append(answer.List, n)
		}
	}
	return answer
}

func tokenArg(a Access) string {
	if !a.HasToken {
		return ""
	}
	return command.Itoa(a.Token)
}

func (c Config) valueKey(cell string) string {
	if cell == "" {
		return c.Key + ":value"
	}
	return c.Key + ":value:" + cell
}

func (c Config) fenceKey() string { return c.Key + ":fence" }

// Volatile are the keys that a restart of the resource loses.
func (c Config) Volatile() []string {
	if c.Fence == Forgetful {
		return []string{c.fenceKey()}
	}
	return nil
}

// LogKey is the list to which every effect is appended.
func (c Config) LogKey() string { return c.Key + ":log" }

// LogEntry is an effect as the resource's own log has it.
type LogEntry struct {
	// Op is read, write or cas.
	Op, Client, Cell string
	Section          int
	Token            int64
	HasToken         bool
	// Number is the value read or written, or meant to be.
	Number   int64
	Accepted bool
	// Highest is the highest token known before, where HasHighest.
	Highest    int64
	HasHighest bool
	// Time is the resource's wall clock in microseconds since 1970.
	Time int64
}

// ParseLogEntry reads an element of the log.
func ParseLogEntry(s string) (LogEntry, error) {
	var f [9]string
	n := 0
	for field := range strings.SplitSeq(s, "|") {
		if n < len(f) {
			f[n] = field
		}
		n++
	}
	if n != len(f) {
		return LogEntry{}, fmt.Errorf("resource log entry %q: %d fields, want %d", s, n, len(f))
	}
	e := LogEntry{Op: f[0], Client: f[1], Cell: f[8], Accepted: f[5] == "1", HasToken: f[3] != "", HasHighest: f[6] != ""}
	if e.Op != "read" && e.Op != "write" && e.Op != opTake || e.Client == "" || !e.Accepted && f[5] != "0" {
		return LogEntry{}, fmt.Errorf("resource log entry %q: want read, write or cas, a client, and 0 or 1 for accepted", s)
	}
	var err error
	number := func(s string) int64 {
		n, e := strconv.ParseInt(s, 10, 64)
		if e != nil && err == nil {
			err = e
		}
		return n
	}
	e.Section = int(number(f[2]))
	e.Number, e.Time = number(f[4]), number(f[7])
	if e.HasToken {
		e.Token = number(f[3])
	}
	if e.HasHighest {
		e.Highest = number(f[6])
	}
	if err != nil {
		return LogEntry{}, fmt.Errorf("resource log entry %q: %w", s, err)
	}
	return e, nil
}

// Scripts are all scripts of the package: a client loads them before it needs
// them, and a test compares them with their twins.
func Scripts() []*command.Script {
	return []*command.Script{registerScript, checkScript, takeScript, listScript, pairScript}
}
