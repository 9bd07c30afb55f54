// Package proxy is the links of the live world: toxiproxy as a library, with a valve in
// each direction that does what package link says. There stands, too, what is called a link,
// a connection, a direction and a message here.
package proxy

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Proxies are the run's links: one proxy for every client and node, so that
// faults can strike one link and spare the others.
type Proxies struct {
	// Refused is told once for each link that it let somebody not in. It may be nil.
	Refused func(l world.Link, why error)
	// Lacks is told that a link could not do its work, because the machine has no more of
	// something. It may be nil.
	Lacks func(error)

	server *toxiproxy.ApiServer

	mu sync.Mutex
	// listeners lead to all of them, links are those that faults can strike.
	listeners []*linkListener
	links     map[world.Link]*proxiedLink
	order     []world.Link
}

// New prepares toxiproxy as a library: no API server listens.
func New() *Proxies {
	return &Proxies{
		server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
		links:  make(map[world.Link]*proxiedLink),
	}
}

// Open puts a link between from and to, which dial reaches, and returns where it
// listens. reader reads its connections; nil: nobody does.
func (p *Proxies) Open(from, to string, dial Dial, reader *ConnReader) (string, error) {
	return p.open(to, dial, reader, map[netip.Addr]string{{}: from}, true)
}

// OpenSpared opens a link that no fault strikes.
func (p *Proxies) OpenSpared(from, to string, dial Dial) (string, error) {
	return p.open(to, dial, nil, map[netip.Addr]string{{}: from}, false)
}

// OpenShared opens the links of all that reach a party at one address, which it returns: each of them by the address
// that it comes from.
func (p *Proxies) OpenShared(to string, dial Dial, from map[netip.Addr]string) (string, error) {
	return p.open(to, dial, nil, from, true)
}

func (p *Proxies) open(to string, dial Dial, reader *ConnReader, from map[netip.Addr]string, struck bool) (string, error) {
	links := make(map[netip.Addr]*proxiedLink, len(from))
	for address, name := range from {
		l, err := p.newLink(world.Link{From: name, To: to}, dial, reader)
		if err != nil {
			return "", fmt.Errorf("failed to open the link from %s to %s: %w", name, to, err)
		}
		links[address] = l
	}
	d, err := listen(links)
	if err != nil {
		return "", fmt.Errorf("failed to open links to %s: %w", to, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners = append(p.listeners, d)
	if struck {
		for _, address := range slices.SortedFunc(maps.Keys(links), netip.Addr.Compare) {
			l := links[address]
			p.links[l.name] = l
			p.order = append(p.order, l.name)
		}
	}
	return d.address(), nil
}

// All are the links, in the order in which they were opened.
func (p *Proxies) All() []world.Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.order)
}

// Lead makes all links to a party end elsewhere. What was under way on them is lost.
func (p *Proxies) Lead(to string, dial Dial) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, l := range p.links {
		if name.To == to {
			l.leadTo(dial)
		}
	}
}

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
			lifts = append(lifts, l.requests.disturb(d))
		}
		if d.Direction != world.Requests {
			lifts = append(lifts, l.answers.disturb(d))
		}
	}
	return lift, nil
}

// Close ends all links.
func (p *Proxies) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.listeners {
		d.close()
	}
}
