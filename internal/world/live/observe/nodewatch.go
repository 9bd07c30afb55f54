package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/monitor"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Strangers is what to observe of locks that are not ours.
type Strangers struct {
	// Keys tells the lock's keys. Names are those that are known before they are seen.
	Keys interface {
		Fit(key string) bool
		Names() []string
	}
	// Served is the client that has waited on a node for a key, and got it; empty: none, or nobody knows.
	Served func(node, key string) string
	// NameAt is the name of a connection that a link opened, by the address from which it came to the node; empty: none did, or the
	// node sees another address.
	NameAt func(from string, n *server.Node) string
	// WallOffset is what to subtract from the wall clocks of clients, which are the machine's, to get run time. It is steady
	// (see Steady), or an instant that is asked for twice would come out as two, and the second may be the earlier one.
	WallOffset func() (offset, uncertain time.Duration)
	// Leased: the lock keeps its lease in the value of its key.
	Leased bool
	// Permits: the lock is a semaphore.
	Permits bool
	// Fresh: a node that starts has no keys.
	Fresh bool
	// Prefix is what all keys of the run begin with; a client that writes others ends the
	// run. Empty: it may write any.
	Prefix string
	// Primary tells the address of a primary, of which a replica carries out the commands.
	Primary func(address string) bool
}

// Steady measures what to subtract from the wall clock to get run time. Two measurements differ by
// some nanoseconds. So the first counts until the clock has moved by a millisecond, which is the
// least that a command can name.
func Steady(measure func() (offset, uncertain time.Duration)) func() (offset, uncertain time.Duration) {
	var mu sync.Mutex
	var steady time.Duration
	begun := false
	return func() (time.Duration, time.Duration) {
		offset, uncertain := measure()
		mu.Lock()
		defer mu.Unlock()
		if !begun || (offset-steady).Abs() >= time.Millisecond {
			begun, steady = true, offset
		}
		return steady, uncertain
	}
}

// nodeWatch follows the lock's keys on a node.
type nodeWatch struct {
	o      *Observation
	n      *server.Node
	names  connectionNames
	redis  command.Server
	prefix *prefixGuard // nil: clients may write any keys
	// keys follows the keys.
	keys keyReader

	// saidFull: the history says that there were more keys than are followed.
	saidFull bool
	// script is the caller's line of the script that runs.
	script monitored
	// steps tells of which command, script or transaction a line is.
	steps monitor.Steps
}

// keyReader follows keys of a node, and records what was done to them.
type keyReader interface {
	// follow begins to follow a key, unless it does already; found: a pattern has found it, in the line that is seen next.
	follow(key string, found bool)
	// names are the keys that are followed.
	names() []string
	// see takes in a line of the stream, with its caller and when it was carried out.
	see(monitored)
	// marked says that another command has come, which concerns no key.
	marked()
	// start learns what the keys are now. The stream is open by then.
	start(context.Context) error
	// settle waits for what is still open, and reports whether the stream has to be read on for that.
	settle(context.Context) bool
	// end says that the stream has ended.
	end()
}

// see takes in a line of the stream.
func (w *nodeWatch) see(c monitored) {
	if strings.EqualFold(c.Args[0], "auth") {
		return // a link opens a connection, and names it next
	}
	w.names.learn(c)
	w.placeLine(&c)
	w.addLinkFacts(&c)
	if s := w.o.Strangers; s != nil {
		w.discover(c.Args[1:])
		w.checkProgram(s, c)
	}
	if c.source != monitor.Script {
		w.script = c
	}
	w.keys.see(c)
}

// placeLine finds out whose a line is, when it was carried out, and of which step it is.
func (w *nodeWatch) placeLine(c *monitored) {
	p := w.steps.Place(monitor.Line{At: c.at, DB: c.DB, Source: c.source, Args: c.Args})
	if c.source == monitor.Script {
		c.Caller = w.script.Caller
	} else {
		w.identify(c.source)
		c.Caller = w.names.client(c.source, w.o.Strangers != nil)
	}
	c.Span, c.step, c.more, c.window = span(p.Began, c.at), p.Step, p.More, p.Window
}

// addLinkFacts adds what the links know of a line. Who is neither a client over its link nor a
// primary, nor a fault, is a stranger.
func (w *nodeWatch) addLinkFacts(c *monitored) {
	if c.source == monitor.Script {
		c.Left, c.Text, c.Stranger = w.script.Left, w.script.Args, w.script.Stranger
		return
	}
	c.Text, c.Stranger = c.Args, w.o.Strangers != nil && c.Caller == "" && !w.isPrimary(c.source) && w.names[c.source] != server.Operator
	if w.o.Left == nil {
		return
	}
	if at, known := w.o.Left(w.names[c.source], c.Args, c.since); known {
		c.Left = history.Some(int64(at))
	}
}

