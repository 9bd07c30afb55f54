package client

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/lock"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/scenario/resource"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// Request and Answer are what a workload asks and is answered.
type (
	Request = workload.Request
	Answer  = workload.Answer
)

// AfterFenceCheck is a point between the check of the token and the write, where the
// two are not one step.
const AfterFenceCheck = "after-fence-check"

// Agent carries out requests, one at a time, for one client.
type Agent struct {
	env lock.Env
	// instant is a clock that no fault moves.
	instant func() time.Duration
	lock    lock.Lock
	store   command.Node
	res     resource.Config
	// watches: something is watched that no write has used up.
	watches bool
	// grants are those in hand, the latest last. lost: it could not be extended, because it was lost.
	grants []lock.Grant
	lost   bool
}

// NewAgent makes the client that env and the lock belong to. store is the resource's
// node, instant a clock that no fault moves.
func NewAgent(env lock.Env, l lock.Lock, store command.Node, r resource.Config, instant func() time.Duration) *Agent {
	return &Agent{env: env, instant: instant, lock: l, store: store, res: r}
}

// Loser is a lock that tells of a grant that it has lost.
type Loser interface {
	Lost(lock.Grant) bool
}

// lostGrant is the answer to a request after the lock has told that it lost the grant: the
// client leaves the resource alone from then on.
func (a *Agent) lostGrant() (answer Answer, lost bool) {
	g, held := a.grant()
	if loser, is := a.lock.(Loser); !held || !a.lost && (!is || !loser.Lost(g)) {
		return answer, false
	}
	return Answer{Type: history.Fail, Error: "the client was told that it had lost the lock"}, true
}

// Do carries out a request.
func (a *Agent) Do(r Request) Answer {
	switch r.F {
	case history.Acquire:
		return a.acquire(r)
	case history.Read:
		return a.read(r)
	case history.Write:
		return a.write(r)
	case history.CAS:
		return a.take(r)
	case history.Transact:
		return a.transact(r)
	case history.Snapshot:
		return a.snapshot(r)
	case history.Extend:
		return a.extend()
	case history.Release:
		return a.release()
	case history.Forget:
		return a.forget()
	}
	return Answer{Type: history.Fail, Error: fmt.Sprintf("no such operation: %q", r.F)}
}

// Cancel cancels the acquire that is under way, where the lock is not one that sees it by itself (lock.Env.Cancelled).
func (a *Agent) Cancel() {
	if l, is := a.lock.(lock.Canceller); is {
		l.Cancel()
	}
}

func (a *Agent) acquire(r Request) Answer {
	a.env.Point(workload.BeforeAcquire)
	ask := a.lock.Acquire
	if r.Upgrade {
		ask = a.upgrade
	}
	g, result := ask()
	answer := AnswerOf(result)
	answer.Value.Owner = g.Owner
	if result.Outcome != lock.OK {
		return answer
	}
	a.grants = append(a.grants, g)
	grant := &history.Grant{Nodes: slices.Grow([]string(nil), len(g.Nodes))}
	for _, i := range g.Nodes {
		grant.Nodes = append(grant.Nodes, a.env.Nodes()[i].Name())
	}
	if len(g.Nodes) > 0 || !g.Forever {
		answer.Value.Grant = grant
	}
	if g.HasToken {
		answer.Value.Token = history.Some(g.Token)
	}
	a.lost = false
	a.promise(&answer, g)
	return answer
}

// upgrade asks to write beside the latest grant, a reader's.
func (a *Agent) upgrade() (lock.Grant, lock.Result) {
	upgrader, is := a.lock.(lock.Upgrader)
	reader, held := a.grant()
	if !is || !held {
		return lock.Grant{}, lock.Result{Outcome: lock.Fail, Err: "nothing to upgrade"}
	}
	return upgrader.Upgrade(reader)
}

// promise says for how long a grant is valid, where the lock tells that.
func (a *Agent) promise(answer *Answer, g lock.Grant) {
	if !g.Forever {
		// The instant first: a pause between the two must not lengthen the promise.
		answer.Instant = a.instant()
		answer.Value.OwnGrant().Validity = history.Some(int64(a.lock.Remaining(g)))
	}
}

// extend makes the latest grant last longer. From a refusal on the client knows that it has lost the lock.
func (a *Agent) extend() Answer {
	a.env.Point(workload.BeforeExtend)
	extender, is := a.lock.(lock.Extender)
	before, held := a.grant()
	if !is || !held {
		return Answer{Type: history.Fail, Error: "nothing to extend"}
	}
	g, result := extender.Extend(before)
	answer := AnswerOf(result)
	answer.Value.Owner = g.Owner
	switch result.Outcome {
	case lock.OK:
		a.grants[len(a.grants)-1] = g
		a.promise(&answer, g)
	case lock.Fail:
		a.lost = true
	}
	return answer
}

