package nemesis

import (
	"math/rand/v2"
	"sort"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Mix draws random faults from the seed.
type Mix struct {
	// Every is the time between two faults, During how long they go on.
	Every  Distribution  `yaml:"every" doc:"time between two faults" default:"exp(mean=300ms)"`
	During time.Duration `yaml:"during" doc:"how long faults go on" min:"1ms" max:"1h" default:"5s"`
	// Swarm switches each kind off entirely in half of the runs.
	Swarm bool `yaml:"swarm" doc:"in each run switch some kinds off entirely, drawn from the seed: it finds more than all kinds at once" default:"true"`
	// Kinds by name.
	Kinds map[string]MixKind `yaml:"kinds" doc:"the kinds of faults to draw, by name" required:"true"`
}

// MixKind is one kind of fault in a mix.
type MixKind struct {
	Weight float64      `yaml:"weight" doc:"how often it is drawn, beside the others" min:"0" max:"1000" default:"1"`
	For    Distribution `yaml:"for" doc:"how long one lasts" default:"exp(mean=200ms)"`
	Of     string       `yaml:"of" doc:"whom it strikes" default:"any" values:"clients,nodes,any"`
	By     Distribution `yaml:"by" doc:"how much: the delay of latency, the jump of clock" default:"exp(mean=200ms)"`
	// Widely draws from more: single directions, links to the resource, clocks
	// of clients.
	Widely bool
}

// drawn makes a random fault of a kind; nil where the kind cannot be drawn.
type drawn func(r *rand.Rand, c Cast, k MixKind) Fault

var mixable = map[string]drawn{
	"pause": func(r *rand.Rand, c Cast, k MixKind) Fault {
		client, node := k.victim(r, c)
		return &pause{Client: client, Node: node, For: k.For.Draw(r)}
	},
	"kill": func(r *rand.Rand, c Cast, k MixKind) Fault {
		k.Of = "nodes"
		_, node := k.victim(r, c)
		return &kill{Node: node, Keep: "nothing", For: k.For.Draw(r)}
	},
	"latency": func(r *rand.Rand, c Cast, k MixKind) Fault {
		f := &latency{Delay: max(k.By.Draw(r), time.Millisecond)}
		f.Where = k.where(r, c)
		return f
	},
	"cut": func(r *rand.Rand, c Cast, k MixKind) Fault {
		f := &cut{}
		f.Where = k.where(r, c)
		return f
	},
	"reset": func(r *rand.Rand, c Cast, k MixKind) Fault {
		f := &reset{}
		f.Where = k.where(r, c)
		return f
	},
	"hold": func(r *rand.Rand, c Cast, k MixKind) Fault {
		f := &hold{}
		f.Where = k.where(r, c)
		return f
	},
	"clock": func(r *rand.Rand, c Cast, k MixKind) Fault {
		if !k.Widely {
			k.Of = "nodes"
		}
		client, node := k.victim(r, c)
		jump := k.By.Draw(r)
		if r.IntN(2) == 0 {
			jump = -jump
		}
		return &clock{Client: client, Node: node, Which: "wall", Jump: jump, Rate: 1, For: k.For.Draw(r)}
	},
}

// MixKinds lists the kinds that a mix can draw.
func MixKinds() []string {
	list := make([]string, 0, len(mixable))
	for name := range mixable {
		list = append(list, name)
	}
	sort.Strings(list)
	return list
}

// Draw draws a fault of a kind that MixKinds lists.
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
	return "", all[i]
}

func (k MixKind) where(r *rand.Rand, c Cast) Where {
	w := Where{Client: c.Clients[r.IntN(len(c.Clients))], Direction: "both", For: k.For.Draw(r)}
	if k.Widely {
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

// choice is a kind with its share of the draws.
type choice struct {
	name   string
	kind   MixKind
	id     int
	weight float64
}

// choices are the kinds of this run, in the order of their names.
func (m *Mix) choices(r *rand.Rand, after int) (list []choice, total float64) {
	names := make([]string, 0, len(m.Kinds))
	for name := range m.Kinds {
		names = append(names, name)
	}
	sort.Strings(names)
	spared := r.IntN(max(len(names), 1)) // at least one kind stays
	for i, name := range names {
		off := m.Swarm && r.IntN(2) == 0 && i != spared
		if k := m.Kinds[name]; !off && k.Weight > 0 {
			list = append(list, choice{name, k, after + i + 1, k.Weight})
			total += k.Weight
		}
	}
	return list, total
}

// mingle fires the mix.
func (s *Schedule) mingle() {
	r := s.rand(0)
	choices, total := s.mix.choices(r, len(s.faults))
	for s.wait(s.mix.Every.Draw(r)) && s.w.Now() < s.mix.During && len(choices) > 0 {
		x := r.Float64() * total
		c := choices[len(choices)-1]
		for _, candidate := range choices {
			if x -= candidate.weight; x < 0 {
				c = candidate
				break
			}
		}
		s.strike(c.id, Planned{Kind: c.name, Fault: mixable[c.name](r, s.cast, c.kind), When: Trigger{Every: s.mix.Every}})
	}
}
