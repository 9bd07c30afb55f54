// Package journal reads the append-only files of Redis and Valkey. A server writes what it does into them, in its own words and order.
//
//	f := journal.Follow(dir) // the server's dir
//	err := f.Skip()          // what is there is past
//	entries, err := f.Read() // the blocks that have come to their ends since; nil: none
//
// Without Skip, what comes first is the base, as Base entries and then Known. Where the base is an RDB file, Gap comes in its place:
// such a base is not read, and the server's data are not known. With aof-use-rdb-preamble no it is commands. Servers come with yes.
//
// # What stands in a journal
//
// TestEffects has what each of 150 commands leaves, tried with Redis 6.2, 7.0, 8.2 and Valkey 8. In short:
//
//   - What changed nothing has no entry: a SET NX that is refused, DEL of no key, HSETNX of a field that is there. But SET and HSET of the
//     same value, INCRBY of 0, APPEND of nothing, EXPIRE of the same end and FLUSHALL of nothing have one.
//   - Each end is PXAT or PEXPIREAT, in ms: of SET (then without NX, XX and GET), SETEX, PSETEX, GETEX and the EXPIRE family (which
//     keep NX, XX, GT, LT). SET without an end keeps NX and XX. One in the past is DEL or UNLINK for EXPIRE and GETEX. SET with one is as
//     it was sent; with Valkey it is UNLINK, or nothing if there was no such key.
//   - GETSET is SET, GETDEL is DEL, INCRBYFLOAT is SET with KEEPTTL, HINCRBYFLOAT is HSET (Redis 8: HSETEX), SPOP is SREM, XADD has its id,
//     LMPOP and BLPOP are LPOP. The words are otherwise the client's or script's own: `set`, `Set` and `SET` all come.
//   - A block is what a script, a transaction, or one command did. With one effect it is one entry, with or without MULTI.
//   - An expired key that a command meets is deleted first: in the command's own block, or, before version 7, in a block before it.
//     A read that meets one leaves just that. Expiry in the background, and eviction, are blocks of their own. Which of
//     DEL and UNLINK it is follows lazyfree-lazy-expire and its kin, which Valkey 8 and later set.
//   - Later commands follow the same rules: HPEXPIRE and HGETEX are HPEXPIREAT, HSETEX and MSETEX have PXAT, SET with IFEQ is SET, DELIFEQ
//     is DEL.
//   - A client that waited (BLPOP, BLMOVE, BZPOPMIN) has a block after that of the client who woke it.
//   - What a script does behind redis.set_repl(redis.REPL_NONE), or REPL_REPLICA, is not there, though the server has done it.
//   - Version 6.0 writes SET with an end, SETEX and PSETEX as two entries that stand alone, SET and PEXPIREAT; 6.2 writes one. 6.0 writes
//     EXEC as its client did, and MULTI and EXEC with nothing between where a transaction's commands were refused. (That is from its
//     source; it was not tried.) Before version 7, FLUSHDB of an empty database leaves nothing.
//
// An entry is written before its command is answered, unless appendfsync is everysec and an fsync is under way: then up to 2 s later.
//
// # When the files change
//
// From version 7 on, a manifest names the base and the increments.
//
//   - BGREWRITEAOF: first the manifest has one more increment, and the server has written all that belongs before it. That has been done
//     when the command is answered. Nothing is lost, and there is no mark. Then the manifest has a new base, and the old files go. A
//     follower that was not asked to read in between cannot tell this from the next case: Gap, Base, Known, with the data that are.
//   - A replica copies all of its master's data (or appendonly is set to no and then to yes): the server writes nothing while it loads
//     them, then to temp-appendonly.aof.incr, which becomes an increment when the new base is whole and the manifest names it.
//     Gap, Base, Known, and what was done since the base was begun. Until then nothing comes; INFO says
//     aof_rewrite_in_progress:1 or aof_rewrite_scheduled:1 (and loading:1 before), and 0 again only after the manifest.
//   - Before version 7 the server writes to the old file, then puts a new one in its place, which has what was done meanwhile, too.
//     Gap, all that is in it as Base, Known.
//   - A server that is started again appends to the last file, and first removes a block that is there in part. Nothing is told twice.
//   - A file that has lost its end (with the machine's power): Gap, Base, Known, with what is left. One that has been cut to nothing: Gap,
//     and what is written from then on; if the server has been started again since, Restarted says so. Either is seen once the file
//     has another size than it had, so Restarted is the better way to tell of a restart that may have lost something.
//   - A server opens its file with O_APPEND only when it starts (from version 7 on). After a rewrite or a whole copy it goes on where it
//     was in a file that others have cut, behind zero bytes, and cannot load the file any more.
package journal
