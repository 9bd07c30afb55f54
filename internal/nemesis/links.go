package nemesis

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// Where is the part that all network faults share: which links they strike, in
// which direction, and for how long.
type Where struct {
	Client    string          `yaml:"client" doc:"the client whose links are struck; all clients where it is left out"`
	Nodes     []string        `yaml:"nodes" doc:"the nodes at the other end; all nodes and sentinels where neither nodes nor resource is given"`
	Resource  bool            `yaml:"resource" doc:"strike the links to the resource (alone, or with the nodes named)" default:"false"`
	Replica   string          `yaml:"replica" doc:"strike the link over which this replica follows its primary, instead"`
	Groups    [][]string      `yaml:"groups" doc:"strike all links between members of different groups, instead: clients, nodes, sentinels and resource, each in one group at most; who is in none is not struck" least:"2" most:"9"`
	Bus       bool            `yaml:"bus" doc:"with groups of nodes of a Redis Cluster: strike the bus alone, by which they tell who is there and who has which slots; clients and replication get through" default:"false"`
	Direction world.Direction `yaml:"direction" doc:"which way, seen from the client or the replica; of two groups requests are what the first sends to the second" default:"both" values:"requests,answers,both"`
	For       time.Duration   `yaml:"for" doc:"how long; without it, until everything heals" min:"1ms" max:"10m"`
}

// Target says whom it strikes in words.
func (l *Where) Target() string {
	if l.Replica != "" {
		return "the replication of " + l.Replica
	}
	if len(l.Groups) > 0 {
		groups := make([]string, len(l.Groups))
		for i, g := range l.Groups {
			groups[i] = strings.Join(g, ",")
		}
		if l.Bus {
			return "the bus of " + strings.Join(groups, " | ")
		}
		return strings.Join(groups, " | ")
	}
	from := l.Client
	if from == "" {
		from = "all clients"
	}
	to := strings.Join(l.Nodes, ",")
	switch {
	case l.Resource && to != "":
		to += ",resource"
	case l.Resource:
		to = "resource"
	case to == "":
		to = "all nodes"
	}
	return from + " to " + to
}

// Length implements Fault.
func (l *Where) Length() time.Duration { return l.For }

// Check implements Fault.
func (l *Where) Check(c Cast) []Complaint {
	var list []Complaint
	if l.Client != "" {
		list = append(list, complainUnknown("client", "client", l.Client, c.Clients)...)
	}
	for _, n := range l.Nodes {
		list = append(list, complainUnknown("nodes", "node", n, c.Endpoints)...)
	}
	if l.Replica != "" {
		list = append(list, complainUnknown("replica", "replica", l.Replica, c.Replicas)...)
		if l.Client != "" || len(l.Nodes) > 0 || l.Resource {
			list = append(list, Complaint{Key: "replica", Message: "a replica's link is struck alone: leave out client, nodes and resource"})
		}
	}
	if l.Bus && !c.Clustered() {
		list = append(list, noCluster("bus"))
	}
	if len(l.Groups) > 0 {
		list = append(list, l.checkGroups(c)...)
	} else if l.Bus {
		list = append(list, Complaint{Message: "the bus is struck between groups of nodes: say which"})
	}
	return list
}

// checkGroups demands that a member of a group exists, and is in one alone.
func (l *Where) checkGroups(c Cast) []Complaint {
	var list []Complaint
	complain := func(format string, args ...any) {
		list = append(list, Complaint{Key: "groups", Message: fmt.Sprintf(format, args...)})
	}
	if l.Client != "" || len(l.Nodes) > 0 || l.Resource || l.Replica != "" {
		complain("groups say all: leave out client, nodes, resource and replica")
	}
	if l.Direction != world.Both && len(l.Groups) != 2 {
		complain("links between more than two groups are struck both ways: leave out direction")
	}
	known, what := slices.Concat(c.Clients, c.Endpoints, c.Sentinels, []string{resourceName}), "client, node or sentinel"
	if l.Bus {
		known, what = c.Nodes, "node on the bus"
	}
	if l.Bus && c.Clustered() && !slices.ContainsFunc(c.Clusters, l.divides) {
		complain("no two of these nodes are in one cluster: they have no bus in common")
	}
	var seen []string
	for _, g := range l.Groups {
		if len(g) == 0 {
			complain("a group is empty")
		}
		for _, name := range g {
			if !slices.Contains(known, name) {
				list = append(list, complainUnknown("groups", what, name, known)...)
			} else if slices.Contains(seen, name) {
				complain("%q is there twice", name)
			}
			for _, other := range c.Process(name) {
				if other != name && slices.Contains(seen, other) && !slices.Contains(g, other) {
					complain("%s and %s are in one process, and so in one group", other, name)
				}
			}
			seen = append(seen, name)
		}
	}
	return list
}

