// Package keylog records what commands did to the keys of a lock on a node, as the judges read it.
//
// A Log records it of one key. A Key has what the node's append-only file says of one, too, and finds out by words and ends whether a
// command can have done it. Where nobody knows what a key holds, it records that.
//
// Who sees the lines of a node by MONITOR, and its journal later, puts the two together in package world/live/observe. A Journal is for who
// sees every step of a server. What is new after a step was done by the commands that were delivered for it, or by the server itself: a key
// that had run out, or a client that had waited. Each command has one block of the journal, or none, and so has a script or a transaction.
// (Of a field that had run out Valkey writes nothing where a command writes it anew.) So the blocks are explained in their order, each by
// the first command that can have done what it says. If a later one can have done it as well, and would have asked for the key till another
// time, nobody knows till when it was asked for. What no command can have done is key-unclear, and then what the journal says of the key is
// recorded as found.
package keylog
