// Package proxy is the links of the live world: toxiproxy as a library, with a valve in
// each direction that does what package link says.
package proxy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Proxies are the run's links: one proxy for every client and node, so that
// faults can strike one link and spare the others.
type Proxies struct {
	server *toxiproxy.ApiServer

	mu    sync.Mutex
	links map[world.Link]*proxied
	order []world.Link
}

// proxied is a link: a proxy with a valve for each direction.
type proxied struct {
	*toxiproxy.Proxy
	port              int
	requests, answers *valve
}

// New prepares toxiproxy as a library: no API server listens.
func New() *Proxies {
	return &Proxies{
		server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
		links:  make(map[world.Link]*proxied),
	}
}

// Open puts a proxy between from and the address of to, and returns where it
// listens. wire reads its connections; nil: nobody does.
func (p *Proxies) Open(from, to, address string, wire *Wire) (string, error) {
	var l *proxied
	err := machine.OnFreePort(func(port int) (err error) {
		l = &proxied{port: port, Proxy: toxiproxy.NewProxy(p.server, from+"-"+to, fmt.Sprintf("127.0.0.1:%d", port), address)}
		if l.requests, err = l.fit("upstream"); err != nil {
			return err
		}
		if l.answers, err = l.fit("downstream"); err != nil {
			return err
		}
		if name := (world.Link{From: from, To: to}); wire != nil && wire.reads(name) {
			l.read(wire, name)
		}
		if err = l.Start(); errors.Is(err, syscall.EADDRINUSE) {
			return machine.ErrPortTaken
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("failed to open the link from %s to %s: %w", from, to, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	name := world.Link{From: from, To: to}
	p.links[name] = l
	p.order = append(p.order, name)
	return l.Listen, nil
}

// fit puts a valve on a stream of the link: upstream is the way of the
// requests.
func (l *proxied) fit(stream string) (*valve, error) {
	wrapper, err := l.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(`{"type": %q, "stream": %q}`, valveType, stream)))
	if err != nil {
		return nil, fmt.Errorf("failed to put a toxic on the link %s: %w", l.Name, err)
	}
	v := newValve()
	wrapper.Toxic = v // the one toxiproxy made knows no more than its type
	return v, nil
}

// read has a wire read the connections of a link. toxiproxy opens the requests of a
// connection first, then its answers.
func (l *proxied) read(wire *Wire, name world.Link) {
	var latest *conn
	l.requests.opened = func() *conn { latest = wire.open(name); return latest }
	l.answers.answers, l.answers.opened = true, func() *conn { return latest }
}

// All are the links, in the order in which they were opened.
func (p *Proxies) All() []world.Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.order)
}

// Lead makes all links to a party end at another address. What was under way on
// them is lost.
func (p *Proxies) Lead(to, address string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l, proxy := range p.links {
		if l.To != to {
			continue
		}
		if err := proxy.leadTo(address); err != nil {
			return fmt.Errorf("failed to redirect the link from %s to %s: %w", l.From, l.To, err)
		}
	}
	return nil
}

// leadTo lets toxiproxy listen anew on the same port. A process that is being
// started at that moment keeps the old listener open until it is, so that the port
// may be taken for a moment.
func (l *proxied) leadTo(address string) error {
	for deadline := time.Now().Add(leadWithin); ; time.Sleep(time.Millisecond) {
		err := l.Update(&toxiproxy.Proxy{Listen: l.Listen, Upstream: address, Enabled: true})
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			return err
		}
	}
}

const leadWithin = 2 * time.Second

// Disturb puts a disturbance on links and returns what takes it off again.
func (p *Proxies) Disturb(links []world.Link, d world.Disturbance) (func() error, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lifts []func()
	lift := func() error {
		for _, l := range lifts {
			l()
		}
		return nil
	}
	for _, name := range links {
		l := p.links[name]
		if l == nil {
			return nil, errors.Join(fmt.Errorf("no link from %s to %s", name.From, name.To), lift())
		}
		if d.Direction != world.Answers {
			lifts = append(lifts, l.requests.add(d))
		}
		if d.Direction != world.Requests {
			lifts = append(lifts, l.answers.add(d))
		}
	}
	return lift, nil
}

// Close ends all links.
func (p *Proxies) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		l.requests.shut()
		l.answers.shut()
		l.Stop()
		machine.ReturnPort(l.port)
	}
}
