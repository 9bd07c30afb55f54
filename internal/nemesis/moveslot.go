package nemesis

import (
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name: "move-slot",
		Title: "the slot of the lock's key moves to another primary of a Redis Cluster, as redis-cli --cluster reshard moves it: " +
			"while the fault lasts it is open, and clients meet ASK; then MOVED",
		Powers: []world.Power{world.ReplicaPower},
		New:    func() Fault { return &moveSlot{} },
	})
}

// moveSlot moves the slot of the lock.
type moveSlot struct {
	To   string         `yaml:"to" doc:"the primary that is to have the slot" required:"true"`
	Keys world.SlotKeys `yaml:"keys" doc:"when the keys of the slot move there (MIGRATE): as soon as it is open, at the end, or never, as when somebody only assigns the slot (CLUSTER SETSLOT NODE); or atomic: the servers move both by themselves (CLUSTER MIGRATESLOTS of Valkey 9), and the slot is never open" default:"first" values:"first,last,left,atomic"`
	For  time.Duration  `yaml:"for" doc:"how long the slot is open between the two; without it, until everything heals" min:"1ms" max:"10m"`
}

// Target implements Fault.
func (m *moveSlot) Target() string { return m.To }

// Length implements Fault.
func (m *moveSlot) Length() time.Duration { return m.For }

// Check implements Fault.
func (m *moveSlot) Check(c Cast) []Complaint {
	if !c.Clustered() {
		return []Complaint{noCluster("to")}
	}
	list := complainUnknown("to", "node", m.To, c.Nodes)
	if m.Keys == world.KeysAtomic && m.For > 0 {
		list = append(list, Complaint{Key: "for", Message: "the servers end an atomic move by themselves: leave out for"})
	}
	return list
}

// MovesAtomically reports that one of some faults has the servers move the slot by themselves, which not all of them can.
func MovesAtomically(faults []Planned) bool {
	return slices.ContainsFunc(faults, func(f Planned) bool {
		m, is := f.Fault.(*moveSlot)
		return is && m.Keys == world.KeysAtomic
	})
}

// noCluster complains that a parameter names what only a Redis Cluster has.
func noCluster(key string) Complaint {
	return Complaint{Key: key, Message: "there is no Redis Cluster: nodes: {topology: cluster}"}
}

// Impact implements Fault.
func (m *moveSlot) Impact(world.World) history.Impact {
	words := map[world.SlotKeys]string{
		world.KeysFirst: "the slot of the lock moved to node " + m.To + ", its keys first, and was open",
		world.KeysLast:  "the slot of the lock moved to node " + m.To + ", its keys last, and was open",
		world.KeysLeft:  "the slot of the lock moved to node " + m.To + " without its keys, and was open",

		world.KeysAtomic: "the slot of the lock began to move to node " + m.To + " with its keys at once (CLUSTER MIGRATESLOTS)",
	}[m.Keys]
	return history.Impact{Words: words, Instant: m.Keys == world.KeysAtomic,
		Effects: []history.Strike{{Does: history.Promotes, Nodes: []string{m.To}}}}
}

// Begin implements Fault. The slot stays where it is then.
func (m *moveSlot) Begin(w world.World) (undo func() error, err error) {
	return w.MoveSlot(m.To, m.Keys)
}
