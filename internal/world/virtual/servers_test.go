package virtual

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	redis "github.com/redlock-sim/redlock-sim/internal/redis/node"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/runner"
	"github.com/redlock-sim/redlock-sim/internal/scenario"
	"github.com/redlock-sim/redlock-sim/internal/scenario/scenariotest"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// byteServers are servers that take bytes and answer in bytes, as processes do. What they do to their data is the model's, with
// redis/node in front of it.
type byteServers struct{ all []*byteServer }

func (s *byteServers) Server(h *Host) (Server, error) {
	n := &redisModel{Host: h.w.newHost(h.name, h.persistence)}
	n.redis = redis.New(&n.memory, redis.Config{Scripts: warmed, Server: command.Server{Valkey: true, Major: 9},
		Unknown: func(what string) { panic("unknown to the model: " + what) }})
	n.noteWrites()
	s.all = append(s.all, &byteServer{h: h, n: n})
	return s.all[len(s.all)-1], nil
}

func (s *byteServers) Versions() map[string]string { return nil }
func (s *byteServers) Settled() bool               { return true }
func (s *byteServers) HostAt(string) string        { return "" }

type byteServer struct {
	h *Host
	// n has the data; of its host nothing but the clock is used.
	n       *redisModel
	started bool
	// takes is how long a start takes that is not the first, fails why it does not succeed.
	takes time.Duration
	fails error
	// begins is called when a start begins; nil: nobody cares.
	begins func()
	// ended are connections that were told to be over. from are those of hosts.
	ended int
	from  []*hostEnd
	// full: it refuses connections.
	full bool
	// hellos are the commands with which connections introduced themselves.
	hellos [][]string
	// follows are whom it was told to follow.
	follows []string
}

func (s *byteServer) Start(keep world.Keep, ready func(error)) {
	n := s.n
	if !s.started {
		s.started = true
		n.disk.started(n, int64((n.w.wallZero-NodesStartBefore)/time.Microsecond), keep)
		ready(nil)
		return
	}
	if s.begins != nil {
		s.begins()
	}
	n.w.s.after(s.takes, func() {
		if s.fails != nil {
			ready(s.fails)
			return
		}
		n.memory.Observer = s.h.Keys(Cause{})
		n.seeClock()
		n.memory.Items = n.disk.load(n, keep)
		n.redis.Restart()
		n.disk.started(n, n.memory.Now, keep)
		n.up = true
		n.sweep()
		for i := range n.memory.Items {
			if it := &n.memory.Items[i]; !it.IsList {
				var ttl time.Duration
				if it.Expires > 0 {
					ttl = time.Duration(it.Expires-n.memory.Milliseconds()) * time.Millisecond
				}
				s.h.Keys(Cause{}).Set(it, ttl)
			}
		}
		ready(nil)
	})
}

func (s *byteServer) Follow(primary string) { s.follows = append(s.follows, primary) }

func (s *byteServer) Wipe() error { return s.ruled(s.n.wipe) }

func (s *byteServer) Evict() error { return s.ruled(s.n.evict) }

func (s *byteServer) Limit(full bool) error {
	s.n.memory.Full = full
	return nil
}

// ruled does something to its memory, and tells what became of the keys.
func (s *byteServer) ruled(do func() error) error {
	s.n.memory.Observer = s.h.Keys(Cause{})
	return do()
}

func (s *byteServer) Pause() {
	s.n.onPause()
	s.n.paused = true
}

func (s *byteServer) Resume() {
	s.n.paused = false
	s.n.onResume(nil)
}

func (s *byteServer) Kill() {
	s.n.onKill(s.n.paused)
	s.n.up, s.n.paused = false, false
}

func (s *byteServer) SetClock(c Clock) {
	s.n.onClock(func() { s.n.clock = s.h.clock })
	if at := s.h.Now(); int64(c.Base/time.Microsecond) != s.n.wall(at) {
		panic("a server is told of another clock than its host's")
	}
}

