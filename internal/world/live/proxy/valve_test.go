package proxy

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// pipe is a connection through a valve, in the time of a synctest bubble.
type pipe struct {
	*valve
	in    chan *stream.StreamChunk
	begin time.Time
	mu    sync.Mutex
	got   []arrival
	ended time.Duration // 0: not yet
}

type arrival struct {
	text string
	at   time.Duration
}

func newPipe() *pipe { return newValve().connect() }

// connect opens a connection through the valve.
func (v *valve) connect() *pipe { return v.connectWith(nil) }

// connectWith opens one that is read.
func (v *valve) connectWith(c *conn) *pipe {
	p := &pipe{valve: v, in: make(chan *stream.StreamChunk), begin: time.Now()}
	out := make(chan *stream.StreamChunk)
	stub := toxics.NewToxicStub(p.in, out)
	stub.State = c
	go p.Pipe(stub)
	go func() {
		for chunk := range out {
			p.mu.Lock()
			p.got = append(p.got, arrival{string(chunk.Data), time.Since(p.begin)})
			p.mu.Unlock()
		}
		p.mu.Lock()
		p.ended = time.Since(p.begin)
		p.mu.Unlock()
	}()
	return p
}

func (p *pipe) send(text string) {
	p.in <- &stream.StreamChunk{Data: []byte(text), Timestamp: time.Now()}
	synctest.Wait()
}

// want compares what arrived with "text@time", in order.
func (p *pipe) want(t *testing.T, ended time.Duration, want ...string) {
	t.Helper()
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	var got []string
	for _, a := range p.got {
		got = append(got, a.text+"@"+a.at.String())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") || p.ended != ended {
		t.Errorf("arrived: %v, ended %v\n   want: %v, ended %v", got, p.ended, want, ended)
	}
}

