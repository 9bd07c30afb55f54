package node

import (
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// row is what is known of a command.
type row struct {
	name string
	// arity is how many words it has, its own included; below 0: at least so many.
	arity int
	flags flags
	// Keys are the words from the first-th to the last-th, each step-th; last 0: it names
	// none; below 0: counted from the end.
	first, last, step int
	do                func(x *call, w []string)
	// since is what servers need to know that not all do; nil: all have the command.
	since *command.Feature
	// subs are its commands, where it only has such. others are those that a real server
	// has, too.
	subs   map[string]*row
	others string
}

type flags uint8

const (
	write flags = 1 << iota
	// noScript: scripts may not call it.
	noScript
	// notReadOnly: it does not write, and scripts that only read may not call it all the same.
	notReadOnly
	// atOnce: it is not queued in a transaction.
	atOnce
	// subscriber: a connection of version 2 that has subscribed may send it.
	subscriber
	// client: one of CLIENT's.
	client
)

// find looks a command up, however its name is written.
func find(name string) *row {
	var b [32]byte
	if len(name) > len(b) {
		return nil
	}
	for i := range len(name) {
		b[i] = name[i]
		if 'A' <= name[i] && name[i] <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return table[string(b[:len(name)])]
}

var table map[string]*row

// The rows' functions look into the table, so it cannot begin with them.
func init() {
	table = make(map[string]*row)
	families := [][]row{stringRows, keyRows, expiryRows, hashRows, listRows, setRows, sortedSetRows,
		connectionRows, serverRows, scriptRows, transactionRows, pubsubRows}
	for _, family := range families {
		for i := range family {
			table[family[i].name] = &family[i]
		}
	}
}

// container makes the row of a command that only has commands below it.
func container(name, others string, subs ...row) row {
	c := row{name: name, arity: -2, subs: make(map[string]*row), others: others}
	for i := range subs {
		c.subs[subs[i].name] = &subs[i]
		subs[i].name = name + "|" + subs[i].name
	}
	c.do = func(*call, []string) {}
	return c
}

// keysOf are the keys that a command names.
func (r *row) keysOf(w []string) []string {
	last := r.last
	if last < 0 {
		last += len(w)
	}
	if r.step == 1 && last < len(w) {
		return w[r.first : last+1]
	}
	var keys []string
	for i := r.first; i <= last && i < len(w); i += r.step {
		keys = append(keys, w[i])
	}
	return keys
}

// known reports whether a real server has a command that this one has not.
func known(name string) bool {
	return among(unmodelled, name)
}

// among reports whether a word is one of those in a list, however it is written.
func among(list, word string) bool {
	for one := range strings.FieldsSeq(list) {
		if strings.EqualFold(one, word) {
			return true
		}
	}
	return false
}

// unmodelled are the commands of Redis 7.0 that have no row.
const unmodelled = `acl asking bgrewriteaof bgsave bitcount bitfield bitfield_ro bitop bitpos blmove blmpop blpop brpop brpoplpush bzmpop
	bzpopmax bzpopmin copy debug dump failover fcall fcall_ro function geoadd geodist geohash geopos georadius
	georadius_ro georadiusbymember georadiusbymember_ro geosearch geosearchstore getbit hincrbyfloat hrandfield
	hscan hstrlen incrbyfloat lastsave latency lcs linsert lmove lmpop lolwut lpos lset memory migrate module monitor move
	object pfadd pfcount pfdebug pfmerge pfselftest psync randomkey readonly readwrite replconf replicaof restore
	restore-asking rpoplpush save sdiff sdiffstore setbit setrange shutdown sinter sintercard sinterstore slaveof slowlog
	smismember smove sort sort_ro spop spublish srandmember sscan ssubscribe substr sunion sunionstore sunsubscribe swapdb
	sync xack xadd xautoclaim xclaim xdel xgroup xinfo xlen xpending xrange xread xreadgroup xrevrange xsetid xtrim zdiff
	zdiffstore zinter zintercard zinterstore zlexcount zmpop zmscore zpopmax zpopmin zrandmember zrangebylex zrangestore
	zremrangebylex zrevrangebylex zrevrangebyscore zrevrank zscan zunion zunionstore`
