package lock

import "github.com/redlock-sim/redlock-sim/internal/redis/command"

func init() {
	a := singleNode("delifeq", "SET NX PX with a value of its own, released by DELIFEQ, without a script (Valkey 9.0)", "",
		ownedMistakes, setNX, compareAndDelete)
	a.Mistakes.SameValue = true
	a.Needs = []command.Feature{command.DeletesIfEq}
	a.New = func(c Config, env Env) Lock {
		return &single{Config: c, env: env, take: setNX, give: compareAndDelete, deleteOwn: command.DelIfEq}
	}
	register(a)
}
