package lock

import (
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

func init() {
	register(Algorithm{
		Name:     "redlock",
		Title:    "Redlock: the same key on a majority of independent nodes, as described in the Redis documentation",
		MinNodes: 1,
		Tokens:   redlockTokens,
		Points:   redlockPoints,
		Mistakes: redlockMistakes,
		Extends:  true,
		New:      func(c Config, env Env) Lock { return newRedlock(c, env) },
	})
}

var redlockTokens = append([]Tokens{NodeCounterMax, QuorumCounter}, separate...)

var redlockMistakes = Mistakes{ReachableQuorum: true, TrustElapsed: true, PlainDelete: true, RaiseOnError: true,
	SameValue: true, TokenFirst: true, LateToken: true, EnterUnheld: true, NoCleanup: true, ExtendAnyhow: true,
	AlwaysReleased: true, CancelLeaves: true, ExtendNeedsAll: true, ReleasesGranted: true, WaitForEver: true}.and(renewalMistakes)

var redlockPoints = []string{PointQuorum, PointBeforeValidityCheck, PointAfterNode}

// redlock follows https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/:
// take the time, ask every node with a short timeout, count the grants, and
// hold the lock only where a majority granted and the elapsed time leaves some
// validity. A failed attempt cleans up on every node.
type redlock struct {
	Config
	env Env
	// value is the client's only value, where Mistakes.SameValue.
	value string
	// key is what the clean-up script is about; reasons say why an attempt failed, by
	// how many nodes granted. Both are made once, for an attempt is made often.
	key     []string
	reasons []string
}

func newRedlock(c Config, env Env) *redlock {
	return &redlock{Config: c, env: env, key: []string{c.Key}}
}

var _ Lock = (*redlock)(nil)

func (l *redlock) Acquire() (Grant, Result) {
	return acquireWithRetry(l.env, &l.Config, l.attempt)
}

// attempt is one pass of the algorithm.
func (l *redlock) attempt() (Grant, Result) {
	g := Grant{Owner: l.owner(l.env, &l.value)}
	start := l.now()
	if l.Mistakes.TokenFirst {
		if r := l.addToken(&g, round{}); r.Outcome != OK {
			return Grant{}, r
		}
	}
	asks, read := l.acquireCommand(g.Owner)
	asks.Cancellable = true
	round := l.ask(asks, read)
	g.Nodes = round.yes
	held, reason := l.isWon(round), ""
	if held {
		l.env.Point(PointQuorum)
		if !l.Mistakes.TokenFirst {
			r := l.addToken(&g, round)
			held, reason = r.Outcome == OK, r.Err
		}
	}
	l.env.Point(PointBeforeValidityCheck)
	if l.Mistakes.TrustElapsed {
		start = l.now()
	}
	g.Until = l.until(start)
	if held && (l.Remaining(g) > 0 || l.Mistakes.LateToken) {
		return g, Result{Outcome: OK}
	}
	if l.takesBack(l.env) {
		l.releaseAll(g.Owner)
	}
	if held {
		reason = "quorum came too late: no validity left"
	} else if reason == "" {
		reason = l.noQuorum(len(round.yes))
	}
	return Grant{}, Result{Outcome: Fail, Err: reason}
}

// noQuorum says that so many nodes granted. A client that waits for the lock has it
// said again and again, so it is made once.
func (l *redlock) noQuorum(granted int) string {
	for len(l.reasons) <= granted {
		l.reasons = append(l.reasons, "no quorum: "+strconv.Itoa(len(l.reasons))+" of "+strconv.Itoa(len(l.env.Nodes()))+" nodes granted")
	}
	return l.reasons[granted]
}

// addToken gives the grant its token, where it gets one.
func (l *redlock) addToken(g *Grant, won round) (r Result) {
	r.Outcome = OK
	if l.Tokens.Drawn() {
		g.Token, r = l.drawToken(l.env)
	} else if l.Tokens.countsAtNodes() {
		g.Token = won.highest
		if l.Tokens == QuorumCounter && !l.raiseCounter(g.Token) {
			r = Result{Outcome: Fail, Err: "too few nodes took the token back"}
		}
	}
	g.HasToken = l.Tokens != NoTokens && r.Outcome == OK
	return r
}

// isWon reports whether a round was won.
func (l *redlock) isWon(r round) bool {
	if l.Mistakes.RaiseOnError && r.silent > 0 {
		return false
	}
	if l.Mistakes.ReachableQuorum {
		return len(r.yes) >= (len(l.env.Nodes())-r.silent)/2+1
	}
	return len(r.yes) >= l.quorum()
}

// acquireCommand is what a node is asked for the lock, and what its reply means.
func (l *redlock) acquireCommand(owner string) (command.Command, reading) {
	if l.Tokens.countsAtNodes() {
		return command.Eval(acquireCountedScript, []string{l.Key, l.counterKey()},
			owner, command.Itoa(command.Milliseconds(l.TTL))), counted
	}
	return command.SetNX(l.Key, owner, l.TTL), granted
}

// raiseCounter writes the token back to a quorum, so that every later quorum has a
// node that counts on from it.
func (l *redlock) raiseCounter(token int64) bool {
	round := l.ask(command.Eval(raiseCounterScript, []string{l.counterKey()}, command.Itoa(token)),
		func(r command.Reply) (bool, int64) { return r.OK() && r.Int >= token, r.Int })
	return len(round.yes) >= l.quorum()
}

func (l *redlock) Release(g Grant) Result {
	nodes := l.env.Nodes()
	if l.Mistakes.ReleasesGranted {
		nodes = nil
		for _, i := range g.Nodes {
			nodes = append(nodes, l.env.Nodes()[i])
		}
	}
	round := l.releaseOn(nodes, g.Owner)
	if len(round.yes) >= l.quorum() {
		return Result{Outcome: OK}
	}
	if len(round.yes)+round.silent >= l.quorum() {
		return l.Mistakes.answerRelease(Result{Outcome: Info, Err: "too few nodes answered the release"})
	}
	return l.Mistakes.answerRelease(Result{Outcome: Fail, Err: "not ours any more on a majority of nodes"})
}

func (l *redlock) releaseAll(owner string) round { return l.releaseOn(l.env.Nodes(), owner) }

func (l *redlock) releaseOn(nodes []command.Node, owner string) round {
	c := command.Del(l.Key)
	if !l.Mistakes.PlainDelete {
		c = command.Eval(releaseScript, l.key, owner)
	}
	return l.askOf(nodes, c, done)
}

// Extend extends the lease once, on all nodes. It counts with a majority of them, before the promise that it extends has ended.
func (l *redlock) Extend(before Grant) (Grant, Result) {
	start := l.now()
	round := l.ask(l.extendOwn(before.Owner), done)
	g := before
	g.Until, g.Forever, g.Nodes = l.until(start), false, round.yes
	late := !before.Forever && l.Remaining(before) <= 0
	if l.Mistakes.ExtendAnyhow {
		return g, Result{Outcome: OK}
	}
	if l.Mistakes.ExtendNeedsAll && len(round.yes) < len(l.env.Nodes()) {
		return before, Result{Outcome: Fail, Err: "a node did not extend it"}
	}
	switch {
	case len(round.yes) < l.quorum() && len(round.yes)+round.silent >= l.quorum():
		return before, Result{Outcome: Info, Err: "too few nodes answered the extension"} // the next one may succeed
	case len(round.yes) < l.quorum():
		return before, Result{Outcome: Fail, Err: strconv.Itoa(len(round.yes)) +
			" of " + strconv.Itoa(len(l.env.Nodes())) + " nodes extended it: no quorum"}
	case late:
		return before, Result{Outcome: Fail, Err: "extended too late: the promise had ended"}
	}
	return g, Result{Outcome: OK}
}

func (l *redlock) Remaining(g Grant) time.Duration { return g.Until - l.now() }

func (l *redlock) quorum() int { return len(l.env.Nodes())/2 + 1 }

func (l *redlock) now() time.Duration { return l.Config.now(l.env) }

// round is what came of asking every node once.
type round struct {
	// yes are the nodes that agreed, in the order in which they answered; nil: none.
	yes []int
	// silent is how many gave no answer.
	silent int
	// highest is the largest number that came with a yes.
	highest int64
}

// reading tells what a node's reply means: whether it agreed, and the number
// that came with it.
type reading func(command.Reply) (yes bool, number int64)

func granted(r command.Reply) (bool, int64) { return r.OK(), 0 }
func counted(r command.Reply) (bool, int64) { return r.OK() && r.Int > 0, r.Int }
func done(r command.Reply) (bool, int64)    { return r.OK() && r.Int == 1, 0 }

// count counts the reply of node i of n.
func (r *round) count(i, n int, reply command.Reply, read reading) {
	if reply.Outcome != command.Done {
		r.silent++
	}
	if yes, number := read(reply); yes {
		if r.yes == nil {
			r.yes = make([]int, 0, n)
		}
		r.yes = append(r.yes, i)
		r.highest = max(r.highest, number)
	}
}

// ask puts a command to every node, in the way that FanOut says.
func (l *redlock) ask(c command.Command, read reading) round { return l.askOf(l.env.Nodes(), c, read) }

// askOf puts it to some nodes.
func (l *redlock) askOf(nodes []command.Node, c command.Command, read reading) (r round) {
	c.Timeout = l.wait()
	if l.FanOut != InTurn && l.FanOut != "" {
		return l.askAtOnce(nodes, c, read)
	}
	for i, node := range nodes {
		r.count(i, len(nodes), node.Do(c), read)
		l.env.Point(afterNode(i))
	}
	return r
}

func (l *redlock) askAtOnce(nodes []command.Node, c command.Command, read reading) (r round) {
	l.env.Fan(len(nodes), func(i int) command.Reply { return nodes[i].Do(c) }, func(i int, reply command.Reply) bool {
		r.count(i, len(nodes), reply, read)
		l.env.Point(afterNode(i))
		return l.FanOut == FirstMajority && len(r.yes) >= l.quorum()
	})
	return r
}
