package facts

import "slices"

// collectClusters takes note of which server is of which Redis Cluster, where each node of the lock is one.
func (f *Facts) collectClusters() {
	for _, c := range f.History.Header.Clusters {
		for _, server := range c.Nodes {
			if f.clusterOf == nil {
				f.clusterOf = make(map[string]string)
			}
			if _, twice := f.clusterOf[server]; !twice {
				f.clusterOf[server] = c.Name
			}
		}
	}
}

// ClusterOf is the Redis Cluster that a server is of, where each node of the lock is one; empty: the server is a node of the lock itself.
func (f *Facts) ClusterOf(server string) string { return f.clusterOf[server] }

// Beside are the servers of the Redis Cluster that a server is of, where each node of the lock is one.
func (f *Facts) Beside(server string) []string {
	for _, c := range f.History.Header.Clusters {
		if slices.Contains(c.Nodes, server) {
			return c.Nodes
		}
	}
	return nil
}

// NodesTotal is how many nodes the lock has.
func (f *Facts) NodesTotal() int {
	if n := len(f.History.Header.Clusters); n > 0 {
		return n
	}
	return len(f.History.Header.Nodes)
}

// NodeCount counts nodes of the lock by their servers: a cluster once.
type NodeCount struct {
	N     int
	facts *Facts
	seen  map[string]bool
}

// CountNodes begins to count.
func (f *Facts) CountNodes() NodeCount { return NodeCount{facts: f} }

// Add counts the node that a server is, or is of, and reports whether that has not been counted yet.
func (c *NodeCount) Add(server string) bool {
	if cluster := c.facts.ClusterOf(server); cluster != "" {
		if c.seen[cluster] {
			return false
		}
		if c.seen == nil {
			c.seen = make(map[string]bool)
		}
		c.seen[cluster] = true
	}
	c.N++
	return true
}

// CountAll counts the nodes that some servers are, or are of.
func CountAll[V any](f *Facts, servers map[string]V) int {
	c := f.CountNodes()
	for server := range servers {
		c.Add(server)
	}
	return c.N
}
