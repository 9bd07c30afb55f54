package live

// Address is where a node listens, past all links.
func (w *World) Address(node string) string { return w.servers.Nodes[node].Address() }
