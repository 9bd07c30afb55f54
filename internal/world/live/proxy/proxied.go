package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Dial opens a connection to the party at the end of a link.
type Dial func(context.Context) (net.Conn, error)

// proxiedLink is a link: it carries each connection through a valve for each
// direction. toxiproxy's own proxy would let in anybody, and knows no other end than an address.
type proxiedLink struct {
	name              world.Link
	toxiproxy         *toxiproxy.ApiServer
	toxics            *toxiproxy.ToxicCollection
	requests, answers *valve
	refused           func(world.Link, error)
	lacks             func(error)
	refusal           sync.Once
	// shakesHands: while a direction is cut no connection comes about.
	shakesHands bool

	mu   sync.Mutex // guards what follows
	dial Dial
	// ctx ends when the link leads elsewhere.
	ctx    context.Context
	cancel context.CancelFunc
	conns  map[*connEnd]bool
	// party is at the end of the connection that startConnection opens.
	party net.Conn
}

// newLink makes a link that nobody can reach yet. reader reads its connections; nil: nobody does.
func (p *Proxies) newLink(name world.Link, dial Dial, reader *ConnReader) (l *proxiedLink, err error) {
	l = &proxiedLink{name: name, dial: dial, toxiproxy: p.server, refused: p.Refused, lacks: p.Lacks, conns: make(map[*connEnd]bool)}
	l.toxics = toxiproxy.NewProxy(p.server, name.From+"-"+name.To, "", "").Toxics
	l.ctx, l.cancel = context.WithCancel(context.Background())
	if l.requests, err = l.addValve("upstream"); err != nil {
		return nil, err
	}
	if l.answers, err = l.addValve("downstream"); err != nil {
		return nil, err
	}
	if reader != nil && reader.readsLink(name) {
		l.readBy(reader)
	}
	return l, nil
}

// linkListener is where links are reached: one of its own, or a party's only address, where the address that a connection
// comes from tells whose it is.
type linkListener struct {
	listener net.Listener
	port     int
	// links are those that it leads to, by the address that a connection comes from; of an address of no
	// length: all others.
	links map[netip.Addr]*proxiedLink
	// dial reaches the party from here, where the links' own ways do not count; nil: those do.
	dial    Dial
	serving sync.WaitGroup
}

// listen listens on a free port of loopback.
func listen(links map[netip.Addr]*proxiedLink, dial Dial) (ll *linkListener, err error) {
	err = machine.OnFreePort(func(port int) error {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			return machine.ErrPortTaken
		}
		ll = &linkListener{listener: listener, port: port, links: links, dial: dial}
		return err
	})
	if err != nil {
		return nil, err
	}
	ll.serving.Go(ll.accept)
	return ll, nil
}

// address is where it is.
func (ll *linkListener) address() string { return ll.listener.Addr().String() }

func (ll *linkListener) accept() {
	for {
		client, err := ll.listener.Accept()
		if err != nil {
			for _, l := range ll.links {
				if l.reportScarce(err) {
					break
				}
			}
			return
		}
		l := ll.links[client.RemoteAddr().(*net.TCPAddr).AddrPort().Addr()]
		if l == nil {
			l = ll.links[netip.Addr{}]
		}
		if l == nil { // nobody who was told of this address comes from there
			_ = client.Close()
			continue
		}
		ll.serving.Go(func() { l.serve(client, ll.dial) })
	}
}

// close lets nobody in any more, and ends the links.
func (ll *linkListener) close() {
	for _, l := range ll.links {
		l.requests.close()
		l.answers.close()
	}
	_ = ll.listener.Close()
	for _, l := range ll.links {
		l.leadTo(nil)
	}
	ll.serving.Wait()
	machine.ReturnPort(ll.port)
}

// addValve puts a valve on a stream of the link: upstream is the direction of the
// requests.
func (l *proxiedLink) addValve(stream string) (*valve, error) {
	wrapper, err := l.toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(`{"type": %q, "stream": %q}`, valveType, stream)))
	if err != nil {
		return nil, fmt.Errorf("failed to put a toxic on the link: %w", err)
	}
	v := newValve()
	wrapper.Toxic = v // the one toxiproxy made knows no more than its type
	return v, nil
}

