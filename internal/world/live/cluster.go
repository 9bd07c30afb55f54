package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/machine"
	"github.com/redlock-sim/redlock-sim/internal/redis/cluster"
	"github.com/redlock-sim/redlock-sim/internal/world"
	"github.com/redlock-sim/redlock-sim/internal/world/client"
	"github.com/redlock-sim/redlock-sim/internal/world/live/proxy"
	"github.com/redlock-sim/redlock-sim/internal/world/live/server"
)

// clusterParts are what the run has of its Redis Cluster.
type clusterParts struct {
	// started is closed when all nodes listen. Who wants to reach one before that waits.
	started chan struct{}
	// sights are what nodes know of the cluster.
	sights map[string]*server.Sights
}

// openCluster opens the links between the nodes of a cluster. Each node has one address for clients and replicas, and one for its bus,
// which are those of its links: it is told before it starts that it is there, and so are the others. Whoever comes is told by the
// address that it comes from.
func (w *World) openCluster() error {
	if w.spec.Cluster == nil {
		return nil
	}
	w.cluster.started = make(chan struct{})
	places := make(map[string]cluster.Place)
	for _, to := range w.spec.Nodes {
		n := w.servers.Nodes[to.Name]
		senders := make(map[netip.Addr]string)
		for _, from := range w.spec.Beside(to.Name) {
			if from != to.Name {
				senders[w.servers.Nodes[from].Source()] = from
			}
		}
		address, err := w.links.OpenPeers(to.Name, false, w.onceStarted(func() proxy.Dial { return n.Server.Door().Link }), senders)
		if err != nil {
			return err
		}
		bus, err := w.links.OpenPeers(to.Name, true, w.onceStarted(func() proxy.Dial { return n.DialBus }), senders)
		if err != nil {
			return err
		}
		w.announced[to.Name] = address
		w.primaries.Store(address, true)
		if places[to.Name], err = placeOf(address, bus); err != nil {
			return err
		}
	}
	w.servers.Place(func(name string) cluster.Place { return places[name] })
	return nil
}

// placeOf is where a node is whose links are at two addresses.
func placeOf(address, bus string) (p cluster.Place, err error) {
	host, port, err := net.SplitHostPort(address)
	_, busPort, err2 := net.SplitHostPort(bus)
	p.Host = host
	p.Port, _ = strconv.Atoi(port)
	p.Bus, _ = strconv.Atoi(busPort)
	return p, errors.Join(err, err2)
}

// onceStarted opens connections to a node as soon as all have started. It is reached at the same address all the time.
func (w *World) onceStarted(dial func() proxy.Dial) proxy.Dial {
	dial = sync.OnceValue(dial)
	return func(ctx context.Context) (net.Conn, error) {
		select {
		case <-w.cluster.started:
			return dial()(ctx)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// joinCluster waits until all nodes see each other, and replicas have what their primaries have.
func (w *World) joinCluster(ctx context.Context) error {
	close(w.cluster.started)
	var group machine.Group
	for _, n := range w.servers.Nodes {
		group.Go(func() error { return n.AwaitWhole(ctx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, c := range w.spec.Clusters() {
		replicas := len(c.Nodes)/w.spec.Cluster.Primaries - 1
		for _, primary := range c.Nodes[:w.spec.Cluster.Primaries] {
			group.Go(func() error { return w.servers.Nodes[primary].AwaitAcknowledged(ctx, replicas) })
		}
	}
	return group.Wait()
}

// clusterLinks opens the links of a client to all nodes of a cluster. What they say of addresses becomes the client's own links on the way.
func (w *World) clusterLinks(name string, s *client.SetupMessage) error {
	if w.spec.Cluster == nil {
		return nil
	}
	own := make(map[string]string)
	instead := func(known string) (string, bool) { link, found := own[known]; return link, found }
	for _, to := range w.spec.Nodes {
		e := w.servers.Nodes[to.Name].Endpoint(to.Name)
		link, err := w.links.Open(name, to.Name, proxy.Readdress(e.Dial, instead), w.reader)
		if err != nil {
			return err
		}
		own[w.announced[to.Name]] = link
		s.Nodes = append(s.Nodes, w.servers.Host.Invitation(e, link))
	}
	return nil
}

// lookEvery is how often is looked at what nodes know of their cluster.
const lookEvery = 5 * time.Millisecond

// watchCluster records what the nodes know of their cluster, from now on.
func (w *World) watchCluster() error {
	if w.spec.Cluster == nil {
		return nil
	}
	w.cluster.sights = make(map[string]*server.Sights)
	for name, n := range w.servers.Nodes {
		s, err := n.Sights(func(e history.Event) {
			e.Process, e.Type = name, history.Info
			w.record(e)
		})
		if err != nil {
			return err
		}
		w.cluster.sights[name] = s
	}
	w.background.Go(func() {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		for {
			select {
			case <-w.ctx.Done():
				return
			case <-ticker.C:
				if err := w.lookAtCluster(); err != nil {
					w.endForLack(err)
					return
				}
			}
		}
	})
	return nil
}

// lookAtCluster records what the nodes know by now.
func (w *World) lookAtCluster() error {
	var errs []error
	for _, s := range w.cluster.sights {
		errs = append(errs, s.Look())
	}
	return errors.Join(errs...)
}

// recordSeen records what has been seen of a node. What that knows of its cluster it knew before it served anybody by it.
func (w *World) recordSeen(e history.Event) {
	if s := w.cluster.sights[e.Process]; s != nil {
		if err := s.Look(); err != nil {
			w.endForLack(err)
		}
	}
	w.record(e)
}

// Failover implements world.Replicator.
func (w *World) Failover(name string, how world.Failover) error {
	n := w.servers.Nodes[name]
	if n == nil || w.spec.Cluster == nil {
		return fmt.Errorf("no replica %q of a cluster", name)
	}
	return n.FailOver(w.ctx, how)
}

// MoveSlot implements world.Replicator. Keys go from one node to the other over the link between the two.
func (w *World) MoveSlot(name string, keys world.SlotKeys) (finish func() error, err error) {
	if w.spec.Cluster == nil {
		return nil, errors.New("there is no Redis Cluster")
	}
	var servers []cluster.Server
	for _, node := range w.spec.Beside(name) {
		servers = append(servers, w.servers.Nodes[node].Operated())
	}
	m := w.spec.SlotMove(keys, servers)
	m.Reach = func(from, to string) (string, error) {
		return w.links.Again(world.Link{From: from, To: to}, w.servers.Nodes[to].Server.Door().LinkOperator)
	}
	return m.Finish, m.Open(name)
}
