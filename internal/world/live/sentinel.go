package live

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/sentinel"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/live/proxy"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// startSentinels makes every node but the first a replica of the first, and lets the sentinels watch them. Each server and
// each sentinel is reached at one address alone, that of its links, which it announces.
func (w *World) startSentinels(ctx context.Context) error {
	members := w.members()
	for _, to := range members {
		senders := make(map[netip.Addr]string)
		for _, from := range members {
			if from != to && (!to.IsSentinel() || from.IsSentinel()) { // servers ask no sentinels
				senders[from.Source()] = from.Name
			}
		}
		address, err := w.links.OpenShared(to.Name, to.Endpoint(to.Name).Dial, senders)
		if err != nil {
			return err
		}
		if address, err = to.Host.Reachable(address); err != nil {
			return err
		}
		w.announced[to.Name] = address
		w.primaries.Store(address, true)
		if err := to.Announce(ctx, address); err != nil {
			return err
		}
	}
	first := w.servers.First()
	var group machine.Group
	for _, spec := range w.spec.Nodes[1:] {
		group.Go(func() error { return w.servers.Nodes[spec.Name].Follow(ctx, w.announced[first.Name]) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, n := range w.servers.Sentinels {
		if err := n.Watch(ctx, w.announced[first.Name], w.spec.Sentinel); err != nil {
			return err
		}
	}
	for _, n := range w.servers.Sentinels {
		group.Go(func() error { return n.AwaitWatching(ctx, w.spec.Sentinel, len(w.spec.Nodes)-1) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, n := range w.servers.Sentinels { // all of them have found each other
		n.KeepPeriods(ctx)
	}
	return nil
}

// sentinelLinks opens the links of a client to the servers and the sentinels, and says where the sentinels are. What they say of
// addresses becomes the client's own links on the way.
func (w *World) sentinelLinks(name string) (sentinels []client.Address, err error) {
	own := make(map[string]string)
	instead := func(known string) (string, bool) { link, found := own[known]; return link, found }
	for _, to := range w.members() {
		dial, reader := w.dialObserved(to), w.reader
		if to.IsSentinel() {
			dial, reader = proxy.Readdress(to.Endpoint(to.Name).Dial, instead), nil
		}
		link, err := w.links.Open(name, to.Name, dial, reader)
		if err != nil {
			return nil, err
		}
		own[w.announced[to.Name]] = link
		if to.IsSentinel() {
			sentinels = append(sentinels, client.Address{Name: to.Name, Address: link})
		}
	}
	return sentinels, nil
}

// dialObserved opens connections to a server that are observed from their beginning. A server that changes its role closes those of
// clients and our own at once; so whoever comes then waits until the observation goes on.
func (w *World) dialObserved(n *server.Node) proxy.Dial {
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := n.Endpoint(n.Name).Dial(ctx)
		if err != nil {
			return nil, err
		}
		if w.begun.Load() {
			if err := w.observation.AwaitShown(ctx, n); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
		}
		return conn, nil
	}
}

// tellRole records that a server has become the primary, or is one no more. served: it was the primary till then. settled waits
// until a replica has got all that its primary has: that does not show in the stream.
func (w *World) tellRole(n *server.Node) (served bool, settled func() bool) {
	role, err := n.Admin.Do(w.ctx, "role").Slice()
	if err != nil || len(role) == 0 {
		role = []any{"unknown"} // it is dead, or closes connections once more
	}
	was, known := w.roles.Swap(n.Name, role[0])
	changed := known && was != role[0]
	if changed && role[0] == "master" {
		w.record(history.Event{Process: n.Name, Type: history.Info, F: history.NodePromoted})
	}
	if changed && role[0] == "slave" {
		w.record(history.Event{Process: n.Name, Type: history.Info, F: history.NodeDemoted})
	}
	return was != "slave", func() bool { return known && role[0] == "slave" && n.InStep(w.ctx) }
}

// listenToAll records what the sentinels tell.
func (w *World) listenToAll() error {
	for _, n := range w.servers.Sentinels {
		id, err := n.ID(w.ctx)
		if err != nil {
			return err
		}
		w.sentinelIDs[id] = n.Name
	}
	for _, n := range w.servers.Sentinels {
		if err := w.listen(n); err != nil {
			return err
		}
	}
	return nil
}

// listen records what a sentinel tells, as long as it lives.
func (w *World) listen(n *server.Node) error {
	ports := make(map[string]string)
	for name, address := range w.announced {
		_, port, _ := net.SplitHostPort(address)
		ports[port] = name
	}
	return n.Listen(w.ctx, func(t sentinel.Told) {
		w.recordSentinel(history.ToldBySentinel(n.Name, t.Word, cmp.Or(ports[t.Port], w.sentinelIDs[t.ID]), t.Epoch))
	})
}

// recordSentinel records what a sentinel told, and lets faults strike that wait for it.
func (w *World) recordSentinel(e history.Event) {
	w.record(e)
	if h := w.hooks.Load(); h != nil && h.Sentinel != nil {
		h.Sentinel(e)
	}
}

// members are the servers and the sentinels.
func (w *World) members() []*server.Node {
	var list []*server.Node
	for _, n := range w.spec.Nodes {
		list = append(list, w.servers.Nodes[n.Name])
	}
	for _, name := range w.spec.Sentinel.Names {
		list = append(list, w.servers.Sentinels[name])
	}
	return list
}
