package machine

import (
	"errors"
	"sync"
)

// Group runs functions beside each other and collects their errors.
type Group struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

// Go runs a function beside the others.
func (g *Group) Go(f func() error) {
	g.wg.Go(func() {
		if err := f(); err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.errs = append(g.errs, err)
		}
	})
}

// Wait waits for all and joins what went wrong.
func (g *Group) Wait() error {
	g.wg.Wait()
	return errors.Join(g.errs...)
}
