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

// Door lets the containers of a run through to one listener of ours on
// loopback, which they cannot reach otherwise: a replica follows its primary
// over a link of ours. It listens on the gateway of the run's own network and
// is bound to that network's bridge, so that nothing comes in from elsewhere.
type Door struct {
	run      *Run
	listener net.Listener
	to       string
	wg       sync.WaitGroup

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]bool
}

// Reach opens a door to an address on loopback and returns its address.
func (r *Run) Reach(to string) (string, error) {
	control := func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) { err = machine.BindToDevice(int(fd), r.bridge) }), err)
	}
	l, err := (&net.ListenConfig{Control: control}).Listen(context.Background(), "tcp", net.JoinHostPort(r.gateway.String(), "0"))
	if err != nil {
		return "", fmt.Errorf("failed to listen for the containers on their network's gateway: %w", err)
	}
	d := &Door{run: r, listener: l, to: to, conns: make(map[net.Conn]bool)}
	r.mu.Lock()
	r.doors = append(r.doors, d)
	r.mu.Unlock()
	d.wg.Go(d.accept)
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

func (d *Door) accept() {
	for {
		in, err := d.listener.Accept()
		if err != nil {
			return
		}
		d.wg.Go(func() { d.pass(in) })
	}
}

// pass carries bytes both ways until one side ends.
func (d *Door) pass(in net.Conn) {
	defer d.drop(in)
	if !d.keep(in) {
		return
	}
	out, err := (&net.Dialer{LocalAddr: d.run.source(in.RemoteAddr())}).Dial("tcp", d.to)
	if err != nil {
		return
	}
	defer d.drop(out)
	if !d.keep(out) {
		return
	}
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		d.wg.Go(func() {
			_, _ = io.Copy(way[1], way[0])
			ended <- struct{}{}
		})
	}
	<-ended
}

// keep remembers an open connection; false: the door has been closed.
func (d *Door) keep(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.conns[c] = true
	return true
}

func (d *Door) drop(c net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.conns, c)
	_ = c.Close()
}

func (d *Door) close() {
	_ = d.listener.Close()
	d.mu.Lock()
	d.closed = true
	for c := range d.conns {
		_ = c.Close()
	}
	d.mu.Unlock()
	d.wg.Wait()
}
