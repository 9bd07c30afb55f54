package nemesis

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

func init() {
	register(Kind{
		Name:   "promote",
		Title:  "make a replica the primary and connect the clients to it, as a failover does",
		Powers: []world.Power{world.ReplicaPower},
		New:    func() Fault { return &promote{} },
	})
}

// promote ends a failover: the replica takes over with what it has.
type promote struct {
	Node     string         `yaml:"node" doc:"the replica to promote" required:"true"`
	Failover world.Failover `yaml:"failover" doc:"how a replica of a Redis Cluster is told (CLUSTER FAILOVER): takeover asks nobody, force asks the primaries for their votes, plain asks its own primary first; others than takeover can fail, and nobody is told" default:"takeover" values:"takeover,force,plain"`
}

func (p *promote) Target() string        { return p.Node }
func (p *promote) Length() time.Duration { return 0 }

func (p *promote) Check(c Cast) []Complaint {
	if len(c.Sentinels) > 0 {
		return []Complaint{{Message: "the sentinels decide who becomes the primary: kill, pause or cut off the one that is"}}
	}
	if p.Failover != world.Takeover && !c.Clustered() {
		return []Complaint{noCluster("failover")}
	}
	return complainUnknown("node", "replica", p.Node, c.Replicas)
}

// Impact implements Fault.
func (p *promote) Impact(world.World) history.Impact {
	words := "became the primary"
	if p.Failover != world.Takeover {
		words = "was told to become the primary (CLUSTER FAILOVER, " + p.Failover.String() + ")"
	}
	i := (&process{Node: p.Node}).impact(nil, words, history.Promotes)
	i.Instant = true
	return i
}

// Begin promotes. A failover is not taken back.
func (p *promote) Begin(w world.World) (undo func() error, err error) {
	if p.Failover != world.Takeover {
		return nothingToUndo, w.Failover(p.Node, p.Failover)
	}
	return nothingToUndo, w.Promote(p.Node)
}
