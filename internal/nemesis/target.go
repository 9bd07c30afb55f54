package nemesis

import (
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/words"
	"github.com/redlock-sim/redlock-sim/internal/world"
)

// process is the part that faults share which strike one process: a client, a node or a sentinel.
type process struct {
	Client   string `yaml:"client" doc:"the client that is struck"`
	Node     string `yaml:"node" doc:"the node that is struck"`
	Sentinel string `yaml:"sentinel" doc:"the sentinel that is struck"`
}

// Target names whom it strikes.
func (p *process) Target() string {
	for _, name := range []string{p.Client, p.Node, p.Sentinel} {
		if name != "" {
			return name
		}
	}
	return ""
}

// impact is that of a fault that does one or more things to the process, and so to all its clients. Words go on after its name:
// "was paused".
func (p *process) impact(w world.World, words string, does ...history.Does) history.Impact {
	i := history.Impact{Words: p.called(w) + " " + words, Effects: make([]history.Strike, 0, len(does))}
	for _, d := range does {
		s := history.Strike{Does: d}
		if p.Client != "" {
			s.Clients = w.Process(p.Client)
		} else {
			s.Nodes = []string{p.Target()}
		}
		i.Effects = append(i.Effects, s)
	}
	return i
}

// called is what a sentence calls the process.
func (p *process) called(w world.World) string {
	if p.Node != "" {
		return "node " + p.Node
	}
	if p.Sentinel != "" {
		return "sentinel " + p.Sentinel
	}
	return processWords(w, p.Client)
}

// processWords is what a sentence calls the process of a client.
func processWords(w world.World, client string) string {
	of := w.Process(client)
	if len(of) < 2 {
		return client
	}
	return "the process of " + words.List(of)
}

// check demands that exactly one target is given, or none where another has been given already, and that it exists.
func (p *process) check(c Cast, given int) []Complaint {
	var complaints []Complaint
	for _, target := range []struct {
		key, name string
		among     []string
	}{{"client", p.Client, c.Clients}, {"node", p.Node, c.Nodes}, {"sentinel", p.Sentinel, c.Sentinels}} {
		if target.name != "" {
			given++
			complaints = append(complaints, complainUnknown(target.key, target.key, target.name, target.among)...)
		}
	}
	if given != 1 {
		complaints = append(complaints, Complaint{Message: "name exactly one target: client, node, sentinel or resource"})
	}
	return complaints
}

// processOrResource is such a part that can strike the resource, too.
type processOrResource struct {
	process  `yaml:",inline"`
	Resource bool `yaml:"resource" doc:"strike the resource" default:"false"`
}

const resourceName = history.ResourceProcess

// Target names whom it strikes.
func (p *processOrResource) Target() string {
	if name := p.process.Target(); name != "" || !p.Resource {
		return name
	}
	return resourceName
}

func (p *processOrResource) impact(w world.World, words string, does ...history.Does) history.Impact {
	if !p.Resource {
		return p.process.impact(w, words, does...)
	}
	i := history.Impact{Words: "the resource " + words, Effects: make([]history.Strike, 0, len(does))}
	for _, d := range does {
		i.Effects = append(i.Effects, history.Strike{Does: d, Resource: true})
	}
	return i
}

func (p *processOrResource) check(c Cast) []Complaint {
	given := 0
	if p.Resource {
		given = 1
	}
	return p.process.check(c, given)
}
