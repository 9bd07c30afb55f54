package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world/keylog"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// told writes an event as a test reads it: "set c1 a 500ms".
func told(e history.Event) string {
	words := []string{strings.TrimPrefix(string(e.F), "key-")}
	for _, w := range []string{e.Value.Client, e.Value.Owner, e.Value.Detail()} {
		if w != "" {
			words = append(words, w)
		}
	}
	if e.Value.TTL().IsSet() {
		words = append(words, time.Duration(e.Value.TTL().V()).String())
	}
	return strings.Join(words, " ")
}

// watched is a keyWatch whose node is a test.
type watched struct {
	*keyWatch
	front  *nodeWatch
	events []string
	looks  []*keyQuery
}

func newWatched() *watched {
	w := &watched{}
	o := &Observation{Record: func(e history.Event) { w.events = append(w.events, told(e)) }}
	w.front = &nodeWatch{o: o, n: &server.Node{Name: "A"}, names: connectionNames{"h:1": "c1", "h:2": "c2"},
		redis: command.ParseServer("7.0.15", "")}
	keys := newReplayReader(w.front)
	w.front.keys = keys
	keys.follow("lock", false)
	w.keyWatch = keys.watches[0]
	w.ask = func(number int) *keyQuery {
		l := &keyQuery{mark: fmt.Sprint("mark-", number), done: make(chan struct{})}
		w.looks = append(w.looks, l)
		return l
	}
	w.askNode()
	w.answer(keyState{kind: "none"}, nil, 0)
	return w
}

// answer answers the latest question, and shows that in the stream at a time in ms.
func (w *watched) answer(s keyState, err error, at float64) {
	l := w.looks[len(w.looks)-1]
	l.state, l.err = s, err
	close(l.done)
	w.line(at, "h:9", "EVAL script 1 lock "+l.mark)
}

func (w *watched) line(at float64, source, words string) {
	w.front.see(monitored{Line: keylog.Line{Args: strings.Fields(words)}, at: time.Duration(at*1e6) + time.Hour, source: source})
}

