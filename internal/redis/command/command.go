package command

import (
	"fmt"
	"strconv"
	"time"
)

// Op is a Redis command that a node understands.
type Op uint8

// The commands. EVAL runs Command.Script. WAIT asks how many replicas have the
// connection's writes. EXEC is a whole transaction: MULTI, the commands of
// Command.Body, and EXEC, sent together on one connection, which is that of the
// WATCH before it, if there was one.
const (
	PING Op = iota + 1
	GET
	SET
	DEL
	PEXPIRE
	PTTL
	INCR
	WAIT
	EVAL
	RPUSH
	LRANGE
	WATCH
	UNWATCH
	EXEC
	DELIFEQ
	HSETEX
	WAITAOF
	DECR
	BLPOP
)

var opNames = [...]string{PING: "ping", GET: "get", SET: "set", DEL: "del", PEXPIRE: "pexpire",
	PTTL: "pttl", INCR: "incr", WAIT: "wait", EVAL: "eval",
	RPUSH: "rpush", LRANGE: "lrange", WATCH: "watch", UNWATCH: "unwatch", EXEC: "exec",
	DELIFEQ: "delifeq", HSETEX: "hsetex", WAITAOF: "waitaof", DECR: "decr", BLPOP: "blpop"}

func (o Op) String() string {
	if int(o) < len(opNames) && opNames[o] != "" {
		return opNames[o]
	}
	return fmt.Sprintf("op(%d)", uint8(o))
}

// Command is one request to one node.
type Command struct {
	Op Op
	// NX makes SET do nothing where the key exists, and HSETEX where the field does.
	NX bool
	// Discard makes EXEC end the transaction with DISCARD instead.
	Discard bool
	// OtherConnection sends the command over a connection of the client's pool
	// other than the one it last used, as a careless pool does.
	OtherConnection bool
	// Asking sends ASKING before the command, as a client of a cluster does that was sent on by ASK.
	Asking bool
	// Cancellable: it is part of an attempt to get the lock, and when that is cancelled nobody waits for the reply any more.
	Cancellable bool
	// Stays lets nobody follow a redirection: the client knows no clusters.
	Stays bool

	Key   string
	Value string
	// TTL is the expiry of SET and HSETEX (0: none) and PEXPIRE, in whole milliseconds;
	// for WAIT, WAITAOF and BLPOP the timeout on the server.
	TTL time.Duration
	// Replicas is how many replicas WAIT waits for.
	Replicas int
	// Script, Keys and Args belong to EVAL. Args are also the elements of RPUSH
	// (none: the server refuses it), Keys those of WATCH. With one of Args SET
	// writes only where the key has that value (IFEQ). Of HSETEX they are the field.
	Script *Script
	Keys   []string
	Args   []string
	// Timeout bounds how long the caller waits for the reply; 0 waits for ever.
	// It runs on the caller's machine and is not moved by clock faults.
	Timeout time.Duration
	// Body are the commands of an EXEC.
	Body []Command
}

// Within returns the command with the timeout d.
func (c Command) Within(d time.Duration) Command {
	c.Timeout = d
	return c
}

// Refusal is the error, in Redis's words, with which a node answers what the command
// does not take; empty: it takes all that it was given.
func (c *Command) Refusal() string {
	if c.NX && c.Op != HSETEX && (c.Op != SET || len(c.Args) > 0) || c.Discard && c.Op != EXEC {
		return "ERR syntax error"
	}
	if c.TTL < 0 && c.Op == SET {
		return "ERR invalid expire time in 'set' command"
	}
	for i := range c.Body {
		if why := c.Body[i].Refusal(); why != "" {
			return why
		}
	}
	return ""
}

// Malformed reports that the command lacks a word, for which a transaction refuses it
// when it is queued.
func (c *Command) Malformed() bool { return c.Op == RPUSH && len(c.Args) == 0 }

