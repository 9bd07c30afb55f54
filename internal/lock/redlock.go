package lock

import (
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/command"
)

func init() {
	register(Algorithm{
		Name:     "redlock",
		Title:    "Redlock: the same key on a majority of independent nodes, as the Redis documentation tells it",
		MinNodes: 1,
		Tokens:   []Tokens{NoTokens, QuorumCounter},
		New:      func(c Config, env Env) Lock { return &redlock{Config: c, env: env} },
	})
}

// redlock follows https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/:
// take the time, ask every node with a short timeout, count the grants, and
// hold the lock only where a majority granted and the elapsed time leaves some
// validity. A failed attempt cleans up on every node.
type redlock struct {
	Config
	env Env
}

var _ Lock = (*redlock)(nil)

func (l *redlock) Acquire() (Grant, Result) {
	return acquireWithRetry(l.env, l.Retry, l.attempt)
}

// attempt is one pass of the algorithm.
func (l *redlock) attempt() (Grant, Result) {
	owner := newOwner(l.env)
	start := l.now()
	round := l.ask(func(node command.Node) command.Command { return l.acquireCommand(owner) }, l.granted)
	g := Grant{Owner: owner, Nodes: round.yes, Until: start + l.TTL - l.drift()}
	held := len(round.yes) >= l.quorum()
	if held {
		l.env.Point(PointQuorum)
		if l.Tokens == QuorumCounter {
			g.HasToken, g.Token = true, round.highest
			held = l.raise(g.Token)
		}
	}
	l.env.Point(PointBeforeValidityCheck)
	if held && l.Remaining(g) > 0 {
		return g, Result{Outcome: OK}
	}
	l.releaseAll(owner)
	reason := "no quorum: " + strconv.Itoa(len(round.yes)) + " of " + strconv.Itoa(len(l.env.Nodes())) + " nodes granted"
	if held {
		reason = "quorum came too late: no validity left"
	}
	return Grant{}, Result{Outcome: Fail, Err: reason}
}

func (l *redlock) acquireCommand(owner string) command.Command {
	if l.Tokens == QuorumCounter {
		return command.Eval(acquireCountedScript, []string{l.Key, l.counterKey()},
			owner, command.Itoa(command.Milliseconds(l.TTL)))
	}
	return command.SetNX(l.Key, owner, l.TTL)
}

// granted reads a node's reply: whether it granted, and the counter it counted
// the grant by.
func (l *redlock) granted(r command.Reply) (bool, int64) {
	if l.Tokens == QuorumCounter {
		return r.OK() && r.Int > 0, r.Int
	}
	return r.OK(), 0
}

// raise writes the token back to a quorum, so that every later quorum has a
// node that counts on from it.
func (l *redlock) raise(token int64) bool {
	round := l.ask(func(command.Node) command.Command {
		return command.Eval(raiseCounterScript, []string{l.counterKey()}, command.Itoa(token))
	}, func(r command.Reply) (bool, int64) { return r.OK() && r.Int >= token, r.Int })
	return len(round.yes) >= l.quorum()
}

func (l *redlock) Release(g Grant) Result {
	round := l.releaseAll(g.Owner)
	switch {
	case len(round.yes) >= l.quorum():
		return Result{Outcome: OK}
	case len(round.yes)+round.unknown >= l.quorum():
		return Result{Outcome: Info, Err: "too few nodes answered the release"}
	}
	return Result{Outcome: Fail, Err: "not ours any more on a majority of nodes"}
}

func (l *redlock) releaseAll(owner string) round {
	return l.ask(func(command.Node) command.Command {
		return command.Eval(releaseScript, []string{l.Key}, owner)
	}, func(r command.Reply) (bool, int64) { return r.OK() && r.Int == 1, 0 })
}

func (l *redlock) Remaining(g Grant) time.Duration { return g.Until - l.now() }

func (l *redlock) quorum() int { return len(l.env.Nodes())/2 + 1 }

// drift is the allowance for clocks that run at different rates.
func (l *redlock) drift() time.Duration {
	return time.Duration(float64(l.TTL)*l.DriftFactor) + l.DriftConstant
}

func (l *redlock) now() time.Duration {
	if l.Clock == Wall {
		return l.env.Wall()
	}
	return l.env.Now()
}

// round is what came of asking every node once.
type round struct {
	// yes are the nodes that agreed, in the order in which they answered.
	yes []int
	// unknown is how many gave no answer.
	unknown int
	// highest is the largest number that came with a yes.
	highest int64
}

func (r *round) count(i int, reply command.Reply, read func(command.Reply) (bool, int64)) {
	if reply.Outcome == command.Unknown {
		r.unknown++
	}
	if yes, n := read(reply); yes {
		r.yes = append(r.yes, i)
		r.highest = max(r.highest, n)
	}
}

// ask puts a command to every node, in the way that FanOut says.
func (l *redlock) ask(what func(command.Node) command.Command, read func(command.Reply) (bool, int64)) round {
	nodes := l.env.Nodes()
	r := round{yes: make([]int, 0, len(nodes))}
	call := func(i int) command.Reply {
		return nodes[i].Do(what(nodes[i]).Within(l.NodeTimeout))
	}
	if l.FanOut == InTurn || l.FanOut == "" {
		for i := range nodes {
			r.count(i, call(i), read)
			l.env.Point(PointAfterNode + strconv.Itoa(i+1))
		}
		return r
	}
	l.env.Fan(len(nodes), call, func(i int, reply command.Reply) bool {
		r.count(i, reply, read)
		l.env.Point(PointAfterNode + strconv.Itoa(i+1))
		return l.FanOut == FirstMajority && len(r.yes) >= l.quorum()
	})
	return r
}
