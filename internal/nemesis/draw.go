package nemesis

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// drawFunc makes a random fault of a kind; nil where the kind cannot be drawn.
type drawFunc func(r *rand.Rand, c Cast, k MixKind) Fault

var mixable = map[string]drawFunc{
	"pause": func(r *rand.Rand, c Cast, k MixKind) Fault {
		client, node := k.victim(r, c)
		return &pause{processOrResource: processOrResource{process: process{Client: client, Node: node}}, For: k.For.Draw(r)}
	},
	"kill": drawKill,
	Cancel: func(r *rand.Rand, c Cast, _ MixKind) Fault { return &cancel{Client: c.Clients[r.IntN(len(c.Clients))]} },
	"latency": func(r *rand.Rand, c Cast, k MixKind) Fault {
		f := &latency{Delay: max(k.By.Draw(r), time.Millisecond)}
		if k.Widely && r.IntN(3) == 0 {
			f.Jitter = f.Delay // messages overtake each other
		}
		f.Where = k.where(r, c)
		return f
	},
	"cut":   drawPlain(&cut),
	"reset": drawPlain(&reset),
	"hold":  drawPlain(&hold),
	"stall": func(r *rand.Rand, c Cast, k MixKind) Fault {
		return &stall{disturbance: disturbance{Where: k.where(r, c)}}
	},
	"clock": drawClock,
	"bandwidth": func(r *rand.Rand, c Cast, k MixKind) Fault {
		// A usual message of about 100 bytes takes as long as By says.
		f := &bandwidth{Rate: min(max(int64(100*time.Second/max(k.By.Draw(r), time.Microsecond)), 1000), 1_000_000)}
		f.Where = k.where(r, c)
		return f
	},
	"limit-data": func(r *rand.Rand, c Cast, k MixKind) Fault {
		f := &limitData{Bytes: 1 + r.Int64N(1000)}
		f.Where = k.where(r, c)
		return f
	},
	"slow-close": func(r *rand.Rand, c Cast, k MixKind) Fault {
		f := &slowClose{Delay: max(k.By.Draw(r), time.Millisecond)}
		f.Where = k.where(r, c)
		return f
	},
	"refuse": func(r *rand.Rand, c Cast, k MixKind) Fault {
		k.Widely = false // of links to nodes alone
		where := k.where(r, c)
		return &refuse{Client: where.Client, Nodes: where.Nodes, Error: drawnErrors[r.IntN(len(drawnErrors))], For: where.For}
	},
	"fill": func(r *rand.Rand, c Cast, k MixKind) Fault {
		return &fill{ofNode{c.Nodes[r.IntN(len(c.Nodes))]}, k.For.Draw(r)}
	},
	"evict": func(r *rand.Rand, c Cast, _ MixKind) Fault { return &evict{ofNode{c.Nodes[r.IntN(len(c.Nodes))]}} },
	"flush": func(r *rand.Rand, c Cast, _ MixKind) Fault { return &flush{ofNode{c.Nodes[r.IntN(len(c.Nodes))]}} },
	"promote": func(r *rand.Rand, c Cast, k MixKind) Fault {
		if !c.Suffers("promote") {
			return nil
		}
		f := &promote{Node: c.Replicas[r.IntN(len(c.Replicas))]}
		if c.Clustered() && k.Widely {
			f.drawFailover(r, c)
		}
		return f
	},
	"move-slot": func(r *rand.Rand, c Cast, k MixKind) Fault {
		if !c.Suffers("move-slot") {
			return nil
		}
		others := c.spares()
		keys := []world.SlotKeys{world.KeysFirst, world.KeysLast, world.KeysLeft}[r.IntN(3)]
		return &moveSlot{To: others[r.IntN(len(others))], Keys: keys, For: k.For.Draw(r)}
	},
}

// Suffers reports that a kind of fault that MixKinds lists can strike somebody of the cast.
func (c Cast) Suffers(kind string) bool {
	switch kind {
	case "promote":
		return len(c.Replicas) > 0 && len(c.Sentinels) == 0 // which decide themselves
	case "move-slot":
		return len(c.spares()) > 0
	}
	return true
}

// drawCluster draws one of the clusters, if there are several.
func (c Cast) drawCluster(r *rand.Rand) []string {
	if len(c.Clusters) == 1 {
		return c.Clusters[0]
	}
	return c.Clusters[r.IntN(len(c.Clusters))]
}

// DrawHolder draws a node that has the lock's key from the start, where the nodes fail over.
func (c Cast) DrawHolder(r *rand.Rand) string {
	if c.Clustered() {
		return c.drawCluster(r)[0]
	}
	return c.Nodes[0]
}

// drawFailover draws how a replica of a cluster becomes the primary; it is mostly one of the slot of the lock.
func (p *promote) drawFailover(r *rand.Rand, c Cast) {
	if r.IntN(2) == 0 {
		nodes := c.drawCluster(r)
		p.Node = nodes[slices.IndexFunc(nodes, func(n string) bool { return slices.Contains(c.Replicas, n) })]
	}
	p.Failover = []world.Failover{world.Takeover, world.ForcedFailover, world.PlainFailover}[r.IntN(3)]
}

// drawnErrors are codes of those errors with which locks meet most.
var drawnErrors = []string{"LOADING", "READONLY", "OOM", "BUSY"}

// drawPlain draws a disturbance without parameters.
func drawPlain(kind *plainKind) drawFunc {
	return func(r *rand.Rand, c Cast, k MixKind) Fault {
		return kind.new(disturbance{Where: k.where(r, c)})
	}
}

