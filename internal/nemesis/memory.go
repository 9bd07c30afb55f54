package nemesis

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	powers := []world.Power{world.MemoryPower}
	register(Kind{
		Name: "flush", Title: "a node loses all of its keys, as when somebody sends it FLUSHALL", Powers: powers,
		New: func() Fault { return &flush{} },
	})
	register(Kind{
		Name: "evict",
		Title: "a node evicts all keys that have a TTL, as one does that has too little memory for the rest, " +
			"where maxmemory-policy is volatile-lru or the like",
		Powers: powers,
		New:    func() Fault { return &evict{} },
	})
	register(Kind{
		Name:   "fill",
		Title:  "a node has reached its maxmemory and evicts nothing: it refuses each command that takes memory (OOM), also in scripts",
		Powers: powers,
		New:    func() Fault { return &fill{} },
	})
}

// ofNode is a fault of the memory of a node.
type ofNode struct {
	Node string `yaml:"node" doc:"the node that is struck" required:"true"`
}

// flush removes all keys of a node, evict those that have a TTL.
type (
	flush struct {
		ofNode `yaml:",inline"`
	}
	evict struct {
		ofNode `yaml:",inline"`
	}
)

// fill lets a node refuse what takes memory.
type fill struct {
	ofNode `yaml:",inline"`
	For    time.Duration `yaml:"for" doc:"how long; without it, until everything heals" min:"1ms" max:"10m"`
}

var _, _ slowFault = (*flush)(nil), (*evict)(nil)

// Target implements Fault.
func (f *ofNode) Target() string { return f.Node }

// Length implements Fault: its keys are gone at once.
func (f *ofNode) Length() time.Duration { return breaking }

// Check implements Fault.
func (f *ofNode) Check(c Cast) []Complaint { return complainUnknown("node", "node", f.Node, c.Nodes) }

// freezeTarget implements slowFault: that keys were removed is told as soon as they are. The node need not be frozen for that.
func (f *ofNode) freezeTarget(w world.World) bool { return w.Reaches(f.Node) }

func (f *ofNode) lost(words string) history.Impact {
	i := (&process{Node: f.Node}).impact(nil, words, history.Forgets)
	i.Instant = true
	return i
}

// Impact implements Fault.
func (f *flush) Impact(world.World) history.Impact { return f.lost("lost all of its keys (FLUSHALL)") }

// Impact implements Fault.
func (f *evict) Impact(world.World) history.Impact { return f.lost("evicted its keys that have a TTL") }

func nothingToUndo() error { return nil }

// Begin implements Fault. What is gone stays gone.
func (f *flush) Begin(w world.World) (undo func() error, err error) {
	return nothingToUndo, w.Wipe(f.Node)
}

// Begin implements Fault.
func (f *evict) Begin(w world.World) (undo func() error, err error) {
	return nothingToUndo, w.Evict(f.Node)
}

// Length implements Fault.
func (f *fill) Length() time.Duration { return f.For }

// freezeTarget implements slowFault: nothing shows before it has begun.
func (f *fill) freezeTarget(world.World) bool { return false }

// Impact implements Fault.
func (f *fill) Impact(world.World) history.Impact {
	return (&process{Node: f.Node}).impact(nil, "had no memory left, and refused what takes some", history.Refuses)
}

// Begin implements Fault.
func (f *fill) Begin(w world.World) (undo func() error, err error) { return w.Fill(f.Node) }
