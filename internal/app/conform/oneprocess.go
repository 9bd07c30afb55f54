package conform

import "context"

// sharesProcess sets one program up for two clients, and sees that each of them is refused while the other holds the lock, that whoever is
// refused does not free it for a third in a process of its own, and that each gives its own grant back.
func sharesProcess(ctx context.Context, s *suite) error {
	s.closeAll()
	defer s.closeAll()
	const mend = `let each client be a thread of its own, and take the lock for the thread, not for the process; or do not say that the ` +
		`program can "clients"`
	c3, err := s.client(ctx, "c3")
	if err != nil {
		return err
	}
	c, err := s.greet(ctx, "c1")
	if err != nil {
		return err
	}
	c.process = []string{"c1", "c2"}
	for _, name := range c.process {
		if err := s.setUp(ctx, c, name, nil, 0); err != nil {
			return amend(err, "it was set up for a second client", mend)
		}
	}
	for _, name := range c.process {
		other := c.process[0]
		if other == name {
			other = c.process[1]
		}
		h, err := s.get(ctx, c.as(name))
		if err != nil {
			return amend(err, other+", which is in the same process, had given it back", mend)
		}
		if err := s.keepsOut(ctx, c.as(other), other+" got the lock while "+name+" held it, in the same process", mend, h); err != nil {
			return err
		}
		if err := s.keepsOut(ctx, c3, "c3 got the lock while "+name+" held it, and "+other+", in the same process, had been refused",
			"let whoever did not get the lock leave it alone", h); err != nil {
			return err
		}
		if err := s.give(ctx, c.as(name), h); err != nil {
			return err
		}
	}
	return nil
}

// as is the program as one of the clients that share it asks it.
func (c *client) as(name string) *client {
	c.name = name
	return c
}

// whose is what a request says of whose it is; empty: the program is one client.
func (c *client) whose() string {
	if c.process == nil {
		return ""
	}
	return c.name
}
