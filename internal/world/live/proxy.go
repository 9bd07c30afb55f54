package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// proxies are the run's links: one proxy for every client and node, so that
// faults can strike one link and spare the others.
type proxies struct {
	server *toxiproxy.ApiServer

	mu    sync.Mutex
	links map[world.Link]*toxiproxy.Proxy
	order []world.Link
	last  int // number of the last toxic, for its name
	// calmed is when a toxic was last taken off a link.
	calmed map[world.Link]time.Time
}

// settle is how long a link is left alone after a toxic was taken off. toxiproxy
// (2.12.0) does not put a connection that closes at that moment in order, but
// forgets it a moment later; a toxic that is added in between makes it panic.
const settle = 50 * time.Millisecond

// newProxies prepares toxiproxy as a library: no API server listens.
func newProxies() *proxies {
	return &proxies{
		server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
		links:  make(map[world.Link]*toxiproxy.Proxy),
		calmed: make(map[world.Link]time.Time),
	}
}

// open puts a proxy between from and the address of to, and returns where it
// listens.
func (p *proxies) open(from, to, address string) (string, error) {
	proxy := toxiproxy.NewProxy(p.server, from+"-"+to, "127.0.0.1:0", address)
	if err := proxy.Start(); err != nil {
		return "", fmt.Errorf("failed to open the link from %s to %s: %w", from, to, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := world.Link{From: from, To: to}
	p.links[l] = proxy
	p.order = append(p.order, l)
	return proxy.Listen, nil
}

// lead makes all links to a party end at another address. What was under way on
// them is lost.
func (p *proxies) lead(to, address string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l, proxy := range p.links {
		if l.To != to {
			continue
		}
		if err := proxy.Update(&toxiproxy.Proxy{Listen: proxy.Listen, Upstream: address, Enabled: true}); err != nil {
			return fmt.Errorf("failed to lead the link from %s to %s elsewhere: %w", l.From, l.To, err)
		}
	}
	return nil
}

// toxic is a toxic as toxiproxy's API takes it.
type toxic struct {
	Name       string           `json:"name"`
	Type       string           `json:"type"`
	Stream     string           `json:"stream"`
	Attributes map[string]int64 `json:"attributes"`
}

// toxicsOf translates a disturbance: upstream is the way of the requests.
func toxicsOf(d world.Disturbance) ([]toxic, error) {
	t := toxic{Attributes: map[string]int64{}}
	switch d.Kind {
	case world.Latency:
		t.Type = "latency"
		t.Attributes["latency"], t.Attributes["jitter"] = d.Latency.Milliseconds(), d.Jitter.Milliseconds()
	case world.Bandwidth:
		t.Type = "bandwidth"
		t.Attributes["rate"] = max(d.Rate/1000, 1)
	case world.Cut:
		t.Type = "timeout"
		t.Attributes["timeout"] = 0
	case world.Hold:
		t.Type = holdType
	case world.Reset:
		t.Type = "reset_peer"
		t.Attributes["timeout"] = 0
	case world.SlowClose:
		t.Type = "slow_close"
		t.Attributes["delay"] = d.Delay.Milliseconds()
	case world.LimitData:
		t.Type = "limit_data"
		t.Attributes["bytes"] = d.Bytes
	default:
		return nil, fmt.Errorf("no disturbance %q", d.Kind)
	}
	var list []toxic
	if d.Direction != world.Answers {
		t.Stream = "upstream"
		list = append(list, t)
	}
	if d.Direction != world.Requests {
		t.Stream = "downstream"
		list = append(list, t)
	}
	return list, nil
}

// disturb puts toxics on links and returns what takes them off again.
func (p *proxies) disturb(links []world.Link, d world.Disturbance) (func() error, error) {
	list, err := toxicsOf(d)
	if err != nil {
		return nil, err
	}
	var lifts []func() error
	lift := func() error {
		var group errorGroup
		for _, l := range lifts {
			group.Go(l)
		}
		return group.Wait()
	}
	for _, l := range links {
		for _, t := range list {
			one, err := p.add(l, t)
			if err != nil {
				return nil, errors.Join(err, lift())
			}
			lifts = append(lifts, one)
		}
	}
	return lift, nil
}

func (p *proxies) add(l world.Link, t toxic) (func() error, error) {
	p.mu.Lock()
	proxy := p.links[l]
	p.last++
	t.Name = fmt.Sprintf("%s-%d", t.Type, p.last)
	rest := settle - time.Since(p.calmed[l])
	p.mu.Unlock()
	if rest > 0 {
		time.Sleep(rest)
	}
	if proxy == nil {
		return nil, fmt.Errorf("no link from %s to %s", l.From, l.To)
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	if _, err := proxy.Toxics.AddToxicJson(bytes.NewReader(text)); err != nil {
		return nil, fmt.Errorf("failed to put %s on the link from %s to %s: %w", t.Type, l.From, l.To, err)
	}
	return func() error {
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.calmed[l] = time.Now()
		}()
		if err := proxy.Toxics.RemoveToxic(context.Background(), t.Name); err != nil {
			return fmt.Errorf("failed to take %s off the link from %s to %s: %w", t.Type, l.From, l.To, err)
		}
		return nil
	}, nil
}

func (p *proxies) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, proxy := range p.links {
		proxy.Toxics.ResetToxics(context.Background())
		proxy.Stop()
	}
}