func (s *byteServer) Accept(c *ServerConn) End {
	if s.full || c.Port() == closedPort {
		return nil
	}
	if c.Port() != 0 {
		s.from = append(s.from, &hostEnd{h: s.h, c: c})
		return s.from[len(s.from)-1]
	}
	e := &byteEnd{s: s, c: c}
	e.redis = s.n.redis.Open(c.Send)
	return e
}

// byteEnd is a server's end of a connection.
type byteEnd struct {
	s     *byteServer
	c     *ServerConn
	redis *redisConn
	conn  connection
	in    []byte
}

func (e *byteEnd) Opened()    { panic("it did not open it") }
func (e *byteEnd) Ended()     { e.Broke(false) }
func (e *byteEnd) Broke(bool) { e.s.ended++; e.redis.Close() }

// Arrived carries out the commands that are complete. It sends each answer in two pieces.
func (e *byteEnd) Arrived(b []byte) {
	n := e.s.n
	e.in = append(e.in, b...)
	for {
		words, size, err := resp.ParseCommand(e.in)
		if errors.Is(err, resp.ErrShort) {
			return
		}
		if err != nil {
			panic(err)
		}
		e.in = e.in[size:]
		if words[0] == "hello" {
			e.s.hellos = append(e.s.hellos, words)
		}
		n.memory.Observer = e.s.h.Keys(Cause{Conn: e.c, Words: words, Left: e.c.Left()})
		n.seeClock()
		n.disk.catchUp(n, n.memory.Now)
		var out []byte
		n.accountWrites(nil, &e.conn, func() {
			if n.memory.Full && words[0] == "set" {
				out = resp.AppendLine(nil, resp.Error, command.RefusalText("OOM"))
				return
			}
			out, _ = e.redis.Do(nil, words)
		})
		n.memory.Observer = e.s.h.Keys(Cause{})
		e.c.Send(out[:1])
		e.c.Send(out[1:])
		if e.redis.Closed() {
			e.c.Close()
		}
	}
}

// TestServersAreTheModel: with servers that get bytes and answer in bytes, each history is what it is with the model.
func TestServersAreTheModel(t *testing.T) {
	one, many := &Engine{}, &Engine{Servers: &byteServers{}}
	defer one.Close()
	defer many.Close()
	seeds := uint64(suite.Amount(t, 20, 3))
	compared := 0
	for _, s := range append(scenariotest.OnModels(t),
		parsed(t, "name: timeouts\nlock: {algorithm: redlock, node_timeout: 450us}\nworkload: {clients: 3, sections: 2}\n")) {
		for _, v := range s.Variants {
			if v.Setup.Lock.Algorithm == "woken" {
				continue // these servers know no BLPOP
			}
			for seed := range seeds {
				want, same := actIn(t, one, s, v, seed)
				if !same {
					break
				}
				got, _ := actIn(t, many, s, v, seed)
				if at := differs(want, got); at != "" {
					t.Errorf("%s, %s, seed %d: %s", s.Name, v.Name, seed, at)
				}
				compared++
			}
		}
	}
	if compared < 100 {
		t.Errorf("%d runs were compared", compared)
	}
}

// differs shows the first lines in which two histories differ; empty: they do not.
func differs(want, got []byte) string {
	if bytes.Equal(want, got) {
		return ""
	}
	a, b := append(bytes.Split(want, []byte("\n")), nil), append(bytes.Split(got, []byte("\n")), nil)
	i := 0
	for i < min(len(a), len(b))-1 && bytes.Equal(a[i], b[i]) {
		i++
	}
	return fmt.Sprintf("with the model line %d is\n%s\nwith servers\n%s", i+1, a[i], b[i])
}

