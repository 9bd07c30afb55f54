package conform

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
)

// lostAnswer loses the answer of each node to the command that takes the lock's key there, once the command has taken effect, and the
// connection with it. A client that repeats commands by itself then meets its own key.
func lostAnswer(ctx context.Context, s *suite) error {
	c, err := s.client(ctx, "c1")
	if err != nil {
		return err
	}
	before, err := s.nodes.locks(ctx, s)
	if err != nil {
		return err
	}
	s.nodes.readEnds()
	first, lost := len(s.nodes.ends), make(map[string]bool)
	s.place.loseAnswers(func(node string) bool {
		if lost[node] {
			return false
		}
		s.nodes.readEnds()
		lost[node] = slices.ContainsFunc(s.nodes.ends[first:], func(e keyEnd) bool { return e.node == node && s.named(e.name) })
		return lost[node]
	})
	defer s.place.loseAnswers(nil)
	s.patient = deadVirtual // how long a client needs is not what this is about
	h := held{asked: s.place.now(), wall: s.place.wall(), ends: first}
	h.until = h.asked + s.ttl()
	s.disturbed = true
	if h.Answer, err = s.acquire(ctx, c, s.ttl()/4); err != nil {
		return err
	}
	s.place.loseAnswers(nil)
	if !slices.Contains(slices.Collect(maps.Values(lost)), true) {
		s.note("it took no key that ends, so that no answer was lost")
	}
	if h.Type == program.Acquired {
		return s.give(ctx, c, h)
	}
	if h.Type != program.Refused {
		return s.reset(ctx)
	}
	var left []entry
	gone, err := s.eventually(ctx, s.ttl()/8, func() (bool, error) {
		var err error
		left, err = s.nodes.locks(ctx, s)
		left = slices.DeleteFunc(left, func(e entry) bool {
			return slices.ContainsFunc(before, func(o entry) bool { return o.node == e.node && o.name == e.name })
		})
		return on(left) < s.nodes.quorum(), err
	})
	if err != nil {
		return err
	}
	if !gone {
		return c.finding(fmt.Sprintf("c1 asked for a lock that nobody held, the answer to its command was lost on the way, and c1 said refused; "+
			"%v later its keys are still there: %s", round(s.place.now()-h.asked), texts(left)),
			"acquired, unknown, or refused after it has removed its keys: nobody else has the lock, and nobody gets it for the TTL",
			"if the client repeats a command by itself, look whether the value in the key is its own; or switch its retries off")
	}
	return s.reset(ctx)
}
