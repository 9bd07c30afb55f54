//go:build linux && amd64

package guests

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// told is what a history says of the lock's key on a node.
type told struct {
	there, unclear bool
	owner          string
	// ends is when it goes by itself, on the node's clock in ms since 1970; -1: never.
	ends int64
}

// overseer holds what is recorded of the lock's key against what servers say.
type overseer struct {
	t   *testing.T
	key string
	// fresh are events of which it is not known yet what the server's clock was.
	fresh map[string][]history.Event
	nodes map[string]*told
	// asked counts comparisons, present those in which the key was there.
	asked, present int
	recent         []string
}

// overseen is a world whose events the overseer sees.
type overseen struct {
	world.World
	o *overseer
}

func (w *overseen) Start(h world.Hooks) error {
	record := h.Record
	h.Record = func(e history.Event) int {
		w.o.see(e)
		return record(e)
	}
	return w.World.Start(h)
}

func (o *overseer) see(e history.Event) {
	switch e.F {
	case history.KeySet, history.KeyExtended, history.KeyDeleted, history.KeyExpired, history.KeyUnclear, history.NodeDown:
		if e.F == history.NodeDown || e.Value.Key == o.key {
			o.fresh[e.Process] = append(o.fresh[e.Process], e)
		}
	}
}

// take makes an event that was recorded when the node's clock showed now what is told.
func (k *told) take(e history.Event, now int64) {
	ends := int64(-1)
	if ttl := e.Value.TTL(); ttl.IsSet() {
		ends = now + ttl.V()/int64(time.Millisecond)
	}
	switch e.F {
	case history.KeySet:
		*k = told{there: true, owner: e.Value.Owner, ends: ends}
	case history.KeyExtended:
		k.ends = ends
	case history.KeyUnclear:
		*k = told{unclear: true}
	default:
		*k = told{}
	}
}

// compare asks a server what it has.
func (o *overseer) compare(node string, ask func(...string) (string, error)) {
	must := func(words ...string) string {
		answer, err := ask(words...)
		if err != nil {
			o.t.Fatalf("node %s, %q: %v", node, words, err)
		}
		return answer
	}
	kind := must("TYPE", o.key)
	ends, err := strconv.ParseInt(must("PEXPIRETIME", o.key), 10, 64)
	if err != nil {
		o.t.Fatal(err)
	}
	if kind == "hash" && o.key == "locks" { // the lock hash-field of its scenario
		_, _ = fmt.Sscanf(must("HPEXPIRETIME", o.key, "FIELDS", "1", "lock"), "[%d]", &ends)
		if ends == -2 { // it has run out, and is not removed yet
			kind = "none"
		}
	}
	var seconds, micros int64
	if _, err := fmt.Sscanf(must("TIME"), "[%d %d]", &seconds, &micros); err != nil {
		o.t.Fatal(err)
	}
	now := seconds*1000 + micros/1000
	k := o.nodes[node]
	if k == nil {
		k = &told{}
		o.nodes[node] = k
	}
	for _, e := range o.fresh[node] {
		k.take(e, now)
		o.recent = append(o.recent, fmt.Sprintf("%s %s %q %v", node, e.F, e.Value.Owner, e.Value.TTL()))
	}
	o.fresh[node] = nil
	if persistence := must("INFO", "persistence"); strings.Contains(persistence, "aof_rewrite_in_progress:1") ||
		strings.Contains(persistence, "aof_rewrite_scheduled:1") || strings.Contains(persistence, "loading:1") {
		return // it takes over a copy, and its journal does not tell of that yet
	}
	has := fmt.Sprintf("type %s, ends %d, now %d", kind, ends, now)
	o.asked++
	switch {
	case k.unclear:
	case kind == "none":
		if k.there && (k.ends < 0 || k.ends > now) {
			o.t.Errorf("node %s has no key, the history: %+v; %s; %q", node, *k, has, o.recent[max(0, len(o.recent)-6):])
		}
	case !k.there || k.ends != ends:
		o.t.Errorf("node %s has another key than the history tells: %+v; %s; %q", node, *k, has, o.recent[max(0, len(o.recent)-6):])
	default:
		o.present++
		if kind == "string" {
			if value := history.OwnerText(must("GET", o.key)); value != k.owner {
				o.t.Errorf("node %s has the value %q, the history %q", node, value, k.owner)
			}
		}
	}
}

// oversee makes a run in which each server is asked after each command that it carries out.
func oversee(t *testing.T, a *try) *overseer {
	t.Helper()
	o := &overseer{t: t, key: a.variant.Setup.Lock.Key, fresh: make(map[string][]history.Event), nodes: make(map[string]*told)}
	a.hooked = func(w world.World) world.World { return &overseen{w, o} }
	a.options.observed = func(node string, ask func(...string) (string, error)) {
		if node != history.ResourceProcess && !t.Failed() {
			o.compare(node, ask)
		}
	}
	if _, _, err := a.run(); err != nil {
		t.Fatal(err)
	}
	return o
}

// overseeAlone does so with a lock that one client holds alone: the keys of those that several may hold are not recorded.
func overseeAlone(t *testing.T, a *try) *overseer {
	t.Helper()
	if a.variant.Setup.Shares() {
		return &overseer{}
	}
	return oversee(t, a)
}

// TestHistoryIsWhatServersHave asks each server after each command of a built-in lock, and whenever it did something by itself, what it
// has, while time stands still.
func TestHistoryIsWhatServersHave(t *testing.T) {
	asked, present := 0, 0
	everyVariant(t, chosen, func(t *testing.T, a *try) {
		o := overseeAlone(t, a)
		asked, present = asked+o.asked, present+o.present
	})
	t.Logf("asked %d times, the key was there %d times", asked, present)
	if present < 1000 {
		t.Errorf("the key was there only %d of %d times", present, asked)
	}
}

// TestHistoryOfRandomCommands does the same beside a lock program that puts random commands to the lock's key.
func TestHistoryOfRandomCommands(t *testing.T) {
	o := oversee(t, tryProgram(t, "set-nx-px", random, 1))
	t.Logf("asked %d times, the key was there %d times", o.asked, o.present)
	if o.present < 500 {
		t.Errorf("the key was there only %d of %d times", o.present, o.asked)
	}
}
