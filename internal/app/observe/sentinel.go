package observe

import (
	"context"
	"fmt"
	"net"
)

// sentinel is a Sentinel that is asked.
type sentinel struct {
	server Server
	name   string
	conn   *connection
}

// primary is the address of the primary.
func (s *sentinel) primary(ctx context.Context) (address string, err error) {
	c, err := s.open(ctx)
	if err != nil {
		return "", err
	}
	answers, err := c.ask([]string{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.name})
	if err != nil {
		return "", s.failed(err)
	}
	if len(answers[0].List) != 2 {
		return "", fmt.Errorf("the Sentinel at %s knows no primary with the name %q", s.server.Address, s.name)
	}
	return net.JoinHostPort(hostOf(answers[0].List[0].Text, s.server.Address), answers[0].List[1].Text), nil
}

// replicas are the addresses of the replicas.
func (s *sentinel) replicas(ctx context.Context) (list []string, err error) {
	c, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	answers, err := c.ask([]string{"SENTINEL", "REPLICAS", s.name})
	if err != nil {
		return nil, s.failed(err)
	}
	for _, one := range answers[0].List {
		var host, port string
		for i := 0; i+1 < len(one.List); i += 2 {
			switch one.List[i].Text {
			case "ip":
				host = one.List[i+1].Text
			case "port":
				port = one.List[i+1].Text
			}
		}
		if port != "" && port != "0" {
			list = append(list, net.JoinHostPort(hostOf(host, s.server.Address), port))
		}
	}
	return list, nil
}

// open opens the connection, if it is not.
func (s *sentinel) open(ctx context.Context) (*connection, error) {
	if s.conn == nil {
		c, err := s.server.dial(ctx, "sim-observe")
		if err != nil {
			return nil, err
		}
		s.conn = c
	}
	return s.conn, nil
}

// failed closes the connection: what comes over it next may be the answer to something else.
func (s *sentinel) failed(err error) error {
	_ = s.conn.Close()
	s.conn = nil
	return fmt.Errorf("the Sentinel at %s: %w", s.server.Address, err)
}

// beginSentinel begins to look at the primary that a Sentinel names, and at its replicas, of which one may take over.
func (l *Looks) beginSentinel(ctx context.Context, p *Place) (manage func(context.Context), err error) {
	s := &sentinel{name: p.Primary, server: Server{Address: p.Address, TLS: p.TLS, CA: p.CA, Password: l.SentinelPassword, sentinel: true}}
	address, err := s.primary(ctx)
	if err != nil {
		return nil, err
	}
	l.note(p, "the primary %s is %s", p.Primary, address)
	now, err := l.start(ctx, p, address, "primary of "+p.Primary, false)
	if err != nil {
		return nil, err
	}
	told := make(map[string]bool)
	watchReplicas := func(ctx context.Context) {
		list, err := s.replicas(ctx)
		if err != nil {
			return // the next question tells of it
		}
		for _, address := range list {
			if address == now.Address || l.member(p, address) != nil {
				continue
			}
			if _, err := l.start(ctx, p, address, "replica of "+p.Primary, true); err != nil {
				l.refusedOnce(ctx, p, told, err)
			}
		}
	}
	watchReplicas(ctx)
	return func(ctx context.Context) {
		lost := false
		every(ctx, func() {
			address, err := s.primary(ctx)
			if lost != (err != nil) && ctx.Err() == nil {
				if lost = err != nil; lost {
					l.note(p, "%v: a failover is not noticed until it answers", err)
				} else {
					l.note(p, "the Sentinel answers again")
				}
			}
			if err != nil {
				return
			}
			if address != now.Address {
				l.switchTo(ctx, p, &now, address, told)
			}
			watchReplicas(ctx)
		})
		if s.conn != nil {
			_ = s.conn.Close()
		}
	}, nil
}

// switchTo follows a failover: another server is the primary.
func (l *Looks) switchTo(ctx context.Context, p *Place, now **member, address string, told map[string]bool) {
	old, taken := *now, l.member(p, address)
	if taken == nil {
		m, err := l.start(ctx, p, address, "replica of "+p.Primary, true)
		if err != nil {
			l.refusedOnce(ctx, p, told, err)
			return
		}
		taken = m
	}
	l.note(p, "failover: the primary %s is %s, and no longer %s", p.Primary, address, old.Address)
	taken.told, taken.role = true, "primary of "+p.Primary+" since "+clock()
	l.failover(ctx, old, taken, func(string) bool { return true })
	old.retire("primary of " + p.Primary + " till " + clock())
	taken.over = false
	*now = taken
}
