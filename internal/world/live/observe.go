package live

import (
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/resource"
)

// keyWatch follows the lock's key on one node: it replays the node's commands,
// which MONITOR shows without their results, and records who holds the key. It
// relies on the order of the stream and on the node's own clock in it.
type keyWatch struct {
	node string
	// key is the lock's key on the node, shown what the history calls it.
	key, shown string
	record     func(history.Event)
	names      connectionNames

	held    bool
	owner   string
	expires time.Duration // on the node's clock; 0: never
}

// keyState is what a node knows of the lock's key.
type keyState struct {
	held  bool
	owner string
	ttl   time.Duration // 0: no expiry
}

// lookScript reads the lock's key in one step, in a place of the stream that
// its mark names.
const lookScript = `return {redis.call('get', KEYS[1]), redis.call('pttl', KEYS[1]), ARGV[1]}`

// begin takes over the state of the key as it was at the time at.
func (k *keyWatch) begin(s keyState, at time.Duration) {
	k.held, k.owner, k.expires = s.held, s.owner, 0
	if !s.held {
		return
	}
	var lives history.Int
	if s.ttl > 0 {
		k.expires, lives = at+s.ttl, history.Some(int64(s.ttl))
	}
	k.emit(history.KeySet, "", lives)
}

// connectionNames maps the address of a connection to the client that named it.
type connectionNames map[string]string

// learn takes note of CLIENT SETNAME.
func (n connectionNames) learn(c monitored) {
	if len(c.args) == 3 && strings.EqualFold(c.args[0], "client") && strings.EqualFold(c.args[1], "setname") {
		n[c.source] = c.args[2]
	}
}

// learnList takes note of the names in the answer to CLIENT LIST.
func (n connectionNames) learnList(list string) {
	for line := range strings.Lines(list) {
		var addr, name string
		for field := range strings.FieldsSeq(line) {
			if v, ok := strings.CutPrefix(field, "addr="); ok {
				addr = v
			} else if v, ok := strings.CutPrefix(field, "name="); ok {
				name = v
			}
		}
		if addr != "" && name != "" {
			n[addr] = name
		}
	}
}

func (k *keyWatch) see(c monitored, caller string) {
	if len(c.args) < 2 || c.args[1] != k.key {
		return
	}
	k.expire(c.at)
	switch strings.ToLower(c.args[0]) {
	case "set", "setnx":
		k.set(c, caller)
	case "pexpire", "expire":
		k.extend(c, caller)
	case "del", "unlink":
		if k.held {
			k.emit(history.KeyDeleted, caller, history.Int{})
		}
		k.held = false
	}
}

func (k *keyWatch) set(c monitored, caller string) {
	if len(c.args) < 3 {
		return
	}
	ttl, nx := setOptions(c.args[3:])
	if nx = nx || strings.EqualFold(c.args[0], "setnx"); nx && k.held {
		return
	}
	k.held, k.owner, k.expires = true, c.args[2], 0
	var lives history.Int
	if ttl > 0 {
		k.expires, lives = c.at+ttl, history.Some(int64(ttl))
	}
	k.emit(history.KeySet, caller, lives)
}

func (k *keyWatch) extend(c monitored, caller string) {
	if !k.held || len(c.args) < 3 {
		return
	}
	n, err := strconv.ParseInt(c.args[2], 10, 64)
	if err != nil {
		return
	}
	ttl := time.Duration(n) * time.Millisecond
	if strings.EqualFold(c.args[0], "expire") {
		ttl = time.Duration(n) * time.Second
	}
	k.expires = c.at + ttl
	k.emit(history.KeyExtended, caller, history.Some(int64(ttl)))
}

// expire notes that the key had expired by the node's time at, if it had.
func (k *keyWatch) expire(at time.Duration) {
	if k.held && k.expires > 0 && at >= k.expires {
		k.emit(history.KeyExpired, "", history.Int{})
		k.held = false
	}
}

func (k *keyWatch) emit(f history.F, caller string, ttl history.Int) {
	k.record(history.Event{Process: k.node, Type: history.Info, F: f, Value: history.Value{
		Key: k.shown, Owner: k.owner, Client: caller, TTL: ttl,
	}})
}

// watch returns what to do with each command of a node's stream. What comes
// before the script with the mark is past: state tells what had become of it.
// Commands of a script show "lua" as their source; they follow the script's own
// line, so the caller is remembered from there.
func (k *keyWatch) watch(mark string, state <-chan keyState) func(monitored) {
	begun := false
	var scriptCaller string
	return func(c monitored) {
		script := len(c.args) > 0 && strings.HasPrefix(strings.ToLower(c.args[0]), "eval")
		switch {
		case c.source == "lua":
			if begun {
				k.see(c, scriptCaller)
			}
			return
		case script && c.args[len(c.args)-1] == mark:
			k.begin(<-state, c.at)
			begun = true
		}
		k.names.learn(c)
		caller := k.names[c.source]
		if script {
			scriptCaller = caller
			return
		}
		if begun {
			k.see(c, caller)
		}
	}
}

// watchLog records the effects that the resource appends to its log. offset is
// what to subtract from the resource's wall clock to get run time.
func watchLog(r resource.Config, offset func() (time.Duration, time.Duration), record func(history.Event)) func(monitored) {
	tell := tellEffect(offset, record)
	return func(c monitored) {
		if len(c.args) == 3 && c.args[1] == r.LogKey() && strings.EqualFold(c.args[0], "rpush") {
			tell(c.args[2])
		}
	}
}

// tellEffect records effects from the entries of the resource's log.
func tellEffect(offset func() (time.Duration, time.Duration), record func(history.Event)) func(string) {
	return func(text string) {
		entry, err := resource.ParseLogEntry(text)
		if err != nil {
			return // a log entry that we did not write tells nothing
		}
		off, uncertain := offset()
		v := history.Value{
			Client: entry.Client, Op: history.F(entry.Op), Section: entry.Section, Key: entry.Cell,
			Number: history.Some(entry.Number), Accepted: history.SomeBool(entry.Accepted),
			At:      history.Some(int64(time.Duration(entry.Time)*time.Microsecond - off)),
			AtError: int64(uncertain),
		}
		if entry.HasToken {
			v.Token = history.Some(entry.Token)
		}
		if entry.HasHighest {
			v.Highest = history.Some(entry.Highest)
		}
		record(history.Event{Process: history.ResourceProcess, Type: history.Info, F: history.Effect, Value: v})
	}
}
