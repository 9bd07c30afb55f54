package conform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
	"github.com/redlock-sim/redlock-sim/internal/redis/journal"
)

// keyEnd is when a key of a node is to end, as a command said that set it or gave it its end.
type keyEnd struct {
	node, name string
	at         time.Time
}

// lifeSince is how long after the request for a grant the key was to end: the lock asked for no more.
func (e *keyEnd) lifeSince(h held) time.Duration {
	return max(e.at.Sub(h.wall), time.Millisecond).Truncate(time.Millisecond)
}

// readEnds reads what the journals tell of ends. A key that lives for a millisecond is gone before anybody can look at it; its
// journal still says how long it was to live.
func (n *nodes) readEnds() {
	if n == nil {
		return
	}
	for _, node := range n.list {
		j := node.journal()
		if node.dead() || j == nil {
			continue
		}
		for {
			entries, err := j.Read()
			if len(entries) == 0 || err != nil { // then the journal tells no more, and what the nodes have is all there is
				break
			}
			for i := range entries {
				if e, ok := endOf(entries[i].Words); ok && entries[i].Kind == journal.Effect {
					e.node = node.name()
					n.ends = append(n.ends, e)
				}
			}
		}
	}
}

// endOf is the end that a command gives a key. In a journal each end is an instant in ms (package journal).
func endOf(words []string) (e keyEnd, ok bool) {
	at := -1
	switch {
	case len(words) < 3:
	case strings.EqualFold(words[0], "PEXPIREAT"):
		at = 2
	case strings.EqualFold(words[0], "SET"):
		if i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, "PXAT") }); i >= 3 {
			at = i + 1
		}
	}
	if at < 0 || at >= len(words) {
		return e, false
	}
	ms, err := strconv.ParseInt(words[at], 10, 64)
	return keyEnd{name: words[1], at: time.UnixMilli(ms)}, err == nil
}

// shortest is the end of a key of the lock that came first of those that were asked for since a grant was; nil: none is known.
func (n *nodes) shortest(s *suite, h held) *keyEnd {
	n.readEnds()
	var first *keyEnd
	for i := h.ends; i < len(n.ends); i++ {
		if e := &n.ends[i]; s.named(e.name) && (first == nil || e.at.Before(first.at)) {
			first = e
		}
	}
	return first
}

// endedEarly reports that a key of a grant was to end long before the TTL had passed, and has.
func (s *suite) endedEarly(h held) bool {
	if s.nodes == nil || s.ready.Elsewhere() {
		return false
	}
	e := s.nodes.shortest(s, h)
	return e != nil && e.at.Before(h.wall.Add(s.ttl()/3)) && e.at.Before(s.place.wall())
}

// slowest is the answer that took longest, and what was asked for.
type slowest struct {
	kind       program.Type
	wait, took time.Duration
}

// took takes note of how long an answer took.
func (s *suite) took(kind program.Type, wait, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if took-wait > s.slowest.took-s.slowest.wait {
		s.slowest = slowest{kind, wait, took}
	}
}

// whyLate says why the TTL passed before a check had seen what it needs. Where timers of this machine fired in time, and an
// answer did not come in time, the lock took that long: it waits in whole seconds, for example.
func (s *suite) whyLate(late time.Duration) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := s.slowest.took - s.slowest.wait
	if over > s.ttl()/4 && late < over/4 {
		return fmt.Sprintf("the lock took too long: its answer to %s with wait_ms %v came after %v, and the TTL is %v "+
			"(timers of this machine were late by %v at most); try --ttl %v",
			s.slowest.kind, program.MS(s.slowest.wait), round(s.slowest.took), s.ttl(), round(late), 2*(s.ttl()+over).Round(time.Second))
	}
	if s.Virtual != nil { // no machine is too slow there
		return fmt.Sprintf("%v; try --ttl %v", errLate, 2*s.ttl())
	}
	return fmt.Sprintf("the machine was too slow: %v; try --ttl %v", errLate, 2*s.ttl())
}
