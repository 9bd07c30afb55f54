package proxy

import (
	"maps"
	"net"
)

// ends are the addresses of a connection between a link and a node: the link's and the node's.
type ends struct{ link, node string }

// noteEnds notes where a connection that has a name leads, before anything goes over it.
func (r *ConnReader) noteEnds(c *conn, party net.Conn) {
	if c.name == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		r.names = make(map[ends]string)
	}
	if r.names[ends{party.LocalAddr().String(), party.RemoteAddr().String()}] = c.name; len(r.names) > maxWaiting {
		maps.DeleteFunc(r.names, func(_ ends, name string) bool { return r.conns[name] == nil })
	}
}

// NameAt is the name of the latest connection that came to a node from an address; empty: no link has opened it. A node that runs a
// long script refuses the name that a link gives, and shows the address none the less. Behind Docker's port it shows another one.
func (r *ConnReader) NameAt(from, node string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names[ends{from, node}]
}
