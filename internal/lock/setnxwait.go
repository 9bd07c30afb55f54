package lock

import "github.com/redlock-sim/redlock-sim/internal/redis/command"

func init() {
	mistakes := ownedMistakes
	mistakes.IgnoreWait = true
	wait := singleNode("set-nx-wait", "SET NX PX on a primary, then WAIT for a replica; not enough replicas: not granted",
		"", mistakes, setNXWait, compareAndDelete)
	pooled := singleNode("set-nx-wait-pooled", "the same, but WAIT uses another connection of the pool, and so waits for nothing",
		"", mistakes, setNXWaitPooled, compareAndDelete)
	wait.Replicas, pooled.Replicas, pooled.Pooled = true, true, true
	register(wait)
	register(pooled)
}

func setNXWait(l *single, owner string) (Grant, Result)       { return l.setAndWait(owner, false) }
func setNXWaitPooled(l *single, owner string) (Grant, Result) { return l.setAndWait(owner, true) }

// setAndWait takes the key and then waits until a replica has it. WAIT speaks of
// the writes of its own connection; on another one it answers at once.
func (l *single) setAndWait(owner string, otherConnection bool) (Grant, Result) {
	g := l.leased(owner, l.now())
	r := l.do(command.SetNX(l.Key, owner, l.TTL))
	if !r.OK() {
		return l.granted(g, r, false)
	}
	wait := command.Wait(1, l.NodeTimeout/2)
	wait.OtherConnection = otherConnection
	r = l.do(wait)
	if l.Mistakes.IgnoreWait || r.OK() && r.Int >= 1 {
		return l.granted(g, r, true)
	}
	l.cleanUp(g)
	return Grant{}, Result{Outcome: Fail, Err: "no replica has the key"}
}
