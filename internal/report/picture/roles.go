package picture

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// WitnessLane is what a sentinel, or a node of a Redis Cluster, saw and did.
type WitnessLane struct {
	Name string
	// Sees are the stretches in which it took a node for the primary, of a cluster: for that of the lock's slot.
	Sees []Sight
	// Idle are the stretches in which it did nothing: a sentinel in TILT, which trusts its own clock no more, or a node that
	// refuses all commands, because it sees too little of its cluster.
	Idle []Span
	// Deeds are what else it told that matters for who becomes the primary.
	Deeds []Deed
	// OfCluster: it is a node of a cluster, with a lane of its keys.
	OfCluster bool
}

// Sight is a stretch in which a witness took a node for the primary.
type Sight struct {
	Span
	Primary string
	// Sends is to whom the witness sends clients whose keys it has not, while the slot moves; empty: to nobody.
	Sends string
	// Event is the one with which it began; -1: the run did.
	Event int
}

// Deed is something that a witness told, in Redis' word.
type Deed struct {
	At          time.Duration
	Word, About string
	Epoch       history.Int
	Event       int
}

// maxWitnesses bounds how many are drawn.
const maxWitnesses = 25

// witnessLanes reads what sentinels and nodes of a cluster told; no lanes: there were none, or none told anything.
func witnessLanes(h *history.History, nodes []NodeLane, end time.Duration) []WitnessLane {
	var lanes []WitnessLane
	begin := func(name string, ofCluster bool) WitnessLane {
		first := nodes[firstBeside(nodes, name)].Name
		return WitnessLane{Name: name, Sees: []Sight{{Span: Span{0, end}, Primary: first, Event: -1}}, OfCluster: ofCluster}
	}
	find := func(e *history.Event) *WitnessLane {
		i := slices.IndexFunc(lanes, func(l WitnessLane) bool { return l.Name == e.Process })
		if i < 0 && len(lanes) == maxWitnesses {
			return nil
		}
		if i < 0 {
			i = len(lanes)
			lanes = append(lanes, begin(e.Process, e.F == history.Cluster))
		}
		return &lanes[i]
	}
	for i := range h.Events {
		e := &h.Events[i]
		if e.F != history.Sentinel && e.F != history.Cluster {
			continue
		}
		if l := find(e); l != nil {
			l.add(e, i, end)
		}
	}
	for _, l := range lanes {
		first := l.Sees[0].Primary
		if l.OfCluster && !slices.ContainsFunc(lanes, func(l WitnessLane) bool { return l.Name == first }) {
			// It never heard of another primary: that is worth a lane.
			lanes = append(lanes, begin(first, true))
		}
	}
	slices.SortFunc(lanes, func(a, b WitnessLane) int { return strings.Compare(a.Name, b.Name) })
	return lanes
}

// firstBeside is the place of the first node of the cluster that a node is of, where there are several, or else of the first node.
func firstBeside(nodes []NodeLane, name string) int {
	at := slices.IndexFunc(nodes, func(n NodeLane) bool { return n.Name == name })
	return max(slices.IndexFunc(nodes, func(n NodeLane) bool { return at >= 0 && n.Cluster == nodes[at].Cluster }), 0)
}

// joinClusters says of each node to which of several clusters it belongs.
func (s *Scene) joinClusters(clusters []history.ClusterNodes) {
	s.Clusters = len(clusters)
	for i := range s.Nodes {
		for _, c := range clusters {
			if slices.Contains(c.Nodes, s.Nodes[i].Name) {
				s.Nodes[i].Cluster = c.Name
			}
		}
	}
}

// add takes in what a witness told.
func (l *WitnessLane) add(e *history.Event, i int, end time.Duration) {
	switch word := e.Value.Detail(); word {
	case "+switch-master", history.ClusterSlot:
		l.Sees[len(l.Sees)-1].To = e.Time
		l.Sees = append(l.Sees, Sight{Span: Span{e.Time, end}, Primary: e.Value.Target(), Event: i})
	case history.ClusterSends:
		last := &l.Sees[len(l.Sees)-1]
		last.To = e.Time
		l.Sees = append(l.Sees, Sight{Span: Span{e.Time, end}, Primary: last.Primary, Sends: e.Value.Target(), Event: i})
	case "+tilt", history.ClusterRefuses:
		l.Idle = append(l.Idle, Span{e.Time, end})
	case "-tilt", history.ClusterServes:
		if n := len(l.Idle); n > 0 {
			l.Idle[n-1].To = e.Time
		}
	default:
		if decides(word) {
			l.Deeds = append(l.Deeds, Deed{At: e.Time, Word: word, About: e.Value.Target(), Epoch: e.Value.Epoch(), Event: i})
		}
	}
}

