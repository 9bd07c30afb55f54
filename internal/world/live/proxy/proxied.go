package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Dial opens a connection to the party at the end of a link.
type Dial func(context.Context) (net.Conn, error)

// proxied is a link: it carries each connection through a valve for each
// direction. toxiproxy's own proxy would let in anybody, and knows no other end than an address.
type proxied struct {
	name              world.Link
	toxiproxy         *toxiproxy.ApiServer
	toxics            *toxiproxy.ToxicCollection
	requests, answers *valve
	refused           func(world.Link, error)
	lacks             func(error)
	refusal           sync.Once

	mu   sync.Mutex // guards what follows
	dial Dial
	// ctx ends when the link leads elsewhere.
	ctx    context.Context
	cancel context.CancelFunc
	conns  map[*end]bool
	// party is at the end of the connection that carry opens.
	party net.Conn
}

// newLink makes a link that nobody can reach yet. wire reads its connections; nil: nobody does.
func (p *Proxies) newLink(name world.Link, dial Dial, wire *Wire) (l *proxied, err error) {
	l = &proxied{name: name, dial: dial, toxiproxy: p.server, refused: p.Refused, lacks: p.Lacks, conns: make(map[*end]bool)}
	l.toxics = toxiproxy.NewProxy(p.server, name.From+"-"+name.To, "", "").Toxics
	l.ctx, l.cancel = context.WithCancel(context.Background())
	if l.requests, err = l.fit("upstream"); err != nil {
		return nil, err
	}
	if l.answers, err = l.fit("downstream"); err != nil {
		return nil, err
	}
	if wire != nil && wire.reads(name) {
		l.read(wire)
	}
	return l, nil
}

// door is where links are reached: one of its own, or a party's only address, where the address that a connection
// comes from tells whose it is.
type door struct {
	listener net.Listener
	port     int
	// links are those that it leads to, by the address that a connection comes from; of an address of no
	// length: all others.
	links   map[netip.Addr]*proxied
	serving sync.WaitGroup
}

// listen opens a door on a free port of loopback.
func listen(links map[netip.Addr]*proxied) (d *door, err error) {
	err = machine.OnFreePort(func(port int) error {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			return machine.ErrPortTaken
		}
		d = &door{listener: listener, port: port, links: links}
		return err
	})
	if err != nil {
		return nil, err
	}
	d.serving.Go(d.accept)
	return d, nil
}

// address is where it is.
func (d *door) address() string { return d.listener.Addr().String() }

func (d *door) accept() {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			for _, l := range d.links {
				if l.lack(err) {
					break
				}
			}
			return
		}
		l := d.links[client.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()]
		if l == nil {
			l = d.links[netip.Addr{}]
		}
		if l == nil { // nobody who was told of this address comes from there
			_ = client.Close()
			continue
		}
		d.serving.Go(func() { l.serve(client) })
	}
}

// close lets nobody in any more, and ends the links.
func (d *door) close() {
	for _, l := range d.links {
		l.requests.shut()
		l.answers.shut()
	}
	_ = d.listener.Close()
	for _, l := range d.links {
		l.leadTo(nil)
	}
	d.serving.Wait()
	machine.ReturnPort(d.port)
}

// fit puts a valve on a stream of the link: upstream is the way of the
// requests.
func (l *proxied) fit(stream string) (*valve, error) {
	wrapper, err := l.toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(`{"type": %q, "stream": %q}`, valveType, stream)))
	if err != nil {
		return nil, fmt.Errorf("failed to put a toxic on the link: %w", err)
	}
	v := newValve()
	wrapper.Toxic = v // the one toxiproxy made knows no more than its type
	return v, nil
}

// read has a wire read the connections of the link. carry opens the requests of a
// connection first, then its answers.
func (l *proxied) read(wire *Wire) {
	var latest *conn
	l.requests.opened = func() *conn { latest = wire.open(l.name); wire.leads(latest, l.party); return latest }
	l.answers.answers, l.answers.opened = true, func() *conn { return latest }
}

// serve deals with a client. The party at the other end may take its time.
func (l *proxied) serve(client net.Conn) {
	if err := admit(client); err != nil {
		_ = client.Close()
		if !l.lack(err) && l.refused != nil {
			l.refusal.Do(func() { l.refused(l.name, err) })
		}
		return
	}
	l.mu.Lock()
	ctx, dial := l.ctx, l.dial
	l.mu.Unlock()
	party, err := dial(ctx)
	if err != nil {
		l.lack(err)
		_ = client.Close()
		return
	}
	l.carry(ctx, client, party)
}

// lack reports that an error came of what this machine, or this program, has no more of. What
// the link does then is no fault of the run.
func (l *proxied) lack(err error) bool {
	for _, scarce := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, scarce) {
			if l.lacks != nil {
				l.lacks(fmt.Errorf("the link from %s to %s: %w", l.name.From, l.name.To, err))
			}
			return true
		}
	}
	return false
}

// carry lets toxiproxy carry what a client and a party say, unless the link leads elsewhere
// by now.
func (l *proxied) carry(ctx context.Context, client, party net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil {
		_, _ = client.Close(), party.Close()
		return
	}
	from, to := &end{client, l}, &end{party, l}
	l.party = party
	l.conns[from], l.conns[to] = true, true
	name := client.RemoteAddr().String()
	l.toxics.StartLink(l.toxiproxy, name+"upstream", from, to, stream.Upstream)
	l.toxics.StartLink(l.toxiproxy, name+"downstream", to, from, stream.Downstream)
}

// end is an end of a connection on a link. toxiproxy closes it.
type end struct {
	net.Conn
	link *proxied
}

func (e *end) Close() error {
	e.link.mu.Lock()
	delete(e.link.conns, e)
	e.link.mu.Unlock()
	return e.Conn.Close()
}

// leadTo makes the link end elsewhere; nil: nowhere. What is under way on it is lost.
func (l *proxied) leadTo(dial Dial) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	if dial != nil {
		l.dial = dial
		l.ctx, l.cancel = context.WithCancel(context.Background())
	}
	for e := range l.conns {
		_ = e.Conn.Close()
	}
}

// admit lets in connections of this program's user and of root alone. What comes from
// elsewhere, such as a container, comes through a program of ours.
func admit(client net.Conn) error {
	from, at := client.RemoteAddr().(*net.TCPAddr).AddrPort(), client.LocalAddr().(*net.TCPAddr).AddrPort()
	uid, err := machine.SocketUser(from, at)
	if err == nil { // it still is the same connection
		_, err = machine.SocketUser(at, from)
	}
	switch {
	case err != nil:
		return fmt.Errorf("it was closed before sim could tell whose it is: %w", err)
	case uid != 0 && int(uid) != os.Geteuid():
		return fmt.Errorf("it is user %d's; only user %d and root are let in", uid, os.Geteuid())
	}
	return nil
}
