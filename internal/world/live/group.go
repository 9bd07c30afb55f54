package live

import (
	"errors"
	"sync"
)

// errorGroup runs functions beside each other and collects their errors.
type errorGroup struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	errs []error
}

func (g *errorGroup) Go(f func() error) {
	g.wg.Go(func() {
		if err := f(); err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.errs = append(g.errs, err)
		}
	})
}

// Wait waits for all and joins what went wrong.
func (g *errorGroup) Wait() error {
	g.wg.Wait()
	return errors.Join(g.errs...)
}