// actIn runs a variant; single: its nodes know nothing of each other.
func actIn(t *testing.T, e *Engine, s *scenario.Scenario, v scenario.Variant, seed uint64) (history []byte, single bool) {
	t.Helper()
	var file bytes.Buffer
	single = true
	_, err := runner.Run(runner.Config{Scenario: s.Name, Variant: v, Seed: seed, World: "virtual", Started: time.Unix(0, 0), History: &file,
		Open: func(spec world.Spec) (world.World, error) {
			// The model of a server that takes bytes knows neither HSETEX nor WAITAOF.
			strange := slices.ContainsFunc(spec.Lock.Needs(), func(f command.Feature) bool {
				return f == command.ExpiresFields || f == command.WaitsForSync
			})
			single = !spec.Replicated && spec.Sentinel == nil && !strange
			return e.Open(context.Background(), spec)
		}})
	if err != nil && single {
		t.Fatal(err)
	}
	return slices.Clone(file.Bytes()), single
}

// idle is a guest that wants nothing.
type idle struct{}

func (idle) Await(until time.Duration) time.Duration { return until }
func (idle) Grant() bool                             { return false }
func (idle) Begin()                                  {}

// machines are locks that do nothing, and keep the machines on which they are.
type machines []*Machine

func (m *machines) Lock(on *Machine, _ string) (lock.Lock, error) {
	*m = append(*m, on)
	return nil, nil
}
func (m *machines) Ready(then func(error)) { then(nil) }
func (m *machines) Late() bool             { return false }
func (m *machines) Unknown(what string)    { panic(what) }

// line is an end that keeps what came.
type line struct {
	w              *World
	opened, broken time.Duration // 0: not yet
	refused        bool
	text           string
	at             []time.Duration // when pieces of text came
}

func (e *line) Opened() { e.opened = e.w.s.now }
func (e *line) Arrived(b []byte) {
	e.text += string(b)
	e.at = append(e.at, e.w.s.now)
}
func (e *line) Ended()             { e.Broke(false) }
func (e *line) Broke(refused bool) { e.broken, e.refused = e.w.s.now, refused }

// withServers is a world whose nodes have servers, with the machines of its clients.
func withServers(t *testing.T, change func(*world.Spec)) (w *World, servers *byteServers, clients machines, told *[]history.Event) {
	t.Helper()
	servers = &byteServers{}
	w, told = openWith(t, &Engine{Guests: idle{}, Locks: &clients, Servers: servers, Wall: epoch}, change)
	return w, servers, clients, told
}

func openWith(t *testing.T, e *Engine, change func(*world.Spec)) (w *World, told *[]history.Event) {
	t.Helper()
	t.Cleanup(e.Close)
	w, err := e.Open(context.Background(), smallSpec(change))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	told = new([]history.Event)
	if err := w.Start(world.Hooks{Record: func(e history.Event) int { *told = append(*told, e); return 0 }}); err != nil {
		t.Fatal(err)
	}
	return w, told
}

// during runs f as an activity and waits for its end.
func during(w *World, f func()) {
	w.Go(f)
	w.Wait()
}

// Locks that have long been ready when they are asked are not waited for, so that the run begins when its servers can.
func TestReadyLocksAreNotWaitedFor(t *testing.T) {
	if w, _, _, _ := withServers(t, nil); w.Now() > time.Second {
		t.Errorf("the run could have begun at once, and it is %v", w.Now())
	}
}

