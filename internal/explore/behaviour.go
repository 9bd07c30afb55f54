package explore

import (
	"slices"

	"github.com/redlock-sim/redlock-sim/internal/history"
)

// behaviour is a hash of what a run went through, told abstractly: who believed
// to hold the lock, who had a majority of the keys, who lay under a fault. Two
// runs that differ in times and numbers alone behave alike.
func behaviour(h *history.History) uint64 {
	s := state{clients: h.Header.Clients, nodes: h.Header.Nodes, holder: make([]int, len(h.Header.Nodes))}
	hash, last := uint64(fnvOffset), uint64(0)
	for i := range h.Events {
		s.see(&h.Events[i])
		if now := s.sum(); now != last {
			hash = mix(hash, now)
			last = now
		}
	}
	return hash
}

// state is the abstract state of the lock. Clients are counted from 1.
type state struct {
	clients, nodes []string
	believing      uint64
	writing        uint64
	holder         []int
	down           uint64
	faults         uint64
}

func (s *state) see(e *history.Event) {
	bit := func(list []string, name string) uint64 { return 1 << (slices.Index(list, name) + 1) }
	switch e.F {
	case history.Acquire:
		if e.Type == history.OK {
			s.believing |= bit(s.clients, e.Process)
		}
	case history.Release:
		s.believing &^= bit(s.clients, e.Process)
	case history.Effect:
		if e.Value.Op == history.Write {
			s.writing = mix(s.writing, bit(s.clients, e.Value.Client))
			if e.Value.Accepted.V {
				s.writing = mix(s.writing, 1)
			}
		}
	case history.KeySet:
		if i := slices.Index(s.nodes, e.Process); i >= 0 {
			s.holder[i] = slices.Index(s.clients, e.Value.Client) + 1
		}
	case history.KeyDeleted, history.KeyExpired:
		if i := slices.Index(s.nodes, e.Process); i >= 0 {
			s.holder[i] = 0
		}
	case history.NodeDown:
		s.down |= bit(s.nodes, e.Process)
	case history.NodeUp:
		s.down &^= bit(s.nodes, e.Process)
	case history.FaultBegin:
		s.faults = mix(s.faults, uint64(len(e.Value.Fault))<<8|uint64(e.Value.ID))
	}
}

// sum is a hash of the state.
func (s *state) sum() uint64 {
	majority := 0
	for c := range len(s.clients) + 1 {
		count := 0
		for _, holder := range s.holder {
			if holder == c && c > 0 {
				count++
			}
		}
		if count > len(s.holder)/2 {
			majority = c
		}
	}
	hash := mix(fnvOffset, s.believing)
	hash = mix(hash, s.writing)
	hash = mix(hash, uint64(majority))
	hash = mix(hash, s.down)
	return mix(hash, s.faults)
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func mix(hash, word uint64) uint64 {
	for range 8 {
		hash = (hash ^ word&0xff) * fnvPrime
		word >>= 8
	}
	return hash
}
