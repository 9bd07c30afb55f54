package observe

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-sim/redlock-sim/internal/keystory"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// releaseScript compares before it removes.
const releaseScript = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`

// watching looks at several servers.
type watching struct {
	mu                  sync.Mutex
	notes, found, began []string
}

func (w *watching) has(list *[]string, parts ...string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(*list, func(text string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
	})
}

func (w *watching) noted(parts ...string) bool { return w.has(&w.notes, parts...) }
func (w *watching) finds(parts ...string) bool { return w.has(&w.found, parts...) }

func (w *watching) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(append(slices.Clone(w.notes), w.found...), "\n")
}

// lookAt begins a look at places. end ends it.
func lookAt(t *testing.T, l *Looks) (w *watching, end func() ([]Seen, *Across)) {
	t.Helper()
	w = &watching{}
	l.Note = func(server, text string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.notes = append(w.notes, server+" "+text)
	}
	l.Tell = func(server string, k *keystory.Lock, f *keystory.Finding) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.found = append(w.found, server+" "+k.Line(f))
	}
	l.Story = keystory.Options{Keys: fits("lock"), Moments: 100, Began: func(k *keystory.Lock, h *keystory.Hold) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.began = append(w.began, k.Key+" "+h.Owner)
	}}
	ctx, cancel := context.WithCancel(t.Context())
	type result struct {
		seen   []Seen
		across *Across
		err    error
	}
	done := make(chan result, 1)
	go func() {
		seen, across, err := l.Look(ctx)
		done <- result{seen, across, err}
	}()
	t.Cleanup(cancel)
	return w, func() ([]Seen, *Across) {
		t.Helper()
		cancel()
		r := suite.Receive(t, "the end of the look", done)
		if r.err != nil {
			t.Fatal(r.err)
		}
		return r.seen, r.across
	}
}

// Independent servers are told of each by itself, and across them it is counted on how many a value was.
func TestSeveralServers(t *testing.T) {
	l := &Looks{}
	var admins []*redis.Client
	for range 3 {
		address, admin := startRedis(t)
		l.Places, admins = append(l.Places, Place{Server: Server{Address: address}}), append(admins, admin)
	}
	w, end := lookAt(t, l)
	ctx := t.Context()
	suite.Eventually(t, "a finding on each server", func() bool {
		for i, admin := range admins {
			admin.SetNX(ctx, "lock:a", "a", time.Minute)
			admin.Del(ctx, "lock:a")
			if i < 1 {
				admin.SetNX(ctx, "lock:a", "b", time.Minute)
				admin.Del(ctx, "lock:a")
			}
		}
		return !slices.ContainsFunc(l.Places, func(p Place) bool { return !w.finds(p.Address, `lock of "a"`) }) && w.finds(`lock of "b"`)
	})
	seen, across := end()
	if len(seen) != 3 || across == nil {
		t.Fatalf("%d servers, %v", len(seen), across)
	}
	for i, s := range seen {
		if s.Server != l.Places[i].Address || s.Role != "" || s.Err != nil || len(s.Story.Locks()) != 1 {
			t.Errorf("%+v", s)
		}
	}
	if list := across.Locks(); len(list) != 1 || list[0].Majority != 1 || list[0].Minority != 1 || !slices.Equal(list[0].On, []int{2, 1, 1}) {
		t.Errorf("%+v", list)
	}
	var b strings.Builder
	if _ = across.WriteText(&b); !strings.Contains(b.String(), "lock:a: 1 value had it on 2 servers or more, 1 on fewer") {
		t.Error(b.String())
	}
}

// startSentinel starts a Sentinel for a primary with the name mm.
func startSentinel(t *testing.T, primary string) (address string, admin *redis.Client) {
	t.Helper()
	binary, err := server.FindRedis("")
	if err != nil {
		suite.Lacks(t, "redis-server")
	}
	host, port, _ := net.SplitHostPort(primary)
	dir := t.TempDir()
	err = machine.OnFreePort(func(own int) error {
		config := filepath.Join(dir, "sentinel.conf")
		text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %q\nsentinel monitor mm %s %s 1\nsentinel down-after-milliseconds mm 500\n"+
			"sentinel failover-timeout mm 3000\n", own, dir, host, port)
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			return err
		}
		child, err := machine.Start("sentinel", exec.Command(binary, config, "--sentinel"))
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = child.Kill(); machine.ReturnPort(own) })
		address = fmt.Sprintf("127.0.0.1:%d", own)
		admin = redis.NewClient(&redis.Options{Addr: address, Protocol: 2, DisableIdentity: true})
		t.Cleanup(func() { _ = admin.Close() })
		suite.Succeeds(t, "an answer of Sentinel", func() error { return admin.Ping(t.Context()).Err() })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return address, admin
}

// startReplica starts a replica, and waits till it has what its primary has.
func startReplica(t *testing.T, primary string) (string, *redis.Client) {
	t.Helper()
	host, port, _ := net.SplitHostPort(primary)
	address, admin := startRedis(t, "--replicaof", host+" "+port)
	suite.Eventually(t, "a replica", func() bool {
		return strings.Contains(admin.Info(t.Context(), "replication").Val(), "master_link_status:up")
	})
	return address, admin
}

// A lock that a failover loses is found: surely where the old primary has it still, and where its owner comes back.
func TestLostByFailover(t *testing.T) {
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprintf("crash=%v", crash), func(t *testing.T) {
			ctx := t.Context()
			first, old := startRedis(t, "--repl-diskless-sync-delay", "0")
			second, taken := startReplica(t, first)
			at, sentinel := startSentinel(t, first)
			suite.Eventually(t, "a Sentinel that knows the replica", func() bool {
				return strings.Contains(fmt.Sprint(sentinel.Do(ctx, "SENTINEL", "REPLICAS", "mm").Val()), second)
			})
			w, end := lookAt(t, &Looks{Live: Live{closedFor: suite.Patience},
				Places: []Place{{Server: Server{Address: at}, Topology: BySentinel, Primary: "mm"}}})
			defer func() {
				if t.Failed() {
					t.Logf("the Sentinel says %v\n%s", sentinel.Do(ctx, "SENTINEL", "MASTERS").Val(), w.all())
				}
			}()
			suite.Eventually(t, "a look at both", func() bool { return w.noted(first, "MONITOR") && w.noted(second, "is a replica") })
			const replicated, lost, freed = "0a2b81c0-77ae-4d19-1", "1a2b81c0-77ae-4d19-2", "2a2b81c0-77ae-4d19-3"
			grant := func(key, owner string) {
				if !old.SetNX(ctx, key, owner, time.Minute).Val() {
					t.Fatalf("%s has no %s", owner, key)
				}
			}
			old.FlushAll(ctx) // from here on it is known who has which lock
			grant("lock:replicated", replicated)
			grant("lock:freed", freed)
			suite.Eventually(t, "a lock on the replica", func() bool { return taken.Get(ctx, "lock:freed").Val() == freed })
			old.Do(ctx, "ACL", "SETUSER", "default", "-psync", "-sync")
			old.Do(ctx, "CLIENT", "KILL", "TYPE", "replica")
			old.Eval(ctx, releaseScript, []string{"lock:freed"}, freed) // the replica does not hear of it
			grant("lock:lost", lost)
			suite.Eventually(t, "a look that has seen it", func() bool { return w.has(&w.began, "lock:lost", lost) })
			if crash {
				_ = old.ShutdownNoSave(ctx)
			} else {
				suite.Succeeds(t, "a failover", func() error { return sentinel.Do(ctx, "SENTINEL", "FAILOVER", "mm").Err() })
			}
			suite.Eventually(t, "a lock that is lost", func() bool { return w.finds(second, "lock:lost", "[lost-by-failover") })
			if sure := w.finds("lock:lost", "[lost-by-failover]"); sure == crash {
				t.Errorf("sure %v: the old primary can be asked, or not", sure)
			}
			if crash { // another gets it, and then its owner comes back, which shows that it had not given it back
				taken.SetNX(ctx, "lock:lost", "another", time.Minute)
				suite.Eventually(t, "a finding", func() bool {
					taken.Eval(ctx, releaseScript, []string{"lock:lost"}, lost)
					return w.finds(second, "came back to its lock", `"another" has it [lost-by-failover]`)
				})
			}
			seen, _ := end()
			if len(seen) != 2 || !strings.Contains(seen[0].Role, "till") || !strings.Contains(seen[1].Role, "since") || seen[1].Err != nil {
				t.Errorf("%+v", seen)
			}
			if w.finds("lock:replicated") || w.finds("lock:freed", "[lost") {
				t.Errorf("a lock that was not lost is said to be:\n%s", w.all())
			}
		})
	}
}

// A server that a Sentinel tells of is contacted only if that is permitted.
func TestRefusedServer(t *testing.T) {
	first, _ := startRedis(t)
	at, _ := startSentinel(t, first)
	var asked []string
	l := &Looks{Places: []Place{{Server: Server{Address: at}, Topology: BySentinel, Primary: "mm"}}, Note: func(string, string) {},
		Permit: func(_ *Place, address string) error {
			asked = append(asked, address)
			return &RefusedError{address, "nobody named it"}
		}}
	l.Story.Keys = fits("lock")
	if _, _, err := l.Look(t.Context()); err == nil || !strings.Contains(err.Error(), first+" is not contacted: nobody named it") {
		t.Errorf("%v", err)
	}
	if !slices.Equal(asked, []string{first}) {
		t.Errorf("asked for %v", asked)
	}
	l.Places[0].Primary = "other"
	if _, _, err := l.Look(t.Context()); err == nil || !strings.Contains(err.Error(), `knows no primary with the name "other"`) &&
		!strings.Contains(err.Error(), "No such master") {
		t.Errorf("%v", err)
	}
}

// A Redis Cluster is looked at, one look for each primary, and a lock is followed to where its slot moves: nobody is accused by that.
func TestCluster(t *testing.T) {
	ctx := t.Context()
	var addresses []string
	var nodes []*redis.Client
	for i := range 2 {
		address, node := startRedis(t, "--cluster-enabled", "yes")
		addresses, nodes = append(addresses, address), append(nodes, node)
		if err := node.Do(ctx, "CLUSTER", "ADDSLOTSRANGE", i*8192, i*8192+8191).Err(); err != nil {
			suite.Lacks(t, "Redis 7 or later")
		}
	}
	host, port, _ := net.SplitHostPort(addresses[0])
	number, _ := strconv.Atoi(port)
	if err := nodes[1].Do(ctx, "CLUSTER", "MEET", host, port, number-10_000).Err(); err != nil {
		t.Fatal(err)
	}
	slot := command.Slot("lock:a") // of the first node
	suite.Eventually(t, "a cluster", func() bool {
		return !slices.ContainsFunc(nodes, func(node *redis.Client) bool {
			return !strings.Contains(node.ClusterInfo(ctx).Val(), "cluster_state:ok") || len(node.ClusterShards(ctx).Val()) != 2
		}) && nodes[0].Set(ctx, "lock:a", "a", time.Minute).Err() == nil
	})
	w, end := lookAt(t, &Looks{Places: []Place{{Server: Server{Address: addresses[1]}, Topology: ByCluster}}})
	suite.Eventually(t, "a look at both", func() bool { return w.noted(addresses[0], "MONITOR") && w.noted(addresses[1], "MONITOR") })
	id := func(n int) string { return nodes[n].Do(ctx, "CLUSTER", "MYID").Val().(string) }
	_, to, _ := net.SplitHostPort(addresses[1])
	nodes[0].Get(ctx, "lock:a") // the look sees that there is such a key, and asks
	for _, step := range []struct {
		node  int
		words []any
	}{
		{1, []any{"CLUSTER", "SETSLOT", slot, "IMPORTING", id(0)}}, {0, []any{"CLUSTER", "SETSLOT", slot, "MIGRATING", id(1)}},
		{0, []any{"MIGRATE", host, to, "lock:a", 0, 5000}},
		{1, []any{"CLUSTER", "SETSLOT", slot, "NODE", id(1)}}, {0, []any{"CLUSTER", "SETSLOT", slot, "NODE", id(1)}},
	} {
		if err := nodes[step.node].Do(ctx, step.words...).Err(); err != nil {
			t.Fatalf("%v: %v", step.words, err)
		}
	}
	suite.Eventually(t, "a slot that moved", func() bool { return w.noted("1 slots moved from " + addresses[0] + " to " + addresses[1]) })
	suite.Eventually(t, "a finding where the lock is", func() bool {
		nodes[1].SetNX(ctx, "lock:a", "b", time.Minute)
		nodes[1].Del(ctx, "lock:a")
		return w.finds(addresses[1], "lock:a", "[deleted-without-comparing]")
	})
	seen, across := end()
	if len(seen) != 2 || across != nil || w.finds(addresses[0]) {
		t.Errorf("%+v\n%s", seen, w.all())
	}
}

// An answer to CLUSTER SLOTS is not believed where it cannot be.
func TestSlotsIn(t *testing.T) {
	of := func(first, last, port string) *resp.Value {
		text := func(s string) resp.Value { return resp.Value{Kind: resp.Bulk, Text: s} }
		list := func(l ...resp.Value) resp.Value { return resp.Value{Kind: resp.Array, List: l} }
		v := list(list(text(first), text(last), list(text(""), text(port))))
		return &v
	}
	s, err := slotsIn(of("0", "16383", "7000"), "10.0.0.1:1")
	if err != nil || !slices.Equal(s.primaries(), []string{"10.0.0.1:7000"}) {
		t.Errorf("%v, %v", s.primaries(), err)
	}
	for _, bad := range []*resp.Value{of("5", "4", "1"), of("0", "16384", "1"), of("0", "1", "x"), of("0", "1", "70000"), of("-1", "1", "1"),
		{Kind: resp.Array, List: []resp.Value{{}}}} {
		if _, err := slotsIn(bad, "h:1"); err == nil {
			t.Errorf("%+v is believed", bad)
		}
	}
}