// TestGuestsSendServersBytes: what a guest sends comes as bytes, in whatever pieces, and so does what it is sent, in order. The
// history tells what its commands did as it does of the model.
func TestGuestsSendServersBytes(t *testing.T) {
	w, servers, clients, told := withServers(t, nil)
	w.hooks.Unread = func(world.Link, bool, string) {
		t.Error("the run waits for nothing, and is told that it will not come")
	}
	during(w, func() {
		e := &line{w: w}
		g := clients[0].Dial(0, e)
		if w.Sleep(time.Millisecond); e.opened == 0 {
			t.Fatal("it is not open")
		}
		words := []string{"set", "lock", "mine", "px", "1000"}
		in := resp.AppendCommand(nil, words...)
		g.Send(nil, in[:10])
		w.Sleep(time.Millisecond)
		left := w.Now()
		g.Send([][]string{words}, in[10:])
		lift := disturb(t, w, world.Disturbance{Kind: world.Hold, Direction: world.Answers})
		if w.Sleep(5 * time.Millisecond); e.text != "" {
			t.Errorf("%q came through a hold", e.text)
		}
		_ = lift()
		if w.Sleep(time.Millisecond); e.text != "+OK\r\n" || len(e.at) != 2 {
			t.Errorf("%q came in %d pieces", e.text, len(e.at))
		}
		if len(*told) != 1 {
			t.Fatalf("the history has %+v", *told)
		}
		v := (*told)[0].Value
		if (*told)[0].F != history.KeySet || v.Client != "c1" || v.Owner != "mine" || v.TTL() != history.Some(int64(time.Second)) ||
			v.Outcome.At != history.Some(int64(left)) || v.Grant.ValidUntil != history.Some(int64(left+time.Second)) {
			t.Errorf("the history tells %+v, %+v, %+v", v, v.Outcome, v.Grant)
		}
		g.Send([][]string{{"unsubscribe"}}, nil) // such a command makes answers unreadable
		g.Send([][]string{{"quit"}}, resp.AppendCommand(nil, "quit"))
		if w.Sleep(time.Millisecond); e.text != "+OK\r\n+OK\r\n" || e.broken < e.at[3] || e.refused {
			t.Errorf("%q, broken at %v, refused %v", e.text, e.broken, e.refused)
		}

		other, third := &line{w: w}, &line{w: w}
		closed := clients[1].Dial(0, other)
		w.Sleep(time.Millisecond)
		closed.Send([][]string{{"get", "lock"}}, resp.AppendCommand(nil, "get", "lock"))
		closed.Close()
		if w.Sleep(time.Millisecond); other.text != "" || servers.all[0].ended != 1 {
			t.Errorf("a guest that has closed its connection got %q; the server saw the end of %d", other.text, servers.all[0].ended)
		}
		clients[1].Dial(0, third)
		w.Sleep(time.Millisecond)
		if err := w.Kill("A"); err != nil {
			t.Fatal(err)
		}
		if w.Sleep(time.Millisecond); third.broken == 0 || third.refused {
			t.Error("the end of the server does not show at its client")
		}
		late, full := &line{w: w}, &line{w: w}
		clients[0].Dial(0, late)
		servers.all[1].full = true
		clients[0].Dial(1, full)
		if w.Sleep(time.Millisecond); !late.refused || !full.refused {
			t.Error("a dead server takes connections, or one that refuses them")
		}
	})
}

// TestTheRunWaitsForAnswersOfServers: the run is told of an answer that it waits for with the bytes that end it.
func TestTheRunWaitsForAnswersOfServers(t *testing.T) {
	var clients machines
	w, _ := openWith(t, &Engine{Guests: idle{}, Locks: &clients, Servers: &byteServers{}, Wall: epoch}, func(s *world.Spec) {
		s.Messages = world.Patterns{{Client: "c1", Node: "A", Kind: world.Answered, Command: "GET"}}
	})
	var told []string
	var unread []string
	w.hooks.Message = func(m world.Message) {
		told = append(told, fmt.Sprint(m.Words, m.Kind.FromNode()))
		w.Sleep(10 * time.Millisecond)
	}
	w.hooks.Unread = func(_ world.Link, answers bool, why string) { unread = append(unread, fmt.Sprint(answers, why)) }
	during(w, func() {
		e := &line{w: w}
		g := clients[0].Dial(0, e)
		send := func(words ...string) { g.Send([][]string{words}, resp.AppendCommand(nil, words...)) }
		send("set", "a", "1")
		send("get", "a")
		send("get", "b")
		if w.Sleep(5 * time.Millisecond); e.text != "+OK\r\n$" || len(told) != 1 {
			t.Errorf("%q came while the run waits, and it was told of %q", e.text, told)
		}
		w.Sleep(30 * time.Millisecond)
		if e.text != "+OK\r\n$1\r\n1\r\n$-1\r\n" || !slices.Equal(told, []string{"[get a] true", "[get b] true"}) {
			t.Errorf("%q came, and the run was told of %q", e.text, told)
		}
		send("unsubscribe")
		if w.Sleep(time.Millisecond); len(unread) != 1 {
			t.Errorf("the run was told that it is not told of answers: %q", unread)
		}
	})
}