func TestValve(t *testing.T) {
	const ms = time.Millisecond
	for name, act := range map[string]func(t *testing.T, p *pipe){
		"without a disturbance everything passes, and the end too": func(t *testing.T, p *pipe) {
			p.send("a")
			time.Sleep(ms)
			close(p.in)
			p.want(t, ms, "a@0s")
		},
		"latency delays, and what it delayed goes on when it is lifted": func(t *testing.T, p *pipe) {
			lift := p.disturb(world.Disturbance{Kind: world.Latency, Latency: 50 * ms})
			p.send("a")
			time.Sleep(20 * ms)
			p.send("b")
			time.Sleep(35 * ms)
			lift()
			p.want(t, 0, "a@50ms", "b@55ms")
		},
		"two latencies add up": func(t *testing.T, p *pipe) {
			p.disturb(world.Disturbance{Kind: world.Latency, Latency: 50 * ms})
			p.disturb(world.Disturbance{Kind: world.Latency, Latency: 30 * ms})
			p.send("a")
			time.Sleep(time.Second)
			p.want(t, 0, "a@80ms")
		},
		"jitter keeps the order": func(t *testing.T, p *pipe) {
			p.disturb(world.Disturbance{Kind: world.Latency, Latency: 50 * ms, Jitter: 50 * ms})
			for _, c := range "abcdefghij" {
				p.send(string(c))
			}
			time.Sleep(100 * ms)
			synctest.Wait()
			var all string
			for _, a := range p.got {
				all += a.text
			}
			if all != "abcdefghij" {
				t.Errorf("arrived as %q", all)
			}
		},
		"bandwidth passes so many bytes a second": func(t *testing.T, p *pipe) {
			p.disturb(world.Disturbance{Kind: world.Bandwidth, Rate: 100})
			p.send("0123456789")
			p.send("0123456789")
			time.Sleep(time.Second)
			p.want(t, 0, "0123456789@100ms", "0123456789@200ms")
		},
		"a cut loses what comes, and ends the connection when it is lifted": func(t *testing.T, p *pipe) {
			p.send("a")
			lift := p.disturb(world.Disturbance{Kind: world.Cut})
			p.send("b")
			p.want(t, 0, "a@0s")
			time.Sleep(time.Second)
			lift()
			p.want(t, time.Second, "a@0s")
		},
		"a hold passes everything on when it is lifted, and the sender's close behind it": func(t *testing.T, p *pipe) {
			lift := p.disturb(world.Disturbance{Kind: world.Hold})
			p.send("a")
			p.send("b")
			close(p.in)
			time.Sleep(2 * time.Second)
			p.want(t, 0)
			lift()
			lift() // twice is no harm
			p.want(t, 2*time.Second, "a@2s", "b@2s")
		},
		"a stall passes everything on when it ends, and the sender's close behind it": func(t *testing.T, p *pipe) {
			p.send("before")
			time.Sleep(ms)
			lift := p.disturb(world.Disturbance{Kind: world.Stall})
			p.send("a")
			p.send("b")
			close(p.in)
			time.Sleep(2 * time.Second)
			p.want(t, 0, "before@0s")
			lift()
			p.want(t, 2*time.Second+ms, "before@0s", "a@2.001s", "b@2.001s")
		},
		"a stall spares a connection opened later, and the next stall does not": func(t *testing.T, p *pipe) {
			synctest.Wait() // until it is open
			first := p.disturb(world.Disturbance{Kind: world.Stall})
			later := p.connect()
			synctest.Wait()
			p.send("a")
			later.send("b")
			later.want(t, 0, "b@0s")
			time.Sleep(ms)
			second := p.disturb(world.Disturbance{Kind: world.Stall})
			later.send("c")
			first()
			p.want(t, 0) // the second strikes it, too
			time.Sleep(ms)
			second()
			p.want(t, 0, "a@2ms")
			later.want(t, 0, "b@0s", "c@2ms")
			close(later.in)
		},
		"a reset ends the connection with the next message": func(t *testing.T, p *pipe) {
			p.disturb(world.Disturbance{Kind: world.Reset})
			time.Sleep(ms)
			p.want(t, 0)
			p.send("a")
			p.want(t, ms)
		},
		"a slow close comes late": func(t *testing.T, p *pipe) {
			p.disturb(world.Disturbance{Kind: world.SlowClose, Delay: 300 * ms})
			p.send("a")
			close(p.in)
			time.Sleep(time.Second)
			p.want(t, 300*ms, "a@0s")
		},
		"a limit ends the connection in the middle of a message": func(t *testing.T, p *pipe) {
			p.send("before")
			time.Sleep(ms)
			p.disturb(world.Disturbance{Kind: world.LimitData, Bytes: 5})
			p.send("abc")
			p.send("def")
			p.want(t, ms, "before@0s", "abc@1ms", "de@1ms")
		},
		"an end of everything ends held connections": func(t *testing.T, p *pipe) {
			p.disturb(world.Disturbance{Kind: world.Hold})
			p.send("a")
			time.Sleep(ms)
			p.close()
			p.want(t, ms)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipe()
				act(t, p)
				p.close()
				synctest.Wait()
				defer func() { _ = recover() }() // some close it themselves
				close(p.in)
			})
		})
	}
}

// Connections come and go while disturbances do: nothing panics, and afterwards
// the link is as good as new.
func TestDisturbancesWhileConnectionsComeAndGo(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	p := New()
	defer p.Close()
	address, err := p.Open("c1", "A", to(listener.Addr().String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 300
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range rounds {
				if conn, err := net.Dial("tcp", address); err == nil {
					_, _ = conn.Write([]byte("x"))
					_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
					_, _ = conn.Read(make([]byte, 1))
					_ = conn.Close()
				}
			}
		})
	}
	for _, d := range []world.Disturbance{
		{Kind: world.Cut}, {Kind: world.Hold}, {Kind: world.Stall},
		{Kind: world.Reset}, {Kind: world.Latency, Latency: time.Millisecond, Jitter: time.Millisecond},
		{Kind: world.LimitData, Bytes: 1}, {Kind: world.SlowClose, Delay: time.Millisecond}, {Kind: world.Bandwidth, Rate: 1000},
	} {
		group.Go(func() {
			for range rounds {
				lift, err := p.Disturb([]world.Link{{From: "c1", To: "A"}}, d)
				if err != nil {
					t.Error(err)
					return
				}
				if err := lift(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	suite.Returns(t, "all connections and disturbances", group.Wait)
	conn := dial(t, address)
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
		t.Errorf("the link did not recover: %v", err)
	}
}
