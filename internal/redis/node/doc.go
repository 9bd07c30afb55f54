// Package node is a Redis node as its clients see it: the words of commands in, the bytes of
// the protocol out, on the data of internal/redis/command/model. It does no I/O, starts no goroutine
// and knows no clock but that of its memory. `make model-check` holds it against redis-server 7.0.
package node