// TestServersStartInTheirTime: a server is up when it says so, and not where it says that it failed.
func TestServersStartInTheirTime(t *testing.T) {
	w, servers, clients, _ := withServers(t, nil)
	during(w, func() {
		s := servers.all[0]
		s.fails = errors.New("no room on the disk")
		_ = w.Kill("A")
		if err := w.Restart("A", world.KeepData); !errors.Is(err, s.fails) || w.Alive("A") {
			t.Errorf("it is up: %v, with the error %v", w.Alive("A"), err)
		}
		dialled := &line{w: w}
		s.begins = func() {
			if c, err := s.h.Dial("B", busPort, dialled); err != nil {
				t.Error(err)
			} else {
				c.Send([]byte("hello"))
			}
		}
		s.fails, s.takes = nil, 50*time.Millisecond
		began := w.Now()
		for range 2 { // two faults at once
			w.Go(func() {
				if err := w.Restart("A", world.KeepData); err != nil || w.Now() < began+s.takes {
					t.Errorf("it started within %v, with the error %v", w.Now()-began, err)
				}
			})
		}
		early, late := &line{w: w}, &line{w: w}
		w.Sleep(s.takes / 2)
		clients[0].Dial(0, early)
		w.Sleep(s.takes)
		clients[0].Dial(0, late)
		if w.Sleep(time.Millisecond); !early.refused || late.opened == 0 {
			t.Error("it takes connections while it starts, or does not when it is up")
		}
		if dialled.text != "hello" || dialled.at[0] > began+s.takes/2 {
			t.Errorf("what it dialled while it started sent %q, at %v", dialled.text, dialled.at)
		}
	})
}

// TestServersSeeBuiltInClientsGo: the end of a connection comes to the server behind what its client had sent, and what it had
// sent takes effect.
func TestServersSeeBuiltInClientsGo(t *testing.T) {
	servers := &byteServers{}
	w, told := openWith(t, &Engine{Servers: servers}, nil)
	conns := func() (n int) {
		for _, c := range w.node("A").process().conns {
			if c.From() == "c1" {
				n++
			}
		}
		return n
	}
	during(w, func() {
		e := newEnv(w.thread("c1"), nil)
		lift := disturb(t, w, world.Disturbance{Kind: world.Hold, Direction: world.Requests})
		if r, _ := do(e, command.Set("lock", "late", 0).Within(5*time.Millisecond)); r.Outcome != command.Unknown {
			t.Errorf("a held command has the reply %v", r)
		}
		w.Sleep(time.Millisecond)
		_ = lift()
		if w.Sleep(time.Millisecond); len(*told) != 1 || conns() != 0 || servers.all[0].ended != 2 { // one told it the scripts
			t.Errorf("%d events; %d connections are open, %d ended", len(*told), conns(), servers.all[0].ended)
		}
		if r, _ := do(e, command.Get("lock")); r.Str() != "late" || conns() != 1 {
			t.Errorf("the reply %v; %d connections are open", r, conns())
		}
		if h := servers.all[0].hellos; len(h) != 3 || !slices.Equal(h[0], []string{"hello", "2", "setname", "c1"}) {
			t.Errorf("two connections of c1 and one of c2 introduced themselves with %q", h)
		}
		_ = w.Kill("c1")
		if w.Sleep(time.Millisecond); conns() != 0 {
			t.Errorf("%d connections of a dead client are open", conns())
		}
	})
	during(w, func() {
		e := newEnv(w.thread("c2"), nil)
		if r, _ := do(e, command.Exec(command.Get("lock"), command.Incr("lock"), command.Get("none"))); len(r.Body()) != 3 ||
			r.Body()[0].Str() != "late" || r.Body()[1].Outcome != command.Refused || !r.Body()[2].Nil {
			t.Errorf("a transaction has the reply %v", r)
		}
		if r, _ := do(e, command.Exec(command.RPush("lock"))); r.Outcome != command.Refused {
			t.Errorf("a transaction that was refused has the reply %v", r)
		}
		if r, _ := do(e, command.Command{Op: command.GET, Key: "lock", NX: true}); r.Outcome != command.Refused {
			t.Errorf("what cannot be sent has the reply %v", r)
		}
		for _, c := range w.node("A").process().conns {
			c.Close()
		}
		if r, _ := do(e, command.Get("lock")); r.Str() != "late" {
			t.Errorf("when the server has closed an idle connection: %v", r)
		}
		servers.all[0].full = true
		other := command.Get("lock")
		if other.OtherConnection = true; e.nodes[0].Do(other).Outcome != command.Unknown {
			t.Error("a connection that the server refuses has an answer")
		}
	})
}

