package observe

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/command"
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// Strangers is what to observe of locks that are not ours.
type Strangers struct {
	// Keys tells the lock's keys. Names are those that are known before they are seen.
	Keys interface {
		Fit(key string) bool
		Names() []string
	}
	// Left is when a command left its client over the connection of a name.
	Left func(name string, words []string) (at time.Duration, known bool)
	// NameAt is the name of a connection that a link opened, by the address from which it came to the node; empty: none did, or the
	// node sees another address.
	NameAt func(from string, n *server.Node) string
	// Time is the run's; wall clocks of clients are the machine's.
	SinceBoot func() time.Duration
	// WallOffset is steady (see Steady), or an instant that is asked for twice would come out as
	// two, and the second may be the earlier one.
	WallOffset func() (offset, uncertain time.Duration)
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

// maxKeys bounds how many keys are followed on a node.
const maxKeys = 100

// nodeWatch follows the lock's keys on a node.
type nodeWatch struct {
	o     *Observation
	n     *server.Node
	names connectionNames
	redis command.Server
	guard *guard // nil: clients may write any keys

	mu      sync.Mutex // guards watches
	watches []*keyWatch
	// script is the caller's line of the script that runs.
	script monitored
}

// see takes in a line of the stream.
func (w *nodeWatch) see(c monitored) {
	if strings.EqualFold(c.args[0], "auth") {
		return // a link opens a connection, and names it next
	}
	w.names.learn(c)
	if s := w.o.Strangers; s != nil {
		c = w.told(s, c)
		w.discover(s, c)
		w.guarded(s, c)
	}
	for _, k := range w.all() {
		k.see(c)
	}
}

// told adds what the links know of a line. Who is neither a client over its link nor a
// primary is a stranger.
func (w *nodeWatch) told(s *Strangers, c monitored) monitored {
	if c.source == "lua" {
		c.left, c.text, c.stranger = w.script.left, w.script.args, w.script.stranger
		return c
	}
	c.stranger = w.isStrange(s, c.source)
	if at, known := s.Left(w.names[c.source], c.args); known {
		c.left = history.Some(int64(at - s.SinceBoot()))
	}
	c.text, w.script = c.args, c
	return c
}

// isStrange reports that a connection is neither a client's nor a primary's. Where the stream did not show its name, because it was
// opened before or because the server was busy, the links are asked, and then the server.
func (w *nodeWatch) isStrange(s *Strangers, source string) bool {
	if s.Primary(source) {
		return false
	}
	if _, known := w.names[source]; !known {
		w.names[source] = s.NameAt(source, w.n)        // the server may have refused the name
		if w.names[source] == "" && w.n.Admin != nil { // it is asked for once
			if list, err := w.n.Admin.ClientList(w.o.Ctx).Result(); err == nil {
				w.names.learnList(list)
			}
		}
	}
	return w.names.client(source, true) == ""
}

// guarded ends the run where a client does what it must not.
func (w *nodeWatch) guarded(s *Strangers, c monitored) {
	source := c.source
	if source == "lua" {
		source = w.script.source
	}
	client := w.names.client(source, true)
	if client == "" {
		return
	}
	// On servers of others that is theirs to say. On ours the file would be sim's own, which no restart leaves there.
	if s.Fresh && !w.n.Persistence.AppendOnly() && strings.EqualFold(c.args[0], "waitaof") {
		w.o.fail(fmt.Errorf("the lock program of %s sent WAITAOF to node %s, which keeps no append-only file: nodes.persistence is %s. "+
			"Such a lock needs nodes: {persistence: aof-always} or aof-everysec", client, w.n.Name, w.n.Persistence))
	}
	if w.guard == nil {
		return
	}
	if what := w.guard.check(w.o.Ctx, c.args); what != "" {
		w.o.fail(fmt.Errorf("the lock program of %s wrote on node %s outside the run's prefix %q: "+
			"%s. On servers that exist already it must keep to the key that it is told",
			client, w.n.Name, w.guard.prefix, what))
	}
}

// discover begins to follow keys that a pattern fits.
func (w *nodeWatch) discover(s *Strangers, c monitored) {
	for _, word := range c.args[1:] {
		if !s.Keys.Fit(word) {
			continue
		}
		if list := w.all(); len(list) < maxKeys && !slices.ContainsFunc(list, func(k *keyWatch) bool { return k.replay.Name == word }) {
			k := w.follow(word)
			if k.begun = s.Fresh; s.Fresh {
				k.replay.Key = command.Key{}
			} else {
				k.question()
			}
		}
	}
}

// lost records that nobody knows the keys any more.
func (w *nodeWatch) lost() {
	for _, k := range w.all() {
		k.mu.Lock()
		k.unclear(history.Value{Rare: &history.Rare{Detail: "connections that the server closed"}})
		k.mu.Unlock()
	}
}

// goOn goes on from what another watch knew of the keys, or the same: since then they can have changed by replication alone,
// unseen, and the node is asked.
func (w *nodeWatch) goOn(from *nodeWatch) {
	for _, k := range w.all() {
		for _, before := range from.all() {
			if before.replay.Name == k.replay.Name {
				k.goOn(before.known())
			}
		}
	}
}

func (w *nodeWatch) all() []*keyWatch {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.watches)
}

// follow begins to follow a key.
func (w *nodeWatch) follow(key string) *keyWatch {
	k := &keyWatch{node: w.n.Name, shown: key, record: w.o.Record, names: w.names, strangers: w.o.Strangers,
		ask:    func(number int) *look { return w.o.ask(w.n, key, number) },
		replay: command.Replay{Name: key, Key: command.Key{Holds: command.Unclear}, Server: w.redis}}
	if key == w.o.Key {
		k.shown = w.o.Shown
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watches = append(w.watches, k)
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
	w := &nodeWatch{o: o, n: n, names: make(connectionNames),
		redis: command.ParseServer(server.InfoField(info, "redis_version"), server.InfoField(info, "valkey_version"))}
	w.names.learnList(list)
	if s := o.Strangers; s != nil && s.Prefix != "" {
		if w.guard, err = newGuard(o.Ctx, n.Admin, s.Prefix); err != nil {
			return nil, fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	for _, key := range o.keys(n.Name) {
		w.follow(key)
	}
	return w, nil
}

// keys are those to follow on a node from its start: those that are named, and those that
// were found there before it died.
func (o *Observation) keys(node string) []string {
	if o.Strangers == nil {
		return []string{o.Key}
	}
	list := o.Strangers.Keys.Names()
	for _, key := range o.names[node] {
		if !slices.Contains(list, key) {
			list = append(list, key)
		}
	}
	return list
}
