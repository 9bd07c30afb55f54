package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/keystory"
)

// Topology says what a place is.
type Topology uint8

// The topologies.
const (
	// Single: one server, on its own.
	Single Topology = iota
	// BySentinel: a Sentinel, which says where the primary is.
	BySentinel
	// ByCluster: a node of a Redis Cluster, which says where the others are.
	ByCluster
)

// Place is an address that the user names.
type Place struct {
	Server
	Topology Topology
	// Primary is what a Sentinel calls the primary.
	Primary string
}

// Looks are looks at several servers at once: at those that are named, and at those that a Sentinel or a Cluster tells of.
type Looks struct {
	// Live says what the looks have in common: its Server, Note and Story.Tell are not used.
	Live
	Places []Place
	// SentinelPassword is that of Sentinels; the one of a place is for the servers.
	SentinelPassword string
	// Permit says why a server that a place tells of may not be contacted; nil: it may.
	Permit func(p *Place, address string) error
	// Publish is given what Live.Publish is, and of which server.
	Publish func(server string, s *keystory.Story, now keystory.Time)
	// Note and Tell are told what Live.Note and Live.Story.Tell are, and of which server.
	Note func(server, text string)
	Tell func(server string, k *keystory.Lock, f *keystory.Finding)

	mu      sync.Mutex
	members []*member
	across  *Across
	all     sync.WaitGroup
}

// Seen is what was seen of a server.
type Seen struct {
	Server string
	// Role says what it was, where a Sentinel or a Cluster told of it; empty: the user named it.
	Role  string
	Story *keystory.Story
	// Err says that it was gone at the end.
	Err error
}

// member is a server that is looked at.
type member struct {
	*look
	place  *Place
	role   string
	cancel func()
	done   chan struct{}
	seen   *keystory.Story
	err    error
	// told: it is one of those that are told of. over: another has taken its place.
	told, over bool
}

// pollEvery is how often a Sentinel or a Cluster is asked.
const pollEvery = time.Second

// Look looks at all of them. across says what befell locks on several servers; nil: only one is named, or none by itself.
func (l *Looks) Look(ctx context.Context) (list []Seen, across *Across, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	single := 0
	for _, p := range l.Places {
		if p.Topology == Single {
			single++
		}
	}
	if single > 1 {
		l.across = newAcross()
	}
	var managers sync.WaitGroup
	var follow []func()
	for i := range l.Places {
		p := &l.Places[i]
		var manage func(context.Context)
		switch p.Topology {
		case Single:
			_, err = l.start(ctx, p, p.Address, "", false)
		case BySentinel:
			manage, err = l.beginSentinel(ctx, p)
		case ByCluster:
			manage, err = l.beginCluster(ctx, p)
		}
		if err != nil {
			cancel()
			l.all.Wait()
			return nil, nil, err
		}
		if manage != nil {
			follow = append(follow, func() { manage(ctx) })
		}
	}
	if l.For > 0 {
		var stop func()
		ctx, stop = context.WithTimeout(ctx, l.For)
		defer stop()
		context.AfterFunc(ctx, cancel)
	}
	for _, f := range follow {
		managers.Go(f)
	}
	managers.Wait()
	l.all.Wait()
	for _, m := range l.members {
		if m.over { // that it is gone is no news
			m.err = nil
		}
		if m.told {
			list = append(list, Seen{Server: m.Address, Role: m.role, Story: m.seen, Err: m.err})
		}
	}
	return list, l.across, nil
}

// start begins to look at a server. role: what it is to the place; empty: the user named it.
// quiet: nothing is found there, and it is not told of.
func (l *Looks) start(ctx context.Context, p *Place, address, role string, quiet bool) (*member, error) {
	if role != "" && l.Permit != nil {
		if err := l.Permit(p, address); err != nil {
			return nil, err
		}
	}
	one := l.Live
	one.Server, one.For = p.Server, 0
	one.Address = address
	m := &member{place: p, role: role, done: make(chan struct{}), told: !quiet}
	one.Note = func(text string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.Note(address, text)
	}
	if one.Publish = nil; l.Publish != nil {
		one.Publish = func(s *keystory.Story, now keystory.Time) { l.Publish(address, s, now) }
	}
	one.Story.Tell = func(k *keystory.Lock, f *keystory.Finding) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.Tell(address, k, f)
	}
	if l.across != nil && p.Topology == Single {
		n := l.across.join(address)
		one.Story.Began = func(k *keystory.Lock, h *keystory.Hold) { l.across.note(n, k, h) }
	}
	m.look = newLook(&one)
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	m.story.SetQuiet(quiet)
	ctx, m.cancel = context.WithCancel(ctx)
	l.mu.Lock()
	l.members = append(l.members, m)
	l.mu.Unlock()
	l.all.Go(func() {
		defer close(m.done)
		defer m.cancel()
		m.seen, m.err = m.watch(ctx)
	})
	return m, nil
}

