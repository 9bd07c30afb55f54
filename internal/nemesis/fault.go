package nemesis

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Kind is a kind of fault: what a scenario can name.
type Kind struct {
	// Name is the key under which a scenario writes the fault.
	Name string
	// Title is one line for a person.
	Title string
	// Powers are what the world must be able to do.
	Powers []world.Power
	// New makes the fault's parameters with their defaults; a scenario's YAML
	// is decoded into them.
	New func() Fault
}

// Fault is one fault with its parameters. It keeps no state: the same fault may
// strike in several runs at once.
type Fault interface {
	// Target names whom it strikes.
	Target() string
	// Length is how long it is to last; 0: it happens and is over, or it lasts
	// until everything heals.
	Length() time.Duration
	// Check says what is wrong with the parameters, given who takes part.
	Check(Cast) []Complaint
	// Impact says what it does in w, and to whom. The checker and the report know
	// of a fault what its Impact says, and no more.
	Impact(w world.World) history.Impact
	// Begin returns once the fault has taken effect, with what undoes it.
	Begin(world.World) (undo func() error, err error)
}

// PowersOf are the powers that one fault needs: those of its kind, or fewer where
// its parameters say so.
func PowersOf(kind string, f Fault) []world.Power {
	if choosy, ok := f.(interface{ Powers() []world.Power }); ok {
		return choosy.Powers()
	}
	return kinds[kind].Powers
}

// Cast is who takes part in a run.
type Cast struct {
	Clients, Nodes []string
	// PerProcess is how many of the clients share a process; 0: each has one of its own.
	PerProcess int
	// Endpoints are the names under which clients reach the nodes: the nodes
	// themselves, or the primary of a replicated set.
	Endpoints []string
	// Replicas are the nodes that follow another, or may come to.
	Replicas []string
	// Sentinels watch the nodes, and decide who follows whom.
	Sentinels []string
	// Clusters are the nodes of each Redis Cluster; the first has the slot of the lock from the start.
	Clusters [][]string
	// Tears and Flips: the append-only file of a node can be torn, and a bit of it flipped.
	Tears, Flips bool
}

// Process are the clients that share the process of one.
func (c Cast) Process(client string) []string { return world.Process(c.Clients, c.PerProcess, client) }

// Clustered reports that the nodes are a Redis Cluster, or several.
func (c Cast) Clustered() bool { return len(c.Clusters) > 0 }

// FailsOver reports that the nodes, or those who watch them, may by themselves let another node have what the lock has.
func (c Cast) FailsOver() bool { return c.Clustered() || len(c.Sentinels) > 0 }

// spares are the primaries of clusters to which the slot of the lock can move.
func (c Cast) spares() (list []string) {
	for _, nodes := range c.Clusters {
		for _, n := range nodes[1:] {
			if !slices.Contains(c.Replicas, n) {
				list = append(list, n)
			}
		}
	}
	return list
}

// Complaint is one thing wrong with a fault's parameters.
type Complaint struct {
	// Key is the parameter.
	Key     string
	Message string
	// Given is the value, and Allowed are those that would do, where they can be listed.
	Given   string
	Allowed []string
}

// complainUnknown returns a complaint where name is none of allowed.
func complainUnknown(key, what, name string, allowed []string) []Complaint {
	if slices.Contains(allowed, name) {
		return nil
	}
	message := fmt.Sprintf("no %s %q", what, name)
	if name == "" {
		message = "missing: which " + what + "?"
	}
	return []Complaint{{Key: key, Message: message, Given: name, Allowed: allowed}}
}

var kinds = map[string]Kind{}

// register is called by the file of each kind.
func register(k Kind) {
	if _, twice := kinds[k.Name]; twice {
		panic("nemesis: fault registered twice: " + k.Name)
	}
	kinds[k.Name] = k
}

// Kinds lists all kinds by name.
func Kinds() []Kind {
	return slices.SortedFunc(maps.Values(kinds), func(a, b Kind) int { return strings.Compare(a.Name, b.Name) })
}

// Lookup finds a kind by name.
func Lookup(name string) (Kind, bool) {
	k, ok := kinds[name]
	return k, ok
}