// tellsAs reports that two witnesses took the same nodes for the primary, in the same order, and refused alike.
func (l *WitnessLane) tellsAs(other *WitnessLane) bool {
	return len(l.Idle) == len(other.Idle) &&
		slices.EqualFunc(l.Sees, other.Sees, func(a, b Sight) bool { return a.Primary == b.Primary })
}

// decides reports that a word is about who becomes the primary.
func decides(word string) bool {
	switch word {
	case "+sdown", "-sdown", "+odown", "-odown", "+vote-for-leader", "+elected-leader", "+promoted-slave", "+convert-to-slave",
		history.ClusterFailed, history.ClusterBack, history.ClusterTakes:
		return true
	}
	return strings.HasPrefix(word, "-failover-abort")
}

// leaders fills in when each node served as the primary: the first one (of a cluster) does from the start, any other from its promotion on.
// Without witnesses a promotion ends what another one's was; with them only its own demotion does, or its death, or that it
// refuses all commands.
func leaders(h *history.History, lanes []NodeLane, watched bool, end time.Duration) {
	stop := func(n *NodeLane, at time.Duration) bool {
		last := len(n.Primary) - 1
		if last < 0 || n.Primary[last].To < end {
			return false
		}
		n.Primary[last].To = at
		return true
	}
	out := make(map[string]bool) // it died as the primary, or refuses all commands
	back := func(n *NodeLane, at time.Duration) {
		if out[n.Name] {
			n.Primary = append(n.Primary, Span{at, end})
			out[n.Name] = false
		}
	}
	for i := range lanes {
		if firstBeside(lanes, lanes[i].Name) == i {
			lanes[i].Primary = []Span{{0, end}}
		}
	}
	for i := range h.Events {
		e := &h.Events[i]
		at := slices.IndexFunc(lanes, func(l NodeLane) bool { return l.Name == e.Process })
		if at < 0 {
			continue
		}
		n := &lanes[at]
		switch e.F {
		case history.NodePromoted:
			for j := range lanes {
				if lanes[j].Cluster != n.Cluster {
					continue
				}
				lanes[j].stopTaking(e.Time)
				if !watched && j != at {
					stop(&lanes[j], e.Time)
					out[lanes[j].Name] = false
				}
			}
			if last := len(n.Primary) - 1; last < 0 || n.Primary[last].To < end {
				n.Primary = append(n.Primary, Span{e.Time, end})
			}
		case history.NodeDemoted:
			stop(n, e.Time)
			out[n.Name] = false
		case history.NodeDown:
			out[n.Name] = stop(n, e.Time)
		case history.NodeUp:
			back(n, e.Time)
		case history.Cluster:
			switch e.Value.Detail() {
			case history.ClusterRefuses:
				out[n.Name] = stop(n, e.Time)
			case history.ClusterServes:
				back(n, e.Time)
			case history.ClusterTakes:
				n.stopTaking(e.Time)
				n.Takes = append(n.Takes, Span{e.Time, end})
			}
		}
	}
}

// stopTaking: nobody sends the node anything any more.
func (n *NodeLane) stopTaking(at time.Duration) {
	if last := len(n.Takes) - 1; last >= 0 {
		n.Takes[last].To = min(n.Takes[last].To, at)
	}
}

// splits are the stretches in which more than one node served as the primary, of one of several clusters.
func splits(lanes []NodeLane) (list []Span) {
	for len(lanes) > 0 {
		others := func(n NodeLane) bool { return n.Cluster != lanes[0].Cluster }
		list = append(list, splitsOf(slices.DeleteFunc(slices.Clone(lanes), others))...)
		lanes = slices.DeleteFunc(slices.Clone(lanes), func(n NodeLane) bool { return !others(n) })
	}
	return list
}

func splitsOf(lanes []NodeLane) []Span {
	var turns, list []Span
	for i := range lanes {
		turns = append(turns, lanes[i].Primary...)
	}
	slices.SortFunc(turns, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	reach := Span{}
	for _, t := range turns {
		if both := (Span{t.From, min(t.To, reach.To)}); t.Overlaps(reach) {
			if n := len(list); n > 0 && list[n-1].Touches(both) {
				list[n-1].To = max(list[n-1].To, both.To)
			} else {
				list = append(list, both)
			}
		}
		reach.To = max(reach.To, t.To)
	}
	return list
}
