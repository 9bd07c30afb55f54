// Package resource holds what a lock protects: data in a store of its own,
// the check of fencing tokens in front of it, and the log it keeps of every
// effect. It is written against command.Node and knows no locks.
package resource

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/command"
)

// Config is a resource as every client of a run knows it. It travels to client
// processes as JSON.
type Config struct {
	// Kind is what the data is.
	Kind Kind `json:"kind"`
	// Key is the prefix of the resource's keys.
	Key string `json:"key"`
	// Fence says how tokens are checked.
	Fence Fence `json:"fence"`
	// Initial is the value before the run.
	Initial int64 `json:"initial"`
}

// Kind names what a resource holds.
type Kind string

// Register holds one number that is read and written as a whole.
const Register Kind = "register"

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Register} }

// Fence names a way of checking tokens at the resource.
type Fence string

const (
	// NoFence accepts everything.
	NoFence Fence = "none"
	// Strict keeps the highest token and the client that brought it, accepts a
	// higher one, or the same one from the same client, and refuses everything
	// else. Reads register their token too. Check and access are one atomic
	// script.
	Strict Fence = "strict"
)

// Fences lists all fence checks.
func Fences() []Fence { return []Fence{NoFence, Strict} }

// Access is one operation on the resource.
type Access struct {
	// Client asks, under Token where HasToken, in its Section-th section.
	Client   string
	Section  int
	Token    int64
	HasToken bool
	// Number is what a write stores.
	Number int64
}

// Answer is what the resource said.
type Answer struct {
	// Reply tells whether the resource answered at all.
	command.Reply
	// Accepted is false where the fence refused.
	Accepted bool
	// Number is the value read.
	Number int64
	// Highest is the highest token known before, where HasHighest.
	Highest    int64
	HasHighest bool
}

// Read reads the resource on node.
func (c Config) Read(node command.Node, a Access) Answer {
	return c.access(node, "read", a)
}

// Write writes the resource on node.
func (c Config) Write(node command.Node, a Access) Answer {
	return c.access(node, "write", a)
}

func (c Config) access(node command.Node, op string, a Access) Answer {
	reply := node.Do(command.Eval(registerScript, []string{c.valueKey(), c.fenceKey(), c.LogKey()},
		op, a.Client, strconv.Itoa(a.Section), tokenArg(a), string(c.Fence),
		command.Itoa(c.Initial), command.Itoa(a.Number)))
	answer := Answer{Reply: reply}
	if !reply.OK() {
		return answer
	}
	if len(reply.List) != 3 {
		answer.Outcome, answer.Err = command.Unknown, fmt.Sprintf("resource answered %d values: want 3", len(reply.List))
		return answer
	}
	answer.Accepted = reply.List[0] == "1"
	answer.Number, _ = strconv.ParseInt(reply.List[1], 10, 64)
	if h := reply.List[2]; h != "" {
		n, err := strconv.ParseInt(h, 10, 64)
		answer.Highest, answer.HasHighest = n, err == nil
	}
	return answer
}

func tokenArg(a Access) string {
	if !a.HasToken {
		return ""
	}
	return command.Itoa(a.Token)
}

func (c Config) valueKey() string { return c.Key + ":value" }
func (c Config) fenceKey() string { return c.Key + ":fence" }

// LogKey is the list to which every effect is appended.
func (c Config) LogKey() string { return c.Key + ":log" }

// LogEntry is an effect as the resource's own log has it.
type LogEntry struct {
	Op, Client string
	Section    int
	Token      int64
	HasToken   bool
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
	f := strings.Split(s, "|")
	if len(f) != 8 {
		return LogEntry{}, fmt.Errorf("resource log entry %q: %d fields, want 8", s, len(f))
	}
	e := LogEntry{Op: f[0], Client: f[1], Accepted: f[5] == "1", HasToken: f[3] != "", HasHighest: f[6] != ""}
	if e.Op != "read" && e.Op != "write" || e.Client == "" || !e.Accepted && f[5] != "0" {
		return LogEntry{}, fmt.Errorf("resource log entry %q: want read or write, a client, and 0 or 1 for accepted", s)
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
