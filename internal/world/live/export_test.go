package live

import "github.com/redlock-sim/redlock-sim/internal/world/live/server"

// Endpoint is a node, past all links.
func (w *World) Endpoint(node string) server.Endpoint { return w.servers.Nodes[node].Endpoint(node) }

// ClientPID is the number of a client's process.
func (w *World) ClientPID(name string) int { return w.clients.Named(name).Proc.PID() }

// AskSentinel has a sentinel carry out a command, past all links.
func (w *World) AskSentinel(name string, words ...any) ([]any, error) {
	return w.servers.Sentinels[name].Admin.Do(w.ctx, append([]any{"sentinel"}, words...)...).Slice()
}

// Announced is the address at which servers and sentinels reach one of them.
func (w *World) Announced(name string) string { return w.announced[name] }
