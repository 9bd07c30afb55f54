package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// Forwarder lets the containers of a run through to one listener of ours on
// loopback, which they cannot reach otherwise: a replica follows its primary
// over a link of ours. It listens on the gateway of the run's own network and
// is bound to that network's bridge, so that nothing comes in from elsewhere.
type Forwarder struct {
	run      *Run
	listener net.Listener
	to       string
	wg       sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]bool
}

// Reach opens a forwarder to an address on loopback and returns its address.
func (r *Run) Reach(to string) (string, error) {
	control := func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) { err = machine.BindToDevice(int(fd), r.bridge) }), err)
	}
	l, err := (&net.ListenConfig{Control: control}).Listen(context.Background(), "tcp", net.JoinHostPort(r.gateway.String(), "0"))
	if err != nil {
		return "", fmt.Errorf("failed to listen for the containers on their network's gateway: %w", err)
	}
	f := &Forwarder{run: r, listener: l, to: to, conns: make(map[net.Conn]bool)}
	r.mu.Lock()
	r.forwarders = append(r.forwarders, f)
	r.mu.Unlock()
	f.wg.Go(f.accept)
	return l.Addr().String(), nil
}

// comesFrom lets connections of a container come from an address on loopback: whoever listens there
// knows the container by it.
func (r *Run) comesFrom(container, source netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for known, s := range r.sources {
		if s == source {
			delete(r.sources, known)
		}
	}
	r.sources[container] = source
}

// knownWithin bounds how long the address of a container that has just started may be unknown.
const knownWithin = 5 * time.Second

// source is where a container's connections come from; nil: anywhere, for no container of the run has a
// place of its own.
func (r *Run) source(container net.Addr) net.Addr {
	at := container.(*net.TCPAddr).AddrPort().Addr().Unmap()
	for deadline := time.Now().Add(knownWithin); ; time.Sleep(time.Millisecond) {
		r.mu.Lock()
		some, source := len(r.sources) > 0, r.sources[at]
		r.mu.Unlock()
		if source.IsValid() {
			return net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0))
		}
		if !some || time.Now().After(deadline) {
			return nil
		}
	}
}

func (f *Forwarder) accept() {
	for {
		in, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.wg.Go(func() { f.forward(in) })
	}
}

// forward carries bytes both ways until one side ends.
func (f *Forwarder) forward(in net.Conn) {
	defer f.closeConn(in)
	if !f.remember(in) {
		return
	}
	out, err := (&net.Dialer{LocalAddr: f.run.source(in.RemoteAddr())}).Dial("tcp", f.to)
	if err != nil {
		return
	}
	defer f.closeConn(out)
	if !f.remember(out) {
		return
	}
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		f.wg.Go(func() {
			_, _ = io.Copy(way[1], way[0])
			ended <- struct{}{}
		})
	}
	<-ended
}

// remember remembers an open connection; false: the forwarder has been closed.
func (f *Forwarder) remember(c net.Conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.conns[c] = true
	return true
}

func (f *Forwarder) closeConn(c net.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.conns, c)
	_ = c.Close()
}

func (f *Forwarder) close() {
	_ = f.listener.Close()
	f.mu.Lock()
	f.closed = true
	for c := range f.conns {
		_ = c.Close()
	}
	f.mu.Unlock()
	f.wg.Wait()
}
