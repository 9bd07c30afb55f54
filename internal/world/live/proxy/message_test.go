package proxy

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// asSent is a command as a client sends it.
func asSent(words string) string {
	return string(resp.AppendCommand(nil, strings.Fields(words)...))
}

// reader is a connection that is read, with what it says.
type reader struct {
	*conn
	unread []string
}

func newReader(awaits ...world.Pattern) *reader {
	r := &reader{}
	w := &ConnReader{Awaits: awaits, Go: func(f func()) { f() },
		Unread: func(_ world.Link, _ bool, why string) { r.unread = append(r.unread, why) }}
	r.conn = w.newConn(world.Link{From: "c1", To: "A"})
	return r
}

// feed has the connection read bytes in pieces, and says for which messages the run waits.
func (r *reader) feed(answers bool, text string, piece int) (awaited []string) {
	for data := []byte(text); len(data) > 0; {
		part := data[:min(piece, len(data))]
		data = data[len(part):]
		for len(part) > 0 {
			p := r.read(answers, part)
			part = part[p.size:]
			if p.answered != nil {
				r.delivered([]*world.Command{p.answered}, machine.Monotonic())
			}
			if p.awaited != nil {
				awaited = append(awaited, strings.Join(p.awaited, " "))
			}
		}
	}
	return awaited
}