func drawKill(r *rand.Rand, c Cast, k MixKind) Fault {
	if !k.Widely {
		k.Of = "nodes"
	}
	client, node := k.victim(r, c)
	f := &kill{processOrResource: processOrResource{process: process{Client: client, Node: node}}, Keep: world.KeepNothing, For: k.For.Draw(r)}
	if k.Widely && node != "" {
		f.Keep = []world.Keep{world.KeepNothing, world.KeepNothing, world.KeepData, world.KeepSynced}[r.IntN(4)]
		f.Keep = drawDamage(r, c, f.Keep)
	}
	return f
}

// drawDamage lets some of the power cuts damage the node's append-only file, where it has one.
func drawDamage(r *rand.Rand, c Cast, keep world.Keep) world.Keep {
	switch {
	case keep == world.KeepSynced && c.Flips:
		return []world.Keep{world.KeepSynced, world.KeepTorn, world.KeepFlipped}[r.IntN(3)]
	case keep == world.KeepSynced && c.Tears:
		return []world.Keep{world.KeepSynced, world.KeepTorn}[r.IntN(2)]
	}
	return keep
}

func drawClock(r *rand.Rand, c Cast, k MixKind) Fault {
	if !k.Widely || r.IntN(4) > 0 {
		k.Of = "nodes"
	}
	client, node := k.victim(r, c)
	jump := k.By.Draw(r)
	if r.IntN(2) == 0 {
		jump = -jump
	}
	f := &clock{process: process{Client: client, Node: node}, Which: world.WallClock, Jump: jump, Rate: 1, For: k.For.Draw(r)}
	if k.Widely {
		f.drawWidely(r, k)
	}
	return f
}

// drawWidely draws from all that can be wrong with a clock.
func (c *clock) drawWidely(r *rand.Rand, k MixKind) {
	if c.Client != "" && r.IntN(2) == 0 {
		c.Which, c.Jump = world.MonotonicClock, c.Jump.Abs() // it never goes back
	}
	switch r.IntN(8) {
	case 0:
		c.Jump, c.Rate = 0, []float64{0, 0.5, 0.9, 1.1, 2}[r.IntN(5)]
	case 1:
		if c.Node != "" {
			c.Strobe = max(k.By.Draw(r)/4, 10*time.Millisecond)
		}
	}
}

// MixKinds lists the kinds that a mix can draw.
func MixKinds() []string {
	return slices.Sorted(maps.Keys(mixable))
}

// Draw draws a fault of a kind that MixKinds lists; nil where nobody of the cast
// can suffer it.
func (k MixKind) Draw(r *rand.Rand, kind string, c Cast) Fault { return mixable[kind](r, c, k) }

func (k MixKind) victim(r *rand.Rand, c Cast) (client, node string) {
	var all []string
	if k.Of != "nodes" {
		all = append(all, c.Clients...)
	}
	if k.Of != "clients" {
		all = append(all, c.Nodes...)
	}
	i := r.IntN(len(all))
	if k.Of != "nodes" && i < len(c.Clients) {
		return all[i], ""
	}
	if c.FailsOver() && k.Widely && r.IntN(2) == 0 {
		return "", c.DrawHolder(r)
	}
	return "", all[i]
}

// groups draws that a node, and the others with the sentinels, lose each other: with some of the clients on each side, or in a cluster on
// the bus alone.
func (k MixKind) groups(r *rand.Rand, c Cast) Where {
	_, node := MixKind{Of: "nodes", Widely: true}.victim(r, c)
	w := Where{Direction: world.Both, Bus: c.Clustered() && r.IntN(3) == 0, For: k.For.Draw(r)}
	one := []string{node}
	others := slices.DeleteFunc(slices.Concat(c.Nodes, c.Sentinels), func(n string) bool { return n == node })
	for _, nodes := range c.Clusters {
		if at := slices.Index(nodes, node); at >= 0 {
			others = slices.Delete(slices.Clone(nodes), at, at+1)
		}
	}
	if w.Bus {
		w.Direction = []world.Direction{world.Both, world.Requests, world.Answers}[r.IntN(3)]
	} else {
		for _, client := range c.Clients {
			if c.Process(client)[0] != client { // it is where the first of its process is
				continue
			}
			if r.IntN(2) == 0 {
				one = append(one, client)
			} else {
				others = append(others, client)
			}
		}
	}
	w.Groups = [][]string{one, others}
	return w
}

func (k MixKind) where(r *rand.Rand, c Cast) Where {
	w := Where{Client: c.Clients[r.IntN(len(c.Clients))], Direction: world.Both, For: k.For.Draw(r)}
	if k.Widely {
		if len(c.Replicas) > 0 && (len(c.Endpoints) == 0 || r.IntN(3) == 0) {
			return Where{Replica: c.Replicas[r.IntN(len(c.Replicas))], Direction: world.Both, For: w.For}
		}
		if c.FailsOver() && r.IntN(2) == 0 {
			return k.groups(r, c)
		}
		w.Direction = []world.Direction{world.Both, world.Requests, world.Answers}[r.IntN(3)]
		if r.IntN(4) == 0 {
			w.Resource = true
			return w
		}
	}
	for _, n := range c.Endpoints {
		if r.IntN(2) == 0 {
			w.Nodes = append(w.Nodes, n)
		}
	}
	if len(w.Nodes) == 0 {
		w.Nodes = []string{c.Endpoints[r.IntN(len(c.Endpoints))]}
	}
	return w
}
