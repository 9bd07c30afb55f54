package nemesis

import "github.com/redlock-sim/redlock-sim/internal/history"

// Many faults strike one process: a client, a node or the resource.

// oneOf is the process that the three parameters name.
func oneOf(client, node string, resource bool) string {
	switch {
	case client != "":
		return client
	case node != "":
		return node
	case resource:
		return history.ResourceProcess
	}
	return ""
}

// impactOn is the impact of a fault that does one or more things to the process
// that the three parameters name. Words go on after its name: "was paused".
func impactOn(client, node string, resource bool, words string, does ...history.Does) history.Impact {
	i := history.Impact{Effects: make([]history.Strike, 0, len(does))}
	for _, d := range does {
		s := history.Strike{Does: d, Resource: resource}
		if client != "" {
			s.Clients = []string{client}
		}
		if node != "" {
			s.Nodes = []string{node}
		}
		i.Effects = append(i.Effects, s)
	}
	switch {
	case node != "":
		i.Words = "node " + node + " " + words
	case resource:
		i.Words = "the resource " + words
	default:
		i.Words = client + " " + words
	}
	return i
}

const resourceName = history.ResourceProcess

// checkTarget demands that exactly one of the three is given, and exists.
func checkTarget(c Cast, client, node string, resource bool) []Complaint {
	given := 0
	var complaints []Complaint
	if client != "" {
		given++
		complaints = append(complaints, complainUnknown("client", "client", client, c.Clients)...)
	}
	if node != "" {
		given++
		complaints = append(complaints, complainUnknown("node", "node", node, c.Nodes)...)
	}
	if resource {
		given++
	}
	if given != 1 {
		complaints = append(complaints, Complaint{Message: "name exactly one target: client, node or resource"})
	}
	return complaints
}
