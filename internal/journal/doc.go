// Package journal reads the append-only files of Redis and Valkey. A server writes what it does into them, in its own words and order.
//
//	f := journal.Follow(dir) // the server's dir
//	err := f.Skip()          // what is there is past
//	entries, err := f.Read() // the blocks that have come to their ends since; nil: none
//
// Without Skip, what comes first is the base, as Base entries and then Known. Where the base is an RDB file, Gap comes in its place:
// such a base is not read, and the server's data are not known. With aof-use-rdb-preamble no it is commands.
package journal
