package serve

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func TestMemoryIsShared(t *testing.T) {
	m := newMemory(10)
	var taken, most atomic.Int64
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if err := m.take(t.Context(), 4); err != nil {
				t.Error(err)
				return
			}
			if now := taken.Add(4); now > most.Load() {
				most.Store(now)
			}
			taken.Add(-4)
			m.give(4)
		})
	}
	all.Wait()
	if most.Load() > 10 || m.taken != 0 {
		t.Errorf("%d of 10 were taken at once, %d are left", most.Load(), m.taken)
	}
	if err := m.take(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.take(gone, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that nobody waits for any more: %v", err)
	}
	if m.taken != 10 {
		t.Errorf("it has taken something: %d", m.taken-10)
	}
}

func TestDefaultMemory(t *testing.T) {
	if n := defaultMemory(); n < 128<<20 || n > 1<<30 {
		t.Errorf("%d bytes", n)
	}
}