func TestWhatTheStreamTells(t *testing.T) {
	hour := time.Hour.Milliseconds()
	for name, c := range map[string]struct {
		lines []string
		want  []string
	}{
		"a life": {[]string{"1 h:1 SET lock a NX PX 500", "2 h:2 SET lock b NX PX 500", "3 h:1 PEXPIRE lock 600", "4 h:1 DEL lock"},
			[]string{"set c1 a 500ms", "extended c1 a 600ms", "deleted c1 a"}},
		"absolute times": {[]string{fmt.Sprintf("1 h:1 SET lock a NX PXAT %d", hour+501),
			fmt.Sprintf("2 h:1 PEXPIREAT lock %d", hour+602), "3 h:2 GET lock", "700 h:2 GET lock"},
			[]string{"set c1 a 500ms", "extended c1 a 600ms", "expired a"}},
		"an end that is past": {[]string{"1 h:1 SET lock a PXAT 5", "2 h:2 SET lock b NX"}, []string{"set c1 a 0s", "expired a", "set c2 b"}},
		"KEEPTTL": {[]string{"1 h:1 SET lock a PX 500", "101 h:1 SET lock b KEEPTTL XX", "102 h:1 PERSIST lock"},
			[]string{"set c1 a 500ms", "set c1 b 400ms", "extended c1 b"}},
		"scripts": {[]string{"1 h:1 EVALSHA abc 1 lock a",
			"1.1 lua SET lock a PX 500", "2 h:2 FCALL f 1 lock", "2.1 lua UNLINK lock"}, []string{"set c1 a 500ms", "deleted c2 a"}},
		"transactions": {[]string{"1 h:1 MULTI", "2 h:1 SETNX lock a", "2 h:1 EXPIRE lock 1", "2.1 h:1 EXEC"},
			[]string{"set c1 a 1s"}},
		"one event of a script": {[]string{"1 h:1 EVALSHA abc 1 lock u 500", "1.1 lua EXISTS lock", "1.1 lua HINCRBY lock u 1",
			"1.2 lua PEXPIRE lock 500", "2 h:1 EVALSHA abc 1 lock u 500", "2.1 lua HINCRBY lock u 1", "2.1 lua PEXPIRE lock 600",
			"3 h:2 EVAL x 1 lock", "3.1 lua DEL lock", "3.2 lua SET lock b", "4 h:2 EVAL x 1 lock", "4.1 lua DEL lock"},
			[]string{"set c1 u 500ms", "extended c1 u 600ms", "set c2 b", "deleted c2 b"}},
		"one event of a transaction": {[]string{"1 h:1 MULTI", "2 h:1 SET lock a", "2 h:1 EVAL x 1 lock", "2 lua PEXPIRE lock 300",
			"2 h:1 PEXPIRE lock 400", "2.1 h:1 EXEC", "3 h:1 MULTI", "3 h:1 DEL lock", "3 h:1 EXEC", "4 h:1 SET lock b", "4 h:1 PEXPIRE lock 5"},
			[]string{"set c1 a 400ms", "deleted c1 a", "set c1 b", "extended c1 b 5ms"}},
		"nothing left of a step": {[]string{"1 h:1 EVAL x 1 lock", "1.1 lua SET lock a", "1.1 lua DEL lock"},
			[]string{"set c1 a", "deleted c1 a"}},
		"nothing left, and another had run out": {[]string{"1 h:1 SET lock a PX 5", "2000 h:1 EVAL x 1 lock", "2000.1 lua SET lock b",
			"2000.1 lua DEL lock"}, []string{"set c1 a 5ms", "expired a", "set c1 b", "deleted c1 b"}},
		"unclear inside of a step": {[]string{"1 h:1 EVAL x 1 lock", "1.1 lua SET lock a", "1.1 lua BITFIELD lock SET u8 0 1"},
			[]string{"set c1 a", "unclear c1 BITFIELD"}},
		"a hash": {[]string{"1 h:1 HSET lock u 1", "1 h:1 PEXPIRE lock 500", "2 h:1 HINCRBY lock u 1",
			"3 h:1 HINCRBY lock u -1", "4 h:1 HDEL lock u"}, []string{"set c1 u", "extended c1 u 500ms", "deleted c1 u"}},
		"a sorted set": {[]string{"1 h:1 EVAL x 1 lock t 500", "1.1 lua ZADD lock 600 t", "1.1 lua ZADD lock 600 w", "1.1 lua PEXPIRE lock 500",
			"2 h:1 EVAL x 1 lock t 600", "2.1 lua ZADD lock 700 t", "2.1 lua ZADD lock 700 w", "2.1 lua PEXPIRE lock 600", "3 h:1 ZADD lock 800 t",
			"4 h:2 EVAL x 1 lock u", "4.1 lua ZREMRANGEBYSCORE lock -inf 900", "4.1 lua ZADD lock 990 u", "4.1 lua ZADD lock 990 w",
			"5 h:2 DEL lock"}, []string{"set c1 t 500ms", "extended c1 t 600ms", "set c1 t 599ms", "set c2 u", "deleted c2 u"}},
		"a set": {[]string{"1 h:1 SADD lock a", "2 h:1 PEXPIRE lock 500", "3 h:2 SREM lock b", "4 h:1 SREM lock a"},
			[]string{"set c1 a", "extended c1 a 500ms", "deleted c1 a"}},
		"a list": {[]string{"1 h:1 LPUSH lock a", "2 h:1 LREM lock 0 a"}, []string{"set c1 a", "deleted c1 a"}},
		"elements of several": {[]string{"1 h:1 RPUSH lock a", "2 h:2 RPUSH lock b", "3 h:1 PEXPIRE lock 500", "4 h:1 LREM lock 0 a",
			"5 h:2 DEL lock"}, []string{"set c1 a", "unclear c2 RPUSH", "set b 499ms", "deleted c2 b"}},
		"a token that is taken": {[]string{"1 h:1 LPUSH lock t", "2 h:2 LPOP lock", "3 h:2 DEL lock"},
			[]string{"set c1 t", "unclear c2 LPOP", "deleted"}},
		"one that waits for a token": {[]string{"1 h:1 LPUSH lock t", "2 h:1 DEL lock", "3 h:2 BLPOP lock 0", "4 h:1 LPUSH lock t"},
			[]string{"set c1 t", "deleted c1 t", "unclear c2 BLPOP"}},
		"other keys": {[]string{"1 h:1 SET other lock", "2 h:1 DEL other", "3 h:1 PUBLISH lock x", "4 h:1 RPUSH list lock"}, nil},
		"flushing":   {[]string{"1 h:1 SET lock a", "2 h:2 FLUSHALL"}, []string{"set c1 a", "deleted c2 a"}},
		"unclear, then clear": {[]string{"1 h:1 SET lock a", "2 h:2 INCREX lock", "3 h:2 DEL lock", "4 h:1 SET lock b NX"},
			[]string{"set c1 a", "unclear c2 INCREX", "deleted", "set c1 b"}},
		"unclear once": {[]string{"1 h:1 SET lock a", "2 h:2 JSON.SET lock $ 1", "3 h:2 SET lock b NX", "4 h:1 SET lock c PX 5"},
			[]string{"set c1 a", "unclear c2 JSON.SET", "set c1 c 5ms"}},
		"one that waits": {[]string{"1 h:1 SET lock a", "2 h:2 BLMOVE list lock LEFT LEFT 0", "3 h:1 DEL lock", "4 h:1 SET lock b"},
			[]string{"set c1 a", "unclear c2 BLMOVE"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatched()
			for _, line := range c.lines {
				var at float64
				var source string
				_, err := fmt.Sscan(line, &at, &source)
				if err != nil {
					t.Fatal(err)
				}
				w.line(at, source, strings.Join(strings.Fields(line)[2:], " "))
			}
			w.front.keys.marked()
			if !slices.Equal(w.events, c.want) {
				t.Errorf("told %q, want %q", w.events, c.want)
			}
		})
	}
}

