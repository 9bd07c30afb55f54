package lock

import "github.com/redlock-sim/redlock-sim/internal/redis/command"

func init() {
	registerSingle("lock-delay", "SET NX PX with Chubby's lock-delay: "+
		"after a holder that failed to release, nobody is granted for another ttl", "", ownedMistakes, setNXDelayed, compareAndDelete)
}

// setNXDelayed keeps the key twice as long as it promises. A holder that releases
// in time takes the key away at once; one that does not keeps everybody out for
// the delay, which covers its late effects as long as they are not later than that
// (Burrows, The Chubby lock service, 2006, section 2.4).
func setNXDelayed(l *single, owner string) (Grant, Result) {
	g := l.leased(owner, l.now())
	r := l.ask(command.SetNX(l.Key, owner, 2*l.TTL))
	return l.granted(g, r, r.OK())
}
