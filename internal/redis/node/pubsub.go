package node

import "slices"

var pubsubRows = []row{
	{name: "publish", arity: 3, flags: notReadOnly, do: publish},
	{name: "subscribe", arity: -2, flags: noScript | subscriber,
		do: func(x *call, w []string) { x.subscribe("subscribe", &x.c.channels, w[1:]) }},
	{name: "psubscribe", arity: -2, flags: noScript | subscriber,
		do: func(x *call, w []string) { x.subscribe("psubscribe", &x.c.patterns, w[1:]) }},
	{name: "unsubscribe", arity: -1, flags: noScript | subscriber,
		do: func(x *call, w []string) { x.unsubscribe("unsubscribe", &x.c.channels, w[1:]) }},
	{name: "punsubscribe", arity: -1, flags: noScript | subscriber,
		do: func(x *call, w []string) { x.unsubscribe("punsubscribe", &x.c.patterns, w[1:]) }},
	container("pubsub", "shardchannels shardnumsub help",
		row{name: "channels", arity: -2, do: channels},
		row{name: "numsub", arity: -2, do: numsub},
		row{name: "numpat", arity: 2, do: numpat}),
}

func (c *Conn) subscribed() bool { return len(c.channels)+len(c.patterns) > 0 }

func (x *call) subscribe(verb string, to *[]string, names []string) {
	for _, name := range names {
		if !slices.Contains(*to, name) {
			*to = append(*to, name)
		}
		x.subscription(verb, &name)
	}
}

func (x *call) unsubscribe(verb string, from *[]string, names []string) {
	if len(names) == 0 {
		names = slices.Clone(*from)
		if len(names) == 0 {
			x.subscription(verb, nil)
		}
	}
	for _, name := range names {
		*from = slices.DeleteFunc(*from, func(s string) bool { return s == name })
		x.subscription(verb, &name)
	}
}

// subscription answers one channel of a SUBSCRIBE or the like.
func (x *call) subscription(verb string, name *string) {
	x.push(3)
	x.bulk(verb)
	if name == nil {
		x.null()
	} else {
		x.bulk(*name)
	}
	x.count(len(x.c.channels) + len(x.c.patterns))
}

func publish(x *call, w []string) { x.count(x.n.publish(w[1], w[2])) }

// publish sends a message to who has subscribed, and says how many that were.
func (n *Node) publish(channel, message string) (receivers int) {
	for _, c := range n.conns {
		if slices.Contains(c.channels, channel) {
			c.giveWords("message", channel, message)
			receivers++
		}
	}
	for _, c := range n.conns {
		for _, p := range c.patterns {
			if glob(p, channel) {
				c.giveWords("pmessage", p, channel, message)
				receivers++
			}
		}
	}
	return receivers
}

func (c *Conn) giveWords(words ...string) {
	r := reply{v3: c.v3}
	r.push(len(words))
	for _, w := range words {
		r.bulk(w)
	}
	c.give(r.b, true)
}

// subscriptions are the channels that somebody listens to, in the order in which they came.
func (n *Node) subscriptions(pattern string) (list []string) {
	for _, c := range n.conns {
		for _, name := range c.channels {
			if glob(pattern, name) && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

func channels(x *call, w []string) {
	switch len(w) {
	case 2:
		x.words(x.n.subscriptions("*")...)
	case 3:
		x.words(x.n.subscriptions(w[2])...)
	default:
		x.wrongSubcommand("PUBSUB", w[1])
	}
}

func numsub(x *call, w []string) {
	x.array(2 * (len(w) - 2))
	for _, name := range w[2:] {
		n := 0
		for _, c := range x.n.conns {
			if slices.Contains(c.channels, name) {
				n++
			}
		}
		x.bulk(name)
		x.count(n)
	}
}

func numpat(x *call, _ []string) {
	var all []string
	for _, c := range x.n.conns {
		for _, p := range c.patterns {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	x.count(len(all))
}

// wrongSubcommand is what a subcommand answers that takes no such words.
func (x *call) wrongSubcommand(name, sub string) {
	x.refuse("unknown subcommand or wrong number of arguments for '" + cut(sub, 128) + "'. Try " + name + " HELP.")
}