// Another database has other keys; a database may be exchanged for it.
func TestDatabases(t *testing.T) {
	w := newWatched()
	in := func(db int, words string) {
		w.front.see(monitored{Line: keylog.Line{DB: db, Args: strings.Fields(words)}, at: time.Hour + time.Millisecond, source: "h:1"})
	}
	in(1, "SET lock b")
	in(0, "SET lock a")
	in(1, "FLUSHDB")
	in(1, "DEL lock")
	in(3, "SWAPDB 0 1")
	if want := []string{"set c1 a", "unclear c1 SWAPDB"}; !slices.Equal(w.events, want) {
		t.Errorf("told %q, want %q", w.events, want)
	}
}

// A command near the key's end is recorded as the node says that it went, and as
// unclear where the node does not say.
func TestDoubtAboutAnEnd(t *testing.T) {
	ttl := func(ms int64) history.Int { return history.Some(ms * int64(time.Millisecond)) }
	for name, c := range map[string]struct {
		state keyState
		err   error
		// meanwhile comes between the question and the answer.
		meanwhile string
		want      []string
	}{
		"it went": {keyState{kind: "string", owner: "b", ttl: ttl(500)},
			nil, "GET lock", []string{"expired a", "set c2 b 500ms"}},
		"it stayed":         {keyState{kind: "string", owner: "a", ttl: ttl(0)}, nil, "", []string{"expired a"}},
		"it went by itself": {keyState{kind: "none"}, nil, "", []string{"expired a"}},
		"neither":           {keyState{kind: "string", owner: "c", ttl: ttl(90)}, nil, "", []string{"unclear c2 SET", "set c 90ms"}},
		"no answer":         {keyState{}, context.DeadlineExceeded, "", []string{"unclear c2 SET"}},
		"another came between": {keyState{kind: "string", owner: "b", ttl: ttl(500)},
			nil, "PEXPIRE lock 300", []string{"unclear c2 SET", "set b 500ms"}},
		"the second of two got it": {keyState{kind: "string", owner: "c", ttl: ttl(400)},
			nil, "SET lock c NX PX 400", []string{"expired a", "set c1 c 400ms"}},
		"the first of two got it": {keyState{kind: "string", owner: "b", ttl: ttl(500)},
			nil, "SET lock c NX PX 400", []string{"expired a", "set c2 b 500ms"}},
		"neither of two got it": {keyState{kind: "none"}, nil, "SET lock c NX PX 400", []string{"expired a"}},
		"two, and one that nobody knows": {keyState{kind: "string", owner: "b", ttl: ttl(500)},
			nil, "SETRANGE lock 5 c", []string{"unclear c2 SET", "set b 500ms"}},
		"a clear one came": {keyState{kind: "none"}, nil, "DEL lock", []string{"unclear c2 SET", "deleted"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatched()
			w.line(1, "h:1", "SET lock a PX 100")
			w.line(101.2, "h:2", "SET lock b NX PX 500")
			if c.meanwhile != "" {
				w.line(101.3, "h:1", c.meanwhile)
			}
			w.answer(c.state, c.err, 102.6)
			w.line(110, "h:2", "GET lock")
			if got := w.events[1:]; !slices.Equal(got, c.want) && (len(got) > 0 || len(c.want) > 0) {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
	w := newWatched()
	w.line(1, "h:1", "SET lock a PX 100")
	w.line(101.2, "h:2", "SET lock b NX PX 500")
	w.end()
	if want := []string{"set c1 a 100ms", "unclear c2 SET"}; !slices.Equal(w.events, want) {
		t.Errorf("at the end of the stream: told %q, want %q", w.events, want)
	}
}

// A node that evicts a key does so unseen. What clients did then is known by what the node has, and how many keys it has evicted.
func TestANodeThatForgets(t *testing.T) {
	has := func(owner string, evicted int64) keyState {
		if owner == "" {
			return keyState{kind: "none", evicted: evicted}
		}
		return keyState{kind: "string", owner: owner, ttl: history.Some(6000 * int64(time.Millisecond)), evicted: evicted}
	}
	for name, c := range map[string]struct {
		lines []string
		state keyState
		want  []string
	}{
		"another got it": {[]string{"h:2 SET lock b NX PX 6000"}, has("b", 1), []string{"deleted a", "set c2 b 6s"}},
		"the second of two got it": {[]string{"h:2 SET lock b NX PX 6000", "h:1 SET lock c NX PX 6000"}, has("c", 1),
			[]string{"deleted a", "set c1 c 6s"}},
		"it was refused":                {[]string{"h:2 SET lock b NX PX 6000"}, has("a", 0), nil},
		"another key was evicted":       {[]string{"h:2 SET lock b NX PX 6000"}, has("a", 1), nil},
		"nobody used it":                {nil, has("", 1), []string{"deleted a"}},
		"gone, and nothing was evicted": {nil, has("", 0), []string{"unclear " + unseenChange, "deleted"}},
		"there was nothing to renew":    {[]string{"h:1 PEXPIRE lock 6000"}, has("", 1), []string{"deleted a"}},
		"it was renewed":                {[]string{"h:1 PEXPIRE lock 6000"}, has("a", 1), []string{"extended c1 a 6s"}},
		"its owner deleted it":          {[]string{"h:1 DEL lock"}, has("", 0), []string{"deleted c1 a"}},
		"or it was evicted before":      {[]string{"h:1 DEL lock"}, has("", 1), []string{"deleted c1 a"}},
		"another deleted it":            {[]string{"h:2 DEL lock"}, has("", 0), []string{"deleted c2 a"}},
		"or did not":                    {[]string{"h:2 DEL lock"}, has("", 1), []string{"unclear c2 DEL", "deleted"}},
		"whose was deleted": {[]string{"h:2 SET lock b NX PX 6000", "h:1 DEL lock"}, has("", 1),
			[]string{"unclear c2 SET", "deleted"}},
		"refused, and deleted by its owner": {[]string{"h:2 SET lock b NX PX 6000", "h:1 DEL lock"}, has("", 0), []string{"deleted c1 a"}},
		"nothing is evicted inside of a script": {[]string{"h:2 EVAL x 1 lock", "lua SET lock b NX", "lua PEXPIRE lock 6000"},
			has("b", 1), []string{"deleted a", "set c2 b 6s"}},
		"a count in a hash": {[]string{"h:1 DEL lock", "h:1 HINCRBY lock u 1", "h:1 HINCRBY lock u 1"},
			keyState{kind: "hash", fields: map[string]string{"u": "1"}, evicted: 1}, []string{"deleted c1 a", "set c1 u", "deleted u", "set c1 u"}},
		"unclear for other reasons": {[]string{"h:2 SET lock b NX PX 6000", "h:2 BITFIELD lock SET u8 0 1"}, has("b", 1),
			[]string{"unclear c2 SET", "set b 6s"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatched()
			w.evicts = true
			w.line(1, "h:1", "SET lock a PX 6000")
			w.answer(has("a", 0), nil, 1.1)
			w.events = nil
			for _, line := range c.lines {
				source, words, _ := strings.Cut(line, " ")
				w.line(2, source, words)
			}
			if w.front.keys.marked(); c.lines == nil {
				w.askNode()
			}
			w.answer(c.state, nil, 2.1)
			if !slices.Equal(w.events, c.want) {
				t.Errorf("told %q, want %q", w.events, c.want)
			}
		})
	}
	// Of a server that does not answer any more it is known that it had evicted nothing.
	for _, evicted := range []int64{0, 1} {
		w := newWatched()
		w.evicts = true
		w.line(1, "h:1", "SET lock a PX 6000")
		w.answer(has("a", evicted), nil, 1.1)
		w.line(2, "h:2", "SET lock b NX PX 6000")
		w.line(2, "h:1", "DEL lock")
		w.end()
		want := []string{"set c1 a 6s", "deleted c1 a"}
		if evicted > 0 {
			want[1] = "unclear c2 SET"
		}
		if !slices.Equal(w.events, want) {
			t.Errorf("after %d evictions: told %q, want %q", evicted, w.events, want)
		}
	}
}

// While a clock is ahead a key may expire, and nothing shows it.
func TestAClockThatGoesBack(t *testing.T) {
	w := newWatched()
	w.line(1, "h:1", "SET lock a PX 10000000")
	w.line(900, "h:2", "GET lock")
	w.line(10, "h:2", "SET lock b NX") // the clock cannot have been at the end of a
	w.line(10, "h:1", "SET lock a PX 1000")
	w.line(1010.9, "h:2", "GET lock")
	w.line(10, "h:2", "SET lock b NX")
	w.answer(keyState{kind: "string", owner: "b"}, nil, 11)
	if want := []string{"set c1 a 2h46m40s", "set c1 a 1s", "expired a", "set c2 b"}; !slices.Equal(w.events, want) {
		t.Errorf("told %q, want %q", w.events, want)
	}
}

// What is told of a real server's stream is what the server has, at every moment
// at which it is not told to be unclear.
func TestTheStreamOfARealServer(t *testing.T) {
	address, admin := startRedis(t, "--maxmemory-policy", "allkeys-random")
	n := &server.Node{Name: "A", Admin: admin}
	for _, evicts := range []bool{false, true} {
		runs, unclear := 0, 0
		rapid.Check(t, func(t *rapid.T) {
			runs++
			if !followRealServer(t, n, server.Door{Address: address}, evicts) {
				unclear++
			}
		})
		if t.Logf("evicts: %v; unclear at the end of %d of %d streams", evicts, unclear, runs); unclear > runs/10 {
			t.Errorf("evicts: %v; what the server has was not known at the end of %d of %d streams", evicts, unclear, runs)
		}
	}
}

// followRealServer reports whether what the key is was known at the end.
func followRealServer(t *rapid.T, n *server.Node, d server.Door, evicts bool) bool {
	ctx := context.Background()
	n.Admin.FlushAll(ctx)
	var mu sync.Mutex
	var events []history.Event
	w := &nodeWatch{o: &Observation{Ctx: ctx, Evicts: evicts, Background: new(sync.WaitGroup), Record: func(e history.Event) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, e)
	}}, n: n, names: make(connectionNames), redis: command.ParseServer("7.0.15", "")}
	keys := newReplayReader(w)
	w.keys = keys
	keys.follow("lock", false)
	k := keys.watches[0]
	m, err := openMonitor(d, w.see, keys.marked, keys.end)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := keys.start(ctx); err != nil {
		t.Fatal(err)
	}
	for range rapid.IntRange(1, 15).Draw(t, "length") {
		all := []string{
			"SET lock a NX PX 3", "SET lock b NX PX 2", "SET lock a PX 2",
			"SET lock c XX KEEPTTL", "DEL lock", "PEXPIRE lock 3", "PEXPIRE lock 1 GT",
			"PERSIST lock", "INCR lock", "APPEND lock x", "GETDEL lock",
			"SETEX lock 5 d", "RENAME other lock", "SET other z", "BITFIELD lock SET u8 0 1",
			"HSET lock f v", "RPUSH lock e", "LPOP lock", "ZADD lock 1 e", "ZREM lock e", "ZADD lock INCR 2.5 f", "ZREMRANGEBYSCORE lock -inf (3",
			"SADD lock e", "SREM lock e f", "LREM lock 1 e", "EVAL return(redis.call('set',KEYS[1],'s','nx','px',2)) 1 lock", "PING",
		}
		if evicts {
			// Of these nobody knows what they make of a key that has gone.
			all = slices.DeleteFunc(all, func(s string) bool { return s == "RPUSH lock e" || s == "BITFIELD lock SET u8 0 1" })
			all = append(all, "evict", "SET lock d NX PX 60000", "SET lock e NX PX 60000", "SET lock f NX", "PEXPIRE lock 60000", "HINCRBY lock f 1")
		}
		words := rapid.SampledFrom(all).Draw(t, "words")
		if words == "evict" {
			n.Admin.ConfigSet(ctx, "maxmemory", "1")
			n.Admin.Set(ctx, "cache", "x", 0)
			n.Admin.ConfigSet(ctx, "maxmemory", "0")
			continue
		}
		var args []any
		for w := range strings.FieldsSeq(words) {
			args = append(args, w)
		}
		n.Admin.Do(ctx, args...)
		time.Sleep(time.Duration(rapid.IntRange(0, 1500).Draw(t, "us")) * time.Microsecond)
	}
	suite.Eventually(t, "the key's end to be clear", func() bool {
		awaitMark(t, m, n)
		evicted, err := evictedBy(ctx, n)
		return !k.settle(ctx) && err == nil && k.askIfEvicted(evicted)
	})
	before, err := readKeyState(ctx, n, "lock", "end")
	if err != nil {
		t.Fatal(err)
	}
	awaitMark(t, m, n)
	k.mu.Lock()
	defer k.mu.Unlock()
	mu.Lock()
	defer mu.Unlock()
	for _, e := range events {
		if e.Value.Detail() == unseenChange {
			t.Fatalf("the replay went another way than the server: %v", events)
		}
	}
	got := k.Replay.Key
	if got.Holds == command.Unclear {
		return false
	}
	now := command.Span{From: time.Now().Add(-time.Second).UnixMilli(), To: time.Now().UnixMilli()}
	if !fitsNow(got, before, now) {
		t.Fatalf("the server has %+v, the replay %+v after %v", before, got, events)
	}
	return true
}

// awaitMark waits until the stream has shown all that came before now.
func awaitMark(t *rapid.T, m *stream, n *server.Node) {
	t.Helper()
	mark, shown := m.mark()
	n.Admin.Echo(context.Background(), mark)
	suite.Receive(t, "a mark in the stream", shown)
}

// fitsNow compares a replay with what a query found a moment ago.
func fitsNow(got command.Key, s keyState, now command.Span) bool {
	switch gone := s.ttl.IsSet() && s.till+time.Duration(s.ttl.V()).Milliseconds() <= now.To; {
	case got.Holds == command.Absent && gone: // it has gone since
		return true
	case s.kind == "none":
		return got.Holds == command.Absent || got.Expires.From > 0 && got.Expires.From < now.To
	case s.kind == "string":
		return got.Holds == command.Text && got.Value == s.owner && (got.Expires.From > 0) == s.ttl.IsSet()
	}
	is := s.key(now)
	return holdsTheSame(got, is) && (got.Expires.From > 0) == s.ttl.IsSet()
}

// TestEndedBeforeItBegan: a server may close the stream before the keys were asked for.
func TestEndedBeforeItBegan(t *testing.T) {
	w := &nodeWatch{o: &Observation{}, n: &server.Node{Name: "A"}}
	keys := &replayReader{w: w, ended: make(chan struct{}), watches: []*keyWatch{{ask: func(int) *keyQuery { panic("it is asked") }}}}
	keys.end()
	if err := keys.start(context.Background()); err == nil || err.Error() != "the observation of node A ended early" {
		t.Errorf("it begins with the error %v", err)
	}
	w.o.Reopens = true
	if err := keys.start(context.Background()); err != nil {
		t.Errorf("though the stream is opened again it begins with the error %v", err)
	}
}
