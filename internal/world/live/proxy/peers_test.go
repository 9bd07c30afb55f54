package proxy

import (
	"net"
	"net/netip"
	"testing"

	"github.com/redlock-sim/redlock-sim/internal/testkit/suite"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// has reports that a connection is one of the link's.
func (l *proxiedLink) has(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := range l.conns {
		if e.RemoteAddr().String() == c.LocalAddr().String() {
			return true
		}
	}
	return false
}

// Peers are told by the address that they come from. While one direction between two of them is cut no connection comes about, and one
// that was tried breaks when that is over.
func TestPeersShakeHands(t *testing.T) {
	p := New()
	defer p.Close()
	home := netip.MustParseAddr("127.0.0.1")
	at, err := p.OpenPeers("A", true, says("A"), map[netip.Addr]string{home: "B", netip.MustParseAddr("127.0.1.9"): "C"})
	if err != nil {
		t.Fatal(err)
	}
	link := world.Link{From: "B", To: "A", Bus: true}
	if got := line(t, dial(t, at)); got != "A" {
		t.Fatalf("B reaches %q", got)
	}
	for _, direction := range []world.Direction{world.Requests, world.Answers, world.Both} {
		lift, err := p.Disturb([]world.Link{link}, world.Disturbance{Kind: world.Cut, Direction: direction})
		if err != nil {
			t.Fatal(err)
		}
		tried := dial(t, at)
		suite.Eventually(t, "the connection is taken", func() bool { return p.links[link].has(tried) })
		if err := lift(); err != nil {
			t.Fatal(err)
		}
		if got := line(t, tried); got != "" {
			t.Errorf("%v cut: %q came through", direction, got)
		}
		if got := line(t, dial(t, at)); got != "A" {
			t.Errorf("%v cut no more: %q", direction, got)
		}
	}
	if _, err := p.Disturb([]world.Link{{From: "C", To: "A", Bus: true}}, world.Disturbance{Kind: world.Cut}); err != nil {
		t.Fatal(err)
	}
	if got := line(t, dial(t, at)); got != "A" {
		t.Errorf("what strikes C strikes B: %q", got)
	}
}

// A link can be reached at one more address, in another way, and is struck there, too.
func TestAgain(t *testing.T) {
	p := New()
	defer p.Close()
	link := world.Link{From: "B", To: "A"}
	if _, err := p.OpenPeers("A", false, says("A"), map[netip.Addr]string{netip.MustParseAddr("127.0.1.9"): "B"}); err != nil {
		t.Fatal(err)
	}
	at, err := p.Again(link, says("A as operator"))
	if err != nil {
		t.Fatal(err)
	}
	if got := line(t, dial(t, at)); got != "A as operator" {
		t.Errorf("%q", got)
	}
	if _, err := p.Disturb([]world.Link{link}, world.Disturbance{Kind: world.Reset}); err != nil {
		t.Fatal(err)
	}
	if got := line(t, dial(t, at)); got != "" {
		t.Errorf("reset: %q", got)
	}
	if _, err := p.Again(world.Link{From: "C", To: "A"}, says("A")); err == nil {
		t.Error("there is a link from C")
	}
}
