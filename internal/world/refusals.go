package world

import (
	"slices"
	"strings"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
)

// Refusal is that with which a node is to answer a command; the zero Refusal lets it carry the command out.
type Refusal struct {
	// Error is the error. Surely: the command is meant, also where the node would answer such a one as ever.
	Error  string
	Surely bool
}

// Refusals keep account of the commands that a node gets over a connection, some of which it refuses.
type Refusals struct {
	open   bool
	queued [][]string
}

// Meet takes in a command. If the node is to refuse it, Meet returns what the node gets in its place, and what the client is answered;
// if it is to carry it out, the answer is empty. What it gets does nothing but what a refusal does to a transaction: the next EXEC
// fails, and a refused EXEC ends it.
func (r *Refusals) Meet(words []string, by Refusal) (instead []string, answer string) {
	name := strings.ToUpper(words[0])
	refused := by.Error != "" && (by.Surely || command.Refuses(by.Error, words))
	switch name {
	case "MULTI":
		r.open = r.open || !refused
	case "EXEC":
		is := func(queued []string) bool { return command.Refuses(by.Error, queued) }
		if refused = by.Surely || slices.ContainsFunc(r.queued, is); refused {
			instead, answer = []string{"DISCARD"}, "EXECABORT Transaction discarded because of: "+by.Error
		}
		*r = Refusals{}
		return instead, answer
	case "DISCARD", "RESET":
		*r = Refusals{}
	default:
		if r.open && !refused {
			r.queued = append(r.queued, slices.Clone(words))
		}
	}
	if refused {
		return []string{"GET"}, by.Error // it lacks a word
	}
	return nil, ""
}
