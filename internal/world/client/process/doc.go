// Package process runs a client as an operating-system process of its own. It speaks the
// line protocol over standard input and output. Its Env has real clocks and real
// connections.
package process