// TestWhatCameBeforeABreakTakesEffect: a server that stands still has what came before its connection broke.
func TestWhatCameBeforeABreakTakesEffect(t *testing.T) {
	servers := &byteServers{}
	w, told := openWith(t, &Engine{Servers: servers}, nil)
	during(w, func() {
		e := newEnv(w.thread("c1"), nil)
		do(e, command.Get("lock"))
		_ = w.Pause("A")
		w.Go(func() {
			if r, _ := do(e, command.Set("lock", "mine", 0)); r.Outcome != command.Unknown {
				t.Errorf("a connection that broke has the reply %v", r)
			}
		})
		w.Sleep(time.Millisecond)
		lift := disturb(t, w, world.Disturbance{Kind: world.Cut})
		_ = lift() // now it breaks
		w.Sleep(time.Millisecond)
		_ = w.Resume("A")
		w.Sleep(time.Millisecond)
		if len(*told) != 1 || (*told)[0].Value.Owner != "mine" || servers.all[0].ended != 2 { // one told it the scripts
			t.Errorf("%+v; %d connections ended", *told, servers.all[0].ended)
		}
	})
}

// TestServersArePromoted: the others follow a server that becomes the primary, and clients go there.
func TestServersArePromoted(t *testing.T) {
	servers := &byteServers{}
	w, told := openWith(t, &Engine{Servers: servers}, func(s *world.Spec) { s.Replicated = true })
	during(w, func() {
		if err := w.Promote("B"); err != nil {
			t.Error(err)
		}
		if a, b := servers.all[0].follows, servers.all[1].follows; !slices.Equal(a, []string{"B"}) || !slices.Equal(b, []string{""}) {
			t.Errorf("A was told to follow %q, B %q", a, b)
		}
		do(newEnv(w.thread("c1"), nil), command.Set("lock", "mine", 0))
	})
	if n := len(*told); n != 2 || (*told)[0].F != history.NodePromoted || (*told)[1].Process != "B" {
		t.Errorf("the history has %+v", *told)
	}
}

// takesFirst is an Order that lets the first of the options happen.
type takesFirst struct{}

func (takesFirst) Next([]Step, Touched) int { return 0 }

// TestServersAreRefused where they would have to be modelled otherwise, or cannot be made or started.
func TestServersAreRefused(t *testing.T) {
	for name, e := range map[string]Engine{
		"under an order": {Servers: &byteServers{}, Order: takesFirst{}},
		"not made":       {Servers: failing{make: true}},
		"not started":    {Servers: failing{}},
	} {
		if w, err := e.Open(context.Background(), smallSpec(nil)); err == nil {
			t.Errorf("%s: it is opened", name)
			_ = w.Close()
		}
		e.Close()
	}
}

// failing are servers that cannot be made, or started.
type failing struct{ make bool }

var errFailing = errors.New("there is no such program")

func (f failing) Server(*Host) (Server, error) {
	if f.make {
		return nil, errFailing
	}
	return neverStarts{}, nil
}

func (failing) Versions() map[string]string { return nil }
func (failing) Settled() bool               { return true }
func (failing) HostAt(string) string        { return "" }

type neverStarts struct{ Server }

func (neverStarts) Start(_ world.Keep, ready func(error)) { ready(errFailing) }
func (neverStarts) SetClock(Clock)                        {}
