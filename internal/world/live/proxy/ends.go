package proxy

import (
	"maps"
	"net"
)

// ends are the addresses of a connection between a link and a node: the link's and the node's.
type ends struct{ link, node string }

// leads notes where a connection that has a name leads, before anything goes over it.
func (w *Wire) leads(c *conn, party net.Conn) {
	if c.name == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.names == nil {
		w.names = make(map[ends]string)
	}
	if w.names[ends{party.LocalAddr().String(), party.RemoteAddr().String()}] = c.name; len(w.names) > maxWaiting {
		maps.DeleteFunc(w.names, func(_ ends, name string) bool { return w.conns[name] == nil })
	}
}

// NameAt is the name of the latest connection that came to a node from an address; empty: no link has opened it. A node that runs a
// long script refuses the name that a link gives, and shows the address none the less. Behind Docker's port it shows another one.
func (w *Wire) NameAt(from, node string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.names[ends{from, node}]
}
