package lock

import "github.com/redlock-sim/redlock-sim/internal/redis/command"

func init() {
	registerSingle("setnx-del", "SETNX and DEL, without any expiry: a holder that dies keeps the lock for ever",
		"1", Mistakes{TokenFirst: true}, setNXForever, deleteKey)
}

// setNXForever takes the key for good.
func setNXForever(l *single, owner string) (Grant, Result) {
	r := l.ask(command.SetNX(l.Key, owner, 0))
	return l.granted(Grant{Owner: owner, Forever: true, Nodes: []int{0}}, r, r.OK())
}
