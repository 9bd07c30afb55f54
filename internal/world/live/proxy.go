package live

import (
	"fmt"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// proxies are the run's links: one proxy for every client and node, so that
// faults can strike one link and spare the others.
type proxies struct {
	server *toxiproxy.ApiServer
	links  map[link]*toxiproxy.Proxy
}

// link names the way from one party to another.
type link struct{ from, to string }

// newProxies prepares toxiproxy as a library: no API server listens.
func newProxies() *proxies {
	logger := zerolog.Nop()
	return &proxies{
		server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), logger),
		links:  make(map[link]*toxiproxy.Proxy),
	}
}

// open puts a proxy between from and the address of to, and returns where it
// listens.
func (p *proxies) open(from, to, address string) (string, error) {
	proxy := toxiproxy.NewProxy(p.server, from+"-"+to, "127.0.0.1:0", address)
	if err := proxy.Start(); err != nil {
		return "", fmt.Errorf("failed to open the link from %s to %s: %w", from, to, err)
	}
	p.links[link{from, to}] = proxy
	return proxy.Listen, nil
}

func (p *proxies) close() {
	for _, proxy := range p.links {
		proxy.Stop()
	}
}
