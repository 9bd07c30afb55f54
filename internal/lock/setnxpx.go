package lock

func init() {
	extending := singleNode("set-nx-px", "SET NX PX with a value of its own, released by compare and delete: "+
		"the single-node lock of the Redis documentation", "", ownedMistakes, setNX, compareAndDelete)
	extending.Extends, extending.Endless, extending.StaysAtLeast, extending.Mistakes = true, true, true, ownedMistakes.and(renewalMistakes)
	extending.Mistakes.SameValue, extending.Mistakes.TimedValue = true, true
	register(extending)
	constant := singleNode("constant-value", "SET NX PX with the same value for everybody and a plain DEL: "+
		"a late release deletes somebody else's lock", "1", anyMistakes, setNX, deleteKey)
	constant.Endless = true
	register(constant)
}