// divides reports that nodes of a cluster are in different groups.
func (l *Where) divides(cluster []string) bool {
	within := slices.DeleteFunc(slices.Clone(l.Groups), func(g []string) bool {
		return !slices.ContainsFunc(g, func(name string) bool { return slices.Contains(cluster, name) })
	})
	return len(within) > 1
}

// group is the group of somebody; -1: none.
func (l *Where) group(name string) int {
	return slices.IndexFunc(l.Groups, func(g []string) bool { return slices.Contains(g, name) })
}

// groupOf is the group of whoever has an end of a link: a client's link is that of its whole process.
func (l *Where) groupOf(end string, w world.World) int {
	for _, client := range w.Process(end) {
		if i := l.group(client); i >= 0 {
			return i
		}
	}
	return l.group(end)
}

// links are the links of the world that it strikes.
func (l *Where) links(w world.World) []world.Link {
	var list []world.Link
	for _, link := range w.Links() {
		if l.strikes(link, w) {
			list = append(list, link)
		}
	}
	return list
}

func (l *Where) strikes(link world.Link, w world.World) bool {
	if l.Replica != "" {
		return link.From == l.Replica && !link.Bus
	}
	if len(l.Groups) > 0 {
		from, to := l.groupOf(link.From, w), l.group(link.To)
		return from >= 0 && to >= 0 && from != to && (link.Bus || !l.Bus)
	}
	if !w.IsClient(link.From) || l.Client != "" && !slices.Contains(w.Process(l.Client), link.From) {
		return false
	}
	if link.To == resourceName {
		return l.Resource
	}
	return slices.Contains(l.Nodes, link.To) || len(l.Nodes) == 0 && !l.Resource
}

// impactOn is the impact of a fault that does something to the links. Words go on
// after who is struck: "were lost".
func (l *Where) impactOn(w world.World, struck, words string, does history.Does) history.Impact {
	s := history.Strike{Does: does}
	for _, link := range l.links(w) {
		s.Links = append(s.Links, ofProcess(w, link)...)
	}
	return history.Impact{Words: struck + " " + l.between(w) + " " + words, Effects: []history.Strike{s}}
}

// ofProcess are a link, and those of all clients that share it: their process has one.
func ofProcess(w world.World, link world.Link) []world.Link {
	list := []world.Link{link}
	for _, other := range w.Process(link.From) {
		if other != link.From {
			list = append(list, world.Link{From: other, To: link.To})
		}
	}
	return list
}

// between says which links are struck, and which way.
func (l *Where) between(w world.World) string {
	if l.Replica != "" {
		return "between replica " + l.Replica + " and its primary" // a replica's link has no direction worth telling
	}
	if len(l.Groups) > 0 {
		groups := make([]string, len(l.Groups))
		for i, g := range l.Groups {
			groups[i] = "{" + strings.Join(g, ", ") + "}"
		}
		between, on := "between "+strings.Join(groups, " and "), ""
		if l.Bus {
			on = " on the bus"
		}
		switch l.Direction {
		case world.Requests:
			between = "from " + groups[0] + " to " + groups[1]
		case world.Answers:
			between = "from " + groups[1] + " to " + groups[0]
		case world.Both:
		}
		return between + on
	}
	from, to, _ := strings.Cut(l.Target(), " to ")
	if l.Client != "" {
		from = processWords(w, l.Client)
	}
	if l.Direction == world.Requests {
		return "from " + from + " to " + to
	}
	if l.Direction == world.Answers {
		return "from " + to + " to " + from
	}
	return "between " + from + " and " + to
}

// disturbance is a network fault in force.
type disturbance struct {
	Where `yaml:",inline"`
}

func (d *disturbance) begin(w world.World, what world.Disturbance) (undo func() error, err error) {
	what.Direction = d.Direction
	links := d.links(w)
	if len(d.Groups) == 0 || d.Direction == world.Both {
		return w.Disturb(links, what)
	}
	// A link that the second group has opened carries what the first one sends as its answers.
	isFirst := func(l world.Link) bool { return d.groupOf(l.From, w) == 0 }
	there, err := w.Disturb(slices.DeleteFunc(slices.Clone(links), func(l world.Link) bool { return !isFirst(l) }), what)
	if err != nil {
		return nil, err
	}
	what.Direction = map[world.Direction]world.Direction{world.Requests: world.Answers, world.Answers: world.Requests}[d.Direction]
	back, err := w.Disturb(slices.DeleteFunc(links, isFirst), what)
	if err != nil {
		return nil, errors.Join(err, there())
	}
	return func() error { return errors.Join(there(), back()) }, nil
}
