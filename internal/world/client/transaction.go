package client

import (
	"github.com/redlock-sim/redlock-sim/internal/history"
	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/scenario/workload"
)

// transact appends a number to both lists.
func (a *Agent) transact(r Request) Answer {
	a.env.Point(workload.BeforeTransaction)
	if answer, lost := a.lostGrant(); lost {
		return answer
	}
	reply := a.res.Append(a.store, r.Number.V(), r.How, func() { a.env.Point(workload.BetweenCommands) })
	answer := outcome(reply)
	answer.Value = history.Value{Section: r.Section, Number: r.Number}
	return answer
}

// snapshot reads both lists.
func (a *Agent) snapshot(r Request) Answer {
	a.env.Point(workload.BeforeSnapshot)
	if answer, lost := a.lostGrant(); lost {
		return answer
	}
	first, second, reply := a.res.Both(a.store)
	answer := outcome(reply)
	answer.Value = history.Value{Section: r.Section, Extra: &history.Extra{List: first, Other: second}}
	return answer
}

// outcome is what the client knows after a reply.
func outcome(r command.Reply) Answer {
	if r.Outcome == command.Unknown {
		return Answer{Type: history.Info, Error: r.Err()}
	}
	if r.Nil {
		return Answer{Type: history.Fail, Error: "aborted: what was watched has been changed"}
	}
	if !r.OK() {
		return Answer{Type: history.Fail, Error: r.Err()}
	}
	return Answer{Type: history.OK}
}
