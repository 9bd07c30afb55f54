//go:build locktest_seeded

package locktest

import (
	"math/rand/v2"
	"sync"
	_ "unsafe" // for go:linkname
)

// With this build tag, and -ldflags=-checklinkname=0, the functions of math/rand/v2 draw what
// the run's seed says. Nothing else reaches their source.

//go:linkname globalRand math/rand/v2.globalRand
var globalRand *rand.Rand

func seedGlobalRand(seed uint64) {
	*globalRand = *rand.New(&lockedSource{src: rand.NewPCG(seed, 0x7365656465640000)})
}

// lockedSource is for several goroutines.
type lockedSource struct {
	mu  sync.Mutex
	src rand.Source
}

func (s *lockedSource) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.src.Uint64()
}