// readBy has a reader read the connections of the link. startConnection opens the requests of a
// connection first, then its answers.
func (l *proxiedLink) readBy(reader *ConnReader) {
	var latest *conn
	l.requests.newConn = func() *conn { latest = reader.newConn(l.name); reader.noteEnds(latest, l.party); return latest }
	l.answers.isAnswers, l.answers.newConn = true, func() *conn { return latest }
}

// serve deals with a client. The party at the other end may take its time. instead reaches it in another way than the link's; nil: it does
// not.
func (l *proxiedLink) serve(client net.Conn, instead Dial) {
	if err := admit(client); err != nil {
		_ = client.Close()
		if !l.reportScarce(err) && l.refused != nil {
			l.refusal.Do(func() { l.refused(l.name, err) })
		}
		return
	}
	l.mu.Lock()
	ctx, dial := l.ctx, l.dial
	l.mu.Unlock()
	if l.shakesHands && l.hangs(ctx, client) {
		return
	}
	if instead != nil {
		dial = instead
	}
	party, err := dial(ctx)
	if err != nil {
		l.reportScarce(err)
		_ = client.Close()
		return
	}
	l.startConnection(ctx, client, party)
}

// hangs keeps a connection that would not come about, for a direction is cut: nothing goes over it till that is over, and then it breaks,
// as those do that were open. False: nothing is cut.
func (l *proxiedLink) hangs(ctx context.Context, client net.Conn) bool {
	isOver := func() (<-chan struct{}, <-chan struct{}, bool) {
		there, cut1 := l.requests.state()
		back, cut2 := l.answers.state()
		return there, back, !cut1 && !cut2
	}
	there, back, over := isOver()
	if over {
		return false
	}
	end := &connEnd{client, l, true}
	l.mu.Lock()
	l.conns[end] = true
	l.mu.Unlock()
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, client)
		close(gone)
	}()
	for ; !over; there, back, over = isOver() {
		select {
		case <-there:
		case <-back:
		case <-gone:
			over = true
		case <-ctx.Done():
			over = true
		}
		if over {
			break
		}
	}
	_ = end.Close()
	<-gone
	return true
}

// reportScarce reports that an error came of what this machine, or this program, has no more of. What
// the link does then is no fault of the run.
func (l *proxiedLink) reportScarce(err error) bool {
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

// startConnection lets toxiproxy carry what a client and a party say, unless the link leads elsewhere
// by now.
func (l *proxiedLink) startConnection(ctx context.Context, client, party net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil {
		_, _ = client.Close(), party.Close()
		return
	}
	from, to := &connEnd{client, l, true}, &connEnd{party, l, false}
	l.party = party
	l.conns[from], l.conns[to] = true, true
	name := client.RemoteAddr().String()
	l.toxics.StartLink(l.toxiproxy, name+"upstream", from, to, stream.Upstream)
	l.toxics.StartLink(l.toxiproxy, name+"downstream", to, from, stream.Downstream)
}

// connEnd is an end of a connection on a link. toxiproxy closes it.
type connEnd struct {
	net.Conn
	link *proxiedLink
	// isClient: it is the end of who opened the connection.
	isClient bool
}

func (e *connEnd) Close() error {
	e.link.mu.Lock()
	delete(e.link.conns, e)
	e.link.mu.Unlock()
	return e.Conn.Close()
}

// closeInTime closes, in a while, the ends of clients of the connections that are open now. What they have sent goes on to the party.
func (l *proxiedLink) closeInTime(d time.Duration) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ends []net.Conn
	for e := range l.conns {
		if e.isClient {
			ends = append(ends, e.Conn)
		}
	}
	timer := time.AfterFunc(d, func() {
		for _, e := range ends {
			_ = e.Close()
		}
	})
	return func() { timer.Stop() }
}

// leadTo makes the link end elsewhere; nil: nowhere. What is under way on it is lost.
func (l *proxiedLink) leadTo(dial Dial) {
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
	if err != nil {
		return fmt.Errorf("it was closed before sim could tell whose it is: %w", err)
	}
	if uid != 0 && int(uid) != os.Geteuid() {
		return fmt.Errorf("it is user %d's; only user %d and root are let in", uid, os.Geteuid())
	}
	return nil
}
