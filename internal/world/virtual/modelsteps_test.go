//go:build linux && amd64

package virtual_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/node/nodetest"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// step is what is done some time after the step before: one of what follows.
type step struct {
	gap time.Duration
	// edge: the gap ends in the last millisecond of the key that runs out next, or in the first one after it.
	edge edge
	// words are sent in bytes, command as a built-in client does, over conn.
	conn    int
	words   []string
	command command.Command
	// looks: all keys of all nodes are compared.
	looks bool
	// restart: the node is killed, and starts with what keep leaves.
	restart bool
	keep    world.Keep
	clock   *world.ClockFault
	// promote is the replica that becomes the primary.
	promote string
}

// edge is an instant at which a key runs out.
type edge int

const (
	noEdge edge = iota
	lastMillisecond
	firstAfter
)

// kind is the kind of step, for figures.
func (p *step) kind() string {
	switch {
	case p.words != nil:
		return "commands in bytes"
	case p.command.Op == command.EXEC:
		return "transactions"
	case p.command.Op == command.EVAL:
		return "scripts of built-in locks"
	case p.command.Op != 0:
		return "commands of built-in locks"
	case p.looks:
		return "looks"
	case p.restart:
		return "restarts"
	case p.clock != nil:
		return "clock faults"
	}
	return "promotions"
}

func (p *step) String() string {
	switch c := &p.command; {
	case c.Op == command.EXEC:
		var body []string
		for i := range c.Body {
			body = append(body, fmt.Sprintf("%q", c.Body[i].Words()))
		}
		return fmt.Sprintf("%d: a transaction of %s, discarded %v", p.conn, strings.Join(body, ", "), c.Discard)
	case c.Op == command.EVAL:
		return fmt.Sprintf("%d: the script %s %q %q", p.conn, c.Script.Name, c.Keys, c.Args)
	case c.Op != 0:
		return fmt.Sprintf("%d: built-in %q", p.conn, c.Words())
	case p.restart:
		return "a restart that keeps " + p.keep.String()
	case p.clock != nil:
		return fmt.Sprintf("the clock jumps by %v and goes %v times as fast", p.clock.Jump, p.clock.Rate)
	}
	return p.promote + " becomes the primary"
}

// drawer draws the steps of a trial.
type drawer struct {
	*rand.Rand
	trial *trial
}

func (d *drawer) of(list ...string) string { return list[d.IntN(len(list))] }

// Commands that not all trials draw: of some the answer depends on when a key is gone that has run out, of which nobody has asked since;
// others tell of replicas, which the model of a node for guests has not.
var (
	tellOfExpiries = []string{"client|tracking", "config|set", "dbsize"}
	tellOfReplicas = []string{"role", "wait"}
	// After a snapshot was loaded ROLE counts the bytes that would have told replicas of the keys that had run out.
	tellOfLoading = []string{"role"}
)

// ofValkey are the commands in bytes of which Valkey is asked: what it knows beside Redis, and what goes with that. Errors of scripts have
// other words there.
var ofValkey = []string{"set", "set", "set", "delifeq", "delifeq", "get", "del", "pexpire", "pttl", "getdel", "incr", "append"}

// names are the commands that fit the trial. What locks use is drawn more often.
func (d *drawer) names() []string {
	if d.trial.as.Valkey {
		return ofValkey
	}
	names := slices.DeleteFunc(nodetest.Names(), func(name string) bool {
		return strings.HasPrefix(name, "cluster|") || !d.trial.watched && slices.Contains(tellOfExpiries, name) ||
			d.trial.replicated && slices.Contains(tellOfReplicas, name) ||
			d.trial.nodes[0].Persistence == world.RDB && slices.Contains(tellOfLoading, name)
	})
	for range 3 {
		names = append(names, "set", "get", "del", "pexpire", "pttl", "expire", "pexpireat", "getex", "multi", "exec", "watch", "incr", "eval")
	}
	return append(names, "cluster|info", "cluster|nodes", "cluster|keyslot")
}

// toldOfChanges lets both connections hear of all that happens to keys.
func toldOfChanges() (list []step) {
	say := func(conn int, words string) {
		list = append(list, step{gap: grain, conn: conn, words: strings.Fields(words)})
	}
	say(0, "CONFIG SET notify-keyspace-events KEA")
	say(1, "PSUBSCRIBE __key*__:*")
	say(1, "CLIENT TRACKING ON OPTOUT")
	return list
}