// member finds a server that is looked at; nil: it is not.
func (l *Looks) member(p *Place, address string) *member {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.members, func(m *member) bool { return m.place == p && m.Address == address && !m.ended() })
	if i < 0 {
		return nil
	}
	return l.members[i]
}

func (m *member) ended() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

// retire ends the look at a server whose place another has taken, if it cannot be reached.
func (m *member) retire(role string) {
	m.over, m.role = true, role
	reached := false
	m.call(func() { reached = m.own != "" })
	if !reached {
		m.cancel()
	}
}

// mostCompared bounds the locks that are compared at a failover.
const mostCompared = 1000

// failover compares the locks of a server with those of the one that has taken over. mine: which keys are.
func (l *Looks) failover(ctx context.Context, old, taken *member, mine func(key string) bool) {
	taken.call(func() { taken.story.SetQuiet(false) })
	type held struct {
		keystory.Holder
		key   string
		db    int
		since time.Time
	}
	var list []held
	var resynced time.Time
	if !old.call(func() {
		for _, h := range old.story.Holders() {
			if mine(h.Lock.Key) && len(list) < mostCompared {
				list = append(list, held{h, h.Lock.Key, h.Lock.DB, old.since[h.Lock]})
			}
		}
		resynced = old.resynced
	}) {
		return
	}
	silent := false // the old one does not answer, and is asked no more
	for _, h := range list {
		is, at, ok := taken.ask(ctx, h.db, h.key)
		if !ok {
			l.note(taken.place, "%s does not say what it has of %d locks that %s had: it is not known which are lost",
				taken.Address, len(list), old.Address)
			return
		}
		if keystory.Has(is, h.Values) || h.Expires.At > 0 && h.Expires.At <= at.At {
			continue
		}
		still := false
		if !silent {
			there, _, answers := old.ask(ctx, h.db, h.key)
			still, silent = answers && keystory.Has(there, h.Values), !answers
		}
		taken.call(func() {
			lock := taken.story.Follow(h.db, h.key)
			if lock == nil {
				return
			}
			never := !h.since.IsZero() && resynced.Before(h.since) && taken.sawAll(h.since) && !lock.Had(h.Values)
			lock.Lost(h.Holder, never && still, at, old.Address, whyLost(still, never))
		})
	}
}

// sawAll reports that all commands since an instant were seen, but for those of the moment in which the server closed all connections, as
// it does when it becomes a primary.
func (k *look) sawAll(since time.Time) bool {
	if k.WithoutMonitor {
		return false
	}
	if k.whole.Before(since) {
		return true
	}
	return k.before.from.Before(since) && since.Before(k.before.to) && k.whole.Sub(k.before.to) < cmp.Or(k.closedFor, closedFor)
}

func whyLost(still, never bool) string {
	switch {
	case still && never:
		return "the one before has it still, and it never came here"
	case never:
		return "it never came here; was it given back in the last moment of the one before?"
	case still:
		return "the one before has it still; was it given back here, while nobody looked?"
	}
	return "was it given back while nobody looked?"
}

// hostOf is where a server is that gives its own host as "": the one that was asked.
func hostOf(host, asked string) string {
	if host == "" || host == "?" {
		host, _, _ = net.SplitHostPort(asked)
	}
	return host
}

// every does something each second till ctx ends.
func every(ctx context.Context, do func()) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

// note is a note of a place.
func (l *Looks) note(p *Place, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Note(p.Address, fmt.Sprintf(format, args...))
}

// RefusedError says that a server that a place tells of may not be contacted.
type RefusedError struct{ Address, Why string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s is not contacted: %s", e.Address, e.Why)
}

// refusedOnce notes, the first time, that a server may not be contacted, or cannot be.
func (l *Looks) refusedOnce(ctx context.Context, p *Place, told map[string]bool, err error) {
	if ctx.Err() != nil {
		return
	}
	var refused *RefusedError
	text := err.Error()
	if errors.As(err, &refused) {
		text = refused.Error()
	}
	if !told[text] {
		told[text] = true
		l.note(p, "%s", text)
	}
}
