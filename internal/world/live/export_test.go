package live

import "github.com/redlock-sim/redlock-sim/internal/world/live/server"

// Endpoint is a node, past all links.
func (w *World) Endpoint(node string) server.Endpoint { return w.servers.Nodes[node].Endpoint(node) }

// ClientPID is the number of a client's process.
func (w *World) ClientPID(name string) int { return w.clients.Named(name).Proc.PID() }