// identify finds out whose a connection is. Where the stream did not show its name, because it was opened before, because the server
// was busy or is of Redis 6, which hides CLIENT, the links are asked, and then the server.
func (w *nodeWatch) identify(source string) {
	if _, known := w.names[source]; known || w.isPrimary(source) {
		return
	}
	w.names[source] = "" // it is asked for once
	if s := w.o.Strangers; s != nil {
		w.names[source] = s.NameAt(source, w.n) // the server may have refused the name
	}
	if w.names[source] == "" && w.n.Admin != nil {
		if list, err := w.n.Admin.ClientList(w.o.Ctx).Result(); err == nil {
			w.names.learnList(list)
		}
	}
}

func (w *nodeWatch) isPrimary(source string) bool {
	return w.o.Strangers != nil && w.o.Strangers.Primary(source)
}

// checkProgram ends the run where a client does what it must not.
func (w *nodeWatch) checkProgram(s *Strangers, c monitored) {
	if c.Caller == "" {
		return
	}
	// On servers of others that is theirs to say. On ours the file would be sim's own.
	if s.Fresh && !w.n.Persistence.AppendOnly() && strings.EqualFold(c.Args[0], "waitaof") {
		w.o.fail(fmt.Errorf("the lock program of %s sent WAITAOF to node %s, which keeps no append-only file: nodes.persistence is %s. "+
			"Such a lock needs nodes: {persistence: aof-always} or aof-everysec", c.Caller, w.n.Name, w.n.Persistence))
	}
	if w.prefix == nil {
		return
	}
	if what := w.prefix.writesOutside(w.o.Ctx, c.Args); what != "" {
		w.o.fail(fmt.Errorf("the lock program of %s wrote on node %s outside the run's prefix %q: "+
			"%s. On servers that exist already it must keep to the key that it is told",
			c.Caller, w.n.Name, w.prefix.prefix, what))
	}
}

// discover begins to follow keys that a pattern fits.
func (w *nodeWatch) discover(words []string) {
	for _, word := range words {
		if w.fits(word) {
			w.keys.follow(word, true)
		}
	}
}

// fits reports whether a pattern of the lock's keys fits a word.
func (w *nodeWatch) fits(word string) bool {
	return w.o.Strangers != nil && w.o.Strangers.Keys.Fit(word)
}

// full reports that no more keys are followed on the node, and records once that the others are not known.
func (w *nodeWatch) full(keys, most int) bool {
	if keys < most {
		return false
	}
	if !w.saidFull {
		w.saidFull = true
		w.o.Record(history.Event{Process: w.n.Name, Type: history.Info, F: history.KeyUnclear, Value: history.Value{Key: w.o.Shown,
			Rare: &history.Rare{Detail: fmt.Sprintf("more than %d keys of the lock", most)}}})
	}
	return true
}

// logOf is a key as the history has it.
func (w *nodeWatch) logOf(key string) keylog.Log {
	k := keylog.Log{Node: w.n.Name, Shown: key, Record: w.o.Record,
		Replay: command.Replay{Name: key, Key: command.Key{Holds: command.Unclear}, Server: w.redis, Payload: w.o.Payload}}
	if s := w.o.Strangers; s != nil {
		k.Program = &keylog.Program{Leased: s.Leased, Permits: s.Permits,
			WallOffset: func() time.Duration { offset, _ := s.WallOffset(); return offset },
			Served:     func(key string) string { return s.Served(w.n.Name, key) }}
	}
	if key == w.o.Key || slices.Contains(w.o.Others, key) {
		k.Shown = strings.TrimPrefix(key, strings.TrimSuffix(w.o.Key, w.o.Shown))
	}
	return k
}

// nodeWatch makes the observer of the lock's keys on a node.
func (o *Observation) nodeWatch(n *server.Node) (*nodeWatch, error) {
	list, err := n.Admin.ClientList(o.Ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("failed to list the connections of node %s: %w", n.Name, err)
	}
	info, err := n.Admin.Info(o.Ctx, "server").Result()
	if err != nil {
		return nil, fmt.Errorf("failed to ask node %s for its version: %w", n.Name, err)
	}
	w := &nodeWatch{o: o, n: n, names: make(connectionNames), redis: command.ServerIn(info)}
	w.names.learnList(list)
	if s := o.Strangers; s != nil && s.Prefix != "" {
		if w.prefix, err = newPrefixGuard(o.Ctx, n.Admin, s.Prefix); err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	w.keys = o.reader(w)
	for _, key := range o.keys(n.Name) {
		w.keys.follow(key, false)
	}
	return w, nil
}

// keys are those to follow on a node from its start: those that are named, and those that
// were found there before it died.
func (o *Observation) keys(node string) []string {
	if o.Strangers == nil {
		return append([]string{o.Key}, o.Others...)
	}
	list := o.Strangers.Keys.Names()
	for _, key := range o.names[node] {
		if !slices.Contains(list, key) {
			list = append(list, key)
		}
	}
	return list
}
