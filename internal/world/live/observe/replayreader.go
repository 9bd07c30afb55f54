package observe

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// replayReader follows the keys of a node whose journal sim cannot read: a server of others, and one that keeps snapshots.
type replayReader struct {
	w  *nodeWatch
	mu sync.Mutex // guards watches
	// watches are the keys.
	watches []*keyWatch
	// ended is closed at the end of the stream.
	ended chan struct{}
}

func newReplayReader(w *nodeWatch) *replayReader {
	return &replayReader{w: w, ended: make(chan struct{})}
}

func (r *replayReader) all() []*keyWatch {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.watches)
}

// mostReplayed bounds how many keys of a node are replayed: each of them takes in each line.
const mostReplayed = 1000

func (r *replayReader) follow(key string, found bool) {
	if list := r.names(); slices.Contains(list, key) || r.w.full(len(list), mostReplayed) {
		return
	}
	k := &keyWatch{Log: r.w.logOf(key), evicts: r.w.o.Evicts}
	if r.w.n.Admin != nil {
		k.ask, k.after = func(number int) *keyQuery { return r.w.o.queryKey(r.w.n, key, number) }, time.AfterFunc
	}
	k.Doubted = k.askNode
	if found && r.w.o.Strangers.Fresh {
		k.begun, k.Replay.Key = true, command.Key{}
	} else if found {
		k.askNode()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watches = append(r.watches, k)
}

func (r *replayReader) names() []string {
	var list []string
	for _, k := range r.all() {
		list = append(list, k.Replay.Name)
	}
	return list
}

func (r *replayReader) see(c monitored) {
	c.Span = c.window
	for _, k := range r.all() {
		k.see(c)
	}
}

func (r *replayReader) marked() {
	for _, k := range r.all() {
		k.mu.Lock()
		k.finish()
		k.mu.Unlock()
	}
}

// evictedEvery is how often a server is asked whether it has evicted keys.
const evictedEvery = 50 * time.Millisecond

// lookForEvictions asks for the states of the keys when the server has evicted some, which MONITOR does not show.
func (r *replayReader) lookForEvictions(ctx context.Context) {
	if evicted, err := evictedBy(ctx, r.w.n); err == nil {
		for _, k := range r.all() {
			k.askIfEvicted(evicted)
		}
	}
}

// evictedBy is how many keys a node has evicted since it started.
func evictedBy(ctx context.Context, n *server.Node) (int64, error) {
	info, err := n.Admin.Info(ctx, "stats").Result()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(server.InfoField(info, "evicted_keys"), 10, 64)
}

// start asks for the states of the keys from which the replay goes on.
func (r *replayReader) start(ctx context.Context) error {
	if r.w.o.Evicts {
		r.w.o.Background.Go(func() { every(ctx, evictedEvery, r.ended, func() { r.lookForEvictions(ctx) }) })
	}
	for _, k := range r.all() {
		k.mu.Lock()
		k.askNode()
		asked := k.queries
		k.mu.Unlock()
		if len(asked) == 0 { // the server has closed the stream already
			if r.w.o.Reopens {
				return nil
			}
			return endedEarly(r.w.n.Name)
		}
		l := asked[0]
		select {
		case <-l.done:
			if l.err != nil {
				return l.err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// recordLost records that nobody knows the keys any more.
func (r *replayReader) recordLost() {
	for _, k := range r.all() {
		k.mu.Lock()
		k.RecordUnclear(history.Value{Rare: &history.Rare{Detail: "connections that the server closed"}})
		k.mu.Unlock()
	}
}

// goOn goes on from what another reader knew of the keys, or the same: since then they can have changed by replication alone,
// unseen, and the node is asked.
func (r *replayReader) goOn(from *replayReader) {
	for _, k := range r.all() {
		for _, before := range from.all() {
			if before.Replay.Name == k.Replay.Name {
				k.goOn(before.known())
			}
		}
	}
}

func (r *replayReader) end() {
	close(r.ended)
	for _, k := range r.all() {
		k.end()
	}
}

// settle waits for the answers that are under way, and reports whether there were any: they show in the stream a little later.
func (r *replayReader) settle(ctx context.Context) bool {
	waited := false
	for _, k := range r.all() {
		waited = k.settle(ctx) || waited
	}
	return waited
}