func TestWhatIsAwaited(t *testing.T) {
	const ok = "+OK\r\n"
	set := world.Pattern{Command: "set"}
	answer := func(command string) world.Pattern { return world.Pattern{Command: command, Kind: world.Answered} }
	pushed := func(command string) world.Pattern { return world.Pattern{Command: command, Kind: world.Pushed} }
	const subscribed = "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n" +
		"*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n"
	for name, c := range map[string]struct {
		awaits            world.Pattern
		requests, answers string
		want              string
	}{
		"by name, in any case": {set, asSent("SET k v") + asSent("get k"), "", "SET k v"},
		"by client and node":   {world.Pattern{Command: "SET", Client: "c1", Node: "A"}, asSent("SET k v"), "", "SET k v"},
		"by key":               {world.Pattern{Command: "SET", Key: "k"}, asSent("SET kk k1") + asSent("SET k v"), "", "SET k v"},
		"by a part of a word": {world.Pattern{Command: "SET", Contains: "1-"},
			asSent("SET k v") + asSent("SET k c1-a"), "", "SET k c1-a"},
		"the name is no key": {world.Pattern{Command: "GET", Key: "GET"}, asSent("GET k"), "", ""},
		"any but those that open": {world.Pattern{Command: world.AnyCommand},
			asSent("HELLO 3") + asSent("client setinfo LIB-NAME x") + asSent("SET k v"), "", "SET k v"},
		"in a pipeline": {set, asSent("SET a 1") + asSent("SET b 2"), "", "SET a 1, SET b 2"},
		"queued is no answer": {answer("SET"), asSent("MULTI") + asSent("SET a 1") + asSent("EXEC"),
			ok + "+QUEUED\r\n" + "*1\r\n+OK\r\n", ""},
		"nor is a script unknown": {answer("EVALSHA"),
			asSent("EVALSHA x 0") + asSent("EVALSHA y 0"), "-NOSCRIPT No matching script\r\n:1\r\n", "EVALSHA y 0"},
		"of EXEC": {answer("EXEC"), asSent("MULTI") + asSent("SET a 1") + asSent("EXEC"),
			ok + "+QUEUED\r\n" + "*1\r\n+OK\r\n", "EXEC"},
		"as people type it": {set, "PING\r\n\r\nset k v\r\n", "", "set k v"},
		"answers in their order": {answer("GET"), asSent("SET a 1") + asSent("GET a") + asSent("GET b"),
			ok + "$1\r\nx\r\n$-1\r\n", "GET a, GET b"},
		"an error is an answer":  {answer("GET"), asSent("SET a") + asSent("GET a"), "-ERR x\r\n-ERR y\r\n", "GET a"},
		"a push answers nothing": {answer("GET"), asSent("GET a"), ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n" + "$1\r\nx\r\n", "GET a"},
		"what is published, too": {answer("PING"), asSent("SUBSCRIBE a b") + asSent("PING"), subscribed, "PING"},
		"pushed":                 {pushed("any"), asSent("SUBSCRIBE a b") + asSent("PING"), subscribed, "message a x"},
		"pushed, by its channel": {world.Pattern{Command: "MESSAGE", Kind: world.Pushed, Key: "b"}, asSent("SUBSCRIBE a b") + asSent("PING"),
			subscribed, ""},
		"an invalidation": {pushed("INVALIDATE"), asSent("GET a"), ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n" + "$1\r\nx\r\n", "invalidate "},
		"an element that was waited for": {pushed("any"), asSent("BLPOP l 1") + asSent("BLPOP l 2") + asSent("LPOP l"),
			"*-1\r\n*2\r\n$1\r\nl\r\n$1\r\nx\r\n$1\r\ny\r\n", "BLPOP l 2"},
		"an error is no element": {pushed("BLPOP"), asSent("BLPOP l 1"), "-WRONGTYPE\r\n", ""},
		"the answer to one that waited": {answer("BLPOP"), asSent("BLPOP l 1") + asSent("BLPOP l 2"),
			"*-1\r\n*1\r\n$1\r\nx\r\n", "BLPOP l 1, BLPOP l 2"},
		"in version 3": {answer("GET"), asSent("SUBSCRIBE a b") + asSent("GET k"), ">3\r\n$9\r\nsubscribe\r\n" +
			"$1\r\na\r\n:1\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n$-1\r\n", "GET k"},
		"a subscription refused":      {answer("GET"), asSent("SUBSCRIBE a b") + asSent("GET k"), "-NOPERM\r\n$-1\r\n", "GET k"},
		"nobody asked for the answer": {answer("GET"), "", "$-1\r\n", ""},
	} {
		for _, piece := range []int{1, 7, 1 << 20} {
			r := newReader(c.awaits)
			got := append(r.feed(false, c.requests, piece), r.feed(true, c.answers, piece)...)
			if text := strings.Join(got, ", "); text != c.want || len(r.unread) > 0 {
				t.Errorf("%s, %d bytes at once: %q, unread: %q", name, piece, text, r.unread)
			}
		}
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	get := world.Pattern{Command: "GET", Kind: world.Answered}
	many := strings.Repeat(asSent("PING"), maxExpected+1)
	for text, want := range map[string]string{
		"*1\r\n?":                   `no value begins with '?'`,
		`SET k "a b"` + "\r\n":      "a command with quotes",
		asSent("MONITOR"):           "how many answers come to MONITOR is not known",
		asSent("CLIENT REPLY SKIP"): "how many answers come to CLIENT REPLY SKIP is not known",
		asSent("SUBSCRIBE a") + asSent("UNSUBSCRIBE"): "how many answers come to UNSUBSCRIBE is not known",
		many: "more than 100000 commands have no answer",
	} {
		r := newReader(get)
		r.feed(false, text+"\r\n", 1<<20)
		if len(r.unread) != 1 || !strings.Contains(r.unread[0], want) {
			t.Errorf("%.60q: unread: %q, want %q", text, r.unread, want)
		}
		if got := r.feed(false, asSent("GET k"), 100); r.expected.Len() > maxExpected {
			t.Errorf("%.60q: %q, %d answers are expected", text, got, r.expected.Len())
		}
		if got := r.feed(true, "$-1\r\n$-1\r\n$-1\r\n?\r\n", 100); got != nil || len(r.unread) != 1 {
			t.Errorf("%.60q: answers: %q, unread: %q", text, got, r.unread)
		}
	}
	r := newReader(get)
	r.feed(false, asSent("GET k"), 100)
	if got := r.feed(true, "?\r\n$-1\r\n", 100); got != nil || len(r.unread) != 1 {
		t.Errorf("an answer that is none: %q, unread: %q", got, r.unread)
	}
}

// awaitIn opens a connection through a valve where the run waits for SET.
func awaitIn(act func(world.Message)) *pipe {
	v := newValve()
	w := &ConnReader{Awaits: []world.Pattern{{Command: "SET"}}, Message: act, Go: func(f func()) { go f() }}
	return v.connectWith(w.newConn(world.Link{From: "c1", To: "A"}))
}

func TestMessagesWaitForTheirFaults(t *testing.T) {
	const ms = time.Millisecond
	a, set, b := asSent("GET a"), asSent("SET k v"), asSent("GET b")
	disturb := func(kind world.DisturbanceKind, length time.Duration) func(world.Message) {
		return func(m world.Message) {
			lift, err := m.Disturb(world.Disturbance{Kind: kind})
			if err != nil {
				t.Error(err)
			}
			go func() {
				time.Sleep(length)
				_ = lift()
			}()
		}
	}
	for name, c := range map[string]struct {
		act   func(world.Message)
		ended time.Duration
		want  []string
	}{
		"it stands with all behind it": {func(world.Message) { time.Sleep(5 * ms) }, 0,
			[]string{a + "@0s", set + "@5ms", b + "@5ms", b + "@5ms"}},
		"a hold":                          {disturb(world.Hold, 5*ms), 0, []string{a + "@0s", set + "@5ms", b + "@5ms", b + "@5ms"}},
		"a drop, which breaks at its end": {disturb(world.Cut, 5*ms), 5 * ms, []string{a + "@0s"}},
		"a reset":                         {disturb(world.Reset, 5*ms), 0, []string{a + "@0s"}},
		"no such disturbance": {func(m world.Message) {
			if _, err := m.Disturb(world.Disturbance{}); err == nil {
				t.Error("it was put in force")
			}
		}, 0, []string{a + "@0s", set + "@0s", b + "@0s", b + "@2ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := awaitIn(c.act)
				rest := a + set + b
				if name == "a reset" { // what is under way at that instant may be lost, or not
					p.send(a)
					rest = set + b
				}
				p.in <- &stream.StreamChunk{Data: []byte(rest)}
				time.Sleep(2 * ms)
				select {
				case p.in <- &stream.StreamChunk{Data: []byte(b)}:
				case <-time.After(10 * ms):
				}
				time.Sleep(20 * ms)
				p.want(t, c.ended, c.want...)
				p.close()
				close(p.in)
			})
		})
	}
}

// TestEachDirectionKnowsItsConnection: while connections come and go, the answer is that
// to the command of the same connection.
func TestEachDirectionKnowsItsConnection(t *testing.T) {
	address, _ := echo(t)
	p := New()
	defer p.Close()
	var wrong, right atomic.Int64
	var background sync.WaitGroup
	defer background.Wait()
	asked := sync.Map{}
	reader := &ConnReader{Awaits: []world.Pattern{{Command: "GET"}, {Command: "GET", Kind: world.Answered}},
		Go: background.Go, Unread: func(world.Link, bool, string) {
			wrong.Add(1)
		},
		Message: func(m world.Message) {
			if !m.Kind.FromNode() {
				asked.Store(m.Words[1], true)
			} else if _, ok := asked.LoadAndDelete(m.Words[1]); ok {
				right.Add(1)
			} else {
				wrong.Add(1)
			}
		}}
	at, err := p.Open("c1", "A", to(address), reader)
	if err != nil {
		t.Fatal(err)
	}
	const clients, each = 8, 40
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(client), 1))
			for n := range each {
				c, err := net.Dial("tcp", at)
				if err != nil {
					t.Error(err)
					return
				}
				_ = c.SetDeadline(time.Now().Add(suite.Patience))
				word := fmt.Sprintf("%d-%d", client, n)
				_, _ = io.WriteString(c, asSent("GET "+word))
				if r.IntN(3) > 0 { // the others leave at once
					answer := make([]byte, len(word)+4+len(fmt.Sprint(len(word)))+1)
					if _, err := io.ReadFull(c, answer); err != nil || !strings.Contains(string(answer), word) {
						t.Errorf("%q, %v: want %s", answer, err, word)
					}
				}
				_ = c.Close()
			}
		})
	}
	suite.Returns(t, "all clients", group.Wait)
	if wrong.Load() > 0 || right.Load() < clients*each/3 {
		t.Errorf("%d answers were told with the right command, %d with another", right.Load(), wrong.Load())
	}
}

