package resource

import (
	"strconv"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// How names a way of appending one number to two lists, CellA and CellB, that
// belong together.
type How string

const (
	// InTransaction: MULTI, both RPUSH, EXEC.
	InTransaction How = "exec"
	// InScript: one Lua script.
	InScript How = "script"
	// Separately: two commands, one after the other.
	Separately How = "separate"
	// Discarded: MULTI, both RPUSH, DISCARD.
	Discarded How = "discard"
	// QueueError: a transaction with a command that Redis refuses to queue.
	QueueError How = "queue-error"
	// RunError: a transaction whose second RPUSH meets a key of another type.
	RunError How = "run-error"
)

// Cells that belong together: the lists of a pair, or two numbers.
const (
	CellA = "a"
	CellB = "b"
)

// pairScript appends ARGV[1] to both lists.
var pairScript = command.NewScript("pair", `
redis.call('rpush', KEYS[1], ARGV[1])
return redis.call('rpush', KEYS[2], ARGV[1])
`, func(s command.Store, keys, args []string) command.Reply {
	s.RPush(keys[0], args[0])
	return command.IntReply(s.RPush(keys[1], args[0]))
})

// Append appends n to both lists. between is called between two commands that go
// separately. The reply is that of the whole: of a transaction in which a command
// failed, it is Unknown, for it took effect in part.
func (c Config) Append(node command.Node, n int64, how How, between func()) command.Reply {
	a, b, text := c.valueKey(CellA), c.valueKey(CellB), command.Itoa(n)
	switch how {
	case Separately:
		r := node.Do(command.RPush(a, text))
		if !r.OK() {
			return r
		}
		between()
		if r = node.Do(command.RPush(b, text)); !r.OK() {
			r.Outcome = command.Unknown
		}
		return r
	case InScript:
		return node.Do(command.Eval(pairScript, []string{a, b}, text))
	}
	body := []command.Command{command.RPush(a, text), command.RPush(b, text)}
	switch how {
	case QueueError:
		body = append(body, command.RPush(a))
	case RunError:
		other := c.valueKey("text")
		body = []command.Command{command.Set(other, "no list", 0), command.RPush(a, text), command.RPush(other, text)}
	}
	transaction := command.Exec(body...)
	transaction.Discard = how == Discarded
	r := node.Do(transaction)
	for _, one := range r.Body() {
		if !one.OK() {
			return command.UnknownReply("the transaction was carried out but for one command: " + one.Err())
		}
	}
	if r.OK() && transaction.Discard {
		return command.RefusedReply("discarded")
	}
	return r
}

// Both reads the two lists at one instant.
func (c Config) Both(node command.Node) (a, b []int64, r command.Reply) {
	r = node.Do(command.Exec(command.LRange(c.valueKey(CellA)), command.LRange(c.valueKey(CellB))))
	if !r.OK() || len(r.Body()) != 2 {
		return nil, nil, r
	}
	return numbers(r.Body()[0].List()), numbers(r.Body()[1].List()), r
}

func numbers(list []string) []int64 {
	var ns []int64
	for _, s := range list {
		n, _ := strconv.ParseInt(s, 10, 64)
		ns = append(ns, n)
	}
	return ns
}
