// Package cluster is what a world has to know of a Redis Cluster that it makes: the file in which a node keeps what it knows of the others,
// and what an operator does to move a slot. What the nodes decide is theirs alone.
package cluster