// Get reads a key.
func Get(key string) Command { return Command{Op: GET, Key: key} }

// Set writes a key, with an expiry where ttl is not 0.
func Set(key, value string, ttl time.Duration) Command {
	return Command{Op: SET, Key: key, Value: value, TTL: ttl}
}

// SetNX writes a key that does not exist, with an expiry where ttl is not 0.
func SetNX(key, value string, ttl time.Duration) Command {
	return Command{Op: SET, Key: key, Value: value, TTL: ttl, NX: true}
}

// SetIfEq writes a key that has the value match, with an expiry where ttl is not 0, else without one.
func SetIfEq(key, value, match string, ttl time.Duration) Command {
	return Command{Op: SET, Key: key, Value: value, TTL: ttl, Args: []string{match}}
}

// DelIfEq removes a key that has the value.
func DelIfEq(key, value string) Command { return Command{Op: DELIFEQ, Key: key, Value: value} }

// HSetNX writes a field that the hash does not have, with an expiry of its own.
func HSetNX(key, field, value string, ttl time.Duration) Command {
	return Command{Op: HSETEX, Key: key, Args: []string{field}, Value: value, TTL: ttl, NX: true}
}

// Del removes a key.
func Del(key string) Command { return Command{Op: DEL, Key: key} }

// PExpire sets a key's expiry.
func PExpire(key string, ttl time.Duration) Command {
	return Command{Op: PEXPIRE, Key: key, TTL: ttl}
}

// TTLOf asks (PTTL) how long a key still lives.
func TTLOf(key string) Command { return Command{Op: PTTL, Key: key} }

// Incr adds one to a key.
func Incr(key string) Command { return Command{Op: INCR, Key: key} }

// Decr takes one off a key.
func Decr(key string) Command { return Command{Op: DECR, Key: key} }

// Wait asks until n replicas have acknowledged the writes of this connection,
// or the server's timeout has passed; the reply is how many have.
func Wait(n int, timeout time.Duration) Command {
	return Command{Op: WAIT, Replicas: n, TTL: timeout}
}

// WaitSynced asks (WAITAOF) until the server has synced the writes of this connection to its disk, or its timeout has passed; the first
// element of the reply is 1 if it has.
func WaitSynced(timeout time.Duration) Command { return Command{Op: WAITAOF, TTL: timeout} }

// Eval runs a script.
func Eval(s *Script, keys []string, args ...string) Command {
	return Command{Op: EVAL, Script: s, Keys: keys, Args: args}
}

// RPush appends to a list.
func RPush(key string, elements ...string) Command {
	return Command{Op: RPUSH, Key: key, Args: elements}
}

// BLPop takes the first element of a list. If there is none, it waits until one is pushed, or the server's timeout has passed (0: never).
func BLPop(key string, timeout time.Duration) Command {
	return Command{Op: BLPOP, Key: key, TTL: timeout}
}

// LRange reads a whole list.
func LRange(key string) Command { return Command{Op: LRANGE, Key: key} }

// Watch lets the next Exec of the same node abort, where one of the keys is
// changed in between.
func Watch(keys ...string) Command { return Command{Op: WATCH, Keys: keys} }

// Unwatch forgets what is watched.
func Unwatch() Command { return Command{Op: UNWATCH} }

// Exec carries commands out as a transaction. The reply's Body has theirs; it is
// Nil where a watched key was changed.
func Exec(body ...Command) Command { return Command{Op: EXEC, Body: body} }

// Node carries commands to one Redis node.
type Node interface {
	// Name is the node's name in the scenario.
	Name() string
	Do(Command) Reply
}

// Itoa writes an integer as a script argument.
func Itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Milliseconds writes a duration as Redis takes it: whole milliseconds, at
// least 1 for a positive duration.
func Milliseconds(d time.Duration) int64 {
	ms := d.Milliseconds()
	if ms == 0 && d > 0 {
		return 1
	}
	return ms
}
