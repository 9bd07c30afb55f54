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
	return p.open(world.Link{To: to}, dial, reader, map[netip.Addr]string{{}: from}, manner{struck: true})
}

// OpenSpared opens a link that no fault strikes.
func (p *Proxies) OpenSpared(from, to string, dial Dial) (string, error) {
	return p.open(world.Link{To: to}, dial, nil, map[netip.Addr]string{{}: from}, manner{})
}

// OpenShared opens the links of all that reach a party at one address, which it returns: each of them by the address
// that it comes from.
func (p *Proxies) OpenShared(to string, dial Dial, from map[netip.Addr]string) (string, error) {
	return p.open(world.Link{To: to}, dial, nil, from, manner{struck: true})
}

// OpenPeers is OpenShared for the nodes of a Redis Cluster; bus: for their bus. A connection between two of them needs both directions
// to come about.
func (p *Proxies) OpenPeers(to string, bus bool, dial Dial, from map[netip.Addr]string) (string, error) {
	return p.open(world.Link{To: to, Bus: bus}, dial, nil, from, manner{struck: true, shakesHands: true})
}

// Again is one more address at which a link is reached, by whoever comes. dial reaches the party in the place of the link's own.
func (p *Proxies) Again(name world.Link, dial Dial) (string, error) {
	p.mu.Lock()
	l := p.links[name]
	p.mu.Unlock()
	if l == nil {
		return "", fmt.Errorf("no link from %s to %s", name.From, name.To)
	}
	return p.listen(map[netip.Addr]*proxiedLink{{}: l}, dial)
}

// manner is how links behave.
type manner struct {
	// struck: faults can strike them.
	struck bool
	// shakesHands: while a direction is cut no connection comes about.
	shakesHands bool
}

// listen listens for links.
func (p *Proxies) listen(links map[netip.Addr]*proxiedLink, dial Dial) (string, error) {
	d, err := listen(links, dial)
	if err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners = append(p.listeners, d)
	return d.address(), nil
}

// open opens links to the party of a link.
func (p *Proxies) open(name world.Link, dial Dial, reader *ConnReader, from map[netip.Addr]string, m manner) (string, error) {
	links := make(map[netip.Addr]*proxiedLink, len(from))
	for address, opener := range from {
		name.From = opener
		l, err := p.newLink(name, dial, reader)
		if err != nil {
			return "", fmt.Errorf("failed to open the link from %s to %s: %w", opener, name.To, err)
		}
		l.shakesHands = m.shakesHands
		links[address] = l
	}
	at, err := p.listen(links, nil)
	if err != nil {
		return "", fmt.Errorf("failed to open links to %s: %w", name.To, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.struck {
		for _, address := range slices.SortedFunc(maps.Keys(links), netip.Addr.Compare) {
			l := links[address]
			p.links[l.name] = l
			p.order = append(p.order, l.name)
		}
	}
	return at, nil
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
		if d.Closes > 0 {
			lifts = append(lifts, l.closeInTime(d.Closes))
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
