package conform

import (
	"context"
	"fmt"
)

// busy has c1 keep itself busy for half a TTL, so that the lock lives on even where nobody renews it, and looks at the
// processor's time that it takes. On a machine that does much else this is less than the time that passes.
func busy(ctx context.Context, s *suite) error {
	long := s.ttl() / 2
	s.close("c1")
	c, err := s.greet(ctx, "c1")
	if err != nil {
		return err
	}
	defer s.close("c1") // the next check wants one that is not busy
	if err := s.setUp(ctx, c, c.name, nil, long); err != nil {
		return err
	}
	before, _ := c.computed()
	h, err := s.get(ctx, c)
	if err != nil {
		return err
	}
	if err := s.place.sleep(ctx, long); err != nil {
		return err
	}
	after, unseen := c.computed()
	took := after - before
	switch {
	case unseen:
		s.note("how busy a program in a container is cannot be seen from here")
	case took < long/10:
		return c.finding(fmt.Sprintf("c1 was to be busy for %v after its grant, and took %v of the processor's time", long, took),
			"about as much, since ready says that it can \"busy\"",
			"compute for busy_ms after acquired, in the thread or event loop in which the user's code would run: sleeping is not being busy")
	}
	return s.give(ctx, c, h)
}