func (d *drawer) step() step {
	gaps := []time.Duration{0, 0, 1, 3, 10, 50, 137}
	p := step{gap: 2*grain + gaps[d.IntN(len(gaps))]*time.Millisecond + time.Duration(d.IntN(100))*grain}
	if d.IntN(25) == 0 {
		p.gap += time.Second
	}
	if d.IntN(6) == 0 {
		p.edge = lastMillisecond + edge(d.IntN(2))
	}
	switch n := d.IntN(100); {
	case n < 5:
		p.looks = true
	case n < 7 && d.trial.replicated:
		p.promote = d.of("A", "B", "C")
	case n < 9 && !d.trial.watched:
		p.restart = true
		p.keep = []world.Keep{world.KeepData, world.KeepNothing, world.KeepSynced}[d.IntN(3)]
		if !d.trial.as.Valkey && d.trial.nodes[0].Persistence.AppendOnly() && d.IntN(2) == 0 {
			p.keep = world.KeepTorn
		}
	case n < 11:
		p.clock = &world.ClockFault{Jump: time.Duration(d.IntN(6001)-2000) * time.Millisecond, Rate: 1}
		if !d.trial.watched && d.trial.nodes[0].Persistence != world.AOFEverysec && d.IntN(3) == 0 {
			p.clock.Rate = []float64{0, 0.5, 2}[d.IntN(3)]
		}
	case !d.trial.watched && n < 45 || d.trial.replicated && n < 70: // nobody is told of what built-in commands do
		p.conn = builtIn + d.IntN(2)
		p.command = d.command()
	default:
		p.conn = d.IntN(builtIn)
		p.words = nodetest.Words{Pick: d.IntN, Now: someMS}.Draw(d.names())
		for d.trial.as.Valkey && slices.ContainsFunc(p.words, func(w string) bool { return w == "PXAT" || w == "EXAT" }) {
			p.words = nodetest.Words{Pick: d.IntN, Now: someMS}.Draw(d.names()) // Valkey does not set a key whose end is past
		}
	}
	return p
}

// Keys by what they hold: the locks' scripts find what they expect there, plain commands do whatever they like to the first ones.
var (
	anyKeys = []string{"a", "b", "lock"}
	// mixedKeys often hold what scripts and transactions do not expect.
	mixedKeys   = append([]string{"l", "h"}, anyKeys...)
	counterKeys = []string{"lock:token", "count"}
	// fieldKey has a field with an expiry of its own.
	fieldKey, aField = "locks", "lock"
	// permitsKey is that of a semaphore.
	permitsKey = "permits"
	// lineKey has those who wait in a line, signalKey what wakes them.
	lineKey, signalKey = "line", "signal"
	logKey             = resource.Config{Key: "resource"}.LogKey()
)

// allKeys are the keys of all commands.
func allKeys() []string {
	ofResource := []string{permitsKey, lineKey, signalKey, lineKey + ":number", lineKey + ":w1", lineKey + ":w2", lineKey + ":w3",
		logKey, "resource:value", "resource:list", "resource:other", "resource:fence"}
	return slices.Concat(nodetest.Keys(), anyKeys, counterKeys, ofResource)
}

func (d *drawer) ttl() time.Duration {
	return []time.Duration{1, 2, 7, 30, 150, 999, 1000, 1001, 2000, 3000, 10_000}[d.IntN(11)] * time.Millisecond
}

// command draws one as built-in clients send it.
func (d *drawer) command() command.Command {
	key := d.of(append(append([]string{logKey}, anyKeys...), counterKeys...)...)
	if d.trial.as.Valkey && d.IntN(3) == 0 {
		return d.ifEqual(d.of(mixedKeys...))
	}
	if d.trial.as.Valkey && d.IntN(3) == 0 {
		return d.ofField()
	}
	switch d.IntN(13) {
	case 0:
		return command.Get(key)
	case 1, 2:
		if key == logKey {
			return command.Del(key)
		}
		values := []string{"", "x", "c1-0", "1.5", " 7", "007", "-3", "9223372036854775806", "9223372036854775807"}
		if slices.Contains(counterKeys, key) {
			values = []string{"0", "1", "41"}
		}
		c := command.Set(key, d.of(values...), 0)
		c.NX = d.IntN(2) == 0
		if d.IntN(2) == 0 {
			c.TTL = d.ttl()
		}
		return c
	case 3:
		return command.Del(key)
	case 4:
		c := command.PExpire(key, d.ttl())
		if d.IntN(10) == 0 {
			c.TTL = -time.Second
		}
		return c
	case 5:
		return command.TTLOf(key)
	case 6:
		if d.IntN(2) == 0 {
			return command.Decr(key)
		}
		return command.Incr(key)
	case 7:
		return command.Watch(d.of(anyKeys...), d.of(anyKeys...))
	case 8:
		return command.Unwatch()
	case 9:
		c := command.Exec()
		for range d.IntN(4) {
			c.Body = append(c.Body, d.queued())
		}
		c.Discard = d.IntN(5) == 0
		return c
	}
	return d.script()
}

// ofField draws what a lock does that is a field of a hash.
func (d *drawer) ofField() command.Command {
	owner := d.of("c1-0", "c2-0")
	if n := d.IntN(5); n < 2 {
		c := command.HSetNX(fieldKey, aField, owner, d.ttl())
		c.NX = n == 0
		return c
	}
	for {
		if c := d.script(); strings.HasSuffix(c.Script.Name, "-field") {
			return c
		}
	}
}

