package virtual

import (
	"testing"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// hostEnd is a server's end of another host's connection. It sends back what comes.
type hostEnd struct {
	h      *Host
	c      *ServerConn
	text   string
	left   time.Duration
	broken time.Duration
}

func (e *hostEnd) Opened()    { panic("it did not open it") }
func (e *hostEnd) Ended()     { e.Broke(false) }
func (e *hostEnd) Broke(bool) { e.broken = e.h.Now() }
func (e *hostEnd) Arrived(b []byte) {
	e.text += string(b)
	e.left = e.c.Left()
	e.c.Send(b)
}

const (
	busPort    = 16379
	closedPort = 1
)

// dialling is a world in which B opens connections to A.
type dialling struct {
	*testing.T
	w    *World
	a, b *byteServer
}

func newDialling(t *testing.T) *dialling {
	w, servers, _, _ := withServers(t, func(s *world.Spec) { s.Replicated = true })
	return &dialling{t, w, servers.all[0], servers.all[1]}
}

// dial opens a connection, and waits a while.
func (d *dialling) dial() (*line, *ServerConn) {
	d.Helper()
	e := &line{w: d.w}
	c, err := d.b.h.Dial("A", busPort, e)
	if err != nil {
		d.Fatal(err)
	}
	d.w.Sleep(time.Millisecond)
	return e, c
}

// TestHostsDialEachOther: bytes go over links that delay and hold them as all links do, and wait for a server that stands still.
func TestHostsDialEachOther(t *testing.T) {
	d := newDialling(t)
	w := d.w
	if d.a.h.Follows() != "" || d.b.h.Follows() != "A" {
		t.Errorf("A follows %q, B %q", d.a.h.Follows(), d.b.h.Follows())
	}
	for _, l := range w.Links() {
		if l.From == l.To {
			t.Errorf("there is a link from %s to itself", l.From)
		}
	}
	if n := len(w.peerLinks); n != 1 { // that of the replica
		t.Errorf("%d links between the servers are there from the start", n)
	}
	during(w, func() {
		e := &line{w: w}
		c, err := d.b.h.Dial("A", busPort, e)
		if err != nil {
			t.Fatal(err)
		}
		c.Send([]byte("early ")) // before it is open
		w.Sleep(2 * time.Millisecond)
		if len(d.a.from) != 1 || e.opened == 0 || e.text != "early " {
			t.Fatalf("%d connections, open since %v, %q", len(d.a.from), e.opened, e.text)
		}
		taken := d.a.from[0]
		if taken.c.From() != "B" || taken.c.Port() != busPort {
			t.Errorf("it comes from %q, to %d", taken.c.From(), taken.c.Port())
		}
		lift, err := w.Disturb(links(w, "B", "A"), world.Disturbance{Kind: world.Hold, Direction: world.Requests})
		if err != nil {
			t.Fatal(err)
		}
		left := w.Now()
		c.Send([]byte("one "))
		if w.Sleep(5 * time.Millisecond); taken.text != "early " {
			t.Errorf("%q came through a hold", taken.text)
		}
		_ = lift()
		if w.Sleep(time.Millisecond); e.text != "early one " || taken.left != left {
			t.Errorf("%q came back, left at %v", e.text, taken.left)
		}
		_ = w.Pause("A")
		c.Send([]byte("two "))
		if w.Sleep(5 * time.Millisecond); taken.text != "early one " {
			t.Errorf("a server that stands still has got %q", taken.text)
		}
		_ = w.Resume("A")
		if w.Sleep(time.Millisecond); e.text != "early one two " {
			t.Errorf("%q came back", e.text)
		}
	})
}

// TestHostsHangUp: each end sees the other's behind what that had sent, and so it sees the other's death.
func TestHostsHangUp(t *testing.T) {
	d := newDialling(t)
	w := d.w
	during(w, func() {
		e, c := d.dial()
		taken := d.a.from[0]
		c.Send([]byte("last"))
		c.Close()
		if w.Sleep(time.Millisecond); taken.text != "last" || taken.broken == 0 || e.broken != 0 {
			t.Errorf("%q came, closed at %v; who closed it was told at %v", taken.text, taken.broken, e.broken)
		}

		e, c = d.dial()
		taken = d.a.from[1]
		c.Send([]byte("more"))
		taken.c.Send([]byte("hello "))
		taken.c.Close()
		if w.Sleep(time.Millisecond); e.text != "hello " || e.broken < e.at[0] || e.refused || taken.broken != 0 {
			t.Errorf("%q came, closed at %v; who closed it was told at %v", e.text, e.broken, taken.broken)
		}

		e, _ = d.dial()
		d.a.from[2].c.Send([]byte("bye"))
		_ = w.Kill("A")
		if w.Sleep(time.Millisecond); e.text != "bye" || e.broken == 0 || e.refused || d.a.from[2].broken != 0 {
			t.Errorf("%q came, closed at %v, refused %v; a dead process was told at %v", e.text, e.broken, e.refused, d.a.from[2].broken)
		}
		if e, _ = d.dial(); !e.refused || e.opened != 0 {
			t.Error("a dead server is not refused")
		}
		_ = w.Restart("A", world.KeepData)
		e = &line{w: w}
		if _, err := d.b.h.Dial("A", closedPort, e); err != nil {
			t.Error(err)
		}
		if w.Sleep(time.Millisecond); !e.refused || e.opened != 0 {
			t.Error("a port at which nothing listens is not refused")
		}
		e, c = d.dial()
		c.Send([]byte("bye"))
		_ = w.Kill("B")
		if taken = d.a.from[3]; w.Sleep(time.Millisecond) && (taken.text != "bye" || taken.broken == 0 || e.broken != 0) {
			t.Errorf("%q came of a dead process, closed at %v; it was told at %v", taken.text, taken.broken, e.broken)
		}
		if _, err := d.b.h.Dial("nowhere", busPort, e); err == nil {
			t.Error("a host that there is not takes connections")
		}
	})
}
