package workload

import (
	"github.com/redlock-sim/redlock-sim/internal/client"
	"github.com/redlock-sim/redlock-sim/internal/history"
)

// increments reads a number under the lock and writes one more. Two sections
// that read the same number show that the lock let both in: an update is lost.
func (p Plan) increments(s Session) {
	for section := 1; section <= p.Sections && !s.Over(); section++ {
		if section > 1 && p.Rest > 0 && !s.Sleep(p.Rest) {
			return
		}
		if s.Do(client.Request{F: history.Acquire, Section: section}).Type != history.OK {
			continue
		}
		s.Point(Acquired)
		p.increment(s, section)
		s.Do(client.Request{F: history.Release, Section: section})
		s.Point(Released)
	}
}

func (p Plan) increment(s Session, section int) {
	read := s.Do(client.Request{F: history.Read, Section: section})
	if read.Type != history.OK {
		return
	}
	if p.Think > 0 && !s.Sleep(p.Think) {
		return
	}
	s.Do(client.Request{F: history.Write, Section: section, Number: history.Some(read.Value.Number.V + 1), Check: p.Check})
}
