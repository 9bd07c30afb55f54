package lock

import "github.com/redlock-sim/redlock-sim/internal/redis/command"

func init() {
	registerSingle("set-without-nx", "SET PX without NX: the second client steals the lock", "", ownedMistakes, setAnyhow, compareAndDelete)
}

// setAnyhow writes the key whether it is there or not.
func setAnyhow(l *single, owner string) (Grant, Result) {
	g := l.leased(owner, l.now())
	r := l.ask(command.Set(l.Key, owner, l.TTL))
	return l.granted(g, r, r.OK())
}
