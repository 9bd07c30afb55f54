package lock

import "github.com/redlock-sim/redlock-sim/internal/redis/command"

// PointBeforeExpire lies between the two commands of setnx-pexpire.
const PointBeforeExpire = "before-expire"

func init() {
	registerSingle("setnx-pexpire", "SETNX, then PEXPIRE: a client that dies between the two keeps the lock for ever",
		"1", anyMistakes, setThenExpire, deleteKey, PointBeforeExpire)
}

// setThenExpire takes the key and gives it its expiry in a second command.
func setThenExpire(l *single, owner string) (Grant, Result) {
	start := l.now()
	r := l.ask(command.SetNX(l.Key, owner, 0))
	if !r.OK() {
		return l.granted(Grant{}, r, false)
	}
	l.env.Point(PointBeforeExpire)
	r = l.do(command.PExpire(l.Key, l.TTL))
	return l.granted(l.leased(owner, start), r, r.OK() && r.Int == 1)
}