// echo is a server that answers GET with its key.
func echo(t testing.TB) (address string, served *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	served = &atomic.Int64{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				s := resp.Scanner{Commands: true}
				buf := make([]byte, 64<<10)
				for {
					n, err := c.Read(buf)
					if err != nil {
						return
					}
					var out []byte
					for data := buf[:n]; len(data) > 0; {
						n, whole, err := s.Next(data)
						if err != nil {
							return
						}
						if data = data[n:]; whole {
							_, words := s.Message()
							out = resp.Append(out, resp.Value{Kind: resp.Bulk, Text: words[1]})
							served.Add(1)
						}
					}
					_, _ = c.Write(out)
				}
			}()
		}
	}()
	return l.Addr().String(), served
}

// BenchmarkLink measures a round trip over a link that is not read, one that is named, and
// one on which the run waits for a message that does not come.
func BenchmarkLink(b *testing.B) {
	quiet := world.Pattern{Command: "DEL", Key: "k", Kind: world.Answered}
	for name, reader := range map[string]*ConnReader{"unread": nil,
		"named": {Names: true}, "awaited": {Awaits: []world.Pattern{quiet, {Command: "DEL"}}}} {
		b.Run(name, func(b *testing.B) {
			c := dialThrough(b, reader)
			request, answer := []byte(asSent("GET key")), make([]byte, 9)
			b.ResetTimer()
			for range b.N {
				if _, err := c.Write(request); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c, answer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPipeline measures messages in one direction, a hundred in a write.
func BenchmarkPipeline(b *testing.B) {
	for name, reader := range map[string]*ConnReader{"unread": nil,
		"awaited": {Awaits: []world.Pattern{{Command: "DEL"}, {Command: "DEL", Kind: world.Answered}}}} {
		b.Run(name, func(b *testing.B) {
			c := dialThrough(b, reader)
			const many = 100
			request, answer := []byte(strings.Repeat(asSent("GET key"), many)), make([]byte, 9*many)
			b.ResetTimer()
			for n := 0; n < b.N; n += many {
				if _, err := c.Write(request); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c, answer); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func dialThrough(b *testing.B, reader *ConnReader) net.Conn {
	address, _ := echo(b)
	p := New()
	b.Cleanup(p.Close)
	at, err := p.Open("c1", "A", to(address), reader)
	if err != nil {
		b.Fatal(err)
	}
	c, err := net.Dial("tcp", at)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return c
}

// TestLargePayloadsAreNotKept: of what is sent a connection keeps little, whatever it is.
func TestLargePayloadsAreNotKept(t *testing.T) {
	r := newReader(world.Pattern{Command: "SET", Contains: "x"}, world.Pattern{Command: "GET", Kind: world.Answered})
	head := []byte("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100000000\r\n")
	body := slices.Repeat([]byte("x"), 1<<20)
	if p := r.read(false, head); p.size != len(head) || p.replaced {
		t.Fatalf("%+v", p)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 90 {
		if p := r.read(false, body); p.size != len(body) || p.replaced || p.awaited != nil {
			t.Fatalf("%+v", p)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<10 {
		t.Errorf("%d bytes were copied of 90 MB", grown)
	}
}

// FuzzConn: whatever both sides send, and in whatever pieces, passes as it is.
func FuzzConn(f *testing.F) {
	f.Add([]byte(asSent("SET k v")+asSent("GET k")), []byte("+OK\r\n$1\r\nv\r\n"), uint64(1))
	f.Add([]byte(asSent("SUBSCRIBE a")+"PING\r\n"), []byte(">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n+PONG\r\n"), uint64(2))
	f.Fuzz(func(t *testing.T, requests, answers []byte, seed uint64) {
		r := newReader(world.Pattern{Command: "SET"}, world.Pattern{Command: world.AnyCommand, Kind: world.Answered})
		random := rand.New(rand.NewPCG(seed, 3))
		for side, data := range [][]byte{requests, answers} {
			for len(data) > 0 {
				part := data[:1+random.IntN(len(data))]
				data = data[len(part):]
				for len(part) > 0 {
					p := r.read(side == 1, part)
					if p.size <= 0 || p.size > len(part) || p.replaced {
						t.Fatalf("%q: %+v", part, p)
					}
					part = part[p.size:]
				}
			}
		}
	})
}

// telling is a connection whose commands are told.
func telling() (r *reader, told *[]string) {
	r, told = newReader(), &[]string{}
	r.reader.unreported = map[*conn]bool{r.conn: true}
	r.reader.Command = func(_ world.Link, c world.Command) {
		text := c.Name
		if c.Opens {
			text += " opens"
		}
		if !c.Answered.IsSet() {
			text += " unanswered"
		} else if c.Left <= 0 || c.Answered.V() < c.Left {
			text += fmt.Sprintf(" left at %d and was answered at %d", c.Left, c.Answered.V())
		}
		*told = append(*told, text)
	}
	return r, told
}

// Each command is told once: when its answer has gone on, or when nothing can be answered any
// more. What is published and pushed is neither a command nor an answer.
func TestCommandsAreTold(t *testing.T) {
	const ok = "+OK\r\n"
	for name, c := range map[string]struct {
		requests, answers string
		told, unread      string
	}{
		"one":             {asSent("set k v"), ok, "SET", ""},
		"those that open": {asSent("HELLO 3") + asSent("get k"), ok + "$-1\r\n", "HELLO opens, GET", ""},
		"in a pipeline":   {asSent("SET a 1") + asSent("SET b 1"), ok, "SET, SET unanswered", ""},
		"queued is an answer": {asSent("MULTI") + asSent("SET a 1") + asSent("EXEC"),
			ok + "+QUEUED\r\n*1\r\n+OK\r\n", "MULTI, SET, EXEC", ""},
		"a script unknown": {asSent("EVALSHA x 0") + asSent("EVAL s 0"), "-NOSCRIPT No matching script\r\n:1\r\n", "EVALSHA, EVAL", ""},
		"a push":           {asSent("GET a"), ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n", "GET unanswered", ""},
		"a subscription": {asSent("SUBSCRIBE a b"), "*3\r\n$9\r\nsubscribe\r\n$1\r\n" +
			"a\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n", "SUBSCRIBE", ""},
		"half a subscription": {asSent("SUBSCRIBE a b"), "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n", "SUBSCRIBE unanswered", ""},
		"answers cannot": {asSent("GET a") + asSent("MONITOR") + asSent("GET b"),
			ok + ok, "GET unanswered, MONITOR unanswered, GET unanswered", "how many answers come to MONITOR is not known"},
		"nothing can be read":  {asSent("GET a") + "*1\r\n?\r\n" + asSent("GET b"), "$-1\r\n", "GET", "no value begins with '?'"},
		"an answer that is no": {asSent("GET a") + asSent("GET b"), "$-1\r\n?\r\n", "GET, GET unanswered", "no value begins with '?'"},
		"a strange name":       {asSent(strings.Repeat("x\x00", 40)), "", strings.Repeat("X?", 16) + " unanswered", ""},
	} {
		for _, piece := range []int{1, 7, 1 << 20} {
			r, told := telling()
			r.feed(false, c.requests, piece)
			r.feed(true, c.answers, piece)
			r.end()
			r.end()
			if text := strings.Join(*told, ", "); text != c.told || strings.Join(r.unread, ", ") != c.unread {
				t.Errorf("%s, %d bytes at once: %q, want %q; unread: %q", name, piece, text, c.told, r.unread)
			}
		}
	}
	r, told := telling()
	r.feed(false, asSent("GET a"), 100)
	r.reader.Flush()
	r.feed(true, "$-1\r\n", 100)
	r.end()
	r.feed(false, asSent("GET b"), 100)
	if text := strings.Join(*told, ", "); text != "GET unanswered, GET unanswered" || len(r.reader.unreported) > 0 {
		t.Errorf("flushed, and after the end: %q, %d connections", text, len(r.reader.unreported))
	}
}

// An answer is told when it goes on to the client, not when it came; one that is lost, never.
func TestAnswersAreToldWhenTheyGoOn(t *testing.T) {
	address, got := node(t)
	var mu sync.Mutex
	var told []world.Command
	p, reader := New(), &ConnReader{Go: func(f func()) { f() }, Command: func(l world.Link, c world.Command) {
		mu.Lock()
		defer mu.Unlock()
		if l.From != "c1" || l.To != "A" || c.Node != "A" {
			t.Errorf("%v over %v", c, l)
		}
		told = append(told, c)
	}}
	defer p.Close()
	at, err := p.Open("c1", "A", to(address), reader)
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, at)
	send := func(words string) {
		if _, err := io.WriteString(c, asSent(words)); err != nil {
			t.Fatal(err)
		}
	}
	answer := func() {
		if _, err := io.ReadFull(c, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(told)
	}
	await := func(n int) {
		suite.Eventually(t, fmt.Sprint("command ", n), func() bool { return count() >= n })
	}
	link := []world.Link{{From: "c1", To: "A"}}
	send("GET a")
	answer()
	await(1)
	const late = 50 * time.Millisecond
	lift, err := p.Disturb(link, world.Disturbance{Kind: world.Latency, Direction: world.Answers, Latency: late})
	if err != nil {
		t.Fatal(err)
	}
	send("GET b")
	answer()
	await(2)
	_ = lift()
	if lift, err = p.Disturb(link, world.Disturbance{Kind: world.Cut, Direction: world.Answers}); err != nil {
		t.Fatal(err)
	}
	send("SET c 1")
	for range 3 {
		suite.Receive(t, "a command", got)
	}
	await(3)
	_ = lift() // the connection breaks
	for i, one := range told {
		took := time.Duration(one.Answered.V() - one.Left)
		if one.Answered.IsSet() != (i < 2) || i == 1 && took < late ||
			i == 0 && (took <= 0 || took > suite.Patience) || one.Connection != told[0].Connection {
			t.Errorf("command %d: %+v", i, one)
		}
	}
	if told[2].Name != "SET" {
		t.Errorf("%+v", told)
	}
}
