package lock

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/words"
)

// Tokens names a source of fencing tokens.
type Tokens string

const (
	// NoTokens: grants carry no token.
	NoTokens Tokens = "none"
	// RandomValue: the grant's own random value. It has no order; a resource can
	// only compare it with the one it saw last.
	RandomValue Tokens = "random-value"
	// NodeCounterMax: INCR on each node in the acquire script, and the largest
	// answer is the token. Quorums that alternate give one number twice.
	NodeCounterMax Tokens = "node-counter-max"
	// QuorumCounter: the same, then the maximum written back to a quorum, both
	// inside the elapsed-time check.
	QuorumCounter Tokens = "quorum-counter"
	// SingleCounter: INCR on the first node, once the lock is granted.
	SingleCounter Tokens = "single-counter"
	// Consensus: a counter that survives what strikes the nodes, asked once the
	// lock is granted.
	Consensus Tokens = "consensus"
)

// tokenTitles has all sources of tokens, each with one line for a person.
var tokenTitles = words.Titles[Tokens]{
	{NoTokens, "no tokens"},
	{RandomValue, "the client draws a random value, which has no order; the resource compares it"},
	{NodeCounterMax, "each node counts its grants, and the largest number is the token; two quorums can give one number twice"},
	{QuorumCounter, "the same, and the token is written back to a quorum before it is used"},
	{SingleCounter, "INCR on the first node"},
	{Consensus, "a counter in a store that no fault strikes"},
}

// AllTokens lists all sources of tokens.
func AllTokens() []Tokens { return tokenTitles.Words() }

// Title is one line for a person.
func (t Tokens) Title() string { return tokenTitles.Title(t) }

// Tag has the words for a setting, as the tags of a scenario do.
func (Tokens) Tag() string { return tokenTitles.Tag() }

// separate are the sources that any lock can offer: they are asked beside the
// lock, not with its keys.
var separate = []Tokens{NoTokens, RandomValue, SingleCounter, Consensus}

// Drawn reports that tokens are asked for beside the lock.
func (t Tokens) Drawn() bool { return t == RandomValue || t == SingleCounter || t == Consensus }

// Ordered reports that the tokens are meant to be in the order of the grants.
func (t Tokens) Ordered() bool { return t != NoTokens && t != RandomValue }

// countsAtNodes reports that the acquire script counts grants on each node.
func (t Tokens) countsAtNodes() bool { return t == NodeCounterMax || t == QuorumCounter }

// drawToken asks for a token. The counter may have counted though no answer came:
// a number is lost then, and no harm done.
func (c Config) drawToken(env Env) (int64, Result) {
	env.Point(PointBeforeToken)
	var r command.Reply
	switch ask := command.Incr(c.counterKey()).Within(c.wait()); c.Tokens {
	case RandomValue:
		token := env.Rand().Int64()
		env.Point(PointToken)
		return token, Result{Outcome: OK}
	case SingleCounter:
		r = env.Nodes()[0].Do(ask)
	default:
		r = env.Consensus().Do(ask)
	}
	if !r.OK() {
		return 0, Result{Outcome: Fail, Err: "no token: " + r.Err()}
	}
	env.Point(PointToken)
	return r.Int, Result{Outcome: OK}
}

// GrowingTokens is the source of its tokens that grow from grant to grant, as long as no
// node forgets; NoTokens: there is none.
func (a Algorithm) GrowingTokens() Tokens {
	for _, t := range []Tokens{QuorumCounter, SingleCounter} {
		if slices.Contains(a.Tokens, t) {
			return t
		}
	}
	return NoTokens
}
