package docker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/redlock-sim/redlock-sim/internal/machine"
)

// Labels of all that a run leaves with the engine.
const (
	// ownerLabel tells which process made it, runLabel which run.
	ownerLabel = "redlock-sim.owner"
	runLabel   = "redlock-sim.run"
)

// Run is one run's share of an engine: a network of its own, and all that is
// labelled with it.
type Run struct {
	e     *Engine
	image Image
	// id is in the names and labels of all that the run makes.
	id      string
	labels  map[string]string
	gateway netip.Addr
	bridge  string

	mu         sync.Mutex
	forwarders []*Forwarder
	// sources are the addresses on loopback from which containers come to listeners of ours, by those
	// that they have on the network. They change with each start of a container.
	sources map[netip.Addr]netip.Addr
}

// worldsAtOnce bounds how many runs have a network at a time: an engine has
// some thirty address ranges to give.
var worldsAtOnce = make(chan struct{}, 8)

// callWithin bounds one call to the engine.
const callWithin = time.Minute

// uncancelled is a context for calls that must not be given up half-way: the engine
// would go on, and what it makes would stay behind.
func uncancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), callWithin)
}

// Begin makes a run's network.
func (e *Engine) Begin(ctx context.Context, image Image) (*Run, error) {
	select {
	case worldsAtOnce <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r, err := e.begin(ctx, image)
	if err != nil {
		<-worldsAtOnce
	}
	return r, err
}

func (e *Engine) begin(ctx context.Context, image Image) (*Run, error) {
	me, err := machine.Self()
	if err != nil {
		return nil, err
	}
	id := make([]byte, 6)
	_, _ = rand.Read(id) // it never fails
	r := &Run{e: e, image: image, id: "redlock-sim-" + hex.EncodeToString(id), sources: make(map[netip.Addr]netip.Addr)}
	r.labels = map[string]string{ownerLabel: me.String(), runLabel: r.id}
	ctx, cancel := uncancelled(ctx)
	defer cancel()
	// Nodes talk to nobody but over our links: not to each other, not outside.
	made, err := e.client.NetworkCreate(ctx, r.id, client.NetworkCreateOptions{Driver: "bridge", Labels: r.labels, Options: map[string]string{
		"com.docker.network.bridge.enable_icc":           "false",
		"com.docker.network.bridge.enable_ip_masquerade": "false",
	}})
	if err != nil {
		return nil, fmt.Errorf("failed to make a network: %w", err)
	}
	found, err := e.client.NetworkInspect(ctx, made.ID, client.NetworkInspectOptions{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("failed to look at the network: %w", err), r.remove(ctx))
	}
	for _, c := range found.Network.IPAM.Config {
		if c.Gateway.Is4() {
			r.gateway = c.Gateway
		}
	}
	r.bridge = "br-" + made.ID[:12]
	return r, nil
}

// Image is what the run's servers run in.
func (r *Run) Image() Image { return r.image }

// Close removes everything that the run has made.
func (r *Run) Close() error {
	defer func() { <-worldsAtOnce }()
	ctx, cancel := uncancelled(context.Background())
	defer cancel()
	r.mu.Lock()
	for _, d := range r.forwarders {
		d.close()
	}
	r.mu.Unlock()
	return r.remove(ctx)
}

// remove removes what bears the run's label.
func (r *Run) remove(ctx context.Context) error {
	if _, err := r.e.sweep(ctx, make(client.Filters).Add("label", runLabel+"="+r.id), true, nil); err != nil {
		return fmt.Errorf("failed to remove what the run made: %w", err)
	}
	return nil
}
