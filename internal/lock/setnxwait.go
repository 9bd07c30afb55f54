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
	synced := singleNode("set-nx-waitaof",
		"SET NX PX, then WAITAOF for the disk of the node; not synced: not granted (Redis 8.0)",
		"", mistakes, setNXWaitAOF, compareAndDelete)
	synced.Syncs, synced.Needs = true, []command.Feature{command.WaitsForSync}
	register(synced)
}

func setNXWait(l *single, owner string) (Grant, Result) {
	return l.setAndWait(owner, command.Wait(1, l.NodeTimeout/2), "no replica has the key")
}

func setNXWaitPooled(l *single, owner string) (Grant, Result) {
	wait := command.Wait(1, l.NodeTimeout/2)
	wait.OtherConnection = true
	return l.setAndWait(owner, wait, "no replica has the key")
}

func setNXWaitAOF(l *single, owner string) (Grant, Result) {
	return l.setAndWait(owner, command.WaitSynced(l.NodeTimeout/2), "the node has not synced the key")
}

// setAndWait takes the key and then waits until a replica has it, or the disk. WAIT and WAITAOF speak of
// the writes of their own connection; on another one they answer at once.
func (l *single) setAndWait(owner string, wait command.Command, missing string) (Grant, Result) {
	g := l.leased(owner, l.now())
	r := l.ask(command.SetNX(l.Key, owner, l.TTL))
	if !r.OK() {
		return l.granted(g, r, false)
	}
	r = l.ask(wait)
	enough := r.OK() && (r.Int >= 1 || len(r.List()) > 0 && r.List()[0] != "0")
	if l.Mistakes.IgnoreWait || enough {
		return l.granted(g, r, true)
	}
	l.cleanUp(g)
	return Grant{}, Result{Outcome: Fail, Err: missing}
}
