package lock

import (
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// single is what the locks on one node share. The algorithms differ in how they
// take the key and how they give it back.
type single struct {
	Config
	env Env
	// take asks once for the key under owner; give gives it back.
	take func(l *single, owner string) (Grant, Result)
	give func(l *single, g Grant) Result
	// deleteOwn deletes the key where it still has the owner's value; nil: releaseScript does.
	deleteOwn func(key, owner string) command.Command
	// value is the client's only value, where Mistakes.SameValue.
	value string
	// constant is the value that every client writes; empty: a value of its own
	// for each attempt.
	constant string
	// linearizable keeps the key in the consensus store instead of the node.
	linearizable bool
}

var _ Lock = (*single)(nil)

// What can go wrong in locks on one node: in all of them, and in those that
// release by compare and delete.
var (
	anyMistakes   = Mistakes{TokenFirst: true, LateToken: true, EnterUnheld: true, WaitForEver: true, StaysAtNode: true}
	ownedMistakes = Mistakes{TokenFirst: true, LateToken: true, EnterUnheld: true, PlainDelete: true, NoCleanup: true,
		CancelLeaves: true, AlwaysReleased: true, WaitForEver: true, StaysAtNode: true}
)

// registerSingle registers a lock on one node.
func registerSingle(
	name, title, constant string, mistakes Mistakes,
	take func(*single, string) (Grant, Result), give func(*single, Grant) Result, points ...string,
) {
	register(singleNode(name, title, constant, mistakes, take, give, points...))
}

func singleNode(
	name, title, constant string, mistakes Mistakes,
	take func(*single, string) (Grant, Result), give func(*single, Grant) Result, points ...string,
) Algorithm {
	return Algorithm{
		Name: name, Title: title, MinNodes: 1, MaxNodes: 1, Tokens: separate, Points: points, Mistakes: mistakes,
		New: func(c Config, env Env) Lock {
			return &single{Config: c, env: env, take: take, give: give, constant: constant}
		},
	}
}

func (l *single) Acquire() (Grant, Result) {
	return acquireWithRetry(l.env, &l.Config, l.attempt)
}

// attempt is one try, with its token.
func (l *single) attempt() (Grant, Result) {
	owner := l.constant
	if owner == "" {
		owner = l.owner(l.env, &l.value)
	}
	if !l.Tokens.Drawn() {
		return l.take(l, owner)
	}
	var token int64
	drawn := Result{Outcome: OK}
	if l.Mistakes.TokenFirst {
		if token, drawn = l.drawToken(l.env); drawn.Outcome != OK {
			return Grant{}, drawn
		}
	}
	g, r := l.take(l, owner)
	if r.Outcome != OK {
		return g, r
	}
	if !l.Mistakes.TokenFirst {
		token, drawn = l.drawToken(l.env)
	}
	if drawn.Outcome == OK && !g.Forever && l.Remaining(g) <= 0 && !l.Mistakes.LateToken {
		drawn = Result{Outcome: Fail, Err: "the token came too late: no validity left"}
	}
	if drawn.Outcome != OK {
		l.cleanUp(g)
		return Grant{}, drawn
	}
	g.Token, g.HasToken = token, true
	return g, r
}

// Extend renews the lease where the key is still the caller's.
func (l *single) Extend(g Grant) (Grant, Result) {
	start := l.now()
	r := l.renew(l.extendOwn(g.Owner))
	if r.Outcome == OK {
		g.Until = l.until(start)
	}
	return g, r
}

// renew renews the lease once.
func (l *single) renew(c command.Command) Result {
	r := l.do(c)
	if r.Outcome != command.Done {
		return Result{Outcome: Info, Err: r.Err()}
	}
	if !r.OK() || r.Int != 1 && r.Str() != "OK" {
		return Result{Outcome: Fail, Err: "the key is not there, or not ours any more"}
	}
	return Result{Outcome: OK}
}

// Release gives the lock back at once, or once the time is over for which it stays at least.
func (l *single) Release(g Grant) Result {
	give := l.give
	if rest := g.Asked + l.AtLeast - l.now(); l.AtLeast > 0 && rest > 0 {
		give = func(l *single, g Grant) Result { return deleted(l.do(l.endIn(g.Owner, rest)), notOurs) }
	}
	return l.Mistakes.answerRelease(give(l, g))
}

// endIn lets the key end some time from now, if it is still the owner's.
func (l *single) endIn(owner string, rest time.Duration) command.Command {
	return command.Eval(extendScript, []string{l.Key}, owner, command.Itoa(command.Milliseconds(rest)))
}

func (l *single) Remaining(g Grant) time.Duration { return g.Until - l.now() }

func (l *single) now() time.Duration { return l.Config.now(l.env) }

// do sends a command to the node.
func (l *single) do(c command.Command) command.Reply {
	if l.linearizable {
		return l.env.Consensus().Do(c.Within(l.wait()))
	}
	c.Stays = l.Mistakes.StaysAtNode
	return l.env.Nodes()[0].Do(c.Within(l.wait()))
}

// ask sends a command by which the client asks for the lock.
func (l *single) ask(c command.Command) command.Reply {
	c.Cancellable = true
	return l.do(c)
}

// leased is a grant for the TTL, counted from start; without a TTL for ever.
func (l *single) leased(owner string, start time.Duration) Grant {
	g := Grant{Owner: owner, Until: l.until(start), Forever: l.TTL == 0, Asked: start}
	if !l.linearizable {
		g.Nodes = []int{0}
	}
	return g
}

// granted turns the reply to the taking command into the attempt's outcome.
func (l *single) granted(g Grant, r command.Reply, got bool) (Grant, Result) {
	switch {
	case r.Outcome == command.Unknown:
		back := l.cleanUp(g) // the key may have been set, or may still be
		if l.env.Cancelled() && back.Outcome == OK || l.leaves(l.env) {
			return Grant{}, Result{Outcome: Fail, Err: cancelled}
		}
		return Grant{}, Result{Outcome: Info, Err: r.Err()}
	case r.Outcome == command.Refused:
		return Grant{}, Result{Outcome: Fail, Err: r.Err()}
	case !got:
		return Grant{}, Result{Outcome: Fail, Err: "taken"}
	case !g.Forever && l.Remaining(g) <= 0:
		l.cleanUp(g)
		return Grant{}, Result{Outcome: Fail, Err: "granted too late: no validity left"}
	}
	return g, Result{Outcome: OK}
}

// cleanUp takes away what a failed attempt may have left. A value that others write, too,
// does not tell whose key it is, so such a key stays. OK: it was there, and is gone.
func (l *single) cleanUp(g Grant) (back Result) {
	if l.constant == "" && l.takesBack(l.env) {
		back = compareAndDelete(l, g)
	}
	return back
}

// setNX takes the key with SET NX PX, without a TTL with SET NX.
func setNX(l *single, owner string) (Grant, Result) {
	g := l.leased(owner, l.now())
	r := l.ask(command.SetNX(l.Key, owner, l.TTL))
	return l.granted(g, r, r.OK())
}

// deleteKey gives the key back with DEL, whoever it belongs to by now.
func deleteKey(l *single, _ Grant) Result {
	return deleted(l.do(command.Del(l.Key)), "there was no key to delete")
}

// compareAndDelete gives the key back if it is still the caller's.
func compareAndDelete(l *single, g Grant) Result {
	if l.Mistakes.PlainDelete {
		return deleteKey(l, g)
	}
	c := command.Eval(releaseScript, []string{l.Key}, g.Owner)
	if l.deleteOwn != nil {
		c = l.deleteOwn(l.Key, g.Owner)
	}
	return deleted(l.do(c), notOurs)
}

const notOurs = "not ours any more"

// deleted is the outcome of a command that answers how many keys it deleted, or gave another end.
func deleted(r command.Reply, none string) Result {
	switch {
	case r.Outcome == command.Unknown:
		return Result{Outcome: Info, Err: r.Err()}
	case r.Outcome == command.Refused: // nobody was asked whose it is
		return Result{Outcome: Fail, Err: r.Err()}
	case r.OK() && r.Int == 1:
		return Result{Outcome: OK}
	}
	return Result{Outcome: Fail, Err: none}
}
