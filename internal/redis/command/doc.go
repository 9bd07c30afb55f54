// Package command is what a client may ask of a Redis node, and what it may learn from
// it. Locks and resources are written against this package. Each world has its own way
// to carry a command to a node.
package command
