package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/redlock-sim/redlock-sim/internal/redis/command"
	"github.com/redlock-sim/redlock-sim/internal/redis/resp"
)

// slots has the address of the primary of each slot; empty: there is none.
type slots [command.Slots]string

// primaries are the addresses, in the order of their slots.
func (s *slots) primaries() (list []string) {
	for _, address := range s {
		if address != "" && !slices.Contains(list, address) {
			list = append(list, address)
		}
	}
	return list
}

// slotsOf asks a node which primary has which slots.
func slotsOf(ctx context.Context, node Server) (*slots, error) {
	c, err := node.dial(ctx, "sim-observe")
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	answers, err := c.ask([]string{"CLUSTER", "SLOTS"})
	if err != nil {
		return nil, fmt.Errorf("%s refuses CLUSTER SLOTS: %w", node.Address, err)
	}
	return slotsIn(&answers[0], node.Address)
}

// slotsIn reads the answer to CLUSTER SLOTS of a node.
func slotsIn(v *resp.Value, asked string) (*slots, error) {
	var s slots
	for _, one := range v.List {
		if len(one.List) < 3 || len(one.List[2].List) < 2 {
			return nil, errors.New("an answer to CLUSTER SLOTS that cannot be read")
		}
		first, last := number(&one.List[0]), number(&one.List[1])
		if first < 0 || last < first || last >= command.Slots {
			return nil, errors.New("an answer to CLUSTER SLOTS with slots that there are not")
		}
		primary := one.List[2].List
		port, err := strconv.ParseUint(primary[1].Text, 10, 16)
		if err != nil {
			return nil, errors.New("an answer to CLUSTER SLOTS with a port that is none")
		}
		for n := first; n <= last; n++ {
			s[n] = net.JoinHostPort(hostOf(primary[0].Text, asked), strconv.FormatUint(port, 10))
		}
	}
	return &s, nil
}

// beginCluster begins to look at each primary of a Redis Cluster.
func (l *Looks) beginCluster(ctx context.Context, p *Place) (manage func(context.Context), err error) {
	have, err := slotsOf(ctx, p.Server)
	if err != nil {
		return nil, err
	}
	list := have.primaries()
	if len(list) == 0 {
		return nil, fmt.Errorf("the cluster of %s has no slots: no node has been given any", p.Address)
	}
	l.note(p, "the cluster has %d primaries", len(list))
	for _, address := range list {
		if _, err := l.start(ctx, p, address, "primary of the cluster", false); err != nil {
			return nil, err
		}
	}
	told := make(map[string]bool)
	return func(ctx context.Context) {
		every(ctx, func() {
			is, err := l.askCluster(ctx, p, have)
			if err != nil {
				l.refusedOnce(ctx, p, told, fmt.Errorf("no node of the cluster says where slots are (%w): it is not noticed if one moves", err))
				return
			}
			if *is != *have {
				l.move(ctx, p, have, is, told)
				have = is
			}
		})
	}, nil
}

// askCluster asks a node, the named one first.
func (l *Looks) askCluster(ctx context.Context, p *Place, have *slots) (is *slots, err error) {
	for _, address := range append([]string{p.Address}, have.primaries()...) {
		if address != p.Address && l.member(p, address) == nil {
			continue // it may not be contacted
		}
		node := p.Server
		node.Address = address
		if is, err = slotsOf(ctx, node); err == nil && len(is.primaries()) > 0 {
			return is, nil
		}
	}
	return nil, err
}

// move follows slots to other primaries.
func (l *Looks) move(ctx context.Context, p *Place, had, is *slots, told map[string]bool) {
	now := is.primaries()
	for _, address := range now {
		if l.member(p, address) == nil {
			if _, err := l.start(ctx, p, address, "primary of the cluster since "+clock(), false); err != nil {
				l.refusedOnce(ctx, p, told, err)
			}
		}
	}
	for _, address := range had.primaries() {
		old := l.member(p, address)
		if old == nil {
			continue
		}
		moved := make(map[string]int) // slots that it has no longer, by who has them
		for n := range had {
			if had[n] == address && is[n] != address && is[n] != "" {
				moved[is[n]]++
			}
		}
		gone := !slices.Contains(now, address)
		for _, to := range now {
			if moved[to] == 0 {
				continue
			}
			l.note(p, "%d slots moved from %s to %s", moved[to], address, to)
			mine := func(key string) bool { return is[command.Slot(key)] == to && had[command.Slot(key)] == address }
			if taken := l.member(p, to); gone && taken != nil {
				l.failover(ctx, old, taken, mine)
			}
			old.call(func() {
				for _, lock := range slices.Clone(old.story.Locks()) {
					if mine(lock.Key) {
						lock.Pause("its slot moved to " + to)
					}
				}
			})
		}
		if gone {
			old.retire("primary of the cluster till " + clock())
		}
	}
}

func clock() string { return time.Now().UTC().Format("15:04:05") }
