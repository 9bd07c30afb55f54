package lock

func init() {
	register(Algorithm{
		Name: "linearizable",
		Title: "the control: SET NX PX and compare-and-delete in a linearizable store that no fault strikes, such as etcd; " +
			"the nodes are not asked",
		MinNodes: 1, Tokens: separate, Mistakes: ownedMistakes, Consensus: true,
		New: func(c Config, env Env) Lock {
			return &single{Config: c, env: env, take: setNX, give: compareAndDelete, linearizable: true}
		},
	})
}