// ifEqual draws a command that looks at the key's value.
func (d *drawer) ifEqual(key string) command.Command {
	value := d.of("", "x", "c1-0")
	if d.IntN(3) == 0 {
		return command.DelIfEq(key, value)
	}
	c := command.SetIfEq(key, d.of("x", "c1-0"), value, 0)
	if d.IntN(2) == 0 {
		c.TTL = d.ttl()
	}
	return c
}

// queued draws a command that may stand in a transaction.
func (d *drawer) queued() command.Command {
	key := d.of(mixedKeys...)
	if d.trial.as.Valkey && d.IntN(3) == 0 {
		return d.ifEqual(key)
	}
	switch d.IntN(8) {
	case 6:
		return command.BLPop(d.of(key, signalKey), d.ttl()) // in a transaction nobody waits
	case 0:
		return command.RPush(key, []string{"1", "x"}[:d.IntN(3)]...)
	case 1:
		return command.LRange(key)
	case 2:
		return command.Incr(key)
	case 3:
		return command.Set(key, "5", d.ttl())
	case 4:
		return command.PExpire(key, d.ttl())
	case 5:
		return command.Del(key)
	}
	return command.Get(key)
}

// script draws a call of one of the locks' scripts, or of the resource's.
func (d *drawer) script() command.Command {
	scripts := append(lock.Scripts(), resource.Scripts()...)
	if !d.trial.as.Valkey {
		scripts = slices.DeleteFunc(scripts, func(s *command.Script) bool { return strings.HasSuffix(s.Name, "-field") })
	}
	s := scripts[d.IntN(len(scripts))]
	owner, key, counter := d.of("c1-0", "c2-0"), d.of(mixedKeys...), d.of(counterKeys...)
	number := func() string { return d.of("0", "1", "2", "40", "100") }
	ms := command.Itoa(command.Milliseconds(d.ttl()))
	switch s.Name {
	case "release":
		return command.Eval(s, []string{key}, owner)
	case "extend", "extend-or-set", "set":
		return command.Eval(s, []string{key}, owner, ms)
	case "release-field", "extend-field", "set-field":
		return command.Eval(s, []string{d.of(fieldKey, fieldKey, fieldKey, "l")}, aField, owner, ms)
	case "take-permit", "extend-permit", "remove-permit":
		args := []string{d.of("c1-0", "c2-0", "c3-0"), ms, d.of("1", "2")}
		if d.IntN(4) == 0 {
			args = append(args, command.Itoa(someMS+d.Int64N(5000)))
		}
		return command.Eval(s, []string{d.of(permitsKey, permitsKey, permitsKey, "l")}, args...)
	case "take-mode", "change-mode":
		now := command.Itoa(someMS + d.Int64N(5000))
		args := []string{owner, ms, "w:" + owner, now}[:3+d.IntN(2)]
		if s.Name == "take-mode" {
			args = []string{d.of("", "w:") + owner, ms, d.of("0", "1"), d.of("", "", "", now), "last-come"}[:4+d.IntN(2)]
		}
		return command.Eval(s, []string{d.of(permitsKey, permitsKey, permitsKey, "l")}, args...)
	case "count-reader":
		return command.Eval(s, []string{d.of(counter, key)}, ms)
	case "uncount-reader":
		return command.Eval(s, []string{d.of(counter, key)})
	case "take-in-line":
		args := []string{owner, ms, d.of("w1", "w2", "w3"), d.of("0", ms), "once"}
		return command.Eval(s, []string{key, lineKey}, args[:4+d.IntN(2)]...)
	case "leave-line":
		return command.Eval(s, []string{key, lineKey}, d.of("w1", "w2", "w3"))
	case "delete-and-wake":
		return command.Eval(s, []string{key, d.of("l", signalKey)}, owner, ms)
	case "count-permit":
		return command.Eval(s, []string{counter}, ms, d.of("1", "2"))
	case "acquire-counted":
		return command.Eval(s, []string{key, counter}, owner, ms)
	case "pair":
		return command.Eval(s, []string{"resource:list", "resource:other"}, number())
	case "raise-counter":
		return command.Eval(s, []string{counter}, number())
	case "register", "check", "take", "list":
		value, ops := "resource:value", []string{"read", "write"}
		switch s.Name {
		case "check":
			ops = ops[1:]
		case "take":
			ops = []string{"cas"}
		case "list":
			value = "resource:list"
		}
		var fences []string
		for _, f := range resource.Fences() {
			fences = append(fences, string(f))
		}
		args := []string{d.of(ops...), owner[:2], "1", d.of("", "1", "2", "9", "10"), d.of(fences...), d.of("", "b"), owner, "40", number()}
		if s.Name == "list" {
			for range d.IntN(4) {
				args = append(args, number())
			}
		}
		return command.Eval(s, []string{value, "resource:fence", logKey, "lock"}, args...)
	}
	panic("no arguments are known for the script " + s.Name + ": add it here")
}