func (a *Agent) read(r Request) Answer {
	a.env.Point(workload.BeforeRead)
	if answer, lost := a.lostGrant(); lost {
		return answer
	}
	if a.res.Guard == resource.Watching && !r.Unfenced {
		if watched := a.res.Watch(a.store, a.access(r)); !watched.OK() {
			return a.answerOf(resource.Answer{Reply: watched}, r)
		}
		a.watches = true
	}
	return a.answerOf(a.res.Read(a.store, a.access(r)), r)
}

func (a *Agent) write(r Request) Answer {
	if r.Check {
		a.env.Point(workload.BeforeCheck)
		if g, ok := a.grant(); ok && !g.Forever && a.lock.Remaining(g) <= 0 {
			return Answer{Type: history.Fail, Error: "the client saw that its validity had ended"}
		}
	}
	a.env.Point(workload.BeforeWrite)
	if answer, lost := a.lostGrant(); lost {
		return answer
	}
	a.watches = a.watches && r.Unfenced
	answer := a.checked(r)
	if answer.Type == history.OK {
		answer = a.answerOf(a.res.Write(a.store, a.access(r)), r)
	}
	answer.Value.Number = r.Number
	return answer
}

// checked is the first half of a write where the fence checks apart from it.
func (a *Agent) checked(r Request) Answer {
	if a.res.Fence != resource.CheckThenWrite || r.Unfenced {
		return Answer{Type: history.OK}
	}
	answer := a.answerOf(a.res.Check(a.store, a.access(r)), r)
	if answer.Type == history.OK {
		a.env.Point(AfterFenceCheck)
	}
	return answer
}

// take takes units off the resource in one step.
func (a *Agent) take(r Request) Answer {
	a.env.Point(workload.BeforeWrite)
	if answer, lost := a.lostGrant(); lost {
		return answer
	}
	got := a.res.Take(a.store, a.access(r))
	answer := a.answerOf(got, r)
	if answer.Type != history.OK {
		return answer
	}
	if got.Short {
		answer.Type, answer.Error = history.Fail, "there is not enough left"
		return answer
	}
	answer.Value.Extra = &history.Extra{Expected: history.Some(got.Number + r.Number.V())}
	return answer
}

func (a *Agent) release() Answer {
	a.env.Point(workload.BeforeRelease)
	return a.leave("nothing to release", a.lock.Release)
}

// forget drops the latest grant. A lock that does nothing by itself need not hear of it.
func (a *Agent) forget() Answer {
	return a.leave("nothing to forget", func(g lock.Grant) lock.Result {
		if forgetter, is := a.lock.(lock.Forgetter); is {
			return forgetter.Forget(g)
		}
		return lock.Result{Outcome: lock.OK}
	})
}

// leave ends the latest grant.
func (a *Agent) leave(none string, end func(lock.Grant) lock.Result) Answer {
	if a.watches { // the section did not come to its write
		a.store.Do(command.Unwatch())
		a.watches = false
	}
	g, ok := a.grant()
	if !ok {
		return Answer{Type: history.Fail, Error: none}
	}
	a.grants = a.grants[:len(a.grants)-1]
	answer := AnswerOf(end(g))
	answer.Value.Owner = g.Owner
	return answer
}

// grant is the latest grant in hand.
func (a *Agent) grant() (lock.Grant, bool) {
	if len(a.grants) == 0 {
		return lock.Grant{}, false
	}
	return a.grants[len(a.grants)-1], true
}

func (a *Agent) access(r Request) resource.Access {
	g, _ := a.grant()
	return resource.Access{Client: a.env.Client(), Section: r.Section, Token: g.Token, HasToken: g.HasToken, Owner: g.Owner,
		Cell: r.Cell, Number: r.Number.V(), List: r.List, Unfenced: r.Unfenced}
}

// answerOf turns the resource's answer into the operation's completion.
func (a *Agent) answerOf(got resource.Answer, r Request) Answer {
	answer := Answer{Value: history.Value{Section: r.Section, Key: r.Cell}}
	if g, ok := a.grant(); ok && g.HasToken {
		answer.Value.Token = history.Some(g.Token)
	}
	switch {
	case got.Outcome == command.Unknown:
		answer.Type, answer.Error = history.Info, got.Err()
	case !got.OK():
		answer.Type, answer.Error = history.Fail, got.Err()
	case !got.Accepted:
		answer.Type, answer.Error = history.Fail, "refused by the fence"
		if got.HasHighest {
			answer.Value.Outcome = &history.Outcome{Highest: history.Some(got.Highest)}
		}
	default:
		answer.Type = history.OK
		answer.Value.Number = history.Some(got.Number)
		if got.List != nil {
			answer.Value.Extra = &history.Extra{List: got.List}
		}
	}
	return answer
}

// AnswerOf is the completion that carries the outcome r.
func AnswerOf(r lock.Result) Answer {
	a := Answer{Error: r.Err}
	switch r.Outcome {
	case lock.OK:
		a.Type = history.OK
	case lock.Fail:
		a.Type = history.Fail
	default:
		a.Type = history.Info
	}
	return a
}
