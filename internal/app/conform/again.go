package conform

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/lock/program"
)

// setsUpAgain sets a client up a second time: on other nodes, with another key and another TTL, and under another name. It must lock there
// as if it had just been started, and nothing of its first trial may be left.
func setsUpAgain(ctx context.Context, s *suite) error {
	s.closeAll()
	defer s.closeAll()
	before, err := s.nodes.connections(ctx)
	if err != nil {
		return err
	}
	c, h, err := s.takes(ctx, "c1")
	if err != nil {
		return err
	}
	during, err := s.nodes.connections(ctx)
	if err != nil {
		return err
	}
	if err := s.give(ctx, c, h); err != nil {
		return err
	}
	was, err := (&nodes{list: s.nodes.list[:1]}).locks(ctx, s)
	if err != nil {
		return err
	}
	first, ttl := s.nodes, s.ttl()
	options := s.Options
	defer func() { s.nodes, s.Options = first, options }()
	s.nodes, s.Key, s.TTL = first.others(), s.Key+"-again", 2*ttl
	if err := s.setUp(ctx, c, "c3", nil, 0); err != nil {
		return amend(err, "it was set up a second time", mendAgain)
	}
	if err := s.locksAnew(ctx, c, first.list[0], was, ttl); err != nil {
		return err
	}
	if err := s.lookForLeft(ctx, c, first, during, before); err != nil {
		return err
	}
	if s.Virtual == nil {
		return nil
	}
	return s.beginsAnew(ctx, c)
}

const mendAgain = "close all that the lock was opened with, and forget it, before it is opened again; " +
	`or do not say that the program can "setup-again"`

// locksAnew sees that a client that was set up again locks the key, on the nodes and for the TTL that it was told last. was are the keys
// that the node which it has forsaken had before.
func (s *suite) locksAnew(ctx context.Context, c *client, forsaken node, was []entry, before time.Duration) error {
	h, err := s.get(ctx, c)
	if err != nil {
		return amend(err, "it was set up a second time", mendAgain)
	}
	keys, err := s.nodes.locks(ctx, s)
	if err != nil {
		return err
	}
	late := s.place.now()-h.asked > s.ttl()/4
	if named := slices.ContainsFunc(keys, func(e entry) bool { return s.named(e.name) }); !named || on(keys) < s.nodes.quorum() {
		if late {
			return errLate
		}
		return c.finding(fmt.Sprintf("c1 was set up a second time and got the lock, and of its nodes %d have a key: %s", on(keys), texts(keys)),
			fmt.Sprintf("a key that fits %s on %d nodes at least", s.patterns(), s.nodes.quorum()), mendAgain)
	}
	old, err := (&nodes{list: []node{forsaken}}).locks(ctx, s)
	if err != nil {
		return err
	}
	old = slices.DeleteFunc(old, func(e entry) bool { return slices.ContainsFunc(was, func(w entry) bool { return w.name == e.name }) })
	if len(old) > 0 {
		return c.finding("c1 was set up a second time, on other nodes, and wrote to one of the first: "+texts(old), "no key there", mendAgain)
	}
	longest, err := s.longest(ctx)
	switch {
	case err != nil:
		return err
	case s.leased():
	case late:
		return errLate
	case longest <= before+program.Duration(s.ready.TTLExtra):
		return c.finding(fmt.Sprintf("c1 was set up a second time, and its keys end in %v", longest),
			fmt.Sprintf("about %v, lock.ttl_ms in the second setup", s.ttl()), mendAgain)
	}
	return s.give(ctx, c, h)
}

// lookForLeft looks for connections of the first trial.
func (s *suite) lookForLeft(ctx context.Context, c *client, first *nodes, during, before []string) error {
	mine := slices.DeleteFunc(slices.Clone(during), func(id string) bool { return slices.Contains(before, id) })
	left := func(of []string) func() (bool, error) {
		return func() (bool, error) {
			now, err := first.connections(ctx)
			open := slices.ContainsFunc(of, func(id string) bool { return slices.Contains(now, id) })
			return !open, err
		}
	}
	if gone, err := s.eventually(ctx, time.Second, left(mine)); err != nil || !gone {
		if err != nil {
			return err
		}
		return c.finding("c1 was set up a second time, and a connection that it had before is still open", "none of them", mendAgain)
	}
	// Whatever still renews connects to a node that only the first setup named.
	forsaken := &nodes{list: first.list[:1]}
	if err := s.place.sleep(ctx, s.ttl()); err != nil {
		return err
	}
	now, err := forsaken.connections(ctx)
	if err != nil {
		return err
	}
	if len(now) > len(before) || slices.ContainsFunc(now, func(id string) bool { return !slices.Contains(before, id) }) {
		return c.finding("c1 was set up a second time, and later connected to a node that only the first setup named",
			"nothing of the first trial goes on", mendAgain)
	}
	return nil
}

// connections are those of clients to the nodes, but for the one that asks.
func (n *nodes) connections(ctx context.Context) (list []string, err error) {
	for _, node := range n.list {
		if node.dead() {
			continue
		}
		answers, err := doAll(ctx, node, []string{"CLIENT", "ID"}, []string{"CLIENT", "LIST"})
		if err != nil {
			return nil, fmt.Errorf("failed to list the connections of node %s: %w", node.name(), err)
		}
		for line := range strings.Lines(fmt.Sprint(answers[1])) {
			if id, _, told := strings.Cut(strings.TrimPrefix(line, "id="), " "); told && id != fmt.Sprint(answers[0]) {
				list = append(list, node.name()+" "+id)
			}
		}
	}
	return list, nil
}

// others are the nodes of a second setup: another one is in the place of the first.
func (n *nodes) others() *nodes {
	return &nodes{list: append(slices.Clone(n.list[1:]), n.spare), told: append(slices.Clone(n.told[1:]), n.spareTold)}
}

// beginsAnew compares a run in virtual time before which the program had another trial with one of a program that was just started.
func (s *suite) beginsAnew(ctx context.Context, c *client) error {
	var difference string
	var apart time.Duration
	var err error
	aside(func() { difference, apart, err = s.Virtual.Anew(ctx, s.ready, s.ttl()) })
	switch {
	case err != nil:
		return err
	case difference != "":
		return c.finding(difference, "the same history, but for the values of owners", mendAgain)
	case apart > 0:
		s.note("in a trial after another one times differ by up to %v from those of a program that was just started", apart)
	}
	return nil
}
